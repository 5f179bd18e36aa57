/* SPDX-License-Identifier: MIT */
/*
 * Every hsa_* call that set-up and publication make is made to fail, one after the other: the
 * outcome is an error with a message, everything can be taken down, and nothing is left behind.
 */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <h2dpub/h2dpub.h>

#include "../run_suite.h"
#include "hsa_faults.h"

#define MEMBERS    3
#define TIMEOUT_NS UINT64_C(10000000000)

static const uint64_t member_bytes[MEMBERS] = {200, 3000, 100000};
static const struct hsa_faults *faults;

struct scene {
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_registry_t *registry;
	h2d_owner_t *owner;
	h2d_buffer_t *buffers[MEMBERS];
	h2d_group_t *group;
	h2d_graph_t *graph;
};

#define TRY(call)                                                                                  \
	do {                                                                                       \
		h2d_status_t try_status = (call);                                                  \
		if (try_status != H2D_STATUS_SUCCESS)                                              \
			return try_status;                                                         \
	} while (0)

static h2d_status_t set_up(struct scene *scene, h2d_backend_t backend)
{
	static const char *const names[MEMBERS] = {"small", "medium", "large"};
	h2d_stream_options_t stream_options = {.queue_size = 64, .timeout_ns = TIMEOUT_NS};
	h2d_owner_options_t owner_options = {.backend = backend, .timeout_ns = TIMEOUT_NS};
	h2d_kernel_t consumer;

	TRY(h2d_device_open(0, &scene->device));
	TRY(h2d_device_get_kernel(scene->device, "h2d_kv_indices", &consumer));
	TRY(h2d_stream_create(scene->device, &stream_options, &scene->stream));
	TRY(h2d_registry_create(&scene->registry));
	TRY(h2d_owner_create(scene->device, scene->registry, &owner_options, &scene->owner));
	for (int i = 0; i < MEMBERS; i++) {
		h2d_buffer_description_t description = {.name = names[i],
							.element_size = 1,
							.dimensions = 1,
							.shape = {member_bytes[i]},
							.unit = H2D_COUNT_BYTES};

		TRY(h2d_buffer_allocate(scene->owner, &description, &scene->buffers[i]));
	}
	TRY(h2d_group_create(scene->owner, "group", scene->buffers, MEMBERS, &scene->group));
	return h2d_owner_select_transports(scene->owner);
}

static h2d_status_t publish(struct scene *scene, int fill, const int64_t counts[MEMBERS])
{
	TRY(h2d_owner_begin(scene->owner, scene->stream));
	for (int i = 0; i < MEMBERS; i++)
		memset(h2d_buffer_host(scene->buffers[i]), fill + i, member_bytes[i]);
	TRY(h2d_group_publish(scene->group, scene->stream, counts, NULL));
	if (counts[0] != H2D_COUNT_OMITTED) {
		TRY(h2d_buffer_acquire_write(scene->buffers[0], scene->stream, "corrected"));
		memset(h2d_buffer_host(scene->buffers[0]), fill + 100, member_bytes[0]);
		TRY(h2d_buffer_publish(scene->buffers[0], scene->stream, counts[0], "corrected"));
	}
	return h2d_owner_finish(scene->owner, scene->stream);
}

/* An empty graph: what counts is the calls that making, launching and destroying it take. */
static h2d_status_t record(struct scene *scene)
{
	TRY(h2d_graph_begin_capture(scene->stream));
	return h2d_graph_end_capture(scene->stream, &scene->graph);
}

static h2d_status_t check_bytes(struct scene *scene, int member, int fill)
{
	uint8_t *bytes = malloc(member_bytes[member]);
	h2d_status_t status = h2d_device_read(scene->device, bytes,
					      h2d_buffer_device(scene->buffers[member]),
					      member_bytes[member], TIMEOUT_NS);

	if (status == H2D_STATUS_SUCCESS) {
		for (uint64_t i = 0; i < member_bytes[member]; i++)
			ck_assert_msg(bytes[i] == fill, "member %d byte %llu is %d, expected %d", member,
				      (unsigned long long)i, bytes[i], fill);
	}
	free(bytes);
	return status;
}

static h2d_status_t run(struct scene *scene, h2d_backend_t backend)
{
	const int64_t all[MEMBERS] = {200, 3000, 100000};
	const int64_t last[MEMBERS] = {H2D_COUNT_OMITTED, 0, 100000};

	TRY(set_up(scene, backend));
	TRY(record(scene));
	TRY(publish(scene, 11, all));
	TRY(h2d_graph_launch(scene->graph, scene->stream));
	TRY(publish(scene, 21, last));
	TRY(h2d_stream_synchronize(scene->stream));
	TRY(check_bytes(scene, 0, 111));
	TRY(check_bytes(scene, 1, 12));
	return check_bytes(scene, 2, 23);
}

static void expect_success(h2d_status_t status, const char *what)
{
	ck_assert_msg(status == H2D_STATUS_SUCCESS, "%s: %s: %s", what, h2d_status_string(status),
		      h2d_error_message());
}

/* What must always be possible, after whatever failure. */
static void take_down(struct scene *scene)
{
	if (scene->owner && h2d_owner_state(scene->owner) == H2D_OWNER_ACTIVE)
		expect_success(h2d_owner_fail(scene->owner), "fail");
	if (scene->owner && h2d_owner_state(scene->owner) == H2D_OWNER_FAILED)
		expect_success(h2d_owner_drain(scene->owner), "drain");
	expect_success(h2d_graph_destroy(scene->graph), "graph");
	expect_success(h2d_owner_destroy(scene->owner), "owner");
	expect_success(h2d_registry_destroy(scene->registry), "registry");
	expect_success(h2d_stream_destroy(scene->stream), "stream");
	expect_success(h2d_device_close(scene->device), "device");
}

static const char *const kind_names[HSA_FAULTS_KINDS] = {"signals", "queues", "memory", "executables",
							 "code object readers"};

static bool takes_down(const char *function)
{
	return strstr(function, "destroy") || strstr(function, "_free");
}

/*
 * Failures that the library may live with: an application may own the system event handler, and
 * whatever cannot be taken down is not worth an error that nobody can act on.
 */
static bool may_succeed(const char *function)
{
	return takes_down(function) || !strcmp(function, "hsa_amd_register_system_event_handler");
}

static uint64_t fail_each_call(const char *function, h2d_backend_t backend)
{
	uint64_t nth;

	for (nth = 1;; nth++) {
		struct scene scene = {0};
		h2d_status_t status;
		bool fired;

		faults->forget();
		ck_assert(faults->arm(function, nth, HSA_STATUS_ERROR_OUT_OF_RESOURCES));
		status = run(&scene, backend);
		if (status != H2D_STATUS_SUCCESS)
			ck_assert_msg(strlen(h2d_error_message()) > 10, "%s call %llu: no message",
				      function, (unsigned long long)nth);
		take_down(&scene);
		fired = faults->fired();
		faults->disarm();
		ck_assert_msg(fired || status == H2D_STATUS_SUCCESS, "%s: failed without a fault: %s",
			      function, h2d_error_message());
		if (fired && !may_succeed(function))
			ck_assert_msg(status != H2D_STATUS_SUCCESS, "%s call %llu: its failure was lost",
				      function, (unsigned long long)nth);
		for (int kind = 0; kind < HSA_FAULTS_KINDS; kind++) {
			int64_t left = faults->outstanding((enum hsa_faults_kind)kind);

			ck_assert_msg(left == 0 || (fired && takes_down(function) && left == 1),
				      "%s call %llu: %lld %s left", function, (unsigned long long)nth,
				      (long long)left, kind_names[kind]);
		}
		if (!fired)
			return nth - 1;
	}
}

static void load_faults(void)
{
	void *library;

	ck_assert_int_eq(hsa_init(), HSA_STATUS_SUCCESS);
	library = dlopen(getenv("HSA_TOOLS_LIB"), RTLD_NOW | RTLD_NOLOAD);
	ck_assert_msg(library != NULL, "%s", dlerror());
	*(void **)&faults = dlsym(library, "hsa_faults_interface");
	ck_assert_ptr_nonnull(faults);
	faults = ((const struct hsa_faults *(*)(void))(uintptr_t)faults)();
}

/* Objects that the runtime was kept from destroying, which a leak checker would find at exit. */
static bool leaks_on_purpose;

static void unload_faults(void)
{
	ck_assert_int_eq(hsa_shut_down(), HSA_STATUS_SUCCESS);
	if (leaks_on_purpose)
		_exit(EXIT_SUCCESS);
}

#define FUNCTIONS 28

START_TEST(each_failing_call_ends_in_an_error_and_leaves_nothing)
{
	h2d_backend_t backend = (h2d_backend_t)(_i % 3);
	const char *function = faults->function((unsigned int)_i / 3);
	uint64_t calls;

	ck_assert_ptr_nonnull(function);
	leaks_on_purpose = takes_down(function);
	calls = fail_each_call(function, backend);
	/* The rest is used under every backend: without DMA still copies to read back. */
	if (strcmp(function, "hsa_signal_create") && strcmp(function, "hsa_amd_memory_fill"))
		ck_assert_msg(calls > 0, "%s is never called", function);
}
END_TEST

START_TEST(every_function_is_covered)
{
	ck_assert_ptr_nonnull(faults->function(FUNCTIONS - 1));
	ck_assert_ptr_null(faults->function(FUNCTIONS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("faults");
	TCase *cases = tcase_create("faults");
	const char *build = getenv("H2D_BUILD_DIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/faults/.libs/libhsa_faults.so", build ? build : ".");
	setenv("HSA_TOOLS_LIB", path, 1);
	tcase_add_checked_fixture(cases, load_faults, unload_faults);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, every_function_is_covered);
	tcase_add_loop_test(cases, each_failing_call_ends_in_an_error_and_leaves_nothing, 0,
			    3 * FUNCTIONS);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
