/* SPDX-License-Identifier: MIT */
/* The built-in request generator. */
#include "config.h"

#include "generator.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARRIVALS_PER_SECOND 4.0

struct length_distribution {
	double median;
	double sigma;
	double longest;
};

struct request_class {
	struct length_distribution prompt;
	struct length_distribution output;
};

static const struct request_class request_classes[] = {
	{{1500, 1.1, 16384}, {13, 0.8, 2048}},  /* code completion */
	{{1000, 0.9, 16384}, {130, 0.8, 2048}}, /* chat */
};

/* Uniform in (0, 1]: never zero, so that its logarithm exists. */
static double uniform(unsigned short state[3])
{
	return 1.0 - erand48(state);
}

/* Box-Muller; the second value is not kept, which costs nothing that matters here. */
static double normal(unsigned short state[3])
{
	double radius = sqrt(-2.0 * log(uniform(state)));

	return radius * cos(2.0 * 3.14159265358979323846 * uniform(state));
}

static uint32_t length(const struct length_distribution *distribution, unsigned short state[3])
{
	double tokens = distribution->median * exp(distribution->sigma * normal(state));

	return (uint32_t)fmax(1, fmin(distribution->longest, round(tokens)));
}

int generator_fill(struct trace *trace, size_t count, uint64_t seed, struct tool_error *error)
{
	/* all 64 bits of the seed reach the 48 bits of state */
	uint64_t folded = seed ^ (seed >> 48) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned short state[3] = {(unsigned short)folded, (unsigned short)(folded >> 16),
				   (unsigned short)(folded >> 32)};
	double arrival_seconds = 0;

	memset(trace, 0, sizeof(*trace));
	for (size_t i = 0; i < count; i++) {
		bool chat = uniform(state) > 0.5;
		const struct request_class *class = &request_classes[chat];
		uint32_t prompt_tokens = length(&class->prompt, state);
		uint32_t output_tokens = length(&class->output, state);

		if (trace_append(trace, (int64_t)(arrival_seconds * 1e6), prompt_tokens,
				 output_tokens, error) < 0) {
			trace_free(trace);
			return -1;
		}
		arrival_seconds -= log(uniform(state)) / ARRIVALS_PER_SECOND;
	}
	trace_sort(trace);
	return 0;
}
