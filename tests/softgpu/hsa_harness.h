/* SPDX-License-Identifier: MIT */
/*
 * The smallest HSA program that loads a code object and runs kernels of it, for tests of the
 * software GPU. It shares no code with the library, so that neither hides errors of the other.
 * Every failure fails the running test.
 */
#ifndef HSA_HARNESS_H
#define HSA_HARNESS_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hsa_harness {
	hsa_agent_t cpu;
	hsa_agent_t gpu;
	hsa_amd_memory_pool_t system_pool; /* fine-grained host memory */
	hsa_amd_memory_pool_t kernarg_pool;
	hsa_amd_memory_pool_t device_pool; /* VRAM, not for the host's eyes */
	hsa_queue_t *queue;
	hsa_signal_t completion;
	void *kernarg;
	_Atomic int queue_error; /* what the queue's error callback was given; 0: nothing */
};

struct hsa_harness_kernel {
	uint64_t object;
	uint32_t group_segment_size;
	uint32_t private_segment_size;
	uint32_t kernarg_segment_size;
};

struct hsa_harness_dispatch {
	struct hsa_harness_kernel kernel;
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint32_t dynamic_group_bytes;
	/* Which hidden arguments follow the explicit ones: 4 or 5. */
	unsigned code_object_version;
	const void *arguments;
	size_t arguments_size;
};

#define HSA_HARNESS_KERNARG_SIZE 4096

void hsa_check_status(hsa_status_t status, const char *call, const char *file, int line);
#define HSA_CHECK(call) hsa_check_status((call), #call, __FILE__, __LINE__)

/*
 * These tests are of the software GPU: with RUN_H2D_GPU_TESTS=1 this says so to the TAP reader and
 * returns true.
 */
bool hsa_harness_skip_on_hardware(void);

/* hsa_init, the first GPU, its pools, a queue of 256 packets. */
void hsa_harness_start(struct hsa_harness *harness);
void hsa_harness_stop(struct hsa_harness *harness);

hsa_executable_t hsa_harness_load(struct hsa_harness *harness, const char *path);
struct hsa_harness_kernel hsa_harness_find(struct hsa_harness *harness, hsa_executable_t executable,
					   const char *name);

/* Host memory that the GPU sees too. */
void *hsa_harness_allocate(struct hsa_harness *harness, size_t size);
/* VRAM. */
void *hsa_harness_allocate_device(struct hsa_harness *harness, size_t size);

/* Writes the packet and rings the doorbell; the harness's completion signal becomes 1 before. */
void hsa_harness_submit(struct hsa_harness *harness, const struct hsa_harness_dispatch *dispatch);
/* Waits for the completion signal; the test fails on a queue error or after the timeout. */
void hsa_harness_wait(struct hsa_harness *harness, unsigned seconds);
/* Waits for the queue's error callback and returns its status; 0 after the timeout. */
int hsa_harness_wait_error(struct hsa_harness *harness, unsigned seconds);

#endif
