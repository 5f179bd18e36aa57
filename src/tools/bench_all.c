/* SPDX-License-Identifier: MIT */
/* h2dpub-bench without a benchmark: all of them, one after the other, and one chart. */
#include "config.h"

#include "bench.h"

#include <getopt.h>

#include "bench_options.h"
#include "bench_plot.h"
#include "bench_publish.h"

#define MOST_ARGUMENTS 8

/* What the whole run and the quick one differ in; the latter only shows that all of it works. */
struct extent {
	const struct bench_layout *layouts;
	size_t layout_count; /* 0: all */
	uint32_t steps;	     /* of growth */
	struct publish_run publish, growth;
	/* The arguments of these benchmarks, up to NULL. */
	char *kernels[MOST_ARGUMENTS];
	char *table[MOST_ARGUMENTS];
};

static const struct bench_layout quick_layouts[] = {{4, 900, 0}, {4, 70000, 69000}};

static const struct extent whole = {
	.steps = UINT32_MAX,
	.publish = {.rounds = 100, .count = true, .print = true},
	.growth = {.rounds = 30, .count = true, .print = true},
	.kernels = {"kernels"},
	.table = {"table"},
};

static const struct extent quick = {
	.layouts = quick_layouts,
	.layout_count = 2,
	.steps = 2,
	.publish = {.rounds = 3, .count = true, .print = true},
	.growth = {.rounds = 3, .count = true, .print = true},
	.kernels = {"kernels", "--members", "4", "--bytes", "900", "--rounds", "3"},
	.table = {"table", "--rows", "32", "--columns", "256", "--rounds", "3"},
};

static int parse(int argc, char *argv[], const struct extent **extent, const char **plot,
		 struct tool_error *error)
{
	enum { OPTION_PLOT = BENCH_FIRST_OTHER_OPTION, OPTION_QUICK };
	static const struct option table[] = {
		{"plot", required_argument, NULL, OPTION_PLOT},
		{"quick", no_argument, NULL, OPTION_QUICK},
		{0},
	};
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (code == OPTION_PLOT) {
			*plot = optarg;
		} else if (code == OPTION_QUICK) {
			*extent = &quick;
		} else {
			bench_refuse_option(argv, error);
			return -1;
		}
	}
	return bench_check_arguments(argc, argv, error);
}

static void print_name(const char *name)
{
	printf("==== h2dpub-bench %s\n", name);
}

/* What the chart shows. */
static int measure_publications(const struct extent *extent, const char *plot,
				struct tool_error *error)
{
	struct json_object *groups = json_object_new_array(), *steps = json_object_new_array();
	struct publication_world world;
	int result = publication_open(&world, error);

	if (result == 0) {
		print_name("publish");
		result = publish_measure_groups(
			&world, extent->layout_count ? extent->layouts : bench_layouts,
			extent->layout_count ? extent->layout_count : bench_layout_count,
			&extent->publish, groups);
		putchar('\n');
		if (result == 0) {
			print_name("growth");
			result = growth_measure(&world, NULL, extent->steps, &extent->growth,
						steps);
			putchar('\n');
		}
		if (result == 0 && plot)
			result = plot_all(&world, groups, steps, plot);
		publication_close(&world);
	}
	json_object_put(steps);
	json_object_put(groups);
	return result;
}

static enum bench_exit run(enum bench_exit (*benchmark)(int argc, char *argv[], struct tool_error *),
			   char *const arguments[MOST_ARGUMENTS], struct tool_error *error)
{
	char *argv[MOST_ARGUMENTS + 1] = {NULL};
	int argc = 0;

	for (; argc < MOST_ARGUMENTS && arguments[argc]; argc++)
		argv[argc] = arguments[argc];
	optind = 1; /* another list of arguments */
	print_name(argv[0]);
	return benchmark(argc, argv, error);
}

enum bench_exit bench_all(int argc, char *argv[], struct tool_error *error)
{
	const struct extent *extent = &whole;
	const char *plot = NULL;
	enum bench_exit status;

	if (parse(argc, argv, &extent, &plot, error) < 0)
		return BENCH_WRONG_USE;
	if (plot && plot_check_gnuplot(error) < 0)
		return BENCH_FAILURE;
	if (measure_publications(extent, plot, error) < 0)
		return BENCH_FAILURE;
	status = run(bench_kernels, extent->kernels, error);
	if (status != BENCH_DONE)
		return status;
	putchar('\n');
	return run(bench_table, extent->table, error);
}
