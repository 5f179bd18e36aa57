/* SPDX-License-Identifier: MIT */
/* The bytes of each member of a benchmark's group. */
#include "bench_layout.h"

const struct bench_layout bench_layouts[] = {
	{8, 200, 0},
	{8, 13000, 0},
	{20, 13000, 0},
	{20, 19000, 0},
	{19, 29000, 0},
	{40, 29000, 0},
	{20, 262144 + 29000, 262144},
	{20, 2097152 + 52848, 2097152},
};
const size_t bench_layout_count = sizeof(bench_layouts) / sizeof(bench_layouts[0]);

static uint64_t weight(uint32_t member)
{
	static const uint64_t weights[] = {1, 2, 2, 4};

	return weights[member % 4];
}

void bench_layout_sizes(const struct bench_layout *layout, uint64_t sizes[])
{
	uint32_t first = layout->table_bytes != 0 ? 1 : 0;
	uint64_t left = layout->bytes - layout->table_bytes;
	uint64_t weights = 0;

	sizes[0] = layout->table_bytes;
	for (uint32_t i = first; i < layout->members; i++)
		weights += weight(i);
	/* Each takes its share of what is left, so that the last one ends exactly. */
	for (uint32_t i = first; i < layout->members; i++) {
		sizes[i] = left * weight(i) / weights / 4 * 4;
		if (sizes[i] == 0)
			sizes[i] = 4;
		left -= sizes[i];
		weights -= weight(i);
	}
}
