/* SPDX-License-Identifier: MIT */
/* HSA signals (amd_signal_t) as the engines read, decrement and set them. */
#ifndef SOFTGPU_QUEUE_SIGNAL_H
#define SOFTGPU_QUEUE_SIGNAL_H

#include "access.h"

#include <hsa/hsa.h>

/* False: the signal's memory is not mapped to the GPU; *address then is what faults. */
bool softgpu_signal_read(struct softgpu_access *access, hsa_signal_t signal, int64_t *value,
			 uint64_t *address);
/*
 * The end of a packet: timestamps, decrement, interrupt. A null signal is no signal. False as
 * above. The signal is not touched any more once it is decremented.
 */
bool softgpu_signal_complete(const struct softgpu_gpu *gpu, hsa_signal_t signal, uint64_t start,
			     uint64_t end, uint64_t *address);
/* Stores a value and interrupts; for the queue's inactive signal. False as above. */
bool softgpu_signal_store(const struct softgpu_gpu *gpu, hsa_signal_t signal, int64_t value,
			  uint64_t *address);

#endif
