/* SPDX-License-Identifier: MIT */
/* Charts of the benchmarks' results, drawn by gnuplot. */
#ifndef H2DPUB_TOOLS_BENCH_PLOT_H
#define H2DPUB_TOOLS_BENCH_PLOT_H

#include <json-c/json.h>

#include "bench_publication.h"

/* -1 with a message if there is no gnuplot: to be asked before anything is measured. */
int plot_check_gnuplot(struct tool_error *error);

/*
 * Draws the groups (as JSON) of h2dpub-bench publish, the steps of growth, or both, into an SVG file that
 * names the machine and the date. -1 with a message.
 */
int plot_publish(struct publication_world *world, struct json_object *groups, const char *file_name);
int plot_growth(struct publication_world *world, struct json_object *steps, const char *file_name);
int plot_all(struct publication_world *world, struct json_object *groups, struct json_object *steps,
	     const char *file_name);

#endif
