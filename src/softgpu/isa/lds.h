/* SPDX-License-Identifier: MIT */
/*
 * Access to the workgroup's LDS. Reads outside it give 0, writes outside it are dropped. A
 * workgroup runs on one thread, so that nothing here needs to be atomic.
 */
#ifndef SOFTGPU_LDS_H
#define SOFTGPU_LDS_H

#include "memory_access.h"

/* As softgpu_load_lanes() and softgpu_store_lanes(), by offsets into LDS. */
void softgpu_lds_load_lanes(struct softgpu_wave *wave, const uint32_t offset[SOFTGPU_LANES],
			    uint64_t mask, unsigned int bytes, uint32_t (*out)[SOFTGPU_LANES]);
void softgpu_lds_store_lanes(struct softgpu_wave *wave, const uint32_t offset[SOFTGPU_LANES],
			     uint64_t mask, unsigned int bytes,
			     const uint32_t (*in)[SOFTGPU_LANES]);

/* Returns the former value. */
uint64_t softgpu_lds_atomic(struct softgpu_wave *wave, uint32_t offset,
			    enum softgpu_atomic_operation operation, unsigned int bytes,
			    uint64_t data, uint64_t compare);

#endif
