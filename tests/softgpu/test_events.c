/* SPDX-License-Identifier: MIT */
/* The thunk's own interface: opening, events, calls that it does not have. */
#include <check.h>
#include <hsakmt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../run_suite.h"

#define OK(call) ck_assert_int_eq((call), HSAKMT_STATUS_SUCCESS)

static void start(void)
{
	OK(hsaKmtOpenKFD());
}

static void stop(void)
{
	OK(hsaKmtCloseKFD());
}

static HsaEvent *create_event(HSA_EVENTTYPE type, bool manual_reset, bool set)
{
	HsaEventDescriptor descriptor = {.EventType = type};
	HsaEvent *event = NULL;

	OK(hsaKmtCreateEvent(&descriptor, manual_reset, set, &event));
	ck_assert_ptr_nonnull(event);
	return event;
}

START_TEST(calls_fail_before_opening)
{
	HsaVersionInfo version;
	HsaSystemProperties properties;
	HsaEvent *event = NULL;
	HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
	HsaMemFlags flags = {.Value = 0};
	void *memory = NULL;
	const HSAKMT_STATUS closed = HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;

	for (unsigned int round = 0; round < 2; round++) {
		ck_assert_int_eq(hsaKmtGetVersion(&version), closed);
		ck_assert_int_eq(hsaKmtAcquireSystemProperties(&properties), closed);
		ck_assert_int_eq(hsaKmtCreateEvent(&descriptor, false, false, &event), closed);
		ck_assert_int_eq(hsaKmtAllocMemory(0, 4096, flags, &memory), closed);
		ck_assert_int_eq(hsaKmtDestroyQueue(1), closed);
		ck_assert_int_eq(hsaKmtCloseKFD(), closed);
		OK(hsaKmtOpenKFD());
		OK(hsaKmtGetVersion(&version));
		ck_assert_uint_eq(version.KernelInterfaceMajorVersion, 1);
		ck_assert_uint_eq(version.KernelInterfaceMinorVersion, 8);
		OK(hsaKmtCloseKFD());
	}
}
END_TEST

START_TEST(opening_counts)
{
	HsaVersionInfo version;

	OK(hsaKmtOpenKFD());
	ck_assert_int_eq(hsaKmtOpenKFD(), HSAKMT_STATUS_KERNEL_ALREADY_OPENED);
	OK(hsaKmtCloseKFD());
	OK(hsaKmtGetVersion(&version));
	OK(hsaKmtCloseKFD());
	ck_assert_int_eq(hsaKmtGetVersion(&version), HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED);
}
END_TEST

START_TEST(a_bad_option_is_refused)
{
	static const struct {
		const char *name, *value;
	} options[] = {
		{"SOFTGPU_GPUS", "0"},	      {"SOFTGPU_GPUS", "9"},
		{"SOFTGPU_GPUS", "two"},      {"SOFTGPU_GPUS", ""},
		{"SOFTGPU_VRAM", "1M"},	      {"SOFTGPU_VRAM", "4097K"},
		{"SOFTGPU_VRAM", "-1"},	      {"SOFTGPU_VRAM", "99999999999T"},
		{"SOFTGPU_VRAM", "16GB"},     {"SOFTGPU_WORKERS", "0"},
		{"SOFTGPU_SPIN", "1.5"},      {"SOFTGPU_EXCEPTIONS", "yes"},
		{"SOFTGPU_USERFAULTFD", "2"}, {"SOFTGPU_TARGET", "gfx000"},
	};

	setenv(options[_i].name, options[_i].value, 1);
	ck_assert_int_eq(hsaKmtOpenKFD(), HSAKMT_STATUS_ERROR);
	unsetenv(options[_i].name);
	OK(hsaKmtOpenKFD());
	OK(hsaKmtCloseKFD());
}
END_TEST

/* The child of fork() has no device, but may open its own; the parent's is not disturbed. */
START_TEST(a_forked_child_starts_closed)
{
	HsaEvent *event = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
	HsaVersionInfo version;
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (hsaKmtGetVersion(&version) != HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED)
			_exit(1);
		if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS ||
		    hsaKmtGetVersion(&version) != HSAKMT_STATUS_SUCCESS ||
		    hsaKmtCloseKFD() != HSAKMT_STATUS_SUCCESS)
			_exit(2);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	OK(hsaKmtSetEvent(event));
	OK(hsaKmtWaitOnEvent(event, 0));
	OK(hsaKmtDestroyEvent(event));
}
END_TEST

START_TEST(events_have_numbers_and_mailboxes)
{
	HsaEvent *events[100];

	for (unsigned int i = 0; i < 100; i++) {
		events[i] = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
		ck_assert_uint_ge(events[i]->EventId, 1);
		ck_assert_uint_ne(events[i]->EventData.HWData2, 0);
		for (unsigned int j = 0; j < i; j++) {
			ck_assert_uint_ne(events[i]->EventId, events[j]->EventId);
			ck_assert_uint_ne(events[i]->EventData.HWData2,
					  events[j]->EventData.HWData2);
		}
	}
	for (unsigned int i = 0; i < 100; i++)
		OK(hsaKmtDestroyEvent(events[i]));
}
END_TEST

START_TEST(event_numbers_run_out)
{
	HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
	HsaEvent *events[5000];
	HSAKMT_STATUS status;
	unsigned int count = 0;

	while ((status = hsaKmtCreateEvent(&descriptor, false, false, &events[count])) ==
	       HSAKMT_STATUS_SUCCESS)
		count++;
	ck_assert_int_eq(status, HSAKMT_STATUS_OUT_OF_RESOURCES);
	ck_assert_uint_eq(count, 4095);
	OK(hsaKmtDestroyEvent(events[1234]));
	OK(hsaKmtCreateEvent(&descriptor, false, false, &events[1234]));
}
END_TEST

START_TEST(auto_reset_events_latch_once)
{
	HsaEvent *event = create_event(HSA_EVENTTYPE_SIGNAL, false, false);

	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 20), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtSetEvent(event));
	OK(hsaKmtSetEvent(event));
	OK(hsaKmtQueryEventState(event));
	OK(hsaKmtWaitOnEvent(event, 0));
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtSetEvent(event));
	OK(hsaKmtResetEvent(event));
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtDestroyEvent(event));
}
END_TEST

START_TEST(manual_reset_events_stay_set)
{
	HsaEvent *event = create_event(HSA_EVENTTYPE_SIGNAL, true, true);

	OK(hsaKmtWaitOnEvent(event, 0));
	OK(hsaKmtWaitOnEvent(event, HSA_EVENTTIMEOUT_INFINITE));
	OK(hsaKmtResetEvent(event));
	ck_assert_int_eq(hsaKmtQueryEventState(event), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtDestroyEvent(event));
}
END_TEST

struct waiter {
	pthread_t thread;
	HsaEvent *events[3];
	unsigned int count;
	bool all;
	HSAKMT_STATUS status;
	_Atomic pid_t thread_id; /* of the system; 0: not yet known */
	_Atomic bool over;
};

static void *wait_in_thread(void *argument)
{
	struct waiter *waiter = argument;

	waiter->thread_id = gettid();
	waiter->status = hsaKmtWaitOnMultipleEvents(waiter->events, waiter->count, waiter->all,
						    HSA_EVENTTIMEOUT_INFINITE);
	waiter->over = true;
	return NULL;
}

static void start_waiter(struct waiter *waiter)
{
	waiter->over = false;
	waiter->thread_id = 0;
	ck_assert_int_eq(pthread_create(&waiter->thread, NULL, wait_in_thread, waiter), 0);
}

static bool is_asleep(const struct waiter *waiter)
{
	char path[64], state = '?';
	FILE *file;

	if (waiter->thread_id == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)waiter->thread_id);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* Until the thread waits, however long it takes to get there: it sleeps for nothing else. */
static void wait_until_asleep(const struct waiter *waiter)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	while (!is_asleep(waiter))
		nanosleep(&moment, NULL);
}

/* A set wakes all who wait, and leaves nothing behind then. */
START_TEST(a_set_wakes_all_waiters)
{
	HsaEvent *event = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
	struct waiter waiters[3] = {0};

	for (unsigned int i = 0; i < 3; i++) {
		waiters[i].events[0] = event;
		waiters[i].count = 1;
		start_waiter(&waiters[i]);
	}
	for (unsigned int i = 0; i < 3; i++)
		wait_until_asleep(&waiters[i]);
	OK(hsaKmtSetEvent(event));
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, NULL);
		OK(waiters[i].status);
	}
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtDestroyEvent(event));
}
END_TEST

/*
 * The runtime looks at a signal and then waits for its event. What another thread's wait resets in
 * between is not lost to it; who only asks, or has waited since, finds the event not set.
 */
START_TEST(a_set_that_another_thread_has_reset_ends_a_wait)
{
	HsaEvent *event = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
	struct waiter other = {.events = {event}, .count = 1};

	for (unsigned int round = 0; round < 2; round++) {
		OK(hsaKmtSetEvent(event));
		start_waiter(&other);
		pthread_join(other.thread, NULL);
		OK(other.status);
		ck_assert_int_eq(hsaKmtQueryEventState(event), HSAKMT_STATUS_WAIT_TIMEOUT);
	}
	OK(hsaKmtWaitOnEvent(event, 30000));
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 0), HSAKMT_STATUS_WAIT_TIMEOUT);
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 20), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtSetEvent(event));
	OK(hsaKmtResetEvent(event));
	ck_assert_int_eq(hsaKmtWaitOnEvent(event, 20), HSAKMT_STATUS_WAIT_TIMEOUT);
	OK(hsaKmtDestroyEvent(event));
}
END_TEST

START_TEST(waits_for_any_and_for_all)
{
	struct waiter any = {.count = 3}, all = {.count = 3, .all = true};

	for (unsigned int i = 0; i < 3; i++) {
		any.events[i] = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
		all.events[i] = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
	}
	start_waiter(&any);
	start_waiter(&all);
	wait_until_asleep(&any);
	OK(hsaKmtSetEvent(any.events[1]));
	pthread_join(any.thread, NULL);
	OK(any.status);
	for (unsigned int i = 0; i < 3; i++) {
		wait_until_asleep(&all);
		ck_assert(!all.over);
		OK(hsaKmtSetEvent(all.events[2 - i]));
	}
	pthread_join(all.thread, NULL);
	OK(all.status);
	for (unsigned int i = 0; i < 3; i++) {
		OK(hsaKmtDestroyEvent(any.events[i]));
		OK(hsaKmtDestroyEvent(all.events[i]));
	}
}
END_TEST

START_TEST(destroying_an_event_ends_its_waits)
{
	struct waiter waiter = {.count = 2};

	for (unsigned int i = 0; i < 2; i++)
		waiter.events[i] = create_event(HSA_EVENTTYPE_SIGNAL, false, false);
	start_waiter(&waiter);
	wait_until_asleep(&waiter);
	OK(hsaKmtDestroyEvent(waiter.events[0]));
	pthread_join(waiter.thread, NULL);
	ck_assert_int_eq(waiter.status, HSAKMT_STATUS_WAIT_FAILURE);
	OK(hsaKmtDestroyEvent(waiter.events[1]));
}
END_TEST

START_TEST(invalid_handles_are_refused)
{
	HsaEvent other = {.EventId = 1}, *events[2];

	events[0] = create_event(HSA_EVENTTYPE_SIGNAL, false, true);
	events[1] = NULL;
	ck_assert_int_eq(hsaKmtSetEvent(NULL), HSAKMT_STATUS_INVALID_HANDLE);
	ck_assert_int_eq(hsaKmtSetEvent(&other), HSAKMT_STATUS_INVALID_HANDLE);
	ck_assert_int_eq(hsaKmtDestroyEvent(NULL), HSAKMT_STATUS_INVALID_HANDLE);
	ck_assert_int_eq(hsaKmtWaitOnEvent(NULL, 0), HSAKMT_STATUS_INVALID_HANDLE);
	ck_assert_int_eq(hsaKmtWaitOnMultipleEvents(events, 2, true, 0),
			 HSAKMT_STATUS_INVALID_HANDLE);
	OK(hsaKmtDestroyEvent(events[0]));
}
END_TEST

START_TEST(nodes_are_described)
{
	HsaSystemProperties system;
	HsaNodeProperties node;
	HsaIoLinkProperties links[8];

	OK(hsaKmtAcquireSystemProperties(&system));
	ck_assert_uint_eq(system.NumNodes, 2);
	OK(hsaKmtGetNodeProperties(0, &node));
	ck_assert_uint_ge(node.NumCPUCores, 1);
	ck_assert_uint_eq(node.NumFComputeCores, 0);
	OK(hsaKmtGetNodeProperties(1, &node));
	ck_assert_uint_eq(node.NumCPUCores, 0);
	ck_assert_uint_eq(node.NumFComputeCores, 104 * 4);
	ck_assert_uint_eq(node.EngineId.ui32.Major, 9);
	ck_assert_uint_eq(node.EngineId.ui32.Stepping, 10);
	ck_assert_uint_eq(node.NumIOLinks, 1);
	OK(hsaKmtGetNodeIoLinkProperties(1, node.NumIOLinks, links));
	ck_assert_uint_eq(links[0].NodeFrom, 1);
	ck_assert_uint_eq(links[0].NodeTo, 0);
	ck_assert_int_eq(hsaKmtGetNodeProperties(2, &node), HSAKMT_STATUS_INVALID_NODE_UNIT);
	OK(hsaKmtReleaseSystemProperties());
}
END_TEST

START_TEST(missing_calls_say_so)
{
	char line[128] = "";
	int descriptors[2], saved = dup(STDERR_FILENO);
	uint32_t count = 0;

	ck_assert_int_eq(pipe(descriptors), 0);
	ck_assert_int_eq(dup2(descriptors[1], STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(hsaKmtSPMAcquire(1), HSAKMT_STATUS_NOT_SUPPORTED);
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_gt(read(descriptors[0], line, sizeof(line) - 1), 0);
	ck_assert_str_eq(line, "softgpu: hsaKmtSPMAcquire is not supported\n");
	ck_assert_int_eq(hsaKmtDbgRegister(1), HSAKMT_STATUS_NOT_SUPPORTED);
	ck_assert_int_eq(hsaKmtAllocQueueGWS(1, 1, &count), HSAKMT_STATUS_NOT_SUPPORTED);
	ck_assert_int_eq(hsaKmtSetXNACKMode(1), HSAKMT_STATUS_NOT_SUPPORTED);
	OK(hsaKmtSetXNACKMode(0));
}
END_TEST

static Suite *events_suite(void)
{
	Suite *suite = suite_create("thunk");
	TCase *opening = tcase_create("opening"), *events = tcase_create("events");

	tcase_add_test(opening, calls_fail_before_opening);
	tcase_add_test(opening, opening_counts);
	tcase_add_loop_test(opening, a_bad_option_is_refused, 0, 14);
	suite_add_tcase(suite, opening);
	tcase_add_checked_fixture(events, start, stop);
	tcase_add_test(events, a_forked_child_starts_closed);
	tcase_add_test(events, events_have_numbers_and_mailboxes);
	tcase_add_test(events, event_numbers_run_out);
	tcase_add_test(events, auto_reset_events_latch_once);
	tcase_add_test(events, manual_reset_events_stay_set);
	tcase_add_test(events, a_set_wakes_all_waiters);
	tcase_add_test(events, a_set_that_another_thread_has_reset_ends_a_wait);
	tcase_add_test(events, waits_for_any_and_for_all);
	tcase_add_test(events, destroying_an_event_ends_its_waits);
	tcase_add_test(events, invalid_handles_are_refused);
	tcase_add_test(events, nodes_are_described);
	tcase_add_test(events, missing_calls_say_so);
	suite_add_tcase(suite, events);
	return suite;
}

int main(void)
{
	const char *hardware = getenv("RUN_H2D_GPU_TESTS");

	if (hardware && strcmp(hardware, "1") == 0) {
		puts("1..0 # SKIP a test of the software GPU");
		return EXIT_SUCCESS;
	}
	return run_suite(events_suite());
}
