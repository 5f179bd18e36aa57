/* SPDX-License-Identifier: MIT */
/* Input ids: those that the host knows are staged, the others are put in by token assembly. */
#include <string.h>

#include "error.h"
#include "step/runner.h"

#define GROUP "input_ids"

typedef struct token_assembly_arguments {
	int32_t *input_ids;
	const int32_t *cu_seqlens_q;
	const int32_t *decode_src;
	const int32_t *sampled_ids;
	const int32_t *draft_ids;
	uint64_t draft_row_stride;
	uint32_t requests;
	uint32_t width;
} token_assembly_arguments_t;

/* The row of the step before that a request continues; -1: the host knows its ids. */
static int32_t source_row(const h2d_batch_t *batch, uint32_t request)
{
	if (batch->phase != H2D_PHASE_DECODE || batch->dummy || !batch->previous_rows ||
	    batch->previous_rows[request] < 0)
		return -1;
	return batch->previous_rows[request];
}

bool h2d_input_ids_are_deferred(const h2d_batch_t *batch)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (source_row(batch, i) >= 0)
			return true;
	}
	return false;
}

/* Where the host knows an id that is not the first of its request. */
static const int32_t *draft_of(const h2d_runner_t *runner, const h2d_batch_t *batch,
			       uint32_t request)
{
	const size_t columns = runner->options.query_length - 1;

	if (batch->phase != H2D_PHASE_DECODE || !batch->draft_token_ids)
		return NULL;
	return batch->draft_token_ids + request * columns;
}

static h2d_status_t validate_deferred(const h2d_batch_t *batch, uint32_t request, int32_t scheduled)
{
	const h2d_previous_step_t *previous = &batch->previous;
	const int32_t row = source_row(batch, request);

	if ((uint32_t)row >= previous->sampled_rows)
		return h2d_batch_error(GROUP, batch, request,
				       "previous_rows %d is not among the %u rows that the step "
				       "before sampled",
				       row, previous->sampled_rows);
	if (scheduled > 1 &&
	    (!previous->draft_ids || (uint32_t)scheduled - 1 > previous->draft_columns))
		return h2d_batch_error(
			GROUP, batch, request,
			"scheduled_tokens %d need %d drafts, and the step before has "
			"drafted %u",
			scheduled, scheduled - 1,
			previous->draft_ids ? previous->draft_columns : 0);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t validate_staged(const h2d_runner_t *runner, const h2d_batch_t *batch,
				    uint32_t request, uint32_t first, int32_t scheduled)
{
	const int32_t *drafts = draft_of(runner, batch, request);

	for (int32_t j = 0; j < scheduled; j++) {
		const bool is_draft = j > 0 && drafts;
		const int32_t id =
			is_draft ? drafts[j - 1] : batch->scheduled_token_ids[first + (uint32_t)j];

		if (id < 0)
			return h2d_batch_error(GROUP, batch, request,
					       "%s[%d] %d is a placeholder that nothing overwrites",
					       is_draft ? "draft_token_ids" : "scheduled_token_ids",
					       is_draft ? j - 1 : j, id);
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t validate_previous(const h2d_previous_step_t *previous)
{
	if (previous->sampled_rows > 0 && !previous->sampled_ids)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 GROUP ": previous.sampled_ids is NULL for %u rows",
				 previous->sampled_rows);
	if (previous->draft_ids && previous->draft_row_stride < previous->draft_columns)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 GROUP ": previous.draft_row_stride %llu is below draft_columns %u",
				 (unsigned long long)previous->draft_row_stride,
				 previous->draft_columns);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_input_ids_validate(const h2d_runner_t *runner, const h2d_batch_t *batch)
{
	uint32_t first = 0;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (h2d_input_ids_are_deferred(batch))
		status = validate_previous(&batch->previous);
	for (uint32_t i = 0; i < batch->num_requests && status == H2D_STATUS_SUCCESS; i++) {
		const int32_t scheduled = h2d_batch_scheduled(runner, batch, i);

		if (scheduled > 0 && !batch->scheduled_token_ids && !batch->dummy)
			status = h2d_batch_missing(GROUP, batch, "scheduled_token_ids");
		else if (source_row(batch, i) >= 0)
			status = validate_deferred(batch, i, scheduled);
		else if (batch->scheduled_token_ids)
			status = validate_staged(runner, batch, i, first, scheduled);
		first += (uint32_t)scheduled;
	}
	return status;
}

static void stage_ids(const h2d_runner_t *runner, const h2d_batch_t *batch,
		      const h2d_batch_sizes_t *sizes, int32_t *input_ids)
{
	if (batch->scheduled_token_ids)
		memcpy(input_ids, batch->scheduled_token_ids, sizes->tokens * sizeof(*input_ids));
	else
		memset(input_ids, 0, sizes->tokens * sizeof(*input_ids));
	memset(input_ids + sizes->tokens, 0,
	       (sizes->running_tokens - sizes->tokens) * sizeof(*input_ids));
	if (!batch->scheduled_token_ids || !batch->draft_token_ids)
		return;
	for (uint32_t i = 0; i < sizes->requests; i++) {
		const int32_t scheduled = h2d_batch_scheduled(runner, batch, i);
		const int32_t *drafts = draft_of(runner, batch, i);

		if (drafts && scheduled > 1 && source_row(batch, i) < 0)
			memcpy(input_ids + 1, drafts, (size_t)(scheduled - 1) * sizeof(*input_ids));
		input_ids += scheduled;
	}
}

void h2d_input_ids_write(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
			 const h2d_batch_t *batch, const h2d_batch_sizes_t *sizes, int64_t counts[],
			 h2d_token_inputs_step_t *step)
{
	int32_t *decode_src = h2d_buffer_host(inputs->members[H2D_DECODE_SRC]);

	stage_ids(runner, batch, sizes, h2d_buffer_host(inputs->members[H2D_INPUT_IDS]));
	counts[H2D_INPUT_IDS] = sizes->running_tokens;
	step->input_ids = h2d_buffer_device(inputs->members[H2D_INPUT_IDS]);
	step->decode_src = NULL;
	if (!h2d_input_ids_are_deferred(batch))
		return;
	for (uint32_t i = 0; i < sizes->requests; i++)
		decode_src[i] = source_row(batch, i);
	counts[H2D_DECODE_SRC] = sizes->requests;
	step->decode_src = h2d_buffer_device(inputs->members[H2D_DECODE_SRC]);
}

h2d_status_t h2d_input_ids_assemble(const h2d_runner_t *runner, h2d_token_inputs_t *inputs,
				    h2d_stream_t *stream, const h2d_batch_t *batch)
{
	const h2d_previous_step_t *previous = &batch->previous;
	const token_assembly_arguments_t arguments = {
		.input_ids = h2d_buffer_device(inputs->members[H2D_INPUT_IDS]),
		.cu_seqlens_q = h2d_buffer_device(inputs->members[H2D_CU_SEQLENS_Q]),
		.decode_src = h2d_buffer_device(inputs->members[H2D_DECODE_SRC]),
		.sampled_ids = previous->sampled_ids,
		.draft_ids =
			previous->draft_ids ? previous->draft_ids + previous->draft_offset : NULL,
		.draft_row_stride = previous->draft_row_stride,
		.requests = batch->num_requests,
		.width = runner->options.query_length,
	};

	if (!h2d_input_ids_are_deferred(batch))
		return H2D_STATUS_SUCCESS;
	return h2d_step_kernel_enqueue(&inputs->token_assembly, stream,
				       arguments.requests * arguments.width, &arguments,
				       sizeof(arguments));
}
