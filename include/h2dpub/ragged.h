/* SPDX-License-Identifier: MIT */
/*
 * What QSA (attention over compressed queries) and PLE (per-layer state) read of a ragged batch,
 * token by token and request by request. For runners with ragged.
 */
#ifndef H2DPUB_RAGGED_H
#define H2DPUB_RAGGED_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fixed addresses of the slot, on the device; R = running_tokens. */
typedef struct h2d_qsa_step {
	uint32_t slot;
	uint32_t tokens;		  /* real ones */
	uint32_t running_tokens;	  /* padding included */
	const int32_t *token_to_req;	  /* [R] the token's request; padding -1 */
	const int64_t *logical_positions; /* [R] its place in the context; padding -1 */
	int64_t *compressed_slots;	  /* [R] written by h2d_qsa_enqueue_compressed_slots() */
} h2d_qsa_step_t;

/*
 * Prepares and publishes qsa_token_to_req and qsa_logical_positions of the current slot, one token
 * behind the other. A decode's request is at c - query_length + j, c being its context less
 * rejected tokens, a prefill's at cached_tokens + j, for each of its scheduled tokens j. The
 * context of a decode counts query_length tokens of this step, however few are scheduled. step may
 * be NULL.
 *
 * Under the packed backend the members are copied one by one. The whole batch is validated before
 * anything is written. INVALID_STATE: a runner without ragged. OUT_OF_RANGE names request and
 * field. Publication errors.
 */
H2D_API h2d_status_t h2d_qsa_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, h2d_qsa_step_t *step);

/*
 * Enqueues, or records, what follows for the slot's first `tokens` tokens: compressed_slots[t] =
 * slot_mapping[t] / ratio if the token is the last of `ratio` positions and has a slot, else -1.
 * slot_mapping is device memory, one slot a token. Outside capture at most once an epoch of the
 * slot (INVALID_STATE), on that epoch's stream (WRONG_STREAM); the slot's next begin waits for it.
 * OUT_OF_RANGE: slot, tokens, ratio 0. WRONG_DEVICE. Others as h2d_stream_dispatch().
 */
H2D_API h2d_status_t h2d_qsa_enqueue_compressed_slots(h2d_runner_t *runner, h2d_stream_t *stream,
						      uint32_t slot, const int64_t *slot_mapping,
						      uint32_t tokens, uint32_t ratio);

/* The fixed addresses of a slot; the sizes are 0. OUT_OF_RANGE: slot. INVALID_STATE. */
H2D_API h2d_status_t h2d_qsa_view(const h2d_runner_t *runner, uint32_t slot, h2d_qsa_step_t *step);

typedef struct h2d_ple_step {
	uint32_t slot;
	uint32_t num_requests;
	const bool *has_initial_state; /* device [num_requests] */
} h2d_ple_step_t;

/*
 * Publishes for each request whether it had tokens before this step, and so a state; the requests
 * of a graph's padding keep what they had. Errors as for h2d_qsa_prepare().
 */
H2D_API h2d_status_t h2d_ple_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, h2d_ple_step_t *step);

/* As h2d_qsa_view(): what a graph of its consumers is recorded with. */
H2D_API h2d_status_t h2d_ple_view(const h2d_runner_t *runner, uint32_t slot, h2d_ple_step_t *step);

#ifdef __cplusplus
}
#endif

#endif
