/* SPDX-License-Identifier: MIT */
/* The CPU model of a decode step against arrays written by hand, and wrong bytes in each array. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/verify.h"

/* Pages of 4 tokens made of two physical pages of 2. */
static const struct verify_shape shape = {
	.max_requests = 5, .columns = 3, .block_size = 4, .page_size = 2};

/* Lengths 9 and 4: pages 3, 1, 7 and 5 (a second page of it is held, but not needed yet). */
static const struct scheduler_batch first_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){9, 4},
	.block_tables =
		(const int32_t *const[]){(const int32_t[]){3, 1, 7}, (const int32_t[]){5, 9}},
	.block_table_lengths = (const uint32_t[]){3, 2},
};

/* Then only a request of one token is left. */
static const struct scheduler_batch second_batch = {
	.num_requests = 1,
	.request_ids = (const uint64_t[]){2},
	.context_lengths = (const int32_t[]){1},
	.block_tables = (const int32_t *const[]){(const int32_t[]){2}},
	.block_table_lengths = (const uint32_t[]){1},
};

/* With two speculative tokens. */
static const struct verify_shape speculative_shape = {.max_requests = 5,
						      .columns = 3,
						      .block_size = 4,
						      .page_size = 2,
						      .speculative_tokens = 2};

static int32_t shared_draft_ids[10];

static const struct verify_tokens tokens = {
	.ids = (const int32_t[]){10, 11, 12, 13, 14, 15},
	.temperatures = (const float[]){0, 0.5f},
	.top_ps = (const float[]){1, 0.9f},
	.draft_ids = shared_draft_ids,
};

static struct verify_image expected, found;

static void create_images(void)
{
	ck_assert(verify_image_create(&expected, &shape));
	ck_assert(verify_image_create(&found, &shape));
}

static void destroy_images(void)
{
	verify_image_destroy(&expected);
	verify_image_destroy(&found);
}

static void assert_int64(enum verify_array array, const int64_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 8);
	ck_assert_uint_eq(verify_element_count(&expected, array), count);
	ck_assert_mem_eq(expected.arrays[array], values, count * 8);
}

static void assert_int32(enum verify_array array, const int32_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 4);
	ck_assert_uint_eq(verify_element_count(&expected, array), count);
	ck_assert_mem_eq(expected.arrays[array], values, count * 4);
}

/* Old contents everywhere, so that what a step leaves alone can be told from what it writes. */
static void fill(struct verify_image *image, int byte)
{
	for (int array = 0; array < VERIFY_KV_INDICES; array++)
		memset(image->arrays[array], byte,
		       verify_element_count(image, array) * verify_element_size(array));
}

START_TEST(padded_step)
{
	fill(&expected, 0x11);
	verify_apply(&expected, &first_batch, 4);
	const int32_t old = 0x11111111;
	const int64_t old64 = 0x1111111111111111;

	/* token 8 is the first of page 7, token 3 the last of page 5 */
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){28, 23, -1, -1, old64}, 5);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){9, 4, 0, 0, old}, 5);
	assert_int32(VERIFY_BLOCK_TABLES,
		     (int32_t[]){3, 1, 7, 5, 9, 0, 0, 0, 0, 0, 0, 0, old, old, old}, 15);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 5, 7, 7, 7, old}, 6);
	assert_int64(VERIFY_POSITIONS, (int64_t[]){8, 3, 0, 0, old64}, 5);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){6, 7, 2, 3, 14, 10, 11}, 7);
}
END_TEST

START_TEST(smaller_step_leaves_tails)
{
	verify_apply(&expected, &first_batch, 4);
	verify_apply(&expected, &second_batch, 1);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){8, 23, -1, -1, 0}, 5);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){1, 4, 0, 0, 0}, 5);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){2, 0, 0, 5, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		     15);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 1, 7, 7, 7, 0}, 6);
	assert_int64(VERIFY_POSITIONS, (int64_t[]){0, 3, 0, 0, 0}, 5);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){4, 7, 2, 3, 14, 10, 11}, 7);
}
END_TEST

START_TEST(speculative_step)
{
	const float temperatures[] = {1e-10f, 0.5f, 0, 0, 0};
	const float top_ps[] = {1, 0.9f, 0, 0, 0};
	const struct verify_tokens uniform = {
		.ids = tokens.ids,
		.temperatures = tokens.temperatures,
		.top_ps = (const float[]){0.5f, 0.5f},
		.draft_ids = shared_draft_ids,
	};

	destroy_images();
	ck_assert(verify_image_create(&expected, &speculative_shape));
	ck_assert(verify_image_create(&found, &speculative_shape));
	shared_draft_ids[9] = 99; /* of an earlier step */
	verify_apply(&expected, &first_batch, 3);
	verify_apply_tokens(&expected, &first_batch, &tokens, 3);
	assert_int64(VERIFY_SLOT_MAPPING,
		     (int64_t[]){6, 7, 28, 21, 22, 23, -1, -1, -1, 0, 0, 0, 0, 0, 0}, 15);
	assert_int64(VERIFY_POSITIONS, (int64_t[]){6, 7, 8, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 15);
	assert_int32(VERIFY_INPUT_IDS,
		     (int32_t[]){10, 11, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 16);
	assert_int32(VERIFY_CU_SEQLENS_Q, (int32_t[]){0, 3, 6, 6, 0, 0}, 6);
	assert_int32(VERIFY_CU_NUM_DRAFT_TOKENS, (int32_t[]){2, 4, 0, 0, 0}, 5);
	assert_int64(VERIFY_TARGET_LOGITS_INDICES, (int64_t[]){0, 1, 3, 4, 0, 0, 0, 0, 0, 0}, 10);
	assert_int64(VERIFY_BONUS_LOGITS_INDICES, (int64_t[]){2, 5, 0, 0, 0}, 5);
	assert_int32(VERIFY_DRAFT_IDS, (int32_t[]){11, 12, 14, 15, 0, 0, 0, 0, 0, 99}, 10);
	ck_assert_mem_eq(expected.arrays[VERIFY_TEMPERATURES], temperatures, sizeof(temperatures));
	ck_assert_mem_eq(expected.arrays[VERIFY_TOP_PS], top_ps, sizeof(top_ps));
	/* one value for all is not sent: the old ones stay */
	verify_apply_tokens(&expected, &first_batch, &uniform, 3);
	ck_assert_mem_eq(expected.arrays[VERIFY_TOP_PS], top_ps, sizeof(top_ps));
}
END_TEST

START_TEST(equal_images)
{
	struct verify_mismatch mismatch;

	verify_apply(&expected, &first_batch, 4);
	verify_apply(&found, &first_batch, 4);
	ck_assert(verify_compare(&expected, &found, &mismatch));
	ck_assert_uint_eq(mismatch.elements, 0);
}
END_TEST

/* Every byte of every array, behind the batch too, is looked at. */
START_TEST(every_wrong_byte_is_found)
{
	enum verify_array array = (enum verify_array)_i;
	struct verify_mismatch mismatch;

	destroy_images();
	ck_assert(verify_image_create(&expected, &speculative_shape));
	ck_assert(verify_image_create(&found, &speculative_shape));
	verify_apply(&expected, &first_batch, 4);
	verify_apply(&found, &first_batch, 4);
	size_t size = verify_element_size(array);
	size_t bytes = verify_element_count(&expected, array) * size;

	for (size_t byte = 0; byte < bytes; byte++) {
		unsigned char *wrong = (unsigned char *)found.arrays[array] + byte;

		*wrong ^= 0x80;
		ck_assert(!verify_compare(&expected, &found, &mismatch));
		ck_assert_uint_eq(mismatch.elements, 1);
		ck_assert_int_eq(mismatch.array, array);
		ck_assert_uint_eq(mismatch.index, byte / size);
		ck_assert_int_ne(mismatch.expected, mismatch.found);
		*wrong ^= 0x80;
	}
	ck_assert(verify_compare(&expected, &found, &mismatch));
}
END_TEST

START_TEST(first_mismatch_is_described_and_all_are_counted)
{
	struct verify_mismatch mismatch;

	verify_apply(&expected, &first_batch, 4);
	verify_apply(&found, &first_batch, 4);
	((int32_t *)found.arrays[VERIFY_CONTEXT_LENS])[4] = -7;
	((int32_t *)found.arrays[VERIFY_BLOCK_TABLES])[1] = 100;
	((int64_t *)found.arrays[VERIFY_POSITIONS])[0] = INT64_MIN;
	ck_assert(!verify_compare(&expected, &found, &mismatch));
	ck_assert_uint_eq(mismatch.elements, 3);
	ck_assert_str_eq(verify_array_name(mismatch.array), "context_lens");
	ck_assert_uint_eq(mismatch.index, 4);
	ck_assert_int_eq(mismatch.expected, 0);
	ck_assert_int_eq(mismatch.found, -7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify");
	TCase *cases = tcase_create("verify");

	tcase_add_checked_fixture(cases, create_images, destroy_images);
	tcase_add_test(cases, padded_step);
	tcase_add_test(cases, smaller_step_leaves_tails);
	tcase_add_test(cases, speculative_step);
	tcase_add_test(cases, equal_images);
	tcase_add_loop_test(cases, every_wrong_byte_is_found, 0, VERIFY_ARRAYS);
	tcase_add_test(cases, first_mismatch_is_described_and_all_are_counted);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
