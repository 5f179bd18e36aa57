/* SPDX-License-Identifier: MIT */
/* Ragged batches: tokens and positions for QSA, states for PLE, padding, graphs, re-entry. */
#include <stdio.h>

#include "step_world.h"

enum { TOKENS = 12 };

static h2d_runner_options_t ragged_options(void)
{
	return (h2d_runner_options_t){
		.max_requests = 4,
		.query_length = 4,
		.block_size = 16,
		.max_model_length = 1000,
		.max_tokens = 64,
		.num_pages = 100,
		.ragged = true,
	};
}

/* Slots 64, 65, ... but for one token that has none. */
static const int64_t slots[TOKENS] = {64, 65, 66, 67, 68, 69, 70, -1, 72, 73, 74, 75};

/* The consumers of one slot: what the graph copies, and the compressed slots. */
typedef struct consumer {
	h2d_graph_t *graph;
	const void *token_to_req;
	const void *positions;
	const void *compressed;
	const void *states;
} consumer_t;

static consumer_t record_consumer(step_world_t *world, uint32_t slot, const int64_t *slot_mapping)
{
	consumer_t consumer;
	h2d_qsa_step_t view;
	h2d_ple_step_t ple;

	check_success(h2d_qsa_view(world->runner, slot, &view));
	check_success(h2d_ple_view(world->runner, slot, &ple));
	ck_assert_uint_eq(ple.slot, slot);
	ck_assert_uint_eq(ple.num_requests, 0);
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, slot,
						       slot_mapping, TOKENS, 4));
	consumer.token_to_req =
		consume(fixture_stream, view.token_to_req, TOKENS * sizeof(int32_t));
	consumer.positions =
		consume(fixture_stream, view.logical_positions, TOKENS * sizeof(int64_t));
	consumer.compressed =
		consume(fixture_stream, view.compressed_slots, TOKENS * sizeof(int64_t));
	consumer.states = consume(fixture_stream, ple.has_initial_state, 4 * sizeof(bool));
	check_success(h2d_graph_end_capture(fixture_stream, &consumer.graph));
	return consumer;
}

/* What a step of these lengths must publish, and what its consumers must see. */
typedef struct model {
	int32_t token_to_req[TOKENS];
	int64_t positions[TOKENS];
	int64_t compressed[TOKENS];
} model_t;

static model_t model_of(const int32_t *lengths, const int64_t *starts, uint32_t requests)
{
	model_t model;
	int token = 0;

	for (uint32_t i = 0; i < requests; i++) {
		for (int32_t j = 0; j < lengths[i]; j++, token++) {
			model.token_to_req[token] = (int32_t)i;
			model.positions[token] = starts[i] + j;
		}
	}
	for (; token < TOKENS; token++) {
		model.token_to_req[token] = -1;
		model.positions[token] = -1;
	}
	for (token = 0; token < TOKENS; token++) {
		model.compressed[token] = -1;
		if (model.positions[token] >= 0 && model.positions[token] % 4 == 3 &&
		    slots[token] >= 0)
			model.compressed[token] = slots[token] / 4;
	}
	return model;
}

START_TEST(A04_qsa_ple_ragged_padding_delayed_graph_consumer)
{
	static const struct {
		uint32_t requests;
		int32_t lengths[3];
	} steps[] = {{3, {3, 1, 4}}, {1, {1}}, {0, {0}}, {3, {4, 4, 4}}, {2, {2, 3}}};
	const h2d_runner_options_t options = ragged_options();
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	consumer_t consumers[STEP_MAX_SLOTS];
	int64_t *slot_mapping = case_device_memory(sizeof(slots));

	check_success(h2d_device_write(fixture_device, slot_mapping, slots, sizeof(slots),
				       H2D_DEFAULT_TIMEOUT_NS));
	for (uint32_t slot = 0; slot < STEP_SLOTS(_i); slot++)
		consumers[slot] = record_consumer(world, slot, slot_mapping);
	for (int32_t n = 0; n < 5; n++) {
		const uint32_t requests = steps[n].requests;
		int32_t contexts[3];
		int32_t rejected[3];
		int64_t starts[3] = {0};
		bool states[3] = {false};
		const h2d_batch_t batch = {.num_requests = requests,
					   .running_requests = 3,
					   .scheduled_tokens = steps[n].lengths,
					   .context_lengths = contexts,
					   .rejected_tokens = rejected};
		h2d_qsa_step_t qsa;
		h2d_ple_step_t ple;
		model_t model;

		/* Every second request has a state; its first token is at another place each step.
		 */
		for (int32_t i = 0; i < (int32_t)requests; i++) {
			starts[i] = i % 2 ? 3 + 5 * n : 0;
			rejected[i] = n % 3;
			contexts[i] = (int32_t)starts[i] + 4 + rejected[i];
			states[i] = i % 2;
		}
		model = model_of(steps[n].lengths, starts, requests);
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(h2d_qsa_prepare(world->runner, fixture_stream, &batch, &qsa));
		check_success(h2d_ple_prepare(world->runner, fixture_stream, &batch, &ple));
		ck_assert_uint_eq(qsa.running_tokens, TOKENS);
		ck_assert_uint_eq(ple.num_requests, requests);
		step_expect(world, "qsa_token_to_req", model.token_to_req,
			    sizeof(model.token_to_req));
		step_expect(world, "qsa_logical_positions", model.positions,
			    sizeof(model.positions));
		step_expect(world, "ple_has_initial_state", states, requests * sizeof(bool));
		contexts[0]++;
		step_check_refused(world,
				   h2d_qsa_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_ALREADY_PUBLISHED);
		step_check_refused(world,
				   h2d_ple_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(world,
				   h2d_qsa_prepare(world->runner, fixture_stream, &batch, NULL),
				   H2D_STATUS_INVALID_STATE);
		check_success(h2d_graph_launch(consumers[qsa.slot].graph, fixture_stream));
		check_success(h2d_runner_record(world->runner, fixture_stream));
		step_world_check(world, "step");
		expect_bytes(consumers[qsa.slot].token_to_req, model.token_to_req,
			     sizeof(model.token_to_req));
		expect_bytes(consumers[qsa.slot].positions, model.positions,
			     sizeof(model.positions));
		expect_bytes(consumers[qsa.slot].compressed, model.compressed,
			     sizeof(model.compressed));
		expect_bytes(consumers[qsa.slot].states, states, requests * sizeof(bool));
	}
	for (uint32_t slot = 0; slot < STEP_SLOTS(_i); slot++)
		check_success(h2d_graph_destroy(consumers[slot].graph));
	step_world_destroy(world);
}
END_TEST

/* Prefills are not padded; a state is there if tokens are cached. No graph: one enqueue a step. */
START_TEST(A04_prefill_starts_behind_the_cached_tokens)
{
	static const int32_t contexts[] = {5, 9};
	static const int32_t cached[] = {0, 3};
	static const int64_t starts[] = {0, 3};
	static const int32_t lengths[] = {5, 6};
	static const bool states[] = {false, true};
	const h2d_runner_options_t options = ragged_options();
	const h2d_batch_t batch = {.num_requests = 2,
				   .phase = H2D_PHASE_PREFILL,
				   .context_lengths = contexts,
				   .cached_tokens = cached};
	const model_t model = model_of(lengths, starts, 2);
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	int64_t *slot_mapping = case_device_memory(sizeof(slots));
	h2d_qsa_step_t qsa;

	check_success(h2d_device_write(fixture_device, slot_mapping, slots, sizeof(slots),
				       H2D_DEFAULT_TIMEOUT_NS));
	for (int n = 0; n < 2; n++) {
		step_begin(world);
		check_success(h2d_qsa_prepare(world->runner, fixture_stream, &batch, &qsa));
		check_success(h2d_ple_prepare(world->runner, fixture_stream, &batch, NULL));
		ck_assert_uint_eq(qsa.tokens, 11);
		ck_assert_uint_eq(qsa.running_tokens, 11);
		check_success(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream,
							       qsa.slot, slot_mapping, 11, 4));
		step_finish(world);
		step_expect(world, "qsa_token_to_req", model.token_to_req, 11 * sizeof(int32_t));
		step_expect(world, "qsa_logical_positions", model.positions, 11 * sizeof(int64_t));
		step_expect(world, "ple_has_initial_state", states, sizeof(states));
		step_world_check(world, "prefill");
		expect_bytes(qsa.compressed_slots, model.compressed, 11 * sizeof(int64_t));
	}
	step_world_destroy(world);
}
END_TEST

/*
 * Behind finish and without a record: the arguments of the next epoch must not reach the dispatch
 * of the one before, which is still waiting.
 */
START_TEST(A04_arguments_outlive_the_epoch_that_enqueued_them)
{
	static const int32_t lengths[] = {8};
	static const int64_t starts[] = {0};
	const h2d_runner_options_t options = ragged_options();
	const h2d_batch_t batch = {
		.num_requests = 1, .phase = H2D_PHASE_PREFILL, .context_lengths = lengths};
	const model_t model = model_of(lengths, starts, 1);
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), 1);
	int64_t *slot_mapping = case_device_memory(sizeof(slots));
	h2d_stream_t *other;
	h2d_qsa_step_t qsa;

	check_success(h2d_device_write(fixture_device, slot_mapping, slots, sizeof(slots),
				       H2D_DEFAULT_TIMEOUT_NS));
	check_success(h2d_stream_create(fixture_device, NULL, &other));
	check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0, slot_mapping,
						     8, 4),
		    H2D_STATUS_INVALID_STATE, "owner 'slot 0' is idle");
	for (uint32_t n = 0; n < 2; n++) {
		step_begin(world);
		check_success(h2d_qsa_prepare(world->runner, fixture_stream, &batch, &qsa));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, other, 0, slot_mapping,
							     8, 4),
			    H2D_STATUS_WRONG_STREAM, "owner 'slot 0'");
		delay(fixture_stream, 30);
		check_success(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0,
							       slot_mapping, n == 0 ? 8 : 1, 4));
		check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0,
							     slot_mapping, 2, 2),
			    H2D_STATUS_INVALID_STATE,
			    "h2d_qsa_compressed_slots: enqueued in epoch");
	}
	step_expect(world, "qsa_token_to_req", model.token_to_req, 8 * sizeof(int32_t));
	step_expect(world, "qsa_logical_positions", model.positions, 8 * sizeof(int64_t));
	expect_bytes(qsa.compressed_slots, model.compressed, 8 * sizeof(int64_t));
	check_success(h2d_stream_destroy(other));
	step_world_destroy(world);
}
END_TEST

/* Every ragged batch of one width under every set of captured sizes; eager and padded steps mixed.
 */
START_TEST(A04_every_batch_under_every_set_of_captured_sizes)
{
	static const int32_t lengths[] = {2, 4, 1};

	for (uint32_t set = 0; set < 8; set++) {
		h2d_runner_options_t options = ragged_options();
		uint32_t sizes[3];
		step_world_t *world;

		options.captured_batch_sizes = sizes;
		for (uint32_t size = 1; size <= 3; size++) {
			if (set & 1u << (size - 1))
				sizes[options.num_captured_batch_sizes++] = size;
		}
		world = step_world_create(&options, STEP_BACKEND(_i), 1);
		for (uint32_t requests = 3; requests >= 1; requests--) {
			const int32_t contexts[] = {(int32_t)(4 + set), 40, 400};
			const int64_t starts[] = {set, 36, 396};
			const h2d_batch_t batch = {.num_requests = requests,
						   .scheduled_tokens = lengths,
						   .context_lengths = contexts};
			const model_t model = model_of(lengths, starts, requests);
			uint32_t running = requests;
			uint32_t tokens = 0;

			while (running <= 3 && !(set & 1u << (running - 1)))
				running++;
			for (uint32_t i = 0; i < requests; i++)
				tokens += (uint32_t)lengths[i];
			if (running <= 3)
				tokens = 4 * running;
			step_begin(world);
			check_success(h2d_qsa_prepare(world->runner, fixture_stream, &batch, NULL));
			check_success(h2d_runner_finish(world->runner, fixture_stream));
			step_expect(world, "qsa_token_to_req", model.token_to_req,
				    tokens * sizeof(int32_t));
			step_expect(world, "qsa_logical_positions", model.positions,
				    tokens * sizeof(int64_t));
			step_world_check(world, "captured sizes");
		}
		step_world_destroy(world);
	}
}
END_TEST

/* Large slots and ratios that are no power of two. */
START_TEST(A04_compression_of_large_slots)
{
	static const int64_t large[] = {INT64_MAX, (INT64_C(1) << 40) + 5, 6, 7};
	static const int64_t expected[] = {-1, -1, 2, -1};
	static const int64_t by_one[] = {INT64_MAX, (INT64_C(1) << 40) + 5, 6, 7};
	static const int64_t last[] = {-1, INT64_C(366503875927), -1, -1};
	const h2d_runner_options_t options = ragged_options();
	const h2d_batch_t batch = {.num_requests = 1, .context_lengths = (const int32_t[]){4}};
	const h2d_batch_t shifted = {.num_requests = 1, .context_lengths = (const int32_t[]){5}};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), 1);
	int64_t *slot_mapping = case_device_memory(sizeof(large));
	h2d_qsa_step_t qsa;

	check_success(h2d_device_write(fixture_device, slot_mapping, large, sizeof(large),
				       H2D_DEFAULT_TIMEOUT_NS));
	for (int n = 0; n < 3; n++) {
		step_begin(world);
		check_success(h2d_qsa_prepare(world->runner, fixture_stream,
					      n == 2 ? &shifted : &batch, &qsa));
		check_success(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0,
							       slot_mapping, 4, n == 1 ? 1 : 3));
		step_finish(world);
		expect_bytes(qsa.compressed_slots,
			     n == 0   ? expected
			     : n == 1 ? by_one
				      : last,
			     sizeof(expected));
	}
	step_expect(world, "qsa_token_to_req", (const int32_t[]){0, 0, 0, 0}, 4 * sizeof(int32_t));
	step_expect(world, "qsa_logical_positions", (const int64_t[]){1, 2, 3, 4},
		    4 * sizeof(int64_t));
	step_world_destroy(world);
}
END_TEST

/* Even a batch without a token is refused while a graph is recorded, before the source is written.
 */
START_TEST(A05_qsa_capture_rejected_before_raw_source_write)
{
	const h2d_runner_options_t options = ragged_options();
	const h2d_batch_t nothing = {.running_requests = 3};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	h2d_graph_t *graph;

	step_begin(world);
	check_success(h2d_graph_begin_capture(fixture_stream));
	step_check_refused(world, h2d_qsa_prepare(world->runner, fixture_stream, &nothing, NULL),
			   H2D_STATUS_CAPTURE_ACTIVE);
	check_message("capture");
	step_check_refused(world, h2d_ple_prepare(world->runner, fixture_stream, &nothing, NULL),
			   H2D_STATUS_CAPTURE_ACTIVE);
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

START_TEST(other_calls_are_refused)
{
	h2d_runner_options_t options = ragged_options();
	const h2d_batch_t short_context = {.num_requests = 1,
					   .context_lengths = (const int32_t[]){3}};
	const h2d_batch_t too_wide = {.num_requests = 1,
				      .context_lengths = (const int32_t[]){9},
				      .scheduled_tokens = (const int32_t[]){5}};
	const h2d_batch_t nothing = {0};
	step_world_t *world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	int64_t *slot_mapping = case_device_memory(64);
	h2d_qsa_step_t view;
	h2d_ple_step_t ple;

	step_begin(world);
	step_check_refused(world,
			   h2d_qsa_prepare(world->runner, fixture_stream, &short_context, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("qsa: request 0");
	step_check_refused(world,
			   h2d_ple_prepare(world->runner, fixture_stream, &short_context, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("ple: request 0");
	step_check_refused(world, h2d_qsa_prepare(world->runner, fixture_stream, &too_wide, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("scheduled_tokens 5");
	check_fails(h2d_qsa_prepare(NULL, fixture_stream, &nothing, NULL),
		    H2D_STATUS_INVALID_ARGUMENT, "runner");
	check_fails(h2d_qsa_view(world->runner, 1, &view), H2D_STATUS_OUT_OF_RANGE, "slot 1");
	check_fails(h2d_ple_view(world->runner, 1, &ple), H2D_STATUS_OUT_OF_RANGE, "ple: slot 1");
	check_fails(h2d_ple_view(world->runner, 0, NULL), H2D_STATUS_INVALID_ARGUMENT, "step");
	check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0, NULL, 1, 1),
		    H2D_STATUS_INVALID_ARGUMENT, "slot_mapping");
	check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0, slot_mapping,
						     65, 1),
		    H2D_STATUS_OUT_OF_RANGE, "65");
	check_fails(h2d_qsa_enqueue_compressed_slots(world->runner, fixture_stream, 0, slot_mapping,
						     1, 0),
		    H2D_STATUS_OUT_OF_RANGE, "ratio of 0");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);

	options.ragged = false;
	world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	check_fails(h2d_qsa_prepare(world->runner, fixture_stream, &nothing, NULL),
		    H2D_STATUS_INVALID_STATE, "ragged");
	check_fails(h2d_ple_prepare(world->runner, fixture_stream, &nothing, NULL),
		    H2D_STATUS_INVALID_STATE, "ragged");
	check_fails(h2d_qsa_view(world->runner, 0, &view), H2D_STATUS_INVALID_STATE, "ragged");
	check_fails(h2d_ple_view(world->runner, 0, &ple), H2D_STATUS_INVALID_STATE, "ragged");
	step_world_destroy(world);
}
END_TEST

static void add_cases(Suite *suite, const char *name, SFun setup)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A04_qsa_ple_ragged_padding_delayed_graph_consumer, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, A04_prefill_starts_behind_the_cached_tokens, 0, STEP_MODES);
	tcase_add_loop_test(tcase, A05_qsa_capture_rejected_before_raw_source_write, 0, STEP_MODES);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("ragged");
	TCase *tcase = tcase_create("calls");

	add_cases(suite, "values", case_setup);
	add_cases(suite, "hostile", step_hostile_setup);
	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A04_every_batch_under_every_set_of_captured_sizes, 0, BACKENDS);
	tcase_add_loop_test(tcase, A04_compression_of_large_slots, 0, BACKENDS);
	tcase_add_loop_test(tcase, A04_arguments_outlive_the_epoch_that_enqueued_them, 0, BACKENDS);
	tcase_add_test(tcase, other_calls_are_refused);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
