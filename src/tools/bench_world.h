/* SPDX-License-Identifier: MIT */
/* Block tables of one size and the calls on them that h2dpub-bench table measures. */
#ifndef H2DPUB_TOOLS_BENCH_WORLD_H
#define H2DPUB_TOOLS_BENCH_WORLD_H

#include <stddef.h>

#include "bench_measure.h"

enum bench_table_case {
	BENCH_COPY,     /* every row, by memcpy */
	BENCH_COMPARE,  /* every row with the array, by memcmp */
	BENCH_HIT,      /* prepare a batch that is prepared */
	BENCH_APPEND,   /* prepare after one append to every row */
	BENCH_CHANGE,   /* prepare after a change of one row */
	BENCH_COPY_ROW, /* one row, by memcpy */
	BENCH_REPLACE,  /* prepare other rows all over */
	BENCH_TABLE_CASES
};

struct bench_world;

/* NULL: out of memory. appends: how many calls of BENCH_APPEND there can be. */
struct bench_world *bench_world_create(uint32_t rows, uint32_t columns, uint32_t appends);
void bench_world_destroy(struct bench_world *world);

/* The cases, by enum; their context is the world. */
void bench_world_cases(struct bench_case cases[BENCH_TABLE_CASES]);

/* The library's message if a call has failed, else NULL. */
const char *bench_world_failure(const struct bench_world *world);

#endif
