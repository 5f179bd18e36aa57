/* SPDX-License-Identifier: MIT */
/*
 * The fences of packets on the software GPU's cache model, by kernels under the real runtime: what
 * the host and DMA engines write, what kernels write, and what goes past the caches.
 */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 64

static struct hsa_harness harness;
static struct hsa_harness_kernel copy, write_ids, meet_grid;
static hsa_executable_t executable;
static hsa_signal_t done;
static uint32_t *host, *seen, *device; /* COUNT elements */
static uint8_t *kernarg;
static unsigned int kernarg_used;

static void start(const char *l2s)
{
	char path[4096];

	ck_assert_int_eq(setenv("SOFTGPU_L2S", l2s, 1), 0);
	unsetenv("SOFTGPU_DELAY");
	hsa_harness_start(&harness);
	snprintf(path, sizeof(path), "%s/tests/softgpu/queue_kernels.hsaco",
		 getenv("H2D_BUILD_DIR"));
	executable = hsa_harness_load(&harness, path);
	copy = hsa_harness_find(&harness, executable, "copy");
	write_ids = hsa_harness_find(&harness, executable, "write_ids");
	meet_grid = hsa_harness_find(&harness, executable, "meet_grid");
	done = packets_signal(0, true);
	host = hsa_harness_allocate(&harness, 4096);
	seen = hsa_harness_allocate(&harness, 4096);
	kernarg = hsa_harness_allocate(&harness, 1 << 20);
	device = hsa_harness_allocate_device(&harness, 4096);
	memset(host, 0, 4096);
	memset(seen, 0, 4096);
}

static void start_one_l2(void)
{
	start("1");
}

static void start_two_l2s(void)
{
	start("2");
}

static void stop(void)
{
	HSA_CHECK(hsa_executable_destroy(executable));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	HSA_CHECK(hsa_amd_memory_pool_free(seen));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	hsa_harness_stop(&harness);
}

static unsigned int header_bits(hsa_fence_scope_t acquire, hsa_fence_scope_t release)
{
	return 1U << HSA_PACKET_HEADER_BARRIER |
	       (unsigned int)acquire << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
	       (unsigned int)release << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
}

/* Runs a kernel of one workgroup with two pointers or a pointer and a number, and waits for it. */
static void run(const struct hsa_harness_kernel *kernel, const void *first, uint64_t second,
		hsa_fence_scope_t acquire, hsa_fence_scope_t release)
{
	/* Each dispatch has a page of its own: the model leaves a page of arguments uncached. */
	uint8_t *arguments = kernarg + 4096 * kernarg_used++;
	hsa_kernel_dispatch_packet_t packet;

	ck_assert_uint_lt(kernarg_used, 256);
	memcpy(arguments, &first, 8);
	memcpy(arguments + 8, &second, 8);
	hsa_signal_store_relaxed(done, 1);
	packet = packets_dispatch(kernel, header_bits(acquire, release), COUNT, COUNT, arguments,
				  done);
	packets_submit(harness.queue, &packet);
	packets_wait(done, 0);
}

/* A packet that does nothing but fence. */
static void fence(hsa_fence_scope_t acquire, hsa_fence_scope_t release)
{
	hsa_barrier_and_packet_t packet;

	hsa_signal_store_relaxed(done, 1);
	packet = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, header_bits(acquire, release), NULL,
				 0, done);
	packets_submit(harness.queue, &packet);
	packets_wait(done, 0);
}

static void dma(void *to, const void *from)
{
	hsa_signal_store_relaxed(done, 1);
	HSA_CHECK(hsa_amd_memory_async_copy(to, harness.gpu, from, harness.gpu, 4 * COUNT, 0, NULL,
					    done));
	packets_wait(done, 0);
}

/* What a kernel reads at `source`; it releases to the host, so that this can be told. */
static uint32_t kernel_sees(const uint32_t *source, hsa_fence_scope_t acquire)
{
	run(&copy, seen, (uintptr_t)source, acquire, HSA_FENCE_SCOPE_SYSTEM);
	return seen[5];
}

START_TEST(host_writes_need_a_system_acquire)
{
	host[5] = 1;
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_SYSTEM), 1);
	host[5] = 2;
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_NONE), 1);
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_AGENT), 1);
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_SYSTEM), 2);
	/* The acquire of a barrier packet serves the kernels behind it. */
	host[5] = 3;
	fence(HSA_FENCE_SCOPE_AGENT, HSA_FENCE_SCOPE_SYSTEM);
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_NONE), 2);
	fence(HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_NONE);
	ck_assert_uint_eq(kernel_sees(host, HSA_FENCE_SCOPE_NONE), 3);
}
END_TEST

START_TEST(dma_writes_need_a_system_acquire)
{
	host[5] = 1;
	dma(device, host);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 1);
	host[5] = 2;
	dma(device, host);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_NONE), 1);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_AGENT), 1);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 2);
}
END_TEST

START_TEST(kernel_writes_need_a_system_release)
{
	run(&write_ids, host, 100, HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_NONE);
	ck_assert_uint_eq(host[5], 0);
	fence(HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_AGENT);
	ck_assert_uint_eq(host[5], 0);
	fence(HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
	ck_assert_uint_eq(host[5], 105);
	run(&write_ids, host, 200, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
	ck_assert_uint_eq(host[5], 205);
}
END_TEST

START_TEST(dma_reads_need_a_system_release)
{
	run(&write_ids, device, 100, HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_AGENT);
	dma(seen, device);
	ck_assert_uint_eq(seen[5], 0);
	fence(HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
	dma(seen, device);
	ck_assert_uint_eq(seen[5], 105);
}
END_TEST

/* Why a publication by DMA must release what kernels wrote to its destinations before. */
START_TEST(unreleased_writes_overwrite_a_later_dma)
{
	host[5] = 7;
	run(&write_ids, device, 100, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	dma(device, host);
	fence(HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_SYSTEM);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 105);

	run(&write_ids, device, 100, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	fence(HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
	dma(device, host);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 7);
}
END_TEST

/* With two L2s, dispatches take turns: those of even distance share one. */
START_TEST(another_l2_needs_a_release_and_an_acquire)
{
	/* The reader's cache reads the old values, the writer's takes the new ones. */
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 0);
	run(&write_ids, device, 100, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_AGENT), 0);
	/* Has the last one's release published the write? It was of system scope, so it has. */
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_NONE), 105);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_NONE), 0);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_NONE), 105);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_AGENT), 105);
}
END_TEST

START_TEST(an_agent_release_is_enough_for_another_l2)
{
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_SYSTEM), 0);
	run(&write_ids, device, 100, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_AGENT);
	ck_assert_uint_eq(kernel_sees(device, HSA_FENCE_SCOPE_AGENT), 105);
}
END_TEST

/* Arguments are rewritten before every dispatch, which acquires nothing. */
START_TEST(kernel_arguments_are_never_stale)
{
	for (uint32_t i = 0; i < 20; i++) {
		kernarg_used = 0;
		run(&write_ids, host, i * 1000, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
		ck_assert_uint_eq(host[5], i * 1000 + 5);
	}
}
END_TEST

START_TEST(atomics_reach_memory_by_themselves)
{
	run(&meet_grid, host, 1, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	ck_assert_uint_eq(host[0], 1);
	host[0] = 10;
	run(&meet_grid, host, 11, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	ck_assert_uint_eq(host[0], 11);
}
END_TEST

/* Memory that is freed takes its unreleased writes with it. */
START_TEST(freed_memory_takes_its_writes_with_it)
{
	uint32_t *first = hsa_harness_allocate_device(&harness, 2 << 20), *second;

	run(&write_ids, first, 100, HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_NONE);
	HSA_CHECK(hsa_amd_memory_pool_free(first));
	second = hsa_harness_allocate_device(&harness, 2 << 20);
	host[5] = 7;
	dma(second, host);
	fence(HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM);
	ck_assert_uint_eq(kernel_sees(second, HSA_FENCE_SCOPE_NONE), 7);
	HSA_CHECK(hsa_amd_memory_pool_free(second));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fences");
	TCase *one = tcase_create("one L2"), *two = tcase_create("two L2s");

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	tcase_add_checked_fixture(one, start_one_l2, stop);
	tcase_add_test(one, host_writes_need_a_system_acquire);
	tcase_add_test(one, dma_writes_need_a_system_acquire);
	tcase_add_test(one, kernel_writes_need_a_system_release);
	tcase_add_test(one, dma_reads_need_a_system_release);
	tcase_add_test(one, unreleased_writes_overwrite_a_later_dma);
	tcase_add_test(one, kernel_arguments_are_never_stale);
	tcase_add_test(one, atomics_reach_memory_by_themselves);
	tcase_add_test(one, freed_memory_takes_its_writes_with_it);
	tcase_add_checked_fixture(two, start_two_l2s, stop);
	tcase_add_test(two, another_l2_needs_a_release_and_an_acquire);
	tcase_add_test(two, an_agent_release_is_enough_for_another_l2);
	suite_add_tcase(suite, one);
	suite_add_tcase(suite, two);
	return run_suite(suite);
}
