/* SPDX-License-Identifier: MIT */
/* Verification indices: which rows of a speculative step's logits judge drafts or give a bonus. */
#include "error.h"
#include "step/runner.h"

#define GROUP "spec_decode"

typedef struct draft_gather_arguments {
	int32_t *draft_ids;
	const int32_t *input_ids;
	const int64_t *target_logits_indices;
	uint32_t drafts;
} draft_gather_arguments_t;

bool h2d_verification_is_due(const h2d_runner_t *runner, const h2d_batch_t *batch)
{
	return runner->options.query_length > 1 && batch->phase == H2D_PHASE_DECODE &&
	       !batch->dummy;
}

h2d_status_t h2d_verification_validate(const h2d_runner_t *runner, const h2d_batch_t *batch)
{
	if (!h2d_verification_is_due(runner, batch))
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (h2d_batch_scheduled(runner, batch, i) < 1)
			return h2d_batch_error(GROUP, batch, i,
					       "scheduled_tokens 0 leave no row for a bonus token");
	}
	return H2D_STATUS_SUCCESS;
}

void h2d_verification_write(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
			    const h2d_batch_t *batch, int64_t counts[],
			    h2d_token_inputs_step_t *step)
{
	h2d_buffer_t *const *members = inputs->members;
	int32_t *cu_num_draft_tokens;
	int64_t *target_logits_indices;
	int64_t *bonus_logits_indices;
	int32_t drafts = 0;
	int64_t row = 0;

	if (!h2d_verification_is_due(runner, batch))
		return;
	cu_num_draft_tokens = h2d_buffer_host(members[H2D_CU_NUM_DRAFT_TOKENS]);
	target_logits_indices = h2d_buffer_host(members[H2D_TARGET_LOGITS_INDICES]);
	bonus_logits_indices = h2d_buffer_host(members[H2D_BONUS_LOGITS_INDICES]);
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int32_t scheduled = h2d_batch_scheduled(runner, batch, i);

		for (int32_t j = 0; j + 1 < scheduled; j++)
			target_logits_indices[drafts++] = row++;
		bonus_logits_indices[i] = row++;
		cu_num_draft_tokens[i] = drafts;
	}
	counts[H2D_CU_NUM_DRAFT_TOKENS] = batch->num_requests;
	counts[H2D_TARGET_LOGITS_INDICES] = drafts;
	counts[H2D_BONUS_LOGITS_INDICES] = batch->num_requests;
	step->num_drafts = (uint32_t)drafts;
	step->cu_num_draft_tokens = h2d_buffer_device(members[H2D_CU_NUM_DRAFT_TOKENS]);
	step->target_logits_indices = h2d_buffer_device(members[H2D_TARGET_LOGITS_INDICES]);
	step->bonus_logits_indices = h2d_buffer_device(members[H2D_BONUS_LOGITS_INDICES]);
	step->draft_ids = inputs->draft_ids;
}

h2d_status_t h2d_verification_gather(h2d_token_inputs_t *inputs, h2d_stream_t *stream,
				     uint32_t num_drafts)
{
	draft_gather_arguments_t arguments;

	if (num_drafts == 0)
		return H2D_STATUS_SUCCESS;
	arguments = (draft_gather_arguments_t){
		.draft_ids = inputs->draft_ids,
		.input_ids = h2d_buffer_device(inputs->members[H2D_INPUT_IDS]),
		.target_logits_indices =
			h2d_buffer_device(inputs->members[H2D_TARGET_LOGITS_INDICES]),
		.drafts = num_drafts,
	};
	return h2d_step_kernel_enqueue(&inputs->draft_gather, stream, num_drafts, &arguments,
				       sizeof(arguments));
}
