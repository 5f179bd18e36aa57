/* SPDX-License-Identifier: MIT */
/* h2dpub-bench: measures parts of the library against plain alternatives in the same run. */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <string.h>

#include "standard_descriptors.h"

static const struct benchmark {
	const char *name;
	const char *subject;
	enum bench_exit (*run)(int argc, char *argv[], struct tool_error *error);
	void (*print_help)(FILE *file);
} benchmarks[] = {
	{"publish", "what one publication costs the host", bench_publish, bench_publish_print_help},
	{"growth", "the same as groups grow", bench_growth, bench_growth_print_help},
	{"kernels", "the kernels on the device", bench_kernels, bench_kernels_print_help},
	{"table", "preparing block tables, and the delta codec", bench_table, bench_table_print_help},
};

#define BENCHMARKS (sizeof(benchmarks) / sizeof(benchmarks[0]))

static void print_help(FILE *file)
{
	fputs("Usage: h2dpub-bench BENCHMARK [OPTION]...\n"
	      "  or:  h2dpub-bench [--plot FILE] [--quick]\n"
	      "Measures parts of the library. Times are medians over rounds in which all cases take\n"
	      "turns, ratios are against plain alternatives of the same run.\n"
	      "\n",
	      file);
	for (size_t i = 0; i < BENCHMARKS; i++)
		fprintf(file, "  %-10s %s\n", benchmarks[i].name, benchmarks[i].subject);
	fputs("\n"
	      "Without one all of them are run.\n"
	      "  --plot FILE  draw the instructions of publish and growth as SVG (needs gnuplot)\n"
	      "  --quick      a few rounds of small groups: whether it works\n"
	      "\n  --help     print this help and exit; after a benchmark, its options\n"
	      "  --version  print the version and exit\n"
	      "\n"
	      "Exit status: 0 measured, 2 a wrong option, 3 something failed.\n",
	      file);
}

static const struct benchmark *find(const char *name)
{
	for (size_t i = 0; i < BENCHMARKS; i++) {
		if (strcmp(benchmarks[i].name, name) == 0)
			return &benchmarks[i];
	}
	return NULL;
}

int main(int argc, char *argv[])
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct benchmark *benchmark = find(name);
	struct tool_error error;
	enum bench_exit status = BENCH_DONE;

	if (standard_descriptors_occupy(&error) < 0) {
		status = BENCH_FAILURE;
	} else if (strcmp(name, "--help") == 0) {
		print_help(stdout);
	} else if (strcmp(name, "--version") == 0) {
		printf("h2dpub-bench %s\n", PACKAGE_VERSION);
	} else if (name[0] == '\0' || name[0] == '-') {
		status = bench_all(argc, argv, &error);
	} else if (benchmark == NULL) {
		tool_error_set(&error, "benchmark %s is unknown", tool_quote(name, strlen(name)).text);
		status = BENCH_WRONG_USE;
	} else if (argc > 2 && strcmp(argv[2], "--help") == 0) {
		benchmark->print_help(stdout);
	} else {
		status = benchmark->run(argc - 1, argv + 1, &error);
	}
	if (status == BENCH_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
		tool_error_set(&error, "cannot write the results: %s", strerror(errno));
		status = BENCH_FAILURE;
	}
	if (status != BENCH_DONE)
		fprintf(stderr, "h2dpub-bench: %s\n%s", error.text,
			status == BENCH_WRONG_USE ? "Try 'h2dpub-bench --help'.\n" : "");
	return status;
}
