/* SPDX-License-Identifier: MIT */
/* The CPU model of MLA, MRoPE, QSA, PLE and sub-batches against arrays written by hand. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/verify.h"

/* Pages of 4 tokens made of two physical pages of 2. */
static const struct verify_shape shape = {.max_requests = 5,
					  .columns = 3,
					  .block_size = 4,
					  .page_size = 2,
					  .mla = true,
					  .mrope = true,
					  .tbo = true};

/*
 * The second of two ranks, which take turns with two tokens each; two tokens a step, of which
 * sparse attention selects five, and three make a compressed one.
 */
static const struct verify_shape shared_shape = {.max_requests = 4,
						 .columns = 3,
						 .block_size = 4,
						 .page_size = 2,
						 .speculative_tokens = 1,
						 .mla = true,
						 .tbo = true,
						 .dcp_size = 2,
						 .dcp_rank = 1,
						 .dcp_interleave = 2,
						 .index_topk = 5,
						 .qsa_ratio = 3};

/* The last of four ranks, with pages of one token. */
static const struct verify_shape small_shape = {.max_requests = 4,
						.columns = 3,
						.block_size = 4,
						.page_size = 1,
						.mla = true,
						.dcp_size = 4,
						.dcp_rank = 3,
						.dcp_interleave = 1};

/* Lengths 9 and 4: pages 3, 1, 7 and 5 (a second page of it is held, but not needed yet). */
static const struct scheduler_batch batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1002},
	.context_lengths = (const int32_t[]){9, 4},
	.block_tables =
		(const int32_t *const[]){(const int32_t[]){3, 1, 7}, (const int32_t[]){5, 9}},
	.block_table_lengths = (const uint32_t[]){3, 2},
};

/* Of 11 tokens the rank holds 2, 3, 6, 7 and 10 in pages 3 and 1, of three the last in page 5. */
static const struct scheduler_batch shared_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){11, 3},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3, 1}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){2, 1},
};

/* The last of 9 tokens, which completes three, is the other rank's. */
static const struct scheduler_batch next_shared_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){9, 2},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3, 1}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){2, 1},
};

/* Of 9 tokens the last of four ranks holds two, of 3 none. */
static const struct scheduler_batch small_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){9, 3},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){1, 1},
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
static void create_images_of(const struct verify_shape *of)
{
	ck_assert(verify_image_create(&expected, of));
	ck_assert(verify_image_create(&found, of));
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		const size_t size =
			verify_element_count(&expected, array) * verify_element_size(array);

		memset(expected.arrays[array], 0x11, size);
		memset(found.arrays[array], 0x11, size);
	}
}

static void create_images(void)
{
	create_images_of(&shape);
}

static void create_shared_images(void)
{
	create_images_of(&shared_shape);
}

static void create_small_images(void)
{
	create_images_of(&small_shape);
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

START_TEST(contexts_shared_by_ranks)
{
	apply(&expected, &shared_batch, 3);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){-1, 4, -1, 20, -1, -1, old64, old64}, 8);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){11, 3, 0, old}, 4);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){3, 1, 0, 5, 0, 0, 0, 0, 0, old, old, old},
		     12);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 3, 4, 4, old}, 5);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){6, 7, 2, 10}, 4);
	assert_int64(VERIFY_POSITIONS, (int64_t[]){9, 10, 1, 2, 0, 0, old64, old64}, 8);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){1, 1, 0, old}, 4);
	assert_int32(VERIFY_G_KV_INDPTR, (int32_t[]){0, 11, 14, 14, old}, 5);
	assert_int32(VERIFY_DCP_LOCAL_CONTEXT_LENS, (int32_t[]){4, 5, 0, 1, 0, 0, old, old}, 8);
}
END_TEST

START_TEST(sparse_attention)
{
	apply(&expected, &shared_batch, 3);
	assert_int32(VERIFY_SPARSE_KV_INDPTR, (int32_t[]){0, 5, 10, 12, 15, 15, 15, old, old}, 9);
	assert_int32(VERIFY_BATCH_ID_PER_Q_TOKEN, (int32_t[]){0, 0, 1, 1, -1, -1, old, old}, 8);
}
END_TEST

START_TEST(halves_of_shared_contexts)
{
	const int first = VERIFY_UB0, second = VERIFY_UB1;

	apply(&expected, &shared_batch, 3);
	assert_int64(first + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){-1, 4, old64, old64}, 4);
	assert_int32(first + VERIFY_SUB_KV_INDPTR, (int32_t[]){0, 3, old}, 3);
	assert_int32(first + VERIFY_SUB_KV_INDICES, (int32_t[]){6, 7, 2}, 3);
	assert_int32(first + VERIFY_SUB_KV_LAST_PAGE_LENS, (int32_t[]){1, old}, 2);
	assert_int32(first + VERIFY_SUB_G_KV_INDPTR, (int32_t[]){0, 11, old}, 3);
	assert_int32(first + VERIFY_SUB_SPARSE_KV_INDPTR, (int32_t[]){0, 5, 10, old, old}, 5);
	assert_int64(second + VERIFY_SUB_SLOT_MAPPING, (int64_t[]){-1, 20, -1, -1}, 4);
	assert_int32(second + VERIFY_SUB_KV_INDPTR, (int32_t[]){0, 1, 1}, 3);
	assert_int32(second + VERIFY_SUB_KV_INDICES, (int32_t[]){10}, 1);
	assert_int32(second + VERIFY_SUB_KV_LAST_PAGE_LENS, (int32_t[]){1, 0}, 2);
	assert_int32(second + VERIFY_SUB_G_KV_INDPTR, (int32_t[]){0, 3, 3}, 3);
	assert_int32(second + VERIFY_SUB_SPARSE_KV_INDPTR, (int32_t[]){0, 2, 5, 5, 5}, 5);
}
END_TEST

/* In the second step a request begins: it has no state yet. */
START_TEST(ragged_batches)
{
	apply(&expected, &shared_batch, 3);
	assert_int32(VERIFY_QSA_TOKEN_TO_REQ, (int32_t[]){0, 0, 1, 1, -1, -1, old, old}, 8);
	assert_int64(VERIFY_QSA_LOGICAL_POSITIONS, (int64_t[]){9, 10, 1, 2, -1, -1, old64, old64},
		     8);
	assert_int64(VERIFY_QSA_COMPRESSED_SLOTS, (int64_t[]){-1, -1, -1, 6, -1, -1, old64, old64},
		     8);
	ck_assert_uint_eq(verify_element_size(VERIFY_PLE_HAS_INITIAL_STATE), 1);
	ck_assert_uint_eq(verify_element_count(&expected, VERIFY_PLE_HAS_INITIAL_STATE), 4);
	ck_assert_mem_eq(expected.arrays[VERIFY_PLE_HAS_INITIAL_STATE],
			 ((unsigned char[]){1, 1, 0x11, 0x11}), 4);

	apply(&expected, &next_shared_batch, 2);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){15, -1, -1, -1, -1, -1, old64, old64}, 8);
	assert_int64(VERIFY_QSA_LOGICAL_POSITIONS, (int64_t[]){7, 8, 0, 1, -1, -1, old64, old64},
		     8);
	assert_int64(VERIFY_QSA_COMPRESSED_SLOTS, (int64_t[]){-1, -1, -1, -1, -1, -1, old64, old64},
		     8);
	ck_assert_mem_eq(expected.arrays[VERIFY_PLE_HAS_INITIAL_STATE],
			 ((unsigned char[]){1, 0, 0x11, 0x11}), 4);
}
END_TEST

/* A page of one token counts as full even where there is none. */
START_TEST(a_rank_without_tokens)
{
	apply(&expected, &small_batch, 3);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){-1, -1, -1, old64}, 4);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 2, 2, 2, old}, 5);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){12, 13}, 2);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){1, 1, 0, old}, 4);
	ck_assert_uint_eq(verify_element_count(&expected, VERIFY_DCP_LOCAL_CONTEXT_LENS), 0);
	ck_assert_uint_eq(verify_element_count(&expected, VERIFY_SPARSE_KV_INDPTR), 0);
}
END_TEST

/* Every byte of every array, behind the batch too, is looked at. */
START_TEST(every_wrong_byte_is_found)
{
	struct verify_mismatch mismatch;

	apply(&expected, &batch, 3);
	apply(&found, &batch, 3);
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
	TCase *shared = tcase_create("shared contexts");
	TCase *small = tcase_create("small shares");

	tcase_add_checked_fixture(cases, create_images, destroy_images);
	tcase_add_test(cases, whole_batch);
	tcase_add_test(cases, even_halves);
	tcase_add_test(cases, odd_halves_then_a_single_request);
	tcase_add_loop_test(cases, every_wrong_byte_is_found, 0, VERIFY_ARRAYS);
	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(shared, create_shared_images, destroy_images);
	tcase_add_test(shared, contexts_shared_by_ranks);
	tcase_add_test(shared, sparse_attention);
	tcase_add_test(shared, halves_of_shared_contexts);
	tcase_add_test(shared, ragged_batches);
	tcase_add_loop_test(shared, every_wrong_byte_is_found, 0, VERIFY_ARRAYS);
	suite_add_tcase(suite, shared);
	tcase_add_checked_fixture(small, create_small_images, destroy_images);
	tcase_add_test(small, a_rank_without_tokens);
	suite_add_tcase(suite, small);
	return run_suite(suite);
}
