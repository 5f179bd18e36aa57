/* SPDX-License-Identifier: MIT */
/* The index of request ids: what it finds, and that no ids make it slow. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "table/request_index.h"

#define IDS 65536

/* Buckets of a half full index in a row without a gap, by chance: about 60 in 131,072. */
#define LONGEST_RUN 256

static uint64_t ids[IDS];

static void fill(h2d_request_index_t *index)
{
	uint32_t added = 0;

	ck_assert(h2d_request_index_reset(index, IDS));
	for (uint32_t i = 0; i < IDS; i++)
		added += h2d_request_index_add(index, ids, i);
	ck_assert_uint_eq(added, IDS);
}

/* A search goes no further than from the first bucket of a run to the gap behind it. */
static uint32_t longest_run(const h2d_request_index_t *index)
{
	uint32_t longest = 0, run = 0;

	/* Twice around, for the run over the end. */
	for (uint32_t i = 0; i < 2 * index->capacity && run < index->capacity; i++) {
		run = index->buckets[i & (index->capacity - 1)] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* The number by which an odd one is multiplied to be 1, modulo 2^64. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t inverse = odd;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

/* Patterns that ids may have by chance or by malice; the last undo multiplications. */
static uint64_t id_of(int pattern, uint64_t i)
{
	static const uint64_t multipliers[] = {UINT64_C(0x9E3779B97F4A7C15),
					       UINT64_C(0xD6E8FEB86659FD93)};

	if (pattern < 5)
		return i << 12 * pattern;
	if (pattern < 7)
		return i * inverse_of(multipliers[pattern - 5]);
	return (i << 47) * inverse_of(multipliers[pattern - 7]);
}

START_TEST(no_pattern_of_ids_gathers_in_a_few_buckets)
{
	h2d_request_index_t index = {0};
	uint32_t found = 0;

	for (uint64_t i = 0; i < IDS; i++)
		ids[i] = id_of(_i, i);
	fill(&index);
	ck_assert_uint_le(longest_run(&index), LONGEST_RUN);
	for (uint32_t i = 0; i < IDS; i++)
		found += h2d_request_index_find(&index, ids, ids[i]) == i;
	ck_assert_uint_eq(found, IDS);
	h2d_request_index_destroy(&index);
}
END_TEST

/* So nobody knows the places, even of one who has another index. */
START_TEST(two_indices_use_different_buckets)
{
	h2d_request_index_t one = {0}, other = {0};
	uint32_t same = 0;

	for (uint64_t i = 0; i < IDS; i++)
		ids[i] = i;
	fill(&one);
	fill(&other);
	ck_assert_uint_eq(one.capacity, other.capacity);
	for (uint32_t i = 0; i < one.capacity; i++)
		same += one.buckets[i] && one.buckets[i] == other.buckets[i];
	ck_assert_uint_lt(same, 100);
	h2d_request_index_destroy(&one);
	h2d_request_index_destroy(&other);
}
END_TEST

START_TEST(ids_are_found_once_and_forgotten)
{
	h2d_request_index_t index = {0};
	const uint64_t few[] = {7, UINT64_MAX, 0, 7};

	ck_assert_uint_eq(h2d_request_index_find(&index, few, 7), H2D_REQUEST_NOT_FOUND);
	ck_assert(h2d_request_index_reset(&index, 4));
	for (uint32_t i = 0; i < 3; i++)
		ck_assert(h2d_request_index_add(&index, few, i));
	ck_assert(!h2d_request_index_add(&index, few, 3));
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(h2d_request_index_find(&index, few, few[i]), i);
	ck_assert_uint_eq(h2d_request_index_find(&index, few, 8), H2D_REQUEST_NOT_FOUND);
	ck_assert(h2d_request_index_reset(&index, 4));
	ck_assert_uint_eq(h2d_request_index_find(&index, few, 7), H2D_REQUEST_NOT_FOUND);
	h2d_request_index_destroy(&index);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request_index");
	TCase *index = tcase_create("index");

	tcase_add_loop_test(index, no_pattern_of_ids_gathers_in_a_few_buckets, 0, 9);
	tcase_add_test(index, two_indices_use_different_buckets);
	tcase_add_test(index, ids_are_found_once_and_forgotten);
	suite_add_tcase(suite, index);
	return run_suite(suite);
}
