/* SPDX-License-Identifier: MIT */
/* h2dpub-bench kernels: the library's kernels on an HSA agent against plain copies. */
#include "config.h"

#include "bench_kernels.h"

#include <getopt.h>
#include <stdio.h>

#include "bench.h"
#include "bench_options.h"

#define LARGEST_ROUNDS	100000
#define DEFAULT_ROUNDS	1000
#define SOFTWARE_ROUNDS 10

struct kernels_options {
	struct bench_layout layout; /* members 0: all layouts */
	uint32_t rounds;	    /* 0: the default of the GPU */
	bool json;
};

/* Measured on the device only; on the software GPU no more than the first of them. */
static const struct bench_layout larger_layouts[] = {
	{20, 1 << 20, 1 << 19}, {20, 1 << 24, 1 << 23}, {20, 1 << 26, 1 << 25}};
#define LARGER_LAYOUTS (sizeof(larger_layouts) / sizeof(larger_layouts[0]))

void bench_kernels_print_help(FILE *file)
{
	fprintf(file,
		"Usage: h2dpub-bench kernels [OPTION]...\n"
		"Checks the library's kernels on many groups of arrays, then measures them: from the\n"
		"first call until a consumer has run, and on the device alone by the runtime's\n"
		"timestamps. Against one plain DMA of the same bytes, one for each array, and one copy\n"
		"within the device. It runs on an AMD GPU or, to see that it works, on the software\n"
		"GPU; for NVIDIA GPUs there is bench-kernels-cuda (\"make bench-cuda\").\n"
		"\n"
		"  --members N      one group only, of 1 to 128 members (with --bytes)\n"
		"  --bytes N        bytes of all its members, a multiple of 4 (with --members)\n"
		"  --table-bytes N  of which the first member has so many (default: no such member)\n"
		"  --rounds N       rounds of which the median is taken (default %d; %d on the\n"
		"                   software GPU)\n"
		"  --json           print the results as JSON\n",
		DEFAULT_ROUNDS, SOFTWARE_ROUNDS);
}

/* ---- options ------------------------------------------------------------------------------- */

static int parse(struct kernels_options *options, int argc, char *argv[], struct tool_error *error)
{
	enum { OPTION_ROUNDS = BENCH_FIRST_OTHER_OPTION, OPTION_JSON };
	static const struct option table[] = {
		BENCH_LAYOUT_OPTIONS,
		{"rounds", required_argument, NULL, OPTION_ROUNDS},
		{"json", no_argument, NULL, OPTION_JSON},
		{0},
	};
	int code, status = 0;

	*options = (struct kernels_options){0};
	opterr = 0;
	while (status == 0 && (code = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (code == '?') {
			bench_refuse_option(argv, error);
			status = -1;
		} else if (code == OPTION_ROUNDS) {
			status = bench_parse_count("rounds", optarg, LARGEST_ROUNDS,
						   &options->rounds, error);
		} else if (code == OPTION_JSON) {
			options->json = true;
		} else {
			status = bench_parse_layout_option(&options->layout, code, optarg, error);
		}
	}
	if (status == 0)
		status = bench_check_arguments(argc, argv, error);
	return status == 0 ? bench_check_layout(&options->layout, error) : status;
}

/* ---- all groups ---------------------------------------------------------------------------- */

/* One of the two tables. */
struct table {
	void (*print_head)(uint32_t rounds);
	int (*measure)(struct kernels_world *world, const struct bench_layout *layout,
		       uint32_t rounds, struct kernels_figures figures[KERNELS_WAYS]);
	void (*print)(const struct bench_layout *layout,
		      struct kernels_figures figures[KERNELS_WAYS]);
	bool larger; /* the larger layouts too */
};

static const struct table publications = {kernels_print_publications_head,
					  kernels_measure_publications, kernels_print_publications,
					  false};
static const struct table device = {kernels_print_device_head, kernels_measure_device,
				    kernels_print_device, true};

static int measure_groups(struct kernels_world *world, const struct table *table,
			  const struct bench_layout *layouts, size_t count, uint32_t rounds,
			  bool json, struct json_object *groups)
{
	for (size_t i = 0; i < count; i++) {
		struct kernels_figures figures[KERNELS_WAYS] = {0};
		int result = table->measure(world, &layouts[i], rounds, figures);

		if (result == 0)
			json_object_array_add(groups, kernels_group_json(&layouts[i], figures));
		if (result == 0 && !json)
			table->print(&layouts[i], figures);
		fflush(stdout);
		kernels_free_figures(figures);
		if (result < 0)
			return -1;
	}
	return 0;
}

static int measure_table(struct kernels_world *world, const struct table *table,
			 const struct kernels_options *options, struct json_object *groups)
{
	if (!options->json)
		table->print_head(options->rounds);
	if (options->layout.members)
		return measure_groups(world, table, &options->layout, 1, options->rounds,
				      options->json, groups);
	if (measure_groups(world, table, bench_layouts, bench_layout_count, options->rounds,
			   options->json, groups) < 0)
		return -1;
	if (!table->larger)
		return 0;
	return measure_groups(world, table, larger_layouts,
			      world->publication.software ? 1 : LARGER_LAYOUTS,
			      options->rounds / 4 + 1, options->json, groups);
}

static int print_json(const struct kernels_world *world, struct json_object *root)
{
	const char *text;

	json_object_object_add(root, "gpu", json_object_new_string(world->publication.info.isa));
	json_object_object_add(root, "software_gpu",
			       json_object_new_boolean(world->publication.software));
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY);
	if (!text) {
		tool_error_set(world->publication.error, "out of memory");
		return -1;
	}
	puts(text);
	return 0;
}

static int check_and_measure(struct kernels_world *world, struct kernels_options *options)
{
	struct json_object *root = json_object_new_object();
	struct json_object *published = json_object_new_array();
	struct json_object *timed = json_object_new_array();
	uint32_t groups;
	int result;

	json_object_object_add(root, "publications", published);
	json_object_object_add(root, "kernels", timed);
	if (options->rounds == 0)
		options->rounds = world->publication.software ? SOFTWARE_ROUNDS : DEFAULT_ROUNDS;
	if (!options->json)
		kernels_print_gpu(world);
	result = kernels_check(world, &groups);
	if (result == 0 && !options->json)
		printf("%u groups, %d strategies: 0 wrong bytes\n", groups, KERNELS_WAYS);
	if (result == 0)
		result = measure_table(world, &publications, options, published);
	if (result == 0)
		result = measure_table(world, &device, options, timed);
	if (result == 0 && options->json)
		result = print_json(world, root);
	json_object_put(root);
	return result;
}

enum bench_exit bench_kernels(int argc, char *argv[], struct tool_error *error)
{
	struct kernels_options options;
	struct kernels_world world;
	int result;

	if (parse(&options, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (kernels_open(&world, error) < 0)
		return BENCH_FAILURE;
	result = check_and_measure(&world, &options);
	kernels_close(&world);
	return result < 0 ? BENCH_FAILURE : BENCH_DONE;
}
