/* SPDX-License-Identifier: MIT */
/* Which page ids were already checked against the pool's limit. */
#include "page_proof.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

h2d_status_t h2d_page_proof_create(h2d_page_proof_t *proof, uint32_t rows)
{
	uint64_t buckets = 4;

	/* At most half full, so that a probe ends soon. */
	while (buckets < 2 * (uint64_t)rows)
		buckets *= 2;
	proof->page_limit = H2D_NO_PAGE_LIMIT;
	proof->versions = calloc(rows ? rows : 1, sizeof(*proof->versions));
	proof->lengths = calloc(rows ? rows : 1, sizeof(*proof->lengths));
	proof->buckets = calloc(buckets, sizeof(*proof->buckets));
	proof->bucket_mask = (uint32_t)(buckets - 1);
	if (!proof->versions || !proof->lengths || !proof->buckets)
		return H2D_STATUS_OUT_OF_MEMORY;
	return H2D_STATUS_SUCCESS;
}

void h2d_page_proof_destroy(h2d_page_proof_t *proof)
{
	free(proof->versions);
	free(proof->lengths);
	free(proof->buckets);
}

static uint32_t bucket_of(const h2d_page_proof_t *proof, uint64_t version)
{
	/* Fibonacci hashing: versions are consecutive numbers. */
	return (uint32_t)(version * UINT64_C(0x9E3779B97F4A7C15) >> 32) & proof->bucket_mask;
}

/* The hash is only needed by reordered batches, so it is built when one comes. */
static void hash_last_batch(h2d_page_proof_t *proof)
{
	memset(proof->buckets, 0, ((size_t)proof->bucket_mask + 1) * sizeof(*proof->buckets));
	for (uint32_t i = 0; i < proof->count; i++) {
		uint32_t bucket = bucket_of(proof, proof->versions[i]);

		while (proof->buckets[bucket])
			bucket = (bucket + 1) & proof->bucket_mask;
		proof->buckets[bucket] = i + 1;
	}
	proof->hashed = true;
}

static uint32_t proven_length(h2d_page_proof_t *proof, uint32_t row, uint64_t version)
{
	uint32_t length = 0;

	if (row < proof->count && proof->versions[row] == version)
		return proof->lengths[row];
	if (!proof->hashed)
		hash_last_batch(proof);
	/* A version can stand in several rows (shared prefixes): the longest counts. */
	for (uint32_t bucket = bucket_of(proof, version); proof->buckets[bucket];
	     bucket = (bucket + 1) & proof->bucket_mask) {
		uint32_t i = proof->buckets[bucket] - 1;

		if (proof->versions[i] == version && proof->lengths[i] > length)
			length = proof->lengths[i];
	}
	return length;
}

/* One reduction over the ids as unsigned covers negative ones as well. */
static uint32_t largest_id(const int32_t *ids, uint32_t count)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = (uint32_t)ids[i];

		largest = id > largest ? id : largest;
	}
	return largest;
}

h2d_status_t h2d_page_proof_check(h2d_page_proof_t *proof, const char *name, uint64_t page_limit,
				  uint32_t count, const uint64_t versions[],
				  const uint32_t lengths[], const int32_t *const ids[])
{
	bool same_limit = proof->page_limit == page_limit;
	uint64_t limit = page_limit < UINT64_C(1) << 31 ? page_limit : UINT64_C(1) << 31;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t proven = same_limit ? proven_length(proof, i, versions[i]) : 0;

		if (lengths[i] <= proven || largest_id(ids[i] + proven, lengths[i] - proven) < limit)
			continue;
		while ((uint32_t)ids[i][proven] < limit)
			proven++;
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: request PAGE table is incomplete or out of range: row %u column "
				 "%u has page %d, the limit is %llu",
				 name, i, proven, ids[i][proven], (unsigned long long)limit);
	}
	return H2D_STATUS_SUCCESS;
}

void h2d_page_proof_commit(h2d_page_proof_t *proof, uint64_t page_limit, uint32_t count,
			   const uint64_t versions[], const uint32_t lengths[])
{
	proof->page_limit = page_limit;
	memcpy(proof->versions, versions, count * sizeof(*versions));
	memcpy(proof->lengths, lengths, count * sizeof(*lengths));
	proof->count = count;
	proof->hashed = false;
}
