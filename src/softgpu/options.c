/* SPDX-License-Identifier: MIT */
/* The options of the software GPU: the only file that reads SOFTGPU_* environment variables. */
#include "options.h"

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
	} units[] = { { 'K', 10 }, { 'M', 20 }, { 'G', 30 }, { 'T', 40 } };
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

static const struct option known_options[] = {
	{ "SOFTGPU_TARGET", "instruction set of the GPUs", "the name of a supported target (gfx90a)",
	  parse_target, format_target },
	{ "SOFTGPU_GPUS", "number of GPUs", "a number from 1 to 8", parse_gpus, format_gpus },
	{ "SOFTGPU_VRAM", "video memory of one GPU",
	  "a size from 2M to 1T, a multiple of 4K, such as 512M or 16G", parse_vram,
	  format_vram },
	{ "SOFTGPU_WORKERS", "threads that run workgroups", "a number from 1 to 256", parse_workers,
	  format_workers },
	{ "SOFTGPU_SPIN", "microseconds an idle queue looks at its doorbell before it sleeps",
	  "a number from 0 to 1000000", parse_spin, format_spin },
	{ "SOFTGPU_EXCEPTIONS",
	  "1: report queue errors as drivers with exception debugging do, 0: as older ones", "0 or 1",
	  parse_exceptions, format_exceptions },
	{ "SOFTGPU_USERFAULTFD", "1: sleeping queues wake by userfaultfd, 0: by looking every 1 ms",
	  "0 or 1", parse_userfaultfd, format_userfaultfd },
};

bool softgpu_options_read(struct softgpu_options *options, char *message, size_t size)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*options = (struct softgpu_options){
		.target = &softgpu_target_gfx90a,
		.gpus = 1,
		.vram_size = UINT64_C(16) << 30,
		.workers = cores < 1 ? 1 : cores > 256 ? 256 : (uint32_t)cores,
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
	return true;
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
