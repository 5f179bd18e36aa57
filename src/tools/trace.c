/* SPDX-License-Identifier: MIT */
/* Storage of a request trace, and the reading of a trace file line by line. */
#include "config.h"

#include "trace.h"
#include "trace_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Far above any real line (a 128 Ki-token prompt has 256 hash ids), far below exhausted memory. */
#define LINE_LIMIT ((size_t)1 << 20)

static void *grow(void *array, size_t *capacity, size_t item_size, struct tool_error *error)
{
	size_t wanted = *capacity ? *capacity * 2 : 256;
	void *larger = reallocarray(array, wanted, item_size);

	if (larger == NULL) {
		tool_error_set(error, "out of memory for %zu trace entries", wanted);
		return NULL;
	}
	*capacity = wanted;
	return larger;
}

int trace_append(struct trace *trace, int64_t arrival_us, uint32_t prompt_tokens,
		 uint32_t output_tokens, struct tool_error *error)
{
	if (trace->request_count == trace->request_capacity) {
		struct trace_request *larger =
			grow(trace->requests, &trace->request_capacity, sizeof(*larger), error);

		if (larger == NULL)
			return -1;
		trace->requests = larger;
	}
	trace->requests[trace->request_count] = (struct trace_request){
		.arrival_us = arrival_us,
		.prompt_tokens = prompt_tokens,
		.output_tokens = output_tokens,
		.first_hash = trace->hash_id_count,
		.position = trace->request_count,
	};
	trace->request_count++;
	return 0;
}

int trace_append_hash(struct trace *trace, uint64_t hash_id, struct tool_error *error)
{
	if (trace->hash_id_count == trace->hash_id_capacity) {
		uint64_t *larger =
			grow(trace->hash_ids, &trace->hash_id_capacity, sizeof(*larger), error);

		if (larger == NULL)
			return -1;
		trace->hash_ids = larger;
	}
	trace->hash_ids[trace->hash_id_count++] = hash_id;
	trace->requests[trace->request_count - 1].hash_count++;
	return 0;
}

static int compare_arrivals(const void *left, const void *right)
{
	const struct trace_request *a = left, *b = right;

	if (a->arrival_us != b->arrival_us)
		return a->arrival_us < b->arrival_us ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

void trace_sort(struct trace *trace)
{
	if (trace->request_count == 0)
		return;
	qsort(trace->requests, trace->request_count, sizeof(*trace->requests), compare_arrivals);
	int64_t earliest = trace->requests[0].arrival_us;

	for (size_t i = 0; i < trace->request_count; i++)
		trace->requests[i].arrival_us -= earliest;
}

void trace_free(struct trace *trace)
{
	free(trace->requests);
	free(trace->hash_ids);
	memset(trace, 0, sizeof(*trace));
}

/* One line without its end (LF or CR LF; the last line may lack it). 1: a line, 0: end of file. */
static int read_line(FILE *file, char *line, size_t *length, const struct trace_place *place,
		     struct tool_error *error)
{
	size_t used = 0;
	int byte;

	while ((byte = getc_unlocked(file)) != EOF && byte != '\n') {
		if (used == LINE_LIMIT) {
			tool_error_set(error, "%s:%zu: the line is longer than %zu bytes",
				       place->file, place->line, LINE_LIMIT);
			return -1;
		}
		line[used++] = (char)byte;
	}
	if (ferror(file)) {
		tool_error_set(error, "%s:%zu: cannot read: %s", place->file, place->line,
			       strerror(errno));
		return -1;
	}
	if (byte == EOF && used == 0)
		return 0;
	if (used > 0 && line[used - 1] == '\r')
		used--;
	const char *nul = memchr(line, '\0', used);

	if (nul != NULL) {
		tool_error_set(error, "%s:%zu: NUL byte in column %zu", place->file, place->line,
			       (size_t)(nul - line) + 1);
		return -1;
	}
	line[used] = '\0';
	*length = used;
	return 1;
}

static int read_lines(struct trace *trace, FILE *file, const char *name, size_t limit, char *line,
		      struct tool_error *error)
{
	struct trace_place place = {.file = name, .line = 1};
	trace_line_reader *reader = NULL;
	size_t length;
	int status;

	while ((status = read_line(file, line, &length, &place, error)) > 0) {
		if (reader == NULL) {
			reader = trace_line_detect(line, length);
			if (reader == NULL) {
				tool_error_set(error,
					       "%s:1: neither the header %s nor a JSON object: %s",
					       name, TRACE_CSV_HEADER,
					       tool_quote(line, length).text);
				return -1;
			}
			if (reader == trace_line_csv) {
				place.line++;
				continue;
			}
		}
		if (reader(trace, &place, line, length, error) < 0)
			return -1;
		if (trace->request_count == limit)
			break;
		place.line++;
	}
	if (status < 0)
		return -1;
	if (trace->request_count == 0) {
		tool_error_set(error, "%s:%zu: no request in the trace (%s)", name, place.line,
			       reader == NULL ? "the file is empty" : "only a header");
		return -1;
	}
	return 0;
}

int trace_read(struct trace *trace, const char *path, size_t limit, struct tool_error *error)
{
	int from_standard_input = strcmp(path, "-") == 0;
	const char *name = from_standard_input ? "standard input" : path;
	FILE *file = from_standard_input ? stdin : fopen(path, "r");
	struct stat status;
	char *line;
	int result = -1;

	memset(trace, 0, sizeof(*trace));
	if (file == NULL) {
		tool_error_set(error, "%.*s: cannot open the trace: %s", PATH_MAX, name,
			       strerror(errno));
		return -1;
	}
	line = malloc(LINE_LIMIT + 1);
	if (line == NULL)
		tool_error_set(error, "%s: out of memory for one line", name);
	else if (fstat(fileno(file), &status) < 0)
		tool_error_set(error, "%s: cannot read: %s", name, strerror(errno));
	else if (S_ISDIR(status.st_mode))
		tool_error_set(error, "%s: is a directory, not a trace", name);
	else
		result = read_lines(trace, file, name, limit, line, error);
	free(line);
	if (!from_standard_input)
		fclose(file);
	if (result < 0)
		trace_free(trace);
	else
		trace_sort(trace);
	return result;
}
