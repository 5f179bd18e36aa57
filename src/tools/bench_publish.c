/* SPDX-License-Identifier: MIT */
/* h2dpub-bench publish: what one publication costs the host, against HSA and HIP. */
#include "config.h"

#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_publish.h"

#define LARGEST_BYTES	(UINT32_C(64) << 20)
#define LARGEST_ROUNDS	100000
#define WARM_UP_ROUNDS	8
#define DEFAULT_ROUNDS	100

struct publish_options {
	struct bench_layout layout; /* members 0: all layouts */
	uint32_t rounds;
	bool count;
	bool json;
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
	      "  --rounds N       rounds of which the median is taken (default 100)\n"
	      "  --no-count       do not count instructions, which takes most of the time\n"
	      "  --json           print the results as JSON\n",
	      file);
}

/* ---- options ----------------------------------------------------------------------------------- */

enum option_code { OPTION_MEMBERS = 256, OPTION_BYTES, OPTION_TABLE_BYTES, OPTION_ROUNDS,
		   OPTION_NO_COUNT, OPTION_JSON, OPTION_STEP };

static const struct option option_table[] = {
	{"members", required_argument, NULL, OPTION_MEMBERS},
	{"bytes", required_argument, NULL, OPTION_BYTES},
	{"table-bytes", required_argument, NULL, OPTION_TABLE_BYTES},
	{"rounds", required_argument, NULL, OPTION_ROUNDS},
	{"no-count", no_argument, NULL, OPTION_NO_COUNT},
	{"json", no_argument, NULL, OPTION_JSON},
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

	*options = (struct publish_options){.rounds = DEFAULT_ROUNDS, .count = true};
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
	return check_layout(&options->layout, error);
}

/* ---- one publication ----------------------------------------------------------------------------*/

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What reading the thread's clock adds to the difference of two readings: the least of many. */
static uint64_t thread_clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = read_clock(CLOCK_THREAD_CPUTIME_ID);
		uint64_t taken = read_clock(CLOCK_THREAD_CPUTIME_ID) - start;

		least = taken < least ? taken : least;
	}
	return least;
}

static int publish(const struct publication_peer *peer, void *context)
{
	if (peer->begin && peer->begin(context) < 0)
		return -1;
	return peer->submit(context) < 0 ? -1 : peer->wait(context);
}

static int measure(struct publish_figures *figures, void *context, uint64_t clock_cost,
		   struct tool_error *error)
{
	const struct publication_peer *peer = figures->peer;
	uint64_t start, submitted, consumed, cpu;

	if (peer->begin && peer->begin(context) < 0)
		return -1;
	cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
	start = read_clock(CLOCK_MONOTONIC);
	if (peer->submit(context) < 0)
		return -1;
	submitted = read_clock(CLOCK_MONOTONIC);
	cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (peer->wait(context) < 0)
		return -1;
	consumed = read_clock(CLOCK_MONOTONIC);
	if (samples_add(&figures->submit_ns, submitted - start) < 0 ||
	    samples_add(&figures->cpu_ns, cpu > clock_cost ? cpu - clock_cost : 0) < 0 ||
	    samples_add(&figures->consumer_ns, consumed - start) < 0) {
		tool_error_set(error, "out of memory");
		return -1;
	}
	return 0;
}

static int verify(struct publication_world *world, const struct publication_peer *peer,
		  void *context, uint32_t round)
{
	if (!peer->lands)
		return publish(peer, context);
	publication_fill(world, round);
	if (publication_poison(world) < 0 || publish(peer, context) < 0)
		return -1;
	return publication_verify(world, peer->name);
}

/* ---- one group ----------------------------------------------------------------------------------*/

static int measure_peers(struct publication_world *world, struct publish_figures figures[],
			 void *contexts[], size_t count, uint32_t rounds)
{
	uint64_t clock_cost = thread_clock_cost();

	for (size_t i = 0; i < count; i++) {
		for (uint32_t round = 0; round < WARM_UP_ROUNDS; round++) {
			if (verify(world, figures[i].peer, contexts[i], round) < 0)
				return -1;
		}
	}
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			size_t turn = (i + round) % count;

			publication_fill(world, round);
			if (measure(&figures[turn], contexts[turn], clock_cost, world->error) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (verify(world, figures[i].peer, contexts[i], rounds) < 0)
			return -1;
	}
	return 0;
}

static int count_peer(struct publish_figures *figures, const struct bench_layout *layout,
		      struct tool_error *error)
{
	char members[16], bytes[32], table_bytes[32];
	char *argv[16] = {"h2dpub-bench", "publish", "--step", (char *)figures->peer->name,
			  "--members", members, "--bytes", bytes};

	snprintf(members, sizeof(members), "%u", layout->members);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)layout->bytes);
	snprintf(table_bytes, sizeof(table_bytes), "%llu",
		 (unsigned long long)layout->table_bytes);
	if (layout->table_bytes != 0) {
		argv[8] = "--table-bytes";
		argv[9] = table_bytes;
	}
	if (step_count(argv, &figures->counts, error) < 0)
		return -1;
	figures->counted = true;
	return 0;
}

static int measure_group(struct publication_world *world, const struct bench_layout *layout,
			 const struct publish_options *options, struct publish_figures figures[],
			 size_t count)
{
	void *contexts[PUBLISH_MAX_PEERS] = {NULL};
	int result = publication_lay_out(world, layout);

	if (result < 0)
		return -1;
	for (size_t i = 0; i < count && result == 0; i++) {
		contexts[i] = figures[i].peer->create(world);
		result = contexts[i] ? 0 : -1;
	}
	if (result == 0)
		result = measure_peers(world, figures, contexts, count, options->rounds);
	for (size_t i = 0; i < count; i++) {
		if (contexts[i])
			figures[i].peer->destroy(contexts[i]);
	}
	publication_clear(world);
	for (size_t i = 0; i < count && result == 0 && options->count; i++)
		result = count_peer(&figures[i], layout, world->error);
	return result;
}

static size_t list_peers(struct publish_figures figures[])
{
	size_t count = 0;

	for (; publication_peer(count); count++)
		figures[count] = (struct publish_figures){.peer = publication_peer(count)};
	return count;
}

static void free_figures(struct publish_figures figures[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		samples_free(&figures[i].submit_ns);
		samples_free(&figures[i].cpu_ns);
		samples_free(&figures[i].consumer_ns);
	}
}

/* ---- all groups ---------------------------------------------------------------------------------*/

static int measure_groups(struct publication_world *world, const struct publish_options *options,
			  struct json_object *groups)
{
	size_t layouts = options->layout.members ? 1 : bench_layout_count;
	int result = 0;

	if (!groups)
		publish_print_head(world, options->rounds, options->count);
	for (size_t i = 0; i < layouts && result == 0; i++) {
		const struct bench_layout *layout =
			options->layout.members ? &options->layout : &bench_layouts[i];
		struct publish_figures figures[PUBLISH_MAX_PEERS];
		size_t count = list_peers(figures);

		result = measure_group(world, layout, options, figures, count);
		if (result == 0 && groups)
			json_object_array_add(groups, publish_group_json(layout, figures, count));
		else if (result == 0)
			publish_print_group(layout, figures, count);
		fflush(stdout);
		free_figures(figures, count);
	}
	return result;
}

static int print_json(struct publication_world *world, struct json_object *groups)
{
	struct json_object *root = json_object_new_object();
	const char *text;

	json_object_object_add(root, "gpu", json_object_new_string(world->info.isa));
	json_object_object_add(root, "software_gpu", json_object_new_boolean(world->software));
	json_object_object_add(root, "groups", groups);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY);
	if (text)
		puts(text);
	else
		tool_error_set(world->error, "out of memory");
	json_object_put(root);
	return text ? 0 : -1;
}

/* What the process that is stepped does: one empty call, then the way's own. */
static int run_stepped(struct publication_world *world, const struct publish_options *options)
{
	const struct publication_peer *peer = NULL;
	void *context;

	for (size_t i = 0; (peer = publication_peer(i)) && strcmp(peer->name, options->step);)
		i++;
	if (!peer || options->layout.members == 0) {
		tool_error_set(world->error, "option --step: there is no way %s",
			       tool_quote(options->step, strlen(options->step)).text);
		return -1;
	}
	if (publication_lay_out(world, &options->layout) < 0)
		return -1;
	context = peer->create(world);
	if (!context)
		return -1;
	for (uint32_t round = 0; round < WARM_UP_ROUNDS; round++) {
		if (verify(world, peer, context, round) < 0)
			return -1;
	}
	step_begin();
	step_end();
	for (int round = 0; round < STEP_ROUNDS; round++) {
		int result;

		publication_fill(world, (uint32_t)round);
		if (peer->begin && peer->begin(context) < 0)
			return -1;
		step_begin();
		result = peer->submit(context);
		step_end();
		if (result < 0 || peer->wait(context) < 0)
			return -1;
	}
	return 0;
}

enum bench_exit bench_publish(int argc, char *argv[], struct tool_error *error)
{
	struct publish_options options;
	struct publication_world world;
	struct json_object *groups = NULL;
	int result;

	if (parse(&options, argc, argv, error) < 0)
		return BENCH_WRONG_USE;
	if (publication_open(&world, error) < 0)
		return BENCH_FAILURE;
	if (options.step) {
		result = run_stepped(&world, &options);
	} else {
		if (options.json)
			groups = json_object_new_array();
		result = measure_groups(&world, &options, groups);
		if (result == 0 && groups)
			result = print_json(&world, groups);
		else
			json_object_put(groups);
	}
	publication_close(&world);
	return result < 0 ? BENCH_FAILURE : BENCH_DONE;
}
