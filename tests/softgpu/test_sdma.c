/* SPDX-License-Identifier: MIT */
/* Asynchronous copies: the SDMA engines, or the copy kernels where the environment says so. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hsa_harness harness;
static hsa_signal_t done;

static void start(void)
{
	hsa_harness_start(&harness);
	done = packets_signal(0, true);
}

static void stop(void)
{
	HSA_CHECK(hsa_signal_destroy(done));
	hsa_harness_stop(&harness);
}

/* A different byte at every place of a copy, and other bytes for every seed. */
static void fill_pattern(uint8_t *bytes, size_t count, uint32_t seed)
{
	uint32_t state = seed * 2654435761U + 1;

	for (size_t i = 0; i < count; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
}

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
		 size_t count)
{
	hsa_signal_store_relaxed(done, 1);
	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, count, 0, NULL, done));
	packets_wait(done, 0);
}

#define LONGEST_COPY 10000019

/* Host to video memory, within video memory, and back; bytes around the target stay as they are. */
static void check_round_trip(size_t count, size_t source_shift, size_t device_shift,
			     size_t target_shift)
{
	const size_t room = (count < LONGEST_COPY ? count : LONGEST_COPY) + 256;
	uint8_t *source = hsa_harness_allocate(&harness, room);
	uint8_t *target = hsa_harness_allocate(&harness, room);
	uint8_t *device = hsa_harness_allocate_device(&harness, 2 * room);
	uint8_t *expected = malloc(room);

	ck_assert_ptr_nonnull(expected);
	fill_pattern(source, room, (uint32_t)count);
	memset(target, 0x5a, room);
	memset(expected, 0x5a, room);
	memcpy(expected + target_shift, source + source_shift, room - 256);
	copy(device + device_shift, harness.gpu, source + source_shift, harness.cpu, count);
	copy(device + room + source_shift, harness.gpu, device + device_shift, harness.gpu, count);
	copy(target + target_shift, harness.cpu, device + room + source_shift, harness.gpu, count);
	ck_assert_msg(memcmp(target, expected, room) == 0,
		      "%zu bytes from +%zu by +%zu to +%zu differ", count, source_shift,
		      device_shift, target_shift);
	free(expected);
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	HSA_CHECK(hsa_amd_memory_pool_free(target));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
}

START_TEST(sizes_and_alignments)
{
	static const size_t sizes[] = {1,  2,  3,   4,	 5,    7,    8,	   15,	  16,	 17,   63,
				       64, 65, 255, 256, 4095, 4096, 4097, 65535, 65536, 65537};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_round_trip(sizes[i], 0, 0, 0);
		check_round_trip(sizes[i], i % 7, (i * 3) % 13, (i * 5) % 17);
	}
}
END_TEST

/* One packet holds at most 0x3fffe0 bytes. */
START_TEST(copies_of_several_packets)
{
	check_round_trip(0x3fffe0, 0, 0, 0);
	check_round_trip(0x3fffe1, 1, 0, 2);
	check_round_trip(LONGEST_COPY, 3, 1, 5);
}
END_TEST

START_TEST(device_memory_is_zero_at_first)
{
	const size_t count = 8 << 20;
	uint8_t *target = hsa_harness_allocate(&harness, count), *zeros = calloc(1, count);

	for (unsigned int round = 0; round < 2; round++) {
		uint8_t *device = hsa_harness_allocate_device(&harness, count);

		memset(target, 0xff, count);
		copy(target, harness.cpu, device, harness.gpu, count);
		ck_assert_mem_eq(target, zeros, count);
		memset(target, 0xee, count);
		copy(device, harness.gpu, target, harness.cpu, count);
		HSA_CHECK(hsa_amd_memory_pool_free(device));
	}
	free(zeros);
	HSA_CHECK(hsa_amd_memory_pool_free(target));
}
END_TEST

/* The ring holds 1 MiB of packets, about 10,000 copies. */
START_TEST(the_ring_wraps)
{
	enum { COPIES = 25000, SLOTS = 64 };
	uint32_t *source = hsa_harness_allocate(&harness, SLOTS * sizeof(*source));
	uint32_t *target = hsa_harness_allocate(&harness, SLOTS * sizeof(*target));
	uint32_t *device = hsa_harness_allocate_device(&harness, SLOTS * sizeof(*device));
	const hsa_signal_t all = packets_signal(COPIES, true);

	for (unsigned int i = 0; i < SLOTS; i++)
		source[i] = 0x1000 + i;
	for (unsigned int i = 0; i < COPIES; i++)
		HSA_CHECK(hsa_amd_memory_async_copy(device + i % SLOTS, harness.gpu,
						    source + i * 7 % SLOTS, harness.cpu,
						    sizeof(*source), 0, NULL, all));
	packets_wait(all, 0);
	copy(target, harness.cpu, device, harness.gpu, SLOTS * sizeof(*source));
	/* The last copy into each slot counts. */
	for (unsigned int i = COPIES - SLOTS; i < COPIES; i++)
		ck_assert_uint_eq(target[i % SLOTS], 0x1000 + i * 7 % SLOTS);
	HSA_CHECK(hsa_signal_destroy(all));
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	HSA_CHECK(hsa_amd_memory_pool_free(target));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
}
END_TEST

START_TEST(copies_wait_for_their_dependencies)
{
	uint8_t *source = hsa_harness_allocate(&harness, 4096);
	uint8_t *target = hsa_harness_allocate(&harness, 4096);
	hsa_signal_t dependencies[5];

	fill_pattern(source, 4096, 1);
	memset(target, 0, 4096);
	for (unsigned int i = 0; i < 5; i++)
		dependencies[i] = packets_signal(1, i % 2 == 0);
	hsa_signal_store_relaxed(done, 1);
	HSA_CHECK(hsa_amd_memory_async_copy(target, harness.gpu, source, harness.cpu, 4096, 5,
					    dependencies, done));
	for (unsigned int i = 0; i < 5; i++) {
		/* The engine looks at the two halves one after the other. */
		hsa_signal_store_screlease(dependencies[i], INT64_C(5) << 32 | 1);
		packets_pause(3000);
		ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
		ck_assert_uint_eq(target[0] | target[4095], 0);
		hsa_signal_store_screlease(dependencies[i], 0);
	}
	packets_wait(done, 0);
	ck_assert_mem_eq(source, target, 4096);
	for (unsigned int i = 0; i < 5; i++)
		HSA_CHECK(hsa_signal_destroy(dependencies[i]));
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	HSA_CHECK(hsa_amd_memory_pool_free(target));
}
END_TEST

/* Without SDMA engines the runtime copies by kernels, on small queues of its own. */
static bool has_sdma(void)
{
	const char *enabled = getenv("HSA_ENABLE_SDMA");

	return !enabled || strcmp(enabled, "0") != 0;
}

/* Copies and barriers in a chain: to the device, barrier, back, barrier, ... */
START_TEST(copies_and_barriers_in_a_chain)
{
	enum { ROUNDS = 100, BYTES = 3000 };
	const unsigned int rounds = has_sdma() ? ROUNDS : 10;
	uint8_t *host = hsa_harness_allocate(&harness, (ROUNDS + 1) * BYTES);
	uint8_t *device = hsa_harness_allocate_device(&harness, BYTES);
	hsa_signal_t links[3 * ROUNDS + 1];

	memset(host, 0, (ROUNDS + 1) * BYTES);
	for (unsigned int i = 0; i <= 3 * rounds; i++)
		links[i] = packets_signal(1, i == 3 * rounds);
	for (unsigned int i = 0; i < rounds; i++) {
		const hsa_signal_t *link = &links[3 * i];
		const hsa_barrier_and_packet_t barrier = packets_barrier(
			HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, &link[1], 1, link[2]);

		HSA_CHECK(hsa_amd_memory_async_copy(device, harness.gpu, host + i * BYTES,
						    harness.cpu, BYTES, 1, &link[0], link[1]));
		packets_submit(harness.queue, &barrier);
		HSA_CHECK(hsa_amd_memory_async_copy(host + (i + 1) * BYTES, harness.cpu, device,
						    harness.gpu, BYTES, 1, &link[2], link[3]));
	}
	fill_pattern(host, BYTES, 77);
	hsa_signal_store_screlease(links[0], 0);
	packets_wait(links[3 * rounds], 0);
	for (unsigned int i = 1; i <= rounds; i++)
		ck_assert_mem_eq(host, host + i * BYTES, BYTES);
	for (unsigned int i = 0; i <= 3 * rounds; i++)
		HSA_CHECK(hsa_signal_destroy(links[i]));
	HSA_CHECK(hsa_amd_memory_pool_free(host));
	HSA_CHECK(hsa_amd_memory_pool_free(device));
}
END_TEST

START_TEST(rectangles)
{
	static const struct {
		hsa_dim3_t source, target, range; /* offsets and size */
		size_t source_pitch, target_pitch, source_slice, target_slice;
	} cases[] = {
		{{0, 0, 0}, {0, 0, 0}, {16, 4, 1}, 64, 32, 64 * 8, 32 * 8},
		{{3, 1, 0}, {5, 2, 0}, {21, 5, 1}, 64, 32, 64 * 8, 32 * 8},
		{{4, 1, 1}, {0, 3, 2}, {48, 3, 3}, 64, 64, 64 * 8, 64 * 6},
		{{1, 0, 0}, {2, 0, 1}, {7, 8, 4}, 16, 20, 16 * 8, 20 * 8},
	};
	const size_t size = 8192;
	uint8_t *source = hsa_harness_allocate(&harness, size);
	uint8_t *target = hsa_harness_allocate(&harness, size);
	uint8_t expected[8192];

	for (unsigned int c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		const hsa_dim3_t range = cases[c].range, from = cases[c].source,
				 to = cases[c].target;
		const hsa_pitched_ptr_t source_side = {source, cases[c].source_pitch,
						       cases[c].source_slice};
		const hsa_pitched_ptr_t target_side = {target, cases[c].target_pitch,
						       cases[c].target_slice};

		fill_pattern(source, size, c);
		memset(target, 0xa5, size);
		memset(expected, 0xa5, size);
		for (size_t z = 0; z < range.z; z++) {
			for (size_t y = 0; y < range.y; y++)
				memcpy(expected + to.x + (to.y + y) * cases[c].target_pitch +
					       (to.z + z) * cases[c].target_slice,
				       source + from.x + (from.y + y) * cases[c].source_pitch +
					       (from.z + z) * cases[c].source_slice,
				       range.x);
		}
		hsa_signal_store_relaxed(done, 1);
		HSA_CHECK(hsa_amd_memory_async_copy_rect(&target_side, &to, &source_side, &from,
							 &range, harness.gpu, hsaHostToDevice, 0,
							 NULL, done));
		packets_wait(done, 0);
		ck_assert_msg(memcmp(target, expected, size) == 0, "case %u differs", c);
	}
	HSA_CHECK(hsa_amd_memory_pool_free(source));
	HSA_CHECK(hsa_amd_memory_pool_free(target));
}
END_TEST

START_TEST(profiled_copies_have_times)
{
	uint8_t *memory = hsa_harness_allocate(&harness, 1 << 20);
	hsa_amd_profiling_async_copy_time_t first, second;
	uint64_t before, after;

	HSA_CHECK(hsa_amd_profiling_async_copy_enable(true));
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
	copy(memory, harness.gpu, memory + (1 << 19), harness.cpu, 1 << 19);
	HSA_CHECK(hsa_amd_profiling_get_async_copy_time(done, &first));
	copy(memory, harness.gpu, memory + (1 << 19), harness.cpu, 1 << 19);
	HSA_CHECK(hsa_amd_profiling_get_async_copy_time(done, &second));
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
	ck_assert_uint_lt(first.start, first.end);
	ck_assert_uint_lt(second.start, second.end);
	/* The runtime interpolates between two clocks, so allow it 100 us. */
	ck_assert_uint_le(before, first.start + 100000);
	ck_assert_uint_le(first.end, second.start + 100000);
	ck_assert_uint_le(second.end, after + 100000);
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
}
END_TEST

static Suite *sdma_suite(void)
{
	Suite *suite = suite_create("sdma");
	TCase *copies = tcase_create("copies");

	tcase_add_checked_fixture(copies, start, stop);
	tcase_set_timeout(copies, 60);
	tcase_add_test(copies, sizes_and_alignments);
	tcase_add_test(copies, copies_of_several_packets);
	tcase_add_test(copies, device_memory_is_zero_at_first);
	tcase_add_test(copies, copies_wait_for_their_dependencies);
	tcase_add_test(copies, copies_and_barriers_in_a_chain);
	if (has_sdma()) {
		tcase_add_test(copies, the_ring_wraps);
		tcase_add_test(copies, rectangles);
	}
	tcase_add_test(copies, profiled_copies_have_times);
	suite_add_tcase(suite, copies);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(sdma_suite());
}
