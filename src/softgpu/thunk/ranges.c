/* SPDX-License-Identifier: MIT */
/* The address ranges that are mapped to one GPU. */
#include "ranges.h"

#include "../cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void softgpu_ranges_init(struct softgpu_ranges *ranges)
{
	memset(ranges, 0, sizeof(*ranges));
	pthread_rwlock_init(&ranges->lock, NULL);
	/* Caches start at generation 0, which must not look current. */
	atomic_init(&ranges->generation, 1);
}

void softgpu_ranges_free(struct softgpu_ranges *ranges)
{
	pthread_rwlock_destroy(&ranges->lock);
	free(ranges->range);
}

/* Index of the first range that begins behind `address`. */
static size_t upper_bound(const struct softgpu_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ranges->range[middle].translation.begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void update_highest_ends(struct softgpu_ranges *ranges, size_t from)
{
	uint64_t highest = from == 0 ? 0 : ranges->range[from - 1].highest_end;

	for (size_t i = from; i < ranges->count; i++) {
		if (ranges->range[i].translation.end > highest)
			highest = ranges->range[i].translation.end;
		ranges->range[i].highest_end = highest;
	}
}

static bool reserve(struct softgpu_ranges *ranges)
{
	const size_t capacity = ranges->capacity == 0 ? 64 : ranges->capacity * 2;
	struct softgpu_range *range;

	if (ranges->count < ranges->capacity)
		return true;
	range = realloc(ranges->range, capacity * sizeof(*range));
	if (!range)
		return false;
	ranges->range = range;
	ranges->capacity = capacity;
	return true;
}

bool softgpu_ranges_add(struct softgpu_ranges *ranges, const struct softgpu_translation *range)
{
	bool reserved;

	pthread_rwlock_wrlock(&ranges->lock);
	reserved = reserve(ranges);
	if (reserved) {
		const size_t at = upper_bound(ranges, range->begin);

		memmove(&ranges->range[at + 1], &ranges->range[at],
			(ranges->count - at) * sizeof(ranges->range[0]));
		ranges->range[at].translation = *range;
		ranges->count++;
		update_highest_ends(ranges, at);
	}
	pthread_rwlock_unlock(&ranges->lock);
	return reserved;
}

bool softgpu_ranges_remove(struct softgpu_ranges *ranges, uint64_t begin, uint64_t end)
{
	bool found = false;

	pthread_rwlock_wrlock(&ranges->lock);
	for (size_t i = upper_bound(ranges, begin); i-- > 0;) {
		const struct softgpu_translation *range = &ranges->range[i].translation;

		if (range->begin != begin)
			break;
		if (range->end != end)
			continue;
		ranges->count--;
		memmove(&ranges->range[i], &ranges->range[i + 1],
			(ranges->count - i) * sizeof(ranges->range[0]));
		update_highest_ends(ranges, i);
		found = true;
		break;
	}
	pthread_rwlock_unlock(&ranges->lock);
	/* Release: pairs with the acquire load of those who keep translations. */
	if (found)
		atomic_fetch_add_explicit(&ranges->generation, 1, memory_order_release);
	if (found && ranges->cache)
		softgpu_cache_forget(ranges->cache, begin, end);
	return found;
}

bool softgpu_ranges_translate(void *context, uint64_t address, struct softgpu_translation *out)
{
	struct softgpu_ranges *ranges = context;
	bool found = false;

	pthread_rwlock_rdlock(&ranges->lock);
	for (size_t i = upper_bound(ranges, address); i-- > 0;) {
		const struct softgpu_range *range = &ranges->range[i];

		if (range->highest_end <= address)
			break;
		if (range->translation.end > address) {
			*out = range->translation;
			found = true;
			break;
		}
	}
	pthread_rwlock_unlock(&ranges->lock);
	return found;
}
