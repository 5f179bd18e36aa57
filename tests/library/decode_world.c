/* SPDX-License-Identifier: MIT */
/* A runner under test whose decodes are prepared, checked and consumed, by recorded graphs too. */
#include "decode_world.h"

decode_world_t decode_world_create(const h2d_runner_options_t *options, h2d_backend_t backend)
{
	decode_world_t world = {.step = step_world_create(options, backend, options->slots)};

	world.runner = world.step->runner;
	step_world_add_kv_indices(world.step);
	return world;
}

void decode_world_destroy(decode_world_t *world)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (int i = 0; i <= DECODE_MAX_REQUESTS; i++)
			check_success(h2d_graph_destroy(world->graphs[slot][i]));
	}
	step_world_destroy(world->step);
}

/* One recording for each slot and graph batch, made before that batch is known to the GPU. */
static h2d_graph_t *recorded_graph(decode_world_t *world, uint32_t slot, uint32_t graph_requests)
{
	h2d_graph_t **graph = &world->graphs[slot][graph_requests];

	if (*graph)
		return *graph;
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(h2d_mha_decode_enqueue_kv_indices(world->runner, fixture_stream, slot,
							graph_requests));
	check_success(h2d_graph_end_capture(fixture_stream, graph));
	ck_assert_uint_eq(h2d_graph_dispatch_count(*graph), graph_requests > 0);
	return *graph;
}

static void check_step(const decode_world_t *world, const decode_case_t *decode_case,
		       const h2d_mha_decode_step_t *step)
{
	const h2d_batch_t *batch = &decode_case->batch;
	h2d_mha_decode_step_t view;
	int32_t longest = 0;

	check_success(h2d_mha_decode_view(world->runner, step->slot, &view));
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		int32_t context = batch->context_lengths[i] -
				  (batch->rejected_tokens ? batch->rejected_tokens[i] : 0);

		longest = context > longest ? context : longest;
	}
	ck_assert_int_eq(step->max_context_length, longest);
	ck_assert_uint_eq(step->num_requests, batch->num_requests);
	ck_assert_uint_eq(step->slot, h2d_runner_slot(world->runner));
	ck_assert_ptr_eq(step->slot_mapping, view.slot_mapping);
	ck_assert_ptr_eq(step->context_lens, view.context_lens);
	ck_assert_ptr_eq(step->block_tables, view.block_tables);
	ck_assert_ptr_eq(step->kv_indptr, view.kv_indptr);
	ck_assert_ptr_eq(step->positions, view.positions);
	ck_assert_ptr_eq(step->kv_indices, view.kv_indices);
	ck_assert_uint_eq(step->block_table_columns, decode_columns(&world->runner->options));
}

/* The batch is the caller's: rejection must not be taken off in its array. */
void decode_world_prepare(decode_world_t *world, const decode_case_t *decode_case)
{
	const uint32_t requests = decode_case->num_requests;
	const uint32_t padded = step_padded_size(&world->runner->options, requests);
	int32_t contexts[DECODE_MAX_REQUESTS];
	h2d_mha_decode_step_t step;

	for (uint32_t i = 0; i < requests; i++)
		contexts[i] = decode_case->context_lengths[i];
	check_success(
		h2d_mha_decode_prepare(world->runner, fixture_stream, &decode_case->batch, &step));
	for (uint32_t i = 0; i < requests; i++)
		ck_assert_int_eq(decode_case->context_lengths[i], contexts[i]);
	ck_assert_uint_eq(step.graph_requests, padded);
	ck_assert_uint_eq(h2d_runner_graph_requests(world->runner, requests), padded);
	check_step(world, decode_case, &step);
	decode_expect(world->step, &decode_case->batch, padded);
}

void decode_world_step(decode_world_t *world, uint64_t *state, uint32_t num_requests, bool dummy,
		       bool in_graph)
{
	decode_case_t decode_case =
		decode_case_random(state, &world->runner->options, num_requests);
	const uint32_t padded = step_padded_size(&world->runner->options, num_requests);
	uint32_t slot;

	decode_case.batch.dummy = dummy;
	step_begin(world->step);
	slot = h2d_runner_slot(world->runner);
	decode_world_prepare(world, &decode_case);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	if (in_graph)
		check_success(
			h2d_graph_launch(recorded_graph(world, slot, padded), fixture_stream));
	else
		check_success(h2d_mha_decode_enqueue_kv_indices(world->runner, fixture_stream, slot,
								padded));
	decode_expect_kv_indices(world->step, padded);
	check_success(h2d_runner_record(world->runner, fixture_stream));
	decode_case_free(&decode_case);
}
