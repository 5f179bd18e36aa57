/* SPDX-License-Identifier: MIT */
/* AQL packets written by hand, for tests of the packet processors. */
#ifndef PACKETS_H
#define PACKETS_H

#include "hsa_harness.h"

/* Header bits of a packet that starts after its predecessors, with system-scope fences. */
#define PACKETS_ORDERED                                                                            \
	(1U << HSA_PACKET_HEADER_BARRIER |                                                         \
	 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |                       \
	 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE)

/* `interrupt`: the host may wait for it; else only look at it. */
hsa_signal_t packets_signal(hsa_signal_value_t value, bool interrupt);
/* Waits until the signal is `value`; the test fails after a minute. */
void packets_wait(hsa_signal_t signal, hsa_signal_value_t value);
/* The same by looking at it again and again. */
void packets_poll(hsa_signal_t signal, hsa_signal_value_t value);
/* Sleeps. */
void packets_pause(long microseconds);

hsa_queue_t *packets_queue(hsa_agent_t gpu, uint32_t size);
/* The index of a free slot of the ring, waiting for one. */
uint64_t packets_reserve(hsa_queue_t *queue);
/* Writes a 64-byte packet whose first dword, the header, is stored last, and no doorbell. */
void packets_write(hsa_queue_t *queue, uint64_t index, const void *packet);
void packets_ring(hsa_queue_t *queue, uint64_t index);
/* Reserve, write and ring. */
void packets_submit(hsa_queue_t *queue, const void *packet);

hsa_barrier_and_packet_t packets_barrier(uint16_t type, unsigned int header_bits,
					 const hsa_signal_t *dependencies, unsigned int count,
					 hsa_signal_t completion);
/* A dispatch of one-dimensional workgroups. */
hsa_kernel_dispatch_packet_t packets_dispatch(const struct hsa_harness_kernel *kernel,
					      unsigned int header_bits, uint32_t grid,
					      uint16_t workgroup, void *arguments,
					      hsa_signal_t completion);

#endif
