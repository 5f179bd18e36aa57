/* SPDX-License-Identifier: MIT */
/* The figures of publications as tables and as JSON. */
#include "config.h"

#include "bench_counter.h"
#include "bench_publish.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t median(struct samples *samples)
{
	return samples_percentile(samples, 50);
}

/* The range of the middle half of the rounds in percent of their median. */
static double spread(struct samples *samples)
{
	uint64_t middle = median(samples);
	uint64_t range = samples_percentile(samples, 75) - samples_percentile(samples, 25);

	return middle ? 100.0 * (double)range / (double)middle : 0;
}

static const struct publish_figures *find(const struct publish_figures figures[], size_t count,
					  const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(figures[i].peer->name, name) == 0)
			return &figures[i];
	}
	return NULL;
}

/* How many times the instructions of these figures a peer takes; 0: not known. */
static double times_fewer(const struct publish_figures *peer, const struct publish_figures *figures)
{
	if (!peer || !peer->counted || !figures->counted || figures->counts.instructions == 0)
		return 0;
	return (double)peer->counts.instructions / (double)figures->counts.instructions;
}

void publish_print_head(const struct publication_world *world, uint32_t rounds, bool counted)
{
	printf("GPU: %s (%s)%s\n", world->info.product_name, world->info.isa,
	       world->software ? ", a software GPU: only what the host does means anything" : "");
	printf("%" PRIu32 " interleaved rounds: medians, and in brackets the range of the middle half.\n",
	       rounds);
	if (counted)
		printf("Instructions of the submitting thread in user mode%s what they are: by single "
		       "steps.\n",
		       instruction_counter_exists() ? ": by the processor's counter;" : ", and");
	puts("x HIP, x HSA: how many times fewer instructions than HIP copies and HSA copies.");
}

static void print_time(struct samples *samples)
{
	printf(" %9.2f (%3.0f%%) |", (double)median(samples) / 1000, spread(samples));
}

static void print_counts(const struct step_counts *counts)
{
	printf(" %7" PRIu64 " | %6" PRIu64 " | %5" PRIu64 " | %5" PRIu64 " | %5" PRIu64
	       " | %4" PRIu64 " |",
	       counts->instructions, counts->locked, counts->system_calls, counts->allocations,
	       counts->packets, counts->dmas);
}

static void print_ratio(double ratio)
{
	if (ratio > 0)
		printf(" %6.1f |", ratio);
	else
		printf("      - |");
}

void publish_print_group(const struct bench_layout *layout, struct publish_figures figures[],
			 size_t count)
{
	const struct publish_figures *hip = find(figures, count, "HIP copies");
	const struct publish_figures *hsa = find(figures, count, "HSA copies");

	printf("\n%" PRIu32 " members, %" PRIu64 " bytes", layout->members, layout->bytes);
	if (layout->table_bytes)
		printf(", one of them with %" PRIu64, layout->table_bytes);
	puts("\n\n"
	     "| way          |       submit us  |          CPU us  |  instr. | locked | calls | alloc "
	     "| packs | DMAs |  x HIP |  x HSA |     consumer us  |\n"
	     "| ------------ | ---------------- | ---------------- | ------- | ------ | ----- | ----- "
	     "| ----- | ---- | ------ | ------ | ---------------- |");
	for (size_t i = 0; i < count; i++) {
		struct publish_figures *row = &figures[i];

		printf("| %-12s |", row->peer->name);
		print_time(&row->submit_ns);
		print_time(&row->cpu_ns);
		if (row->counted)
			print_counts(&row->counts);
		else
			printf("       - |      - |     - |     - |     - |    - |");
		print_ratio(row->peer->lands ? times_fewer(hip, row) : 0);
		print_ratio(row->peer->lands ? times_fewer(hsa, row) : 0);
		print_time(&row->consumer_ns);
		putchar('\n');
	}
}

static void add_samples(struct json_object *object, const char *name, struct samples *samples)
{
	struct json_object *times = json_object_new_object();

	json_object_object_add(times, "median_ns", json_object_new_uint64(median(samples)));
	json_object_object_add(times, "p25_ns",
			       json_object_new_uint64(samples_percentile(samples, 25)));
	json_object_object_add(times, "p75_ns",
			       json_object_new_uint64(samples_percentile(samples, 75)));
	json_object_object_add(object, name, times);
}

static struct json_object *way_json(struct publish_figures *figures)
{
	struct json_object *way = json_object_new_object();
	const struct step_counts *counts = &figures->counts;

	json_object_object_add(way, "way", json_object_new_string(figures->peer->name));
	add_samples(way, "submit", &figures->submit_ns);
	add_samples(way, "cpu", &figures->cpu_ns);
	add_samples(way, "consumer", &figures->consumer_ns);
	if (!figures->counted)
		return way;
	json_object_object_add(way, "instructions", json_object_new_uint64(counts->instructions));
	json_object_object_add(way, "locked", json_object_new_uint64(counts->locked));
	json_object_object_add(way, "system_calls", json_object_new_uint64(counts->system_calls));
	json_object_object_add(way, "allocations", json_object_new_uint64(counts->allocations));
	json_object_object_add(way, "packets", json_object_new_uint64(counts->packets));
	json_object_object_add(way, "dmas", json_object_new_uint64(counts->dmas));
	return way;
}

struct json_object *publish_group_json(const struct bench_layout *layout,
				       struct publish_figures figures[], size_t count)
{
	struct json_object *group = json_object_new_object();
	struct json_object *ways = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(ways, way_json(&figures[i]));
	json_object_object_add(group, "members", json_object_new_uint64(layout->members));
	json_object_object_add(group, "bytes", json_object_new_uint64(layout->bytes));
	json_object_object_add(group, "table_bytes", json_object_new_uint64(layout->table_bytes));
	json_object_object_add(group, "ways", ways);
	return group;
}

int publish_print_json(struct publication_world *world, struct json_object *groups)
{
	struct json_object *root = json_object_new_object();
	const char *text;

	json_object_object_add(root, "gpu", json_object_new_string(world->info.isa));
	json_object_object_add(root, "software_gpu", json_object_new_boolean(world->software));
	json_object_object_add(
		root, "instructions_by",
		json_object_new_string(instruction_counter_exists() ? "processor" : "single steps"));
	json_object_object_add(root, "groups", json_object_get(groups));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY);
	if (text)
		puts(text);
	else
		tool_error_set(world->error, "out of memory");
	json_object_put(root);
	return text ? 0 : -1;
}
