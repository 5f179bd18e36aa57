/* SPDX-License-Identifier: MIT */
/* The wave slots in the scratch memory of one queue. */
#include "slots.h"

static bool is_used(const struct softgpu_slots *slots, uint32_t slot)
{
	return slots->used[slot / 64] >> slot % 64 & 1;
}

bool softgpu_slots_take(struct softgpu_slots *slots, uint32_t limit, uint32_t count,
			uint32_t *first)
{
	uint32_t run = 0;

	if (limit > SOFTGPU_SCRATCH_SLOTS)
		limit = SOFTGPU_SCRATCH_SLOTS;
	for (uint32_t slot = 0; slot < limit; slot++) {
		run = is_used(slots, slot) ? 0 : run + 1;
		if (run == count) {
			*first = slot + 1 - count;
			for (uint32_t i = *first; i <= slot; i++)
				slots->used[i / 64] |= UINT64_C(1) << i % 64;
			return true;
		}
	}
	return false;
}

void softgpu_slots_release(struct softgpu_slots *slots, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		slots->used[i / 64] &= ~(UINT64_C(1) << i % 64);
}
