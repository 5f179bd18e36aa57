/* SPDX-License-Identifier: MIT */
/* Parsing and checking what the benchmarks' options have in common. */
#include "config.h"

#include "bench_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int bench_parse_number(const char *name, const char *text, uint32_t least, uint32_t largest,
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

int bench_parse_count(const char *name, const char *text, uint32_t largest, uint32_t *number,
		      struct tool_error *error)
{
	uint64_t value;

	if (bench_parse_number(name, text, 1, largest, &value, error) < 0)
		return -1;
	*number = (uint32_t)value;
	return 0;
}

void bench_refuse_option(char *argv[], struct tool_error *error)
{
	tool_error_set(error, "option %s is unknown or has no value",
		       tool_quote_refused_option(argv).text);
}

int bench_check_arguments(int argc, char *argv[], struct tool_error *error)
{
	if (optind == argc)
		return 0;
	tool_error_set(error, "argument %s is not an option",
		       tool_quote(argv[optind], strlen(argv[optind])).text);
	return -1;
}

int bench_parse_layout_option(struct bench_layout *layout, int code, const char *text,
			      struct tool_error *error)
{
	switch (code) {
	case BENCH_OPTION_MEMBERS:
		return bench_parse_count("members", text, BENCH_MAX_MEMBERS, &layout->members,
					 error);
	case BENCH_OPTION_BYTES:
		return bench_parse_number("bytes", text, 4, BENCH_LARGEST_BYTES, &layout->bytes,
					  error);
	case BENCH_OPTION_TABLE_BYTES:
		return bench_parse_number("table-bytes", text, 4, BENCH_LARGEST_BYTES,
					  &layout->table_bytes, error);
	default:
		return 0;
	}
}

int bench_check_layout(const struct bench_layout *layout, struct tool_error *error)
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
