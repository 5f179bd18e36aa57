/* SPDX-License-Identifier: MIT */
/* One error message of a tool: what went wrong, where, and with which value. */
#ifndef H2DPUB_TOOLS_TOOL_ERROR_H
#define H2DPUB_TOOLS_TOOL_ERROR_H

#include <limits.h>
#include <stddef.h>

struct tool_error {
	char text[PATH_MAX + 256]; /* the reason stands behind the path */
};

void tool_error_set(struct tool_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A copy of `value` that is safe to print: short, in quotes, without control bytes. */
struct tool_quote {
	char text[80];
};

struct tool_quote tool_quote(const char *value, size_t length);

/*
 * The option for which getopt_long() has returned '?': the letter, or the whole argument of a long
 * one. The codes of long options are above UCHAR_MAX.
 */
struct tool_quote tool_quote_refused_option(char *argv[]);

#endif
