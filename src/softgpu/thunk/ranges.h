/* SPDX-License-Identifier: MIT */
/* The address ranges that are mapped to one GPU: its page table, by ranges instead of pages. */
#ifndef SOFTGPU_THUNK_RANGES_H
#define SOFTGPU_THUNK_RANGES_H

#include "../memory.h"

#include <pthread.h>
#include <stddef.h>

struct softgpu_range {
	struct softgpu_translation translation;
	uint64_t highest_end; /* of this range and all before it */
};

struct softgpu_ranges {
	pthread_rwlock_t lock;
	struct softgpu_range *range; /* by begin; ranges of host memory may overlap */
	size_t count;
	size_t capacity;
	_Atomic uint64_t generation;
	struct softgpu_cache *cache; /* forgets what is removed; NULL: none */
};

void softgpu_ranges_init(struct softgpu_ranges *ranges);
void softgpu_ranges_free(struct softgpu_ranges *ranges);
/* False: no memory. */
bool softgpu_ranges_add(struct softgpu_ranges *ranges, const struct softgpu_translation *range);
/* Removes one range with exactly these bounds; false: there is none. */
bool softgpu_ranges_remove(struct softgpu_ranges *ranges, uint64_t begin, uint64_t end);
/* The translate function of struct softgpu_memory; `context` is a struct softgpu_ranges. */
bool softgpu_ranges_translate(void *context, uint64_t address, struct softgpu_translation *out);

#endif
