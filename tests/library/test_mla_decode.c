/* SPDX-License-Identifier: MIT */
/* MLA decode metadata and its first consumer: every byte of every step, re-entry, refusals. */
#include <stdio.h>

#include "mla_model.h"

#define SHAPE(i) (&shapes[(i) / STEP_MODES])

/*
 * Dense and sparse, one and several tokens a request, one to three ranks, ranks that hold nothing
 * of short contexts, pages of 1, of some and of all tokens of a block; captured sizes that cover
 * all batches, some, none.
 */
static const h2d_runner_options_t shapes[] = {
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 4,
	 .query_length = 1,
	 .block_size = 16,
	 .page_size = 1,
	 .max_model_length = 128,
	 .num_pages = 100,
	 CAPTURED(4)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 4,
	 .query_length = 3,
	 .block_size = 16,
	 .page_size = 1,
	 .max_model_length = 128,
	 .num_pages = 100,
	 .dcp_size = 2,
	 .dcp_rank = 1,
	 CAPTURED(4)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 4,
	 .query_length = 1,
	 .block_size = 16,
	 .page_size = 1,
	 .max_model_length = 128,
	 .num_pages = 100,
	 .dcp_size = 2,
	 .dcp_rank = 1,
	 .index_topk = 8,
	 CAPTURED(4)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 4,
	 .query_length = 3,
	 .block_size = 16,
	 .page_size = 1,
	 .max_tokens = 64,
	 .max_model_length = 128,
	 .num_pages = 100,
	 .dcp_size = 2,
	 .dcp_rank = 1,
	 .index_topk = 8,
	 CAPTURED(4)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 6,
	 .query_length = 2,
	 .block_size = 16,
	 .page_size = 4,
	 .max_model_length = 200,
	 .num_pages = 1000,
	 .omit_end_fence = true,
	 CAPTURED(1, 2, 4)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 5,
	 .query_length = 4,
	 .block_size = 16,
	 .page_size = 16,
	 .max_model_length = 99,
	 .num_pages = 1000,
	 .index_topk = 40,
	 .pack_limit_bytes = 40},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 8,
	 .query_length = 2,
	 .block_size = 12,
	 .page_size = 3,
	 .max_model_length = 250,
	 .num_pages = 1000,
	 .dcp_size = 3,
	 .dcp_rank = 2,
	 .dcp_interleave = 4,
	 .index_topk = 100,
	 CAPTURED(3, 8)},
	{.attention = H2D_ATTENTION_MLA,
	 .max_requests = 3,
	 .query_length = 1,
	 .block_size = 8,
	 .page_size = 2,
	 .max_model_length = 60,
	 .num_pages = 1000,
	 .dcp_size = 4,
	 .dcp_rank = 3,
	 .dcp_interleave = 8,
	 .mrope = true,
	 CAPTURED(2)},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static step_world_t *create_world(int i)
{
	step_world_t *world = step_world_create(SHAPE(i), STEP_BACKEND(i), STEP_SLOTS(i));

	step_world_add_kv_indices(world);
	return world;
}

/* One recording for each slot and padded batch, as a serving engine would have it. */
static void generate_kv_indices(step_world_t *world, h2d_graph_t *graphs[][MLA_MAX_REQUESTS + 1],
				const h2d_mla_decode_step_t *step)
{
	h2d_graph_t **graph = &graphs[step->slot][step->graph_requests];

	if (!*graph) {
		check_success(h2d_graph_begin_capture(fixture_stream));
		check_success(h2d_mla_decode_enqueue_kv_indices(world->runner, fixture_stream,
								step->slot, step->graph_requests));
		check_success(h2d_graph_end_capture(fixture_stream, graph));
	}
	check_success(h2d_graph_launch(*graph, fixture_stream));
}

static void destroy_graphs(h2d_graph_t *graphs[][MLA_MAX_REQUESTS + 1])
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (int slot = 0; slot < STEP_MAX_SLOTS; slot++) {
		for (int i = 0; i <= MLA_MAX_REQUESTS; i++)
			check_success(h2d_graph_destroy(graphs[slot][i]));
	}
}

/*
 * The reference's steps behind a delay, each prepared a second time with other data, which must be
 * refused and change no source; the first consumer sees the first batch.
 */
START_TEST(A01_decode_csr_delayed_slot_reuse)
{
	static const uint32_t counts[] = {3, 1, 4, 2, 1, 3};
	const h2d_runner_options_t *options = SHAPE(_i);
	h2d_graph_t *graphs[STEP_MAX_SLOTS][MLA_MAX_REQUESTS + 1] = {{NULL}};
	step_world_t *world = create_world(_i);

	for (int32_t i = 0; i < 6; i++) {
		mla_case_t first;
		mla_case_t second;
		h2d_mla_decode_step_t step;

		mla_case_decode(&first, options, counts[i] < options->max_requests ? counts[i] : 3,
				i);
		mla_case_decode(&second, options, 2, i + 7);
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(
			h2d_mla_decode_prepare(world->runner, fixture_stream, &first.batch, &step));
		step_check_published(world, "kv_indptr", true);
		step_check_refused(
			world,
			h2d_mla_decode_prepare(world->runner, fixture_stream, &second.batch, NULL),
			H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(
			world,
			h2d_mla_decode_prepare(world->runner, fixture_stream, &second.batch, NULL),
			H2D_STATUS_INVALID_STATE);
		generate_kv_indices(world, graphs, &step);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		ck_assert_uint_eq(step.num_requests, first.batch.num_requests);
		ck_assert_uint_eq(step.graph_requests,
				  step_padded_size(options, first.batch.num_requests));
		ck_assert_int_eq(step.max_context_length,
				 14 + 3 * (int32_t)first.batch.num_requests + i);
		mla_expect_decode(world, &first, step.graph_requests);
		mla_expect_kv_indices(world, &first, "", 0, step.graph_requests);
		/* Else the next step of another slot follows at once. */
		if (i % 2 == 1)
			step_world_check(world, "step");
	}
	destroy_graphs(graphs);
	step_world_destroy(world);
}
END_TEST

START_TEST(A01_random_decodes_every_byte)
{
	const h2d_runner_options_t *options = SHAPE(_i);
	const uint64_t seed = fixture_seed() + (uint64_t)_i;
	uint64_t state = seed;
	h2d_graph_t *graphs[STEP_MAX_SLOTS][MLA_MAX_REQUESTS + 1] = {{NULL}};
	step_world_t *world = create_world(_i);
	char what[64];

	for (int i = 0; i < 7; i++) {
		const uint32_t requests =
			(uint32_t)fixture_random_between(&state, 0, options->max_requests);
		int32_t contexts[MLA_MAX_REQUESTS];
		h2d_mla_decode_step_t step;
		mla_case_t mla_case;

		mla_case_random(&mla_case, &state, options, requests);
		mla_case.batch.dummy = i == 4;
		memcpy(contexts, mla_case.contexts, sizeof(contexts));
		step_begin(world);
		check_success(h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch,
						     &step));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		/* The batch is the caller's: rejection must not be taken off in its array. */
		ck_assert_mem_eq(contexts, mla_case.contexts, sizeof(contexts));
		ck_assert_uint_eq(step.graph_requests, step_padded_size(options, requests));
		generate_kv_indices(world, graphs, &step);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		mla_expect_decode(world, &mla_case, step.graph_requests);
		mla_expect_kv_indices(world, &mla_case, "", 0, step.graph_requests);
		snprintf(what, sizeof(what), "seed %llu, step %d", (unsigned long long)seed, i);
		step_world_check(world, what);
	}
	destroy_graphs(graphs);
	step_world_destroy(world);
}
END_TEST

/* A batch padded further than to its captured size. */
START_TEST(A01_running_requests_of_the_batch_count)
{
	step_world_t *world = create_world(_i);
	mla_case_t mla_case;
	h2d_mla_decode_step_t step;

	mla_case_decode(&mla_case, SHAPE(_i), 1, 0);
	mla_case.batch.running_requests = 3;
	step_begin(world);
	check_success(
		h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	ck_assert_uint_eq(step.graph_requests, 3);
	mla_expect_decode(world, &mla_case, 3);
	step_world_destroy(world);
}
END_TEST

START_TEST(A01_every_batch_under_every_set_of_captured_sizes)
{
	for (uint32_t set = 0; set < 16; set++) {
		h2d_runner_options_t options = shapes[3];
		uint32_t sizes[4];
		step_world_t *world;

		options.captured_batch_sizes = sizes;
		options.num_captured_batch_sizes = 0;
		for (uint32_t size = 1; size <= 4; size++) {
			if (set & 1u << (size - 1))
				sizes[options.num_captured_batch_sizes++] = size;
		}
		world = step_world_create(&options, (h2d_backend_t)_i, 1);
		step_world_add_kv_indices(world);
		for (uint32_t requests = 1; requests <= 4; requests++) {
			mla_case_t mla_case;

			mla_case_decode(&mla_case, &options, requests, (int32_t)set);
			step_begin(world);
			check_success(h2d_mla_decode_prepare(world->runner, fixture_stream,
							     &mla_case.batch, NULL));
			check_success(h2d_runner_finish(world->runner, fixture_stream));
			mla_expect_decode(world, &mla_case, step_padded_size(&options, requests));
			step_world_check(world, "captured sizes");
		}
		step_world_destroy(world);
	}
}
END_TEST

/* What a graph is recorded with: pages of one token, once an epoch. */
START_TEST(A03_capture_has_one_publication_and_rejects_rewrite)
{
	static const int32_t ramp[] = {0, 1, 2, 3};
	static const int32_t ones[] = {1, 1, 1};
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = create_world(_i);

	for (uint32_t epoch = 0; epoch < 2; epoch++) {
		h2d_mla_decode_step_t step;

		step_begin(world);
		delay(fixture_stream, 2);
		check_success(
			h2d_mla_decode_prepare_capture(world->runner, fixture_stream, 3, &step));
		ck_assert_uint_eq(step.graph_requests, 3);
		step_check_refused(
			world,
			h2d_mla_decode_prepare_capture(world->runner, fixture_stream, 2, NULL),
			H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(
			world,
			h2d_mla_decode_prepare_capture(world->runner, fixture_stream, 2, NULL),
			H2D_STATUS_INVALID_STATE);
		step_expect(world, "kv_indptr", ramp, sizeof(ramp));
		step_expect(world, "kv_last_page_lens", ones, sizeof(ones));
		if (options->dcp_size > 1)
			step_expect(world, "g_kv_indptr", ramp, sizeof(ramp));
		step_world_check(world, "capture");
	}
	step_check_refused(world,
			   h2d_mla_decode_prepare_capture(world->runner, fixture_stream, 9, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	step_begin(world);
	check_success(h2d_graph_begin_capture(fixture_stream));
	step_check_refused(world,
			   h2d_mla_decode_prepare_capture(world->runner, fixture_stream, 1, NULL),
			   H2D_STATUS_CAPTURE_ACTIVE);
	h2d_graph_t *graph;
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* Members one by one, and no arena for them; pulled together. */
START_TEST(A01_members_are_copied_one_by_one)
{
	static const uint64_t dma_copies[] = {9, 9, 0};
	static const uint64_t dispatches[] = {0, 0, 1};
	step_world_t *world = step_world_create(&shapes[3], (h2d_backend_t)_i, 1);
	mla_case_t mla_case;
	h2d_publication_totals_t before;
	h2d_publication_totals_t after;
	h2d_group_t *group;

	mla_case_decode(&mla_case, &shapes[3], 3, 0);
	check_success(h2d_runner_group(world->runner, "mla_decode", &group));
	ck_assert_int_eq(h2d_group_transport(group),
			 _i == H2D_BACKEND_PULL ? H2D_BACKEND_PULL : H2D_BACKEND_DIRECT);
	check_fails(h2d_runner_group(world->runner, "mha_decode", &group), H2D_STATUS_NOT_FOUND,
		    "mha_decode");
	for (uint64_t step = 0; step < 2; step++) {
		/* The second time the device has the block tables already. */
		step_begin(world);
		h2d_owner_get_totals(h2d_runner_owner(world->runner, 0), &before);
		check_success(h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch,
						     NULL));
		h2d_owner_get_totals(h2d_runner_owner(world->runner, 0), &after);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		ck_assert_uint_eq(after.publications - before.publications, 1);
		ck_assert_uint_eq(after.dma_copies - before.dma_copies,
				  dma_copies[_i] ? dma_copies[_i] + 1 - step : 0);
		ck_assert_uint_eq(after.dispatches - before.dispatches, dispatches[_i]);
		ck_assert_uint_eq(after.packed_bytes, before.packed_bytes);
		/* 12 tokens: slots, positions, batch ids, local lengths, a prefix; 4 requests. */
		ck_assert_uint_eq(after.bytes - before.bytes, 12 * (8 + 8 + 4 + 4) + 13 * 4 +
								      4 * (4 + 4) + 5 * (4 + 4) +
								      (step == 0 ? 4 * 8 * 4 : 0));
	}
	mla_expect_decode(world, &mla_case, 4);
	step_world_destroy(world);
}
END_TEST

typedef struct refusal {
	int32_t context, rejected;
	uint32_t length;
	int32_t last_id;
	h2d_status_t status;
	const char *words[2];
} refusal_t;

/* Of request 1; the others are fine. A block holds 32 tokens of two ranks. */
static const refusal_t refusals[] = {
	{2, 0, 1, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "query_length 3"}},
	{129, 0, 8, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "max_model_length 128"}},
	{9, -1, 1, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "rejected_tokens -1"}},
	{9, 7, 1, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "rejected_tokens 7"}},
	{33, 0, 1, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "below the 2 blocks"}},
	{33, 0, 9, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1", "above the 8 columns"}},
	{33, 0, 2, 100, H2D_STATUS_OUT_OF_RANGE, {"request 1", "block_tables[1] 100"}},
	{33, 0, 2, -1, H2D_STATUS_OUT_OF_RANGE, {"request 1", "block_tables[1] -1"}},
};

START_TEST(a_bad_batch_is_refused_before_a_source_is_written)
{
	const refusal_t *refusal = &refusals[_i];
	step_world_t *world = step_world_create(&shapes[3], H2D_BACKEND_PACKED, 1);
	mla_case_t mla_case;

	mla_case_decode(&mla_case, &shapes[3], 3, 0);
	mla_case.contexts[1] = refusal->context;
	mla_case.rejected[1] = refusal->rejected;
	mla_case.lengths[1] = refusal->length;
	mla_case.ids[1][refusal->length - 1] = refusal->last_id;
	step_begin(world);
	step_check_refused(
		world, h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
		refusal->status);
	for (int i = 0; i < 2; i++)
		check_message(refusal->words[i]);
	check_message("mla_decode");

	/* The epoch goes on with a good one. */
	mla_case_decode(&mla_case, &shapes[3], 3, 0);
	check_success(h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch, NULL));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	mla_expect_decode(world, &mla_case, 4);
	step_world_destroy(world);
}
END_TEST

/* Contexts within their limits, whose prefix sum over all ranks just fits into int32, or not. */
START_TEST(contexts_of_all_ranks_are_at_most_int32_tokens)
{
	const h2d_runner_options_t options = {
		.attention = H2D_ATTENTION_MLA,
		.max_requests = 4,
		.query_length = 1,
		.block_size = 1 << 24,
		.max_model_length = 1 << 30,
		.dcp_size = 2,
		.tbo = true,
	};
	static const int32_t ids[64] = {0};
	const int32_t *const rows[] = {ids, ids, ids};
	const uint32_t lengths[] = {32, 32, 32};
	const int32_t contexts[] = {1 << 30, (1 << 30) - 1, 1};
	const int32_t fitting[] = {0, 1 << 30, INT32_MAX};
	h2d_batch_t batch = {.num_requests = 3,
			     .context_lengths = contexts,
			     .block_tables = rows,
			     .block_table_lengths = lengths};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), 1);
	h2d_mla_decode_step_t step;
	h2d_tbo_step_t halves;

	step_begin(world);
	step_check_refused(world,
			   h2d_mla_decode_prepare(world->runner, fixture_stream, &batch, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("mla_decode: request 2: the contexts up to it are 2147483648 tokens");
	step_check_refused(world, h2d_tbo_prepare(world->runner, fixture_stream, &batch, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("tbo: request 2: the contexts up to it are 2147483648 tokens");
	batch.num_requests = 2;
	check_success(h2d_mla_decode_prepare(world->runner, fixture_stream, &batch, &step));
	check_success(h2d_tbo_prepare(world->runner, fixture_stream, &batch, &halves));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	expect_bytes(step.g_kv_indptr, fitting, sizeof(fitting));
	expect_bytes(halves.sub_batches[0].g_kv_indptr, fitting, 2 * sizeof(int32_t));
	step_world_discard(world);
}
END_TEST

START_TEST(other_calls_are_refused)
{
	h2d_runner_options_t options = shapes[0];
	step_world_t *world = step_world_create(&shapes[0], H2D_BACKEND_PACKED, 1);
	h2d_runner_t *runner = NULL;
	h2d_mla_decode_step_t view;
	mla_case_t mla_case;

	mla_case_decode(&mla_case, &shapes[0], 1, 0);
	step_begin(world);
	check_fails(h2d_mla_decode_prepare(NULL, fixture_stream, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_ARGUMENT, "runner");
	check_fails(h2d_mla_decode_prepare(world->runner, fixture_stream, NULL, NULL),
		    H2D_STATUS_INVALID_ARGUMENT, "batch");
	mla_case.batch.phase = H2D_PHASE_PREFILL;
	check_fails(h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_ARGUMENT, "decode");
	mla_case.batch.phase = H2D_PHASE_DECODE;
	check_fails(h2d_mha_decode_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_STATE, "MHA");
	check_fails(h2d_mla_decode_view(world->runner, 1, &view), H2D_STATUS_OUT_OF_RANGE,
		    "slot 1");
	check_fails(h2d_mla_decode_enqueue_kv_indices(world->runner, fixture_stream, 0, 5),
		    H2D_STATUS_OUT_OF_RANGE, "5");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);

	options.attention = H2D_ATTENTION_MHA;
	world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	check_fails(h2d_mla_decode_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_STATE, "MLA");
	check_fails(h2d_mla_decode_view(world->runner, 0, &view), H2D_STATUS_INVALID_STATE, "MLA");
	step_world_destroy(world);

	options = (h2d_runner_options_t){.slots = 1,
					 .max_requests = 1,
					 .query_length = 1,
					 .block_size = 16,
					 .max_model_length = 64};
	options.dcp_size = 2;
	check_fails(h2d_runner_create(fixture_device, &options, &runner),
		    H2D_STATUS_INVALID_ARGUMENT, "dcp_size: 2 without MLA");
	options.attention = H2D_ATTENTION_MLA;
	options.dcp_rank = 2;
	check_fails(h2d_runner_create(fixture_device, &options, &runner), H2D_STATUS_OUT_OF_RANGE,
		    "dcp_rank: 2");
	options.dcp_rank = 0;
	options.dcp_interleave = 3;
	check_fails(h2d_runner_create(fixture_device, &options, &runner),
		    H2D_STATUS_INVALID_ARGUMENT, "dcp_interleave: 3");
	options.dcp_interleave = 0;
	options.index_topk = UINT32_MAX;
	check_fails(h2d_runner_create(fixture_device, &options, &runner), H2D_STATUS_OUT_OF_RANGE,
		    "index_topk: 4294967295");
	options.index_topk = 0;
	options.attention = (h2d_attention_t)7;
	check_fails(h2d_runner_create(fixture_device, &options, &runner),
		    H2D_STATUS_INVALID_ARGUMENT, "attention: 7");
	ck_assert_ptr_null(runner);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mla_decode");
	TCase *values = tcase_create("values");
	TCase *hostile = tcase_create("hostile");

	tcase_add_checked_fixture(values, case_setup, case_teardown);
	tcase_set_timeout(values, 60);
	tcase_add_loop_test(values, A01_decode_csr_delayed_slot_reuse, 0, SHAPES * STEP_MODES);
	tcase_add_loop_test(values, A01_random_decodes_every_byte, 0, SHAPES * STEP_MODES);
	tcase_add_loop_test(values, A01_running_requests_of_the_batch_count, 0,
			    SHAPES * STEP_MODES);
	tcase_add_loop_test(values, A01_every_batch_under_every_set_of_captured_sizes, 0, BACKENDS);
	tcase_add_loop_test(values, A03_capture_has_one_publication_and_rejects_rewrite, 0,
			    2 * STEP_MODES);
	tcase_add_loop_test(values, A01_members_are_copied_one_by_one, 0, BACKENDS);
	tcase_add_loop_test(values, a_bad_batch_is_refused_before_a_source_is_written, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_loop_test(values, contexts_of_all_ranks_are_at_most_int32_tokens, 0, BACKENDS);
	tcase_add_test(values, other_calls_are_refused);
	suite_add_tcase(suite, values);

	tcase_add_checked_fixture(hostile, step_hostile_setup, case_teardown);
	tcase_set_timeout(hostile, 60);
	tcase_add_loop_test(hostile, A01_decode_csr_delayed_slot_reuse, 0, SHAPES * STEP_MODES);
	suite_add_tcase(suite, hostile);
	return run_suite(suite);
}
