/* SPDX-License-Identifier: MIT */
/* The command line of h2dpub-replay. */
#ifndef H2DPUB_TOOLS_REPLAY_OPTIONS_H
#define H2DPUB_TOOLS_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tool_error.h"
#include "trace.h"

struct replay_options {
	const char *trace_path; /* NULL: the built-in generator */
	uint64_t requests;      /* 0: the whole trace */
	uint64_t steps;         /* 0: until all requests are done */
	uint64_t max_num_seqs;
	uint64_t block_size;
	uint64_t page_size;
	uint64_t num_pages;     /* 0: until replay_options_fit() */
	uint64_t max_model_len; /* the same */
	uint64_t step_ms;
	const char *backend; /* NULL: as the environment says */
	uint64_t speculative; /* tokens of a request in one step, behind its first */
	bool mla; /* else MHA */
	uint64_t dcp_size;
	uint64_t dcp_rank;
	uint64_t dcp_interleave;
	uint64_t index_topk; /* 0: dense */
	bool mrope;
	bool tbo;
	uint64_t qsa_ratio; /* 0: neither QSA nor PLE */
	bool prefill;
	uint64_t prefill_tokens; /* of one prefill step; 0: no prefill */
	uint64_t slots;
	uint64_t workers;   /* 0: this process publishes */
	uint64_t late_step; /* after which the last worker starts; 0: with the others */
	uint64_t seed;
	bool verify;
	bool json;
	bool help;
	bool version;
};

/* 0, or -1 with a message that names option and value. */
int replay_options_parse(struct replay_options *options, int argc, char *argv[],
			 struct tool_error *error);

/* Fills in the defaults that depend on the requests, and checks that one request fits the pages. */
int replay_options_fit(struct replay_options *options, const struct trace *trace,
		       struct tool_error *error);

void replay_options_print_help(FILE *file);

#endif
