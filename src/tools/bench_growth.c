/* SPDX-License-Identifier: MIT */
/*
 * h2dpub-bench growth: what a publication costs the host as its group grows: in members, in rows of
 * the batch, in columns of a block table; and as more slots take turns.
 */
#include "config.h"

#include "bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "bench_options.h"
#include "bench_plot.h"
#include "bench_publish.h"

#define DEFAULT_ROUNDS 30
#define LARGEST_ROUNDS 100000
#define MAX_STEPS      16

/* Instructions of a few more than linear are noise: locks taken or not, alignment of copies. */
#define LINEAR 1.05

/* One figure that grows, and what it makes of the group. */
struct series {
	const char *name;
	uint32_t steps[MAX_STEPS]; /* ends with a 0 */
	void (*lay_out)(uint32_t step, struct bench_layout *layout, uint32_t *slots);
};

static void grow_members(uint32_t step, struct bench_layout *layout, uint32_t *slots)
{
	(void)slots;
	*layout = (struct bench_layout){.members = step, .bytes = step * 512};
}

static void grow_slots(uint32_t step, struct bench_layout *layout, uint32_t *slots)
{
	*layout = (struct bench_layout){.members = 20, .bytes = 19000};
	*slots = step;
}

/* 20 arrays with one int32 or int64, or two, a request. */
static void grow_batch(uint32_t step, struct bench_layout *layout, uint32_t *slots)
{
	(void)slots;
	*layout = (struct bench_layout){.members = 20, .bytes = step * 20 * 8};
}

/* A block table of 64 requests, and the rest of their group. */
static void grow_columns(uint32_t step, struct bench_layout *layout, uint32_t *slots)
{
	(void)slots;
	*layout = (struct bench_layout){.members = 20,
					.bytes = 19000 + (uint64_t)step * 64 * 4,
					.table_bytes = (uint64_t)step * 64 * 4};
}

static const struct series all_series[] = {
	{"members", {2, 4, 8, 16, 32, 64, 128}, grow_members},
	{"slots", {1, 2, 4, 8, 16, 32, 64}, grow_slots},
	{"batch", {1, 4, 16, 64, 256, 1024, 4096}, grow_batch},
	{"columns", {16, 64, 256, 1024, 4096, 16384, 65536}, grow_columns},
};
#define SERIES (sizeof(all_series) / sizeof(all_series[0]))

void bench_growth_print_help(FILE *file)
{
	fputs("Usage: h2dpub-bench growth [OPTION]...\n"
	      "Publishes groups of 2 to 128 members of 512 bytes; 20 members of 19,000 bytes by 1 to 64\n"
	      "slots in turn; 20 members of batches of 1 to 4096; 20 members of which one is a block\n"
	      "table of 64 rows with 16 to 65,536 columns. Tells whether the host's instructions grow\n"
	      "faster than bytes + members.\n"
	      "\n"
	      "  --series NAME  members, slots, batch or columns only\n"
	      "  --steps N      only the first N steps of each series\n"
	      "  --rounds N     rounds of which the median is taken (default 30)\n"
	      "  --json         print the results as JSON\n"
	      "  --plot FILE    draw the instructions as SVG (needs gnuplot)\n",
	      file);
}

struct growth_options {
	const char *series; /* NULL: all */
	uint32_t steps;
	uint32_t rounds;
	bool json;
	const char *plot; /* the file for a chart; NULL: none */
};

/* ---- options ----------------------------------------------------------------------------------- */

static int check_series(const char *name, struct tool_error *error)
{
	for (size_t i = 0; i < SERIES; i++) {
		if (strcmp(name, all_series[i].name) == 0)
			return 0;
	}
	tool_error_set(error, "option --series: there is no series %s",
		       tool_quote(name, strlen(name)).text);
	return -1;
}

static int parse(struct growth_options *options, int argc, char *argv[], struct tool_error *error)
{
	enum { OPTION_SERIES = BENCH_FIRST_OTHER_OPTION, OPTION_STEPS, OPTION_ROUNDS, OPTION_JSON,
	       OPTION_PLOT };
	static const struct option table[] = {
		{"series", required_argument, NULL, OPTION_SERIES},
		{"steps", required_argument, NULL, OPTION_STEPS},
		{"rounds", required_argument, NULL, OPTION_ROUNDS},
		{"json", no_argument, NULL, OPTION_JSON},
		{"plot", required_argument, NULL, OPTION_PLOT},
		{0},
	};
	int code, status = 0;

	*options = (struct growth_options){.steps = MAX_STEPS, .rounds = DEFAULT_ROUNDS};
	opterr = 0;
	while (status == 0 && (code = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (code == OPTION_SERIES) {
			options->series = optarg;
			status = check_series(optarg, error);
		} else if (code == OPTION_STEPS) {
			status = bench_parse_count("steps", optarg, MAX_STEPS, &options->steps, error);
		} else if (code == OPTION_ROUNDS) {
			status = bench_parse_count("rounds", optarg, LARGEST_ROUNDS,
						   &options->rounds, error);
		} else if (code == OPTION_JSON) {
			options->json = true;
		} else if (code == OPTION_PLOT) {
			options->plot = optarg;
		} else {
			bench_refuse_option(argv, error);
			status = -1;
		}
	}
	return status == 0 ? bench_check_arguments(argc, argv, error) : status;
}

/* ---- one series --------------------------------------------------------------------------------- */

/* What a way has cost at the smallest step and at the one before. */
struct growth {
	double first_instructions, first_work;
	double worst; /* growth of the instructions over that of the work, since the first step */
};

static double follow(struct growth *growth, const struct step_counts *counts,
		     const struct bench_layout *layout)
{
	double work = (double)(layout->bytes + layout->members);
	double instructions = (double)counts->instructions, factor;

	if (growth->first_work == 0)
		*growth = (struct growth){instructions, work, 0};
	factor = instructions / growth->first_instructions / (work / growth->first_work);
	if (factor > growth->worst)
		growth->worst = factor;
	return factor;
}

static void print_head(const struct series *series, const struct publish_figures figures[],
		       size_t count)
{
	printf("\n%s\n\n| %8s | %9s |", series->name, series->name, "bytes");
	for (size_t i = 0; i < count; i++)
		printf(" %9s us | instr. | growth |", figures[i].peer->name);
	printf("\n| -------- | --------- |");
	for (size_t i = 0; i < count; i++)
		printf(" ------------ | ------ | ------ |");
	putchar('\n');
}

static struct json_object *step_json(const struct series *series, uint32_t step,
				     const struct bench_layout *layout,
				     struct publish_figures figures[], size_t count)
{
	struct json_object *object = publish_group_json(layout, figures, count);

	json_object_object_add(object, "series", json_object_new_string(series->name));
	json_object_object_add(object, "step", json_object_new_uint64(step));
	return object;
}

static void print_step(uint32_t step, const struct bench_layout *layout,
		       struct publish_figures figures[], struct growth growth[], size_t count)
{
	printf("| %8" PRIu32 " | %9" PRIu64 " |", step, layout->bytes);
	for (size_t i = 0; i < count; i++)
		printf(" %12.2f | %6" PRIu64 " | %6.3f |",
		       (double)samples_percentile(&figures[i].submit_ns, 50) / 1000,
		       figures[i].counts.instructions,
		       follow(&growth[i], &figures[i].counts, layout));
	putchar('\n');
	fflush(stdout);
}

static void print_verdict(const struct series *series, const struct publish_figures figures[],
			  const struct growth growth[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s, %s: %s (at most %.3f times what bytes + members grew by)\n",
		       series->name, figures[i].peer->name,
		       growth[i].worst <= LINEAR ? "no worse than linear" : "WORSE THAN LINEAR",
		       growth[i].worst);
}

/* The library's three transports: the first of all ways. */
#define TRANSPORTS 3

static int measure_series(struct publication_world *world, const struct series *series,
			  uint32_t steps, const struct publish_run *run,
			  struct json_object *results)
{
	struct publish_figures figures[PUBLISH_MAX_PEERS];
	struct growth growth[TRANSPORTS] = {{0}};

	for (uint32_t i = 0; i < steps && series->steps[i] != 0; i++) {
		struct bench_layout layout;

		world->slots = 1;
		series->lay_out(series->steps[i], &layout, &world->slots);
		publish_list_ways(figures);
		if (i == 0 && run->print)
			print_head(series, figures, TRANSPORTS);
		if (publish_measure_group(world, &layout, run->rounds, 1, figures, TRANSPORTS) < 0)
			return -1;
		json_object_array_add(results, step_json(series, series->steps[i], &layout, figures,
							 TRANSPORTS));
		if (run->print)
			print_step(series->steps[i], &layout, figures, growth, TRANSPORTS);
		publish_free_figures(figures, TRANSPORTS);
	}
	if (run->print) {
		putchar('\n');
		print_verdict(series, figures, growth, TRANSPORTS);
	}
	return 0;
}

int growth_measure(struct publication_world *world, const char *series, uint32_t steps,
		   const struct publish_run *run, struct json_object *results)
{
	int result = 0;

	if (run->print)
		publish_print_head(world, run->rounds, true);
	for (size_t i = 0; i < SERIES && result == 0; i++) {
		if (!series || strcmp(series, all_series[i].name) == 0)
			result = measure_series(world, &all_series[i], steps, run, results);
	}
	return result;
}

enum bench_exit bench_growth(int argc, char *argv[], struct tool_error *error)
{
	struct growth_options options;
	struct publication_world world;
	struct publish_run run = {.count = true};
	struct json_object *results;
	int result;

	if (parse(&options, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (options.plot && plot_check_gnuplot(error) < 0)
		return BENCH_FAILURE;
	if (publication_open(&world, error) < 0)
		return BENCH_FAILURE;
	results = json_object_new_array();
	run.rounds = options.rounds;
	run.print = !options.json;
	result = growth_measure(&world, options.series, options.steps, &run, results);
	if (result == 0 && options.plot)
		result = plot_growth(&world, results, options.plot);
	if (result == 0 && options.json)
		result = publish_print_json(&world, results);
	json_object_put(results);
	publication_close(&world);
	return result < 0 ? BENCH_FAILURE : BENCH_DONE;
}
