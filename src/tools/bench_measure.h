/* SPDX-License-Identifier: MIT */
/*
 * Measuring calls against each other: all cases take turns in every round, so that whatever slows the
 * machine down hits them all; what is told are medians over the rounds with their spread.
 */
#ifndef H2DPUB_TOOLS_BENCH_MEASURE_H
#define H2DPUB_TOOLS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics.h"

struct bench_case {
	const char *name;
	void (*prepare)(void *context); /* before every call, not measured; or NULL */
	void (*call)(void *context);
	uint32_t calls; /* a round; 0: as many as make a round long enough, without prepare only */
	struct samples picoseconds; /* of one call, one sample a round */
};

/* Runs all cases for this many rounds, after one that does not count. -1: out of memory. */
int bench_measure(struct bench_case cases[], uint32_t count, uint32_t rounds, void *context);

/*
 * Makes so many calls of one case through bench_measured(), which tools that count instructions
 * collect: valgrind --tool=callgrind --toggle-collect=bench_measured.
 */
void bench_count(const struct bench_case *bench_case, uint32_t calls, void *context);
void bench_measured(const struct bench_case *bench_case, void *context);

/* In nanoseconds. */
double bench_median(struct bench_case *bench_case);
double bench_percentile(struct bench_case *bench_case, unsigned percent);

void bench_free(struct bench_case cases[], uint32_t count);

#endif
