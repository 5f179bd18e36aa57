/* SPDX-License-Identifier: MIT */
/* h2dpub-bench table: preparing block tables against copying and comparing them; the delta codec. */
#include "config.h"

#include "bench.h"

#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "bench_codec.h"
#include "bench_options.h"
#include "bench_world.h"

#define LARGEST_ROWS    65536
#define LARGEST_COLUMNS 65536
#define LARGEST_ROUNDS  1000

/* Measured unless a size is asked for. */
static const uint32_t all_rows[] = {1, 32, 256, 512, 4096};
static const uint32_t all_columns[] = {64, 256, 1024, 4096, 8192};
static const uint32_t codec_sizes[][2] = {{50, 6000}, {512, 8192}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct table_options {
	uint32_t rows, columns; /* 0: all */
	uint32_t rounds;
	uint32_t count_calls; /* 0: measure times */
	const char *case_name;
	bool json;
};

void bench_table_print_help(FILE *file)
{
	fputs("Usage: h2dpub-bench table [OPTION]...\n"
	      "Prepares block tables of several sizes: a hit, one append to every row, one changed\n"
	      "row, all rows replaced; against copying and comparing all rows, and copying one row.\n"
	      "Encodes and decodes delta messages, against copying whole tables.\n"
	      "\n"
	      "  --rows N        one size only (with --columns)\n"
	      "  --columns N     one size only (with --rows)\n"
	      "  --rounds N      rounds of which the median is taken (default 15)\n"
	      "  --json          print the results as JSON\n"
	      "  --count CALLS   make so many calls of --case, to count their instructions:\n"
	      "      valgrind --tool=callgrind --toggle-collect=bench_measured \\\n"
	      "          --callgrind-out-file=/dev/null \\\n"
	      "          h2dpub-bench table --rows 512 --columns 1024 --case hit --count 10\n"
	      "                  tells \"Collected\" instructions of 10 calls.\n"
	      "  --case NAME     copy, compare, hit, append, change, copy-row or replace; with\n"
	      "                  --codec encode-whole, encode-delta, decode-whole, decode-delta,\n"
	      "                  copy-whole\n"
	      "  --codec         only the codec, of --rows requests with --columns ids\n"
	      "\n"
	      "A spread is the range of the middle half of the rounds over their median.\n",
	      file);
}

enum option_code { OPTION_ROWS = 256, OPTION_COLUMNS, OPTION_ROUNDS, OPTION_JSON, OPTION_COUNT,
		   OPTION_CASE, OPTION_CODEC };

static int parse(struct table_options *options, bool *codec, int argc, char *argv[],
		 struct tool_error *error)
{
	static const struct option table[] = {
		{"rows", required_argument, NULL, OPTION_ROWS},
		{"columns", required_argument, NULL, OPTION_COLUMNS},
		{"rounds", required_argument, NULL, OPTION_ROUNDS},
		{"json", no_argument, NULL, OPTION_JSON},
		{"count", required_argument, NULL, OPTION_COUNT},
		{"case", required_argument, NULL, OPTION_CASE},
		{"codec", no_argument, NULL, OPTION_CODEC},
		{0},
	};
	int code, status = 0;

	*options = (struct table_options){.rounds = 15};
	opterr = 0;
	while (status == 0 && (code = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (code == OPTION_ROWS)
			status = bench_parse_count("rows", optarg, LARGEST_ROWS, &options->rows,
						   error);
		else if (code == OPTION_COLUMNS)
			status = bench_parse_count("columns", optarg, LARGEST_COLUMNS,
						   &options->columns, error);
		else if (code == OPTION_ROUNDS)
			status = bench_parse_count("rounds", optarg, LARGEST_ROUNDS,
						   &options->rounds, error);
		else if (code == OPTION_COUNT)
			status = bench_parse_count("count", optarg, 1000000, &options->count_calls,
						   error);
		else if (code == OPTION_JSON)
			options->json = true;
		else if (code == OPTION_CODEC)
			*codec = true;
		else if (code == OPTION_CASE)
			options->case_name = optarg;
		else
			status = -1, bench_refuse_option(argv, error);
	}
	if (status == 0)
		status = bench_check_arguments(argc, argv, error);
	if (status == 0 && (options->rows == 0) != (options->columns == 0)) {
		tool_error_set(error, "options --rows and --columns: one is missing");
		status = -1;
	}
	if (status == 0 && (options->count_calls == 0) != (options->case_name == NULL)) {
		tool_error_set(error, "options --count and --case: one is missing");
		status = -1;
	}
	if (status == 0 && options->count_calls != 0 && options->rows == 0) {
		tool_error_set(error, "option --count: it needs --rows and --columns");
		status = -1;
	}
	return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static double spread(struct bench_case *bench_case)
{
	double median = bench_median(bench_case);

	return median > 0 ? (bench_percentile(bench_case, 75) - bench_percentile(bench_case, 25)) / median
			  : 0;
}

static double ratio(double dividend, double divisor)
{
	return divisor > 0 ? dividend / divisor : 0;
}

static void add_number(struct json_object *object, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.3f", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static struct json_object *size_object(uint32_t rows, uint32_t columns)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "rows", json_object_new_int64(rows));
	json_object_object_add(object, "columns", json_object_new_int64(columns));
	return object;
}

static void add_cases(struct json_object *object, struct bench_case cases[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct json_object *times = json_object_new_object();

		add_number(times, "median_ns", bench_median(&cases[i]));
		add_number(times, "p25_ns", bench_percentile(&cases[i], 25));
		add_number(times, "p75_ns", bench_percentile(&cases[i], 75));
		json_object_object_add(object, cases[i].name, times);
	}
}

static void print_table_head(void)
{
	puts("Block tables: times in us, spread in brackets; the change is also given as what it takes\n"
	     "above a hit, over the copy of one row.\n"
	     " rows columns         copy      compare          hit  copy/hit cmp/hit       append"
	     "  copy/app       change  (change-hit)/row      replace  replace/copy");
}

static void print_time(struct bench_case *bench_case)
{
	printf(" %7.2f(%2.0f%%)", bench_median(bench_case) / 1e3, 100 * spread(bench_case));
}

static void print_table_row(uint32_t rows, uint32_t columns, struct bench_case cases[])
{
	double copy = bench_median(&cases[BENCH_COPY]), hit = bench_median(&cases[BENCH_HIT]);

	printf("%5u %7u", rows, columns);
	print_time(&cases[BENCH_COPY]);
	print_time(&cases[BENCH_COMPARE]);
	print_time(&cases[BENCH_HIT]);
	printf(" %9.1f %7.1f", ratio(copy, hit), ratio(bench_median(&cases[BENCH_COMPARE]), hit));
	print_time(&cases[BENCH_APPEND]);
	printf(" %9.1f", ratio(copy, bench_median(&cases[BENCH_APPEND])));
	print_time(&cases[BENCH_CHANGE]);
	printf(" %17.2f", ratio(bench_median(&cases[BENCH_CHANGE]) - hit,
				bench_median(&cases[BENCH_COPY_ROW])));
	print_time(&cases[BENCH_REPLACE]);
	printf(" %13.2f\n", ratio(bench_median(&cases[BENCH_REPLACE]), copy));
}

static void print_codec_row(const struct bench_codec_sizes *sizes, uint32_t rows, uint32_t columns,
			    struct bench_case cases[])
{
	printf("%5u %7u", rows, columns);
	for (int i = 0; i < BENCH_CODEC_CASES; i++)
		print_time(&cases[i]);
	printf("  %9zu %9zu %7.1f\n", sizes->whole_bytes, sizes->delta_bytes,
	       ratio((double)sizes->whole_bytes, (double)sizes->delta_bytes));
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int count_case(struct bench_case cases[], uint32_t count, const struct table_options *options,
		      void *context, struct tool_error *error)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(cases[i].name, options->case_name) == 0) {
			bench_count(&cases[i], options->count_calls, context);
			return 0;
		}
	}
	tool_error_set(error, "option --case: there is no case %s",
		       tool_quote(options->case_name, strlen(options->case_name)).text);
	return -1;
}

static int measure_table(uint32_t rows, uint32_t columns, const struct table_options *options,
			 struct json_object *results, struct tool_error *error)
{
	/* One a round, and one that does not count; fewer where rows are short. */
	uint32_t appends = options->count_calls ? options->count_calls : options->rounds + 1;
	struct bench_case cases[BENCH_TABLE_CASES];
	struct bench_world *world;
	int status = 0;

	if (appends > columns) {
		tool_error_set(error, "%u appends to rows of %u columns", appends, columns);
		return -1;
	}
	world = bench_world_create(rows, columns, appends);
	if (world == NULL) {
		tool_error_set(error, "out of memory for %u rows of %u columns", rows, columns);
		return -1;
	}
	bench_world_cases(cases);
	if (options->count_calls != 0)
		status = count_case(cases, BENCH_TABLE_CASES, options, world, error);
	else if (bench_measure(cases, BENCH_TABLE_CASES, options->rounds, world) < 0)
		status = -1, tool_error_set(error, "out of memory for the samples");
	if (status == 0 && bench_world_failure(world) != NULL)
		status = -1, tool_error_set(error, "%s", bench_world_failure(world));
	if (status == 0 && results != NULL) {
		struct json_object *object = size_object(rows, columns);

		add_cases(object, cases, BENCH_TABLE_CASES);
		json_object_array_add(results, object);
	} else if (status == 0 && options->count_calls == 0) {
		print_table_row(rows, columns, cases);
		fflush(stdout);
	}
	bench_free(cases, BENCH_TABLE_CASES);
	bench_world_destroy(world);
	return status;
}

static int measure_codec(uint32_t rows, uint32_t columns, const struct table_options *options,
			 struct json_object *results, struct tool_error *error)
{
	struct bench_case cases[BENCH_CODEC_CASES];
	struct bench_codec *codec = bench_codec_create(rows, columns);
	int status = 0;

	if (codec == NULL) {
		tool_error_set(error, "cannot set up the codec: %s", h2d_error_message());
		return -1;
	}
	bench_codec_cases(cases);
	if (options->count_calls != 0)
		status = count_case(cases, BENCH_CODEC_CASES, options, codec, error);
	else if (bench_measure(cases, BENCH_CODEC_CASES, options->rounds, codec) < 0)
		status = -1, tool_error_set(error, "out of memory for the samples");
	if (status == 0 && bench_codec_failure(codec) != NULL)
		status = -1, tool_error_set(error, "%s", bench_codec_failure(codec));
	if (status == 0 && results != NULL) {
		struct json_object *object = size_object(rows, columns);
		struct bench_codec_sizes sizes = bench_codec_get_sizes(codec);

		json_object_object_add(object, "whole_bytes",
				       json_object_new_int64((int64_t)sizes.whole_bytes));
		json_object_object_add(object, "delta_bytes",
				       json_object_new_int64((int64_t)sizes.delta_bytes));
		add_cases(object, cases, BENCH_CODEC_CASES);
		json_object_array_add(results, object);
	} else if (status == 0 && options->count_calls == 0) {
		struct bench_codec_sizes sizes = bench_codec_get_sizes(codec);

		print_codec_row(&sizes, rows, columns, cases);
	}
	bench_free(cases, BENCH_CODEC_CASES);
	bench_codec_destroy(codec);
	return status;
}

static int measure_tables(const struct table_options *options, struct json_object *results,
			  struct tool_error *error)
{
	int status = 0;

	if (results == NULL)
		print_table_head();
	if (options->rows != 0)
		return measure_table(options->rows, options->columns, options, results, error);
	for (size_t i = 0; i < COUNT(all_rows) && status == 0; i++) {
		for (size_t j = 0; j < COUNT(all_columns) && status == 0; j++)
			status = measure_table(all_rows[i], all_columns[j], options, results, error);
	}
	return status;
}

static int measure_codecs(const struct table_options *options, struct json_object *results,
			  struct tool_error *error)
{
	int status = 0;

	if (results == NULL)
		puts("Delta codec: times in us of whole tables, then of one more id in every row, then of\n"
		     "copying whole tables; sizes in bytes.\n"
		     " rows     ids encode-whole encode-delta decode-whole decode-delta   copy-whole"
		     "      whole     delta  ratio");
	if (options->rows != 0)
		return measure_codec(options->rows, options->columns, options, results, error);
	for (size_t i = 0; i < COUNT(codec_sizes) && status == 0; i++)
		status = measure_codec(codec_sizes[i][0], codec_sizes[i][1], options, results, error);
	return status;
}

enum bench_exit bench_table(int argc, char *argv[], struct tool_error *error)
{
	struct json_object *root = NULL, *tables = NULL, *codecs = NULL;
	struct table_options options;
	bool codec = false;
	int status = 0;

	if (parse(&options, &codec, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (options.count_calls != 0) {
		status = codec ? measure_codec(options.rows, options.columns, &options, NULL, error)
			       : measure_table(options.rows, options.columns, &options, NULL, error);
		return status < 0 ? BENCH_FAILURE : BENCH_DONE;
	}
	if (options.json) {
		root = json_object_new_object();
		tables = json_object_new_array();
		codecs = json_object_new_array();
		json_object_object_add(root, "tables", tables);
		json_object_object_add(root, "codec", codecs);
	}
	if (!codec)
		status = measure_tables(&options, tables, error);
	if (status == 0 && (codec || options.rows == 0))
		status = measure_codecs(&options, codecs, error);
	if (status == 0 && root != NULL)
		puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
								  JSON_C_TO_STRING_SPACED));
	json_object_put(root);
	return status < 0 ? BENCH_FAILURE : BENCH_DONE;
}
