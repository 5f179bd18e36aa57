/* SPDX-License-Identifier: MIT */
/* The figures of a replay, as a table for people and as JSON for programs. */
#ifndef H2DPUB_TOOLS_REPORT_H
#define H2DPUB_TOOLS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler.h"
#include "statistics.h"

/* What became of block tables, summed over slots and steps. */
struct replay_tables {
	uint64_t prepared; /* tables, one a step */
	uint64_t hits;     /* of which nothing had changed since the slot's last step */
	uint64_t rows_appended;
	uint64_t rows_written; /* from their first id on */
	uint64_t ids_written;
	uint64_t uploads_omitted;
	uint64_t bytes_omitted; /* which these would have published */
};

/* What the publications of one group took. */
enum replay_group_index {
	REPLAY_TOKEN_INPUTS,
	REPLAY_MHA_DECODE,
	REPLAY_MLA_DECODE,
	REPLAY_MROPE,
	REPLAY_TBO,
	REPLAY_QSA,
	REPLAY_PLE,
	/* of prefills: */
	REPLAY_PREFILL_TOKEN_INPUTS,
	REPLAY_PREFILL_INPUTS,
	REPLAY_MLA_PREFILL,
	REPLAY_PREFILL_MROPE,
	REPLAY_PREFILL_QSA,
	REPLAY_PREFILL_PLE,
	REPLAY_GROUPS
};

struct replay_group {
	uint64_t steps;
	uint64_t dma_copies;
	uint64_t dispatches; /* scatter or pull */
	uint64_t bytes;
};

/* What the prefills were. */
struct replay_prefill {
	bool published;	     /* else all is 0 */
	uint64_t max_tokens; /* of a step */
	uint64_t steps;
	uint64_t cached_steps; /* with a request that had cached tokens */
	uint64_t requests;     /* summed over the steps */
	uint64_t tokens;
	uint64_t dispatches; /* of their consumers */
	struct samples publication_ns;
	uint64_t verified_steps;
};

/* What the scheduler sent to its workers. */
struct replay_messages {
	uint64_t workers; /* 0: the scheduler's own process published */
	uint64_t messages;
	uint64_t whole_messages; /* of which built on nothing */
	uint64_t whole_requests; /* of workers that came late or lost a message */
	uint64_t bytes;
	uint64_t whole_bytes; /* that whole tables would have taken each time */
	uint64_t skipped_steps; /* that workers did not get, summed */
};

struct report {
	const char *source; /* where the requests come from */
	const char *device;
	const char *backend;
	uint64_t slots;
	uint64_t requests; /* in the trace */
	uint64_t max_model_len;
	uint64_t block_size;
	uint64_t num_pages;
	uint64_t speculative_tokens;
	uint64_t dcp_size; /* ranks that share each context; 0 or 1: none share */
	uint64_t dcp_rank; /* of the first worker, if there are several */
	uint64_t dcp_interleave;
	uint64_t index_topk; /* 0: attention is dense */
	uint64_t qsa_ratio;  /* 0: neither QSA nor PLE */
	bool stopped_early;
	struct scheduler_counts scheduled;
	double seconds;

	struct samples batch_sizes;
	uint64_t batch_rows;  /* sum of the batch sizes */
	uint64_t graph_rows;  /* the same after padding */

	/* from the owners' totals */
	uint64_t publications;
	uint64_t dma_copies;
	uint64_t publication_dispatches;
	uint64_t barrier_packets;
	uint64_t bytes;
	uint64_t packed_bytes;
	struct replay_group groups[REPLAY_GROUPS];
	struct replay_tables tables;
	struct replay_messages messages;
	uint64_t graph_launches;
	uint64_t consumer_dispatches; /* in these */
	struct replay_prefill prefill;

	struct samples publication_ns; /* host time of preparing and publishing one step */
	struct samples consumer_ns;    /* preparation begun to first consumer done, where waited for */

	bool verified;
	uint64_t verified_steps;
	uint64_t verified_bytes;
	uint64_t mismatched_steps;
	uint64_t mismatched_elements;
};

void report_free(struct report *report);

void report_print_table(struct report *report, FILE *file);

/* -1: out of memory. */
int report_print_json(struct report *report, FILE *file);

#endif
