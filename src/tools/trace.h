/* SPDX-License-Identifier: MIT */
/* A request trace in memory: when each request arrives, how long its prompt and its answer are. */
#ifndef H2DPUB_TOOLS_TRACE_H
#define H2DPUB_TOOLS_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "tool_error.h"

/* A Mooncake hash id names a prefix that ends at a multiple of this many prompt tokens. */
#define TRACE_HASH_BLOCK_TOKENS 512

/* Context lengths are published as int32. */
#define TRACE_MAX_TOKENS INT32_MAX

struct trace_request {
	int64_t arrival_us; /* since the earliest request of the trace */
	uint32_t prompt_tokens;
	uint32_t output_tokens;
	size_t first_hash; /* into trace.hash_ids */
	uint32_t hash_count;
	size_t position; /* in the file: decides between equal arrivals */
};

struct trace {
	struct trace_request *requests; /* by arrival; equal arrivals in the order of the file */
	size_t request_count;
	size_t request_capacity;
	uint64_t *hash_ids;
	size_t hash_id_count;
	size_t hash_id_capacity;
};

/*
 * Reads at most `limit` requests (0 = all) from `path`, `-` being standard input; what follows
 * them is not looked at. 0, or -1 with a message that names file, line and value; the trace is
 * then empty.
 */
int trace_read(struct trace *trace, const char *path, size_t limit, struct tool_error *error);

/* Appends one request, without hash ids. 0, or -1 with a message when memory is short. */
int trace_append(struct trace *trace, int64_t arrival_us, uint32_t prompt_tokens,
		 uint32_t output_tokens, struct tool_error *error);

/* Appends a hash id to the last request. */
int trace_append_hash(struct trace *trace, uint64_t hash_id, struct tool_error *error);

/* Orders the requests by arrival and makes the earliest arrival zero. */
void trace_sort(struct trace *trace);

void trace_free(struct trace *trace);

#endif
