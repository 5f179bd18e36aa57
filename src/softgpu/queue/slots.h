/* SPDX-License-Identifier: MIT */
/* The wave slots in the scratch memory of one queue: which are in use by running workgroups. */
#ifndef SOFTGPU_QUEUE_SLOTS_H
#define SOFTGPU_QUEUE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define SOFTGPU_SCRATCH_SLOTS 4096

struct softgpu_slots {
	uint64_t used[SOFTGPU_SCRATCH_SLOTS / 64];
};

/* Takes `count` neighbouring slots below `limit`; false: there are none free. */
bool softgpu_slots_take(struct softgpu_slots *slots, uint32_t limit, uint32_t count,
			uint32_t *first);
void softgpu_slots_release(struct softgpu_slots *slots, uint32_t first, uint32_t count);

#endif
