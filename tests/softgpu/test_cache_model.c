/* SPDX-License-Identifier: MIT */
/* The cache model by itself: what each acquire and release hides and reveals, byte by byte. */
#include "../run_suite.h"
#include "softgpu/cache.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE   SOFTGPU_SCOPE_NONE
#define AGENT  SOFTGPU_SCOPE_AGENT
#define SYSTEM SOFTGPU_SCOPE_SYSTEM

#define BASE  UINT64_C(0x700000000000) /* as the GPU sees `bytes` */
#define BYTES 4096
#define LINE  128
#define L2S   3

/* Memory itself: what the host and DMA engines see. */
static _Alignas(4096) uint8_t bytes[BYTES];
static bool mapped;
static _Atomic uint64_t generation;
static struct softgpu_memory memory;
static struct softgpu_cache *cache;

static bool translate(void *context, uint64_t address, struct softgpu_translation *out)
{
	(void)context;
	if (!mapped || address < BASE || address >= BASE + BYTES)
		return false;
	*out = (struct softgpu_translation){
		.begin = BASE,
		.end = BASE + BYTES,
		.host_offset = (intptr_t)((uintptr_t)bytes - BASE),
		.readable = true,
		.writable = true,
	};
	return true;
}

static void setup(void)
{
	memset(bytes, 0, sizeof(bytes));
	mapped = true;
	memory = (struct softgpu_memory){.translate = translate, .generation = &generation};
	cache = softgpu_cache_create(&memory, L2S);
	ck_assert_ptr_nonnull(cache);
	ck_assert_uint_eq(softgpu_cache_l2_count(cache), L2S);
}

static void teardown(void)
{
	softgpu_cache_destroy(cache);
}

static uint8_t gpu_read(uint32_t l2, uint32_t offset)
{
	uint8_t value;

	ck_assert(softgpu_cache_read(cache, l2, BASE + offset, bytes + offset, &value, 1));
	return value;
}

static void gpu_write(uint32_t l2, uint32_t offset, uint8_t value)
{
	ck_assert(softgpu_cache_write(cache, l2, BASE + offset, bytes + offset, &value, 1));
}

/* ---- what the host or a DMA engine writes ---------------------------------------------------- */

START_TEST(memory_writes_are_hidden_until_a_system_acquire)
{
	bytes[5] = 1;
	ck_assert_uint_eq(gpu_read(0, 5), 1);
	bytes[5] = 2;
	ck_assert_uint_eq(gpu_read(0, 5), 1);
	softgpu_cache_acquire(cache, NONE);
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(gpu_read(0, 5), 1);
	softgpu_cache_acquire(cache, AGENT);
	ck_assert_uint_eq(gpu_read(0, 5), 1);
	softgpu_cache_acquire(cache, SYSTEM);
	ck_assert_uint_eq(gpu_read(0, 5), 2);
}
END_TEST

/* Caches hold lines: a neighbour's read is enough to hide a later write. */
START_TEST(a_read_keeps_the_whole_line_old)
{
	ck_assert_uint_eq(gpu_read(0, 0), 0);
	bytes[LINE - 1] = 9;
	bytes[LINE] = 9;
	ck_assert_uint_eq(gpu_read(0, LINE - 1), 0);
	ck_assert_uint_eq(gpu_read(0, LINE), 9);
	/* The other caches have not read the line. */
	ck_assert_uint_eq(gpu_read(1, LINE - 1), 9);
}
END_TEST

/* ---- what a kernel writes -------------------------------------------------------------------- */

START_TEST(kernel_writes_reach_memory_by_a_system_release)
{
	gpu_write(0, 7, 42);
	ck_assert_uint_eq(gpu_read(0, 7), 42);
	ck_assert_uint_eq(bytes[7], 0);
	softgpu_cache_release(cache, NONE);
	softgpu_cache_acquire(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 0);
	softgpu_cache_release(cache, AGENT);
	ck_assert_uint_eq(bytes[7], 0);
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 42);
	ck_assert_uint_eq(gpu_read(0, 7), 42);
}
END_TEST

START_TEST(another_l2_needs_an_agent_release_and_acquire)
{
	ck_assert_uint_eq(gpu_read(1, 7), 0);
	gpu_write(0, 7, 42);
	/* An acquire before the release finds nothing. */
	softgpu_cache_acquire(cache, AGENT);
	ck_assert_uint_eq(gpu_read(1, 7), 0);
	softgpu_cache_release(cache, AGENT);
	/* The release alone does not reach what was read before. */
	ck_assert_uint_eq(gpu_read(1, 7), 0);
	softgpu_cache_acquire(cache, AGENT);
	ck_assert_uint_eq(gpu_read(1, 7), 42);
	ck_assert_uint_eq(bytes[7], 0);
	/* Nor does an unreleased write reach a cache that has never read the line. */
	gpu_write(0, 8, 43);
	ck_assert_uint_eq(gpu_read(2, 8), 0);
}
END_TEST

/* After a system release too, an L2 that has read before needs an acquire. */
START_TEST(a_system_release_does_not_acquire)
{
	ck_assert_uint_eq(gpu_read(1, 7), 0);
	gpu_write(0, 7, 42);
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(gpu_read(1, 7), 0);
	softgpu_cache_acquire(cache, AGENT);
	ck_assert_uint_eq(gpu_read(1, 7), 42);
}
END_TEST

/* What a write-back cache does to data that was written behind its back. */
START_TEST(a_late_release_overwrites_a_later_dma)
{
	gpu_write(0, 7, 42);
	bytes[7] = 77;
	bytes[8] = 78;
	softgpu_cache_acquire(cache, SYSTEM);
	ck_assert_uint_eq(gpu_read(0, 7), 42);
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 42);
	/* Bytes of the line that the kernel has not written stay. */
	ck_assert_uint_eq(bytes[8], 78);
}
END_TEST

START_TEST(an_early_release_spares_a_later_dma)
{
	gpu_write(0, 7, 42);
	softgpu_cache_release(cache, SYSTEM);
	bytes[7] = 77;
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 77);
	softgpu_cache_acquire(cache, SYSTEM);
	ck_assert_uint_eq(gpu_read(0, 7), 77);
}
END_TEST

/* Two L2s and the host write different bytes of one line: none of them is lost. */
START_TEST(false_sharing_loses_nothing)
{
	gpu_write(0, 0, 10);
	gpu_write(1, 1, 11);
	bytes[2] = 12;
	softgpu_cache_release(cache, SYSTEM);
	softgpu_cache_acquire(cache, SYSTEM);
	for (uint32_t l2 = 0; l2 < L2S; l2++) {
		for (uint32_t i = 0; i < 3; i++)
			ck_assert_uint_eq(gpu_read(l2, i), 10 + i);
	}
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(bytes[i], 10 + i);
}
END_TEST

/* Releasing one's own bytes of a line does not refresh the others' bytes in it. */
START_TEST(false_sharing_stays_stale_without_an_acquire)
{
	ck_assert_uint_eq(gpu_read(0, 0), 0);
	gpu_write(1, 1, 11);
	softgpu_cache_release(cache, AGENT);
	gpu_write(0, 0, 10);
	softgpu_cache_release(cache, AGENT);
	ck_assert_uint_eq(gpu_read(0, 1), 0);
	softgpu_cache_acquire(cache, AGENT);
	ck_assert_uint_eq(gpu_read(0, 1), 11);
	ck_assert_uint_eq(gpu_read(0, 0), 10);
}
END_TEST

START_TEST(accesses_cross_lines)
{
	uint8_t data[300], seen[300];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	ck_assert(softgpu_cache_write(cache, 0, BASE + 100, bytes + 100, data, sizeof(data)));
	ck_assert(softgpu_cache_read(cache, 0, BASE + 100, bytes + 100, seen, sizeof(seen)));
	ck_assert_mem_eq(seen, data, sizeof(data));
	ck_assert_uint_eq(gpu_read(0, 99), 0);
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_mem_eq(bytes + 100, data, sizeof(data));
	ck_assert_uint_eq(bytes[99], 0);
	ck_assert_uint_eq(bytes[400], 0);
}
END_TEST

/* ---- past the caches ------------------------------------------------------------------------- */

START_TEST(atomics_work_on_memory_and_are_seen_by_all)
{
	ck_assert_uint_eq(gpu_read(1, 4), 0);
	gpu_write(0, 4, 5);
	gpu_write(0, 12, 6);
	softgpu_cache_bypass(cache, BASE + 4, bytes + 4, 4);
	/* What was written under it came to memory first. */
	ck_assert_uint_eq(bytes[4], 5);
	bytes[4]++;
	for (uint32_t l2 = 0; l2 < L2S; l2++)
		ck_assert_uint_eq(gpu_read(l2, 4), 6);
}
END_TEST

START_TEST(unmapping_forgets_and_writes_nothing_back)
{
	gpu_write(0, 7, 42);
	gpu_write(1, 8, 43);
	softgpu_cache_release(cache, AGENT);
	gpu_write(2, LINE, 44);
	softgpu_cache_forget(cache, BASE, BASE + LINE);
	bytes[7] = 1;
	softgpu_cache_release(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 1);
	ck_assert_uint_eq(bytes[8], 0);
	ck_assert_uint_eq(bytes[LINE], 44);
	for (uint32_t l2 = 0; l2 < L2S; l2++)
		ck_assert_uint_eq(gpu_read(l2, 7), 1);
}
END_TEST

/* The unmap may come between the write and its release without a word to the cache. */
START_TEST(a_release_to_unmapped_memory_is_dropped)
{
	gpu_write(0, 7, 42);
	mapped = false;
	softgpu_cache_release(cache, SYSTEM);
	mapped = true;
	softgpu_cache_acquire(cache, SYSTEM);
	ck_assert_uint_eq(bytes[7], 0);
	ck_assert_uint_eq(gpu_read(0, 7), 0);
}
END_TEST

/* ---- both directions, many times ------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/*
 * L2s and the host write and read random places in turn. With the right fences between two of them
 * everything reads as memory without caches would.
 */
START_TEST(right_fences_hide_the_caches)
{
	static uint8_t model[BYTES];
	uint64_t state = 20250711;
	uint32_t last = L2S; /* who wrote last; L2S: the host */

	memset(model, 0, sizeof(model));
	for (unsigned int turn = 0; turn < 20000; turn++) {
		const uint32_t writer = (uint32_t)(next_random(&state) % (L2S + 1));
		const uint32_t size = 1 + (uint32_t)(next_random(&state) % 200);
		const uint32_t offset = (uint32_t)(next_random(&state) % (BYTES - size));
		uint8_t data[200];

		if (writer != last) {
			const bool host = writer == L2S || last == L2S;

			softgpu_cache_release(cache, host ? SYSTEM : AGENT);
			softgpu_cache_acquire(cache, host ? SYSTEM : AGENT);
			last = writer;
		}
		if (writer == L2S)
			memcpy(data, bytes + offset, size);
		else
			ck_assert(softgpu_cache_read(cache, writer, BASE + offset, bytes + offset,
						     data, size));
		ck_assert_msg(memcmp(data, model + offset, size) == 0, "turn %u", turn);
		for (uint32_t i = 0; i < size; i++)
			data[i] = model[offset + i] = (uint8_t)next_random(&state);
		if (writer == L2S)
			memcpy(bytes + offset, data, size);
		else
			ck_assert(softgpu_cache_write(cache, writer, BASE + offset, bytes + offset,
						      data, size));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cache model");
	TCase *cases = tcase_create("fences");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, memory_writes_are_hidden_until_a_system_acquire);
	tcase_add_test(cases, a_read_keeps_the_whole_line_old);
	tcase_add_test(cases, kernel_writes_reach_memory_by_a_system_release);
	tcase_add_test(cases, another_l2_needs_an_agent_release_and_acquire);
	tcase_add_test(cases, a_system_release_does_not_acquire);
	tcase_add_test(cases, a_late_release_overwrites_a_later_dma);
	tcase_add_test(cases, an_early_release_spares_a_later_dma);
	tcase_add_test(cases, false_sharing_loses_nothing);
	tcase_add_test(cases, false_sharing_stays_stale_without_an_acquire);
	tcase_add_test(cases, accesses_cross_lines);
	tcase_add_test(cases, atomics_work_on_memory_and_are_seen_by_all);
	tcase_add_test(cases, unmapping_forgets_and_writes_nothing_back);
	tcase_add_test(cases, a_release_to_unmapped_memory_is_dropped);
	tcase_add_test(cases, right_fences_hide_the_caches);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
