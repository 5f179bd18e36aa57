/* SPDX-License-Identifier: MIT */
/* Memory: limits, protection, pointer information, registration, several GPUs, repeated use. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hsa_harness harness;

static void start(void)
{
	hsa_harness_start(&harness);
}

static void start_with_little_memory(void)
{
	setenv("SOFTGPU_VRAM", "64M", 1);
	hsa_harness_start(&harness);
}

static void start_with_three_gpus(void)
{
	setenv("SOFTGPU_GPUS", "3", 1);
	hsa_harness_start(&harness);
}

static void stop(void)
{
	hsa_harness_stop(&harness);
}

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
		 size_t count)
{
	const hsa_signal_t done = packets_signal(1, true);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, count, 0, NULL, done));
	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}

START_TEST(video_memory_is_limited)
{
	void *pieces[16], *one_more = NULL;
	size_t size;

	HSA_CHECK(hsa_amd_memory_pool_get_info(harness.device_pool, HSA_AMD_MEMORY_POOL_INFO_SIZE,
					       &size));
	ck_assert_uint_eq(size, 64 << 20);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 16; i++)
			pieces[i] = hsa_harness_allocate_device(&harness, 4 << 20);
		ck_assert_int_eq(
			hsa_amd_memory_pool_allocate(harness.device_pool, 4096, 0, &one_more),
			HSA_STATUS_ERROR_OUT_OF_RESOURCES);
		/* A hole in the middle is enough for what fits into it, and no more. */
		HSA_CHECK(hsa_amd_memory_pool_free(pieces[7]));
		ck_assert_int_eq(
			hsa_amd_memory_pool_allocate(harness.device_pool, 6 << 20, 0, &one_more),
			HSA_STATUS_ERROR_OUT_OF_RESOURCES);
		pieces[7] = hsa_harness_allocate_device(&harness, 4 << 20);
		for (unsigned int i = 0; i < 16; i++)
			HSA_CHECK(hsa_amd_memory_pool_free(pieces[i]));
	}
}
END_TEST

START_TEST(the_host_cannot_read_video_memory)
{
	const volatile uint8_t *device = hsa_harness_allocate_device(&harness, 4096);

	signal(SIGSEGV, SIG_DFL);   /* sanitizers handle it */
	exit(*device == 0 ? 0 : 1); /* not reached */
}
END_TEST

START_TEST(the_host_cannot_write_video_memory)
{
	volatile uint8_t *device = hsa_harness_allocate_device(&harness, 8 << 20);

	signal(SIGSEGV, SIG_DFL); /* sanitizers handle it */
	device[5 << 20] = 1;
	exit(0); /* not reached */
}
END_TEST

static hsa_amd_pointer_info_t information(const void *pointer)
{
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	HSA_CHECK(hsa_amd_pointer_info((void *)(uintptr_t)pointer, &info, NULL, NULL, NULL));
	return info;
}

START_TEST(pointers_are_known)
{
	uint8_t *device = hsa_harness_allocate_device(&harness, 4 << 20);
	uint8_t *host = hsa_harness_allocate(&harness, 8192);
	uint8_t local[64], *locked;
	hsa_amd_pointer_info_t info;

	info = information(device + 12345);
	ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_HSA);
	ck_assert_ptr_eq(info.agentBaseAddress, device);
	ck_assert_uint_eq(info.sizeInBytes, 4 << 20);
	ck_assert_uint_eq(info.agentOwner.handle, harness.gpu.handle);
	ck_assert_uint_eq(info.global_flags, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);

	info = information(host + 8191);
	ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_HSA);
	ck_assert_ptr_eq(info.hostBaseAddress, host);
	ck_assert_uint_eq(info.sizeInBytes, 8192);
	ck_assert_uint_eq(info.agentOwner.handle, harness.cpu.handle);
	ck_assert_uint_eq(info.global_flags, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
	ck_assert_int_eq(information(host + 8192).type == HSA_EXT_POINTER_TYPE_HSA &&
				 information(host + 8192).agentBaseAddress == host,
			 0);

	ck_assert_int_eq(information(local).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
	HSA_CHECK(hsa_amd_memory_lock(local, sizeof(local), &harness.gpu, 1, (void **)&locked));
	info = information(local + 5);
	ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
	ck_assert_ptr_eq(info.hostBaseAddress, local);
	ck_assert_ptr_eq(info.agentBaseAddress, locked);
	ck_assert_uint_eq(info.sizeInBytes, sizeof(local));
	HSA_CHECK(hsa_amd_memory_unlock(local));
	ck_assert_int_eq(information(local).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	ck_assert_int_eq(information(host).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}
END_TEST

START_TEST(program_memory_can_be_locked)
{
	enum { BYTES = 10000 };
	uint8_t *memory = malloc(BYTES + 64), *mine = memory + 13, *locked, *again;
	uint8_t *source = hsa_harness_allocate(&harness, BYTES);

	memset(memory, 0x11, BYTES + 64);
	for (unsigned int i = 0; i < BYTES; i++)
		source[i] = (uint8_t)(i * 7);
	HSA_CHECK(hsa_amd_memory_lock(mine, BYTES, &harness.gpu, 1, (void **)&locked));
	/* A second lock of the same memory counts. */
	HSA_CHECK(hsa_amd_memory_lock(mine, BYTES, &harness.gpu, 1, (void **)&again));
	ck_assert_ptr_eq(locked, again);
	HSA_CHECK(hsa_amd_memory_unlock(mine));
	copy(locked, harness.gpu, source, harness.cpu, BYTES);
	ck_assert_mem_eq(mine, source, BYTES);
	for (unsigned int i = 0; i < 13; i++)
		ck_assert_uint_eq(memory[i], 0x11);
	for (unsigned int i = BYTES + 13; i < BYTES + 64; i++)
		ck_assert_uint_eq(memory[i], 0x11);
	HSA_CHECK(hsa_amd_memory_unlock(mine));
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	free(memory);
}
END_TEST

/* The GPU maps whole pages, and these buffers share some. */
START_TEST(locked_buffers_may_share_pages)
{
	enum { BUFFERS = 50, BYTES = 1000 };
	uint8_t *memory = malloc(BUFFERS * BYTES), *expected = malloc(BUFFERS * BYTES);
	uint8_t *source = hsa_harness_allocate(&harness, BYTES);
	void *locked[BUFFERS];

	memset(memory, 0, BUFFERS * BYTES);
	memset(expected, 0, BUFFERS * BYTES);
	memset(source, 0x77, BYTES);
	for (unsigned int i = 0; i < BUFFERS; i++)
		HSA_CHECK(hsa_amd_memory_lock(memory + i * BYTES, BYTES, &harness.gpu, 1,
					      &locked[i]));
	/* Every other one first: those that stay locked must still be reachable. */
	for (unsigned int i = 0; i < BUFFERS; i += 2)
		HSA_CHECK(hsa_amd_memory_unlock(memory + i * BYTES));
	for (unsigned int i = 1; i < BUFFERS; i += 2) {
		copy(locked[i], harness.gpu, source, harness.cpu, BYTES);
		memset(expected + i * BYTES, 0x77, BYTES);
		HSA_CHECK(hsa_amd_memory_unlock(memory + i * BYTES));
	}
	ck_assert_mem_eq(memory, expected, BUFFERS * BYTES);
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	free(expected);
	free(memory);
}
END_TEST

START_TEST(missing_memory_cannot_be_locked)
{
	void *locked = NULL;
	uint8_t *pages =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(munmap(pages + 4096, 4096), 0);
	ck_assert_int_ne(hsa_amd_memory_lock(pages + 4000, 200, &harness.gpu, 1, &locked),
			 HSA_STATUS_SUCCESS);
	HSA_CHECK(hsa_amd_memory_lock(pages + 4000, 96, &harness.gpu, 1, &locked));
	HSA_CHECK(hsa_amd_memory_unlock(pages + 4000));
}
END_TEST

struct gpus {
	unsigned int count;
	hsa_agent_t agent[8];
	hsa_amd_memory_pool_t pool[8];
};

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *data)
{
	hsa_amd_segment_t segment;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment == HSA_AMD_SEGMENT_GLOBAL)
		*(hsa_amd_memory_pool_t *)data = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_gpu(hsa_agent_t agent, void *data)
{
	struct gpus *gpus = data;
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU) {
		gpus->agent[gpus->count] = agent;
		HSA_CHECK(hsa_amd_agent_iterate_memory_pools(agent, find_pool,
							     &gpus->pool[gpus->count++]));
	}
	return HSA_STATUS_SUCCESS;
}

START_TEST(several_gpus_pass_data_on)
{
	enum { BYTES = 3 << 20 };
	uint8_t *source = hsa_harness_allocate(&harness, BYTES);
	uint8_t *target = hsa_harness_allocate(&harness, BYTES);
	struct gpus gpus = {.count = 0};
	void *device[3];

	HSA_CHECK(hsa_iterate_agents(find_gpu, &gpus));
	ck_assert_uint_eq(gpus.count, 3);
	HSA_CHECK(hsa_amd_agents_allow_access(3, gpus.agent, NULL, source));
	HSA_CHECK(hsa_amd_agents_allow_access(3, gpus.agent, NULL, target));
	for (unsigned int i = 0; i < 3; i++) {
		HSA_CHECK(hsa_amd_memory_pool_allocate(gpus.pool[i], BYTES, 0, &device[i]));
		HSA_CHECK(hsa_amd_agents_allow_access(3, gpus.agent, NULL, device[i]));
	}
	for (unsigned int i = 0; i < BYTES; i++)
		source[i] = (uint8_t)(i * 11 >> 3);
	memset(target, 0, BYTES);
	copy(device[0], gpus.agent[0], source, harness.cpu, BYTES);
	copy(device[1], gpus.agent[1], device[0], gpus.agent[0], BYTES);
	copy(device[2], gpus.agent[2], device[1], gpus.agent[1], BYTES);
	copy(target, harness.cpu, device[2], gpus.agent[2], BYTES);
	ck_assert_mem_eq(source, target, BYTES);
	for (unsigned int i = 0; i < 3; i++) {
		hsa_queue_t *queue = packets_queue(gpus.agent[i], 64);
		const hsa_signal_t done = packets_signal(1, true);
		const hsa_barrier_and_packet_t packet = packets_barrier(
			HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done);

		packets_submit(queue, &packet);
		packets_wait(done, 0);
		HSA_CHECK(hsa_queue_destroy(queue));
		HSA_CHECK(hsa_signal_destroy(done));
		HSA_CHECK(hsa_amd_memory_pool_free(device[i]));
	}
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	HSA_CHECK(hsa_amd_memory_pool_free(target));
}
END_TEST

static unsigned int count_entries(const char *folder)
{
	DIR *directory = opendir(folder);
	unsigned int count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* A session that uses queues, copies and events. */
static void use_once(void)
{
	uint8_t *memory;
	hsa_signal_t done;
	hsa_barrier_and_packet_t packet;

	hsa_harness_start(&harness);
	memory = hsa_harness_allocate(&harness, 8192);
	done = packets_signal(1, true);
	packet = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done);
	packets_submit(harness.queue, &packet);
	packets_wait(done, 0);
	copy(memory, harness.gpu, memory + 4096, harness.cpu, 4096);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
	hsa_harness_stop(&harness);
}

START_TEST(nothing_stays_behind)
{
	unsigned int threads, files;

	use_once();
	threads = count_entries("/proc/self/task");
	files = count_entries("/proc/self/fd");
	ck_assert_uint_eq(threads, 3); /* this one, "." and ".." */
	for (unsigned int i = 0; i < 20; i++)
		use_once();
	ck_assert_uint_eq(count_entries("/proc/self/task"), threads);
	ck_assert_uint_eq(count_entries("/proc/self/fd"), files);
}
END_TEST

START_TEST(child_processes_use_their_own_device)
{
	use_once();
	for (unsigned int i = 0; i < 3; i++) {
		const pid_t child = fork();
		int status;

		ck_assert_int_ge(child, 0);
		if (child == 0) {
			use_once();
			_exit(42);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), 42);
	}
	use_once();
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, void (*setup)(void))
{
	TCase *tests = tcase_create(name);

	if (setup)
		tcase_add_checked_fixture(tests, setup, stop);
	tcase_set_timeout(tests, 30);
	suite_add_tcase(suite, tests);
	return tests;
}

static Suite *memory_suite(void)
{
	Suite *suite = suite_create("memory");
	TCase *memory = add_case(suite, "memory", start);
	TCase *little = add_case(suite, "64 MiB of video memory", start_with_little_memory);
	TCase *several = add_case(suite, "three GPUs", start_with_three_gpus);
	TCase *repeated = add_case(suite, "repeated use", NULL);

	tcase_add_test(memory, pointers_are_known);
	tcase_add_test(memory, program_memory_can_be_locked);
	tcase_add_test(memory, locked_buffers_may_share_pages);
	tcase_add_test(memory, missing_memory_cannot_be_locked);
	tcase_add_test_raise_signal(memory, the_host_cannot_read_video_memory, SIGSEGV);
	tcase_add_test_raise_signal(memory, the_host_cannot_write_video_memory, SIGSEGV);
	tcase_add_test(little, video_memory_is_limited);
	tcase_add_test(several, several_gpus_pass_data_on);
	tcase_add_test(repeated, nothing_stays_behind);
	tcase_add_test(repeated, child_processes_use_their_own_device);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(memory_suite());
}
