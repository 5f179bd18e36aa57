/* SPDX-License-Identifier: MIT */
/* Models of kernels/wave.cl: the lanes of a wave, computed one wave at a time. */
#include "kernel_models.h"

#include <stdbool.h>

#define WAVE 64

/* Work-items of the wave that begins at `first`: fewer in the grid's last wave. */
static uint32_t wave_lanes(const struct kernel_run *run, uint32_t first)
{
	return run->grid - first < WAVE ? run->grid - first : WAVE;
}

static void ballots(const struct kernel_run *run)
{
	const uint32_t *input = run->input;
	uint32_t *output = run->output;

	for (uint32_t first = 0; first < run->grid; first += WAVE) {
		uint64_t odd = 0, negative = 0, active = 0;

		for (uint32_t lane = 0; lane < wave_lanes(run, first); lane++) {
			uint32_t index = first + lane;
			uint32_t value = index < run->count ? input[index] : 0;

			odd |= (uint64_t)(value & 1) << lane;
			negative |= (uint64_t)(value >> 31) << lane;
			active |= (uint64_t)(index < run->count) << lane;
		}
		for (uint32_t lane = 0; lane < WAVE && first + lane < run->count; lane++) {
			uint32_t *mine = output + (first + lane) * 8;
			uint64_t below = odd & ((1ull << lane) - 1);

			mine[0] = (uint32_t)odd;
			mine[1] = (uint32_t)(odd >> 32);
			mine[2] = (uint32_t)__builtin_popcountll(negative);
			mine[3] = (uint32_t)__builtin_popcountll(below) + 7;
			mine[4] = odd ? (uint32_t)__builtin_ctzll(odd) : 99;
			mine[5] = odd ? (uint32_t)__builtin_clzll(odd) : 99;
			mine[6] = (uint32_t)active;
			mine[7] = (uint32_t)(active >> 32);
		}
	}
}

static void read_lanes(const struct kernel_run *run)
{
	for (uint32_t first = 0; first < run->grid; first += WAVE) {
		const uint32_t *input = (const uint32_t *)run->input + first;
		uint32_t pushed[WAVE];

		for (uint32_t lane = 0; lane < WAVE; lane++)
			pushed[(lane * 5 + 3) % WAVE] = input[lane];
		for (uint32_t lane = 0; lane < WAVE && first + lane < run->count; lane++) {
			uint32_t *mine = (uint32_t *)run->output + (first + lane) * 5;

			mine[0] = input[0];
			mine[1] = input[input[0] % WAVE];
			mine[2] = input[(input[lane] >> 3) % WAVE];
			mine[3] = pushed[lane];
			mine[4] = lane % 3 == 1 ? input[1] * 3 : 0;
		}
	}
}

/* Source lane of a data-parallel primitive, -1 where it lies outside. */
static int dpp_source(uint32_t control, int lane)
{
	int row = lane & ~15, place = lane & 15;
	int by = (int)(control & 15);

	if (control <= 0xff)
		return (lane & ~3) + (int)(control >> (lane & 3) * 2 & 3);
	switch (control & ~15u) {
	case 0x100:
		return place + by < 16 ? lane + by : -1;
	case 0x110:
		return place >= by ? lane - by : -1;
	case 0x120:
		return row + ((place - by) & 15);
	case 0x150:
		return row + by;
	}
	switch (control) {
	case 0x130:
		return lane < WAVE - 1 ? lane + 1 : -1;
	case 0x134:
		return (lane + 1) % WAVE;
	case 0x138:
		return lane - 1;
	case 0x13c:
		return (lane + WAVE - 1) % WAVE;
	case 0x140:
		return row + 15 - place;
	case 0x141:
		return (lane & ~7) + 7 - (lane & 7);
	case 0x142:
		return row - 1;
	case 0x143:
		return lane < 32 ? -1 : 31;
	}
	return -1;
}

struct dpp_control {
	uint32_t control, rows, banks;
	bool bound;
};

static uint32_t dpp_value(const uint32_t *input, uint64_t active, struct dpp_control dpp,
			  uint32_t lane, uint32_t old)
{
	int source = dpp_source(dpp.control, (int)lane);

	if (!(dpp.rows >> lane / 16 & 1) || !(dpp.banks >> lane % 16 / 4 & 1))
		return old;
	if (source >= 0 && (active >> source & 1))
		return input[source];
	return dpp.bound ? 0 : old;
}

static void dpp_controls(const struct kernel_run *run)
{
	static const struct dpp_control controls[] = {
	    {0x1b, 0xf, 0xf, false},  {0x4e, 0xf, 0xf, true},	{0x93, 0xa, 0xf, false},
	    {0x39, 0xf, 0x5, false},  {0x101, 0xf, 0xf, false}, {0x10f, 0xf, 0xf, true},
	    {0x111, 0xf, 0xf, false}, {0x118, 0xf, 0xc, true},	{0x121, 0xf, 0xf, false},
	    {0x12c, 0x3, 0xf, false}, {0x130, 0xf, 0xf, false}, {0x130, 0xf, 0xf, true},
	    {0x134, 0xf, 0xf, false}, {0x138, 0xf, 0xf, false}, {0x138, 0xf, 0xf, true},
	    {0x13c, 0xf, 0xf, false}, {0x140, 0xf, 0xf, false}, {0x141, 0xf, 0xf, false},
	    {0x142, 0xa, 0xf, false}, {0x142, 0xf, 0xf, true},	{0x143, 0xc, 0xf, false},
	    {0x143, 0xf, 0xf, true},  {0x155, 0xf, 0xf, false}};
	static const struct dpp_control divergent[] = {{0x111, 0xf, 0xf, false},
						       {0x121, 0xf, 0xf, true}};

	for (uint32_t first = 0; first < run->grid; first += WAVE) {
		const uint32_t *input = (const uint32_t *)run->input + first;
		uint64_t active = 0;

		for (uint32_t lane = 0; lane < WAVE; lane++)
			active |= (uint64_t)(input[lane] >> 1 & 1) << lane;
		for (uint32_t lane = 0; lane < WAVE; lane++) {
			uint32_t *mine = (uint32_t *)run->output + (first + lane) * 25;

			for (uint32_t slot = 0; slot < 23; slot++)
				mine[slot] =
				    dpp_value(input, ~0ull, controls[slot], lane, 0x5a5a5a5a);
			if (!(active >> lane & 1))
				continue;
			mine[23] = dpp_value(input, active, divergent[0], lane, 0x33);
			mine[24] = dpp_value(input, active, divergent[1], lane, 0);
		}
	}
}

static void dpp_scan(const struct kernel_run *run)
{
	const uint32_t *input = run->input;
	uint32_t *output = run->output;

	for (uint32_t index = 0; index < run->count; index++)
		output[index] = input[index] + (index % WAVE ? output[index - 1] : 0);
}

static void swizzles(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *half = (const uint32_t *)run->input + (index & ~31u);
		uint32_t *mine = (uint32_t *)run->output + index * 6;
		uint32_t lane = index & 31, quad = lane & ~3u;
		static const uint32_t reversed[] = {3, 2, 1, 0}, doubled[] = {0, 0, 2, 2};

		mine[0] = half[lane ^ 1];
		mine[1] = half[lane ^ 16];
		mine[2] = half[(lane & 16) ^ 31];
		mine[3] = half[(lane & 21) | 5];
		mine[4] = half[quad + reversed[lane & 3]];
		mine[5] = half[quad + doubled[lane & 3]];
	}
}

static void lds_scan(const struct kernel_run *run)
{
	const uint32_t *input = run->input;
	uint32_t *output = run->output;

	for (uint32_t index = 0; index < run->count; index++)
		output[index] = input[index] + (index % run->workgroup ? output[index - 1] : 0);
}

static void barrier_rounds(const struct kernel_run *run)
{
	enum { ITEMS = 320 };

	for (uint32_t first = 0; first < run->grid; first += ITEMS) {
		uint32_t values[ITEMS], cells[ITEMS];

		for (uint32_t item = 0; item < ITEMS; item++)
			values[item] = ((const uint32_t *)run->input)[first + item];
		for (uint32_t round = 0; round < 7; round++) {
			for (uint32_t item = 0; item < ITEMS; item++) {
				uint32_t turns = (item / 64 + round) % 5 * 3;

				for (uint32_t turn = 0; turn < turns; turn++)
					values[item] = kernel_hash(values[item] + turn);
				cells[item] = values[item];
			}
			for (uint32_t item = 0; item < ITEMS; item++)
				values[item] ^= cells[(item * 7 + round * 64 + 1) % ITEMS];
		}
		for (uint32_t item = 0; item < ITEMS; item++)
			((uint32_t *)run->output)[first + item] = values[item];
	}
}

static const struct kernel_case cases[] = {
    {.kernel = "ballots",
     .model = ballots,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 8100,
     .count = 970,
     LAUNCH(1000, 128)},
    {.kernel = "read_lanes",
     .model = read_lanes,
     .prepare = prepare_words,
     .input_words = 768,
     .output_words = 768 * 5,
     .count = 700,
     LAUNCH(768, 256)},
    {.kernel = "dpp_controls",
     .model = dpp_controls,
     .prepare = prepare_words,
     .input_words = 256,
     .output_words = 256 * 25 + 9,
     .count = 256,
     LAUNCH(256, 128)},
    {.kernel = "dpp_scan",
     .model = dpp_scan,
     .prepare = prepare_words,
     .input_words = 1024,
     .output_words = 1024,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "swizzles",
     .model = swizzles,
     .prepare = prepare_words,
     .input_words = 512,
     .output_words = 512 * 6,
     .count = 512,
     LAUNCH(512, 256)},
    {.kernel = "lds_scan",
     .model = lds_scan,
     .prepare = prepare_words,
     .input_words = 1024,
     .output_words = 1024,
     .count = 1001,
     LAUNCH(1024, 256)},
    {.kernel = "barrier_rounds",
     .model = barrier_rounds,
     .prepare = prepare_words,
     .input_words = 960,
     .output_words = 970,
     .count = 960,
     LAUNCH(960, 320)},
};

const struct kernel_table wave_kernels = {"wave.cl", cases, sizeof(cases) / sizeof(cases[0])};
