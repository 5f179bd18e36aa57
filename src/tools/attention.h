/* SPDX-License-Identifier: MIT */
/*
 * The serving groups of a replay beside the token inputs: the decode metadata of the chosen
 * attention, with MRoPE and two-batch overlap if asked for; what consumes them, and where they are.
 */
#ifndef H2DPUB_TOOLS_ATTENTION_H
#define H2DPUB_TOOLS_ATTENTION_H

#include <h2dpub/h2dpub.h>

#include "verify.h"

struct attention_settings {
	bool mla;	   /* else MHA */
	uint32_t dcp_size; /* MLA: ranks that share each context; 1: none share */
	uint32_t dcp_rank;
	uint32_t dcp_interleave;
	uint32_t index_topk; /* MLA: sparse attention; 0: dense */
	bool mrope;
	bool tbo;	    /* steps of one request are not split */
	uint32_t qsa_ratio; /* tokens to a compressed one; 0: neither QSA nor PLE */
};

/* The runner's options that follow. */
void attention_set_options(const struct attention_settings *settings,
			   h2d_runner_options_t *options);

/* The same for the CPU model's shape. */
void attention_set_shape(const struct attention_settings *settings, struct verify_shape *shape);

/* Prepares and publishes the decode metadata of a step; the padded batch is *graph_requests. */
h2d_status_t attention_prepare_decode(const struct attention_settings *settings,
				      h2d_runner_t *runner, h2d_stream_t *stream,
				      const h2d_batch_t *batch, uint32_t *graph_requests);

/* The positions of MRoPE, with deltas[num_requests] filled in for the step. */
h2d_status_t attention_prepare_mrope(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, int64_t *deltas);

/* Whether a padded batch is split. */
bool attention_splits(const struct attention_settings *settings, uint32_t graph_requests);

/* Records the first consumers of a step of graph_requests, of query_length tokens each. */
h2d_status_t attention_record(const struct attention_settings *settings, h2d_runner_t *runner,
			      h2d_stream_t *stream, uint32_t slot, uint32_t graph_requests,
			      uint32_t query_length);

/* Fills in where a slot's arrays are. */
h2d_status_t attention_addresses(const struct attention_settings *settings,
				 const h2d_runner_t *runner, uint32_t slot,
				 const void *addresses[VERIFY_ARRAYS]);

#endif
