/* SPDX-License-Identifier: MIT */
/* prefill_inputs and attention preparation, every byte of them. */
#include <stdlib.h>
#include <string.h>

#include "publication_case.h"
#include "step_world.h"

enum { MAX_REQUESTS = 5, COLUMNS = 8, BLOCK = 16, PAGE = 4, PAGES = COLUMNS * BLOCK / PAGE };

static const h2d_runner_options_t options = {
	.max_requests = MAX_REQUESTS,
	.query_length = 1,
	.max_tokens = 256,
	.block_size = BLOCK,
	.page_size = PAGE,
	.max_model_length = COLUMNS * BLOCK,
	.num_pages = 500,
};

typedef struct prefill_case {
	h2d_batch_t batch;
	int32_t contexts[MAX_REQUESTS];
	int32_t cached[MAX_REQUESTS];
	int32_t ids[MAX_REQUESTS][COLUMNS];
	const int32_t *rows[MAX_REQUESTS];
	uint32_t lengths[MAX_REQUESTS];
} prefill_case_t;

static void attach(prefill_case_t *prefill, uint32_t num_requests)
{
	h2d_batch_t *batch = &prefill->batch;

	batch->phase = H2D_PHASE_PREFILL;
	batch->num_requests = num_requests;
	batch->context_lengths = prefill->contexts;
	batch->cached_tokens = prefill->cached;
	batch->block_tables = prefill->rows;
	batch->block_table_lengths = prefill->lengths;
	for (uint32_t i = 0; i < num_requests; i++) {
		prefill->rows[i] = prefill->ids[i];
		prefill->lengths[i] = (uint32_t)(prefill->contexts[i] + BLOCK - 1) / BLOCK;
	}
}

static uint32_t running(const prefill_case_t *prefill)
{
	return prefill->batch.running_requests ? prefill->batch.running_requests
					       : prefill->batch.num_requests;
}

static bool any_cached(const prefill_case_t *prefill)
{
	for (uint32_t i = 0; i < prefill->batch.num_requests; i++) {
		if (prefill->batch.cached_tokens && prefill->cached[i] > 0)
			return true;
	}
	return false;
}

/* What the device holds afterwards, request by request and token by token. */
static void model(step_world_t *world, const prefill_case_t *prefill)
{
	const h2d_batch_t *batch = &prefill->batch;
	int64_t *slots = step_image(world, "slot_mapping");
	int64_t *positions = step_image(world, "positions");
	int32_t *contexts = step_image(world, "context_lens");
	int32_t *keys = step_image(world, "cu_seqlens_k");
	int32_t *cached = step_image(world, "num_cached_tokens");
	int32_t *starts = step_image(world, "seq_starts");
	int32_t *tables = step_image(world, "block_tables");

	keys[0] = 0;
	for (uint32_t i = 0; i < running(prefill); i++) {
		const bool real = i < batch->num_requests;

		contexts[i] = real ? prefill->contexts[i] : 0;
		keys[i + 1] = keys[i] + contexts[i];
		if (!real)
			continue;
		for (int p = batch->cached_tokens ? prefill->cached[i] : 0; p < contexts[i]; p++) {
			*slots++ =
				!batch->block_tables || batch->dummy
					? -1
					: (int64_t)prefill->ids[i][p / BLOCK] * BLOCK + p % BLOCK;
			*positions++ = p;
		}
		if (!any_cached(prefill))
			continue;
		cached[i] = prefill->cached[i];
		starts[i] = 0;
		memset(&tables[i * COLUMNS], 0, COLUMNS * sizeof(int32_t));
		memcpy(&tables[i * COLUMNS], prefill->ids[i],
		       prefill->lengths[i] * sizeof(int32_t));
	}
}

/* Two requests of 8 tokens in all, padded to 4, with cached tokens in every other step. */
START_TEST(P23_runner_and_prefill_builder_share_reuse_and_publication)
{
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 6; i++) {
		const bool cached = i % 2 == 0;
		prefill_case_t prefill = {
			.contexts = {5 + (cached ? i + 1 : 0), 3 + (cached ? 20 : 0)},
			.cached = {cached ? i + 1 : 0, cached ? 20 : 0},
			.ids = {{i + 1}, {i + 2, i + 3}},
		};
		h2d_prefill_inputs_step_t step;
		int32_t *prefix;

		attach(&prefill, 2);
		prefill.batch.running_requests = 4;
		step_begin(world);
		delay(fixture_stream, 3);
		check_success(h2d_query_prefix_prepare(world->runner, fixture_stream,
						       &prefill.batch, NULL));
		prefix = step_image(world, "cu_seqlens_q");
		memcpy(prefix, (const int32_t[]){0, 5, 8, 8, 8}, 5 * sizeof(int32_t));
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, &step));
		model(world, &prefill);
		step_observe(world, "prefill", i);
		ck_assert_int_eq(step.has_cached, cached);
		ck_assert_int_eq(step.block_tables != NULL, cached);
		ck_assert_int_eq(step.num_cached_tokens != NULL, cached);
		ck_assert_int_eq(step.seq_starts != NULL, cached);
		step_check_published(world, "seq_starts", cached);
		ck_assert_uint_eq(step.running_requests, 4);
		ck_assert_uint_eq(step.num_tokens, 8);
		ck_assert_int_eq(step.max_query_length, 5);
		ck_assert_int_eq(step.max_context_length, cached ? 23 : 5);
		ck_assert_uint_eq(step.num_keys, cached ? 5u + (uint32_t)i + 1 + 23 : 8);
		check_fails(h2d_buffer_publish(step_buffer(world, "context_lens"), fixture_stream,
					       4, NULL),
			    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* A second preparation with other contents changes nothing, neither open nor sealed. */
START_TEST(A07_prefill_reentry_preserves_sources_and_first_consumer)
{
	const bool sealed = _i >= STEP_MODES;
	prefill_case_t prefill = {.contexts = {12, 7}, .cached = {9, 5}, .ids = {{3}, {4}}};
	prefill_case_t changed = {.contexts = {13, 8}, .cached = {9, 5}, .ids = {{5}, {6}}};
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	attach(&prefill, 2);
	attach(&changed, 2);
	prefill.batch.running_requests = 4;
	changed.batch.running_requests = 4;
	for (int epoch = 0; epoch < 2; epoch++) {
		step_sources_t sources;

		step_begin(world);
		delay(fixture_stream, 5);
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, NULL));
		sources = step_sources_take(world);
		model(world, &prefill);
		if (sealed)
			check_success(h2d_runner_finish(world->runner, fixture_stream));
		check_fails(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
						       &changed.batch, NULL),
			    sealed ? H2D_STATUS_INVALID_STATE : H2D_STATUS_ALREADY_PUBLISHED,
			    sealed ? "sealed" : "republish_reason");
		step_sources_check(world, &sources, "refused");
		step_observe(world, "first consumer", epoch);
		if (!sealed)
			step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

/* ---- attention preparation ------------------------------------------------------------------- */

static void check_pages(const prefill_case_t *prefill, const h2d_prefill_inputs_step_t *step)
{
	int32_t prefix[MAX_REQUESTS + 1];
	int32_t indices[MAX_REQUESTS * PAGES];
	int32_t expected = 0;

	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_device_read(fixture_device, prefix, step->kv_indptr, sizeof(prefix),
				      H2D_DEFAULT_TIMEOUT_NS));
	check_success(h2d_device_read(fixture_device, indices, step->kv_indices, sizeof(indices),
				      H2D_DEFAULT_TIMEOUT_NS));
	for (uint32_t i = 0; i < running(prefill); i++) {
		const int pages = i < prefill->batch.num_requests
					  ? (prefill->contexts[i] + PAGE - 1) / PAGE
					  : 0;

		ck_assert_int_eq(prefix[i], expected);
		for (int page = 0; page < pages; page++, expected++)
			ck_assert_int_eq(indices[expected],
					 prefill->ids[i][page / (BLOCK / PAGE)] * (BLOCK / PAGE) +
						 page % (BLOCK / PAGE));
	}
	ck_assert_int_eq(prefix[running(prefill)], expected);
}

static void random_case(prefill_case_t *prefill, uint64_t *state)
{
	const uint32_t requests = (uint32_t)fixture_random_between(state, 0, MAX_REQUESTS);

	*prefill = (prefill_case_t){0};
	for (uint32_t i = 0; i < requests; i++) {
		prefill->contexts[i] = (int32_t)fixture_random_between(state, 0, 50);
		prefill->cached[i] =
			(int32_t)fixture_random_between(state, 0, (uint64_t)prefill->contexts[i]);
		for (int j = 0; j < COLUMNS; j++)
			prefill->ids[i][j] = (int32_t)fixture_random_between(state, 0, 499);
	}
	attach(prefill, requests);
	if (fixture_random_between(state, 0, 1))
		prefill->batch.running_requests =
			(uint32_t)fixture_random_between(state, requests, MAX_REQUESTS);
	prefill->batch.dummy = fixture_random_between(state, 0, 5) == 0;
	if (fixture_random_between(state, 0, 3) == 0)
		prefill->batch.cached_tokens = NULL;
	if (!prefill->batch.cached_tokens && fixture_random_between(state, 0, 1))
		prefill->batch.block_tables = NULL;
}

START_TEST(random_prefills_land_every_byte_and_list_their_pages)
{
	uint64_t state = fixture_seed() + (uint64_t)_i;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	for (int i = 0; i < 16; i++) {
		prefill_case_t prefill;
		h2d_prefill_inputs_step_t step;

		random_case(&prefill, &state);
		step_begin(world);
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, &step));
		model(world, &prefill);
		step_observe(world, "random", i);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		if (step.block_tables)
			check_success(h2d_prefill_inputs_enqueue_kv_indices(
				world->runner, fixture_stream, step.slot, step.running_requests));
		check_success(h2d_runner_record(world->runner, fixture_stream));
		if (step.block_tables)
			check_pages(&prefill, &step);
	}
	step_world_destroy(world);
}
END_TEST

/* A request without a context has no ids, so it needs no array of them. */
START_TEST(empty_rows_may_be_null)
{
	prefill_case_t prefill = {
		.contexts = {20, 0, 7}, .cached = {4, 0, 0}, .ids = {{7, 8}, {0}, {9}}};
	const h2d_block_table_t *tables[3] = {NULL};
	h2d_block_table_t *empty;
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));

	check_success(h2d_block_table_create(NULL, 0, &empty));
	attach(&prefill, 3);
	prefill.rows[1] = NULL;
	for (int i = 0; i < 3; i++) {
		h2d_prefill_inputs_step_t step;

		tables[1] = i == 1 ? empty : NULL;
		prefill.batch.tables = i == 0 ? NULL : tables;
		step_begin(world);
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, &step));
		model(world, &prefill);
		step_finish(world);
		ck_assert_uint_eq(step.num_tokens, 23);
	}
	prefill.rows[2] = NULL;
	step_begin(world);
	step_check_refused(
		world,
		h2d_prefill_inputs_prepare(world->runner, fixture_stream, &prefill.batch, NULL),
		H2D_STATUS_OUT_OF_RANGE);
	check_message("request 2: block_tables is NULL");
	step_finish(world);
	h2d_block_table_release(empty);
	step_world_destroy(world);
}
END_TEST

/* Behind finish and without a record: each epoch's page prefix is of its own requests. */
START_TEST(page_prefix_outlives_the_epoch_that_enqueued_it)
{
	prefill_case_t prefill = {.contexts = {20, 33, 7, 40},
				  .cached = {4, 5, 6, 7},
				  .ids = {{7, 8}, {9, 10, 11}, {12}, {13, 14, 15}}};
	step_world_t *world = step_world_create(&options, STEP_BACKEND(_i), 1);
	h2d_prefill_inputs_step_t step;

	for (uint32_t n = 0; n < 2; n++) {
		const uint32_t requests = n == 0 ? 4 : 1;

		attach(&prefill, requests);
		step_begin(world);
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, &step));
		model(world, &prefill);
		check_success(h2d_runner_finish(world->runner, fixture_stream));
		delay(fixture_stream, 30);
		check_success(h2d_prefill_inputs_enqueue_kv_indices(world->runner, fixture_stream,
								    0, requests));
		check_fails(h2d_prefill_inputs_enqueue_kv_indices(world->runner, fixture_stream, 0,
								  requests),
			    H2D_STATUS_INVALID_STATE, "h2d_page_prefix: enqueued in epoch");
	}
	check_pages(&prefill, &step);
	/* What the second epoch has left of the first one's. */
	expect_bytes(step.kv_indptr + 2, (const int32_t[]){14, 16, 26}, 3 * sizeof(int32_t));
	step_world_destroy(world);
}
END_TEST

/* One DMA and one scatter, or one dispatch; direct one DMA a member. Nothing is sent twice. */
START_TEST(prefill_inputs_cost_one_dma_and_one_scatter)
{
	static const uint64_t copies[] = {1, 7, 0};
	static const uint64_t copies_same_table[] = {1, 6, 0};
	static const uint64_t dispatches[] = {1, 0, 1};
	const int backend = STEP_BACKEND(_i);
	const uint32_t slots = STEP_SLOTS(_i);
	prefill_case_t prefill = {.contexts = {20, 3}, .cached = {4, 0}, .ids = {{7, 8}, {9}}};
	uint64_t expected = 0;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), STEP_SLOTS(_i));
	attach(&prefill, 2);
	for (uint32_t i = 0; i < 2 * slots; i++) {
		h2d_publication_totals_t totals;

		step_begin(world);
		check_success(h2d_prefill_inputs_prepare(world->runner, fixture_stream,
							 &prefill.batch, NULL));
		model(world, &prefill);
		h2d_owner_get_totals(
			h2d_runner_owner(world->runner, h2d_runner_slot(world->runner)), &totals);
		if (i % slots == 0)
			expected += i < slots ? copies[backend] : copies_same_table[backend];
		ck_assert_uint_eq(totals.dma_copies, expected);
		ck_assert_uint_eq(totals.dispatches, (i / slots + 1) * dispatches[backend]);
		step_check_published(world, "block_tables", i < slots);
		step_finish(world);
	}
	step_world_destroy(world);
}
END_TEST

static Suite *prefill_inputs_suite(void)
{
	Suite *suite = suite_create("prefill_inputs");
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, step_hostile_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, P23_runner_and_prefill_builder_share_reuse_and_publication, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, A07_prefill_reentry_preserves_sources_and_first_consumer, 0,
			    2 * STEP_MODES);
	tcase_add_loop_test(tcase, random_prefills_land_every_byte_and_list_their_pages, 0,
			    STEP_MODES);
	tcase_add_loop_test(tcase, empty_rows_may_be_null, 0, STEP_MODES);
	tcase_add_loop_test(tcase, page_prefix_outlives_the_epoch_that_enqueued_it, 0, BACKENDS);
	tcase_add_loop_test(tcase, prefill_inputs_cost_one_dma_and_one_scatter, 0, STEP_MODES);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(prefill_inputs_suite());
}
