/* SPDX-License-Identifier: MIT */
/* The CPU model of MLA, MRoPE and sub-batches against arrays written by hand. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verify.h"

/* Pages of 4 tokens made of two physical pages of 2. */
static const struct verify_shape shape = {.max_requests = 5,
					  .columns = 3,
					  .block_size = 4,
					  .page_size = 2,
					  .mla = true,
					  .mrope = true,
					  .tbo = true};

/* Lengths 9 and 4: pages 3, 1, 7 and 5 (a second page of it is held, but not needed yet). */
static const struct scheduler_batch batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1002},
	.context_lengths = (const int32_t[]){9, 4},
	.block_tables =
		(const int32_t *const[]){(const int32_t[]){3, 1, 7}, (const int32_t[]){5, 9}},
	.block_table_lengths = (const uint32_t[]){3, 2},
};

static const struct scheduler_batch single = {
	.num_requests = 1,
	.request_ids = (const uint64_t[]){2},
	.context_lengths = (const int32_t[]){1},
	.block_tables = (const int32_t *const[]){(const int32_t[]){2}},
	.block_table_lengths = (const uint32_t[]){1},
};

static const int32_t old = 0x11111111;
static const int64_t old64 = 0x1111111111111111;

static struct verify_image expected, found;

/* Old contents everywhere, so that what a step leaves alone can be told from what it writes. */
static void create_images(void)
{
	ck_assert(verify_image_create(&expected, &shape));
	ck_assert(verify_image_create(&found, &shape));
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		const size_t size =
			verify_element_count(&expected, array) * verify_element_size(array);

		memset(expected.arrays[array], 0x11, size);
		memset(found.arrays[array], 0x11, size);
	}
}

static void destroy_images(void)
{
	verify_image_destroy(&expected);
	verify_image_destroy(&found);
}

static void assert_int64(int array, const int64_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 8);
	ck_assert_uint_eq(verify_element_count(&expected, array), count);
	ck_assert_mem_eq(expected.arrays[array], values, count * 8);
}

static void assert_int32(int array, const int32_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 4);
	ck_assert_uint_eq(verify_element_count(&expected, array), count);
	ck_assert_mem_eq(expected.arrays[array], values, count * 4);
}

static void apply(struct verify_image *image, const struct scheduler_batch *step,
		  uint32_t graph_requests)
{
	verify_apply(image, step, graph_requests);
	verify_apply_attention(image, step, graph_requests);
}

START_TEST(whole_batch)
{
	apply(&expected, &batch, 4);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){1, 2, 0, 0, old}, 5);
	/* Request 0 is moved by -500, request 1002 by -499. */
	assert_int64(VERIFY_MROPE_POSITIONS,
		     (int64_t[]){-492, -496, 0, 0, -492, -496, 0, 0, -492, -496, 0, 0, old64, old64,
				 old64},
		     15);
	ck_assert_uint_eq(verify_element_count(&expected, VERIFY_POSITIONS), 0);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){28, 23, -1, -1, old64}, 5);
}
END_TEST

/* The real requests fill the first half, all of the second is padding. */
START_TEST(even_halves)
{
	apply(&expected, &batch, 4);
	assert_int64(VERIFY_UB0 + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){28, 23, old64}, 3);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_CONTEXT_LENS, (int32_t[]){9, 4, old}, 3);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_BLOCK_TABLES,
		     (int32_t[]){3, 1, 7, 5, 9, 0, old, old, old}, 9);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_KV_INDPTR, (int32_t[]){0, 5, 7, old}, 4);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_KV_INDICES, (int32_t[]){6, 7, 2, 3, 14, 10, 11}, 7);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_CU_SEQLENS_Q, (int32_t[]){0, 1, 2, old}, 4);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_KV_LAST_PAGE_LENS, (int32_t[]){1, 2, old}, 3);
	assert_int64(VERIFY_UB1 + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){-1, -1, old64}, 3);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_CONTEXT_LENS, (int32_t[]){0, 0, old}, 3);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_BLOCK_TABLES,
		     (int32_t[]){0, 0, 0, 0, 0, 0, old, old, old}, 9);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_KV_INDPTR, (int32_t[]){0, 0, 0, old}, 4);
	ck_assert_uint_eq(verify_element_count(&expected, VERIFY_UB1 + VERIFY_SUB_KV_INDICES), 0);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_CU_SEQLENS_Q, (int32_t[]){0, 0, 0, old}, 4);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_KV_LAST_PAGE_LENS, (int32_t[]){0, 0, old}, 3);
}
END_TEST

START_TEST(odd_halves_then_a_single_request)
{
	apply(&expected, &batch, 3);
	/* One request cannot be split: the halves stay as they were. */
	apply(&expected, &single, 1);
	assert_int64(VERIFY_UB0 + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){28, old64, old64}, 3);
	assert_int32(VERIFY_UB0 + VERIFY_SUB_CU_SEQLENS_Q, (int32_t[]){0, 1, old, old}, 4);
	assert_int64(VERIFY_UB1 + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){23, -1, old64}, 3);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_CONTEXT_LENS, (int32_t[]){4, 0, old}, 3);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_KV_INDPTR, (int32_t[]){0, 2, 2, old}, 4);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_KV_INDICES, (int32_t[]){10, 11}, 2);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_CU_SEQLENS_Q, (int32_t[]){0, 1, 1, old}, 4);
	assert_int32(VERIFY_UB1 + VERIFY_SUB_KV_LAST_PAGE_LENS, (int32_t[]){2, 0, old}, 3);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){1, 2, 0, old, old}, 5);
	/* Request 2 is moved by -498. */
	ck_assert_int_eq(((int64_t *)expected.arrays[VERIFY_MROPE_POSITIONS])[2], -498);
}
END_TEST

/* Every byte of every array, behind the batch too, is looked at. */
START_TEST(every_wrong_byte_is_found)
{
	struct verify_mismatch mismatch;

	apply(&expected, &batch, 4);
	apply(&found, &batch, 4);
	const size_t size = verify_element_size(_i);
	const size_t bytes = verify_element_count(&expected, _i) * size;

	for (size_t byte = 0; byte < bytes; byte++) {
		unsigned char *wrong = (unsigned char *)found.arrays[_i] + byte;

		*wrong ^= 0x80;
		ck_assert(!verify_compare(&expected, &found, &mismatch));
		ck_assert_uint_eq(mismatch.elements, 1);
		ck_assert_int_eq((int)mismatch.array, _i);
		ck_assert_uint_eq(mismatch.index, byte / size);
		*wrong ^= 0x80;
	}
	ck_assert(verify_compare(&expected, &found, &mismatch));
	ck_assert_ptr_nonnull(verify_array_name(_i));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify_attention");
	TCase *cases = tcase_create("verify_attention");
	SRunner *runner;
	int failures;

	tcase_add_checked_fixture(cases, create_images, destroy_images);
	tcase_add_test(cases, whole_batch);
	tcase_add_test(cases, even_halves);
	tcase_add_test(cases, odd_halves_then_a_single_request);
	tcase_add_loop_test(cases, every_wrong_byte_is_found, 0, VERIFY_ARRAYS);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
