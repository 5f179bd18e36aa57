/* SPDX-License-Identifier: MIT */
/* h2dpub-bench publish: what one publication costs the host, against HSA and HIP. */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench_plot.h"
#include "bench_publish.h"

#define LARGEST_BYTES	(UINT32_C(64) << 20)
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

enum option_code { OPTION_MEMBERS = 256, OPTION_BYTES, OPTION_TABLE_BYTES, OPTION_SLOTS,
		   OPTION_PACK_LIMIT, OPTION_ROUNDS, OPTION_NO_COUNT, OPTION_JSON, OPTION_PLOT, OPTION_STEP };

static const struct option option_table[] = {
	{"members", required_argument, NULL, OPTION_MEMBERS},
	{"bytes", required_argument, NULL, OPTION_BYTES},
	{"table-bytes", required_argument, NULL, OPTION_TABLE_BYTES},
	{"slots", required_argument, NULL, OPTION_SLOTS},
	{"pack-limit", required_argument, NULL, OPTION_PACK_LIMIT},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"no-count", no_argument, NULL, OPTION_NO_COUNT},
	{"json", no_argument, NULL, OPTION_JSON},
	{"plot", required_argument, NULL, OPTION_PLOT},
	{"step", required_argument, NULL, OPTION_STEP},
	{0},
};

static int parse_number(const char *name, const char *text, uint32_t least, uint32_t largest,
			uint64_t *number, struct tool_error *error)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *number >= least &&
	    *number <= largest)
		return 0;
	tool_error_set(error, "option --%s: %s is not a whole number from %u to %u", name,
		       tool_quote(text, strlen(text)).text, least, largest);
	return -1;
}

static int parse_option(struct publish_options *options, int code, const char *text,
			struct tool_error *error)
{
	uint64_t number = 0;
	int status = 0;

	switch (code) {
	case OPTION_MEMBERS:
		status = parse_number("members", text, 1, BENCH_MAX_MEMBERS, &number, error);
		options->layout.members = (uint32_t)number;
		break;
	case OPTION_BYTES:
		status = parse_number("bytes", text, 4, LARGEST_BYTES, &options->layout.bytes,
				      error);
		break;
	case OPTION_TABLE_BYTES:
		status = parse_number("table-bytes", text, 4, LARGEST_BYTES,
				      &options->layout.table_bytes, error);
		break;
	case OPTION_SLOTS:
		status = parse_number("slots", text, 1, PUBLICATION_MAX_SLOTS, &number, error);
		options->slots = (uint32_t)number;
		break;
	case OPTION_PACK_LIMIT:
		status = parse_number("pack-limit", text, 1, LARGEST_BYTES, &options->pack_limit,
				      error);
		break;
	case OPTION_ROUNDS:
		status = parse_number("rounds", text, 1, LARGEST_ROUNDS, &number, error);
		options->rounds = (uint32_t)number;
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
		status = -1;
		break;
	}
	return status;
}

static int check_layout(const struct bench_layout *layout, struct tool_error *error)
{
	uint64_t small = layout->bytes - layout->table_bytes;
	uint32_t small_members = layout->members - (layout->table_bytes ? 1 : 0);

	if ((layout->members == 0) != (layout->bytes == 0))
		tool_error_set(error, "options --members and --bytes: one is missing");
	else if (layout->members == 0 && layout->table_bytes != 0)
		tool_error_set(error, "option --table-bytes: it needs --members and --bytes");
	else if (layout->bytes % 4 != 0 || layout->table_bytes % 4 != 0)
		tool_error_set(error, "options --bytes and --table-bytes: no multiple of 4");
	else if (layout->table_bytes > layout->bytes || small / 4 < small_members ||
		 (small != 0 && small_members == 0))
		tool_error_set(error, "option --bytes: %llu bytes are not what %u members can have",
			       (unsigned long long)layout->bytes, layout->members);
	else
		return 0;
	return -1;
}

static int parse(struct publish_options *options, int argc, char *argv[], struct tool_error *error)
{
	int code;

	*options = (struct publish_options){.slots = 1, .rounds = DEFAULT_ROUNDS,
					    .count = true};
	opterr = 0;
	while ((code = getopt_long(argc, argv, "", option_table, NULL)) != -1) {
		if (code == '?') {
			tool_error_set(error, "option %s is unknown or has no value",
				       tool_quote(argv[optind - 1], strlen(argv[optind - 1])).text);
			return -1;
		}
		if (parse_option(options, code, optarg, error) < 0)
			return -1;
	}
	if (optind < argc) {
		tool_error_set(error, "argument %s is not an option",
			       tool_quote(argv[optind], strlen(argv[optind])).text);
		return -1;
	}
	if (options->plot && !options->count) {
		tool_error_set(error, "option --plot: it draws what --no-count leaves out");
		return -1;
	}
	return check_layout(&options->layout, error);
}

/* ---- all groups ---------------------------------------------------------------------------------*/

static int measure_groups(struct publication_world *world, const struct publish_options *options,
			  struct json_object *groups)
{
	size_t layouts = options->layout.members ? 1 : bench_layout_count;
	int result = 0;

	if (!options->json)
		publish_print_head(world, options->rounds, options->count);
	for (size_t i = 0; i < layouts && result == 0; i++) {
		const struct bench_layout *layout =
			options->layout.members ? &options->layout : &bench_layouts[i];
		struct publish_figures figures[PUBLISH_MAX_PEERS];
		size_t count = publish_list_ways(figures);

		result = publish_measure_group(world, layout, options->rounds,
					       options->count ? STEP_ROUNDS : 0, figures, count);
		if (result == 0)
			json_object_array_add(groups, publish_group_json(layout, figures, count));
		if (result == 0 && !options->json)
			publish_print_group(layout, figures, count);
		fflush(stdout);
		publish_free_figures(figures, count);
	}
	return result;
}

enum bench_exit bench_publish(int argc, char *argv[], struct tool_error *error)
{
	struct publish_options options;
	struct publication_world world;
	struct json_object *groups;
	int result;

	if (parse(&options, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (options.plot && plot_check_gnuplot(error) < 0)
		return BENCH_FAILURE;
	if (publication_open(&world, error) < 0)
		return BENCH_FAILURE;
	world.slots = options.slots;
	world.pack_limit_bytes = options.pack_limit;
	if (options.step) {
		result = publish_run_stepped(&world, &options.layout, options.step);
	} else {
		groups = json_object_new_array();
		result = measure_groups(&world, &options, groups);
		if (result == 0 && options.plot)
			result = plot_publish(&world, groups, options.plot);
		if (result == 0 && options.json)
			result = publish_print_json(&world, groups);
		json_object_put(groups);
	}
	publication_close(&world);
	return result < 0 ? BENCH_FAILURE : BENCH_DONE;
}
