/* SPDX-License-Identifier: MIT */
/* The CPU model of prefill forwards against arrays written by hand, and forwards of few tokens. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/prefill_chunks.h"
#include "tools/verify_prefill.h"

/* Pages of 4 tokens made of two physical pages of 2; three tokens make a compressed one. */
static const struct verify_shape shape = {.max_requests = 3,
					  .columns = 3,
					  .block_size = 4,
					  .page_size = 2,
					  .qsa_ratio = 3,
					  .prefill_tokens = 10};

/*
 * MLA with a drafter, the second of two ranks, which take turns with two tokens each; sparse
 * attention selects four.
 */
static const struct verify_shape shared_shape = {.max_requests = 3,
						 .columns = 3,
						 .block_size = 4,
						 .page_size = 2,
						 .speculative_tokens = 1,
						 .mla = true,
						 .mrope = true,
						 .dcp_size = 2,
						 .dcp_rank = 1,
						 .dcp_interleave = 2,
						 .index_topk = 4,
						 .prefill_tokens = 8};

/* Nobody shares, and there are fewer tokens in a prefill than in a decode. */
static const struct verify_shape small_shape = {.max_requests = 3,
						.columns = 3,
						.block_size = 4,
						.page_size = 4,
						.speculative_tokens = 1,
						.mla = true,
						.index_topk = 4,
						.prefill_tokens = 5};

static const struct scheduler_batch batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){5, 3},
	.cached_tokens = (const int32_t[]){0, 0},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3, 1}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){2, 1},
};

static const struct scheduler_batch cached_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){0, 1},
	.context_lengths = (const int32_t[]){7, 3},
	.cached_tokens = (const int32_t[]){5, 0},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3, 1}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){2, 1},
};

/* Of 11 tokens the rank holds 2, 3, 6, 7 and 10 in pages 3 and 1, of two none. */
static const struct scheduler_batch shared_batch = {
	.num_requests = 2,
	.request_ids = (const uint64_t[]){1002, 3},
	.context_lengths = (const int32_t[]){11, 2},
	.cached_tokens = (const int32_t[]){8, 0},
	.block_tables = (const int32_t *const[]){(const int32_t[]){3, 1}, (const int32_t[]){5}},
	.block_table_lengths = (const uint32_t[]){2, 1},
};

static const struct scheduler_batch small_batch = {
	.num_requests = 1,
	.request_ids = (const uint64_t[]){0},
	.context_lengths = (const int32_t[]){4},
	.cached_tokens = (const int32_t[]){0},
	.block_tables = (const int32_t *const[]){(const int32_t[]){2}},
	.block_table_lengths = (const uint32_t[]){1},
};

static const int32_t old = 0x11111111;
static const int64_t old64 = 0x1111111111111111;

static struct verify_image image;

/* Old contents everywhere, so that what a step leaves alone can be told from what it writes. */
static void create_image_of(const struct verify_shape *of)
{
	ck_assert(verify_image_create(&image, of));
	image.prefilled = true;
	for (int array = 0; array < VERIFY_ARRAYS; array++)
		memset(image.arrays[array], 0x11,
		       verify_element_count(&image, array) * verify_element_size(array));
	image.prefilled = false;
}

static void create_image(void)
{
	create_image_of(&shape);
}

static void create_shared_image(void)
{
	create_image_of(&shared_shape);
}

static void create_small_image(void)
{
	create_image_of(&small_shape);
}

static void destroy_image(void)
{
	verify_image_destroy(&image);
}

static void assert_int64(int array, const int64_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 8);
	ck_assert_uint_eq(verify_element_count(&image, array), count);
	ck_assert_mem_eq(image.arrays[array], values, count * 8);
}

static void assert_int32(int array, const int32_t *values, size_t count)
{
	ck_assert_uint_eq(verify_element_size(array), 4);
	ck_assert_uint_eq(verify_element_count(&image, array), count);
	ck_assert_mem_eq(image.arrays[array], values, count * 4);
}

/* Nobody reads pages, so that neither tables nor what is made of them are written. */
START_TEST(nothing_cached)
{
	ck_assert_uint_eq(verify_element_count(&image, VERIFY_CU_SEQLENS_K), 0);
	verify_apply_prefill(&image, &batch, 2);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){12, 13, 14, 15, 4, 20, 21, 22, old64, old64},
		     10);
	assert_int64(VERIFY_POSITIONS, (int64_t[]){0, 1, 2, 3, 4, 0, 1, 2, old64, old64}, 10);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){5, 3, old}, 3);
	assert_int32(VERIFY_CU_SEQLENS_K, (int32_t[]){0, 5, 8, old}, 4);
	assert_int32(VERIFY_NUM_CACHED_TOKENS, (int32_t[]){old, old, old}, 3);
	assert_int32(VERIFY_SEQ_STARTS, (int32_t[]){old, old, old}, 3);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){old, old, old, old, old, old, old, old, old},
		     9);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){old, old, old, old}, 4);
	ck_assert_uint_eq(verify_element_count(&image, VERIFY_PREFILL_KV_INDPTR), 0);
	ck_assert_uint_eq(verify_element_count(&image, VERIFY_KV_INDICES), 0);
	assert_int32(VERIFY_QSA_TOKEN_TO_REQ, (int32_t[]){0, 0, 0, 0, 0, 1, 1, 1, old, old}, 10);
	assert_int64(VERIFY_QSA_LOGICAL_POSITIONS,
		     (int64_t[]){0, 1, 2, 3, 4, 0, 1, 2, old64, old64}, 10);
	assert_int64(VERIFY_QSA_COMPRESSED_SLOTS,
		     (int64_t[]){-1, -1, 4, -1, -1, -1, -1, 7, old64, old64}, 10);
	ck_assert_mem_eq(image.arrays[VERIFY_PLE_HAS_INITIAL_STATE],
			 ((unsigned char[]){0, 0, 0x11}), 3);
}
END_TEST

START_TEST(cached_tokens_switch_the_tables_on)
{
	verify_apply_prefill(&image, &cached_batch, 2);
	assert_int64(VERIFY_SLOT_MAPPING,
		     (int64_t[]){5, 6, 20, 21, 22, old64, old64, old64, old64, old64}, 10);
	assert_int64(VERIFY_POSITIONS,
		     (int64_t[]){5, 6, 0, 1, 2, old64, old64, old64, old64, old64}, 10);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){7, 3, old}, 3);
	assert_int32(VERIFY_CU_SEQLENS_K, (int32_t[]){0, 7, 10, old}, 4);
	assert_int32(VERIFY_NUM_CACHED_TOKENS, (int32_t[]){5, 0, old}, 3);
	assert_int32(VERIFY_SEQ_STARTS, (int32_t[]){0, 0, old}, 3);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){3, 1, 0, 5, 0, 0, old, old, old}, 9);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){old, old, old, old}, 4);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 4, 6}, 3);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){6, 7, 2, 3, 10, 11}, 6);
	assert_int64(VERIFY_QSA_COMPRESSED_SLOTS,
		     (int64_t[]){1, -1, -1, -1, 7, old64, old64, old64, old64, old64}, 10);
	ck_assert_mem_eq(image.arrays[VERIFY_PLE_HAS_INITIAL_STATE],
			 ((unsigned char[]){1, 0, 0x11}), 3);

	/* what was cached then stays where it was */
	verify_apply_prefill(&image, &batch, 2);
	assert_int32(VERIFY_NUM_CACHED_TOKENS, (int32_t[]){5, 0, old}, 3);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){3, 1, 0, 5, 0, 0, old, old, old}, 9);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 4, 6}, 3);
}
END_TEST

/* With ranks the listed pages are those of what this one holds. */
START_TEST(contexts_shared_by_ranks)
{
	verify_apply_prefill(&image, &shared_batch, 2);
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){-1, -1, 4, -1, -1, old64, old64, old64}, 8);
	ck_assert_uint_eq(verify_element_count(&image, VERIFY_POSITIONS), 0);
	assert_int32(VERIFY_CU_SEQLENS_K, (int32_t[]){0, 11, 13, old}, 4);
	assert_int32(VERIFY_NUM_CACHED_TOKENS, (int32_t[]){8, 0, old}, 3);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){3, 1, 0, 5, 0, 0, old, old, old}, 9);
	ck_assert_uint_eq(verify_element_count(&image, VERIFY_PREFILL_KV_INDPTR), 0);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){6, 7, 2}, 3);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){1, 0, 0}, 3);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 3, 3, old}, 4);
	assert_int32(VERIFY_CU_SEQLEN_KS, (int32_t[]){0, 0, 0, 11, 11, old, old, old}, 8);
	assert_int32(VERIFY_CU_SEQLEN_KE, (int32_t[]){9, 10, 11, 12, 13, old, old, old}, 8);
	assert_int32(VERIFY_BATCH_ID_PER_Q_TOKEN, (int32_t[]){0, 0, 0, 1, 1, old, old, old}, 8);
	assert_int32(VERIFY_SPARSE_KV_INDPTR, (int32_t[]){0, 4, 8, 12, 13, 15, old, old, old}, 9);
	assert_int32(VERIFY_G_KV_INDPTR, (int32_t[]){old, old, old, old}, 4);
}
END_TEST

/* Request 1002 is moved by one, request 3 is text: its places are its positions. */
START_TEST(planes_of_the_width_of_the_forward)
{
	verify_apply_prefill(&image, &shared_batch, 2);
	assert_int64(VERIFY_MROPE_POSITIONS,
		     (int64_t[]){-491,	-490,  -489,  0,     1,	    27,	   30,	  33,
				 0,	1,     36,    40,    44,    0,	   1,	  old64,
				 old64, old64, old64, old64, old64, old64, old64, old64},
		     24);
}
END_TEST

START_TEST(token_inputs)
{
	const struct verify_tokens tokens = {
		.ids = (const int32_t[]){71, 72, 73, 74, 75},
		.temperatures = (const float[]){0, 0.5f},
		.top_ps = (const float[]){1, 0.5f},
	};
	const float *temperatures = image.arrays[VERIFY_TEMPERATURES];
	const float *top_ps = image.arrays[VERIFY_TOP_PS];

	verify_apply_prefill_tokens(&image, &shared_batch, 2, &tokens);
	assert_int32(VERIFY_INPUT_IDS, (int32_t[]){71, 72, 73, 74, 75, old, old, old, old}, 9);
	assert_int32(VERIFY_CU_SEQLENS_Q, (int32_t[]){0, 3, 5, old}, 4);
	assert_int32(VERIFY_CU_NUM_DRAFT_TOKENS, (int32_t[]){old, old, old}, 3);
	ck_assert(temperatures[0] == 1e-10f && temperatures[1] == 0.5f);
	ck_assert(top_ps[0] == 1 && top_ps[1] == 0.5f);
	ck_assert_mem_eq(&temperatures[2], &old, 4);
	ck_assert_mem_eq(&top_ps[2], &old, 4);
}
END_TEST

/* The drafter reads pages of a prompt that is new, too; no context is above what is selected. */
START_TEST(a_drafter_reads_pages)
{
	verify_apply_prefill(&image, &small_batch, 1);
	/* a decode has six tokens */
	assert_int64(VERIFY_SLOT_MAPPING, (int64_t[]){8, 9, 10, 11, old64, old64}, 6);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){2, 0, 0, old, old, old, old, old, old}, 9);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 1}, 2);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){2}, 1);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){4, 0, 0}, 3);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 1, old, old}, 4);
	assert_int32(VERIFY_CU_SEQLEN_KS, (int32_t[]){old, old, old, old, old, old}, 6);
	assert_int32(VERIFY_SPARSE_KV_INDPTR, (int32_t[]){old, old, old, old, old, old, old}, 7);
}
END_TEST

/* With MHA, padding has a context without tokens or pages, but no row of the table. */
START_TEST(padding)
{
	verify_apply_prefill(&image, &cached_batch, 3);
	assert_int64(VERIFY_SLOT_MAPPING,
		     (int64_t[]){5, 6, 20, 21, 22, old64, old64, old64, old64, old64}, 10);
	assert_int32(VERIFY_CONTEXT_LENS, (int32_t[]){7, 3, 0}, 3);
	assert_int32(VERIFY_CU_SEQLENS_K, (int32_t[]){0, 7, 10, 10}, 4);
	assert_int32(VERIFY_NUM_CACHED_TOKENS, (int32_t[]){5, 0, old}, 3);
	assert_int32(VERIFY_SEQ_STARTS, (int32_t[]){0, 0, old}, 3);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){3, 1, 0, 5, 0, 0, old, old, old}, 9);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 4, 6, 6}, 4);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){6, 7, 2, 3, 10, 11}, 6);
	ck_assert_mem_eq(image.arrays[VERIFY_PLE_HAS_INITIAL_STATE],
			 ((unsigned char[]){1, 0, 0x11}), 3);
}
END_TEST

/* MLA's rows of the table are padded, too. */
START_TEST(padding_of_mla)
{
	const struct verify_tokens tokens = {
		.ids = (const int32_t[]){71, 72, 73, 74},
		.temperatures = (const float[]){1},
		.top_ps = (const float[]){1},
	};

	verify_apply_prefill(&image, &small_batch, 2);
	verify_apply_prefill_tokens(&image, &small_batch, 2, &tokens);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){2, 0, 0, 0, 0, 0, old, old, old}, 9);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 1, 1}, 3);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){0, 1, 1, old}, 4);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){4, 0, 0}, 3);
	assert_int32(VERIFY_CU_SEQLENS_Q, (int32_t[]){0, 4, 4, old}, 4);
	assert_int32(VERIFY_INPUT_IDS, (int32_t[]){71, 72, 73, 74, old, old, old}, 7);
}
END_TEST

/* Sparse attention reads pages of a prompt that is new, without a drafter, too. */
START_TEST(sparse_attention_reads_pages)
{
	image.shape.speculative_tokens = 0;
	image.shape.index_topk = 3;
	verify_apply_prefill(&image, &small_batch, 1);
	assert_int32(VERIFY_BLOCK_TABLES, (int32_t[]){2, 0, 0, old, old, old, old, old, old}, 9);
	assert_int32(VERIFY_PREFILL_KV_INDPTR, (int32_t[]){0, 1}, 2);
	assert_int32(VERIFY_KV_INDICES, (int32_t[]){2}, 1);
	assert_int32(VERIFY_KV_LAST_PAGE_LENS, (int32_t[]){old, old, old}, 3);
	assert_int32(VERIFY_KV_INDPTR, (int32_t[]){old, old, old, old}, 4);
	assert_int32(VERIFY_CU_SEQLEN_KE, (int32_t[]){1, 2, 3, 4, old}, 5);
	assert_int32(VERIFY_SPARSE_KV_INDPTR, (int32_t[]){0, 1, 3, 6, 9, old}, 6);
}
END_TEST

static void assert_forward(struct prefill_chunks *chunks, uint32_t requests, const uint64_t *ids,
			   const int32_t *cached, const int32_t *contexts)
{
	struct scheduler_batch forward;

	ck_assert(prefill_chunks_next(chunks, &forward));
	ck_assert_uint_eq(forward.num_requests, requests);
	ck_assert_mem_eq(forward.request_ids, ids, requests * sizeof(*ids));
	ck_assert_mem_eq(forward.cached_tokens, cached, requests * sizeof(*cached));
	ck_assert_mem_eq(forward.context_lengths, contexts, requests * sizeof(*contexts));
	for (uint32_t i = 0; i < requests; i++) {
		/* request n has the page 10 * n, and n pages */
		ck_assert_int_eq(forward.block_tables[i][0], (int32_t)ids[i] * 10);
		ck_assert_uint_eq(forward.block_table_lengths[i], ids[i]);
	}
}

START_TEST(forwards_of_few_tokens)
{
	const h2d_block_table_t *const no_tables[3] = {NULL};
	const struct scheduler_batch admitted = {
		.num_requests = 3,
		.request_ids = (const uint64_t[]){1, 2, 3},
		.context_lengths = (const int32_t[]){5, 9, 3},
		.cached_tokens = (const int32_t[]){0, 4, 0},
		.tables = no_tables,
		.block_tables =
			(const int32_t *const[]){(const int32_t[]){10}, (const int32_t[]){20},
						 (const int32_t[]){30}},
		.block_table_lengths = (const uint32_t[]){1, 2, 3},
	};
	struct prefill_chunks chunks;
	struct scheduler_batch none;

	ck_assert(prefill_chunks_create(&chunks, 3, 6));
	for (int again = 0; again < 2; again++) {
		prefill_chunks_begin(&chunks, &admitted);
		assert_forward(&chunks, 2, (uint64_t[]){1, 2}, (int32_t[]){0, 4},
			       (int32_t[]){5, 5});
		assert_forward(&chunks, 2, (uint64_t[]){2, 3}, (int32_t[]){5, 0},
			       (int32_t[]){9, 2});
		assert_forward(&chunks, 1, (uint64_t[]){3}, (int32_t[]){2}, (int32_t[]){3});
		ck_assert(!prefill_chunks_next(&chunks, &none));
	}
	prefill_chunks_destroy(&chunks);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify_prefill");
	TCase *cases = tcase_create("verify_prefill");
	TCase *shared = tcase_create("shared contexts");
	TCase *small = tcase_create("small prefills");
	TCase *chunks = tcase_create("chunks");

	tcase_add_checked_fixture(cases, create_image, destroy_image);
	tcase_add_test(cases, nothing_cached);
	tcase_add_test(cases, cached_tokens_switch_the_tables_on);
	tcase_add_test(cases, padding);
	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(shared, create_shared_image, destroy_image);
	tcase_add_test(shared, contexts_shared_by_ranks);
	tcase_add_test(shared, planes_of_the_width_of_the_forward);
	tcase_add_test(shared, token_inputs);
	suite_add_tcase(suite, shared);
	tcase_add_checked_fixture(small, create_small_image, destroy_image);
	tcase_add_test(small, a_drafter_reads_pages);
	tcase_add_test(small, padding_of_mla);
	tcase_add_test(small, sparse_attention_reads_pages);
	suite_add_tcase(suite, small);
	tcase_add_test(chunks, forwards_of_few_tokens);
	suite_add_tcase(suite, chunks);
	return run_suite(suite);
}
