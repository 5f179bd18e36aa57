/* SPDX-License-Identifier: MIT */
/* One slot's token_inputs group and the parts that it is made of. */
#ifndef H2DPUB_SRC_STEP_TOKEN_INPUTS_H
#define H2DPUB_SRC_STEP_TOKEN_INPUTS_H

#include <h2dpub/producer.h>
#include <h2dpub/token_inputs.h>

#include "step/batch.h"
#include "step/step_kernel.h"

struct h2d_runner_slot;

/* The members in the order in which they are published; each part is a range of them. */
typedef enum h2d_token_input {
	H2D_TEMPERATURES,
	H2D_TOP_KS,
	H2D_TOP_PS,
	H2D_CU_SEQLENS_Q,
	H2D_INPUT_IDS,
	H2D_DECODE_SRC,
	H2D_CU_NUM_DRAFT_TOKENS,
	H2D_TARGET_LOGITS_INDICES,
	H2D_BONUS_LOGITS_INDICES,
	H2D_TOKEN_INPUTS
} h2d_token_input_t;

typedef enum h2d_token_input_part {
	H2D_PART_SAMPLING,
	H2D_PART_QUERY_PREFIX,
	H2D_PART_INPUT_IDS,
	H2D_PART_VERIFICATION,
	H2D_TOKEN_INPUT_PARTS
} h2d_token_input_part_t;

typedef struct h2d_token_inputs {
	h2d_buffer_t *members[H2D_TOKEN_INPUTS]; /* NULL: verification, without speculation */
	h2d_group_t *parts[H2D_TOKEN_INPUT_PARTS];
	h2d_group_t *group; /* NULL: direct */
	int32_t *draft_ids; /* device, the runner's */
	h2d_step_kernel_t token_assembly;
	h2d_step_kernel_t draft_gather;
	h2d_step_kernel_t greedy_rows;
} h2d_token_inputs_t;

typedef struct h2d_token_input_producers {
	h2d_producer_t *parts[H2D_TOKEN_INPUT_PARTS];
	h2d_producer_t *all;
} h2d_token_input_producers_t;

h2d_status_t h2d_token_inputs_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
				     h2d_token_inputs_t *inputs);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_token_inputs_destroy(h2d_token_inputs_t *inputs);

/* Once all slots are made. */
h2d_status_t h2d_token_inputs_create_producers(h2d_runner_t *runner);

/*
 * A part: validation changes nothing; writing fills in the sources, their counts (by member; those
 * that it leaves are omitted) and its part of the step.
 */
h2d_status_t h2d_sampling_validate(const h2d_batch_t *batch);
void h2d_sampling_write(const h2d_token_inputs_t *inputs, const h2d_batch_t *batch,
			int64_t counts[], h2d_token_inputs_step_t *step);

/* Whether an id of the batch is on the GPU only. */
bool h2d_input_ids_are_deferred(const h2d_batch_t *batch);
h2d_status_t h2d_input_ids_validate(const h2d_runner_t *runner, const h2d_batch_t *batch);
void h2d_input_ids_write(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
			 const h2d_batch_t *batch, const h2d_batch_sizes_t *sizes, int64_t counts[],
			 h2d_token_inputs_step_t *step);

/* Token assembly; nothing if no id is deferred. */
h2d_status_t h2d_input_ids_assemble(const h2d_runner_t *runner, h2d_token_inputs_t *inputs,
				    h2d_stream_t *stream, const h2d_batch_t *batch);

/* Whether the batch's drafts are verified. */
bool h2d_verification_is_due(const h2d_runner_t *runner, const h2d_batch_t *batch);
h2d_status_t h2d_verification_validate(const h2d_runner_t *runner, const h2d_batch_t *batch);
void h2d_verification_write(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
			    const h2d_batch_t *batch, int64_t counts[],
			    h2d_token_inputs_step_t *step);

/* Draft-id gather; nothing if there are no drafts. */
h2d_status_t h2d_verification_gather(h2d_token_inputs_t *inputs, h2d_stream_t *stream,
				     uint32_t num_drafts);

#endif
