/* SPDX-License-Identifier: MIT */
/* An open-addressing hash from request ids to places in a batch. */
#include "request_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void h2d_request_index_destroy(h2d_request_index_t *index)
{
	free(index->buckets);
	index->buckets = NULL;
	index->capacity = 0;
}

/*
 * Without the system's random numbers, the time and the place in memory are harder to guess than
 * nothing; an index never fails for that.
 */
static void draw_key(h2d_request_index_t *index)
{
	struct timespec now = {0};

	if (getrandom(index->key, sizeof(index->key), GRND_NONBLOCK) == sizeof(index->key))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	index->key[0] = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32;
	index->key[1] = (uintptr_t)index->buckets;
}

bool h2d_request_index_reset(h2d_request_index_t *index, uint32_t count)
{
	uint64_t capacity = 16;

	/* At most half full, so that a probe ends soon. */
	while (capacity < 2 * (uint64_t)count)
		capacity *= 2;
	if (capacity > UINT32_MAX)
		return false;
	if (capacity > index->capacity) {
		uint32_t *buckets = malloc(capacity * sizeof(*buckets));

		if (!buckets)
			return false;
		free(index->buckets);
		index->buckets = buckets;
		index->capacity = (uint32_t)capacity;
		draw_key(index);
	}
	memset(index->buckets, 0, index->capacity * sizeof(*index->buckets));
	return true;
}

/*
 * Ids may come from a stranger's message, who must not be able to choose ids that meet in one
 * bucket, and they may have any pattern: so every bit of the id reaches every bit of the bucket, in
 * a way that only this index knows.
 */
static uint32_t first_bucket(const h2d_request_index_t *index, uint64_t id)
{
	uint64_t mixed = id ^ index->key[0];

	mixed = (mixed ^ mixed >> 32) * (index->key[1] | 1);
	mixed = (mixed ^ mixed >> 29) * UINT64_C(0x9E3779B97F4A7C15);
	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return (uint32_t)(mixed >> 32) & (index->capacity - 1);
}

bool h2d_request_index_add(h2d_request_index_t *index, const uint64_t ids[], uint32_t place)
{
	uint32_t bucket = first_bucket(index, ids[place]);

	while (index->buckets[bucket]) {
		if (ids[index->buckets[bucket] - 1] == ids[place])
			return false;
		bucket = (bucket + 1) & (index->capacity - 1);
	}
	index->buckets[bucket] = place + 1;
	return true;
}

uint32_t h2d_request_index_find(const h2d_request_index_t *index, const uint64_t ids[], uint64_t id)
{
	uint32_t bucket;

	if (!index->capacity)
		return H2D_REQUEST_NOT_FOUND;
	bucket = first_bucket(index, id);
	while (index->buckets[bucket]) {
		uint32_t place = index->buckets[bucket] - 1;

		if (ids[place] == id)
			return place;
		bucket = (bucket + 1) & (index->capacity - 1);
	}
	return H2D_REQUEST_NOT_FOUND;
}
