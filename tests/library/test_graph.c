/* SPDX-License-Identifier: MIT */
/* Graphs: what is recorded, how it is replayed, and when it may be destroyed. */
#include <stdlib.h>
#include <string.h>

#include <h2dpub/graph.h>

#include "dispatch_log.h"
#include "hsa/device.h"
#include "hsa/stream.h"

/* Records the values first to first + count - 1. */
static h2d_graph_t *record(const struct dispatch_log *log, h2d_stream_t *stream, uint32_t first,
			   uint32_t count)
{
	h2d_graph_t *graph;

	check_success(h2d_graph_begin_capture(stream));
	for (uint32_t i = 0; i < count; i++)
		check_success(dispatch_log_append(log, stream, first + i));
	check_success(h2d_graph_end_capture(stream, &graph));
	ck_assert_uint_eq(h2d_graph_dispatch_count(graph), count);
	return graph;
}

START_TEST(recorded_dispatches_run_at_replay_only_in_order_between_others)
{
	static const uint32_t expected[] = {0, 2, 3, 4, 1, 2, 3, 4};
	struct dispatch_log log = dispatch_log_make(16);
	h2d_graph_t *graph = record(&log, fixture_stream, 2, 3);

	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check(&log, 0);
	check_success(dispatch_log_append(&log, fixture_stream, 0));
	check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(dispatch_log_append(&log, fixture_stream, 1));
	check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check_values(&log, expected, 8);
	check_success(h2d_graph_destroy(graph));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(kernel_arguments_are_copied_when_they_are_recorded)
{
	static const uint32_t expected[] = {0, 1, 0, 1};
	struct dispatch_log log = dispatch_log_make(8);
	uint8_t arguments[24 + 1]; /* pageable, unaligned: only read during the call */
	h2d_dispatch_t dispatch = dispatch_log_dispatch(&log, 0);
	h2d_graph_t *graph;

	check_success(h2d_graph_begin_capture(fixture_stream));
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(arguments + 1, log.kernel_arguments + 64 * (size_t)i, 24);
		dispatch.kernel_arguments = arguments + 1;
		check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
		memset(arguments, 0xee, sizeof(arguments));
	}
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	for (int i = 0; i < 2; i++)
		check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check_values(&log, expected, 4);
	check_success(h2d_graph_destroy(graph));
	dispatch_log_free(&log);
}
END_TEST

/* More dispatches than the recording's first capacity, replays that wrap the ring. */
START_TEST(long_graph_is_replayed_through_a_ring_that_wraps)
{
	enum { COUNT = 50, REPLAYS = 40 };
	const h2d_stream_options_t options = {.queue_size = 64};
	uint32_t expected[COUNT * REPLAYS];
	struct dispatch_log log = dispatch_log_make(COUNT * REPLAYS);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, COUNT);
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, &options, &stream));
	for (int i = 0; i < REPLAYS; i++)
		check_success(h2d_graph_launch(graph, stream));
	check_success(h2d_stream_synchronize(stream));
	for (uint32_t i = 0; i < COUNT * REPLAYS; i++)
		expected[i] = i % COUNT;
	dispatch_log_check_values(&log, expected, COUNT * REPLAYS);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_stream_destroy(stream));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(graph_larger_than_the_queue_is_refused)
{
	const h2d_stream_options_t options = {.queue_size = 64};
	struct dispatch_log log = dispatch_log_make(65);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 65);
	h2d_graph_t *fitting = record(&log, fixture_stream, 0, 64);
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, &options, &stream));
	check_status(h2d_graph_launch(graph, stream), H2D_STATUS_OUT_OF_RANGE);
	check_message("65 packets");
	check_success(h2d_graph_launch(fitting, stream));
	check_success(h2d_stream_synchronize(stream));
	dispatch_log_check(&log, 64);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_graph_destroy(fitting));
	check_success(h2d_stream_destroy(stream));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(empty_graph_does_nothing)
{
	struct dispatch_log log = dispatch_log_make(1);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 0);
	uint64_t index = hsa_queue_load_write_index_relaxed(h2d_stream_queue(fixture_stream));

	check_success(h2d_graph_launch(graph, fixture_stream));
	ck_assert_uint_eq(hsa_queue_load_write_index_relaxed(h2d_stream_queue(fixture_stream)),
			  index);
	check_success(h2d_graph_destroy(graph));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(capturing_stream_refuses_what_cannot_be_recorded)
{
	struct dispatch_log log = dispatch_log_make(4);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 1);
	h2d_graph_t *second = NULL;
	h2d_stream_t *alias;

	check_status(h2d_graph_end_capture(fixture_stream, &second), H2D_STATUS_INVALID_STATE);
	check_success(h2d_stream_create_alias(fixture_stream, &alias));
	check_success(h2d_graph_begin_capture(alias));
	ck_assert(h2d_stream_is_capturing(fixture_stream));
	check_status(h2d_graph_begin_capture(fixture_stream), H2D_STATUS_CAPTURE_ACTIVE);
	check_status(h2d_graph_launch(graph, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE);
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_CAPTURE_ACTIVE);
	check_status(h2d_stream_destroy(alias), H2D_STATUS_INVALID_STATE);
	/* A dispatch on either object is recorded. */
	check_success(dispatch_log_append(&log, fixture_stream, 0));
	check_success(dispatch_log_append(&log, alias, 1));
	check_success(h2d_graph_end_capture(fixture_stream, &second));
	ck_assert(!h2d_stream_is_capturing(alias));
	ck_assert_uint_eq(h2d_graph_dispatch_count(second), 2);
	check_success(h2d_graph_launch(second, alias));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check(&log, 2);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_graph_destroy(second));
	check_success(h2d_stream_destroy(alias));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(bad_dispatch_is_not_recorded_and_the_capture_goes_on)
{
	struct dispatch_log log = dispatch_log_make(2);
	h2d_dispatch_t bad = dispatch_log_dispatch(&log, 0);
	h2d_graph_t *graph;

	bad.grid_size[1] = 0;
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(dispatch_log_append(&log, fixture_stream, 0));
	check_status(h2d_stream_dispatch(fixture_stream, &bad), H2D_STATUS_INVALID_ARGUMENT);
	check_success(dispatch_log_append(&log, fixture_stream, 1));
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check(&log, 2);
	check_success(h2d_graph_destroy(graph));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(graph_waits_for_its_replays_and_holds_its_stream)
{
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(2);
	h2d_stream_t *stream = dispatch_log_blocked_stream(30000000, &gate);
	h2d_graph_t *graph = record(&log, stream, 0, 2);

	check_success(h2d_graph_launch(graph, stream));
	check_status(h2d_graph_destroy(graph), H2D_STATUS_TIMEOUT);
	check_message("the replays of a graph");
	check_status(h2d_stream_destroy(stream), H2D_STATUS_INVALID_STATE);
	hsa_signal_store_screlease(gate, 0);
	while (h2d_graph_destroy(graph) != H2D_STATUS_SUCCESS)
		;
	dispatch_log_check(&log, 2);
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

START_TEST(launch_into_a_full_queue_is_refused_whole)
{
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(80);
	h2d_stream_t *stream = dispatch_log_blocked_stream(30000000, &gate);
	h2d_graph_t *graph = record(&log, stream, 0, 40);

	check_success(h2d_graph_launch(graph, stream));
	check_status(h2d_graph_launch(graph, stream), H2D_STATUS_QUEUE_FULL);
	hsa_signal_store_screlease(gate, 0);
	while (h2d_graph_destroy(graph) != H2D_STATUS_SUCCESS)
		;
	dispatch_log_check(&log, 40);
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

START_TEST(graph_on_a_failed_queue_is_destroyed_without_waiting)
{
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(2);
	h2d_stream_t *stream = dispatch_log_blocked_stream(0, &gate);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 2);
	h2d_dispatch_t too_much_lds = dispatch_log_dispatch(&log, 0);

	too_much_lds.dynamic_group_segment_size = 1 << 24;
	check_success(h2d_stream_dispatch(stream, &too_much_lds));
	check_success(h2d_graph_launch(graph, stream));
	hsa_signal_store_screlease(gate, 0);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_ERROR);
	check_status(h2d_graph_launch(graph, stream), H2D_STATUS_QUEUE_ERROR);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_stream_destroy(stream));
	dispatch_log_check(&log, 0);
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

/* The queue of a replay fails, before or after the graph is launched on another stream. */
START_TEST(graph_of_which_one_of_two_queues_failed_is_destroyed)
{
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(2);
	h2d_stream_t *stream = dispatch_log_blocked_stream(0, &gate);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 2);
	h2d_dispatch_t too_much_lds = dispatch_log_dispatch(&log, 0);

	too_much_lds.dynamic_group_segment_size = 1 << 24;
	check_success(h2d_stream_dispatch(stream, &too_much_lds));
	check_success(h2d_graph_launch(graph, stream));
	if (_i == 0)
		check_success(h2d_graph_launch(graph, fixture_stream));
	hsa_signal_store_screlease(gate, 0);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_ERROR);
	if (_i == 1)
		check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check(&log, 2);
	check_status(h2d_stream_destroy(stream), H2D_STATUS_INVALID_STATE);
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

/* Replays that go on on several streams, each held until a launch finds its replays ended. */
START_TEST(graph_waits_for_its_replays_on_all_streams)
{
	static const uint32_t expected[] = {0, 1, 0, 1, 0, 1};
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(6);
	h2d_stream_t *blocked = dispatch_log_blocked_stream(0, &gate);
	const h2d_stream_options_t hasty = {.timeout_ns = 30000000};
	h2d_stream_t *recorder;

	check_success(h2d_stream_create(fixture_device, &hasty, &recorder));
	h2d_graph_t *graph = record(&log, recorder, 0, 2);
	check_success(h2d_graph_launch(graph, blocked));
	check_success_in_time(h2d_stream_destroy(recorder));
	check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	check_status(h2d_graph_destroy(graph), H2D_STATUS_TIMEOUT);
	dispatch_log_check(&log, 2);
	hsa_signal_store_screlease(gate, 0);
	check_success(h2d_stream_synchronize(blocked));
	check_status(h2d_stream_destroy(blocked), H2D_STATUS_INVALID_STATE);
	check_success(h2d_graph_launch(graph, fixture_stream));
	check_success(h2d_stream_destroy(blocked));
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check_values(&log, expected, 6);
	check_success_in_time(h2d_graph_destroy(graph));
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

START_TEST(streams_of_another_device_and_null_are_refused)
{
	struct dispatch_log log = dispatch_log_make(1);
	h2d_graph_t *graph = record(&log, fixture_stream, 0, 1);
	h2d_device_t *device;
	h2d_stream_t *stream;

	check_success(h2d_device_open(0, &device));
	check_success(h2d_stream_create(device, NULL, &stream));
	check_status(h2d_graph_launch(graph, stream), H2D_STATUS_WRONG_DEVICE);
	check_success(h2d_stream_destroy(stream));
	check_success(h2d_device_close(device));
	check_status(h2d_graph_launch(NULL, fixture_stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_graph_launch(graph, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_graph_begin_capture(NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_graph_end_capture(NULL, &graph), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_graph_end_capture(fixture_stream, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_graph_destroy(NULL));
	check_success(h2d_graph_destroy(graph));
	dispatch_log_free(&log);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("graph");
	TCase *cases = tcase_create("graph");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_test(cases, recorded_dispatches_run_at_replay_only_in_order_between_others);
	tcase_add_test(cases, kernel_arguments_are_copied_when_they_are_recorded);
	tcase_add_test(cases, long_graph_is_replayed_through_a_ring_that_wraps);
	tcase_add_test(cases, graph_larger_than_the_queue_is_refused);
	tcase_add_test(cases, empty_graph_does_nothing);
	tcase_add_test(cases, capturing_stream_refuses_what_cannot_be_recorded);
	tcase_add_test(cases, bad_dispatch_is_not_recorded_and_the_capture_goes_on);
	tcase_add_test(cases, graph_waits_for_its_replays_and_holds_its_stream);
	tcase_add_test(cases, launch_into_a_full_queue_is_refused_whole);
	tcase_add_test(cases, graph_on_a_failed_queue_is_destroyed_without_waiting);
	tcase_add_loop_test(cases, graph_of_which_one_of_two_queues_failed_is_destroyed, 0, 2);
	tcase_add_test(cases, graph_waits_for_its_replays_on_all_streams);
	tcase_add_test(cases, streams_of_another_device_and_null_are_refused);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
