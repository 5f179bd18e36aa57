/* SPDX-License-Identifier: MIT */
/* Models of kernels/atomics.cl: results that depend on no order. */
#include "kernel_models.h"

#include <string.h>

#define APPLY_ALL(cells, value, low_mask)                                                          \
	do {                                                                                       \
		(cells)[0] += (value);                                                             \
		(cells)[1] -= (value);                                                             \
		(cells)[2] = (value) < (cells)[2] ? (value) : (cells)[2];                          \
		(cells)[3] = (value) > (cells)[3] ? (value) : (cells)[3];                          \
		(cells)[4] &= (value) | 0xffff;                                                    \
		(cells)[5] |= (value) & (low_mask);                                                \
		(cells)[6] ^= (value);                                                             \
	} while (0)

static void global_atomics(const struct kernel_run *run)
{
	uint32_t *output = run->output;
	int32_t *extremes = (int32_t *)output + 32;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];
		int32_t number = (int32_t)value;

		APPLY_ALL(output + value % 4 * 8, value, 0x00ff00ffu);
		extremes[0] = number < extremes[0] ? number : extremes[0];
		extremes[1] = number > extremes[1] ? number : extremes[1];
	}
}

static void global_atomics_64(const struct kernel_run *run)
{
	uint64_t *output = run->output;
	int64_t *extremes = (int64_t *)output + 32;

	for (uint32_t index = 0; index < run->count; index++) {
		uint64_t value = ((const uint64_t *)run->input)[index];
		int64_t number = (int64_t)value;

		APPLY_ALL(output + value % 4 * 8, value, 0x00ff00ff00ff00ffu);
		extremes[0] = number < extremes[0] ? number : extremes[0];
		extremes[1] = number > extremes[1] ? number : extremes[1];
	}
}

static void tickets(const struct kernel_run *run)
{
	uint32_t *output = run->output, count = run->count, taken = kernel_hash(0);

	output[0] = count;
	output[1] = 0;
	output[2] = 3 * count;
	for (uint32_t index = 0; index < count; index++) {
		output[4 + index] = 1;
		output[4 + count + index] = 1;
		taken += kernel_hash(index + 1);
	}
	output[4 + 2 * count] = taken;
	output[5 + 2 * count] = count;
}

static void lds_atomics(const struct kernel_run *run)
{
	for (uint32_t group = 0; group < run->grid / 256; group++) {
		uint32_t cells[10] = {0}, *mine = (uint32_t *)run->output + group * 24;
		uint64_t wide[4] = {0, ~0ull, 0, 0};
		int32_t lowest = 0, highest = 0;

		cells[2] = cells[4] = ~0u;
		for (uint32_t index = group * 256; index < group * 256 + 256; index++) {
			if (index >= run->count)
				break;
			uint32_t value = ((const uint32_t *)run->input)[index];
			uint64_t shifted = (uint64_t)value << 20;

			APPLY_ALL(cells, value, 0x00ff00ffu);
			lowest = (int32_t)value < lowest ? (int32_t)value : lowest;
			highest = (int32_t)value > highest ? (int32_t)value : highest;
			wide[0] += (uint64_t)value * value + cells[9]++;
			wide[1] = shifted < wide[1] ? shifted : wide[1];
			wide[2] = shifted > wide[2] ? shifted : wide[2];
			wide[3] ^= (uint64_t)value << 17;
		}
		cells[7] = (uint32_t)lowest;
		cells[8] = (uint32_t)highest;
		memcpy(mine, cells, sizeof(cells));
		memcpy(mine + 12, wide, sizeof(wide));
	}
}

static void swap_loops(const struct kernel_run *run)
{
	uint32_t *output = run->output;
	uint64_t wide = 0;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		output[0] += value;
		output[4 + index / 64] += value;
		wide ^= (uint64_t)value << 16;
	}
	memcpy(output + 2, &wide, sizeof(wide));
}

static void float_add(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		((float *)run->output)[value % 3] += (float)(value % 997);
	}
}

static void float_add_native(const struct kernel_run *run)
{
	float_add(run);
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		((double *)run->output)[2 + value % 3] += (double)(value % 997);
	}
}

static const struct kernel_case cases[] = {
    {.kernel = "global_atomics",
     .model = global_atomics,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 40,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "global_atomics_64",
     .model = global_atomics_64,
     .prepare = prepare_wide_words,
     .input_words = 2000,
     .output_words = 80,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "tickets",
     .model = tickets,
     .prepare = prepare_words,
     .input_words = 4,
     .output_words = 2010,
     .count = 1000,
     LAUNCH(1024, 128),
     .zeroed = true},
    {.kernel = "lds_atomics",
     .model = lds_atomics,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 24 * 4 + 4,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "swap_loops",
     .model = swap_loops,
     .prepare = prepare_words,
     .input_words = 250,
     .output_words = 12,
     .count = 250,
     LAUNCH(256, 64),
     .zeroed = true},
    {.kernel = "float_add",
     .model = float_add,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 8,
     .count = 1000,
     LAUNCH(1024, 256),
     .zeroed = true},
    {.kernel = "float_add_native",
     .model = float_add_native,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 12,
     .count = 1000,
     LAUNCH(1024, 256),
     .zeroed = true},
};

const struct kernel_table atomic_kernels = {"atomics.cl", cases, sizeof(cases) / sizeof(cases[0])};
