/* SPDX-License-Identifier: MIT */
/* token_inputs as a whole: what its parts publish together, at what cost, padded for any graph. */
#include <string.h>

#include "token_model.h"

/* ---- R06, R07: the whole group --------------------------------------------------------------- */

enum { PREFILL, FIRST_DECODE, DEFERRED, R06_PHASES };

/* Direct too makes them available before the consumer; a combined group exists only elsewhere. */
static void check_combined_group(const step_world_t *world, h2d_backend_t backend)
{
	h2d_group_t *group;
	const h2d_status_t status = h2d_runner_group(world->runner, "token_inputs", &group);

	if (backend == H2D_BACKEND_DIRECT) {
		ck_assert_int_eq(status, H2D_STATUS_NOT_FOUND);
		return;
	}
	ck_assert_int_eq(status, H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_group_transport(group), backend);
}

START_TEST(R06_prepare_publishes_sampling_and_query_prefix_before_token_consumer)
{
	static const char *const members[] = {"temperatures", "top_ks", "top_ps", "cu_seqlens_q",
					      "input_ids"};
	const int phase = _i / STEP_MODES;
	const int32_t prefix[] = {0, 1, 2, 3, 3};
	const int32_t staged[] = {51, 93, 61};
	const int32_t assembled[] = {82, 93, 71};
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	check_combined_group(world, STEP_BACKEND(_i));
	for (int i = 0; i < 3; i++) {
		token_case_t token_case = {
			.ids = {51, 93, 61},
			.rows = {1, -1, 0},
			.scheduled = {1, 1, 1},
			.contexts = {1, 1, 1},
			.temperatures = {.2f, 0, .6f},
			.top_ks = {4, 5, 6},
			.top_ps = {.7f, .8f, .9f},
			.previous_sampled = {71, 82},
		};
		h2d_batch_t *batch = &token_case.batch;
		h2d_token_inputs_step_t step;

		token_case_attach(&token_case, 3);
		batch->context_lengths = token_case.contexts;
		batch->phase = phase == PREFILL ? H2D_PHASE_PREFILL : H2D_PHASE_DECODE;
		if (phase == PREFILL)
			batch->running_requests = 4;
		if (phase == DEFERRED) {
			batch->previous_rows = token_case.rows;
			token_case_upload_previous(&token_case, 2, 0, 0, 0);
		}
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(
			h2d_token_inputs_prepare(world->runner, fixture_stream, batch, &step));
		for (int j = 0; j < 5; j++)
			step_check_published(world, members[j], true);
		step_check_published(world, "decode_src", phase == DEFERRED);
		ck_assert_uint_eq(step.running_requests, 4);
		ck_assert_uint_eq(step.running_tokens, phase == PREFILL ? 3 : 4);
		token_model_all(world, &token_case);
		step_observe(world, "token inputs", i);
		step_finish(world);
		ck_assert_mem_eq(step_image(world, "cu_seqlens_q"), prefix, sizeof(prefix));
		ck_assert_mem_eq(step_image(world, "input_ids"),
				 phase == DEFERRED ? assembled : staged, sizeof(staged));
	}
	step_world_destroy(world);
}
END_TEST

START_TEST(R07_spec_indices_follow_decode_prefill_and_dummy_transitions)
{
	static const char *const members[] = {"cu_num_draft_tokens", "target_logits_indices",
					      "bonus_logits_indices"};
	const int32_t drafts[] = {11, 12, 13, 16};
	step_world_t *world;

	world = step_world_create(&token_options_speculative, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 4; i++) {
		token_case_t token_case = {
			.ids = {10, 11, 12, 13, 14, 15, 16},
			.scheduled = {4, 1, 2},
			.contexts = {4, 1, 2},
		};
		h2d_batch_t *batch = &token_case.batch;
		const bool verifies = i == 0 || i == 3;
		h2d_token_inputs_step_t step;

		for (int j = 0; j < TOKEN_MAX_REQUESTS; j++)
			token_case.top_ks[j] = -1, token_case.top_ps[j] = 1;
		token_case_attach(&token_case, 3);
		batch->context_lengths = token_case.contexts;
		batch->phase = i == 1 ? H2D_PHASE_PREFILL : H2D_PHASE_DECODE;
		batch->dummy = i == 2;
		step_begin(world);
		check_success(
			h2d_token_inputs_prepare(world->runner, fixture_stream, batch, &step));
		for (int j = 0; j < 3; j++)
			step_check_published(world, members[j], verifies);
		ck_assert_uint_eq(step.num_drafts, verifies ? 4 : 0);
		ck_assert_int_eq(step.target_logits_indices != NULL, verifies);
		if (!verifies)
			check_fails(h2d_verification_prepare(world->runner, fixture_stream, batch,
							     NULL),
				    H2D_STATUS_INVALID_STATE, "nothing to verify");
		token_model_all(world, &token_case);
		step_observe(world, "transitions", i);
		step_finish(world);
		ck_assert_mem_eq(world->draft_ids.expected, drafts, sizeof(drafts));
	}
	step_world_destroy(world);
}
END_TEST

/* What a step costs: one DMA and one scatter, one dispatch, or one DMA for each active member. */
START_TEST(token_inputs_cost_one_dma_and_one_scatter)
{
	static const uint64_t copies[] = {1, 9, 0};
	static const uint64_t dispatches[] = {1, 0, 1};
	const int backend = STEP_BACKEND(_i);
	const uint64_t slots = STEP_SLOTS(_i);
	token_case_t token_case = {
		.rows = {1, 0},
		.scheduled = {4, 2},
		.top_ks = {1, 2},
		.top_ps = {.1f, .2f},
	};
	step_world_t *world;

	world = step_world_create(&token_options_speculative, STEP_BACKEND(_i), STEP_SLOTS(_i));
	token_case_attach(&token_case, 2);
	token_case.batch.previous_rows = token_case.rows;
	token_case_upload_previous(&token_case, 2, 3, 3, 0);
	for (uint64_t i = 0; i < 4; i++) {
		h2d_publication_totals_t totals;

		step_begin(world);
		check_success(h2d_token_inputs_prepare(world->runner, fixture_stream,
						       &token_case.batch, NULL));
		h2d_owner_get_totals(
			h2d_runner_owner(world->runner, h2d_runner_slot(world->runner)), &totals);
		ck_assert_uint_eq(totals.dma_copies, (i / slots + 1) * copies[backend]);
		ck_assert_uint_eq(totals.dispatches, (i / slots + 1) * dispatches[backend]);
		token_model_all(world, &token_case);
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* ---- captured sizes -------------------------------------------------------------------------- */

/* Every batch size against every set of these captured sizes; dirty memory behind each. */
START_TEST(every_batch_size_is_padded_to_the_smallest_captured_one)
{
	static const uint32_t sizes[] = {1, 2, 5, 8};
	const int set = _i / 3;
	uint32_t captured[4];
	h2d_runner_options_t options = token_options_speculative;
	step_world_t *world;

	options.captured_batch_sizes = captured;
	for (int i = 0; i < 4; i++) {
		if (set >> i & 1)
			captured[options.num_captured_batch_sizes++] = sizes[i];
	}
	world = step_world_create(&options, STEP_BACKEND(_i), 1);
	for (uint32_t requests = 0; requests <= 8; requests++) {
		token_case_t token_case = {.scheduled = {1, 4, 2, 3, 1, 4, 4, 1}};
		h2d_token_inputs_step_t step;
		uint32_t expected = requests, tokens = 0;

		for (uint32_t i = options.num_captured_batch_sizes; i-- > 0;)
			expected = captured[i] >= requests ? captured[i] : expected;
		for (uint32_t i = 0; i < requests; i++)
			tokens += (uint32_t)token_case.scheduled[i];
		for (int i = 0; i < TOKEN_MAX_TOKENS; i++)
			token_case.ids[i] = 500 + i;
		for (int i = 0; i < TOKEN_MAX_REQUESTS; i++)
			token_case.top_ps[i] = 1, token_case.top_ks[i] = -1;
		token_case_attach(&token_case, requests);
		step_begin(world);
		check_success(h2d_token_inputs_prepare(world->runner, fixture_stream,
						       &token_case.batch, &step));
		ck_assert_uint_eq(step.running_requests, expected);
		/* the largest captured size may be too small: then nothing is padded */
		if (options.num_captured_batch_sizes > 0 &&
		    captured[options.num_captured_batch_sizes - 1] >= requests)
			tokens = expected * options.query_length;
		ck_assert_uint_eq(step.running_tokens, tokens);
		token_model_all(world, &token_case);
		step_observe(world, "captured", (int)requests);
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* ---- random batches -------------------------------------------------------------------------- */

static const h2d_runner_options_t shapes[] = {
	{.max_requests = 8,
	 .query_length = 4,
	 .max_tokens = 64,
	 .block_size = 16,
	 .max_model_length = 64,
	 CAPTURED(1, 2, 5)},
	{.max_requests = 8,
	 .query_length = 4,
	 .max_tokens = 40,
	 .block_size = 16,
	 .max_model_length = 64,
	 .omit_end_fence = true,
	 CAPTURED(8)},
	{.max_requests = 7,
	 .query_length = 1,
	 .max_tokens = 28,
	 .block_size = 16,
	 .max_model_length = 64,
	 .pack_limit_bytes = 12,
	 CAPTURED(3, 4, 6, 7)},
	{.max_requests = 8, .query_length = 2, .block_size = 16, .max_model_length = 64},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

START_TEST(random_batches_land_every_byte)
{
	const uint64_t seed = fixture_seed() + (uint64_t)_i;
	uint64_t state = seed;
	step_world_t *world;

	world = step_world_create(&shapes[_i / STEP_MODES], STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 24; i++) {
		token_case_t token_case;
		h2d_token_inputs_step_t step;

		step_begin(world);
		token_case_random(&token_case, world, &state);
		check_success(token_prepare(world, &token_case.batch,
					    fixture_random_between(&state, 0, 3) == 0, &step));
		ck_assert_uint_eq(
			step.running_requests,
			token_running_requests(&world->runner->options, &token_case.batch));
		ck_assert_uint_eq(step.running_tokens,
				  token_running_tokens(&world->runner->options, &token_case.batch));
		token_model_all(world, &token_case);
		if (fixture_random_between(&state, 0, 2) == 0)
			step_observe(world, "random", i);
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

static Suite *token_inputs_suite(void)
{
	Suite *suite = suite_create("token_inputs");
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, step_hostile_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase,
			    R06_prepare_publishes_sampling_and_query_prefix_before_token_consumer,
			    0, R06_PHASES * STEP_MODES);
	tcase_add_loop_test(tcase, R07_spec_indices_follow_decode_prefill_and_dummy_transitions, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, token_inputs_cost_one_dma_and_one_scatter, 0, STEP_MODES);
	tcase_add_loop_test(tcase, every_batch_size_is_padded_to_the_smallest_captured_one, 0,
			    16 * 3);
	tcase_add_loop_test(tcase, random_batches_land_every_byte, 0, SHAPES * STEP_MODES);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(token_inputs_suite());
}
