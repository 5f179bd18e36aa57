/* SPDX-License-Identifier: MIT */
/*
 * The prefill forwards of a replay: described for the library, with token ids, sampling parameters
 * and MRoPE positions that follow from request and place alone; what consumes them, and where their
 * arrays are.
 */
#ifndef H2DPUB_TOOLS_PREFILL_H
#define H2DPUB_TOOLS_PREFILL_H

#include <h2dpub/h2dpub.h>

#include "attention.h"
#include "verify.h"

struct prefill_settings {
	uint32_t max_requests;
	uint32_t max_tokens; /* of a forward; >= 1 */
	uint32_t max_model_len;
	bool token_inputs; /* they are published, too */
	bool mrope;
};

struct prefill;

/* NULL: out of memory. */
struct prefill *prefill_create(const struct prefill_settings *settings);
void prefill_destroy(struct prefill *prefill);

/* Describes a forward, and its tokens for the CPU model. The arrays hold until the next call. */
void prefill_describe(struct prefill *prefill, const struct scheduler_batch *forward,
		      h2d_batch_t *batch, struct verify_tokens *tokens);

/* What a forward was published as. */
struct prefill_step {
	h2d_prefill_inputs_step_t inputs;
	h2d_mla_prefill_step_t mla; /* with MLA only */
};

/*
 * Enqueues the first consumers of a forward: the lists of pages where what they are made of was
 * published, the slots of compressed tokens. *dispatches: how many.
 */
h2d_status_t prefill_consume(const struct attention_settings *settings, h2d_runner_t *runner,
			     h2d_stream_t *stream, const struct prefill_step *step,
			     uint64_t *dispatches);

/* Fills in where the arrays of the slot in use are that only prefills have. */
h2d_status_t prefill_addresses(const struct attention_settings *settings,
			       const h2d_runner_t *runner, const struct prefill_step *step,
			       const void *addresses[VERIFY_ARRAYS]);

#endif
