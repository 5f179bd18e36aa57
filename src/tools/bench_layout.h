/* SPDX-License-Identifier: MIT */
/* The groups of arrays that the benchmarks publish: how many members, and the bytes of each. */
#ifndef H2DPUB_TOOLS_BENCH_LAYOUT_H
#define H2DPUB_TOOLS_BENCH_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_MAX_MEMBERS 128

struct bench_layout {
	uint32_t members;
	uint64_t bytes;	      /* of all members, a multiple of 4 */
	uint64_t table_bytes; /* of which the first member, a block table; 0: there is none */
};

/* The groups of real decode steps, from a handful of scalars to one with a 2 MB block table. */
extern const struct bench_layout bench_layouts[];
extern const size_t bench_layout_count;

/*
 * The bytes of each member, multiples of 4: the table's, then arrays of one, two or four units, as
 * int32 and int64 arrays with one or two entries a token are. At least one unit of 4 bytes each.
 */
void bench_layout_sizes(const struct bench_layout *layout, uint64_t sizes[]);

#endif
