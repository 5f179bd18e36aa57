/* SPDX-License-Identifier: MIT */
/* Models of kernels/grids.cl. */
#include "kernel_models.h"

#include <string.h>

/* An odd grid: the last workgroup of every dimension is partial. */
enum { GRID_X = 37, GRID_Y = 11, GRID_Z = 5, GROUP_X = 16, GROUP_Y = 4, GROUP_Z = 2 };

static uint32_t packed(uint32_t x, uint32_t y, uint32_t z)
{
	return x | y << 10 | z << 20;
}

static void prepare_ids(void *input, size_t size, uint32_t count)
{
	static const uint32_t sizes[] = {GRID_X, GRID_Y, GRID_Z, GROUP_X, GROUP_Y, GROUP_Z};

	(void)size;
	(void)count;
	memcpy(input, sizes, sizeof(sizes));
}

static void ids_3d(const struct kernel_run *run)
{
	uint32_t *mine = run->output;

	for (uint32_t z = 0; z < GRID_Z; z++) {
		for (uint32_t y = 0; y < GRID_Y; y++) {
			for (uint32_t x = 0; x < GRID_X; x++, mine += 6) {
				mine[0] = packed(x, y, z);
				mine[1] = packed(x / GROUP_X, y / GROUP_Y, z / GROUP_Z);
				mine[2] = packed(x % GROUP_X, y % GROUP_Y, z % GROUP_Z);
				mine[3] = packed(GRID_X, GRID_Y, GRID_Z);
				mine[4] = GROUP_X;
				mine[5] = GROUP_Y | GROUP_Z << 16;
			}
		}
	}
}

static void large_workgroup(const struct kernel_run *run)
{
	uint32_t *output = run->output;

	memcpy(output, run->input, run->grid * sizeof(uint32_t));
	for (uint32_t first = 0; first < run->grid; first += 1024)
		for (uint32_t distance = 512; distance; distance /= 2)
			for (uint32_t item = 0; item < distance; item++)
				output[first + item] +=
				    kernel_hash(output[first + item + distance]);
}

static void dynamic_lds(const struct kernel_run *run)
{
	const uint32_t *input = run->input;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t first = index / 192 * 192;

		((uint32_t *)run->output)[index] = input[first + ((index - first) * 3 + 1) % 192];
	}
}

static void ping_pong(const struct kernel_run *run)
{
	const uint32_t *input = run->input;
	uint32_t *flags = run->output, *values = flags + run->count, *results = values + run->count;

	for (uint32_t group = 0; group < run->count; group += 2) {
		uint32_t even = input[group], odd = input[group + 1];

		for (uint32_t round = 0; round < 6; round++) {
			uint32_t next = kernel_hash(even * 3 + odd);

			values[group] = even;
			values[group + 1] = odd;
			odd = kernel_hash(odd * 3 + even);
			even = next;
		}
		flags[group] = flags[group + 1] = 12;
		results[group] = even;
		results[group + 1] = odd;
	}
}

static void wait_for_last(const struct kernel_run *run)
{
	const uint32_t *input = run->input;
	uint32_t *output = run->output;

	output[0] = 1234;
	for (uint32_t item = 0; item < 64; item++) {
		output[16 + item] = input[item] * 5;
		for (uint32_t group = 0; group < run->count - 1; group++)
			output[128 + group * 64 + item] = input[item] * 5 + group;
	}
}

static void grid_barrier(const struct kernel_run *run)
{
	uint32_t items = run->count * 64, *output = run->output;
	uint32_t *now = output + 16, *next = now + items;

	output[0] = 3 * run->count;
	memcpy(now, run->input, items * sizeof(uint32_t));
	for (uint32_t round = 0; round < 3; round++) {
		uint32_t *swap = now;

		for (uint32_t index = 0; index < items; index++)
			next[index] = kernel_hash(now[(index + 64) % items]) + now[index ^ 1];
		now = next;
		next = swap;
	}
}

static void volatile_words(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index] + 5;

		((uint32_t *)run->output)[index] = (value ^ value << 3) * 7;
	}
}

static const struct kernel_case cases[] = {
    {.kernel = "ids_3d",
     .model = ids_3d,
     .prepare = prepare_ids,
     .input_words = 6,
     .output_words = GRID_X * GRID_Y * GRID_Z * 6 + 5,
     .count = 0,
     .grid = {GRID_X, GRID_Y, GRID_Z},
     .workgroup = {GROUP_X, GROUP_Y, GROUP_Z}},
    {.kernel = "large_workgroup",
     .model = large_workgroup,
     .prepare = prepare_words,
     .input_words = 3072,
     .output_words = 3080,
     .count = 3072,
     LAUNCH(3072, 1024)},
    {.kernel = "dynamic_lds",
     .model = dynamic_lds,
     .prepare = prepare_words,
     .input_words = 576,
     .output_words = 580,
     .count = 570,
     LAUNCH(576, 192),
     .dynamic_group_bytes = 192 * 4},
    {.kernel = "ping_pong",
     .model = ping_pong,
     .prepare = prepare_words,
     .input_words = 8,
     .output_words = 30,
     .count = 8,
     LAUNCH(512, 64),
     .zeroed = true},
    {.kernel = "wait_for_last",
     .model = wait_for_last,
     .prepare = prepare_words,
     .input_words = 64,
     .output_words = 128 + 23 * 64 + 4,
     .count = 24,
     LAUNCH(1536, 64)},
    {.kernel = "grid_barrier",
     .model = grid_barrier,
     .prepare = prepare_words,
     .input_words = 512,
     .output_words = 16 + 1024 + 4,
     .count = 8,
     LAUNCH(512, 64),
     .zeroed = true},
    {.kernel = "volatile_words",
     .model = volatile_words,
     .prepare = prepare_words,
     .input_words = 500,
     .output_words = 505,
     .count = 500,
     LAUNCH(512, 128)},
};

const struct kernel_table grid_kernels = {"grids.cl", cases, sizeof(cases) / sizeof(cases[0])};
