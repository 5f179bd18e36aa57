/* SPDX-License-Identifier: MIT */
/* MLA prefill metadata: sparse prefixes, pages of cached contexts, re-entry, refusals. */
#include <stdio.h>

#include "step_world.h"

enum { MAX_TOKENS = 64 };

static h2d_runner_options_t mla_options(void)
{
	return (h2d_runner_options_t){
		.attention = H2D_ATTENTION_MLA,
		.max_requests = 4,
		.query_length = 1,
		.block_size = 16,
		.page_size = 1,
		.max_model_length = 128,
		.max_tokens = MAX_TOKENS,
		.num_pages = 100,
		.index_topk = 8,
	};
}

/* Every token on its own: which keys it sees, and how many of them it may select. */
static void expect_sparse(step_world_t *world, const int32_t *contexts, const int32_t *cached,
			  uint32_t requests, int32_t topk)
{
	int32_t ks[MAX_TOKENS];
	int32_t ke[MAX_TOKENS];
	int32_t batch_ids[MAX_TOKENS];
	int32_t indptr[MAX_TOKENS + 1] = {0};
	size_t tokens = 0;

	for (uint32_t i = 0; i < requests; i++) {
		int32_t base = 0;

		for (uint32_t before = 0; before < i; before++)
			base += contexts[before];
		for (int32_t j = 0; j < contexts[i] - cached[i]; j++) {
			const int32_t visible = cached[i] + j + 1;

			ks[tokens] = base;
			ke[tokens] = base + visible;
			batch_ids[tokens] = (int32_t)i;
			indptr[tokens + 1] = indptr[tokens] + (visible > topk ? topk : visible);
			tokens++;
		}
	}
	step_expect(world, "cu_seqlen_ks", ks, tokens * sizeof(int32_t));
	step_expect(world, "cu_seqlen_ke", ke, tokens * sizeof(int32_t));
	step_expect(world, "batch_id_per_q_token", batch_ids, tokens * sizeof(int32_t));
	step_expect(world, "sparse_kv_indptr", indptr, (tokens + 1) * sizeof(int32_t));
}

START_TEST(A06_mla_sparse_prefill_prefixes_and_tail)
{
	const bool has_cached = _i / STEP_MODES == 1;
	const h2d_runner_options_t options = mla_options();
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));

	for (int32_t s = 0; s < 4; s++) {
		const int32_t cached[2] = {has_cached ? 9 + s : 0, has_cached ? 5 : 0};
		int32_t contexts[2] = {has_cached ? 12 + s : 10 + s, has_cached ? 7 : 3};
		h2d_batch_t batch = {
			.num_requests = 2,
			.phase = H2D_PHASE_PREFILL,
			.context_lengths = contexts,
			.cached_tokens = has_cached ? cached : NULL,
		};
		h2d_mla_prefill_step_t step;
		const int32_t tokens = contexts[0] + contexts[1] - cached[0] - cached[1];
		const void *seen;

		step_begin(world);
		delay(fixture_stream, 2);
		check_success(
			h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, &step));
		seen = consume(fixture_stream, step.cu_seqlen_ke, (size_t)tokens * sizeof(int32_t));
		ck_assert_uint_eq(step.tokens, (uint32_t)tokens);
		ck_assert_uint_eq(step.running_requests, 2);
		ck_assert_int_eq(step.max_context_length, contexts[0]);
		ck_assert_int_eq(step.max_query_length, contexts[0] - cached[0]);
		expect_sparse(world, contexts, cached, 2, 8);
		if (has_cached) {
			const int32_t last[4] = {(contexts[0] - 1) % 16 + 1,
						 (contexts[1] - 1) % 16 + 1};
			const int32_t indptr[3] = {0, contexts[0], contexts[0] + contexts[1]};

			ck_assert_ptr_nonnull(step.kv_indptr);
			step_expect(world, "kv_last_page_lens", last, sizeof(last));
			step_expect(world, "kv_indptr", indptr, sizeof(indptr));
		} else {
			ck_assert_ptr_null(step.kv_indptr);
			ck_assert_ptr_null(step.kv_last_page_lens);
		}
		step_check_published(world, "kv_indptr", has_cached);
		contexts[0]++;
		step_check_refused(
			world, h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, NULL),
			H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(
			world, h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, NULL),
			H2D_STATUS_INVALID_STATE);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		step_world_check(world, "prefill");
		expect_bytes(seen, step_expected(world, step.slot, "cu_seqlen_ke"),
			     (size_t)tokens * sizeof(int32_t));
	}
	step_world_destroy(world);
}
END_TEST

/* Pages of several tokens, of this rank only; a drafter reads them without cached tokens too. */
START_TEST(A06_pages_are_those_of_this_rank)
{
	h2d_runner_options_t options = mla_options();
	const int32_t contexts[3] = {1, 20, 33};
	/* Of 20 tokens, rank 1 of 2 holds 10; of 33, 16. */
	const int32_t last[4] = {0, 10, 16, 0};
	const int32_t indptr[] = {0, 0, 3, 7, 7};
	const int32_t none[3] = {0};
	const h2d_batch_t batch = {.num_requests = 3,
				   .running_requests = 4,
				   .phase = H2D_PHASE_PREFILL,
				   .context_lengths = contexts};
	step_world_t *world;
	h2d_mla_prefill_step_t step;

	options.query_length = 2;
	options.page_size = 4;
	options.dcp_size = 2;
	options.dcp_rank = 1;
	options.index_topk = 33 + (_i >= STEP_MODES ? -1 : 0);
	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	step_begin(world);
	check_success(h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_expect(world, "kv_last_page_lens", last, sizeof(last));
	step_expect(world, "kv_indptr", indptr, sizeof(indptr));
	/* Sparse only if a context has more than the selected tokens. */
	ck_assert_int_eq(step.cu_seqlen_ks != NULL, _i >= STEP_MODES);
	if (_i >= STEP_MODES)
		expect_sparse(world, contexts, none, 3, 32);
	step_world_destroy(world);
}
END_TEST

/* Contexts, pages and block ids of this rank; whole contexts would run out of the rows. */
START_TEST(A06_pages_of_this_rank_are_listed)
{
	h2d_runner_options_t options = mla_options();
	const int32_t contexts[3] = {40, 64, 5};
	const int32_t cached[3] = {30, 60, 0};
	const int32_t first_ids[2] = {5, 6};
	const int32_t second_ids[2] = {8, 7};
	const int32_t third_ids[1] = {9};
	const int32_t *const rows[3] = {first_ids, second_ids, third_ids};
	const uint32_t lengths[3] = {2, 2, 1};
	const h2d_batch_t batch = {.num_requests = 3,
				   .running_requests = 4,
				   .phase = H2D_PHASE_PREFILL,
				   .context_lengths = contexts,
				   .cached_tokens = cached,
				   .block_tables = rows,
				   .block_table_lengths = lengths};
	/* Rank 1 of 2 holds 20, 32 and 2 tokens: 5, 8 and 1 pages of 4, four a block. */
	const int32_t indptr[] = {0, 5, 13, 14, 14};
	const int32_t pages[] = {20, 21, 22, 23, 24, 32, 33, 34, 35, 28, 29, 30, 31, 36};
	step_world_t *world;
	h2d_prefill_inputs_step_t inputs;
	h2d_mla_prefill_step_t step;
	h2d_mla_decode_step_t view;

	options.page_size = 4;
	options.dcp_size = 2;
	options.dcp_rank = 1;
	options.index_topk = 0;
	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	step_begin(world);
	check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream, &batch, &inputs));
	check_success(h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	check_fails(
		h2d_prefill_inputs_enqueue_kv_indices(world->runner, fixture_stream, step.slot, 4),
		H2D_STATUS_INVALID_STATE, "prefill_inputs: with dcp_size 2");
	ck_assert_ptr_null(inputs.kv_indptr);
	check_success(h2d_mla_decode_view(world->runner, step.slot, &view));
	ck_assert_ptr_eq(step.kv_indptr, view.kv_indptr);
	ck_assert_ptr_eq(inputs.kv_indices, view.kv_indices);
	check_success(h2d_mla_decode_enqueue_kv_indices(world->runner, fixture_stream, step.slot,
							step.running_requests));
	expect_bytes(step.kv_indptr, indptr, sizeof(indptr));
	expect_bytes(view.kv_indices, pages, sizeof(pages));
	step_world_discard(world);
}
END_TEST

/* Selected keys are found through the block table, whether or not any are cached already. */
START_TEST(A06_sparse_steps_publish_the_block_tables)
{
	const h2d_runner_options_t options = mla_options();
	const int32_t first_ids[1] = {5};
	const int32_t second_ids[1] = {7};
	const int32_t *const rows[2] = {first_ids, second_ids};
	const uint32_t lengths[2] = {1, 1};
	const int32_t table[3][8] = {{5}, {7}, {0}};
	const int32_t indptr[] = {0, 9, 12, 12};
	const int32_t pages[] = {80, 81, 82, 83, 84, 85, 86, 87, 88, 112, 113, 114};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), 1);
	h2d_prefill_inputs_step_t inputs;
	h2d_mla_prefill_step_t step;

	for (int32_t longest = 8; longest <= 9; longest++) {
		const int32_t contexts[2] = {longest, 3};
		const h2d_batch_t batch = {.num_requests = 2,
					   .running_requests = 3,
					   .phase = H2D_PHASE_PREFILL,
					   .context_lengths = contexts,
					   .block_tables = rows,
					   .block_table_lengths = lengths};

		step_begin(world);
		check_success(
			h2d_prefill_inputs_prepare(world->runner, fixture_stream, &batch, &inputs));
		check_success(
			h2d_mla_prefill_prepare(world->runner, fixture_stream, &batch, &step));
		ck_assert(!inputs.has_cached);
		ck_assert_int_eq(inputs.max_context_length, longest);
		ck_assert_int_eq(step.cu_seqlen_ks != NULL, longest > 8);
		ck_assert_int_eq(inputs.block_tables != NULL, longest > 8);
		step_check_published(world, "block_tables", longest > 8);
		if (longest > 8)
			check_success(h2d_prefill_inputs_enqueue_kv_indices(
				world->runner, fixture_stream, inputs.slot,
				inputs.running_requests));
		step_finish(world);
	}
	expect_bytes(inputs.block_tables, table, sizeof(table));
	expect_bytes(inputs.kv_indptr, indptr, sizeof(indptr));
	expect_bytes(inputs.kv_indices, pages, sizeof(pages));
	step_world_discard(world);
}
END_TEST

typedef struct refusal {
	h2d_batch_t batch;
	h2d_status_t status;
	const char *words[2];
} refusal_t;

#define INTS(...) ((const int32_t[]){__VA_ARGS__})

static const refusal_t refusals[] = {
	{{.num_requests = 1, .context_lengths = INTS(9)},
	 H2D_STATUS_INVALID_ARGUMENT,
	 {"mla_prefill", "prefill"}},
	{{.num_requests = 1, .phase = H2D_PHASE_PREFILL},
	 H2D_STATUS_INVALID_ARGUMENT,
	 {"context_lengths", "NULL"}},
	{{.num_requests = 2,
	  .phase = H2D_PHASE_PREFILL,
	  .context_lengths = INTS(9, 129),
	  .cached_tokens = INTS(0, 128)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "context_lengths 129"}},
	{{.num_requests = 2,
	  .phase = H2D_PHASE_PREFILL,
	  .context_lengths = INTS(9, 9),
	  .cached_tokens = INTS(0, -1)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "cached_tokens -1"}},
	{{.num_requests = 2, .phase = H2D_PHASE_PREFILL, .context_lengths = INTS(60, 9)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"69", "max_tokens 64"}},
	{{.num_requests = 5, .phase = H2D_PHASE_PREFILL, .context_lengths = INTS(1, 1, 1, 1, 1)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"num_requests 5", "max_requests 4"}},
};

START_TEST(a_bad_batch_is_refused_before_a_source_is_written)
{
	const refusal_t *refusal = &refusals[_i];
	const h2d_runner_options_t options = mla_options();
	step_world_t *world = step_world_create(&options, H2D_BACKEND_PACKED, 1);

	step_begin(world);
	step_check_refused(
		world,
		h2d_mla_prefill_prepare(world->runner, fixture_stream, &refusal->batch, NULL),
		refusal->status);
	for (int i = 0; i < 2; i++)
		check_message(refusal->words[i]);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

static void add_cases(Suite *suite, const char *name, SFun setup)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A06_mla_sparse_prefill_prefixes_and_tail, 0, 2 * STEP_MODES);
	tcase_add_loop_test(tcase, A06_pages_are_those_of_this_rank, 0, 2 * STEP_MODES);
	tcase_add_loop_test(tcase, A06_pages_of_this_rank_are_listed, 0, STEP_MODES);
	tcase_add_loop_test(tcase, A06_sparse_steps_publish_the_block_tables, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("mla_prefill");
	TCase *tcase = tcase_create("batches");

	add_cases(suite, "values", case_setup);
	add_cases(suite, "hostile", step_hostile_setup);
	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_add_loop_test(tcase, a_bad_batch_is_refused_before_a_source_is_written, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
