/* SPDX-License-Identifier: MIT */
/*
 * The batch of one step, as a scheduler hands it over: plain arrays, all borrowed for the call.
 *
 * B = num_requests. Each serving group reads the fields it needs and checks them before it writes
 * anything: an inconsistency is OUT_OF_RANGE (a missing array INVALID_ARGUMENT) with a message that
 * names request and field.
 */
#ifndef H2DPUB_BATCH_H
#define H2DPUB_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <h2dpub/block_table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A batch is of one kind: prefill and decode are never mixed. */
typedef enum h2d_phase {
	H2D_PHASE_DECODE = 0,
	H2D_PHASE_PREFILL = 1 /* never padded for a graph, unless running_requests says so */
} h2d_phase_t;

/*
 * What the step before left on the GPU, which the host may not know yet. All pointers are device
 * memory; the GPU reads it in the order of the stream.
 */
typedef struct h2d_previous_step {
	const int32_t *sampled_ids; /* [sampled_rows] one token id a request of that step */
	uint32_t sampled_rows;      /* 0: no such step, or a dummy one: no source is deferred */
	const int32_t *draft_ids;   /* NULL: that step drafted nothing */
	uint32_t draft_columns;     /* drafted ids in a row */
	uint64_t draft_row_stride;  /* elements from row to row; >= draft_columns */
	uint64_t draft_offset;      /* elements from draft_ids to the first id of row 0 */
} h2d_previous_step_t;

typedef struct h2d_batch {
	uint32_t num_requests;
	h2d_phase_t phase;
	bool dummy;                  /* a warm-up step: touches no KV slot, verifies nothing */
	uint32_t running_requests;   /* the padded batch, >= B; 0: the smallest captured size that
				      * holds B (prefill, or none does: B) */
	const uint64_t *request_ids; /* [B] or NULL: named in messages */

	/* Lengths, in tokens. */
	const int32_t *scheduled_tokens; /* [B] that each request runs, ragged speculative widths
					  * included; NULL: query_length each (prefill: context less
					  * cached) */
	const int32_t *context_lengths;  /* [B] in the KV cache including this step's; of these, a
					  * decode counts query_length, however few are scheduled */
	const int32_t *cached_tokens;    /* [B] of a prefill that the KV cache holds already; or
					  * NULL: 0 each */
	const int32_t *rejected_tokens;  /* [B] speculative tokens of the step before to take off
					  * the context of a decode; or NULL: 0 each */

	/*
	 * Block tables: rows of block ids, >= ceil(context / block_size) of them, all of pages.
	 * Request i has tables[i] if tables and tables[i] are not NULL, else the ids
	 * block_tables[i][0..block_table_lengths[i]). The former know what has changed since a
	 * slot's last step; the latter are compared with it.
	 */
	const h2d_block_table_t *const *tables; /* [B] or NULL */
	const int32_t *const *block_tables;     /* [B] or NULL, as may be each of no ids; a prefill
						 * may have neither: every slot is -1 */
	const uint32_t *block_table_lengths;    /* [B] or NULL */

	/* Token ids, request after request: T = the sum of scheduled tokens. */
	const int32_t *scheduled_token_ids; /* [T]; negative: a placeholder for the GPU */
	const int32_t *draft_token_ids;     /* [B, query_length - 1] ids of the tokens behind the
					     * first of requests that are not deferred; or NULL:
					     * they are in scheduled_token_ids */
	const int32_t *previous_rows;       /* [B] the row in `previous` whose ids a decode
					     * continues, or negative: none; or NULL */
	h2d_previous_step_t previous;

	/* Sampling. */
	const float *temperatures; /* [B] finite, >= 0, 0: greedy; or NULL: 1 each */
	const int32_t *top_ks;     /* [B] >= 1, or -1: off; or NULL: off */
	const float *top_ps;       /* [B] in (0, 1], 1: off; or NULL: off */
	const bool *needs_independent_noise; /* [B] or NULL: false each */

	/* MRoPE: positions on three axes. */
	const int64_t *mrope_deltas; /* [B] what a decode adds to each position; or NULL: 0 each */
	const int64_t *const *mrope_positions; /* [B] of a prefill: three planes, from the context's
						* first token on; or NULL, also of one request: the
						* place in the context on each axis */
	const uint64_t *mrope_strides; /* [B] elements from plane to plane, >= the context; or NULL:
					* context_lengths */
} h2d_batch_t;

#ifdef __cplusplus
}
#endif

#endif
