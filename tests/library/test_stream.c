/* SPDX-License-Identifier: MIT */
/* Streams: queues, packets, bounded waits, dispatches. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dispatch_log.h"
#include "fixture.h"
#include "hsa/device.h"
#include "hsa/stream.h"

#define MILLISECOND UINT64_C(1000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MILLISECOND + (uint64_t)now.tv_nsec;
}

/* ---- making and destroying ------------------------------------------------------------------- */

START_TEST(queue_sizes_outside_the_agent_s_limits_are_refused)
{
	h2d_stream_t *stream = NULL;
	h2d_stream_options_t options = {.queue_size = 100};

	check_status(h2d_stream_create(fixture_device, &options, &stream),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("100");
	options.queue_size = 1;
	check_status(h2d_stream_create(fixture_device, &options, &stream), H2D_STATUS_OUT_OF_RANGE);
	options.queue_size = UINT32_C(1) << 31;
	check_status(h2d_stream_create(fixture_device, &options, &stream), H2D_STATUS_OUT_OF_RANGE);
	check_status(h2d_stream_create(NULL, NULL, &stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_stream_create(fixture_device, NULL, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_stream_create_alias(NULL, &stream), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_stream_create_alias(fixture_stream, NULL), H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_ptr_null(stream);
	check_success(h2d_stream_destroy(NULL));
}
END_TEST

START_TEST(default_queue_has_1024_packets_for_many_producers)
{
	hsa_queue_t *queue = h2d_stream_queue(fixture_stream);

	ck_assert_uint_eq(queue->size, 1024);
	ck_assert_uint_eq(queue->type, HSA_QUEUE_TYPE_MULTI);
	ck_assert_ptr_eq(h2d_stream_device(fixture_stream), fixture_device);
}
END_TEST

START_TEST(alias_is_the_same_stream_and_lives_longer)
{
	h2d_stream_t *stream;
	h2d_stream_t *alias;
	uint64_t identity;
	struct dispatch_log log = dispatch_log_make(4);

	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	check_success(h2d_stream_create_alias(stream, &alias));
	identity = h2d_stream_identity(stream);
	ck_assert_uint_ne(identity, 0);
	ck_assert_uint_ne(identity, h2d_stream_identity(fixture_stream));
	ck_assert_uint_eq(h2d_stream_identity(alias), identity);
	ck_assert_ptr_eq(h2d_stream_queue(alias), h2d_stream_queue(stream));
	check_success(dispatch_log_append(&log, stream, 0));
	check_success(dispatch_log_append(&log, alias, 1));
	check_success(h2d_stream_destroy(stream));
	check_success(dispatch_log_append(&log, alias, 2));
	check_success(h2d_stream_synchronize(alias));
	dispatch_log_check(&log, 3);
	check_success(h2d_stream_destroy(alias));
	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	ck_assert_uint_ne(h2d_stream_identity(stream), identity);
	check_success(h2d_stream_destroy(stream));
	dispatch_log_free(&log);
}
END_TEST

START_TEST(stream_in_use_is_not_destroyed)
{
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	h2d_stream_retain(stream);
	check_status(h2d_stream_destroy(stream), H2D_STATUS_INVALID_STATE);
	h2d_stream_release(stream);
	check_success(h2d_stream_destroy(stream));
}
END_TEST

/* ---- packets --------------------------------------------------------------------------------- */

START_TEST(barrier_packet_has_its_fields_and_zeros)
{
	const hsa_signal_t dependency = {.handle = 0x1111111111111111};
	const hsa_signal_t completion = {.handle = 0x2222222222222222};
	h2d_packet_t packet;
	uint8_t expected[64] = {0};

	/* Type 3 in bits 0-7, barrier bit 8, acquire scope in bits 9-10, release in 11-12. */
	memset(&packet, 0xff, sizeof(packet));
	h2d_packet_barrier(&packet, true, H2D_FENCE_AGENT, H2D_FENCE_SYSTEM, dependency,
			   completion);
	expected[0] = 3;
	expected[1] = 0x01 | 0x02 | 0x10;
	memset(expected + 8, 0x11, 8);
	memset(expected + 56, 0x22, 8);
	fixture_check_bytes("barrier", packet.bytes, expected, 64);

	h2d_packet_barrier(&packet, false, H2D_FENCE_SYSTEM, H2D_FENCE_NONE, (hsa_signal_t){0},
			   (hsa_signal_t){0});
	memset(expected, 0, sizeof(expected));
	expected[0] = 3;
	expected[1] = 0x04;
	fixture_check_bytes("barrier without", packet.bytes, expected, 64);
}
END_TEST

START_TEST(dispatch_packet_has_its_fields_and_zeros)
{
	const h2d_kernel_t kernel = {.object = 0x4444444444444444,
				     .group_segment_size = 0x11223344,
				     .private_segment_size = 0x55667788};
	h2d_packet_t packet;
	uint8_t expected[64] = {0};
	const uint32_t grid[] = {0x10003 * 192, 1, 1};

	memset(&packet, 0xff, sizeof(packet));
	h2d_packet_dispatch(&packet, &kernel, 0x10003, 192, (const void *)0x6666666666666666,
			    H2D_FENCE_SYSTEM, H2D_FENCE_AGENT);
	/* Type 2, then as above; one dimension. */
	expected[0] = 2;
	expected[1] = 0x01 | 0x04 | 0x08;
	expected[2] = 1;
	expected[4] = 192;
	expected[6] = 1;
	expected[8] = 1;
	memcpy(expected + 12, grid, 12);
	memcpy(expected + 24, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
	memset(expected + 32, 0x44, 8);
	memset(expected + 40, 0x66, 8);
	fixture_check_bytes("dispatch", packet.bytes, expected, 64);
}
END_TEST

/* ---- order and wrapping ---------------------------------------------------------------------- */

/* 1000 dispatches through 64 slots: each waits for room, none is lost, all run in order. */
static void append_in_order(h2d_stream_t *stream)
{
	struct dispatch_log log = dispatch_log_make(1000);

	for (uint32_t i = 0; i < log.capacity; i++)
		check_success(dispatch_log_append(&log, stream, i));
	check_success(h2d_stream_synchronize(stream));
	dispatch_log_check(&log, log.capacity);
	dispatch_log_free(&log);
}

START_TEST(smallest_queue_wraps_many_times)
{
	const h2d_stream_options_t options = {.queue_size = 64};
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, &options, &stream));
	ck_assert_uint_eq(h2d_stream_queue(stream)->size, 64);
	append_in_order(stream);
	check_success(h2d_stream_destroy(stream));
}
END_TEST

static void ignore_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	(void)status;
	(void)queue;
	(void)data;
}

static const hsa_queue_type_t queue_types[] = {HSA_QUEUE_TYPE_SINGLE, HSA_QUEUE_TYPE_MULTI};

START_TEST(caller_s_queue_of_either_type_stays_the_caller_s)
{
	h2d_stream_options_t options = {.timeout_ns = 0};
	h2d_stream_t *stream;
	h2d_device_info_t info;

	check_success(h2d_device_get_info(fixture_device, &info));
	ck_assert_int_eq(hsa_queue_create(info.agent, 64, queue_types[_i], ignore_error, NULL,
					  UINT32_MAX, UINT32_MAX, &options.queue),
			 HSA_STATUS_SUCCESS);
	for (int round = 0; round < 2; round++) {
		check_success(h2d_stream_create(fixture_device, &options, &stream));
		ck_assert_ptr_eq(h2d_stream_queue(stream), options.queue);
		append_in_order(stream);
		check_success(h2d_stream_destroy(stream));
	}
	ck_assert_int_eq(hsa_queue_destroy(options.queue), HSA_STATUS_SUCCESS);
}
END_TEST

struct producer {
	const struct dispatch_log *log;
	h2d_stream_t *stream;
	uint32_t first;
	uint32_t count;
	h2d_status_t status;
};

static void *produce(void *data)
{
	struct producer *producer = data;

	for (uint32_t i = 0; i < producer->count && producer->status == H2D_STATUS_SUCCESS; i++)
		producer->status =
		    dispatch_log_append(producer->log, producer->stream, producer->first + i);
	if (producer->status == H2D_STATUS_SUCCESS)
		producer->status = h2d_stream_synchronize(producer->stream);
	return NULL;
}

/* Every value is there once, and those of each producer are in its order. */
START_TEST(two_producers_share_a_queue)
{
	enum { EACH = 500 };
	const h2d_stream_options_t options = {.queue_size = 64};
	static uint32_t values[2 * EACH];
	uint32_t next[2] = {0, EACH};
	pthread_t threads[2];
	struct dispatch_log log = dispatch_log_make(2 * EACH);
	struct producer producers[2];
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, &options, &stream));
	for (uint32_t i = 0; i < 2; i++) {
		producers[i] = (struct producer){&log, stream, i * EACH, EACH, 0};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(producers[i].status, H2D_STATUS_SUCCESS);
	}
	check_success(h2d_device_read(fixture_device, values, log.values, sizeof(values),
				      H2D_DEFAULT_TIMEOUT_NS));
	for (uint32_t i = 0; i < 2 * EACH; i++)
		ck_assert_uint_eq(values[i], next[values[i] >= EACH]++);
	check_success(h2d_stream_destroy(stream));
	dispatch_log_free(&log);
}
END_TEST

/* ---- full queues and bounded waits ----------------------------------------------------------- */

START_TEST(full_queue_ends_in_an_error_and_nothing_is_written)
{
	hsa_signal_t gate;
	h2d_stream_t *stream = dispatch_log_blocked_stream(30 * MILLISECOND, &gate);
	hsa_queue_t *queue = h2d_stream_queue(stream);
	struct dispatch_log log = dispatch_log_make(80);
	h2d_packet_t pair[2];
	uint8_t ring[64 * 64];
	uint32_t next = 0;

	/* Until one packet fits: some GPUs take a barrier out of the ring before it has ended. */
	while (hsa_queue_load_write_index_relaxed(queue) -
		   hsa_queue_load_read_index_scacquire(queue) <
	       63)
		check_success(dispatch_log_append(&log, stream, next++));
	check_success(h2d_stream_wait_for_space(stream, 1));
	memcpy(ring, queue->base_address, sizeof(ring));
	uint64_t write_index = hsa_queue_load_write_index_scacquire(queue);
	uint64_t begin = now_ns();
	check_status(h2d_stream_wait_for_space(stream, 2), H2D_STATUS_QUEUE_FULL);
	ck_assert_uint_ge(now_ns() - begin, 30 * MILLISECOND);
	h2d_packet_barrier(&pair[0], true, H2D_FENCE_NONE, H2D_FENCE_NONE, (hsa_signal_t){0},
			   (hsa_signal_t){0});
	pair[1] = pair[0];
	check_status(h2d_stream_submit(stream, pair, 2), H2D_STATUS_QUEUE_FULL);
	check_message("64 packets had no room for 2");
	ck_assert_uint_eq(hsa_queue_load_write_index_scacquire(queue), write_index);
	fixture_check_bytes("the ring", queue->base_address, ring, sizeof(ring));

	/* One more fits, then nothing, and the queue is in order all the same. */
	check_success(dispatch_log_append(&log, stream, next++));
	check_status(dispatch_log_append(&log, stream, next), H2D_STATUS_QUEUE_FULL);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_FULL);
	/* Release: pairs with the packet processor's acquire, which then takes the ring's slots. */
	hsa_signal_store_screlease(gate, 0);
	while (h2d_stream_synchronize(stream) != H2D_STATUS_SUCCESS)
		;
	dispatch_log_check(&log, next);
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
	dispatch_log_free(&log);
}
END_TEST

START_TEST(more_packets_than_the_queue_has_are_out_of_range)
{
	const h2d_stream_options_t options = {.queue_size = 64};
	static h2d_packet_t packets[65];
	h2d_stream_t *stream;

	check_success(h2d_stream_create(fixture_device, &options, &stream));
	for (int i = 0; i < 65; i++)
		h2d_packet_barrier(&packets[i], true, H2D_FENCE_NONE, H2D_FENCE_NONE,
				   (hsa_signal_t){0}, (hsa_signal_t){0});
	check_status(h2d_stream_submit(stream, packets, 65), H2D_STATUS_OUT_OF_RANGE);
	check_status(h2d_stream_wait_for_space(stream, 65), H2D_STATUS_OUT_OF_RANGE);
	check_success(h2d_stream_submit(stream, packets, 0));
	for (int i = 0; i < 100; i++) {
		check_success(h2d_stream_submit(stream, packets, 64));
		check_success(h2d_stream_submit(stream, packets, 7));
	}
	check_success(h2d_stream_synchronize(stream));
	ck_assert_uint_eq(hsa_queue_load_write_index_relaxed(h2d_stream_queue(stream)),
			  100 * 71 + 1);
	check_success(h2d_stream_destroy(stream));
}
END_TEST

START_TEST(waits_end_at_their_timeout_and_can_be_repeated)
{
	hsa_signal_t gate;
	hsa_signal_t signal;
	h2d_stream_t *stream = dispatch_log_blocked_stream(40 * MILLISECOND, &gate);
	uint64_t begin = now_ns();

	check_status(h2d_stream_synchronize(stream), H2D_STATUS_TIMEOUT);
	ck_assert_uint_ge(now_ns() - begin, 40 * MILLISECOND);
	check_status(h2d_stream_destroy(stream), H2D_STATUS_TIMEOUT);
	check_success(h2d_device_create_host_signal(fixture_device, 1, &signal));
	check_status(h2d_stream_wait_signal(stream, signal, MILLISECOND, "slot 1, group \"mha\""),
		     H2D_STATUS_TIMEOUT);
	check_message("slot 1, group \"mha\" did not end within 1000000 ns");
	h2d_device_add_signal(signal, -1);
	check_success(h2d_stream_wait_signal(stream, signal, 0, "the signal"));
	hsa_signal_store_screlease(gate, 0);
	check_success_in_time(h2d_stream_synchronize(stream));
	check_success_in_time(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
	h2d_device_destroy_signal(signal);
}
END_TEST

/* ---- dispatching ----------------------------------------------------------------------------- */

START_TEST(bad_dispatches_are_refused)
{
	struct dispatch_log log = dispatch_log_make(1);
	const h2d_dispatch_t good = {
	    .kernel = log.append,
	    .grid_size = {1, 1, 1},
	    .workgroup_size = {1, 1, 1},
	    .kernel_arguments = log.kernel_arguments,
	    .kernel_arguments_size = 20,
	};
	h2d_dispatch_t bad;

#define REFUSED(member, value)                                                                     \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.member = value;                                                                \
		check_status(h2d_stream_dispatch(fixture_stream, &bad),                            \
			     H2D_STATUS_INVALID_ARGUMENT);                                         \
	} while (0)
	REFUSED(kernel.object, 0);
	for (int i = 0; i < 3; i++) {
		REFUSED(grid_size[i], 0);
		REFUSED(workgroup_size[i], 0);
		REFUSED(workgroup_size[i], 1025);
		REFUSED(workgroup_size[i], UINT16_MAX);
	}
	REFUSED(kernel_arguments, NULL);
	REFUSED(kernel_arguments, log.kernel_arguments + 8);
	REFUSED(kernel_arguments_size, 19);
#undef REFUSED
	bad = good;
	bad.workgroup_size[0] = 64;
	bad.workgroup_size[1] = 17;
	check_status(h2d_stream_dispatch(fixture_stream, &bad), H2D_STATUS_INVALID_ARGUMENT);
	check_message("64 x 17 x 1");
	check_status(h2d_stream_dispatch(fixture_stream, NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_stream_dispatch(NULL, &good), H2D_STATUS_INVALID_ARGUMENT);
	check_status(h2d_stream_synchronize(NULL), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_stream_synchronize(fixture_stream));
	dispatch_log_check(&log, 0);
	dispatch_log_free(&log);
}
END_TEST

/* Three dimensions, workgroups that the grid cuts. */
START_TEST(grid_and_workgroups_have_three_dimensions)
{
	enum { X = 7, Y = 5, Z = 3, GROUPS_X = 3, GROUPS_Y = 2, GROUPS_Z = 2 };
	const uint32_t grid[3] = {2 * X + 4, Y + 1, Z + 2};
	uint32_t expected[GROUPS_X * GROUPS_Y * GROUPS_Z] = {0};
	uint32_t actual[GROUPS_X * GROUPS_Y * GROUPS_Z];
	struct {
		uint32_t *sums;
		uint32_t x, y, workgroups_x, workgroups_y;
	} * arguments;
	h2d_code_object_t *code_object = fixture_load_kernels();

	for (uint32_t z = 0; z < grid[2]; z++)
		for (uint32_t y = 0; y < grid[1]; y++)
			for (uint32_t x = 0; x < grid[0]; x++)
				expected[(z / Z * GROUPS_Y + y / Y) * GROUPS_X + x / X] +=
				    (z % Z * Y + y % Y) * X + x % X + 1;
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	arguments->x = X;
	arguments->y = Y;
	arguments->workgroups_x = GROUPS_X;
	arguments->workgroups_y = GROUPS_Y;
	check_success(
	    h2d_device_allocate(fixture_device, sizeof(actual), (void **)&arguments->sums));
	const h2d_dispatch_t dispatch = {
	    .kernel = fixture_kernel(code_object, "sum_of_workgroups"),
	    .grid_size = {grid[0], grid[1], grid[2]},
	    .workgroup_size = {X, Y, Z},
	    .kernel_arguments = arguments,
	    .kernel_arguments_size = sizeof(*arguments),
	};
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_device_read(fixture_device, actual, arguments->sums, sizeof(actual),
				      H2D_DEFAULT_TIMEOUT_NS));
	fixture_check_bytes("sums", actual, expected, sizeof(expected));
	check_success(h2d_device_free(fixture_device, arguments->sums));
	check_success(h2d_device_free(fixture_device, arguments));
	check_success(h2d_code_object_unload(code_object));
}
END_TEST

START_TEST(dispatch_gives_the_kernel_its_dynamic_lds)
{
	enum { COUNT = 1024 };
	static uint32_t values[COUNT];
	struct {
		uint32_t *values;
		uint32_t count;
		uint32_t lds; /* where the kernel's own LDS ends */
	} * arguments;
	h2d_code_object_t *code_object = fixture_load_kernels();

	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	check_success(
	    h2d_device_allocate(fixture_device, sizeof(values), (void **)&arguments->values));
	arguments->count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++)
		values[i] = 3 * i + 1;
	check_success(h2d_device_write(fixture_device, arguments->values, values, sizeof(values),
				       H2D_DEFAULT_TIMEOUT_NS));
	const h2d_dispatch_t dispatch = {
	    .kernel = fixture_kernel(code_object, "reverse"),
	    .grid_size = {COUNT, 1, 1},
	    .workgroup_size = {COUNT, 1, 1},
	    .dynamic_group_segment_size = sizeof(values),
	    .kernel_arguments = arguments,
	    .kernel_arguments_size = sizeof(*arguments),
	};
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_device_read(fixture_device, values, arguments->values, sizeof(values),
				      H2D_DEFAULT_TIMEOUT_NS));
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_uint_eq(values[i], 3 * (COUNT - 1 - i) + 1);
	check_success(h2d_device_free(fixture_device, arguments->values));
	check_success(h2d_device_free(fixture_device, arguments));
	check_success(h2d_code_object_unload(code_object));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream");
	TCase *cases = tcase_create("stream");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_test(cases, queue_sizes_outside_the_agent_s_limits_are_refused);
	tcase_add_test(cases, default_queue_has_1024_packets_for_many_producers);
	tcase_add_test(cases, alias_is_the_same_stream_and_lives_longer);
	tcase_add_test(cases, stream_in_use_is_not_destroyed);
	tcase_add_test(cases, barrier_packet_has_its_fields_and_zeros);
	tcase_add_test(cases, dispatch_packet_has_its_fields_and_zeros);
	tcase_add_test(cases, smallest_queue_wraps_many_times);
	tcase_add_loop_test(cases, caller_s_queue_of_either_type_stays_the_caller_s, 0, 2);
	tcase_add_test(cases, two_producers_share_a_queue);
	tcase_add_test(cases, full_queue_ends_in_an_error_and_nothing_is_written);
	tcase_add_test(cases, more_packets_than_the_queue_has_are_out_of_range);
	tcase_add_test(cases, waits_end_at_their_timeout_and_can_be_repeated);
	tcase_add_test(cases, bad_dispatches_are_refused);
	tcase_add_test(cases, grid_and_workgroups_have_three_dimensions);
	tcase_add_test(cases, dispatch_gives_the_kernel_its_dynamic_lds);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
