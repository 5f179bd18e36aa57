/* SPDX-License-Identifier: MIT */
/*
 * Random token batches, and a model of what token_inputs must put on the device for any batch,
 * worked out token by token, apart from the library's code.
 */
#ifndef H2DPUB_TESTS_TOKEN_MODEL_H
#define H2DPUB_TESTS_TOKEN_MODEL_H

#include "step_world.h"

enum { TOKEN_MAX_REQUESTS = 8, TOKEN_MAX_WIDTH = 4, TOKEN_MAX_TOKENS = 64 };

/* Runners of one token a request, padded, and of four, not padded. */
extern const h2d_runner_options_t token_options_plain, token_options_speculative;

/* A batch with the arrays it points to, and host copies of what the step before left. */
typedef struct token_case {
	h2d_batch_t batch;
	int32_t scheduled[TOKEN_MAX_REQUESTS];
	int32_t contexts[TOKEN_MAX_REQUESTS];
	int32_t ids[TOKEN_MAX_TOKENS];
	int32_t drafts[TOKEN_MAX_REQUESTS * TOKEN_MAX_WIDTH];
	int32_t rows[TOKEN_MAX_REQUESTS];
	float temperatures[TOKEN_MAX_REQUESTS];
	int32_t top_ks[TOKEN_MAX_REQUESTS];
	float top_ps[TOKEN_MAX_REQUESTS];
	bool noise[TOKEN_MAX_REQUESTS];
	int32_t previous_sampled[TOKEN_MAX_REQUESTS];
	int32_t previous_drafts[256];
} token_case_t;

/* The batch padded as the runner's options say, and its tokens. */
uint32_t token_running_requests(const h2d_runner_options_t *options, const h2d_batch_t *batch);
uint32_t token_running_tokens(const h2d_runner_options_t *options, const h2d_batch_t *batch);

/* Fills in a random batch that is valid; dummy and prefill ones among them. */
void token_case_random(token_case_t *token_case, step_world_t *world, uint64_t *state);

/* What the device holds after the parts' publication and consumers; in the images of the slot. */
void token_model_sampling(step_world_t *world, const h2d_batch_t *batch);
void token_model_query_prefix(step_world_t *world, const h2d_batch_t *batch);
void token_model_input_ids(step_world_t *world, const token_case_t *token_case);
void token_model_verification(step_world_t *world, const h2d_batch_t *batch);
void token_model_all(step_world_t *world, const token_case_t *token_case);

/* The batch's arrays set to those of the case: the fields that the tests always use. */
void token_case_attach(token_case_t *token_case, uint32_t num_requests);

/* Puts the previous step of a case on the device. */
void token_case_upload_previous(token_case_t *token_case, uint32_t rows, uint32_t columns,
				uint32_t stride, uint32_t offset);

/* Prepares all parts in one call, or one by one. */
h2d_status_t token_prepare(step_world_t *world, const h2d_batch_t *batch, bool one_by_one,
			   h2d_token_inputs_step_t *step);

#endif
