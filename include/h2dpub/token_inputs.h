/* SPDX-License-Identifier: MIT */
/*
 * The token_inputs group: sampling parameters, the padded query prefix, input ids, sources of ids
 * that only the GPU knows, and speculative verification indices. First consumers: token assembly,
 * then draft-id gather.
 *
 * Notation: B requests, G running requests, T scheduled tokens, W running tokens, k speculative
 * tokens = query_length - 1. A batch that is padded for a graph runs W = G * query_length tokens,
 * any other W = T.
 */
#ifndef H2DPUB_TOKEN_INPUTS_H
#define H2DPUB_TOKEN_INPUTS_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What uploaded temperatures are at least; a row with no more than that is greedy. */
#define H2D_TEMPERATURE_CLAMP 1e-10f

/* Fixed device addresses of a slot, and what the host knows without asking the GPU. */
typedef struct h2d_token_inputs_step {
	uint32_t slot;
	uint32_t num_requests;     /* B */
	uint32_t running_requests; /* G */
	uint32_t num_tokens;       /* T */
	uint32_t running_tokens;   /* W */
	uint32_t num_drafts;       /* D, to verify */

	bool all_greedy;              /* every temperature is 0 */
	bool needs_independent_noise; /* any request does */
	const float *temperatures;    /* [B] max(t, H2D_TEMPERATURE_CLAMP) */
	const int32_t *top_ks;        /* [B]; NULL: all requests have the same, top_k */
	int32_t top_k;                /* -1: off */
	const float *top_ps;          /* [B]; NULL: all requests have the same, top_p */
	float top_p;                  /* 1: off */

	const int32_t *cu_seqlens_q; /* [G + 1] prefix sum of scheduled tokens; padding flat */
	const int32_t *input_ids;    /* [W], assembled; padding 0 */
	const int32_t *decode_src;   /* [B]; NULL: no id is deferred */

	/* A decode of a runner with k > 0; NULL otherwise. */
	const int32_t *cu_num_draft_tokens;   /* [B] drafts up to and including each request */
	const int64_t *target_logits_indices; /* [D] rows of logits that judge a draft */
	const int64_t *bonus_logits_indices;  /* [B] the last row of each request */
	const int32_t *draft_ids;             /* [D] gathered; the same address in every slot */
} h2d_token_inputs_step_t;

/*
 * Prepares and publishes token_inputs of the slot in use, then enqueues token assembly (if an id is
 * deferred) and draft-id gather (if there are drafts). packed and pull publish one group,
 * "token_inputs"; direct publishes the groups below one by one. step may be NULL.
 *
 * A decode's request with previous_rows[i] >= 0 takes its first id from the ids that the step
 * before sampled and the others from those that it drafted, on the GPU; all other ids are the
 * host's. A dummy batch has no deferred ids and verifies nothing; its ids may be NULL: 0 each.
 * Filters that are the same for all requests are not uploaded.
 *
 * The whole batch is validated before anything is written. OUT_OF_RANGE names request and field:
 * scheduled_tokens in [0, query_length] (with k > 0, >= 1), W <= max_tokens; previous_rows below
 * previous.sampled_rows; no more ids behind the first than previous.draft_columns; no negative id
 * that the GPU would not overwrite; sampling parameters as in batch.h. INVALID_ARGUMENT: a missing
 * array. Publication errors as for h2d_producer_run().
 */
H2D_API h2d_status_t h2d_token_inputs_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					      const h2d_batch_t *batch,
					      h2d_token_inputs_step_t *step);

/*
 * The parts one by one, each a group of its own: "sampling", "early" (the query prefix),
 * "input_ids" and "spec_decode" (decode of runners with k > 0; others INVALID_STATE). They fill in
 * their part of *step, which may be NULL. Token assembly and draft-id gather are enqueued with the
 * third and the fourth and read what the ones before have published: INVALID_STATE if they have not
 * in this epoch.
 */
H2D_API h2d_status_t h2d_sampling_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					  const h2d_batch_t *batch, h2d_token_inputs_step_t *step);
H2D_API h2d_status_t h2d_query_prefix_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					      const h2d_batch_t *batch,
					      h2d_token_inputs_step_t *step);
H2D_API h2d_status_t h2d_input_ids_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					   const h2d_batch_t *batch, h2d_token_inputs_step_t *step);
H2D_API h2d_status_t h2d_verification_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					      const h2d_batch_t *batch,
					      h2d_token_inputs_step_t *step);

/*
 * Enqueues (or, during capture, records) the greedy correction: for each of the first `rows` rows
 * whose temperature in this slot is greedy, sampled_ids[row] = largest_logit_ids[row]. Both are
 * device arrays. The GPU itself recognises the rows by the uploaded temperature, so that no mask is
 * read back. Outside capture at most once an epoch of the slot (INVALID_STATE), on that epoch's
 * stream (WRONG_STREAM); the slot's next begin waits for it. OUT_OF_RANGE: slot or rows.
 * WRONG_DEVICE. Others as h2d_stream_dispatch().
 */
H2D_API h2d_status_t h2d_sampling_enqueue_greedy_correction(h2d_runner_t *runner,
							    h2d_stream_t *stream, uint32_t slot,
							    uint32_t rows, int32_t *sampled_ids,
							    const int32_t *largest_logit_ids);

/* The addresses of a slot, all of them; sizes and scalars are 0. OUT_OF_RANGE: slot. */
H2D_API h2d_status_t h2d_token_inputs_view(const h2d_runner_t *runner, uint32_t slot,
					   h2d_token_inputs_step_t *step);

#ifdef __cplusplus
}
#endif

#endif
