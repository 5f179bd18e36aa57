/* SPDX-License-Identifier: MIT */
/* How failures of the GPU end the waits on its streams: queue errors and memory faults. */
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
	ck_assert_uint_lt(now_ns() - begin, 5000 * MILLISECOND);
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

START_TEST(error_of_the_caller_s_queue_ends_a_wait_at_once)
{
	hsa_signal_t gate;
	h2d_stream_t *stream = dispatch_log_blocked_stream(30000 * MILLISECOND, &gate);
	struct error_of_queue error = {stream, 50 * MILLISECOND};
	pthread_t thread;
	uint64_t begin = now_ns();

	ck_assert_int_eq(pthread_create(&thread, NULL, notify_later, &error), 0);
	check_status(h2d_stream_synchronize(stream), H2D_STATUS_QUEUE_ERROR);
	ck_assert_uint_lt(now_ns() - begin, 5000 * MILLISECOND);
	check_message("0x1009");
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	/* The queue itself is well: let it end. */
	h2d_device_store_signal(gate, 0);
	while (hsa_queue_load_read_index_scacquire(h2d_stream_queue(stream)) !=
	       hsa_queue_load_write_index_relaxed(h2d_stream_queue(stream)))
		;
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

START_TEST(memory_fault_ends_a_wait_at_once_and_names_the_address)
{
	const uint64_t unmapped = UINT64_C(0x123456789000);
	struct {
		uint32_t *flag;
		uint64_t address;
		uint32_t value;
	} * arguments;
	h2d_code_object_t *code_object = fixture_load_kernels();
	struct flag flag;
	pthread_t thread;
	uint64_t address = 0;
	uint8_t byte;
	uint8_t *device;

	check_success(h2d_device_allocate(fixture_device, 1, (void **)&device));
	check_success(h2d_device_allocate_host(fixture_device, 4, (void **)&flag.value));
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	arguments->flag = flag.value;
	arguments->address = unmapped + 8;
	const h2d_dispatch_t dispatch = {
	    .kernel = fixture_kernel(code_object, "store_after_flag"),
	    .grid_size = {1, 1, 1},
	    .workgroup_size = {1, 1, 1},
	    .kernel_arguments = arguments,
	    .kernel_arguments_size = sizeof(*arguments),
	};
	ck_assert(!h2d_device_faulted(fixture_device, &address));
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_later, &flag), 0);
	uint64_t begin = now_ns();
	check_status(h2d_stream_synchronize(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	ck_assert_uint_lt(now_ns() - begin, 5000 * MILLISECOND);
	ck_assert(h2d_device_faulted(fixture_device, &address));
	ck_assert_uint_eq(address / 4096, unmapped / 4096); /* the runtime tells the page */
	check_message("0x123456789");
	check_status(h2d_stream_check(fixture_stream), H2D_STATUS_MEMORY_FAULT);
	check_status(h2d_device_read(fixture_device, &byte, device, 1, MILLISECOND),
		     H2D_STATUS_MEMORY_FAULT);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	check_success(h2d_code_object_unload(code_object));
	check_success(h2d_device_free(fixture_device, device));
	check_success(h2d_device_free(fixture_device, flag.value));
	check_success(h2d_device_free(fixture_device, arguments));
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

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_test(cases, queue_error_ends_the_wait_and_names_itself);
	tcase_add_test(cases, error_of_the_caller_s_queue_ends_a_wait_at_once);
	tcase_add_test(cases, memory_fault_ends_a_wait_at_once_and_names_the_address);
	tcase_add_test(cases, application_s_fault_handler_can_tell_the_device);
	suite_add_tcase(suite, cases);
	return fixture_run(suite);
}
