/* SPDX-License-Identifier: MIT */
/* See hsa_harness.h. */
#include "hsa_harness.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_PACKETS 256

bool hsa_harness_skip_on_hardware(void)
{
	const char *hardware = getenv("RUN_H2D_GPU_TESTS");

	if (!hardware || strcmp(hardware, "1") != 0)
		return false;
	puts("1..0 # SKIP a test of the software GPU");
	return true;
}

void hsa_check_status(hsa_status_t status, const char *call, const char *file, int line)
{
	const char *text = NULL;

	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	hsa_status_string(status, &text);
	ck_abort_msg("%s:%d: %s: 0x%x %s", file, line, call, (unsigned)status, text ? text : "");
}

static hsa_status_t choose_agent(hsa_agent_t agent, void *data)
{
	struct hsa_harness *harness = data;
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && harness->cpu.handle == 0)
		harness->cpu = agent;
	if (type == HSA_DEVICE_TYPE_GPU && harness->gpu.handle == 0)
		harness->gpu = agent;
	return HSA_STATUS_SUCCESS;
}

/* 0: not a pool of global memory. */
static uint32_t flags_of_global(hsa_amd_memory_pool_t pool)
{
	hsa_amd_segment_t segment;
	uint32_t flags = 0;

	HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment == HSA_AMD_SEGMENT_GLOBAL)
		HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
						       &flags));
	return flags;
}

static hsa_status_t choose_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct hsa_harness *harness = data;
	uint32_t flags = flags_of_global(pool);

	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		harness->kernarg_pool = pool;
	else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
		harness->system_pool = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t choose_device_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct hsa_harness *harness = data;

	if (flags_of_global(pool) & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
		harness->device_pool = pool;
	return HSA_STATUS_SUCCESS;
}

static void note_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	struct hsa_harness *harness = data;

	(void)queue;
	atomic_store(&harness->queue_error, (int)status);
}

void hsa_harness_start(struct hsa_harness *harness)
{
	memset(harness, 0, sizeof(*harness));
	HSA_CHECK(hsa_init());
	HSA_CHECK(hsa_iterate_agents(choose_agent, harness));
	ck_assert_msg(harness->gpu.handle != 0, "the HSA runtime shows no GPU agent");
	HSA_CHECK(hsa_amd_agent_iterate_memory_pools(harness->cpu, choose_pool, harness));
	HSA_CHECK(hsa_amd_agent_iterate_memory_pools(harness->gpu, choose_device_pool, harness));
	ck_assert_msg(harness->system_pool.handle != 0, "no fine-grained system pool");
	ck_assert_msg(harness->kernarg_pool.handle != 0, "no kernarg pool");
	ck_assert_msg(harness->device_pool.handle != 0, "no device memory pool");
	HSA_CHECK(hsa_queue_create(harness->gpu, QUEUE_PACKETS, HSA_QUEUE_TYPE_MULTI,
				   note_queue_error, harness, UINT32_MAX, UINT32_MAX,
				   &harness->queue));
	HSA_CHECK(hsa_signal_create(1, 0, NULL, &harness->completion));
	HSA_CHECK(hsa_amd_memory_pool_allocate(harness->kernarg_pool, HSA_HARNESS_KERNARG_SIZE, 0,
					       &harness->kernarg));
	HSA_CHECK(hsa_amd_agents_allow_access(1, &harness->gpu, NULL, harness->kernarg));
}

void hsa_harness_stop(struct hsa_harness *harness)
{
	HSA_CHECK(hsa_amd_memory_pool_free(harness->kernarg));
	HSA_CHECK(hsa_signal_destroy(harness->completion));
	HSA_CHECK(hsa_queue_destroy(harness->queue));
	HSA_CHECK(hsa_shut_down());
}

hsa_executable_t hsa_harness_load(struct hsa_harness *harness, const char *path)
{
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	int file = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(file >= 0, "cannot open %s", path);
	HSA_CHECK(hsa_code_object_reader_create_from_file(file, &reader));
	HSA_CHECK(hsa_executable_create_alt(
	    HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
	HSA_CHECK(
	    hsa_executable_load_agent_code_object(executable, harness->gpu, reader, NULL, NULL));
	HSA_CHECK(hsa_executable_freeze(executable, NULL));
	HSA_CHECK(hsa_code_object_reader_destroy(reader));
	close(file);
	return executable;
}

struct hsa_harness_kernel hsa_harness_find(struct hsa_harness *harness, hsa_executable_t executable,
					   const char *name)
{
	struct hsa_harness_kernel kernel = {0};
	hsa_executable_symbol_t symbol;
	char descriptor[128];

	snprintf(descriptor, sizeof(descriptor), "%s.kd", name);
	HSA_CHECK(
	    hsa_executable_get_symbol_by_name(executable, descriptor, &harness->gpu, &symbol));
	HSA_CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
						 &kernel.object));
	HSA_CHECK(hsa_executable_symbol_get_info(
	    symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
	    &kernel.group_segment_size));
	HSA_CHECK(hsa_executable_symbol_get_info(
	    symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
	    &kernel.private_segment_size));
	HSA_CHECK(hsa_executable_symbol_get_info(
	    symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
	    &kernel.kernarg_segment_size));
	return kernel;
}

void *hsa_harness_allocate(struct hsa_harness *harness, size_t size)
{
	void *memory = NULL;

	HSA_CHECK(hsa_amd_memory_pool_allocate(harness->system_pool, size, 0, &memory));
	HSA_CHECK(hsa_amd_agents_allow_access(1, &harness->gpu, NULL, memory));
	return memory;
}

void *hsa_harness_allocate_device(struct hsa_harness *harness, size_t size)
{
	void *memory = NULL;

	HSA_CHECK(hsa_amd_memory_pool_allocate(harness->device_pool, size, 0, &memory));
	return memory;
}

/* The explicit arguments, then the hidden ones where that code object version has them. */
static void write_arguments(struct hsa_harness *harness,
			    const struct hsa_harness_dispatch *dispatch)
{
	unsigned char *kernarg = harness->kernarg;
	size_t hidden = (dispatch->arguments_size + 7) & ~(size_t)7;

	ck_assert_uint_le(hidden + 256, HSA_HARNESS_KERNARG_SIZE);
	ck_assert_uint_le(dispatch->kernel.kernarg_segment_size, HSA_HARNESS_KERNARG_SIZE);
	memset(kernarg, 0, HSA_HARNESS_KERNARG_SIZE);
	memcpy(kernarg, dispatch->arguments, dispatch->arguments_size);
	if (dispatch->code_object_version < 5)
		return;
	for (unsigned axis = 0; axis < 3; axis++) {
		uint32_t count = dispatch->grid[axis] / dispatch->workgroup[axis];
		uint16_t size = dispatch->workgroup[axis];
		uint16_t remainder = (uint16_t)(dispatch->grid[axis] % dispatch->workgroup[axis]);

		memcpy(kernarg + hidden + axis * 4, &count, sizeof(count));
		memcpy(kernarg + hidden + 12 + axis * 2, &size, sizeof(size));
		memcpy(kernarg + hidden + 18 + axis * 2, &remainder, sizeof(remainder));
	}
	kernarg[hidden + 64] = 3; /* grid dimensions */
}

void hsa_harness_submit(struct hsa_harness *harness, const struct hsa_harness_dispatch *dispatch)
{
	hsa_queue_t *queue = harness->queue;
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	hsa_kernel_dispatch_packet_t *packet =
	    (hsa_kernel_dispatch_packet_t *)queue->base_address + (index & (queue->size - 1));
	uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
			  1 << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	write_arguments(harness, dispatch);
	hsa_signal_store_relaxed(harness->completion, 1);
	packet->workgroup_size_x = dispatch->workgroup[0];
	packet->workgroup_size_y = dispatch->workgroup[1];
	packet->workgroup_size_z = dispatch->workgroup[2];
	packet->reserved0 = 0;
	packet->grid_size_x = dispatch->grid[0];
	packet->grid_size_y = dispatch->grid[1];
	packet->grid_size_z = dispatch->grid[2];
	packet->private_segment_size = dispatch->kernel.private_segment_size;
	packet->group_segment_size =
	    dispatch->kernel.group_segment_size + dispatch->dynamic_group_bytes;
	packet->kernel_object = dispatch->kernel.object;
	packet->kernarg_address = harness->kernarg;
	packet->reserved2 = 0;
	packet->completion_signal = harness->completion;
	/* Pairs with the packet processor's acquire load of the header. */
	__atomic_store_n((uint32_t *)packet,
			 header | 3u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS << 16,
			 __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void sleep_briefly(void)
{
	struct timespec millisecond = {.tv_nsec = 1000000};

	nanosleep(&millisecond, NULL);
}

/* Seconds are counted in waits of at most a quarter second: the error callback is looked at too. */
void hsa_harness_wait(struct hsa_harness *harness, unsigned seconds)
{
	uint64_t frequency = 0;

	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	for (unsigned turn = 0; turn < seconds * 4; turn++) {
		hsa_signal_value_t value =
		    hsa_signal_wait_scacquire(harness->completion, HSA_SIGNAL_CONDITION_LT, 1,
					      frequency / 4, HSA_WAIT_STATE_BLOCKED);
		if (value < 1)
			return;
		int error = atomic_load(&harness->queue_error);
		ck_assert_msg(error == 0, "the queue reported error 0x%x", (unsigned)error);
	}
	ck_abort_msg("no completion after %u seconds", seconds);
}

int hsa_harness_wait_error(struct hsa_harness *harness, unsigned seconds)
{
	for (unsigned turn = 0; turn < seconds * 1000; turn++) {
		int error = atomic_load(&harness->queue_error);

		if (error != 0)
			return error;
		sleep_briefly();
	}
	return 0;
}
