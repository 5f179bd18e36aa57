/* SPDX-License-Identifier: MIT */
/* Measuring calls against each other, in turns. */
#include "config.h"

#include "bench_measure.h"

#include <stddef.h>

#include "progress.h"

/* A round of a case without prepare takes at least so long: the clock then costs nothing. */
#define ROUND_NS 200000

/* What reading the clock takes of the time between two readings: the least of many. */
static uint64_t clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 10000; i++) {
		uint64_t begun = progress_now_ns(), taken = progress_now_ns() - begun;

		least = taken < least ? taken : least;
	}
	return least;
}

static uint64_t time_together(const struct bench_case *bench_case, uint64_t calls, void *context)
{
	uint64_t begun = progress_now_ns();

	for (uint64_t i = 0; i < calls; i++)
		bench_case->call(context);
	return progress_now_ns() - begun;
}

static uint64_t time_one_by_one(const struct bench_case *bench_case, uint64_t calls, uint64_t clock,
				void *context)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < calls; i++) {
		uint64_t call;

		bench_case->prepare(context);
		call = time_together(bench_case, 1, context);
		taken += call > clock ? call - clock : 0;
	}
	return taken;
}

static uint32_t calls_in_a_round(const struct bench_case *bench_case, void *context)
{
	uint64_t calls = 1;

	while (calls < 1000000 && time_together(bench_case, calls, context) < ROUND_NS)
		calls *= 2;
	return (uint32_t)calls;
}

int bench_measure(struct bench_case cases[], uint32_t count, uint32_t rounds, void *context)
{
	uint64_t clock = clock_cost();

	for (uint32_t i = 0; i < count; i++) {
		if (cases[i].calls == 0)
			cases[i].calls = calls_in_a_round(&cases[i], context);
	}
	for (uint32_t round = 0; round <= rounds; round++) {
		for (uint32_t i = 0; i < count; i++) {
			struct bench_case *turn = &cases[i];
			uint64_t taken = turn->prepare ? time_one_by_one(turn, turn->calls, clock,
									context)
						       : time_together(turn, turn->calls, context);

			if (round > 0 &&
			    samples_add(&turn->picoseconds, taken * 1000 / turn->calls) < 0)
				return -1;
		}
	}
	return 0;
}

__attribute__((noinline)) void bench_measured(const struct bench_case *bench_case, void *context)
{
	bench_case->call(context);
}

void bench_count(const struct bench_case *bench_case, uint32_t calls, void *context)
{
	for (uint32_t i = 0; i < calls; i++) {
		if (bench_case->prepare)
			bench_case->prepare(context);
		bench_measured(bench_case, context);
	}
}

double bench_percentile(struct bench_case *bench_case, unsigned percent)
{
	return (double)samples_percentile(&bench_case->picoseconds, percent) / 1e3;
}

double bench_median(struct bench_case *bench_case)
{
	return bench_percentile(bench_case, 50);
}

void bench_free(struct bench_case cases[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		samples_free(&cases[i].picoseconds);
}
