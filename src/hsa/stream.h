/* SPDX-License-Identifier: MIT */
/* What src/publish sees of a stream: packets in, bounded waits out. */
#ifndef H2DPUB_SRC_HSA_STREAM_H
#define H2DPUB_SRC_HSA_STREAM_H

#include <h2dpub/stream.h>

/* One AQL packet with its header in place. */
typedef union h2d_packet {
	hsa_kernel_dispatch_packet_t dispatch;
	hsa_barrier_and_packet_t barrier;
	uint32_t header_and_setup; /* the dword that is written last, with release */
	uint8_t bytes[64];
} h2d_packet_t;

_Static_assert(sizeof(h2d_packet_t) == 64, "an AQL packet has 64 bytes");

typedef enum h2d_fence_scope {
	H2D_FENCE_NONE = HSA_FENCE_SCOPE_NONE,
	H2D_FENCE_AGENT = HSA_FENCE_SCOPE_AGENT,
	H2D_FENCE_SYSTEM = HSA_FENCE_SCOPE_SYSTEM
} h2d_fence_scope_t;

/*
 * Fills a barrier-AND packet: waits for dependency (handle 0: none) to be 0; with the barrier bit
 * if asked; decrements completion (handle 0: none).
 */
void h2d_packet_barrier(h2d_packet_t *packet, bool barrier_bit, h2d_fence_scope_t acquire,
			h2d_fence_scope_t release, hsa_signal_t dependency,
			hsa_signal_t completion);

/* Fills a one-dimensional kernel dispatch with the barrier bit. */
void h2d_packet_dispatch(h2d_packet_t *packet, const h2d_kernel_t *kernel, uint32_t workgroups,
			 uint16_t workgroup_size, const void *kernel_arguments,
			 h2d_fence_scope_t acquire, h2d_fence_scope_t release);

/*
 * Waits (bounded by the stream's timeout) until count packets fit. A publication asks before it
 * starts DMA, so that a full queue leaves nothing half done.
 */
h2d_status_t h2d_stream_wait_for_space(h2d_stream_t *stream, uint32_t count);

/*
 * Enqueues count packets as they stand with one doorbell: all of them, or none on error (QUEUE_FULL
 * after the stream's timeout, QUEUE_ERROR, MEMORY_FAULT, OUT_OF_RANGE: more than the queue holds).
 */
h2d_status_t h2d_stream_submit(h2d_stream_t *stream, const h2d_packet_t packets[], uint32_t count);

/*
 * Waits until signal (of h2d_device_create_host_signal()) is at most 0, or timeout_ns is over, or
 * the queue or the device has failed. what names the object in the message.
 */
h2d_status_t h2d_stream_wait_signal(h2d_stream_t *stream, hsa_signal_t signal, uint64_t timeout_ns,
				    const char *what);

/* QUEUE_ERROR or MEMORY_FAULT with its message if the stream or its device failed, else SUCCESS. */
h2d_status_t h2d_stream_check(const h2d_stream_t *stream);

/*
 * After a failure of the stream or its device: makes sure that the queue executes nothing more, so
 * that what it uses can be freed. HSA_ERROR.
 */
h2d_status_t h2d_stream_stop(h2d_stream_t *stream);

/* The same for all aliases of one logical stream, never reused within a process. */
uint64_t h2d_stream_identity(const h2d_stream_t *stream);

bool h2d_stream_is_capturing(const h2d_stream_t *stream);

/* Counts an object that keeps the stream (owners, graphs), and takes it back. */
void h2d_stream_retain(h2d_stream_t *stream);
void h2d_stream_release(h2d_stream_t *stream);

#endif
