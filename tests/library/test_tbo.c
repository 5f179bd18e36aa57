/* SPDX-License-Identifier: MIT */
/* Two-batch overlap: every byte of both sub-batches, preflight, re-entry, tables that stay. */
#include <stdio.h>

#include "mla_model.h"

#define SHAPE(i) (&shapes[(i) / STEP_MODES])

#define COMMON .tbo = true, .block_size = 16, .max_model_length = 128, .num_pages = 100

static const h2d_runner_options_t shapes[] = {
	{COMMON, .max_requests = 4, .query_length = 1, .page_size = 16, CAPTURED(4)},
	{COMMON, .max_requests = 4, .query_length = 1, .page_size = 1, CAPTURED(4),
	 .attention = H2D_ATTENTION_MLA},
	{COMMON, .max_requests = 4, .query_length = 3, .page_size = 16, CAPTURED(4)},
	{COMMON, .max_requests = 4, .query_length = 3, .page_size = 1, CAPTURED(4),
	 .attention = H2D_ATTENTION_MLA, .dcp_size = 2, .dcp_rank = 1},
	{COMMON, .max_requests = 4, .query_length = 1, .page_size = 1, CAPTURED(4),
	 .attention = H2D_ATTENTION_MLA, .dcp_size = 2, .dcp_rank = 1, .index_topk = 8},
	{COMMON, .max_requests = 4, .query_length = 3, .page_size = 1, CAPTURED(4),
	 .attention = H2D_ATTENTION_MLA, .dcp_size = 2, .dcp_rank = 1, .index_topk = 8},
	/* Halves of different sizes, eager steps, smaller pages. */
	{COMMON, .max_requests = 7, .query_length = 2, .page_size = 4, CAPTURED(2, 3, 5),
	 .pack_limit_bytes = 100},
	{COMMON, .max_requests = 5, .query_length = 2, .page_size = 8,
	 .attention = H2D_ATTENTION_MLA, .index_topk = 30, .mrope = true, .omit_end_fence = true},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static const char *const prefixes[H2D_TBO_SUB_BATCHES] = {"ub0_", "ub1_"};

static void add_kv_indices(step_world_t *world)
{
	static const char *const names[] = {"ub0_kv_indices", "ub1_kv_indices"};
	const h2d_runner_options_t *options = &world->runner->options;
	const size_t pages = (options->max_model_length - 1) / options->page_size + 1;
	const size_t half = options->max_requests - options->max_requests / 2;

	for (int i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		const void *device[STEP_MAX_SLOTS];

		for (uint32_t slot = 0; slot < options->slots; slot++) {
			h2d_tbo_step_t view;

			check_success(h2d_tbo_view(world->runner, slot, &view));
			ck_assert_uint_eq(view.slot, slot);
			ck_assert_uint_eq(view.sub_batches[i].running_requests, 0);
			device[slot] = view.sub_batches[i].kv_indices;
		}
		step_world_add(world, names[i], device, half * pages * sizeof(int32_t));
	}
}

static step_world_t *create_world(const h2d_runner_options_t *options, int i)
{
	step_world_t *world = step_world_create(options, STEP_BACKEND(i), STEP_SLOTS(i));

	step_world_add_kv_indices(world);
	add_kv_indices(world);
	return world;
}

static h2d_status_t prepare_decode(step_world_t *world, const h2d_batch_t *batch)
{
	if (world->runner->options.attention == H2D_ATTENTION_MLA)
		return h2d_mla_decode_prepare(world->runner, fixture_stream, batch, NULL);
	return h2d_mha_decode_prepare(world->runner, fixture_stream, batch, NULL);
}

/* Checks what a step says of its halves, runs the first consumers of both and enters it all. */
static void consume_halves(step_world_t *world, const mla_case_t *mla_case, uint32_t running,
			   const h2d_tbo_step_t *step)
{
	const uint32_t requests = mla_case->batch.num_requests;
	const uint32_t ends[] = {running / 2, running};
	uint32_t first = 0;

	ck_assert_uint_eq(step->slot, h2d_runner_slot(world->runner));
	for (uint32_t i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		const h2d_tbo_sub_batch_t *half = &step->sub_batches[i];
		uint32_t real = 0;
		int32_t longest = 0;

		for (uint32_t j = first; j < ends[i] && j < requests; j++) {
			const int32_t context = mla_case->contexts[j] - mla_case->rejected[j];

			real++;
			longest = context > longest ? context : longest;
		}
		ck_assert_uint_eq(half->first_request, first);
		ck_assert_uint_eq(half->running_requests, ends[i] - first);
		ck_assert_uint_eq(half->num_requests, real);
		ck_assert_int_eq(half->max_context_length, longest);
		check_success(h2d_tbo_enqueue_kv_indices(world->runner, fixture_stream, step->slot,
							 i, half->running_requests));
		mla_expect_sub_batch(world, mla_case, prefixes[i], first, half->running_requests);
		first = ends[i];
	}
}

START_TEST(A01_tbo_delayed_slot_reuse)
{
	static const uint32_t counts[] = {3, 1, 4, 2, 1, 3};
	static const char *const published[] = {"ub0_kv_indptr", "ub1_kv_indptr",
						"ub0_cu_seqlens_q", "ub1_cu_seqlens_q",
						"ub1_slot_mapping"};
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = create_world(options, _i);

	for (int32_t i = 0; i < 6; i++) {
		mla_case_t first;
		mla_case_t second;
		h2d_tbo_step_t step;

		mla_case_decode(&first, options, counts[i], i);
		first.batch.running_requests = 4;
		mla_case_decode(&second, options, counts[i], i + 7);
		second.batch.running_requests = 4;
		step_begin(world);
		delay(fixture_stream, 2);
		check_success(prepare_decode(world, &first.batch));
		check_success(h2d_tbo_prepare(world->runner, fixture_stream, &first.batch, &step));
		for (size_t j = 0; j < sizeof(published) / sizeof(published[0]); j++)
			step_check_published(world, published[j], true);
		step_check_refused(
			world, h2d_tbo_prepare(world->runner, fixture_stream, &second.batch, NULL),
			H2D_STATUS_ALREADY_PUBLISHED);
		step_check_refused(world, prepare_decode(world, &second.batch),
				   H2D_STATUS_ALREADY_PUBLISHED);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		step_check_refused(
			world, h2d_tbo_prepare(world->runner, fixture_stream, &second.batch, NULL),
			H2D_STATUS_INVALID_STATE);
		mla_expect_decode(world, &first, 4);
		consume_halves(world, &first, 4, &step);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		if (i % 2 == 1)
			step_world_check(world, "step");
	}
	step_world_destroy(world);
}
END_TEST

START_TEST(A01_random_sub_batches_every_byte)
{
	const h2d_runner_options_t *options = SHAPE(_i);
	const uint64_t seed = fixture_seed() + (uint64_t)_i;
	uint64_t state = seed;
	step_world_t *world = create_world(options, _i);
	char what[64];

	for (int i = 0; i < 6; i++) {
		const uint32_t requests =
			(uint32_t)fixture_random_between(&state, 2, options->max_requests);
		const uint32_t running = step_padded_size(options, requests);
		h2d_tbo_step_t step;
		mla_case_t mla_case;

		mla_case_random(&mla_case, &state, options, requests);
		mla_case.batch.dummy = i == 4;
		step_begin(world);
		check_success(prepare_decode(world, &mla_case.batch));
		check_success(
			h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, &step));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		mla_expect_decode(world, &mla_case, running);
		consume_halves(world, &mla_case, running, &step);
		check_success(h2d_runner_record(world->runner, fixture_stream));
		snprintf(what, sizeof(what), "seed %llu, step %d", (unsigned long long)seed, i);
		step_world_check(world, what);
	}
	step_world_destroy(world);
}
END_TEST

START_TEST(A01_every_batch_under_every_set_of_captured_sizes)
{
	for (uint32_t set = 0; set < 16; set++) {
		h2d_runner_options_t options = *SHAPE(_i);
		uint32_t sizes[4];
		step_world_t *world;

		options.captured_batch_sizes = sizes;
		options.num_captured_batch_sizes = 0;
		for (uint32_t size = 1; size <= 4; size++) {
			if (set & 1u << (size - 1))
				sizes[options.num_captured_batch_sizes++] = size;
		}
		world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
		step_world_add_kv_indices(world);
		add_kv_indices(world);
		for (uint32_t requests = 1; requests <= 4; requests++) {
			const uint32_t running = step_padded_size(&options, requests);
			h2d_tbo_step_t step;
			mla_case_t mla_case;

			mla_case_decode(&mla_case, &options, requests, (int32_t)set);
			step_begin(world);
			check_success(prepare_decode(world, &mla_case.batch));
			mla_expect_decode(world, &mla_case, running);
			if (running < 2) {
				step_check_refused(world,
						   h2d_tbo_prepare(world->runner, fixture_stream,
								   &mla_case.batch, NULL),
						   H2D_STATUS_OUT_OF_RANGE);
			} else {
				check_success(h2d_tbo_prepare(world->runner, fixture_stream,
							      &mla_case.batch, &step));
				consume_halves(world, &mla_case, running, &step);
			}
			step_finish(world);
			step_world_check(world, "captured sizes");
		}
		step_world_destroy(world);
	}
}
END_TEST

/* Nothing is scheduled: all of it is padding. Then one source of the second half is in use. */
START_TEST(A02_tbo_empty_batch_and_preflight_all_sources)
{
	static const int32_t zeros[3] = {0};
	static const int64_t none[2] = {-1, -1};
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = create_world(options, _i);
	h2d_tbo_step_t step;
	mla_case_t mla_case;
	h2d_buffer_t *buffer;

	mla_case_decode(&mla_case, options, 0, 0);
	mla_case.batch.running_requests = 4;
	step_begin(world);
	check_success(prepare_decode(world, &mla_case.batch));
	check_success(h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	mla_expect_decode(world, &mla_case, 4);
	consume_halves(world, &mla_case, 4, &step);
	check_success(h2d_runner_record(world->runner, fixture_stream));
	step_world_check(world, "empty");
	for (int i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		expect_bytes(step.sub_batches[i].kv_indptr, zeros, sizeof(zeros));
		expect_bytes(step.sub_batches[i].slot_mapping, none, sizeof(none));
	}

	mla_case_decode(&mla_case, options, 3, 0);
	mla_case.batch.running_requests = 4;
	step_begin(world);
	check_success(prepare_decode(world, &mla_case.batch));
	mla_expect_decode(world, &mla_case, 4);
	check_success(h2d_runner_buffer(world->runner, "ub1_kv_indptr", &buffer));
	check_success(h2d_buffer_publish(buffer, fixture_stream, 0, NULL));
	step_check_refused(world,
			   h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
			   H2D_STATUS_ALREADY_PUBLISHED);
	check_message("ub1_kv_indptr");
	step_check_published(world, "ub0_kv_indptr", false);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* The rows that a buffer of a slot got last. */
typedef struct mapping {
	uint32_t rows;
	int32_t ids[4][8];
} mapping_t;

/*
 * Whether a table goes to the device depends on what this slot's buffer of this sub-batch got last,
 * and on nothing else.
 */
START_TEST(A08_shared_maps_skip_h2d_per_slot_and_tbo_buffer)
{
	static const struct {
		const char *name;
		uint32_t first, rows; /* real and padded */
	} tables[] = {
		{"block_tables", 0, 4}, {"ub0_block_tables", 0, 2}, {"ub1_block_tables", 2, 2}};
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = step_world_create(options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	mapping_t last[STEP_MAX_SLOTS][3];
	uint64_t sent[STEP_MAX_SLOTS][3] = {{0}};
	h2d_block_table_t *rows[3];

	memset(last, 0xff, sizeof(last));
	for (int32_t i = 0; i < 3; i++)
		check_success(h2d_block_table_create(
			(const int32_t[]){5 + 8 * i, 6 + 8 * i, 7 + 8 * i}, 3, &rows[i]));
	for (int i = 0; i < 9; i++) {
		const h2d_block_table_t *order[3];
		const h2d_batch_t batch = {.num_requests = 3,
					   .running_requests = 4,
					   .context_lengths = (const int32_t[]){20 + i, 33, 40},
					   .tables = order};
		mapping_t mapping = {.rows = 4};
		uint32_t slot;

		if (i == 7)
			check_success(h2d_block_table_append(rows[0], 31));
		for (int j = 0; j < 3; j++) {
			order[j] = rows[i >= 4 ? 2 - j : j];
			memcpy(mapping.ids[j], h2d_block_table_ids(order[j]),
			       h2d_block_table_length(order[j]) * sizeof(int32_t));
		}
		step_begin(world);
		slot = h2d_runner_slot(world->runner);
		check_success(prepare_decode(world, &batch));
		check_success(h2d_tbo_prepare(world->runner, fixture_stream, &batch, NULL));
		for (int j = 0; j < 3; j++) {
			h2d_published_table_totals_t totals;
			mapping_t part = {.rows = tables[j].rows};
			bool changed;

			memcpy(part.ids, mapping.ids[tables[j].first],
			       tables[j].rows * sizeof(part.ids[0]));
			changed = memcmp(&part, &last[slot][j], sizeof(part)) != 0;
			step_check_published(world, tables[j].name, changed);
			last[slot][j] = part;
			sent[slot][j] += changed;
			step_expect(world, tables[j].name, part.ids,
				    tables[j].rows * sizeof(part.ids[0]));
			h2d_published_table_get_totals(
				j == 0 ? h2d_mha_decode_block_tables(world->runner, slot)
				       : h2d_tbo_block_tables(world->runner, slot, (uint32_t)j - 1),
				&totals);
			ck_assert_uint_eq(totals.uploads, sent[slot][j]);
		}
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		check_success(h2d_stream_synchronize(fixture_stream));
		for (uint32_t other = 0; other < STEP_SLOTS(_i); other++) {
			for (int j = 0; j < 3; j++) {
				const void *device = h2d_buffer_device(h2d_slot_find_buffer(
					&world->runner->slots[other], tables[j].name));

				expect_bytes(device, step_expected(world, other, tables[j].name),
					     tables[j].rows * sizeof(mapping.ids[0]));
			}
		}
	}
	ck_assert_ptr_null(h2d_tbo_block_tables(world->runner, 0, 2));
	ck_assert_ptr_null(h2d_tbo_block_tables(world->runner, 2, 0));
	for (int i = 0; i < 3; i++)
		h2d_block_table_release(rows[i]);
	step_world_discard(world);
}
END_TEST

/* Both halves of MHA are packed, each for itself; MLA's members are not. */
START_TEST(A01_what_the_sub_batches_cost)
{
	const bool mla = _i / BACKENDS == 1;
	static const uint64_t dma_copies[2][BACKENDS] = {{2, 10, 0}, {12, 12, 0}};
	static const uint64_t dispatches[2][BACKENDS] = {{2, 0, 2}, {0, 0, 2}};
	step_world_t *world = step_world_create(&shapes[mla], STEP_BACKEND(_i), 1);
	h2d_publication_totals_t before;
	h2d_publication_totals_t after;
	mla_case_t mla_case;

	mla_case_decode(&mla_case, &shapes[mla], 3, 0);
	step_begin(world);
	check_success(prepare_decode(world, &mla_case.batch));
	h2d_owner_get_totals(h2d_runner_owner(world->runner, 0), &before);
	check_success(h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, NULL));
	h2d_owner_get_totals(h2d_runner_owner(world->runner, 0), &after);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	ck_assert_uint_eq(after.publications - before.publications, 2);
	ck_assert_uint_eq(after.dma_copies - before.dma_copies, dma_copies[mla][STEP_BACKEND(_i)]);
	ck_assert_uint_eq(after.dispatches - before.dispatches, dispatches[mla][STEP_BACKEND(_i)]);
	step_world_discard(world);
}
END_TEST

/* The batch of the decode, with something that is not as it was. */
typedef struct other_batch {
	void (*change)(mla_case_t *mla_case);
	const char *message;
} other_batch_t;

static void change_id(mla_case_t *mla_case)
{
	mla_case->ids[1][0] = -7;
}

static void change_context(mla_case_t *mla_case)
{
	mla_case->contexts[2]--;
}

static void change_row_length(mla_case_t *mla_case)
{
	mla_case->lengths[0]++;
}

static void change_padding(mla_case_t *mla_case)
{
	mla_case->batch.running_requests = 3;
}

static void change_requests(mla_case_t *mla_case)
{
	mla_case->batch.num_requests = 2;
}

static void change_dummy(mla_case_t *mla_case)
{
	mla_case->batch.dummy = true;
}

static const other_batch_t other_batches[] = {
	{change_id, "tbo: request 1: block_tables[0] -7, in this epoch's decode 13"},
	{change_context, "tbo: request 2: a context of 22 tokens, in this epoch's decode 23"},
	{change_row_length, "tbo: request 0: block_table_lengths 3, in this epoch's decode 2"},
	{change_padding, "tbo: 3 requests padded to 3, in this epoch's decode 3 to 4"},
	{change_requests, "tbo: 2 requests padded to 4, in this epoch's decode 3 to 4"},
	{change_dummy, "tbo: dummy is 1, in this epoch's decode 0"},
};

/* Their slots would not be those of the decode's table, and their ids are ones nobody checked. */
START_TEST(another_batch_than_the_decodes_is_refused)
{
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = create_world(options, _i);
	h2d_tbo_step_t step;
	mla_case_t decoded;

	mla_case_decode(&decoded, options, 3, 0);
	decoded.batch.running_requests = 4;
	step_begin(world);
	check_success(prepare_decode(world, &decoded.batch));
	for (size_t i = 0; i < sizeof(other_batches) / sizeof(other_batches[0]); i++) {
		mla_case_t other;

		mla_case_decode(&other, options, 3, 0);
		other.batch.running_requests = 4;
		other_batches[i].change(&other);
		step_check_refused(
			world, h2d_tbo_prepare(world->runner, fixture_stream, &other.batch, NULL),
			H2D_STATUS_INVALID_ARGUMENT);
		check_message(other_batches[i].message);
		step_check_published(world, "ub0_slot_mapping", false);
	}
	check_success(h2d_tbo_prepare(world->runner, fixture_stream, &decoded.batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	mla_expect_decode(world, &decoded, 4);
	consume_halves(world, &decoded, 4, &step);
	check_success(h2d_runner_record(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* What an epoch before has decoded counts for nothing, the same batch included. */
START_TEST(an_epoch_without_a_decode_has_no_sub_batches)
{
	const h2d_runner_options_t *options = SHAPE(_i);
	step_world_t *world = create_world(options, _i);
	h2d_tbo_step_t step;
	mla_case_t decoded;
	mla_case_t other;

	mla_case_decode(&decoded, options, 3, 0);
	decoded.batch.running_requests = 4;
	mla_case_decode(&other, options, 3, 0);
	other.batch.running_requests = 4;
	change_id(&other);
	for (uint32_t slot = 0; slot < STEP_SLOTS(_i); slot++) {
		step_begin(world);
		check_success(prepare_decode(world, &decoded.batch));
		check_success(
			h2d_tbo_prepare(world->runner, fixture_stream, &decoded.batch, &step));
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		mla_expect_decode(world, &decoded, 4);
		consume_halves(world, &decoded, 4, &step);
		check_success(h2d_runner_record(world->runner, fixture_stream));
	}
	step_begin(world);
	step_check_refused(world,
			   h2d_tbo_prepare(world->runner, fixture_stream, &other.batch, NULL),
			   H2D_STATUS_INVALID_STATE);
	check_message("prepare the decode first");
	step_check_refused(world,
			   h2d_tbo_prepare(world->runner, fixture_stream, &decoded.batch, NULL),
			   H2D_STATUS_INVALID_STATE);
	step_check_published(world, "ub0_slot_mapping", false);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* Rows of block tables and the same ids in arrays are the same batch; a row that grew is not. */
START_TEST(rows_are_compared_by_what_they_hold)
{
	const h2d_runner_options_t *options = SHAPE(_i);
	const h2d_block_table_t *rows[4] = {NULL};
	step_world_t *world = create_world(options, _i);
	h2d_block_table_t *table;
	h2d_tbo_step_t step;
	h2d_batch_t batch;
	mla_case_t decoded;

	mla_case_decode(&decoded, options, 4, 0);
	check_success(h2d_block_table_create(decoded.ids[3], decoded.lengths[3], &table));
	rows[3] = table;
	batch = decoded.batch;
	batch.tables = rows;
	step_begin(world);
	check_success(prepare_decode(world, &batch));
	check_success(h2d_block_table_append(table, 90));
	step_check_refused(world, h2d_tbo_prepare(world->runner, fixture_stream, &batch, NULL),
			   H2D_STATUS_INVALID_ARGUMENT);
	check_message("request 3: block_table_lengths 3, in this epoch's decode 2");
	check_success(h2d_tbo_prepare(world->runner, fixture_stream, &decoded.batch, &step));
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	mla_expect_decode(world, &decoded, 4);
	consume_halves(world, &decoded, 4, &step);
	check_success(h2d_runner_record(world->runner, fixture_stream));
	h2d_block_table_release(table);
	step_world_destroy(world);
}
END_TEST

START_TEST(other_calls_are_refused)
{
	h2d_runner_options_t options = shapes[0];
	step_world_t *world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	h2d_runner_t *runner = NULL;
	h2d_tbo_step_t view;
	mla_case_t mla_case;

	mla_case_decode(&mla_case, &options, 3, 0);
	step_begin(world);
	step_check_refused(world,
			   h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
			   H2D_STATUS_INVALID_STATE);
	check_message("prepare the decode first");
	mla_case.lengths[2] = 0;
	step_check_refused(world,
			   h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
			   H2D_STATUS_OUT_OF_RANGE);
	check_message("request 2");
	check_fails(h2d_tbo_prepare(world->runner, NULL, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_ARGUMENT, "stream");
	check_fails(h2d_tbo_view(world->runner, 1, &view), H2D_STATUS_OUT_OF_RANGE, "slot 1");
	check_fails(h2d_tbo_enqueue_kv_indices(world->runner, fixture_stream, 0, 2, 1),
		    H2D_STATUS_OUT_OF_RANGE, "sub_batch 2");
	check_fails(h2d_tbo_enqueue_kv_indices(world->runner, fixture_stream, 0, 1, 3),
		    H2D_STATUS_OUT_OF_RANGE, "running_requests 3");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);

	options.tbo = false;
	world = step_world_create(&options, H2D_BACKEND_PACKED, 1);
	check_fails(h2d_tbo_prepare(world->runner, fixture_stream, &mla_case.batch, NULL),
		    H2D_STATUS_INVALID_STATE, "tbo");
	check_fails(h2d_tbo_view(world->runner, 0, &view), H2D_STATUS_INVALID_STATE, "tbo");
	step_world_destroy(world);

	options.tbo = true;
	options.slots = 1;
	options.max_requests = 1;
	options.num_captured_batch_sizes = 0;
	check_fails(h2d_runner_create(fixture_device, &options, &runner),
		    H2D_STATUS_INVALID_ARGUMENT, "tbo: max_requests 1");
}
END_TEST

static void add_cases(Suite *suite, const char *name, SFun setup, int shapes_used)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A01_tbo_delayed_slot_reuse, 0, shapes_used * STEP_MODES);
	tcase_add_loop_test(tcase, A02_tbo_empty_batch_and_preflight_all_sources, 0,
			    2 * STEP_MODES);
	tcase_add_loop_test(tcase, A08_shared_maps_skip_h2d_per_slot_and_tbo_buffer, 0,
			    2 * STEP_MODES);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("tbo");
	TCase *tcase = tcase_create("batches");

	add_cases(suite, "values", case_setup, SHAPES);
	add_cases(suite, "hostile", step_hostile_setup, SHAPES);
	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A01_random_sub_batches_every_byte, 0, SHAPES * STEP_MODES);
	tcase_add_loop_test(tcase, A01_every_batch_under_every_set_of_captured_sizes, 0, BACKENDS);
	tcase_add_loop_test(tcase, A01_every_batch_under_every_set_of_captured_sizes,
			    5 * STEP_MODES, 5 * STEP_MODES + BACKENDS);
	tcase_add_loop_test(tcase, A01_what_the_sub_batches_cost, 0, 2 * BACKENDS);
	tcase_add_loop_test(tcase, another_batch_than_the_decodes_is_refused, 0, 2 * STEP_MODES);
	tcase_add_loop_test(tcase, an_epoch_without_a_decode_has_no_sub_batches, 0, 2 * STEP_MODES);
	tcase_add_loop_test(tcase, rows_are_compared_by_what_they_hold, 0, 2 * STEP_MODES);
	tcase_add_test(tcase, other_calls_are_refused);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
