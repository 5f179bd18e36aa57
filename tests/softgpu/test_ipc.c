/* SPDX-License-Identifier: MIT */
/* Memory and signals shared by two processes. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hsa_harness harness;

struct message {
	hsa_amd_ipc_memory_t memory;
	hsa_amd_ipc_signal_t signal;
	size_t size;
};

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
		 size_t count)
{
	const hsa_signal_t done = packets_signal(1, true);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, count, 0, NULL, done));
	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}

static void fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 13 + seed + (i >> 8));
}

/* Checks what the parent wrote, answers with other bytes, and signals. */
static int run_child(int descriptor)
{
	struct message message;
	uint8_t *seen, *expected;
	hsa_signal_t signal;
	void *device;

	if (read(descriptor, &message, sizeof(message)) != sizeof(message))
		return 10;
	hsa_harness_start(&harness);
	seen = hsa_harness_allocate(&harness, message.size);
	expected = malloc(message.size);
	HSA_CHECK(
		hsa_amd_ipc_memory_attach(&message.memory, message.size, 1, &harness.gpu, &device));
	HSA_CHECK(hsa_amd_ipc_signal_attach(&message.signal, &signal));
	copy(seen, harness.cpu, device, harness.gpu, message.size);
	fill(expected, message.size, 1);
	if (memcmp(seen, expected, message.size) != 0)
		return 11;
	fill(seen, message.size, 2);
	copy(device, harness.gpu, seen, harness.cpu, message.size);
	hsa_signal_subtract_screlease(signal, 1);
	HSA_CHECK(hsa_signal_destroy(signal));
	HSA_CHECK(hsa_amd_ipc_memory_detach(device));
	HSA_CHECK(hsa_amd_memory_pool_free(seen));
	hsa_harness_stop(&harness);
	free(expected);
	return 42;
}

static void run_parent(int descriptor, size_t size)
{
	struct message message = {.size = size};
	uint8_t *host, *device, *expected = malloc(size);
	hsa_signal_t signal;

	hsa_harness_start(&harness);
	host = hsa_harness_allocate(&harness, size);
	device = hsa_harness_allocate_device(&harness, size);
	fill(host, size, 1);
	copy(device, harness.gpu, host, harness.cpu, size);
	HSA_CHECK(hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_IPC, &signal));
	HSA_CHECK(hsa_amd_ipc_signal_create(signal, &message.signal));
	HSA_CHECK(hsa_amd_ipc_memory_create(device, size, &message.memory));
	ck_assert_int_eq(write(descriptor, &message, sizeof(message)), sizeof(message));
	packets_wait(signal, 0);
	copy(host, harness.cpu, device, harness.gpu, size);
	fill(expected, size, 2);
	ck_assert_mem_eq(host, expected, size);
	HSA_CHECK(hsa_signal_destroy(signal));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	hsa_harness_stop(&harness);
	free(expected);
}

/* A piece of one of the runtime's 2 MiB blocks, and an allocation of its own. */
static const size_t sizes[] = {12288, 5 << 20};

START_TEST(two_processes_share_video_memory)
{
	int descriptors[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(descriptors), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(run_child(descriptors[0]));
	run_parent(descriptors[1], sizes[_i]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 42);
}
END_TEST

START_TEST(a_handle_of_nothing_is_refused)
{
	hsa_amd_ipc_memory_t handle;
	void *device, *host, *attached = NULL;

	hsa_harness_start(&harness);
	device = hsa_harness_allocate_device(&harness, 4 << 20);
	HSA_CHECK(hsa_amd_ipc_memory_create(device, 4 << 20, &handle));
	handle.handle[1] = 0x7fffffff; /* no such process */
	ck_assert_int_ne(hsa_amd_ipc_memory_attach(&handle, 4 << 20, 1, &harness.gpu, &attached),
			 HSA_STATUS_SUCCESS);
	memset(&handle, 0, sizeof(handle));
	ck_assert_int_ne(hsa_amd_ipc_memory_attach(&handle, 4 << 20, 1, &harness.gpu, &attached),
			 HSA_STATUS_SUCCESS);
	/* Ordinary host memory cannot be shared. */
	host = hsa_harness_allocate(&harness, 4096);
	ck_assert_int_ne(hsa_amd_ipc_memory_create(host, 4096, &handle), HSA_STATUS_SUCCESS);
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	hsa_harness_stop(&harness);
}
END_TEST

/* What another process may still see is not handed out again. */
START_TEST(shared_memory_is_not_used_again)
{
	hsa_amd_ipc_memory_t handle;
	uint8_t *device, *host, *attached = NULL;

	hsa_harness_start(&harness);
	host = hsa_harness_allocate(&harness, 4096);
	device = hsa_harness_allocate_device(&harness, 4 << 20);
	HSA_CHECK(hsa_amd_ipc_memory_create(device, 4 << 20, &handle));
	HSA_CHECK(hsa_amd_ipc_memory_attach(&handle, 4 << 20, 1, &harness.gpu, (void **)&attached));
	ck_assert_ptr_ne(attached, device);
	fill(host, 4096, 3);
	copy(attached, harness.gpu, host, harness.cpu, 4096);
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	device = hsa_harness_allocate_device(&harness, 4 << 20);
	memset(host, 0, 4096);
	copy(device, harness.gpu, host, harness.cpu, 4096);
	copy(host, harness.cpu, attached, harness.gpu, 4096);
	for (unsigned int i = 0; i < 4096; i += 97)
		ck_assert_uint_eq(host[i], (uint8_t)(i * 13 + 3 + (i >> 8)));
	HSA_CHECK(hsa_amd_ipc_memory_detach(attached));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	hsa_harness_stop(&harness);
}
END_TEST

static Suite *ipc_suite(void)
{
	Suite *suite = suite_create("ipc");
	TCase *sharing = tcase_create("sharing");

	tcase_set_timeout(sharing, 30);
	tcase_add_loop_test(sharing, two_processes_share_video_memory, 0, 2);
	tcase_add_test(sharing, a_handle_of_nothing_is_refused);
	tcase_add_test(sharing, shared_memory_is_not_used_again);
	suite_add_tcase(suite, sharing);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(ipc_suite());
}
