/* SPDX-License-Identifier: MIT */
/* Measuring all ways of h2dpub-bench kernels in turns, and verifying them. */
#include "config.h"

#include "bench_kernels.h"

#include "progress.h"

#define WARM_UP_ROUNDS 3

/* One measurement of one way; figures NULL: of a round that does not count. */
typedef int measure_function(struct kernels_world *world, const struct kernels_way *way,
			     uint32_t round, struct kernels_figures *figures);

static int add(struct kernels_world *world, struct samples *samples, uint64_t value)
{
	if (samples_add(samples, value) == 0)
		return 0;
	tool_error_set(world->publication.error, "out of memory");
	return -1;
}

static int measure_publication(struct kernels_world *world, const struct kernels_way *way,
			       uint32_t round, struct kernels_figures *figures)
{
	uint64_t start, submitted;

	publication_fill(&world->publication, round);
	start = progress_now_ns();
	if (way->submit(world) < 0)
		return -1;
	submitted = progress_now_ns();
	if (kernels_consume(world) < 0)
		return -1;
	if (!figures)
		return 0;
	if (add(world, &figures->consumer_ns, progress_now_ns() - start) < 0)
		return -1;
	return add(world, &figures->submit_ns, submitted - start);
}

static int measure_device(struct kernels_world *world, const struct kernels_way *way,
			  uint32_t round, struct kernels_figures *figures)
{
	uint64_t nanoseconds;

	(void)round;
	if (!way->device_name)
		return 0;
	if (kernels_time(world, way, &nanoseconds) < 0)
		return -1;
	return figures ? add(world, &figures->device_ns, nanoseconds) : 0;
}

static int measure(struct kernels_world *world, measure_function *measure_way, uint32_t rounds,
		   struct kernels_figures figures[KERNELS_WAYS])
{
	for (uint32_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
		for (uint32_t i = 0; i < KERNELS_WAYS; i++) {
			uint32_t turn = (i + round) % KERNELS_WAYS;

			if (measure_way(world, &kernels_ways[turn], round,
					round < WARM_UP_ROUNDS ? NULL : &figures[turn]) < 0)
				return -1;
		}
	}
	return 0;
}

static int verify(struct kernels_world *world)
{
	for (uint32_t i = 0; i < KERNELS_WAYS; i++) {
		if (kernels_verify(world, &kernels_ways[i], i) < 0)
			return -1;
	}
	return 0;
}

int kernels_measure_publications(struct kernels_world *world, const struct bench_layout *layout,
				 uint32_t rounds, struct kernels_figures figures[KERNELS_WAYS])
{
	int result;

	if (kernels_lay_out(world, layout) < 0)
		return -1;
	result = measure(world, measure_publication, rounds, figures);
	if (result == 0)
		result = verify(world);
	kernels_clear(world);
	return result;
}

int kernels_measure_device(struct kernels_world *world, const struct bench_layout *layout,
			   uint32_t rounds, struct kernels_figures figures[KERNELS_WAYS])
{
	int result;

	if (kernels_lay_out(world, layout) < 0)
		return -1;
	result = kernels_take_times(world, true);
	if (result == 0)
		result = measure(world, measure_device, rounds, figures);
	if (result == 0)
		result = kernels_take_times(world, false);
	if (result == 0)
		result = verify(world);
	kernels_clear(world);
	return result;
}

void kernels_free_figures(struct kernels_figures figures[KERNELS_WAYS])
{
	for (uint32_t i = 0; i < KERNELS_WAYS; i++) {
		samples_free(&figures[i].submit_ns);
		samples_free(&figures[i].consumer_ns);
		samples_free(&figures[i].device_ns);
	}
}
