/* SPDX-License-Identifier: MIT */
/*
 * bench-kernels-cuda DIRECTORY [ROUNDS]: the library's kernels on an NVIDIA GPU against
 * what CUDA offers for the same bytes. Checks every byte first, then prints Markdown tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "strategy.h"
#include "tools/bench_layout.h"
#include "tools/statistics.h"

#define MAX_STRATEGIES 16
#define WARM_UP_ROUNDS 20

/* Repetitions in one recorded graph, where a single launch is too short to be timed. */
#define GRAPH_REPETITIONS 40

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void add_sample(struct samples *samples, uint64_t value)
{
	if (samples_add(samples, value) < 0) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
}

/* ---- correctness ------------------------------------------------------------------------------*/

/* Every strategy on one group, twice with other bytes; the number of wrong bytes. */
static size_t check_group(const struct strategy_context *context, struct group *group)
{
	size_t wrong = 0;

	cub_peer_prepare(group);
	for (size_t i = 0; i < 2 * strategy_count; i++) {
		const struct strategy *strategy = &strategies[i % strategy_count];

		if (!strategy->lands)
			continue;
		group_fill(group, (uint32_t)i);
		group_poison(group);
		strategy->submit(context, group);
		CHECK_CUDA(cuStreamSynchronize(context->stream));
		wrong += group_verify(group, strategy->name);
	}
	cub_peer_release();
	return wrong;
}

/* Sizes around those where the kernels' paths change, at random alignments. */
static size_t check_kernels(const struct strategy_context *context)
{
	static const uint64_t edges[] = {1,  2,	 15, 16,   17,	 31,   32,   33,    63,	   64,
					 65, 80, 95, 4080, 4095, 4096, 4097, 12288, 65536, 65537};
	uint64_t sizes[GROUP_MAX_MEMBERS], seed = 20261130;
	size_t wrong = 0, groups = 0;

	for (uint32_t members = 1; members <= GROUP_MAX_MEMBERS; members += members < 70 ? 3 : 29) {
		for (uint32_t i = 0; i < members; i++) {
			uint64_t bits = group_random(&seed);

			sizes[i] = bits % 4 ? edges[(bits >> 8) % 20] : (bits >> 8) % 20000 + 1;
		}
		struct group *group = group_create(sizes, members, true, &seed);

		wrong += check_group(context, group);
		group_destroy(group);
		groups++;
	}
	for (size_t i = 0; i < bench_layout_count; i++) {
		bench_layout_sizes(&bench_layouts[i], sizes);
		struct group *group = group_create(sizes, bench_layouts[i].members, false, &seed);

		wrong += check_group(context, group);
		group_destroy(group);
		groups++;
	}
	printf("%zu groups, %zu strategies: %zu wrong bytes\n", groups, strategy_count, wrong);
	return wrong;
}

/* ---- publications -----------------------------------------------------------------------------*/

struct timing {
	struct samples submit;
	struct samples total; /* until the consumer has run */
};

/* The consumer that each publication is for: a graph of one kernel, launched behind it. */
static CUgraphExec record_consumer(const struct strategy_context *context)
{
	CUgraphExec executable;
	CUgraph graph;

	CHECK_CUDA(cuStreamBeginCapture(context->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	strategy_launch_empty(context, NULL);
	CHECK_CUDA(cuStreamEndCapture(context->stream, &graph));
	CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0));
	CHECK_CUDA(cuGraphDestroy(graph));
	return executable;
}

static void time_publication(const struct strategy_context *context, const struct strategy *strategy,
			     struct group *group, CUgraphExec consumer, struct timing *timing)
{
	uint64_t start = now(), submitted;

	strategy->submit(context, group);
	submitted = now();
	CHECK_CUDA(cuGraphLaunch(consumer, context->stream));
	CHECK_CUDA(cuStreamSynchronize(context->stream));
	if (timing) {
		add_sample(&timing->submit, submitted - start);
		add_sample(&timing->total, now() - start);
	}
}

static double microseconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / 1000;
}

static double median_above(struct samples *samples, struct samples *base)
{
	return microseconds(samples_percentile(samples, 50)) -
	       microseconds(samples_percentile(base, 50));
}

static void print_publications(const struct bench_layout *layout, struct timing timings[])
{
	double copies = median_above(&timings[2].total, &timings[0].total);
	double plain = median_above(&timings[1].total, &timings[0].total);

	for (size_t i = 1; i < strategy_count; i++) {
		double base = microseconds(samples_percentile(&timings[0].total, 50));
		double total = median_above(&timings[i].total, &timings[0].total);

		printf("| %u | %llu | %s | %.1f | %.1f | %.1f - %.1f | %.2f | %.2f |\n",
		       layout->members, (unsigned long long)layout->bytes, strategies[i].name,
		       microseconds(samples_percentile(&timings[i].submit, 50)), total,
		       microseconds(samples_percentile(&timings[i].total, 25)) - base,
		       microseconds(samples_percentile(&timings[i].total, 75)) - base,
		       total / plain, copies / total);
	}
}

static size_t time_layout(const struct strategy_context *context, CUgraphExec consumer,
			  const struct bench_layout *layout, uint32_t rounds)
{
	uint64_t sizes[BENCH_MAX_MEMBERS], seed = 7;
	struct timing timings[MAX_STRATEGIES] = {0};
	struct group *group;
	size_t wrong = 0;

	bench_layout_sizes(layout, sizes);
	group = group_create(sizes, layout->members, false, &seed);
	group_upload(group);
	cub_peer_prepare(group);
	for (uint32_t round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
		for (size_t i = 0; i < strategy_count; i++) {
			size_t chosen = (i + round) % strategy_count;

			group_fill(group, round);
			time_publication(context, &strategies[chosen], group, consumer,
					 round < WARM_UP_ROUNDS ? NULL : &timings[chosen]);
		}
	}
	for (size_t i = 0; i < strategy_count; i++) {
		if (!strategies[i].lands)
			continue;
		group_fill(group, (uint32_t)i);
		group_poison(group);
		time_publication(context, &strategies[i], group, consumer, NULL);
		wrong += group_verify(group, strategies[i].name);
	}
	print_publications(layout, timings);
	for (size_t i = 0; i < strategy_count; i++) {
		samples_free(&timings[i].submit);
		samples_free(&timings[i].total);
	}
	cub_peer_release();
	group_destroy(group);
	return wrong;
}

static size_t time_publications(const struct strategy_context *context, uint32_t rounds)
{
	CUgraphExec consumer = record_consumer(context);
	size_t wrong = 0;

	printf("\n## Publications\n\nMicroseconds from the first call to the end of the consumer "
	       "above those of the consumer alone; %u interleaved rounds; the sources are "
	       "rewritten before each. What stands in brackets publishes nothing: one empty "
	       "kernel is the least that a publication by a kernel can take; the other two move "
	       "the bytes within device memory.\n\n"
	       "| members | bytes | strategy | submit | median | quartiles | of one DMA | "
	       "N copies / this |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
	       rounds);
	for (size_t i = 0; i < bench_layout_count; i++)
		wrong += time_layout(context, consumer, &bench_layouts[i], rounds);
	CHECK_CUDA(cuGraphExecDestroy(consumer));
	return wrong;
}

/* ---- the kernels alone ------------------------------------------------------------------------*/

struct kernel_case {
	const char *name;
	void (*enqueue)(const struct strategy_context *context, struct group *group);
};

static void enqueue_plain_dma(const struct strategy_context *context, struct group *group)
{
	CHECK_CUDA(cuMemcpyHtoDAsync(group->plain, group->host, group->bytes, context->stream));
}

static const struct kernel_case kernel_cases[] = {
	{"empty kernel", strategy_launch_empty},
	{"device copy", strategy_copy_on_device},
	{"h2d_scatter", strategy_launch_scatter},
	{"one plain DMA", enqueue_plain_dma},
	{"h2d_pull", strategy_launch_pull},
};
#define KERNEL_CASES (sizeof(kernel_cases) / sizeof(kernel_cases[0]))
enum { EMPTY_KERNEL, DEVICE_COPY, SCATTER, PLAIN_DMA, PULL };

static CUgraphExec record_repetitions(const struct strategy_context *context,
				      const struct kernel_case *kernel_case, struct group *group)
{
	CUgraphExec executable;
	CUgraph graph;

	CHECK_CUDA(cuStreamBeginCapture(context->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < GRAPH_REPETITIONS; i++)
		kernel_case->enqueue(context, group);
	CHECK_CUDA(cuStreamEndCapture(context->stream, &graph));
	CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0));
	CHECK_CUDA(cuGraphDestroy(graph));
	return executable;
}

/* Nanoseconds on the device of one repetition. */
static uint64_t time_graph(const struct strategy_context *context, CUgraphExec graph,
			   const CUevent events[2])
{
	float milliseconds;

	CHECK_CUDA(cuEventRecord(events[0], context->stream));
	CHECK_CUDA(cuGraphLaunch(graph, context->stream));
	CHECK_CUDA(cuEventRecord(events[1], context->stream));
	CHECK_CUDA(cuEventSynchronize(events[1]));
	CHECK_CUDA(cuEventElapsedTime(&milliseconds, events[0], events[1]));
	return (uint64_t)(milliseconds * 1e6f / GRAPH_REPETITIONS);
}

static void print_kernels(const struct bench_layout *layout, struct samples samples[])
{
	static const int peers[KERNEL_CASES] = {EMPTY_KERNEL, DEVICE_COPY, DEVICE_COPY, PLAIN_DMA,
						PLAIN_DMA};

	for (size_t i = 0; i < KERNEL_CASES; i++) {
		double median = microseconds(samples_percentile(&samples[i], 50));

		printf("| %u | %llu | %s | %.2f | %.2f - %.2f | %.1f | %.2f |\n", layout->members,
		       (unsigned long long)layout->bytes, kernel_cases[i].name, median,
		       microseconds(samples_percentile(&samples[i], 25)),
		       microseconds(samples_percentile(&samples[i], 75)),
		       i == EMPTY_KERNEL ? 0 : (double)layout->bytes / median / 1000,
		       median / microseconds(samples_percentile(&samples[peers[i]], 50)));
	}
}

static void time_kernels_of(const struct strategy_context *context,
			    const struct bench_layout *layout, uint32_t rounds)
{
	uint64_t sizes[BENCH_MAX_MEMBERS], seed = 7;
	struct samples samples[KERNEL_CASES] = {0};
	CUgraphExec graphs[KERNEL_CASES];
	struct group *group;
	CUevent events[2];

	bench_layout_sizes(layout, sizes);
	group = group_create(sizes, layout->members, false, &seed);
	group_upload(group);
	CHECK_CUDA(cuEventCreate(&events[0], CU_EVENT_DEFAULT));
	CHECK_CUDA(cuEventCreate(&events[1], CU_EVENT_DEFAULT));
	for (size_t i = 0; i < KERNEL_CASES; i++)
		graphs[i] = record_repetitions(context, &kernel_cases[i], group);
	for (uint32_t round = 0; round < 3 + rounds; round++) {
		for (size_t i = 0; i < KERNEL_CASES; i++) {
			uint64_t time = time_graph(context, graphs[i], events);

			if (round >= 3)
				add_sample(&samples[i], time);
		}
	}
	print_kernels(layout, samples);
	for (size_t i = 0; i < KERNEL_CASES; i++) {
		CHECK_CUDA(cuGraphExecDestroy(graphs[i]));
		samples_free(&samples[i]);
	}
	CHECK_CUDA(cuEventDestroy(events[0]));
	CHECK_CUDA(cuEventDestroy(events[1]));
	group_destroy(group);
}

static void time_kernels(const struct strategy_context *context, uint32_t rounds)
{
	static const struct bench_layout larger[] = {
		{20, 1 << 20, 1 << 19}, {20, 1 << 24, 1 << 23}, {20, 1 << 26, 1 << 25}};

	printf("\n## Kernels alone\n\nMicroseconds on the device of one of %d repetitions in a "
	       "graph; %u interleaved rounds. h2d_scatter reads an arena in device memory and is "
	       "compared with a device copy of the same bytes; h2d_pull reads pinned host memory "
	       "and is compared with one DMA of the same bytes.\n\n"
	       "| members | bytes | what | median | quartiles | GB/s | of its peer |\n"
	       "| --- | --- | --- | --- | --- | --- | --- |\n",
	       GRAPH_REPETITIONS, rounds);
	for (size_t i = 0; i < bench_layout_count; i++)
		time_kernels_of(context, &bench_layouts[i], rounds);
	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++)
		time_kernels_of(context, &larger[i], rounds / 4 + 1);
}

/* ---- program ----------------------------------------------------------------------------------*/

static void print_device(CUdevice device)
{
	char name[128];
	int driver;

	CHECK_CUDA(cuDeviceGetName(name, sizeof(name), device));
	CHECK_CUDA(cuDriverGetVersion(&driver));
	printf("%s, CUDA driver %d.%d, built with CUDA %d.%d\n", name, driver / 1000,
	       driver % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
}

int main(int argc, char **argv)
{
	struct strategy_context context;
	char *end = NULL;
	long rounds = argc > 2 ? strtol(argv[2], &end, 10) : 1000;
	CUcontext cuda;
	CUdevice device;
	size_t wrong;

	if (argc < 2 || argc > 3 || rounds < 1 || rounds > 1000000 || (end && *end)) {
		fprintf(stderr, "usage: %s DIRECTORY-OF-PTX [ROUNDS]\n", argv[0]);
		return 2;
	}
	CHECK_CUDA(cuInit(0));
	CHECK_CUDA(cuDeviceGet(&device, 0));
	CHECK_CUDA(cuDevicePrimaryCtxRetain(&cuda, device));
	CHECK_CUDA(cuCtxSetCurrent(cuda));
	CHECK_CUDA(cuStreamCreate(&context.stream, CU_STREAM_NON_BLOCKING));
	strategy_load_kernels(&context, argv[1]);
	print_device(device);
	wrong = check_kernels(&context);
	if (wrong == 0)
		wrong = time_publications(&context, (uint32_t)rounds);
	if (wrong == 0)
		time_kernels(&context, (uint32_t)(rounds / 10 + 1));
	CHECK_CUDA(cuStreamDestroy(context.stream));
	CHECK_CUDA(cuDevicePrimaryCtxRelease(device));
	return wrong == 0 ? 0 : 1;
}
