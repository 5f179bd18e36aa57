/* SPDX-License-Identifier: MIT */
/* What the benchmarks' options have in common: numbers, a group of one's own, and what is wrong. */
#ifndef H2DPUB_TOOLS_BENCH_OPTIONS_H
#define H2DPUB_TOOLS_BENCH_OPTIONS_H

#include "bench_layout.h"
#include "tool_error.h"

/* Of a group, and so of whatever is a part of it. */
#define BENCH_LARGEST_BYTES (UINT32_C(64) << 20)

/* A whole number from least to largest. -1 with a message that names the option. */
int bench_parse_number(const char *name, const char *text, uint32_t least, uint32_t largest,
		       uint64_t *number, struct tool_error *error);

/* The same from 1 on. */
int bench_parse_count(const char *name, const char *text, uint32_t largest, uint32_t *number,
		      struct tool_error *error);

/* Why getopt_long() has returned '?'. */
void bench_refuse_option(char *argv[], struct tool_error *error);

/* -1 with a message if getopt_long() has left an argument. */
int bench_check_arguments(int argc, char *argv[], struct tool_error *error);

/* The options that describe one group, to stand in a table for getopt_long(). */
enum {
	BENCH_OPTION_MEMBERS = 256,
	BENCH_OPTION_BYTES,
	BENCH_OPTION_TABLE_BYTES,
	BENCH_FIRST_OTHER_OPTION
};
#define BENCH_LAYOUT_OPTIONS                                                                       \
	{"members", required_argument, NULL, BENCH_OPTION_MEMBERS},                                \
		{"bytes", required_argument, NULL, BENCH_OPTION_BYTES},                            \
	{                                                                                          \
		"table-bytes", required_argument, NULL, BENCH_OPTION_TABLE_BYTES                   \
	}

/* One of these; any other code changes nothing. */
int bench_parse_layout_option(struct bench_layout *layout, int code, const char *text,
			      struct tool_error *error);

/* Once all are parsed: whether there is such a group. members 0: none is asked for. */
int bench_check_layout(const struct bench_layout *layout, struct tool_error *error);

#endif
