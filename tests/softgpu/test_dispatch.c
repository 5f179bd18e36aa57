/* SPDX-License-Identifier: MIT */
/* Dispatches: order and overlap, occupancy, compute unit masks, scratch memory, abort. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hsa_harness harness;
static hsa_executable_t executable;
static uint32_t *memory;    /* host memory for results */
static uint64_t *arguments; /* one 64-byte block a dispatch */

#define MEMORY_SIZE (4 << 20)
#define BLOCKS	    64

static void start(void)
{
	char path[4096];

	hsa_harness_start(&harness);
	snprintf(path, sizeof(path), "%s/tests/softgpu/queue_kernels.hsaco",
		 getenv("H2D_BUILD_DIR"));
	executable = hsa_harness_load(&harness, path);
	memory = hsa_harness_allocate(&harness, MEMORY_SIZE);
	arguments = hsa_harness_allocate(&harness, BLOCKS * 64);
	memset(memory, 0, MEMORY_SIZE);
	memset(arguments, 0, BLOCKS * 64);
}

static void stop(void)
{
	HSA_CHECK(hsa_executable_destroy(executable));
	HSA_CHECK(hsa_amd_memory_pool_free(arguments));
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
	hsa_harness_stop(&harness);
}

static uint64_t *argument_block(unsigned int block, uint64_t first, uint64_t second)
{
	uint64_t *words = arguments + (size_t)block * 8;

	words[0] = first;
	words[1] = second;
	return words;
}

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static void submit(hsa_queue_t *queue, const char *name, unsigned int header_bits,
		   uint32_t workgroups, uint64_t *words, hsa_signal_t done)
{
	const struct hsa_harness_kernel kernel = hsa_harness_find(&harness, executable, name);
	const hsa_kernel_dispatch_packet_t packet =
		packets_dispatch(&kernel, header_bits, workgroups * 64, 64, words, done);

	packets_submit(queue, &packet);
}

START_TEST(every_work_item_runs_once)
{
	enum { WORKGROUPS = 5000 };
	const hsa_signal_t done = packets_signal(1, true);
	unsigned int wrong = 0;

	submit(harness.queue, "write_ids", PACKETS_ORDERED, WORKGROUPS,
	       argument_block(0, address_of(memory), 7), done);
	packets_wait(done, 0);
	for (uint32_t i = 0; i < WORKGROUPS * 64; i++)
		wrong += memory[i] != i + 7;
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(memory[WORKGROUPS * 64], 0);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(ordered_dispatches_overwrite_in_order)
{
	enum { DISPATCHES = 300 };
	const hsa_signal_t done = packets_signal(DISPATCHES, true);
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < DISPATCHES; i++) {
		/* Argument blocks are used again once their dispatch has run. */
		while (i >= BLOCKS &&
		       hsa_signal_load_scacquire(done) > (int)(DISPATCHES - i + BLOCKS - 1))
			;
		submit(harness.queue, "write_ids", PACKETS_ORDERED, 4,
		       argument_block(i % BLOCKS, address_of(memory + i), i * 1000), done);
	}
	packets_wait(done, 0);
	for (unsigned int i = 0; i < DISPATCHES; i++)
		wrong += memory[i] != i * 1000;
	for (unsigned int i = 0; i < 256; i++)
		wrong += memory[DISPATCHES - 1 + i] != (DISPATCHES - 1) * 1000 + i;
	ck_assert_uint_eq(wrong, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

/* Each waits for the other, so that both must run at once. */
START_TEST(packets_without_barrier_overlap)
{
	const hsa_signal_t done = packets_signal(2, true);

	submit(harness.queue, "meet", 0, 1,
	       argument_block(0, address_of(memory), address_of(memory + 64)), done);
	submit(harness.queue, "meet", 0, 1,
	       argument_block(1, address_of(memory + 64), address_of(memory)), done);
	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(a_barrier_bit_keeps_packets_apart)
{
	const hsa_signal_t first = packets_signal(1, true), second = packets_signal(1, true);

	submit(harness.queue, "meet", 0, 1,
	       argument_block(0, address_of(memory), address_of(memory + 64)), first);
	submit(harness.queue, "write_ids", PACKETS_ORDERED, 1,
	       argument_block(1, address_of(memory + 128), 1), second);
	while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 0)
		packets_pause(1000);
	packets_pause(5000);
	ck_assert_uint_eq(memory[128], 0);
	ck_assert_int_eq(hsa_signal_load_scacquire(second), 1);
	__atomic_store_n(&memory[64], 1, __ATOMIC_RELEASE);
	packets_wait(first, 0);
	packets_wait(second, 0);
	ck_assert_uint_eq(memory[128], 1);
	HSA_CHECK(hsa_signal_destroy(first));
	HSA_CHECK(hsa_signal_destroy(second));
}
END_TEST

/* A packet of each type that waits for nothing but, with the bit, for what is before it. */
static void submit_type(unsigned int type, unsigned int header_bits, hsa_signal_t done)
{
	const hsa_barrier_and_packet_t barrier =
		packets_barrier(type == 1 ? HSA_PACKET_TYPE_BARRIER_AND : HSA_PACKET_TYPE_BARRIER_OR,
				header_bits, NULL, 0, done);
	const hsa_amd_barrier_value_packet_t value = {
		.header = {.header = (uint16_t)(HSA_PACKET_TYPE_VENDOR_SPECIFIC | header_bits),
			   .AmdFormat = 2},
		.signal = done,
		.value = 1,
		.mask = -1,
		.cond = HSA_SIGNAL_CONDITION_EQ,
		.completion_signal = done,
	};

	if (type == 0)
		submit(harness.queue, "write_ids", header_bits, 1,
		       argument_block(1, address_of(memory + 128), 1), done);
	else if (type == 3)
		packets_submit(harness.queue, &value);
	else
		packets_submit(harness.queue, &barrier);
}

START_TEST(every_packet_type_honours_the_barrier_bit)
{
	const unsigned int bit = (unsigned int)_i % 2;
	const hsa_signal_t first = packets_signal(1, true), second = packets_signal(1, true);

	submit(harness.queue, "meet", 0, 1,
	       argument_block(0, address_of(memory), address_of(memory + 64)), first);
	submit_type((unsigned int)_i / 2, bit << HSA_PACKET_HEADER_BARRIER, second);
	if (bit) {
		packets_pause(10000);
		ck_assert_int_eq(hsa_signal_load_scacquire(second), 1);
	} else {
		packets_wait(second, 0);
		ck_assert_int_eq(hsa_signal_load_scacquire(first), 1);
	}
	__atomic_store_n(&memory[64], 1, __ATOMIC_RELEASE);
	packets_wait(first, 0);
	packets_wait(second, 0);
	HSA_CHECK(hsa_signal_destroy(first));
	HSA_CHECK(hsa_signal_destroy(second));
}
END_TEST

START_TEST(kernels_of_two_queues_meet)
{
	hsa_queue_t *other = packets_queue(harness.gpu, 64);
	const hsa_signal_t done = packets_signal(2, true);

	submit(harness.queue, "meet", PACKETS_ORDERED, 1,
	       argument_block(0, address_of(memory), address_of(memory + 64)), done);
	packets_pause(3000);
	submit(other, "meet", PACKETS_ORDERED, 1,
	       argument_block(1, address_of(memory + 64), address_of(memory)), done);
	packets_wait(done, 0);
	HSA_CHECK(hsa_queue_destroy(other));
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(workgroups_of_a_grid_meet)
{
	enum { WORKGROUPS = 200 };
	const hsa_signal_t done = packets_signal(1, true);

	submit(harness.queue, "meet_grid", PACKETS_ORDERED, WORKGROUPS,
	       argument_block(0, address_of(memory), WORKGROUPS), done);
	packets_wait(done, 0);
	ck_assert_uint_eq(memory[0], WORKGROUPS);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

static uint32_t units_used(uint32_t workgroups)
{
	const hsa_signal_t done = packets_signal(1, true);
	uint8_t seen[256] = {0};
	uint32_t count = 0;

	submit(harness.queue, "compute_unit", PACKETS_ORDERED, workgroups,
	       argument_block(0, address_of(memory), 0), done);
	packets_wait(done, 0);
	for (uint32_t i = 0; i < workgroups; i++) {
		ck_assert_uint_lt(memory[i], 256);
		count += seen[memory[i]]++ == 0;
	}
	HSA_CHECK(hsa_signal_destroy(done));
	return count;
}

START_TEST(compute_unit_masks_are_kept)
{
	static const uint32_t masks[][4] = {
		{1, 0, 0, 0},
		{0x80000001, 0, 0x10, 0x80},
		{0xffffffff, 0xffffffff, 0, 0},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xff},
	};
	uint32_t units;

	HSA_CHECK(hsa_agent_get_info(
		harness.gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units));
	ck_assert_uint_eq(units, 104);
	ck_assert_uint_eq(units_used(units), units);
	for (unsigned int i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		uint32_t bits = 0;

		for (unsigned int word = 0; word < 4; word++)
			bits += (uint32_t)__builtin_popcount(masks[i][word]);
		HSA_CHECK(hsa_amd_queue_cu_set_mask(harness.queue, 128, masks[i]));
		ck_assert_uint_eq(units_used(2 * units), bits);
	}
}
END_TEST

static void check_scratch(uint32_t workgroups, uint32_t rotation, const uint32_t *results)
{
	unsigned int wrong = 0;

	for (uint32_t id = 0; id < workgroups * 64; id++) {
		uint32_t values[256], sum = 0;

		for (uint32_t i = 0; i < 256; i++)
			values[(i + rotation) % 256] = i * id;
		for (uint32_t i = 0; i < 256; i++)
			sum += values[i] ^ i;
		wrong += results[id] != sum;
	}
	ck_assert_uint_eq(wrong, 0);
}

/* The first dispatch asks the runtime for scratch memory, and the first after it was given back. */
START_TEST(scratch_memory_comes_on_request)
{
	enum { WORKGROUPS = 50 };
	const hsa_signal_t done = packets_signal(0, true);

	for (uint32_t round = 0; round < 3; round++) {
		hsa_signal_store_relaxed(done, 3);
		for (uint32_t i = 0; i < 3; i++)
			submit(harness.queue, "scratch", i == 2 ? PACKETS_ORDERED : 0, WORKGROUPS,
			       argument_block(i, address_of(memory + i * WORKGROUPS * 64),
					      round + i),
			       done);
		packets_wait(done, 0);
		for (uint32_t i = 0; i < 3; i++)
			check_scratch(WORKGROUPS, round + i, memory + i * WORKGROUPS * 64);
	}
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(dispatches_have_times)
{
	const hsa_signal_t done = packets_signal(1, true);
	hsa_amd_profiling_dispatch_time_t time;
	uint64_t before, after;

	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(harness.queue, 1));
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
	submit(harness.queue, "write_ids", PACKETS_ORDERED, 10,
	       argument_block(0, address_of(memory), 0), done);
	packets_wait(done, 0);
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
	HSA_CHECK(hsa_amd_profiling_get_dispatch_time(harness.gpu, done, &time));
	ck_assert_uint_lt(time.start, time.end);
	/* The runtime interpolates between two clocks, so allow it 100 us. */
	ck_assert_uint_le(before, time.start + 100000);
	ck_assert_uint_le(time.end, after + 100000);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

/* Also while several of its workgroups run, and others have not started. */
START_TEST(an_endless_kernel_is_aborted_with_its_queue)
{
	static const uint32_t sizes[] = {1, 3, 20000};

	for (unsigned int i = 0; i < 3; i++) {
		hsa_queue_t *queue = packets_queue(harness.gpu, 64);
		const hsa_signal_t done = packets_signal(1, true);

		__atomic_store_n(&memory[0], 0, __ATOMIC_RELAXED);
		submit(queue, "endless", PACKETS_ORDERED, sizes[i],
		       argument_block(i, address_of(memory), 0), done);
		while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 0)
			packets_pause(1000);
		HSA_CHECK(hsa_queue_destroy(queue));
		ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
		HSA_CHECK(hsa_signal_destroy(done));
	}
	/* Other queues go on. */
	ck_assert_uint_eq(units_used(104), 104);
}
END_TEST

static Suite *dispatch_suite(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *dispatches = tcase_create("dispatches");

	tcase_add_checked_fixture(dispatches, start, stop);
	tcase_set_timeout(dispatches, 60);
	tcase_add_test(dispatches, every_work_item_runs_once);
	tcase_add_test(dispatches, ordered_dispatches_overwrite_in_order);
	tcase_add_test(dispatches, packets_without_barrier_overlap);
	tcase_add_test(dispatches, a_barrier_bit_keeps_packets_apart);
	tcase_add_loop_test(dispatches, every_packet_type_honours_the_barrier_bit, 0, 8);
	tcase_add_test(dispatches, kernels_of_two_queues_meet);
	tcase_add_test(dispatches, workgroups_of_a_grid_meet);
	tcase_add_test(dispatches, compute_unit_masks_are_kept);
	tcase_add_test(dispatches, scratch_memory_comes_on_request);
	tcase_add_test(dispatches, dispatches_have_times);
	tcase_add_test(dispatches, an_endless_kernel_is_aborted_with_its_queue);
	suite_add_tcase(suite, dispatches);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(dispatch_suite());
}
