/* SPDX-License-Identifier: MIT */
/* Runners: every option, rotation of slots, groups by name, backends, the end. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <h2dpub/step.h>

#include "fixture.h"
#include "hsa/device.h"
#include "hsa/stream.h"

static const uint32_t captured[] = {1, 2, 6};

static h2d_runner_options_t valid_options(void)
{
	return (h2d_runner_options_t){
		.slots = 3,
		.max_requests = 8,
		.query_length = 2,
		.block_size = 16,
		.page_size = 4,
		.max_model_length = 100,
		.num_pages = 1000,
		.captured_batch_sizes = captured,
		.num_captured_batch_sizes = 3,
	};
}

static h2d_runner_t *make_runner(const h2d_runner_options_t *options)
{
	h2d_runner_t *runner = NULL;

	check_success(h2d_runner_create(fixture_device, options, &runner));
	ck_assert_ptr_nonnull(runner);
	return runner;
}

/* ---- options --------------------------------------------------------------------------------- */

static const uint32_t falling[] = {1, 4, 2};
static const uint32_t repeated[] = {2, 2};
static const uint32_t with_zero[] = {0, 2};
static const uint32_t too_large[] = {8, 9};

typedef struct bad_options {
	void (*change)(h2d_runner_options_t *options);
	h2d_status_t status;
	const char *words[2];
} bad_options_t;

#define CHANGE(name, ...)                                                                          \
	static void name(h2d_runner_options_t *options)                                            \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

CHANGE(no_slots, options->slots = 0)
CHANGE(no_requests, options->max_requests = 0)
CHANGE(huge_requests, options->max_requests = UINT32_MAX)
CHANGE(no_query, options->query_length = 0)
CHANGE(long_query, options->query_length = 101)
CHANGE(no_block, options->block_size = 0)
CHANGE(huge_block, options->block_size = UINT32_C(1) << 31)
CHANGE(page_not_divisor, options->page_size = 5)
CHANGE(page_above_block, options->page_size = 32)
CHANGE(no_length, options->max_model_length = 0)
CHANGE(huge_length, options->max_model_length = UINT32_C(1) << 31)
CHANGE(too_many_pages, options->page_size = 1, options->max_model_length = INT32_MAX)
CHANGE(too_many_tokens, options->max_requests = INT32_MAX / 2 + 1)
CHANGE(too_many_blocks, options->num_pages = (UINT32_C(1) << 29) + 1)
CHANGE(null_captured, options->captured_batch_sizes = NULL)
CHANGE(falling_captured, options->captured_batch_sizes = falling)
CHANGE(repeated_captured, options->captured_batch_sizes = repeated;
       options->num_captured_batch_sizes = 2)
CHANGE(zero_captured, options->captured_batch_sizes = with_zero;
       options->num_captured_batch_sizes = 2)
CHANGE(large_captured, options->captured_batch_sizes = too_large;
       options->num_captured_batch_sizes = 2)
CHANGE(unknown_backend, options->backend = "fast")
CHANGE(empty_backend, options->backend = "")

static const bad_options_t bad_options[] = {
	{no_slots, H2D_STATUS_OUT_OF_RANGE, {"slots", "0"}},
	{no_requests, H2D_STATUS_OUT_OF_RANGE, {"max_requests", "0"}},
	{huge_requests, H2D_STATUS_OUT_OF_RANGE, {"max_requests", "4294967295"}},
	{no_query, H2D_STATUS_OUT_OF_RANGE, {"query_length", "0"}},
	{long_query, H2D_STATUS_OUT_OF_RANGE, {"query_length", "101"}},
	{no_block, H2D_STATUS_OUT_OF_RANGE, {"block_size", "0"}},
	{huge_block, H2D_STATUS_OUT_OF_RANGE, {"block_size", "2147483648"}},
	{page_not_divisor, H2D_STATUS_INVALID_ARGUMENT, {"page_size", "5"}},
	{page_above_block, H2D_STATUS_INVALID_ARGUMENT, {"page_size", "32"}},
	{no_length, H2D_STATUS_OUT_OF_RANGE, {"max_model_length", "0"}},
	{huge_length, H2D_STATUS_OUT_OF_RANGE, {"max_model_length", "2147483648"}},
	{too_many_pages, H2D_STATUS_OUT_OF_RANGE, {"max_model_length", "2147483647"}},
	{too_many_tokens, H2D_STATUS_OUT_OF_RANGE, {"query_length", "1073741824"}},
	{too_many_blocks, H2D_STATUS_OUT_OF_RANGE, {"num_pages", "536870913"}},
	{null_captured, H2D_STATUS_INVALID_ARGUMENT, {"captured_batch_sizes", "NULL"}},
	{falling_captured, H2D_STATUS_INVALID_ARGUMENT, {"captured_batch_sizes[2]", "2"}},
	{repeated_captured, H2D_STATUS_INVALID_ARGUMENT, {"captured_batch_sizes[1]", "2"}},
	{zero_captured, H2D_STATUS_INVALID_ARGUMENT, {"captured_batch_sizes[0]", "0"}},
	{large_captured, H2D_STATUS_OUT_OF_RANGE, {"captured_batch_sizes[1]", "9"}},
	{unknown_backend, H2D_STATUS_INVALID_ARGUMENT, {"fast", "packed"}},
	{empty_backend, H2D_STATUS_INVALID_ARGUMENT, {"direct", "pull"}},
};

enum { BAD_OPTIONS = sizeof(bad_options) / sizeof(bad_options[0]) };

START_TEST(bad_option_is_named_with_its_value)
{
	const bad_options_t *bad = &bad_options[_i];
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = NULL;

	bad->change(&options);
	check_status(h2d_runner_create(fixture_device, &options, &runner), bad->status);
	ck_assert_ptr_null(runner);
	for (int i = 0; i < 2; i++)
		check_message(bad->words[i]);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = NULL;
	h2d_group_t *group = NULL;

	check_status(h2d_runner_create(NULL, &options, &runner), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_create(fixture_device, NULL, &runner), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_create(fixture_device, &options, NULL),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_begin(NULL, fixture_stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_finish(NULL, fixture_stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_record(NULL, fixture_stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_runner_group(NULL, "mha_decode", &group), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_runner_destroy(NULL));
}
END_TEST

/* The sizes are the runner's own: the caller's array may go. */
START_TEST(captured_batch_sizes_are_copied)
{
	uint32_t sizes[] = {1, 2, 6};
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner;

	options.captured_batch_sizes = sizes;
	runner = make_runner(&options);
	memset(sizes, 0xff, sizeof(sizes));
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 0), 1);
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 1), 1);
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 2), 2);
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 3), 6);
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 6), 6);
	ck_assert_uint_eq(h2d_runner_graph_requests(runner, 7), 7);
	check_success(h2d_runner_destroy(runner));
}
END_TEST

START_TEST(backend_comes_from_option_then_environment)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner;

	ck_assert_int_eq(unsetenv("ATOM_H2D_BACKEND"), 0);
	runner = make_runner(&options);
	ck_assert_int_eq(h2d_runner_backend(runner), H2D_BACKEND_PACKED);
	check_success(h2d_runner_destroy(runner));

	ck_assert_int_eq(setenv("ATOM_H2D_BACKEND", "pull", 1), 0);
	runner = make_runner(&options);
	ck_assert_int_eq(h2d_runner_backend(runner), H2D_BACKEND_PULL);
	check_success(h2d_runner_destroy(runner));

	options.backend = "direct";
	runner = make_runner(&options);
	ck_assert_int_eq(h2d_runner_backend(runner), H2D_BACKEND_DIRECT);
	check_success(h2d_runner_destroy(runner));

	options.backend = NULL;
	ck_assert_int_eq(setenv("ATOM_H2D_BACKEND", "pulled", 1), 0);
	runner = NULL;
	check_status(h2d_runner_create(fixture_device, &options, &runner),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("pulled");
}
END_TEST

/* ---- slots ----------------------------------------------------------------------------------- */

static void forward(h2d_runner_t *runner)
{
	check_success(h2d_runner_begin(runner, fixture_stream));
	check_success(h2d_runner_finish(runner, fixture_stream));
	check_success(h2d_runner_record(runner, fixture_stream));
}

START_TEST(slots_rotate_and_the_first_forward_uses_slot_1)
{
	static const uint32_t order[] = {1, 2, 0, 1, 2, 0, 1};
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = make_runner(&options);

	ck_assert_uint_eq(h2d_runner_slot(runner), 0);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		forward(runner);
		ck_assert_uint_eq(h2d_runner_slot(runner), order[i]);
		ck_assert_int_eq(h2d_owner_state(h2d_runner_owner(runner, order[i])),
				 H2D_OWNER_SEALED);
		ck_assert_uint_eq(h2d_owner_epoch(h2d_runner_owner(runner, order[i])), 1 + i / 3);
	}
	ck_assert_ptr_null(h2d_runner_owner(runner, 3));
	check_success(h2d_runner_destroy(runner));
}
END_TEST

START_TEST(one_slot_is_used_again_and_again)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner;

	options.slots = 1;
	runner = make_runner(&options);
	for (uint64_t epoch = 1; epoch <= 4; epoch++) {
		forward(runner);
		ck_assert_uint_eq(h2d_runner_slot(runner), 0);
		ck_assert_uint_eq(h2d_owner_epoch(h2d_runner_owner(runner, 0)), epoch);
	}
	check_success(h2d_runner_destroy(runner));
}
END_TEST

/* A refused begin neither moves on nor touches the next slot. */
START_TEST(refused_begin_does_not_move)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = make_runner(&options);
	h2d_graph_t *graph;

	check_success(h2d_graph_begin_capture(fixture_stream));
	check_status(h2d_runner_begin(runner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE);
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	ck_assert_uint_eq(h2d_runner_slot(runner), 0);
	ck_assert_int_eq(h2d_owner_state(h2d_runner_owner(runner, 1)), H2D_OWNER_IDLE);

	check_success(h2d_runner_begin(runner, fixture_stream));
	check_status(h2d_runner_begin(runner, fixture_stream), H2D_STATUS_INVALID_STATE);
	check_message("slot 1");
	ck_assert_uint_eq(h2d_runner_slot(runner), 1);
	ck_assert_int_eq(h2d_owner_state(h2d_runner_owner(runner, 2)), H2D_OWNER_IDLE);
	check_success(h2d_runner_finish(runner, fixture_stream));
	check_status(h2d_runner_finish(runner, fixture_stream), H2D_STATUS_INVALID_STATE);
	check_success(h2d_runner_destroy(runner));
}
END_TEST

START_TEST(groups_are_found_by_name_in_the_current_slot)
{
	static const h2d_backend_t transports[] = {H2D_BACKEND_PACKED, H2D_BACKEND_DIRECT,
						   H2D_BACKEND_PULL};
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner;
	h2d_group_t *groups[3];
	h2d_group_t *none = NULL;

	options.backend = h2d_backend_name(transports[_i]);
	runner = make_runner(&options);
	for (int i = 0; i < 3; i++) {
		forward(runner);
		check_success(h2d_runner_group(runner, "mha_decode", &groups[i]));
		ck_assert_uint_eq(h2d_group_size(groups[i]), 5);
		ck_assert_int_eq(h2d_group_transport(groups[i]), transports[_i]);
	}
	ck_assert_ptr_ne(groups[0], groups[1]);
	ck_assert_ptr_ne(groups[1], groups[2]);
	ck_assert_ptr_ne(groups[2], groups[0]);
	check_status(h2d_runner_group(runner, "mha_decod", &none), H2D_STATUS_NOT_FOUND);
	check_message("mha_decod");
	ck_assert_ptr_null(none);
	check_status(h2d_runner_group(runner, NULL, &none), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_runner_destroy(runner));
}
END_TEST

/* A failed slot must not keep the runner from ending; the fixture checks that nothing is left. */
START_TEST(runner_with_a_failed_slot_can_be_destroyed)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = make_runner(&options);

	forward(runner);
	check_success(h2d_runner_begin(runner, fixture_stream));
	check_success(h2d_owner_fail(h2d_runner_owner(runner, 2)));
	check_status(h2d_runner_finish(runner, fixture_stream), H2D_STATUS_INVALID_STATE);
	check_success(h2d_runner_begin(runner, fixture_stream));
	ck_assert_uint_eq(h2d_runner_slot(runner), 0);
	check_success(h2d_runner_destroy(runner));
}
END_TEST

static const h2d_member_declaration_t numbers = {.name = "numbers", .element_size = 4, .rows = 16};
static const h2d_group_declaration_t group_of_numbers = {
	.name = "group of numbers", .members = &numbers, .num_members = 1};

/* A runner of two slots, both of which have published on the stream. */
static h2d_runner_t *make_busy_runner(const char *backend, uint64_t timeout_ns,
				      h2d_stream_t *stream)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner;

	options.slots = 2;
	options.backend = backend;
	options.timeout_ns = timeout_ns;
	options.groups = &group_of_numbers;
	options.num_groups = 1;
	runner = make_runner(&options);
	for (int i = 0; i < 2; i++) {
		h2d_buffer_t *buffer;

		check_success(h2d_runner_begin(runner, stream));
		check_success(h2d_runner_buffer(runner, "numbers", &buffer));
		check_success(h2d_buffer_publish(buffer, stream, 16, NULL));
		check_success(h2d_runner_finish(runner, stream));
	}
	return runner;
}

/* Blocks the stream until the signal is 0. */
static hsa_signal_t block(h2d_stream_t *stream)
{
	hsa_signal_t gate;
	h2d_packet_t packet;

	check_success(h2d_device_create_signal(fixture_device, 1, &gate));
	h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE, gate, (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, &packet, 1));
	return gate;
}

/* The copies of both slots stand in one ring, and the queue opens the gates of neither. */
START_TEST(runner_whose_queue_failed_is_destroyed_at_once)
{
	h2d_packet_t invalid = {.header_and_setup = 9 | 1 << HSA_PACKET_HEADER_BARRIER};
	h2d_stream_t *stream;
	h2d_runner_t *runner;
	hsa_signal_t gate;
	void *memory;

	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	gate = block(stream);
	check_success(h2d_stream_submit(stream, &invalid, 1));
	runner = make_busy_runner(h2d_backend_name((h2d_backend_t)_i), UINT64_C(5000000000),
				  stream);
	hsa_signal_store_screlease(gate, 0);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_ERROR);
	check_success(h2d_runner_destroy(runner));
	/* Nothing is left in the ring of the DMA engine, which zeroes this memory. */
	check_success(h2d_device_allocate(fixture_device, 4096, &memory));
	check_success(h2d_device_free(fixture_device, memory));
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
}
END_TEST

/* The queue is full: the last slot cannot be drained, and none is destroyed. */
START_TEST(runner_on_a_full_queue_keeps_all_slots)
{
	const h2d_stream_options_t small = {.queue_size = 64, .timeout_ns = 50000000};
	h2d_stream_t *stream;
	h2d_runner_t *runner;
	h2d_packet_t barrier;
	h2d_buffer_t *buffer;
	hsa_signal_t gate;

	check_success(h2d_stream_create(fixture_device, &small, &stream));
	runner = make_busy_runner(h2d_backend_name((h2d_backend_t)_i), 0, fixture_stream);
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_runner_begin(runner, stream));
	check_success(h2d_runner_finish(runner, stream));
	ck_assert_uint_eq(h2d_runner_slot(runner), 1);
	/* No packet before the gate may end later, and leave room. */
	check_success_in_time(h2d_stream_synchronize(stream));
	gate = block(stream);
	h2d_packet_barrier(&barrier, true, H2D_FENCE_NONE, H2D_FENCE_NONE, (hsa_signal_t){0},
			   (hsa_signal_t){0});
	while (h2d_stream_submit(stream, &barrier, 1) == H2D_STATUS_SUCCESS)
		;
	check_status(h2d_runner_destroy(runner), H2D_STATUS_QUEUE_FULL);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_ptr_nonnull(h2d_runner_owner(runner, i));
		ck_assert_int_eq(h2d_owner_state(h2d_runner_owner(runner, i)), H2D_OWNER_FAILED);
	}
	check_success(h2d_runner_buffer(runner, "numbers", &buffer));
	ck_assert_str_eq(h2d_buffer_name(buffer), "numbers");
	hsa_signal_store_screlease(gate, 0);
	check_success_in_time(h2d_runner_destroy(runner));
	check_success_in_time(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
}
END_TEST

/* Its kernel arguments hold addresses of the runner's buffers. */
START_TEST(runner_is_kept_by_a_graph_that_reads_its_buffers)
{
	h2d_runner_options_t options = valid_options();
	h2d_runner_t *runner = make_runner(&options);
	h2d_graph_t *graph = NULL;
	void *ids = NULL;

	check_success(h2d_device_allocate(fixture_device, 8 * sizeof(int32_t), &ids));
	forward(runner);
	check_success(h2d_graph_begin_capture(fixture_stream));
	if (_i == 0)
		check_success(h2d_mha_decode_enqueue_kv_indices(runner, fixture_stream, 2, 6));
	else if (_i == 1)
		check_success(h2d_prefill_inputs_enqueue_kv_indices(runner, fixture_stream, 2, 6));
	else
		check_success(h2d_sampling_enqueue_greedy_correction(runner, fixture_stream, 2, 8,
								     ids, ids));
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_status(h2d_runner_destroy(runner), H2D_STATUS_INVALID_STATE);
	check_message("of owner 'slot 2' is used by 1 recordings");
	for (int i = 0; i < 3; i++) /* in every slot */
		forward(runner);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_runner_destroy(runner));
	check_success(h2d_device_free(fixture_device, ids));
}
END_TEST

static Suite *runner_suite(void)
{
	Suite *suite = suite_create("runner");
	TCase *options = tcase_create("options");
	TCase *slots = tcase_create("slots");

	tcase_add_checked_fixture(options, fixture_setup, fixture_teardown);
	tcase_set_timeout(options, 60);
	tcase_add_loop_test(options, bad_option_is_named_with_its_value, 0, BAD_OPTIONS);
	tcase_add_test(options, null_arguments_are_refused);
	tcase_add_test(options, captured_batch_sizes_are_copied);
	tcase_add_test(options, backend_comes_from_option_then_environment);
	suite_add_tcase(suite, options);

	tcase_add_checked_fixture(slots, fixture_setup, fixture_teardown);
	tcase_set_timeout(slots, 60);
	tcase_add_test(slots, slots_rotate_and_the_first_forward_uses_slot_1);
	tcase_add_test(slots, one_slot_is_used_again_and_again);
	tcase_add_test(slots, refused_begin_does_not_move);
	tcase_add_loop_test(slots, groups_are_found_by_name_in_the_current_slot, 0, 3);
	tcase_add_test(slots, runner_with_a_failed_slot_can_be_destroyed);
	tcase_add_loop_test(slots, runner_whose_queue_failed_is_destroyed_at_once, 0, 3);
	tcase_add_loop_test(slots, runner_on_a_full_queue_keeps_all_slots, 0, 3);
	tcase_add_loop_test(slots, runner_is_kept_by_a_graph_that_reads_its_buffers, 0, 3);
	suite_add_tcase(suite, slots);
	return suite;
}

int main(void)
{
	return run_suite(runner_suite());
}
