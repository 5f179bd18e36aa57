/* SPDX-License-Identifier: MIT */
/* Models of kernels/calls.cl. */
#include "kernel_models.h"

static uint32_t mix(uint32_t a, uint32_t b)
{
	return kernel_hash(a) * 31 + b;
}

static uint32_t outer(uint32_t depth, uint32_t value)
{
	uint32_t cells[8];
	uint64_t wide = value * 0x100000001u;

	for (uint32_t slot = 0; slot < 8; slot++)
		cells[slot] = value + slot * depth;
	cells[value % 8] += value;
	wide += ((uint64_t)mix(value, value) << 32 | mix(depth, value ^ depth)) + cells[7];
	return (uint32_t)(wide >> 20) ^ mix(cells[value % 8], depth);
}

static void nested_calls(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		for (uint32_t depth = 0; depth < value % 5; depth++)
			value = outer(depth, value);
		((uint32_t *)run->output)[index] = value;
	}
}

static uint32_t third(uint32_t value)
{
	return value & 1 ? mix(value, 3) : value / 3;
}

static uint32_t second(uint32_t value)
{
	return value & 2 ? third(value + 1) + mix(value, 2) : third(value * 5);
}

static uint32_t first(uint32_t value)
{
	return value & 4 ? second(value ^ 0xabcd) : second(third(value));
}

static void divergent_calls(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		if (value % 3)
			value = first(value) + index % 64;
		if (value % 5 != 2)
			((uint32_t *)run->output)[index] = value;
	}
}

static uint32_t descend(uint32_t depth, uint32_t value)
{
	if (depth == 0)
		return value;
	return kernel_hash(descend(depth - 1, value + depth)) ^ depth;
}

static void recursion(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		((uint32_t *)run->output)[index] = descend(value % 13, value);
	}
}

static void pointer_calls(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];
		const uint32_t results[] = {value + index, value ^ index,
					    kernel_hash(value - index)};

		((uint32_t *)run->output)[index] = results[value % 3];
	}
}

static uint32_t first_switch(uint32_t value)
{
	uint32_t result = 0;

	switch (value % 11) {
	case 0:
		return value + 1;
	case 1:
		return value * 3 ^ 0x1234;
	case 2:
		return 0x1234;
	case 3:
	case 4:
		return value / 7;
	case 7:
		for (uint32_t turn = 0; turn < value % 9; turn++)
			result += kernel_hash(value + turn);
		return result;
	case 9:
		return ~value;
	default:
		return value >> 3;
	}
}

static uint32_t uniform_switch(uint32_t chosen, uint32_t result)
{
	switch (chosen) {
	case 0:
		return result + 11;
	case 1:
		return result - 22;
	case 2:
		return result * 33;
	case 3:
		return result ^ 44;
	case 5:
		return (result << 5) + 1;
	default:
		return result | 0x40;
	}
}

static void switches(const struct kernel_run *run)
{
	static const uint32_t table[16] = {100, 7, 5000, 12, 99, 31, 2, 77777};

	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *input = run->input;
		uint32_t value = input[index];
		uint32_t result =
			uniform_switch(input[index / run->workgroup] & 7, first_switch(value));

		((uint32_t *)run->output)[index] = result + table[value >> 28];
	}
}

static void loops(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint64_t value = ((const uint32_t *)run->input)[index] % 100000 + 1;
		uint32_t steps = 0;

		while (value != 1 && steps < 200) {
			if (value & 1) {
				value = value * 3 + 1;
			} else {
				value /= 2;
				if (value % 1000 == 777)
					continue;
			}
			steps++;
		}
		((uint32_t *)run->output)[index] = steps << 16 ^ (uint32_t)value;
	}
}

#define CALL_CASE(name, group, stack_bytes)                                                        \
	{                                                                                          \
		.kernel = #name, .model = name, .prepare = prepare_words, .input_words = 500,      \
		.output_words = 510, .count = 500, LAUNCH(512, group),                             \
		.deeper_stack_bytes = stack_bytes                                                  \
	}

static const struct kernel_case cases[] = {
	CALL_CASE(nested_calls, 64, 0), CALL_CASE(divergent_calls, 128, 0),
	CALL_CASE(recursion, 64, 4096), CALL_CASE(pointer_calls, 64, 1024),
	CALL_CASE(switches, 64, 0),	CALL_CASE(loops, 256, 0),
};

const struct kernel_table call_kernels = {"calls.cl", cases, sizeof(cases) / sizeof(cases[0])};
