/* SPDX-License-Identifier: MIT */
/* Batches that do not fit together: refused with request and field named, and nothing changed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "publication_case.h"
#include "token_model.h"

static const h2d_runner_options_t options = {.max_requests = 6,
					     .query_length = 3,
					     .max_tokens = 40,
					     .block_size = 16,
					     .max_model_length = 64,
					     .num_pages = 9};

/* ---- token inputs ---------------------------------------------------------------------------- */

/* Request 0 continues row 1; request 1 is new with one draft of the host; request 2 is new. */
static void make_case(token_case_t *token_case)
{
	static const uint64_t request_ids[] = {700, 701, 702};

	*token_case = (token_case_t){
		.scheduled = {3, 2, 1},
		.ids = {-1, -1, -1, 20, -1, 30},
		.drafts = {-1, -1, 21, -1, -1, -1},
		.rows = {1, -1, -1},
		.temperatures = {0, 1, 2},
		.top_ks = {-1, 5, 6},
		.top_ps = {1, .5f, .5f},
		.previous_sampled = {8, 9},
	};
	token_case_attach(token_case, 3);
	token_case_upload_previous(token_case, 2, 2, 4, 1);
	token_case->batch.request_ids = request_ids;
	token_case->batch.previous_rows = token_case->rows;
	token_case->batch.draft_token_ids = token_case->drafts;
}

typedef struct token_refusal {
	void (*change)(token_case_t *token_case);
	h2d_status_t status;
	const char *words[3];
} token_refusal_t;

#define CHANGE(name, ...)                                                                          \
	static void name(token_case_t *c)                                                          \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

CHANGE(too_many_requests, c->batch.num_requests = 7)
CHANGE(few_running, c->batch.running_requests = 2)
CHANGE(many_running, c->batch.running_requests = 7)
CHANGE(unknown_phase, c->batch.phase = (h2d_phase_t)2)
CHANGE(negative_width, c->scheduled[1] = -1)
CHANGE(wide_width, c->scheduled[1] = 4)
CHANGE(no_width, c->scheduled[2] = 0)
CHANGE(row_outside, c->rows[0] = 2)
CHANGE(row_of_nothing, c->batch.previous.sampled_rows = 0)
CHANGE(no_sampled, c->batch.previous.sampled_ids = NULL)
CHANGE(few_drafts, c->batch.previous.draft_columns = 1)
CHANGE(no_drafts, c->batch.previous.draft_ids = NULL)
CHANGE(short_stride, c->batch.previous.draft_row_stride = 1)
CHANGE(placeholder, c->ids[5] = -1)
CHANGE(draft_placeholder, c->drafts[2] = -5)
CHANGE(placeholder_without_drafts, c->batch.draft_token_ids = NULL)
CHANGE(not_deferred, c->batch.previous_rows = NULL)
CHANGE(dummy_placeholder, c->batch.dummy = true)
CHANGE(no_ids, c->batch.scheduled_token_ids = NULL)
CHANGE(negative_temperature, c->temperatures[2] = -.1f)
CHANGE(nan_temperature, c->temperatures[0] = NAN)
CHANGE(infinite_temperature, c->temperatures[1] = INFINITY)
CHANGE(zero_k, c->top_ks[1] = 0)
CHANGE(low_k, c->top_ks[0] = -2)
CHANGE(zero_p, c->top_ps[2] = 0)
CHANGE(high_p, c->top_ps[0] = 1.5f)
CHANGE(nan_p, c->top_ps[1] = NAN)
CHANGE(prefill_without_contexts, c->batch.phase = H2D_PHASE_PREFILL)

#define RANGE	H2D_STATUS_OUT_OF_RANGE
#define INVALID H2D_STATUS_INVALID_ARGUMENT

static const token_refusal_t token_refusals[] = {
	{too_many_requests, RANGE, {"num_requests 7", "max_requests 6"}},
	{few_running, RANGE, {"running_requests 2", "num_requests 3"}},
	{many_running, RANGE, {"running_requests 7", "max_requests 6"}},
	{unknown_phase, INVALID, {"phase 2"}},
	{negative_width, RANGE, {"request 1 (id 701)", "scheduled_tokens -1"}},
	{wide_width, RANGE, {"request 1 (id 701)", "scheduled_tokens 4", "query_length 3"}},
	{no_width, RANGE, {"request 2 (id 702)", "scheduled_tokens 0"}},
	{row_outside, RANGE, {"request 0 (id 700)", "previous_rows 2", "2 rows"}},
	{row_of_nothing, RANGE, {"request 0 (id 700)", "previous_rows 1", "0 rows"}},
	{no_sampled, INVALID, {"previous.sampled_ids is NULL"}},
	{few_drafts, RANGE, {"request 0 (id 700)", "scheduled_tokens 3", "drafted 1"}},
	{no_drafts, RANGE, {"request 0 (id 700)", "drafted 0"}},
	{short_stride, RANGE, {"draft_row_stride 1", "draft_columns 2"}},
	{placeholder, RANGE, {"request 2 (id 702)", "scheduled_token_ids[0] -1", "placeholder"}},
	{draft_placeholder, RANGE, {"request 1 (id 701)", "draft_token_ids[0] -5"}},
	{placeholder_without_drafts, RANGE, {"request 1 (id 701)", "scheduled_token_ids[1] -1"}},
	{not_deferred, RANGE, {"request 0 (id 700)", "scheduled_token_ids[0] -1"}},
	{dummy_placeholder, RANGE, {"request 0 (id 700)", "scheduled_token_ids[0] -1"}},
	{no_ids, INVALID, {"scheduled_token_ids is NULL", "3 requests"}},
	{negative_temperature, RANGE, {"request 2 (id 702)", "temperatures -0.1"}},
	{nan_temperature, RANGE, {"request 0 (id 700)", "temperatures"}},
	{infinite_temperature, RANGE, {"request 1 (id 701)", "temperatures inf"}},
	{zero_k, RANGE, {"request 1 (id 701)", "top_ks 0"}},
	{low_k, RANGE, {"request 0 (id 700)", "top_ks -2"}},
	{zero_p, RANGE, {"request 2 (id 702)", "top_ps 0"}},
	{high_p, RANGE, {"request 0 (id 700)", "top_ps 1.5"}},
	{nan_p, RANGE, {"request 1 (id 701)", "top_ps"}},
	{prefill_without_contexts, INVALID, {"context_lengths is NULL"}},
};

enum { TOKEN_REFUSALS = sizeof(token_refusals) / sizeof(token_refusals[0]) };

static void check_words(const char *const words[3])
{
	for (int i = 0; i < 3 && words[i]; i++)
		check_message(words[i]);
}

/* Nothing has changed on either side, and the corrected batch is published all the same. */
START_TEST(token_inputs_name_request_and_field)
{
	const token_refusal_t *refusal = &token_refusals[_i / 3];
	token_case_t token_case;
	step_sources_t sources;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), 1);
	make_case(&token_case);
	refusal->change(&token_case);
	step_begin(world);
	sources = step_sources_take(world);
	check_status(
		h2d_token_inputs_prepare(world->runner, fixture_stream, &token_case.batch, NULL),
		refusal->status);
	check_words(refusal->words);
	step_sources_check(world, &sources, "refused");
	step_world_check(world, "refused");
	make_case(&token_case);
	check_success(
		h2d_token_inputs_prepare(world->runner, fixture_stream, &token_case.batch, NULL));
	token_model_all(world, &token_case);
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* ---- prefill inputs -------------------------------------------------------------------------- */

typedef struct prefill_case {
	h2d_batch_t batch;
	int32_t contexts[6];
	int32_t cached[6];
	int32_t scheduled[6];
	int32_t ids[4];
	const int32_t *rows[6];
	uint32_t lengths[6];
} prefill_case_t;

static void make_prefill(prefill_case_t *prefill)
{
	static const uint64_t request_ids[] = {700, 701};

	*prefill = (prefill_case_t){
		.contexts = {20, 33},
		.cached = {5, 30},
		.scheduled = {15, 3},
		.ids = {1, 2, 3},
		.rows = {prefill->ids, prefill->ids},
		.lengths = {2, 3},
	};
	prefill->batch = (h2d_batch_t){
		.num_requests = 2,
		.phase = H2D_PHASE_PREFILL,
		.request_ids = request_ids,
		.scheduled_tokens = prefill->scheduled,
		.context_lengths = prefill->contexts,
		.cached_tokens = prefill->cached,
		.block_tables = prefill->rows,
		.block_table_lengths = prefill->lengths,
	};
}

typedef struct prefill_refusal {
	void (*change)(prefill_case_t *prefill);
	h2d_status_t status;
	const char *words[3];
} prefill_refusal_t;

#undef CHANGE
#define CHANGE(name, ...)                                                                          \
	static void name(prefill_case_t *c)                                                        \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

CHANGE(a_decode, c->batch.phase = H2D_PHASE_DECODE)
CHANGE(negative_context, c->contexts[0] = -1)
CHANGE(long_context, c->contexts[1] = 65)
CHANGE(backwards, c->cached[1] = 34)
CHANGE(negative_cached, c->cached[0] = -2)
CHANGE(other_schedule, c->scheduled[1] = 4)
CHANGE(too_many_tokens, c->contexts[0] = 64; c->scheduled[0] = 59)
CHANGE(short_row, c->lengths[1] = 2)
CHANGE(wide_row, c->lengths[0] = 5)
CHANGE(null_row, c->rows[1] = NULL)
CHANGE(null_lengths, c->batch.block_table_lengths = NULL)
CHANGE(no_tables, c->batch.block_tables = NULL)
CHANGE(high_id, c->ids[2] = 9)
CHANGE(negative_id, c->ids[0] = -1)
CHANGE(no_contexts, c->batch.context_lengths = NULL)

static const prefill_refusal_t prefill_refusals[] = {
	{a_decode, INVALID, {"not a prefill"}},
	{negative_context, RANGE, {"request 0 (id 700)", "context_lengths -1"}},
	{long_context, RANGE, {"request 1 (id 701)", "context_lengths 65", "64"}},
	{backwards, RANGE, {"request 1 (id 701)", "cached_tokens 34", "context_lengths 33"}},
	{negative_cached, RANGE, {"request 0 (id 700)", "cached_tokens -2"}},
	{other_schedule, RANGE, {"request 1 (id 701)", "scheduled_tokens 4"}},
	{too_many_tokens, RANGE, {"scheduled_tokens", "62", "max_tokens 40"}},
	{short_row, RANGE, {"request 1 (id 701)", "block_table_lengths 2", "3 blocks"}},
	{wide_row, RANGE, {"request 0 (id 700)", "block_table_lengths 5", "4 columns"}},
	{null_row, RANGE, {"request 1 (id 701)", "block_tables is NULL"}},
	{null_lengths, INVALID, {"block_table_lengths is NULL"}},
	{no_tables, INVALID, {"block_tables is NULL"}},
	{high_id, RANGE, {"request 1 (id 701)", "block_tables[2] 9", "9)"}},
	{negative_id, RANGE, {"request 0 (id 700)", "block_tables[0] -1"}},
	{no_contexts, INVALID, {"context_lengths is NULL"}},
};

enum { PREFILL_REFUSALS = sizeof(prefill_refusals) / sizeof(prefill_refusals[0]) };

START_TEST(prefill_inputs_name_request_and_field)
{
	const prefill_refusal_t *refusal = &prefill_refusals[_i / 3];
	prefill_case_t prefill;
	step_sources_t sources;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), 1);
	make_prefill(&prefill);
	refusal->change(&prefill);
	step_begin(world);
	sources = step_sources_take(world);
	check_status(
		h2d_prefill_inputs_prepare(world->runner, fixture_stream, &prefill.batch, NULL),
		refusal->status);
	check_words(refusal->words);
	step_sources_check(world, &sources, "refused");
	step_check_published(world, "positions", false);
	step_world_check(world, "refused");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

/* ---- decode ---------------------------------------------------------------------------------- */

/* Its slots and positions are those of full width; the prefix of a ragged batch would be another.
 */
START_TEST(mha_decode_refuses_ragged_widths)
{
	const int32_t ids[] = {1};
	const h2d_batch_t batch = {
		.num_requests = 2,
		.scheduled_tokens = (const int32_t[]){3, 2},
		.context_lengths = (const int32_t[]){7, 8},
		.block_tables = (const int32_t *const[]){ids, ids},
		.block_table_lengths = (const uint32_t[]){1, 1},
	};
	step_sources_t sources;
	step_world_t *world;

	world = step_world_create(&options, STEP_BACKEND(_i), 1);
	step_begin(world);
	sources = step_sources_take(world);
	check_fails(h2d_mha_decode_prepare(world->runner, fixture_stream, &batch, NULL), RANGE,
		    "request 1: scheduled_tokens 2 is not query_length 3");
	step_sources_check(world, &sources, "refused");
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	step_world_destroy(world);
}
END_TEST

static Suite *batch_refusals_suite(void)
{
	Suite *suite = suite_create("batch_refusals");
	TCase *tcase = tcase_create("refusals");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, token_inputs_name_request_and_field, 0, TOKEN_REFUSALS * 3);
	tcase_add_loop_test(tcase, prefill_inputs_name_request_and_field, 0, PREFILL_REFUSALS * 3);
	tcase_add_loop_test(tcase, mha_decode_refuses_ragged_widths, 0, 3);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(batch_refusals_suite());
}
