/* SPDX-License-Identifier: MIT */
/* The parts of token_inputs one by one: sampling, input ids and verification indices. */
#include <string.h>

#include "token_model.h"

static void check_repeat_is_refused(step_world_t *world, const char *name)
{
	check_fails(h2d_buffer_publish(step_buffer(world, name), fixture_stream, 1, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
}

/* ---- R01: sampling --------------------------------------------------------------------------- */

typedef struct sampling_case {
	uint32_t requests;
	float temperatures[3];
	int32_t top_ks[3];
	float top_ps[3];
	bool all_greedy, uploads_ks, uploads_ps;
} sampling_case_t;

static const sampling_case_t sampling_cases[] = {
	{3, {0, 0, 0}, {-1, -1, -1}, {1, 1, 1}, true, false, false},
	{3, {.2f, .4f, .6f}, {4, 4, 4}, {.9f, .9f, .9f}, false, false, false},
	{2, {1, 0}, {8, 2}, {.5f, .8f}, false, true, true},
	{1, {0}, {-1}, {1}, true, false, false},
	{1, {.7f}, {4}, {.9f}, false, false, false},
	{2, {.5f, 1}, {4, 4}, {.7f, .8f}, false, false, true},
	{2, {.5f, 1}, {4, 7}, {.8f, .8f}, false, true, false},
};

static void check_sampling_step(const sampling_case_t *sampling, const step_world_t *world,
				const h2d_token_inputs_step_t *step)
{
	const float *temperatures = h2d_buffer_host(step_buffer(world, "temperatures"));

	for (uint32_t i = 0; i < sampling->requests; i++) {
		const float raw = sampling->temperatures[i];
		const float clamped = raw > 0 ? raw : 1e-10f;

		ck_assert_mem_eq(&temperatures[i], &clamped, sizeof(float));
	}
	ck_assert_int_eq(step->all_greedy, sampling->all_greedy);
	ck_assert(step->needs_independent_noise);
	ck_assert_ptr_eq(step->top_ks, sampling->uploads_ks
					       ? h2d_buffer_device(step_buffer(world, "top_ks"))
					       : NULL);
	ck_assert_ptr_eq(step->top_ps, sampling->uploads_ps
					       ? h2d_buffer_device(step_buffer(world, "top_ps"))
					       : NULL);
	if (!sampling->uploads_ks)
		ck_assert_int_eq(step->top_k, sampling->top_ks[0]);
	if (!sampling->uploads_ps)
		ck_assert_mem_eq(&step->top_p, &sampling->top_ps[0], sizeof(float));
	step_check_published(world, "top_ks", sampling->uploads_ks);
	step_check_published(world, "top_ps", sampling->uploads_ps);
}

START_TEST(R01_sampling_optional_members_and_scalar_filters)
{
	static const bool noise[3] = {true, false, true};
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 14; i++) {
		const sampling_case_t *sampling = &sampling_cases[i % 7];
		const h2d_batch_t batch = {
			.num_requests = sampling->requests,
			.temperatures = sampling->temperatures,
			.top_ks = sampling->top_ks,
			.top_ps = sampling->top_ps,
			.needs_independent_noise = noise,
		};
		h2d_token_inputs_step_t step = {0};

		step_begin(world);
		delay(fixture_stream, 2);
		check_success(h2d_sampling_prepare(world->runner, fixture_stream, &batch, &step));
		check_sampling_step(sampling, world, &step);
		token_model_sampling(world, &batch);
		step_observe(world, "sampling", i);
		check_repeat_is_refused(world, "temperatures");
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* No arrays: temperature 1, no filters, no noise of one's own. */
START_TEST(R01_sampling_defaults)
{
	const h2d_batch_t batch = {.num_requests = 2};
	h2d_token_inputs_step_t step = {0};
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	step_begin(world);
	check_success(h2d_sampling_prepare(world->runner, fixture_stream, &batch, &step));
	ck_assert(!step.all_greedy && !step.needs_independent_noise);
	ck_assert_ptr_null(step.top_ks);
	ck_assert_ptr_null(step.top_ps);
	ck_assert_int_eq(step.top_k, -1);
	ck_assert(step.top_p == 1);
	token_model_sampling(world, &batch);
	step_finish(world);
	step_world_destroy(world);
}
END_TEST

/* The GPU recognises greedy rows by the clamped temperature; no temperature above it is touched. */
START_TEST(R01_greedy_rows_are_corrected_on_the_gpu)
{
	const float temperatures[] = {0, 0.7f, 2e-10f, 0, 1e-10f};
	const int32_t sampled[] = {5, 6, 7, 8, 9, 10};
	const int32_t largest[] = {50, 60, 70, 80, 90, 100};
	const int32_t expected[] = {50, 6, 7, 80, 90, 10};
	const h2d_batch_t batch = {.num_requests = 5, .temperatures = temperatures};
	int32_t actual[6];
	int32_t *sampled_ids;
	const int32_t *largest_ids;
	h2d_graph_t *graph;
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	sampled_ids = step_upload(sampled, sizeof(sampled));
	largest_ids = step_upload(largest, sizeof(largest));
	for (int recorded = 0; recorded < 2; recorded++) {
		check_success(h2d_device_write(fixture_device, sampled_ids, sampled,
					       sizeof(sampled), H2D_DEFAULT_TIMEOUT_NS));
		step_begin(world);
		check_success(h2d_sampling_prepare(world->runner, fixture_stream, &batch, NULL));
		token_model_sampling(world, &batch);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		if (recorded)
			check_success(h2d_graph_begin_capture(fixture_stream));
		check_success(h2d_sampling_enqueue_greedy_correction(world->runner, fixture_stream,
								     h2d_runner_slot(world->runner),
								     5, sampled_ids, largest_ids));
		if (recorded) {
			check_success(h2d_graph_end_capture(fixture_stream, &graph));
			check_success(h2d_graph_launch(graph, fixture_stream));
			check_success(h2d_graph_destroy(graph));
		}
		check_success(h2d_runner_record(world->runner, fixture_stream));
		check_success(h2d_stream_synchronize(fixture_stream));
		check_success(h2d_device_read(fixture_device, actual, sampled_ids, sizeof(actual),
					      H2D_DEFAULT_TIMEOUT_NS));
		ck_assert_mem_eq(actual, expected, sizeof(expected));
	}
	check_fails(h2d_sampling_enqueue_greedy_correction(world->runner, fixture_stream, 2, 1,
							   sampled_ids, largest_ids),
		    H2D_STATUS_OUT_OF_RANGE, "slot 2");
	check_fails(h2d_sampling_enqueue_greedy_correction(world->runner, fixture_stream, 0, 9,
							   sampled_ids, largest_ids),
		    H2D_STATUS_OUT_OF_RANGE, "rows 9");
	step_world_destroy(world);
}
END_TEST

/* Behind finish and without a record: each epoch's correction is of its own rows. */
START_TEST(R01_greedy_correction_outlives_the_epoch_that_enqueued_it)
{
	const float temperatures[] = {0, 0, 0, 0, 0};
	const h2d_batch_t batch = {.num_requests = 5, .temperatures = temperatures};
	const int32_t sampled[] = {5, 6, 7, 8, 9};
	const int32_t largest[] = {50, 60, 70, 80, 90};
	const int32_t expected[2][5] = {{50, 60, 70, 80, 90}, {50, 60, 7, 8, 9}};
	int32_t *sampled_ids[2];
	const int32_t *largest_ids = step_upload(largest, sizeof(largest));
	step_world_t *world;
	uint32_t slot;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), 1);
	for (int n = 0; n < 2; n++)
		sampled_ids[n] = step_upload(sampled, sizeof(sampled));
	for (int n = 0; n < 2; n++) {
		step_begin(world);
		slot = h2d_runner_slot(world->runner);
		check_success(h2d_sampling_prepare(world->runner, fixture_stream, &batch, NULL));
		token_model_sampling(world, &batch);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		delay(fixture_stream, 30);
		check_success(h2d_sampling_enqueue_greedy_correction(world->runner, fixture_stream,
								     slot, n == 0 ? 5 : 2,
								     sampled_ids[n], largest_ids));
		check_fails(h2d_sampling_enqueue_greedy_correction(world->runner, fixture_stream,
								   slot, 1, sampled_ids[n],
								   largest_ids),
			    H2D_STATUS_INVALID_STATE, "h2d_greedy_rows: enqueued in epoch");
	}
	for (int n = 0; n < 2; n++)
		expect_bytes(sampled_ids[n], expected[n], sizeof(expected[n]));
	step_world_destroy(world);
}
END_TEST

/* ---- R02, R03: input ids --------------------------------------------------------------------- */

/* Requests 10 and 20 were sampled 71 and 82; now run 20, 30 (new) and 10. */
START_TEST(R02_input_ids_deferred_and_new_requests_share_one_publication)
{
	token_case_t token_case = {
		.ids = {-1, 93, -1},
		.rows = {1, -1, 0},
		.scheduled = {1, 1, 1},
		.previous_sampled = {71, 82},
	};
	const int32_t assembled[] = {82, 93, 71};
	h2d_batch_t *batch = &token_case.batch;
	h2d_token_inputs_step_t step = {0};
	h2d_publication_totals_t totals;
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	token_case_attach(&token_case, 3);
	batch->running_requests = 3;
	batch->previous_rows = token_case.rows;
	token_case_upload_previous(&token_case, 2, 0, 0, 0);
	step_begin(world);
	check_fails(h2d_input_ids_prepare(world->runner, fixture_stream, batch, NULL),
		    H2D_STATUS_INVALID_STATE, "cu_seqlens_q");
	check_success(h2d_query_prefix_prepare(world->runner, fixture_stream, batch, &step));
	check_success(h2d_input_ids_prepare(world->runner, fixture_stream, batch, &step));
	h2d_owner_get_totals(h2d_runner_owner(world->runner, h2d_runner_slot(world->runner)),
			     &totals);
	ck_assert_uint_eq(totals.publications, 2);
	ck_assert_ptr_nonnull(step.decode_src);
	step_check_published(world, "decode_src", true);
	check_repeat_is_refused(world, "input_ids");
	token_model_query_prefix(world, batch);
	token_model_input_ids(world, &token_case);
	step_finish(world);
	ck_assert_mem_eq(step_image(world, "input_ids"), assembled, sizeof(assembled));
	step_world_destroy(world);
}
END_TEST

START_TEST(R03_prefill_and_first_decode_ids_rotate_with_the_runner)
{
	h2d_buffer_t *last = NULL;
	step_world_t *world;

	world = step_world_create(&token_options_plain, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 6; i++) {
		token_case_t token_case = {.ids = {i + 1, i + 2}, .scheduled = {2, 1}};
		h2d_batch_t *batch = &token_case.batch;
		h2d_token_inputs_step_t step = {0};
		const int32_t contexts[] = {2};

		step_begin(world);
		token_case_attach(&token_case, 1);
		batch->phase = i % 2 ? H2D_PHASE_DECODE : H2D_PHASE_PREFILL;
		batch->context_lengths = contexts;
		if (i % 2) {
			token_case.scheduled[0] = 1;
			batch->num_requests = 2;
			batch->running_requests = 2;
		}
		delay(fixture_stream, 2);
		check_success(h2d_input_ids_prepare(world->runner, fixture_stream, batch, &step));
		ck_assert_ptr_null(step.decode_src);
		step_check_published(world, "decode_src", false);
		/* the aliases by name are those of the slot in use */
		if (last && world->runner->options.slots == 2)
			ck_assert_ptr_ne(step_buffer(world, "input_ids"), last);
		last = step_buffer(world, "input_ids");
		ck_assert_ptr_eq(h2d_buffer_device(last), step.input_ids);
		token_model_input_ids(world, &token_case);
		step_observe(world, "ids", i);
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* ---- R05: verification ----------------------------------------------------------------------- */

START_TEST(R05_speculative_indices_publish_before_index_select)
{
	static const int32_t lengths[][8] = {
		{3, 1, 2}, {1, 1}, {4, 4, 4, 4, 4, 4, 4, 4}, {1, 3, 1}};
	static const uint32_t requests[] = {3, 2, 8, 3};
	const bool one_by_one = _i >= STEP_MODES;
	const int32_t *draft_ids = NULL;
	h2d_group_t *group;
	step_world_t *world;

	world = step_world_create(&token_options_speculative, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 8; i++) {
		token_case_t token_case = {0};
		h2d_token_inputs_step_t step;

		memcpy(token_case.scheduled, lengths[i % 4], sizeof(lengths[0]));
		for (int j = 0; j < TOKEN_MAX_TOKENS; j++)
			token_case.ids[j] = i * 100 + j;
		for (int j = 0; j < TOKEN_MAX_REQUESTS; j++)
			token_case.top_ks[j] = -1, token_case.top_ps[j] = 1;
		token_case_attach(&token_case, requests[i % 4]);
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(token_prepare(world, &token_case.batch, one_by_one, &step));
		token_model_all(world, &token_case);
		if (!draft_ids)
			draft_ids = step.draft_ids;
		ck_assert_ptr_nonnull(draft_ids);
		ck_assert_ptr_eq(step.draft_ids, draft_ids); /* in every slot */
		step_observe(world, "verification", i);
		/* even a step without drafts has published their indices */
		check_repeat_is_refused(world, "target_logits_indices");
		step_finish(world);
		if (i == 0) {
			const int32_t drafts[] = {1, 2, 5};

			ck_assert_uint_eq(step.num_drafts, 3);
			ck_assert_mem_eq(world->draft_ids.expected, drafts, sizeof(drafts));
		}
		ck_assert(i % 4 != 1 || step.num_drafts == 0);
	}
	check_success(h2d_runner_group(world->runner, "spec_decode", &group));
	if (STEP_BACKEND(_i) != H2D_BACKEND_PULL)
		ck_assert_int_eq(h2d_group_transport(group), H2D_BACKEND_DIRECT);
	step_world_destroy(world);
}
END_TEST

static Suite *token_parts_suite(void)
{
	Suite *suite = suite_create("token_parts");
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, step_hostile_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, R01_sampling_optional_members_and_scalar_filters, 0, STEP_MODES);
	tcase_add_loop_test(tcase, R01_sampling_defaults, 0, STEP_MODES);
	tcase_add_loop_test(tcase, R01_greedy_rows_are_corrected_on_the_gpu, 0, STEP_MODES);
	tcase_add_loop_test(tcase, R01_greedy_correction_outlives_the_epoch_that_enqueued_it, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, R02_input_ids_deferred_and_new_requests_share_one_publication, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, R03_prefill_and_first_decode_ids_rotate_with_the_runner, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, R05_speculative_indices_publish_before_index_select, 0,
			    2 * STEP_MODES);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(token_parts_suite());
}
