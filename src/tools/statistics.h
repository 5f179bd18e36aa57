/* SPDX-License-Identifier: MIT */
/* Samples of one figure and their percentiles. */
#ifndef H2DPUB_TOOLS_STATISTICS_H
#define H2DPUB_TOOLS_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *values;
	size_t count;
	size_t capacity;
};

/* -1: out of memory. */
int samples_add(struct samples *samples, uint64_t value);

/* Nearest rank: the smallest sample that at least `percent` of all samples do not exceed; 0 when
 * there is none. Orders the samples. */
uint64_t samples_percentile(struct samples *samples, unsigned percent);

void samples_free(struct samples *samples);

#endif
