/* SPDX-License-Identifier: MIT */
/* MRoPE positions: values, padding and plane stride, re-entry, and positions that it replaces. */
#include <stdio.h>

#include "step_world.h"

static const uint32_t captured[] = {4};

static h2d_runner_options_t mrope_options(void)
{
	return (h2d_runner_options_t){
		.max_requests = 8,
		.query_length = 2,
		.block_size = 16,
		.max_model_length = 1000,
		.max_tokens = 64,
		.num_pages = 100,
		.captured_batch_sizes = captured,
		.num_captured_batch_sizes = 1,
		.mrope = true,
	};
}

/* Three planes of the same positions. */
static void expect_planes(step_world_t *world, const int64_t *plane, uint32_t width)
{
	int64_t planes[3 * 64];

	ck_assert_uint_le(width, 64);
	for (uint32_t axis = 0; axis < 3; axis++)
		memcpy(planes + axis * width, plane, width * sizeof(*plane));
	step_expect(world, "mrope_positions", planes, 3 * width * sizeof(*planes));
}

START_TEST(R04_mrope_padding_is_final_before_its_only_publication)
{
	static const uint32_t batches[] = {4, 3, 1, 4, 2, 1};
	const h2d_runner_options_t options = mrope_options();
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));

	for (int32_t i = 0; i < 6; i++) {
		int32_t contexts[4];
		int64_t deltas[4];
		int64_t plane[8] = {0};
		const h2d_batch_t batch = {.num_requests = batches[i],
					   .context_lengths = contexts,
					   .mrope_deltas = deltas};
		h2d_mrope_step_t step;
		h2d_buffer_t *buffer;
		const int64_t *seen;

		for (int32_t j = 0; j < (int32_t)batches[i]; j++) {
			contexts[j] = 100 * j + 2 * i + 2;
			deltas[j] = 10 * j;
			plane[2 * j] = 110 * j + 2 * i;
			plane[2 * j + 1] = 110 * j + 2 * i + 1;
		}
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(h2d_mrope_prepare(world->runner, fixture_stream, &batch, &step));
		ck_assert_uint_eq(step.width, 8);
		ck_assert_uint_eq(step.tokens, 2 * batches[i]);
		ck_assert_uint_eq(step.slot, h2d_runner_slot(world->runner));
		seen = consume(fixture_stream, step.positions, 24 * sizeof(int64_t));
		expect_planes(world, plane, 8);

		check_success(h2d_runner_buffer(world->runner, "mrope_positions", &buffer));
		ck_assert_ptr_eq(h2d_buffer_device(buffer), step.positions);
		step_check_refused(world, h2d_buffer_publish(buffer, fixture_stream, 3, NULL),
				   H2D_STATUS_ALREADY_PUBLISHED);
		contexts[0]++;
		step_check_refused(world,
				   h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(world,
				   h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_INVALID_STATE);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		step_world_check(world, "step");
		expect_bytes(seen, step_expected(world, step.slot, "mrope_positions"),
			     24 * sizeof(int64_t));
	}
	step_world_destroy(world);
}
END_TEST

START_TEST(R08_mrope_producer_and_padded_model_view_share_axis_stride)
{
	const h2d_runner_options_t options = mrope_options();
	const h2d_batch_t batch = {.num_requests = 2,
				   .context_lengths = (const int32_t[]){12, 22},
				   .mrope_deltas = (const int64_t[]){100, 200}};
	const int64_t plane[8] = {110, 111, 220, 221};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	h2d_mrope_step_t step;
	h2d_mrope_step_t view;
	int64_t *seen;

	step_begin(world);
	check_success(h2d_mrope_prepare(world->runner, fixture_stream, &batch, &step));
	check_success(h2d_mrope_view(world->runner, step.slot, &view));
	ck_assert_ptr_eq(view.positions, step.positions);
	ck_assert_uint_eq(view.width, 0);
	check_fails(h2d_mrope_view(world->runner, STEP_SLOTS(_i), &view), H2D_STATUS_OUT_OF_RANGE,
		    "slot");
	/* As the model reads it: plane after plane with the stride of the width that it runs. */
	for (uint32_t axis = 0; axis < 3; axis++) {
		seen = consume(fixture_stream, step.positions + axis * step.width, sizeof(plane));
		expect_bytes(seen, plane, sizeof(plane));
	}
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	expect_planes(world, plane, 8);
	step_world_destroy(world);
}
END_TEST

/* Widths of eager, padded, ragged and prefill steps one after the other in the same buffer. */
START_TEST(R08_the_stride_follows_every_step)
{
	h2d_runner_options_t options = mrope_options();
	const int64_t stored[] = {7, 8, 9, 90, 70, 80, 91, 92, 700, 800, 900, 901};
	const struct {
		h2d_batch_t batch;
		uint32_t width;
		int64_t planes[3][12];
	} steps[] = {
		/* Above every captured size: eager. */
		{{.num_requests = 5, .context_lengths = (const int32_t[]){2, 3, 4, 5, 6}},
		 10,
		 {{0, 1, 1, 2, 2, 3, 3, 4, 4, 5},
		  {0, 1, 1, 2, 2, 3, 3, 4, 4, 5},
		  {0, 1, 1, 2, 2, 3, 3, 4, 4, 5}}},
		/* Ragged, with rejection, padded; a negative delta. */
		{{.num_requests = 3,
		  .context_lengths = (const int32_t[]){12, 9, 30},
		  .rejected_tokens = (const int32_t[]){1, 0, 1},
		  .scheduled_tokens = (const int32_t[]){2, 1, 2},
		  .mrope_deltas = (const int64_t[]){-9, 0, 1000}},
		 8,
		 {{0, 1, 7, 1027, 1028}, {0, 1, 7, 1027, 1028}, {0, 1, 7, 1027, 1028}}},
		/* Prefill: the middle of a stored prompt, then a request without positions, whose
		 * stride is not looked at. */
		{{.num_requests = 2,
		  .phase = H2D_PHASE_PREFILL,
		  .context_lengths = (const int32_t[]){3, 4},
		  .cached_tokens = (const int32_t[]){1, 2},
		  .mrope_positions = (const int64_t *const[]){stored, NULL},
		  .mrope_strides = (const uint64_t[]){4, 0}},
		 4,
		 {{8, 9, 2, 3}, {80, 91, 2, 3}, {800, 900, 2, 3}}},
		{{.num_requests = 0}, 8, {{0}}},
		{{.num_requests = 1, .context_lengths = (const int32_t[]){1000}},
		 8,
		 {{998, 999}, {998, 999}, {998, 999}}},
	};
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (size_t n = 0; n < 2 * sizeof(steps) / sizeof(steps[0]); n++) {
		const uint32_t width = steps[n / 2].width;
		h2d_mrope_step_t step;
		char what[32];

		step_begin(world);
		check_success(h2d_mrope_prepare(world->runner, fixture_stream, &steps[n / 2].batch,
						&step));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		ck_assert_uint_eq(step.width, width);
		for (uint32_t axis = 0; axis < 3; axis++) {
			int64_t planes[36];

			for (uint32_t i = 0; i < 3; i++)
				memcpy(planes + i * width, steps[n / 2].planes[i],
				       width * sizeof(int64_t));
			step_expect(world, "mrope_positions", planes, 3 * width * sizeof(int64_t));
		}
		snprintf(what, sizeof(what), "step %zu", n / 2);
		step_world_check(world, what);
	}
	step_world_destroy(world);
}
END_TEST

/* Every batch against every set of captured sizes. */
START_TEST(R08_every_batch_under_every_set_of_captured_sizes)
{
	for (uint32_t set = 0; set < 16; set++) {
		h2d_runner_options_t options = mrope_options();
		uint32_t sizes[4];
		step_world_t *world;

		options.max_requests = 4;
		options.captured_batch_sizes = sizes;
		options.num_captured_batch_sizes = 0;
		for (uint32_t size = 1; size <= 4; size++) {
			if (set & 1u << (size - 1))
				sizes[options.num_captured_batch_sizes++] = size;
		}
		world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
		for (uint32_t requests = 1; requests <= 4; requests++) {
			int32_t contexts[4];
			int64_t plane[8] = {0};
			uint32_t running = requests;
			const h2d_batch_t batch = {.num_requests = requests,
						   .context_lengths = contexts};

			while (running <= 4 && !(set & 1u << (running - 1)))
				running++;
			if (running > 4)
				running = requests;
			for (uint32_t i = 0; i < requests; i++) {
				contexts[i] = (int32_t)(10 * set + requests + 50 * i + 2);
				plane[2 * i] = contexts[i] - 2;
				plane[2 * i + 1] = contexts[i] - 1;
			}
			step_begin(world);
			check_success(
				h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL));
			check_success(h2d_runner_finish(world->runner, fixture_stream));
			expect_planes(world, plane, 2 * running);
			step_world_check(world, "captured sizes");
		}
		step_world_destroy(world);
	}
}
END_TEST

/* Re-entry with other data while the first consumer is still behind a delay. */
START_TEST(A07_mrope_reentry_preserves_sources_and_first_consumer)
{
	static const int64_t stored[2][36] = {{5, 6, 7}, {8, 9, 10}};
	const h2d_runner_options_t options = mrope_options();
	const bool prefill = _i / STEP_MODES == 1;
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));

	for (int32_t epoch = 0; epoch < 3; epoch++) {
		int32_t contexts[2] = {12, 22};
		const int64_t *positions[2] = {stored[0], NULL};
		const h2d_batch_t batch = {
			.num_requests = 2,
			.phase = prefill ? H2D_PHASE_PREFILL : H2D_PHASE_DECODE,
			.context_lengths = contexts,
			.cached_tokens = prefill ? (const int32_t[]){0, 20} : NULL,
			.mrope_positions = positions,
		};
		const uint32_t width = prefill ? 14 : 8;
		int64_t planes[3 * 14] = {0};
		h2d_mrope_step_t step;
		const void *seen;

		for (uint32_t axis = 0; axis < 3 && !prefill; axis++)
			memcpy(planes + axis * 8, (const int64_t[]){10, 11, 20, 21}, 32);
		for (uint32_t axis = 0; axis < 3 && prefill; axis++) {
			memcpy(planes + axis * 14, stored[0] + axis * 12, 12 * sizeof(int64_t));
			planes[axis * 14 + 12] = 20;
			planes[axis * 14 + 13] = 21;
		}
		step_begin(world);
		gate_close(fixture_stream);
		check_success(h2d_mrope_prepare(world->runner, fixture_stream, &batch, &step));
		ck_assert_uint_eq(step.width, width);
		seen = consume(fixture_stream, step.positions, 3 * width * sizeof(int64_t));
		step_expect(world, "mrope_positions", planes, 3 * width * sizeof(int64_t));
		contexts[0]--;
		contexts[1]--;
		positions[0] = stored[1];
		step_check_refused(world,
				   h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(world,
				   h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_INVALID_STATE);
		gate_open();
		check_success(h2d_runner_record(world->runner, fixture_stream));
		step_world_check(world, "re-entry");
		expect_bytes(seen, planes, 3 * width * sizeof(int64_t));
	}
	step_world_destroy(world);
}
END_TEST

/* With MRoPE, mha_decode keeps its fingers off the positions. */
START_TEST(mrope_replaces_the_positions_of_mha_decode)
{
	const h2d_runner_options_t options = mrope_options();
	const h2d_batch_t batch = {.num_requests = 1,
				   .context_lengths = (const int32_t[]){5},
				   .block_tables = (const int32_t *const[]){(const int32_t[]){9}},
				   .block_table_lengths = (const uint32_t[]){1}};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	h2d_mha_decode_step_t step;
	h2d_mha_decode_step_t view;

	step_begin(world);
	check_success(h2d_mha_decode_prepare(world->runner, fixture_stream, &batch, &step));
	ck_assert_ptr_null(step.positions);
	ck_assert_ptr_nonnull(step.slot_mapping);
	check_success(h2d_mha_decode_view(world->runner, step.slot, &view));
	ck_assert_ptr_null(view.positions);
	check_success(h2d_mrope_prepare(world->runner, fixture_stream, &batch, NULL));
	step_check_published(world, "positions", false);
	step_check_published(world, "slot_mapping", true);
	step_check_published(world, "mrope_positions", true);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	expect_bytes(h2d_buffer_device(h2d_slot_find_buffer(
			     &world->runner->slots[world->runner->slot], "positions")),
		     step_expected(world, h2d_runner_slot(world->runner), "positions"), 64);
	step_world_discard(world);
}
END_TEST

typedef struct refusal {
	h2d_batch_t batch;
	h2d_status_t status;
	const char *words[2];
} refusal_t;

#define TWO(...) ((const int32_t[]){__VA_ARGS__})

static const refusal_t refusals[] = {
	{{.num_requests = 9, .context_lengths = TWO(9)}, H2D_STATUS_OUT_OF_RANGE, {"9", "8"}},
	{{.num_requests = 1}, H2D_STATUS_INVALID_ARGUMENT, {"context_lengths", "NULL"}},
	{{.num_requests = 2, .context_lengths = TWO(2, 1)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "context_lengths 1"}},
	{{.num_requests = 2, .context_lengths = TWO(2, 1001)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "1001"}},
	{{.num_requests = 1, .context_lengths = TWO(9), .rejected_tokens = TWO(-1)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 0", "rejected_tokens -1"}},
	{{.num_requests = 2,
	  .context_lengths = TWO(9, 9),
	  .mrope_deltas = (const int64_t[]){0, INT64_MAX}},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "mrope_deltas 9223372036854775807"}},
	{{.num_requests = 2,
	  .context_lengths = TWO(9, 9),
	  .mrope_deltas = (const int64_t[]){0, (int64_t)INT32_MIN - 1}},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 1", "mrope_deltas"}},
	{{.num_requests = 1,
	  .phase = H2D_PHASE_PREFILL,
	  .context_lengths = TWO(9),
	  .mrope_positions = (const int64_t *const[]){(const int64_t[]){1}},
	  .mrope_strides = (const uint64_t[]){8}},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 0", "mrope_strides 8"}},
	{{.num_requests = 1,
	  .phase = H2D_PHASE_PREFILL,
	  .context_lengths = TWO(9),
	  .cached_tokens = TWO(10)},
	 H2D_STATUS_OUT_OF_RANGE,
	 {"request 0", "cached_tokens 10"}},
};

START_TEST(a_bad_batch_is_refused_before_a_source_is_written)
{
	const refusal_t *refusal = &refusals[_i];
	h2d_runner_options_t options = mrope_options();
	step_world_t *world = step_world_create(&options, H2D_BACKEND_PACKED, 1);

	step_begin(world);
	step_check_refused(world,
			   h2d_mrope_prepare(world->runner, fixture_stream, &refusal->batch, NULL),
			   refusal->status);
	for (int i = 0; i < 2; i++)
		check_message(refusal->words[i]);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);

	/* A runner without mrope refuses all of them. */
	options.mrope = false;
	world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	step_begin(world);
	check_fails(h2d_mrope_prepare(world->runner, fixture_stream, &refusal->batch, NULL),
		    H2D_STATUS_INVALID_STATE, "mrope");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

static void add_cases(Suite *suite, const char *name, SFun setup)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, R04_mrope_padding_is_final_before_its_only_publication, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, R08_mrope_producer_and_padded_model_view_share_axis_stride, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, R08_the_stride_follows_every_step, 0, STEP_MODES);
	tcase_add_loop_test(tcase, A07_mrope_reentry_preserves_sources_and_first_consumer, 0,
			    2 * STEP_MODES);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("mrope");
	TCase *tcase = tcase_create("batches");

	add_cases(suite, "values", case_setup);
	add_cases(suite, "hostile", step_hostile_setup);
	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, R08_every_batch_under_every_set_of_captured_sizes, 0, BACKENDS);
	tcase_add_loop_test(tcase, mrope_replaces_the_positions_of_mha_decode, 0, STEP_MODES);
	tcase_add_loop_test(tcase, a_bad_batch_is_refused_before_a_source_is_written, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
