/* SPDX-License-Identifier: MIT */
/*
 * Random decode batches, and a model of what a slot's device memory must hold after their steps,
 * worked out token by token and page by page, apart from the library's code.
 */
#ifndef H2DPUB_TESTS_DECODE_MODEL_H
#define H2DPUB_TESTS_DECODE_MODEL_H

#include "step_world.h"

/* A batch with the arrays it points to. */
typedef struct decode_case {
	h2d_batch_t batch;
	int32_t *context_lengths;
	int32_t *rejected_tokens;
	int32_t **block_tables;
	uint32_t *block_table_lengths;
	uint64_t *request_ids;
	uint32_t num_requests;
} decode_case_t;

/* A random batch that is valid for a runner of these options; state is the random state. */
decode_case_t decode_case_random(uint64_t *state, const h2d_runner_options_t *options,
				 uint32_t num_requests);
void decode_case_free(decode_case_t *decode_case);

/* The columns of the block table. */
uint32_t decode_columns(const h2d_runner_options_t *options);

/* Enters what publishing a batch, and then generating its KV indices, changes in the slot in use.
 */
void decode_expect(step_world_t *world, const h2d_batch_t *batch, uint32_t graph_requests);
void decode_expect_kv_indices(step_world_t *world, uint32_t graph_requests);

#endif
