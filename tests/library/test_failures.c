/* SPDX-License-Identifier: MIT */
/* How failures of the GPU end the waits on its streams: queue errors and memory faults. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hsa/hsa_ext_amd.h>

#include <h2dpub/graph.h>

#include "dispatch_log.h"
#include "fixture.h"
#include "hsa/device.h"
#include "hsa/stream.h"

#define MILLISECOND UINT64_C(1000000)
/* Well before any timeout here, however slow the machine. */
#define AT_ONCE     (8000 * MILLISECOND)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MILLISECOND + (uint64_t)now.tv_nsec;
}

START_TEST(queue_error_ends_the_wait_and_names_itself)
{
	struct dispatch_log log = dispatch_log_make(2);
	const h2d_dispatch_t too_much_lds = {
		.kernel = log.append,
		.grid_size = {1, 1, 1},
		.workgroup_size = {1, 1, 1},
		.dynamic_group_segment_size = 1 << 24,
		.kernel_arguments = log.kernel_arguments,
		.kernel_arguments_size = 64,
	};
	h2d_stream_t *other;
	const char *words;
	uint64_t begin = now_ns();

	check_success(h2d_stream_dispatch(fixture_stream, &too_much_lds));
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_QUEUE_ERROR);
	ck_assert_uint_lt(now_ns() - begin, AT_ONCE);
	ck_assert_int_eq(hsa_status_string(HSA_STATUS_ERROR_INVALID_ALLOCATION, &words), 0);
	check_message(words);
	/* From now on nothing is taken, and destroying does not wait. */
	check_status(dispatch_log_append(&log, fixture_stream, 0), H2D_STATUS_QUEUE_ERROR);
	check_status(h2d_stream_wait_for_space(fixture_stream, 1), H2D_STATUS_QUEUE_ERROR);
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_QUEUE_ERROR);

	/* Other queues go on. */
	check_success(h2d_stream_create(fixture_device, NULL, &other));
	check_success(dispatch_log_append(&log, other, 0));
	check_success(h2d_stream_synchronize(other));
	check_success(h2d_stream_destroy(other));
	dispatch_log_check(&log, 1);
	dispatch_log_free(&log);
}
END_TEST

struct error_of_queue {
	h2d_stream_t *stream;
	uint64_t delay_ns;
};

static void *notify_later(void *data)
{
	const struct error_of_queue *error = data;
	const struct timespec delay = {.tv_nsec = (long)error->delay_ns};

	nanosleep(&delay, NULL);
	h2d_stream_notify_queue_error(error->stream, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
	return NULL;
}

/* The queue itself is well: let it end. */
static void drain(h2d_stream_t *stream, hsa_signal_t gate)
{
	const hsa_queue_t *queue = h2d_stream_queue(stream);

	hsa_signal_store_screlease(gate, 0);
	while (hsa_queue_load_read_index_scacquire(queue) !=
	       hsa_queue_load_write_index_relaxed(queue))
		;
}

START_TEST(error_of_the_caller_s_queue_ends_a_wait_at_once)
{
	hsa_signal_t gate;
	h2d_stream_t *stream = dispatch_log_blocked_stream(60000 * MILLISECOND, &gate);
	struct error_of_queue error = {stream, 50 * MILLISECOND};
	pthread_t thread;
	uint64_t begin = now_ns();

	ck_assert_int_eq(pthread_create(&thread, NULL, notify_later, &error), 0);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_ERROR);
	ck_assert_uint_lt(now_ns() - begin, AT_ONCE);
	check_message("0x1009");
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	drain(stream, gate);
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
}
END_TEST

START_TEST(error_of_a_full_queue_ends_the_wait_for_room)
{
	hsa_signal_t gate;
	h2d_stream_t *stream = dispatch_log_blocked_stream(60000 * MILLISECOND, &gate);
	struct error_of_queue error = {stream, 50 * MILLISECOND};
	static h2d_packet_t barriers[64];
	pthread_t thread;
	uint64_t begin = now_ns();

	for (int i = 0; i < 64; i++)
		h2d_packet_barrier(&barriers[i], true, H2D_FENCE_NONE, H2D_FENCE_NONE,
				   (hsa_signal_t){0}, (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, barriers, 60));
	ck_assert_int_eq(pthread_create(&thread, NULL, notify_later, &error), 0);
	check_status(h2d_stream_submit(stream, barriers, 64), H2D_STATUS_QUEUE_ERROR);
	ck_assert_uint_lt(now_ns() - begin, AT_ONCE);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	drain(stream, gate);
	check_success(h2d_stream_destroy(stream));
	h2d_device_destroy_signal(gate);
}
END_TEST

struct flag {
	uint32_t *value;
};

static void *raise_later(void *data)
{
	const struct timespec delay = {.tv_nsec = 50000000};

	nanosleep(&delay, NULL);
	__atomic_store_n(((struct flag *)data)->value, 1, __ATOMIC_RELEASE);
	return NULL;
}

#define UNMAPPED UINT64_C(0x123456789000)

struct store_arguments {
	uint32_t *flag;
	uint64_t address;
	uint32_t value;
};

/* A kernel writes to an address without memory while the host waits for it. */
static void fault_during_a_wait(void)
{
	h2d_code_object_t *code_object = fixture_load_kernels();
	struct store_arguments *arguments;
	struct flag flag;
	pthread_t thread;

	check_success(h2d_device_allocate_host(fixture_device, 4, (void **)&flag.value));
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	*arguments = (struct store_arguments){flag.value, UNMAPPED + 8, 1};
	const h2d_dispatch_t dispatch = {
		.kernel = fixture_kernel(code_object, "store_after_flag"),
		.grid_size = {1, 1, 1},
		.workgroup_size = {1, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size = sizeof(*arguments),
	};
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_later, &flag), 0);
	uint64_t begin = now_ns();
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	ck_assert_uint_lt(now_ns() - begin, AT_ONCE);
	check_message("0x123456789");
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	check_success(h2d_code_object_unload(code_object));
	check_success(h2d_device_free(fixture_device, flag.value));
	check_success(h2d_device_free(fixture_device, arguments));
}

START_TEST(memory_fault_ends_a_wait_at_once_and_names_the_address)
{
	uint64_t address = 0;
	uint8_t byte;
	uint8_t *device;

	check_success(h2d_device_allocate(fixture_device, 1, (void **)&device));
	ck_assert(!h2d_device_faulted(fixture_device, &address));
	fault_during_a_wait();
	ck_assert(h2d_device_faulted(fixture_device, &address));
	ck_assert_uint_eq(address / 4096, UNMAPPED / 4096); /* the runtime tells the page */
	/* Nothing is taken or waited for any more. */
	check_status(h2d_stream_check(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	check_status(h2d_device_read(fixture_device, &byte, device, 1, MILLISECOND),
		     H2D_STATUS_MEMORY_FAULT);
	check_success(h2d_device_free(fixture_device, device));
}
END_TEST

/* Says that the device has faulted, although nothing has stopped its queues. */
static void tell_of_a_fault(void)
{
	h2d_device_info_t info;

	check_success(h2d_device_get_info(fixture_device, &info));
	h2d_device_notify_memory_fault(info.agent, 0x1000);
}

/* Opens the gate at which the queue stands: it must not pass. */
static void check_stopped(const hsa_queue_t *queue, hsa_signal_t gate)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	hsa_signal_store_screlease(gate, 0);
	nanosleep(&pause, NULL);
	ck_assert_uint_eq(hsa_queue_load_read_index_scacquire(queue), 0);
	h2d_device_destroy_signal(gate);
}

/* Its work would use signals of the stream. */
START_TEST(caller_s_queue_is_stopped_after_a_fault_before_its_stream_is_freed)
{
	h2d_device_info_t info;
	h2d_stream_options_t options = {0};
	h2d_stream_t *stream;
	hsa_signal_t gate;
	h2d_packet_t packet;

	check_success(h2d_device_get_info(fixture_device, &info));
	ck_assert_int_eq(hsa_queue_create(info.agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
					  UINT32_MAX, UINT32_MAX, &options.queue),
			 HSA_STATUS_SUCCESS);
	check_success(h2d_stream_create(fixture_device, &options, &stream));
	check_success(h2d_device_create_signal(fixture_device, 1, &gate));
	h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE, gate, (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, &packet, 1));
	tell_of_a_fault();
	check_success(h2d_stream_destroy(stream));
	check_stopped(options.queue, gate);
	ck_assert_int_eq(hsa_queue_destroy(options.queue), HSA_STATUS_SUCCESS);
}
END_TEST

/* Its replays would read the graph's kernel arguments. */
START_TEST(queue_is_stopped_after_a_fault_before_a_graph_is_freed)
{
	hsa_signal_t gate;
	struct dispatch_log log = dispatch_log_make(1);
	h2d_stream_t *stream = dispatch_log_blocked_stream(0, &gate);
	h2d_graph_t *graph;

	check_success(h2d_graph_begin_capture(stream));
	check_success(dispatch_log_append(&log, stream, 0));
	check_success(h2d_graph_end_capture(stream, &graph));
	check_success(h2d_graph_launch(graph, stream));
	tell_of_a_fault();
	check_success(h2d_graph_destroy(graph));
	check_stopped(h2d_stream_queue(stream), gate);
	check_success(h2d_stream_destroy(stream));
	dispatch_log_free(&log);
}
END_TEST

static _Atomic int faults_of_the_application;

static hsa_status_t application_s_handler(const hsa_amd_event_t *event, void *data)
{
	(void)data;
	faults_of_the_application++;
	h2d_device_notify_memory_fault(event->memory_fault.agent,
				       event->memory_fault.virtual_address);
	return HSA_STATUS_SUCCESS;
}

static void setup_after_the_application_s_handler(void)
{
	ck_assert_int_eq(hsa_init(), HSA_STATUS_SUCCESS);
	ck_assert_int_eq(hsa_amd_register_system_event_handler(application_s_handler, NULL),
			 HSA_STATUS_SUCCESS);
	fixture_setup();
}

static void teardown_with_the_application_s_handler(void)
{
	fixture_teardown();
	ck_assert_int_eq(hsa_shut_down(), HSA_STATUS_SUCCESS);
}

START_TEST(handler_that_the_application_registered_before_stays)
{
	fault_during_a_wait();
	ck_assert_int_eq(faults_of_the_application, 1);
}
END_TEST

START_TEST(application_s_fault_handler_can_tell_the_device)
{
	h2d_device_info_t info;
	hsa_agent_t other = {.handle = 1};
	h2d_device_t *second;

	check_success(h2d_device_get_info(fixture_device, &info));
	h2d_device_notify_memory_fault(other, 0x1000);
	check_success(h2d_stream_check(fixture_stream));
	check_success(h2d_device_open(0, &second));
	h2d_device_notify_memory_fault(info.agent, 0x2000);
	h2d_device_notify_memory_fault(info.agent, 0x3000);
	check_status(h2d_stream_check(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	check_message("0x2000");
	ck_assert(h2d_device_faulted(second, NULL));
	check_success(h2d_device_close(second));
	/* A device that is opened afterwards starts anew. */
	check_success(h2d_device_open(0, &second));
	ck_assert(!h2d_device_faulted(second, NULL));
	check_success(h2d_device_close(second));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failures");
	TCase *cases = tcase_create("failures");
	TCase *handler = tcase_create("the application's handler");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_test(cases, queue_error_ends_the_wait_and_names_itself);
	tcase_add_test(cases, error_of_the_caller_s_queue_ends_a_wait_at_once);
	tcase_add_test(cases, error_of_a_full_queue_ends_the_wait_for_room);
	tcase_add_test(cases, memory_fault_ends_a_wait_at_once_and_names_the_address);
	tcase_add_test(cases, application_s_fault_handler_can_tell_the_device);
	tcase_add_test(cases, caller_s_queue_is_stopped_after_a_fault_before_its_stream_is_freed);
	tcase_add_test(cases, queue_is_stopped_after_a_fault_before_a_graph_is_freed);
	suite_add_tcase(suite, cases);
	tcase_set_timeout(handler, 60);
	tcase_add_checked_fixture(handler, setup_after_the_application_s_handler,
				  teardown_with_the_application_s_handler);
	tcase_add_test(handler, handler_that_the_application_registered_before_stays);
	suite_add_tcase(suite, handler);
	return run_suite(suite);
}
