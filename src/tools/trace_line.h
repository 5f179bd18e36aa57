/* SPDX-License-Identifier: MIT */
/* The two line formats of request traces: Azure CSV and Mooncake JSON. */
#ifndef H2DPUB_TOOLS_TRACE_LINE_H
#define H2DPUB_TOOLS_TRACE_LINE_H

#include "trace.h"

#define TRACE_CSV_HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"

struct trace_place {
	const char *file;
	size_t line;
};

/*
 * Appends the request of one line (NUL-terminated, no NUL inside, without its line end) to the
 * trace. -1 with a message that names place and value; the trace may then hold half a request.
 */
typedef int trace_line_reader(struct trace *trace, const struct trace_place *place,
			      const char *line, size_t length, struct tool_error *error);

trace_line_reader trace_line_csv;
trace_line_reader trace_line_json;

/* Which reader the first line asks for (a CSV header, or already a JSON object), NULL = none. */
trace_line_reader *trace_line_detect(const char *line, size_t length);

#endif
