/* SPDX-License-Identifier: MIT */
/* Error messages of the tools, and values quoted inside them. */
#include "config.h"

#include "tool_error.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tool_error_set(struct tool_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
}

struct tool_quote tool_quote(const char *value, size_t length)
{
	struct tool_quote quote;
	/* room for one escaped byte, the dots of a shortened value and the closing quote */
	const size_t limit = sizeof(quote.text) - sizeof("\\x00...'");
	size_t used = 0;

	quote.text[used++] = '\'';
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)value[i];

		if (used > limit) {
			memcpy(quote.text + used, "...", 3);
			used += 3;
			break;
		}
		if (byte >= 0x20 && byte < 0x7f)
			quote.text[used++] = (char)byte;
		else
			used += (size_t)snprintf(quote.text + used, 5, "\\x%02x", byte);
	}
	quote.text[used++] = '\'';
	quote.text[used] = '\0';
	return quote;
}

struct tool_quote tool_quote_refused_option(char *argv[])
{
	const char letter[] = {'-', (char)optopt};

	/* optind is behind a letter only if it is the last of its argument */
	if (optopt != 0 && optopt <= UCHAR_MAX)
		return tool_quote(letter, sizeof(letter));
	return tool_quote(argv[optind - 1], strlen(argv[optind - 1]));
}
