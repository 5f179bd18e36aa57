/* SPDX-License-Identifier: MIT */
/* h2dpub-bench publish: what one publication costs the host, against HSA and HIP. */
#include "config.h"

#include "bench.h"

#include <getopt.h>

#include "bench_options.h"
#include "bench_plot.h"
#include "bench_publish.h"

#define LARGEST_ROUNDS	100000
#define DEFAULT_ROUNDS	100

struct publish_options {
	struct bench_layout layout; /* members 0: all layouts */
	uint32_t slots;
	uint64_t pack_limit; /* 0: the library's default */
	uint32_t rounds;
	bool count;
	bool json;
	const char *plot; /* the file for a chart; NULL: none */
	const char *step; /* the way that this process is stepped through; NULL: none */
};

void bench_publish_print_help(FILE *file)
{
	fputs("Usage: h2dpub-bench publish [OPTION]...\n"
	      "Publishes groups of arrays through each transport of the library, by plain copies of\n"
	      "the HSA runtime and, where the build has it, through HIP. Every way must land the same\n"
	      "bytes. Tells what submitting costs the host, and when a consumer behind it has run.\n"
	      "\n"
	      "  --members N      one group only, of 1 to 128 members (with --bytes)\n"
	      "  --bytes N        bytes of all its members, a multiple of 4 (with --members)\n"
	      "  --table-bytes N  of which the first member has so many (default: no such member)\n"
	      "  --slots N        owners that take turns, 1 to 64 (default 1)\n"
	      "  --pack-limit N   members of more bytes stay in their pinned source, where packed's\n"
	      "                   kernel reads them (default 65536)\n"
	      "  --rounds N       rounds of which the median is taken (default 100)\n"
	      "  --no-count       do not count instructions, which takes most of the time\n"
	      "  --json           print the results as JSON\n"
	      "  --plot FILE      draw the instructions as SVG (needs gnuplot)\n",
	      file);
}

/* ---- options ----------------------------------------------------------------------------------- */

enum option_code { OPTION_SLOTS = BENCH_FIRST_OTHER_OPTION, OPTION_PACK_LIMIT, OPTION_ROUNDS,
		   OPTION_NO_COUNT, OPTION_JSON, OPTION_PLOT, OPTION_STEP };

static const struct option option_table[] = {
	BENCH_LAYOUT_OPTIONS,
	{"slots", required_argument, NULL, OPTION_SLOTS},
	{"pack-limit", required_argument, NULL, OPTION_PACK_LIMIT},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"no-count", no_argument, NULL, OPTION_NO_COUNT},
	{"json", no_argument, NULL, OPTION_JSON},
	{"plot", required_argument, NULL, OPTION_PLOT},
	{"step", required_argument, NULL, OPTION_STEP},
	{0},
};

static int parse_option(struct publish_options *options, int code, const char *text,
			struct tool_error *error)
{
	int status = 0;

	switch (code) {
	case OPTION_SLOTS:
		status = bench_parse_count("slots", text, PUBLICATION_MAX_SLOTS, &options->slots,
					   error);
		break;
	case OPTION_PACK_LIMIT:
		status = bench_parse_number("pack-limit", text, 1, BENCH_LARGEST_BYTES,
					    &options->pack_limit, error);
		break;
	case OPTION_ROUNDS:
		status = bench_parse_count("rounds", text, LARGEST_ROUNDS, &options->rounds, error);
		break;
	case OPTION_NO_COUNT:
		options->count = false;
		break;
	case OPTION_JSON:
		options->json = true;
		break;
	case OPTION_PLOT:
		options->plot = text;
		break;
	case OPTION_STEP:
		options->step = text;
		break;
	default:
		status = bench_parse_layout_option(&options->layout, code, text, error);
		break;
	}
	return status;
}

static int parse(struct publish_options *options, int argc, char *argv[], struct tool_error *error)
{
	int code;

	*options = (struct publish_options){.slots = 1, .rounds = DEFAULT_ROUNDS,
					    .count = true};
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", option_table, NULL)) != -1) {
		if (code == '?') {
			bench_refuse_option(argv, error);
			return -1;
		}
		if (parse_option(options, code, optarg, error) < 0)
			return -1;
	}
	if (bench_check_arguments(argc, argv, error) < 0)
		return -1;
	if (options->plot && !options->count) {
		tool_error_set(error, "option --plot: it draws what --no-count leaves out");
		return -1;
	}
	return bench_check_layout(&options->layout, error);
}

/* ---- all groups ---------------------------------------------------------------------------------*/

int publish_measure_groups(struct publication_world *world, const struct bench_layout layouts[],
			   size_t layout_count, const struct publish_run *run,
			   struct json_object *groups)
{
	int result = 0;

	if (run->print)
		publish_print_head(world, run->rounds, run->count);
	for (size_t i = 0; i < layout_count && result == 0; i++) {
		struct publish_figures figures[PUBLISH_MAX_PEERS];
		size_t count = publish_list_ways(figures);

		result = publish_measure_group(world, &layouts[i], run->rounds,
					       run->count ? STEP_ROUNDS : 0, figures, count);
		if (result == 0)
			json_object_array_add(groups,
					      publish_group_json(&layouts[i], figures, count));
		if (result == 0 && run->print)
			publish_print_group(&layouts[i], figures, count);
		fflush(stdout);
		publish_free_figures(figures, count);
	}
	return result;
}

static int measure_all(struct publication_world *world, const struct publish_options *options)
{
	const bool one = options->layout.members != 0;
	const struct publish_run run = {.rounds = options->rounds,
					.count = options->count,
					.print = !options->json};
	struct json_object *groups = json_object_new_array();
	int result = publish_measure_groups(world, one ? &options->layout : bench_layouts,
					    one ? 1 : bench_layout_count, &run, groups);

	if (result == 0 && options->plot)
		result = plot_publish(world, groups, options->plot);
	if (result == 0 && options->json)
		result = publish_print_json(world, groups);
	json_object_put(groups);
	return result;
}

enum bench_exit bench_publish(int argc, char *argv[], struct tool_error *error)
{
	struct publish_options options;
	struct publication_world world;
	int result;

	if (parse(&options, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (options.plot && plot_check_gnuplot(error) < 0)
		return BENCH_FAILURE;
	if (publication_open(&world, error) < 0)
		return BENCH_FAILURE;
	world.slots = options.slots;
	world.pack_limit_bytes = options.pack_limit;
	if (options.step)
		result = publish_run_stepped(&world, &options.layout, options.step);
	else
		result = measure_all(&world, &options);
	publication_close(&world);
	return result < 0 ? BENCH_FAILURE : BENCH_DONE;
}
