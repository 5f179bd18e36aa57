/* SPDX-License-Identifier: MIT */
/* MRoPE: the positions of a step's tokens on three axes. For runners with mrope. */
#ifndef H2DPUB_MROPE_H
#define H2DPUB_MROPE_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

#define H2D_MROPE_AXES 3

typedef struct h2d_mrope_step {
	uint32_t slot;
	uint32_t tokens; /* real ones, of each axis */
	uint32_t width;	 /* tokens that the model runs, padding included: the plane stride */
	const int64_t *positions; /* device [3, width], contiguous; padding 0 */
} h2d_mrope_step_t;

/*
 * Prepares and publishes mrope_positions of the current slot: the first 3 * width elements, three
 * planes with the stride that the model reads, whatever the step before used. step may be NULL.
 *
 * Prefill: width is the scheduled tokens; a request's columns are its mrope_positions from the
 * cached tokens on, or its places in the context. Decode: width is the running tokens, graph
 * padding included; token j of a request is at c - query_length + j + delta on all axes, c being
 * its context less rejected tokens, which counts query_length tokens of this step, however few are
 * scheduled.
 *
 * The whole batch is validated before anything is written. INVALID_STATE: a runner without mrope.
 * OUT_OF_RANGE names request and field. Publication errors.
 */
H2D_API h2d_status_t h2d_mrope_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				       const h2d_batch_t *batch, h2d_mrope_step_t *step);

/* The fixed address of a slot; the sizes are 0. OUT_OF_RANGE: slot. INVALID_STATE. */
H2D_API h2d_status_t h2d_mrope_view(const h2d_runner_t *runner, uint32_t slot,
				    h2d_mrope_step_t *step);

#ifdef __cplusplus
}
#endif

#endif
