/* SPDX-License-Identifier: MIT */
/* The benchmarks of h2dpub-bench: one function and one help text each. */
#ifndef H2DPUB_TOOLS_BENCH_H
#define H2DPUB_TOOLS_BENCH_H

#include <stdio.h>

#include "tool_error.h"

enum bench_exit { BENCH_DONE = 0, BENCH_WRONG_USE = 2, BENCH_FAILURE = 3 };

/* All benchmarks; argv[0] is the program's name. */
enum bench_exit bench_all(int argc, char *argv[], struct tool_error *error);

/* argv[0] is the benchmark's name. Prints its results; else returns with a message in error. */
enum bench_exit bench_table(int argc, char *argv[], struct tool_error *error);
void bench_table_print_help(FILE *file);
enum bench_exit bench_publish(int argc, char *argv[], struct tool_error *error);
void bench_publish_print_help(FILE *file);
enum bench_exit bench_growth(int argc, char *argv[], struct tool_error *error);
void bench_growth_print_help(FILE *file);
enum bench_exit bench_kernels(int argc, char *argv[], struct tool_error *error);
void bench_kernels_print_help(FILE *file);

#endif
