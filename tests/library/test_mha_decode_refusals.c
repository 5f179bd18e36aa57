/* SPDX-License-Identifier: MIT */
/* What mha_decode refuses: with the request and the field named, and nothing changed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "decode_world.h"

static const h2d_runner_options_t refusing = {
	.slots = 2,
	.max_requests = 4,
	.query_length = 2,
	.block_size = 16,
	.page_size = 4,
	.max_model_length = 64,
	.num_pages = 50,
	CAPTURED(4),
};

/* Refused with this status and these words, and nothing has changed on either side. */
static void check_refused(decode_world_t *world, h2d_stream_t *stream,
			  const h2d_batch_t *batch, h2d_status_t status,
			  const char *const words[3])
{
	const uint32_t slot = h2d_runner_slot(world->runner);
	const h2d_buffer_t *positions =
		world->runner->slots[slot].mha_decode.members[H2D_MHA_DECODE_POSITIONS];
	const uint64_t epoch = h2d_buffer_published_epoch(positions);
	step_sources_t sources = step_sources_take(world->step);
	h2d_mha_decode_step_t step;

	memset(&step, 0x5a, sizeof(step));
	check_status(h2d_mha_decode_prepare(world->runner, stream, batch, &step), status);
	for (int i = 0; i < 3 && words && words[i]; i++)
		check_message(words[i]);
	for (size_t i = 0; i < sizeof(step); i++)
		ck_assert_uint_eq(((const uint8_t *)&step)[i], 0x5a);
	ck_assert_uint_eq(h2d_buffer_published_epoch(positions), epoch);
	step_sources_check(world->step, &sources, "refused");
}

typedef enum broken_field {
	BROKEN_NUM_REQUESTS,
	BROKEN_CONTEXT_LENGTH,
	BROKEN_REJECTED_TOKENS,
	BROKEN_LENGTH,
	BROKEN_LAST_ID,
	BROKEN_TAIL_ID, /* one that no context needs */
	BROKEN_ROW,
	BROKEN_CONTEXT_LENGTHS,
	BROKEN_BLOCK_TABLES,
	BROKEN_LENGTHS
} broken_field_t;

/* In the valid batch, request i has the context 20 + 16 i, so 2 + i blocks. */
static const struct broken_batch {
	broken_field_t field;
	uint32_t request;
	int64_t value;
	h2d_status_t status;
	const char *words[3];
} broken_batches[] = {
	{BROKEN_NUM_REQUESTS, 0, 5, H2D_STATUS_OUT_OF_RANGE, {"num_requests 5", "max_requests 4"}},
	{BROKEN_CONTEXT_LENGTH, 2, 1, H2D_STATUS_OUT_OF_RANGE,
	 {"request 2 (id 102)", "context_lengths 1", "query_length 2"}},
	{BROKEN_CONTEXT_LENGTH, 0, 0, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "context_lengths 0"}},
	{BROKEN_CONTEXT_LENGTH, 1, -7, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "context_lengths -7"}},
	{BROKEN_CONTEXT_LENGTH, 1, INT32_MIN, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "context_lengths -2147483648"}},
	{BROKEN_CONTEXT_LENGTH, 1, 65, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "context_lengths 65", "max_model_length 64"}},
	{BROKEN_CONTEXT_LENGTH, 1, INT32_MAX, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "context_lengths 2147483647", "max_model_length 64"}},
	{BROKEN_REJECTED_TOKENS, 2, -1, H2D_STATUS_OUT_OF_RANGE,
	 {"request 2 (id 102)", "rejected_tokens -1"}},
	{BROKEN_REJECTED_TOKENS, 0, 19, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "rejected_tokens 19", "query_length 2"}},
	{BROKEN_REJECTED_TOKENS, 0, INT32_MAX, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "rejected_tokens 2147483647"}},
	{BROKEN_LENGTH, 1, 2, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "block_table_lengths 2", "3 blocks"}},
	{BROKEN_LENGTH, 2, 0, H2D_STATUS_OUT_OF_RANGE,
	 {"request 2 (id 102)", "block_table_lengths 0"}},
	{BROKEN_LENGTH, 0, 5, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "block_table_lengths 5", "4 columns"}},
	{BROKEN_LENGTH, 0, UINT32_MAX, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "block_table_lengths 4294967295"}},
	{BROKEN_LAST_ID, 2, 50, H2D_STATUS_OUT_OF_RANGE,
	 {"request 2 (id 102)", "block_tables[3] 50", "[0, 50)"}},
	{BROKEN_LAST_ID, 0, -1, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "block_tables[1] -1"}},
	{BROKEN_LAST_ID, 1, INT32_MIN, H2D_STATUS_OUT_OF_RANGE,
	 {"request 1 (id 101)", "block_tables[2] -2147483648"}},
	{BROKEN_TAIL_ID, 0, 50, H2D_STATUS_OUT_OF_RANGE,
	 {"request 0 (id 100)", "block_tables[2] 50"}},
	{BROKEN_ROW, 1, 0, H2D_STATUS_OUT_OF_RANGE, {"request 1 (id 101)", "block_tables is NULL"}},
	{BROKEN_CONTEXT_LENGTHS, 0, 0, H2D_STATUS_INVALID_ARGUMENT, {"context_lengths is NULL"}},
	{BROKEN_BLOCK_TABLES, 0, 0, H2D_STATUS_INVALID_ARGUMENT, {"block_tables is NULL"}},
	{BROKEN_LENGTHS, 0, 0, H2D_STATUS_INVALID_ARGUMENT, {"block_table_lengths is NULL"}},
};

enum { BROKEN_BATCHES = sizeof(broken_batches) / sizeof(broken_batches[0]) };

static decode_case_t valid_case(void)
{
	uint64_t state = 7;
	decode_case_t decode_case = decode_case_random(&state, &refusing, 3);

	decode_case.batch.rejected_tokens = decode_case.rejected_tokens;
	for (uint32_t i = 0; i < 3; i++) {
		free(decode_case.block_tables[i]);
		decode_case.block_tables[i] = calloc(4, sizeof(int32_t));
		ck_assert_ptr_nonnull(decode_case.block_tables[i]);
		for (uint32_t j = 0; j < 2 + i; j++)
			decode_case.block_tables[i][j] = (int32_t)(10 * i + j);
		decode_case.context_lengths[i] = (int32_t)(20 + 16 * i);
		decode_case.rejected_tokens[i] = 0;
		decode_case.block_table_lengths[i] = 2 + i;
		decode_case.request_ids[i] = 100 + i;
	}
	return decode_case;
}

static void break_batch(decode_case_t *decode_case, const struct broken_batch *broken)
{
	const uint32_t i = broken->request;

	switch (broken->field) {
	case BROKEN_NUM_REQUESTS:
		decode_case->batch.num_requests = (uint32_t)broken->value;
		break;
	case BROKEN_CONTEXT_LENGTH:
		decode_case->context_lengths[i] = (int32_t)broken->value;
		break;
	case BROKEN_REJECTED_TOKENS:
		decode_case->rejected_tokens[i] = (int32_t)broken->value;
		break;
	case BROKEN_LENGTH:
		decode_case->block_table_lengths[i] = (uint32_t)broken->value;
		break;
	case BROKEN_LAST_ID:
		decode_case->block_tables[i][1 + i] = (int32_t)broken->value;
		break;
	case BROKEN_TAIL_ID:
		decode_case->block_tables[i][2 + i] = (int32_t)broken->value;
		decode_case->block_table_lengths[i] = 3 + i;
		break;
	case BROKEN_ROW:
		free(decode_case->block_tables[i]);
		decode_case->block_tables[i] = NULL;
		break;
	case BROKEN_CONTEXT_LENGTHS:
		decode_case->batch.context_lengths = NULL;
		break;
	case BROKEN_BLOCK_TABLES:
		decode_case->batch.block_tables = NULL;
		break;
	case BROKEN_LENGTHS:
		decode_case->batch.block_table_lengths = NULL;
		break;
	}
}

/* Refused with the request and the field named; the corrected batch then goes through. */
START_TEST(A01_broken_batch_changes_nothing)
{
	const struct broken_batch *broken = &broken_batches[_i];
	decode_world_t world = decode_world_create(&refusing, H2D_BACKEND_PACKED);
	decode_case_t broken_case = valid_case();
	decode_case_t corrected = valid_case();

	break_batch(&broken_case, broken);
	step_begin(world.step);
	check_refused(&world, fixture_stream, &broken_case.batch, broken->status, broken->words);
	step_world_check(world.step, "refused");
	decode_world_prepare(&world, &corrected);
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	step_world_check(world.step, "corrected");
	decode_case_free(&broken_case);
	decode_case_free(&corrected);
	decode_world_destroy(&world);
}
END_TEST

/* The same batch in rows with versions: refused for the same reasons, in the same words. */
START_TEST(A01_broken_versioned_batch_changes_nothing)
{
	const struct broken_batch *broken = &broken_batches[_i];
	decode_world_t world = decode_world_create(&refusing, H2D_BACKEND_PACKED);
	decode_case_t broken_case = valid_case();
	decode_case_t corrected = valid_case();
	h2d_block_table_t *tables[3] = {NULL};
	h2d_batch_t batch;

	break_batch(&broken_case, broken);
	batch = broken_case.batch;
	batch.tables = (const h2d_block_table_t *const *)tables;
	for (uint32_t i = 0; i < 3; i++) {
		/* A wrong length stays with an unversioned row. */
		if (broken_case.block_tables[i] && broken_case.block_table_lengths[i] <= 4)
			check_success(h2d_block_table_create(broken_case.block_tables[i],
							     broken_case.block_table_lengths[i],
							     &tables[i]));
	}
	if (broken->field == BROKEN_BLOCK_TABLES || broken->field == BROKEN_LENGTHS) {
		h2d_block_table_release(tables[1]);
		tables[1] = NULL;
	}
	step_begin(world.step);
	check_refused(&world, fixture_stream, &batch, broken->status, broken->words);
	step_world_check(world.step, "refused");
	decode_world_prepare(&world, &corrected);
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	step_world_check(world.step, "corrected");
	for (uint32_t i = 0; i < 3; i++)
		h2d_block_table_release(tables[i]);
	decode_case_free(&broken_case);
	decode_case_free(&corrected);
	decode_world_destroy(&world);
}
END_TEST

/* Without ids a message still names the request; without num_pages int32 page ids are the limit. */
START_TEST(A01_block_ids_are_limited_by_int32_pages)
{
	h2d_runner_options_t options = refusing;
	decode_case_t decode_case = valid_case();
	decode_world_t world;

	options.num_pages = 0;
	world = decode_world_create(&options, H2D_BACKEND_PACKED);
	decode_case.batch.request_ids = NULL;
	step_begin(world.step);
	decode_case.block_tables[1][0] = 1 << 29;
	check_refused(&world, fixture_stream, &decode_case.batch, H2D_STATUS_OUT_OF_RANGE,
		      (const char *const[3]){"request 1: ", "block_tables[0] 536870912"});
	decode_case.block_tables[1][0] = (1 << 29) - 1;
	decode_world_prepare(&world, &decode_case);
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	decode_case_free(&decode_case);
	decode_world_destroy(&world);
}
END_TEST

/* A second preparation is refused before it touches a source that the GPU may still read. */
START_TEST(A03_second_prepare_in_one_epoch_is_refused)
{
	decode_world_t world = decode_world_create(&refusing, STEP_BACKEND(_i));
	decode_case_t first = valid_case();
	uint64_t state = 99;
	decode_case_t second = decode_case_random(&state, &refusing, 4);

	step_begin(world.step);
	decode_world_prepare(&world, &first);
	check_refused(&world, fixture_stream, &second.batch, H2D_STATUS_ALREADY_PUBLISHED,
		      (const char *const[3]){"slot_mapping"});
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	step_world_check(world.step, "first preparation");

	/* The next epochs of both slots take it. */
	for (int i = 0; i < 2; i++) {
		step_begin(world.step);
		decode_world_prepare(&world, &second);
		check_success(h2d_runner_finish(world.runner, fixture_stream));
	}
	decode_case_free(&first);
	decode_case_free(&second);
	decode_world_destroy(&world);
}
END_TEST

START_TEST(A03_prepare_outside_its_epoch_is_refused)
{
	decode_world_t world = decode_world_create(&refusing, STEP_BACKEND(_i));
	decode_case_t decode_case = valid_case();
	h2d_stream_t *other;
	h2d_graph_t *graph;

	check_success(h2d_stream_create(fixture_device, NULL, &other));
	check_refused(&world, fixture_stream, &decode_case.batch, H2D_STATUS_INVALID_STATE, NULL);
	step_begin(world.step);
	check_refused(&world, other, &decode_case.batch, H2D_STATUS_WRONG_STREAM, NULL);
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_refused(&world, fixture_stream, &decode_case.batch, H2D_STATUS_CAPTURE_ACTIVE, NULL);
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	ck_assert_uint_eq(h2d_graph_dispatch_count(graph), 0);
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	check_refused(&world, fixture_stream, &decode_case.batch, H2D_STATUS_INVALID_STATE, NULL);
	step_world_check(world.step, "refused");
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_stream_destroy(other));
	decode_case_free(&decode_case);
	decode_world_destroy(&world);
}
END_TEST

START_TEST(A01_calls_refuse_what_does_not_exist)
{
	decode_world_t world = decode_world_create(&refusing, H2D_BACKEND_PACKED);
	decode_case_t decode_case = valid_case();
	h2d_mha_decode_step_t step;

	check_status(h2d_mha_decode_prepare(NULL, fixture_stream, &decode_case.batch, &step),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_mha_decode_prepare(world.runner, NULL, &decode_case.batch, &step),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_mha_decode_prepare(world.runner, fixture_stream, NULL, &step),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_mha_decode_enqueue_kv_indices(world.runner, fixture_stream, 2, 4),
		     H2D_STATUS_OUT_OF_RANGE);
	check_message("slot 2");
	check_status(h2d_mha_decode_enqueue_kv_indices(world.runner, fixture_stream, 1, 5),
		     H2D_STATUS_OUT_OF_RANGE);
	check_message("graph_requests 5");
	check_status(h2d_mha_decode_enqueue_kv_indices(world.runner, NULL, 1, 4),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_mha_decode_enqueue_kv_indices(NULL, fixture_stream, 1, 4),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_mha_decode_enqueue_kv_indices(world.runner, fixture_stream, 1, 0));
	check_status(h2d_mha_decode_view(world.runner, 2, &step), H2D_STATUS_OUT_OF_RANGE);
	check_status(h2d_mha_decode_view(world.runner, 0, NULL), H2D_STATUS_INVALID_ARGUMENT);
	decode_case_free(&decode_case);
	decode_world_destroy(&world);
}
END_TEST

static Suite *refusals_suite(void)
{
	Suite *suite = suite_create("mha_decode_refusals");
	TCase *tcase = tcase_create("refusals");

	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A01_broken_batch_changes_nothing, 0, BROKEN_BATCHES);
	tcase_add_loop_test(tcase, A01_broken_versioned_batch_changes_nothing, 0, BROKEN_BATCHES);
	tcase_add_test(tcase, A01_block_ids_are_limited_by_int32_pages);
	tcase_add_loop_test(tcase, A03_second_prepare_in_one_epoch_is_refused, 0, BACKENDS);
	tcase_add_loop_test(tcase, A03_prepare_outside_its_epoch_is_refused, 0, BACKENDS);
	tcase_add_test(tcase, A01_calls_refuse_what_does_not_exist);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(refusals_suite());
}
