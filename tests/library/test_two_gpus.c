/* SPDX-License-Identifier: MIT */
/* Two GPUs at once: neither takes the other's memory, streams, graphs or failures for its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <h2dpub/graph.h>

#include "fixture.h"
#include "hsa/device.h"
#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"

static h2d_device_t *devices[2];
static h2d_stream_t *streams[2];

/* The software GPU is there as often as it is asked to be; a machine with one real GPU has no more.
 */
static bool two_gpus(void)
{
	return devices[1] != NULL;
}

static void open_both(void)
{
	uint32_t count;

	setenv("SOFTGPU_GPUS", "2", 1);
	check_success(h2d_device_count(&count));
	for (uint32_t i = 0; i < 2 && i < count; i++) {
		check_success(h2d_device_open(i, &devices[i]));
		check_success(h2d_stream_create(devices[i], NULL, &streams[i]));
	}
	if (count < 2)
		fprintf(stderr, "# one GPU only: nothing is tested\n");
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++) {
		check_success(h2d_stream_destroy(streams[i]));
		check_success(h2d_device_close(devices[i]));
	}
}

START_TEST(each_is_itself)
{
	h2d_device_info_t info[2];

	if (!two_gpus())
		return;
	for (uint32_t i = 0; i < 2; i++) {
		check_success(h2d_device_get_info(devices[i], &info[i]));
		ck_assert_uint_eq(info[i].index, i);
	}
	ck_assert_uint_ne(info[0].agent.handle, info[1].agent.handle);
}
END_TEST

/* Each pulls from its own pinned memory to its own device memory with its own copy of the kernel.
 */
START_TEST(both_copy_at_the_same_time)
{
	enum { BYTES = 300007 };
	uint64_t random = fixture_seed();
	uint8_t *host[2];
	uint8_t *device[2];
	struct h2d_pull_arguments *arguments[2];

	if (!two_gpus())
		return;
	uint8_t *actual = malloc(BYTES);
	for (int i = 0; i < 2; i++) {
		h2d_kernel_t kernel;
		h2d_packet_t packet;

		check_success(h2d_device_get_kernel(devices[i], "h2d_pull", &kernel));
		check_success(h2d_device_allocate_host(devices[i], BYTES, (void **)&host[i]));
		check_success(h2d_device_allocate(devices[i], BYTES, (void **)&device[i]));
		check_success(h2d_device_allocate_kernel_arguments(
		    devices[i], sizeof(*arguments[i]) + sizeof(arguments[i]->member[0]),
		    (void **)&arguments[i]));
		fixture_random_bytes(&random, host[i], BYTES);
		arguments[i]->members = 1;
		arguments[i]->member[0] =
		    (struct h2d_pull_member){(uintptr_t)host[i], (uintptr_t)device[i], BYTES};
		h2d_packet_dispatch(&packet, &kernel, (uint32_t)h2d_chunk_count(BYTES),
				    H2D_CHUNK_WORKGROUP_SIZE, arguments[i], H2D_FENCE_SYSTEM,
				    H2D_FENCE_SYSTEM);
		check_success(h2d_stream_submit(streams[i], &packet, 1));
	}
	for (int i = 0; i < 2; i++) {
		check_success(h2d_stream_synchronize(streams[i]));
		check_success(
		    h2d_device_read(devices[i], actual, device[i], BYTES, H2D_DEFAULT_TIMEOUT_NS));
		fixture_check_bytes("pulled", actual, host[i], BYTES);
		check_success(h2d_device_free(devices[i], host[i]));
		check_success(h2d_device_free(devices[i], device[i]));
		check_success(h2d_device_free(devices[i], arguments[i]));
	}
	free(actual);
}
END_TEST

START_TEST(memory_of_the_other_gpu_is_refused)
{
	void *host;
	void *device;

	if (!two_gpus())
		return;
	check_success(h2d_device_allocate(devices[1], 4096, &device));
	check_success(h2d_device_allocate_host(devices[1], 4096, &host));
	check_success(h2d_device_check_device_memory(devices[1], "slots", device, 4096));
	check_success(h2d_device_check_host_memory(devices[1], "slots", host, 4096));
	check_status(h2d_device_check_device_memory(devices[0], "slots", device, 4096),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("slots");
	check_status(h2d_device_check_host_memory(devices[0], "slots", host, 4096),
		     H2D_STATUS_INVALID_ARGUMENT);
	check_message("not mapped to GPU 0");
	check_status(h2d_device_free(devices[0], device), H2D_STATUS_INVALID_ARGUMENT);
	check_success(h2d_device_free(devices[1], device));
	check_success(h2d_device_free(devices[1], host));
}
END_TEST

START_TEST(graph_of_the_other_gpu_is_refused)
{
	h2d_graph_t *graph;

	if (!two_gpus())
		return;
	check_success(h2d_graph_begin_capture(streams[0]));
	check_success(h2d_graph_end_capture(streams[0], &graph));
	check_status(h2d_graph_launch(graph, streams[1]), H2D_STATUS_WRONG_DEVICE);
	check_success(h2d_graph_destroy(graph));
}
END_TEST

START_TEST(fault_of_the_other_gpu_ends_nothing_here)
{
	h2d_device_info_t info;

	if (!two_gpus())
		return;
	check_success(h2d_device_get_info(devices[1], &info));
	h2d_device_notify_memory_fault(info.agent, 0x5000);
	check_status(h2d_stream_synchronize(streams[1]), H2D_STATUS_MEMORY_FAULT);
	check_message("GPU 1");
	check_success(h2d_stream_synchronize(streams[0]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("two_gpus");
	TCase *cases = tcase_create("two_gpus");

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, open_both, close_both);
	tcase_add_test(cases, each_is_itself);
	tcase_add_test(cases, both_copy_at_the_same_time);
	tcase_add_test(cases, memory_of_the_other_gpu_is_refused);
	tcase_add_test(cases, graph_of_the_other_gpu_is_refused);
	tcase_add_test(cases, fault_of_the_other_gpu_ends_nothing_here);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
