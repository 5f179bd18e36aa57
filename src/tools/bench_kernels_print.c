/* SPDX-License-Identifier: MIT */
/*
 * The figures of h2dpub-bench kernels: Markdown tables with the columns of bench-kernels-cuda, so
 * that the two can be compared line by line, and JSON.
 */
#include "config.h"

#include "bench_kernels.h"

#include <inttypes.h>
#include <stdio.h>

static double microseconds(struct samples *samples, unsigned percent)
{
	return (double)samples_percentile(samples, percent) / 1000;
}

static void print_ratio(double dividend, double divisor)
{
	if (divisor > 0)
		printf(" %.2f |", dividend / divisor);
	else
		printf(" - |");
}

void kernels_print_gpu(const struct kernels_world *world)
{
	const h2d_device_info_t *info = &world->publication.info;

	printf("GPU: %s (%s)\n", info->product_name, info->isa);
	if (world->publication.software)
		puts("A software GPU: the times are those of an interpreter. They tell that "
		     "everything works, and\nnothing about any GPU.");
}

/* ---- publications -------------------------------------------------------------------------- */

void kernels_print_publications_head(uint32_t rounds)
{
	printf("\n## Publications\n\nMicroseconds from the first call to the end of the consumer "
	       "above those of the consumer alone; %" PRIu32 " interleaved rounds; the sources are "
	       "rewritten before each. What stands in brackets publishes nothing: one empty kernel "
	       "is the least that a publication by a kernel can take; the other two move the bytes "
	       "within device memory.\n\n"
	       "| members | bytes | strategy | submit | median | quartiles | of one DMA | "
	       "N copies / this |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
	       rounds);
}

void kernels_print_publications(const struct bench_layout *layout,
				struct kernels_figures figures[KERNELS_WAYS])
{
	double base = microseconds(&figures[KERNELS_NOTHING].consumer_ns, 50);
	double plain = microseconds(&figures[KERNELS_PLAIN_DMA].consumer_ns, 50) - base;
	double copies = microseconds(&figures[KERNELS_COPIES].consumer_ns, 50) - base;

	for (uint32_t i = KERNELS_NOTHING + 1; i < KERNELS_WAYS; i++) {
		double median = microseconds(&figures[i].consumer_ns, 50) - base;

		printf("| %" PRIu32 " | %" PRIu64 " | %s | %.1f | %.1f | %.1f - %.1f |",
		       layout->members, layout->bytes, kernels_ways[i].name,
		       microseconds(&figures[i].submit_ns, 50), median,
		       microseconds(&figures[i].consumer_ns, 25) - base,
		       microseconds(&figures[i].consumer_ns, 75) - base);
		print_ratio(median, plain);
		print_ratio(copies, median);
		putchar('\n');
	}
}

/* ---- the device alone ---------------------------------------------------------------------- */

void kernels_print_device_head(uint32_t rounds)
{
	printf("\n## Kernels alone\n\nMicroseconds on the device, from the start of the first to the "
	       "end of the last of what is named, by the runtime's timestamps; %" PRIu32
	       " interleaved rounds. h2d_scatter reads an arena in device memory and is compared "
	       "with a device copy of the same bytes; the others read pinned host memory and are "
	       "compared with one DMA of the same bytes.\n\n"
	       "| members | bytes | what | median | quartiles | GB/s | of its peer |\n"
	       "| --- | --- | --- | --- | --- | --- | --- |\n",
	       rounds);
}

void kernels_print_device(const struct bench_layout *layout,
			  struct kernels_figures figures[KERNELS_WAYS])
{
	static const struct {
		enum kernels_way_index way, peer;
	} rows[] = {
		{KERNELS_EMPTY, KERNELS_EMPTY},
		{KERNELS_DEVICE_COPY, KERNELS_DEVICE_COPY},
		{KERNELS_SCATTER, KERNELS_DEVICE_COPY},
		{KERNELS_PLAIN_DMA, KERNELS_PLAIN_DMA},
		{KERNELS_PULL, KERNELS_PLAIN_DMA},
		{KERNELS_PACKED, KERNELS_PLAIN_DMA},
		{KERNELS_COPIES, KERNELS_PLAIN_DMA},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct samples *samples = &figures[rows[i].way].device_ns;
		double median = microseconds(samples, 50);
		bool moves = rows[i].way != KERNELS_EMPTY && median > 0;

		printf("| %" PRIu32 " | %" PRIu64 " | %s | %.2f | %.2f - %.2f | %.1f |",
		       layout->members, layout->bytes, kernels_ways[rows[i].way].device_name,
		       median, microseconds(samples, 25), microseconds(samples, 75),
		       moves ? (double)layout->bytes / median / 1000 : 0);
		print_ratio(median, microseconds(&figures[rows[i].peer].device_ns, 50));
		putchar('\n');
	}
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_times(struct json_object *way, const char *name, struct samples *samples)
{
	static const struct {
		const char *name;
		unsigned percent;
	} figures[] = {{"median_ns", 50}, {"p25_ns", 25}, {"p75_ns", 75}};
	struct json_object *times;

	if (samples->count == 0)
		return;
	times = json_object_new_object();
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_object_object_add(times, figures[i].name,
				       json_object_new_uint64(samples_percentile(
					       samples, figures[i].percent)));
	json_object_object_add(way, name, times);
}

struct json_object *kernels_group_json(const struct bench_layout *layout,
				       struct kernels_figures figures[KERNELS_WAYS])
{
	struct json_object *group = json_object_new_object();
	struct json_object *ways = json_object_new_array();

	for (uint32_t i = 0; i < KERNELS_WAYS; i++) {
		struct json_object *way = json_object_new_object();

		json_object_object_add(way, "way", json_object_new_string(kernels_ways[i].name));
		add_times(way, "submit", &figures[i].submit_ns);
		add_times(way, "consumer", &figures[i].consumer_ns);
		add_times(way, "device", &figures[i].device_ns);
		json_object_array_add(ways, way);
	}
	json_object_object_add(group, "members", json_object_new_uint64(layout->members));
	json_object_object_add(group, "bytes", json_object_new_uint64(layout->bytes));
	json_object_object_add(group, "table_bytes", json_object_new_uint64(layout->table_bytes));
	json_object_object_add(group, "ways", ways);
	return group;
}
