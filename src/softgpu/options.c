/* SPDX-License-Identifier: MIT */
/* The options of the software GPU: the only file that reads SOFTGPU_* environment variables. */
#include "options.h"

#include "cache.h"
#include "queue/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct option {
	const char *name;
	const char *help;
	const char *expected; /* completes "must be ..." */
	bool (*parse)(struct softgpu_options *options, const char *text);
	void (*format)(const struct softgpu_options *options, char *text, size_t size);
};

static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *value >= low && *value <= high;
}

static bool parse_size(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	static const struct {
		char suffix;
		unsigned int shift;
	} units[] = {{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}};
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end == units[i].suffix) {
			shift = units[i].shift;
			end++;
			break;
		}
	}
	if (errno != 0 || *end != '\0' || *value > high >> shift)
		return false;
	*value <<= shift;
	return *value >= low && *value <= high;
}

static bool parse_boolean(const char *text, bool *value)
{
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
		return false;
	*value = text[0] == '1';
	return true;
}

static bool parse_target(struct softgpu_options *options, const char *text)
{
	const struct softgpu_target *target = softgpu_target_find(text);

	if (!target)
		return false;
	options->target = target;
	return true;
}

static void format_target(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%s", options->target->name);
}

static bool parse_gpus(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 1, SOFTGPU_MAX_GPUS, &value))
		return false;
	options->gpus = (uint32_t)value;
	return true;
}

static void format_gpus(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, options->gpus);
}

static bool parse_vram(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	/* The runtime takes 2 MiB blocks; above 1 TiB its address space of a GPU is used up. */
	if (!parse_size(text, UINT64_C(1) << 21, UINT64_C(1) << 40, &value) || value & 0xfff)
		return false;
	options->vram_size = value;
	return true;
}

static void format_vram(const struct softgpu_options *options, char *text, size_t size)
{
	if (options->vram_size & 0xfffff)
		snprintf(text, size, "%" PRIu64 "K", options->vram_size >> 10);
	else
		snprintf(text, size, "%" PRIu64 "M", options->vram_size >> 20);
}

static bool parse_large_bar(struct softgpu_options *options, const char *text)
{
	return parse_boolean(text, &options->large_bar);
}

static void format_large_bar(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%d", options->large_bar);
}

static bool parse_workers(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 1, 256, &value))
		return false;
	options->workers = (uint32_t)value;
	return true;
}

static void format_workers(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, options->workers);
}

static bool parse_spin(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 0, 1000000, &value))
		return false;
	options->spin = (uint32_t)value;
	return true;
}

static void format_spin(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, options->spin);
}

static bool parse_exceptions(struct softgpu_options *options, const char *text)
{
	return parse_boolean(text, &options->exceptions);
}

static void format_exceptions(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%d", options->exceptions);
}

static bool parse_userfaultfd(struct softgpu_options *options, const char *text)
{
	return parse_boolean(text, &options->userfaultfd);
}

static void format_userfaultfd(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%d", options->userfaultfd);
}

static bool parse_l2s(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 0, SOFTGPU_MAX_L2S, &value))
		return false;
	options->l2s = (uint32_t)value;
	return true;
}

static void format_l2s(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, options->l2s);
}

static bool parse_delay(struct softgpu_options *options, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 0, 10000000, &value))
		return false;
	options->adversary.delay_nanoseconds = value * 1000;
	return true;
}

static void format_delay(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, options->adversary.delay_nanoseconds / 1000);
}

static bool parse_reorder(struct softgpu_options *options, const char *text)
{
	return parse_boolean(text, &options->adversary.reorder);
}

static void format_reorder(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%d", options->adversary.reorder);
}

static const char *const engine_names[SOFTGPU_ENGINE_COUNT] = {
	[SOFTGPU_ENGINE_AQL] = "aql",
	[SOFTGPU_ENGINE_SDMA] = "sdma",
};

/* ENGINE:PACKET:MILLISECONDS, such as sdma:3:200 or aql:1:forever. */
static bool parse_stall(struct softgpu_options *options, const char *text)
{
	for (unsigned int engine = 0; engine < SOFTGPU_ENGINE_COUNT; engine++) {
		const size_t length = strlen(engine_names[engine]);
		struct softgpu_stall *stall = &options->adversary.stall[engine];
		char packet[24];
		const char *time;

		if (strncmp(text, engine_names[engine], length) != 0 || text[length] != ':')
			continue;
		time = strchr(text + length + 1, ':');
		if (!time || (size_t)(time - text) - length - 1 >= sizeof(packet))
			return false;
		memcpy(packet, text + length + 1, (size_t)(time - text) - length - 1);
		packet[time - text - (ptrdiff_t)length - 1] = '\0';
		if (!parse_number(packet, 1, UINT64_MAX, &stall->packet))
			return false;
		if (strcmp(time + 1, "forever") == 0) {
			stall->nanoseconds = SOFTGPU_STALL_FOREVER;
			return true;
		}
		if (!parse_number(time + 1, 0, 3600000, &stall->nanoseconds))
			return false;
		stall->nanoseconds *= 1000000;
		return true;
	}
	return *text == '\0';
}

static void format_stall(const struct softgpu_options *options, char *text, size_t size)
{
	*text = '\0';
	for (unsigned int engine = 0; engine < SOFTGPU_ENGINE_COUNT; engine++) {
		const struct softgpu_stall *stall = &options->adversary.stall[engine];

		if (stall->packet == 0)
			continue;
		if (stall->nanoseconds == SOFTGPU_STALL_FOREVER)
			snprintf(text, size, "%s:%" PRIu64 ":forever", engine_names[engine],
				 stall->packet);
		else
			snprintf(text, size, "%s:%" PRIu64 ":%" PRIu64, engine_names[engine],
				 stall->packet, stall->nanoseconds / 1000000);
	}
}

static bool parse_seed(struct softgpu_options *options, const char *text)
{
	options->seed_given = parse_number(text, 0, UINT64_MAX, &options->adversary.seed);
	return options->seed_given;
}

static void format_seed(const struct softgpu_options *options, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, options->adversary.seed);
}

static const struct option known_options[] = {
	{"SOFTGPU_TARGET", "instruction set of the GPUs", "the name of a supported target (gfx90a)",
	 parse_target, format_target},
	{"SOFTGPU_GPUS", "number of GPUs", "a number from 1 to 8", parse_gpus, format_gpus},
	{"SOFTGPU_VRAM", "video memory of one GPU",
	 "a size from 2M to 1T, a multiple of 4K, such as 512M or 16G", parse_vram, format_vram},
	{"SOFTGPU_LARGE_BAR",
	 "1: the host can access video memory, 0: to try it is a segmentation fault", "0 or 1",
	 parse_large_bar, format_large_bar},
	{"SOFTGPU_WORKERS", "threads that run workgroups", "a number from 1 to 256", parse_workers,
	 format_workers},
	{"SOFTGPU_SPIN", "microseconds an idle queue looks at its doorbell before it sleeps",
	 "a number from 0 to 1000000", parse_spin, format_spin},
	{"SOFTGPU_EXCEPTIONS",
	 "1: report queue errors as drivers with exception debugging do, 0: as older ones",
	 "0 or 1", parse_exceptions, format_exceptions},
	{"SOFTGPU_USERFAULTFD", "1: sleeping queues wake by userfaultfd, 0: by looking every 1 ms",
	 "0 or 1", parse_userfaultfd, format_userfaultfd},
	{"SOFTGPU_L2S",
	 "caches of a GPU that nothing but fences makes coherent; 0: coherent memory",
	 "a number from 0 to 16", parse_l2s, format_l2s},
	{"SOFTGPU_DELAY", "longest random delay of a packet in microseconds",
	 "a number from 0 to 10000000", parse_delay, format_delay},
	{"SOFTGPU_REORDER", "1: dispatches without barrier bit start in any order (with a delay)",
	 "0 or 1", parse_reorder, format_reorder},
	{"SOFTGPU_STALL", "one packet of each queue of an engine starts late",
	 "ENGINE:PACKET:MILLISECONDS with engine sdma or aql, such as sdma:3:200 or aql:1:forever",
	 parse_stall, format_stall},
	{"SOFTGPU_SEED", "of all random delays; drawn and printed if it is not given", "a number",
	 parse_seed, format_seed},
};

bool softgpu_options_read(struct softgpu_options *options, char *message, size_t size)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*options = (struct softgpu_options){
		.target = &softgpu_target_gfx90a,
		.gpus = 1,
		.vram_size = UINT64_C(16) << 30,
		.large_bar = false,
		.workers = cores < 1	 ? 1
			   : cores > 256 ? 256
					 : (uint32_t)cores,
		.spin = 150,
		.exceptions = false,
		.userfaultfd = true,
	};
	for (size_t i = 0; i < sizeof(known_options) / sizeof(known_options[0]); i++) {
		const struct option *option = &known_options[i];
		const char *text = getenv(option->name);

		if (text && !option->parse(options, text)) {
			snprintf(message, size, "%s is '%s' but must be %s", option->name, text,
				 option->expected);
			return false;
		}
	}
	if (!options->seed_given && softgpu_options_hostile(options))
		options->adversary.seed = softgpu_clock_now() % 1000000;
	return true;
}

bool softgpu_options_hostile(const struct softgpu_options *options)
{
	return options->l2s != 0 || options->adversary.delay_nanoseconds != 0 ||
	       options->adversary.stall[SOFTGPU_ENGINE_AQL].packet != 0 ||
	       options->adversary.stall[SOFTGPU_ENGINE_SDMA].packet != 0;
}

void softgpu_options_print(FILE *stream, const struct softgpu_options *options)
{
	for (size_t i = 0; i < sizeof(known_options) / sizeof(known_options[0]); i++) {
		char value[64];

		known_options[i].format(options, value, sizeof(value));
		fprintf(stream, "  %-20s %-8s %s\n", known_options[i].name, value,
			known_options[i].help);
	}
}
