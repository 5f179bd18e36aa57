/* SPDX-License-Identifier: MIT */
/* Ragged batches: requests and positions token by token for QSA, states by request for PLE. */
#include "step/ragged.h"

#include "error.h"
#include "step/arguments.h"
#include "step/decode_batch.h"
#include "step/runner.h"

#define QSA "qsa"
#define PLE "ple"

/* As in kernels/qsa_compressed_slots.cl. */
typedef struct compression_arguments {
	int64_t *compressed_slots;
	const int64_t *slot_mapping;
	const int64_t *logical_positions;
	uint32_t tokens;
	uint32_t ratio;
} compression_arguments_t;

static h2d_status_t create_groups(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				  h2d_ragged_t *ragged)
{
	const uint64_t tokens = runner->options.max_tokens;
	const h2d_member_declaration_t qsa_members[] = {
		{"qsa_token_to_req", sizeof(int32_t), tokens, 0, H2D_COUNT_ROWS},
		{"qsa_logical_positions", sizeof(int64_t), tokens, 0, H2D_COUNT_ROWS},
	};
	const h2d_member_declaration_t ple_member = {"ple_has_initial_state", sizeof(bool),
						     runner->options.max_requests, 0,
						     H2D_COUNT_ROWS};
	const h2d_group_declaration_t qsa = {
		.name = QSA,
		.members = qsa_members,
		.num_members = 2,
		.unpacked = true,
	};
	const h2d_group_declaration_t ple = {
		.name = PLE,
		.members = &ple_member,
		.num_members = 1,
		.unpacked = true,
	};
	h2d_buffer_t *members[2];
	h2d_status_t status = h2d_slot_declare_group(slot, &qsa, members, &ragged->qsa);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	ragged->token_to_req = members[0];
	ragged->logical_positions = members[1];
	return h2d_slot_declare_group(slot, &ple, &ragged->has_initial_state, &ragged->ple);
}

h2d_status_t h2d_ragged_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
			       h2d_ragged_t *ragged)
{
	void *memory;
	h2d_status_t status;

	if (!runner->options.ragged)
		return H2D_STATUS_SUCCESS;
	ragged->device = runner->device;
	status = create_groups(runner, slot, ragged);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = h2d_device_allocate(runner->device,
				     (size_t)runner->options.max_tokens * sizeof(int64_t), &memory);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	ragged->compressed_slots = memory;
	return h2d_step_kernel_create(slot->owner, "h2d_qsa_compressed_slots",
				      &ragged->compression);
}

void h2d_ragged_destroy(h2d_ragged_t *ragged)
{
	h2d_step_kernel_destroy(&ragged->compression);
	if (ragged->device)
		h2d_device_free(ragged->device, ragged->compressed_slots);
	*ragged = (h2d_ragged_t){0};
}

/* ---- validation ------------------------------------------------------------------------------ */

static h2d_status_t check_runner(const h2d_runner_t *runner, const char *group)
{
	if (!runner->options.ragged)
		return h2d_error(H2D_STATUS_INVALID_STATE, "%s: the runner has no ragged", group);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_batch(const h2d_runner_t *runner, const char *group,
				const h2d_stream_t *stream, const h2d_batch_t *batch,
				h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = h2d_arguments_check_prepare(group, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = check_runner(runner, group);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return batch->phase == H2D_PHASE_PREFILL
		       ? h2d_batch_measure(runner, group, batch, sizes)
		       : h2d_decode_check_contexts(runner, group, batch, sizes);
}

/* The place in its context of a request's first token of this step. */
static int64_t first_position(const h2d_runner_t *runner, const h2d_batch_t *batch,
			      uint32_t request)
{
	if (batch->phase == H2D_PHASE_PREFILL)
		return h2d_batch_cached(batch, request);
	return h2d_decode_context(batch, request) - runner->options.query_length;
}

/* ---- QSA ------------------------------------------------------------------------------------- */

static void write_tokens(const h2d_runner_t *runner, const h2d_ragged_t *ragged,
			 const h2d_batch_t *batch, uint32_t running_tokens)
{
	int32_t *token_to_req = h2d_buffer_host(ragged->token_to_req);
	int64_t *logical_positions = h2d_buffer_host(ragged->logical_positions);
	uint32_t token = 0;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int64_t first = first_position(runner, batch, i);
		const int32_t tokens = h2d_batch_scheduled(runner, batch, i);

		for (int32_t j = 0; j < tokens; j++, token++) {
			token_to_req[token] = (int32_t)i;
			logical_positions[token] = first + j;
		}
	}
	for (; token < running_tokens; token++) {
		token_to_req[token] = -1;
		logical_positions[token] = -1;
	}
}

static h2d_qsa_step_t view_of_slot(const h2d_runner_t *runner, uint32_t slot)
{
	const h2d_ragged_t *ragged = &runner->slots[slot].ragged;

	return (h2d_qsa_step_t){
		.slot = slot,
		.token_to_req = h2d_buffer_device(ragged->token_to_req),
		.logical_positions = h2d_buffer_device(ragged->logical_positions),
		.compressed_slots = ragged->compressed_slots,
	};
}

h2d_status_t h2d_qsa_prepare(h2d_runner_t *runner, h2d_stream_t *stream, const h2d_batch_t *batch,
			     h2d_qsa_step_t *step)
{
	h2d_batch_sizes_t sizes;
	const h2d_ragged_t *ragged;
	int64_t counts[2];
	h2d_status_t status = check_batch(runner, QSA, stream, batch, &sizes);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	ragged = &runner->slots[runner->slot].ragged;
	status = h2d_group_check_writable(ragged->qsa, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_tokens(runner, ragged, batch, sizes.running_tokens);
	counts[0] = sizes.running_tokens;
	counts[1] = sizes.running_tokens;
	status = h2d_group_publish(ragged->qsa, stream, counts, NULL);
	if (status != H2D_STATUS_SUCCESS || !step)
		return status;
	*step = view_of_slot(runner, runner->slot);
	step->tokens = sizes.tokens;
	step->running_tokens = sizes.running_tokens;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_slot(const h2d_runner_t *runner, const char *group, uint32_t slot)
{
	h2d_status_t status = h2d_arguments_check_slot(group, runner, slot);

	return status == H2D_STATUS_SUCCESS ? check_runner(runner, group) : status;
}

h2d_status_t h2d_qsa_enqueue_compressed_slots(h2d_runner_t *runner, h2d_stream_t *stream,
					      uint32_t slot, const int64_t *slot_mapping,
					      uint32_t tokens, uint32_t ratio)
{
	h2d_ragged_t *ragged;
	compression_arguments_t arguments;
	h2d_status_t status;

	if (!runner || !stream || !slot_mapping)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_qsa_enqueue_compressed_slots: %s is NULL",
				 !runner   ? "runner"
				 : !stream ? "stream"
					   : "slot_mapping");
	status = check_slot(runner, QSA, slot);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (tokens > runner->options.max_tokens || ratio == 0)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 QSA ": %u tokens of max_tokens %u in a ratio of %u", tokens,
				 runner->options.max_tokens, ratio);
	ragged = &runner->slots[slot].ragged;
	status = h2d_step_kernel_keep_input(stream, ragged->logical_positions);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	arguments = (compression_arguments_t){
		.compressed_slots = ragged->compressed_slots,
		.slot_mapping = slot_mapping,
		.logical_positions = h2d_buffer_device(ragged->logical_positions),
		.tokens = tokens,
		.ratio = ratio,
	};
	return h2d_step_kernel_enqueue(&ragged->compression, stream, tokens, &arguments,
				       sizeof(arguments));
}

h2d_status_t h2d_qsa_view(const h2d_runner_t *runner, uint32_t slot, h2d_qsa_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, QSA, slot);
	if (status == H2D_STATUS_SUCCESS)
		*step = view_of_slot(runner, slot);
	return status;
}

/* ---- PLE ------------------------------------------------------------------------------------- */

h2d_status_t h2d_ple_prepare(h2d_runner_t *runner, h2d_stream_t *stream, const h2d_batch_t *batch,
			     h2d_ple_step_t *step)
{
	h2d_batch_sizes_t sizes;
	const h2d_ragged_t *ragged;
	bool *has_initial_state;
	int64_t count;
	h2d_status_t status = check_batch(runner, PLE, stream, batch, &sizes);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	ragged = &runner->slots[runner->slot].ragged;
	status = h2d_group_check_writable(ragged->ple, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	has_initial_state = h2d_buffer_host(ragged->has_initial_state);
	for (uint32_t i = 0; i < sizes.requests; i++)
		has_initial_state[i] = first_position(runner, batch, i) > 0;
	count = sizes.requests;
	status = h2d_group_publish(ragged->ple, stream, &count, NULL);
	if (status == H2D_STATUS_SUCCESS && step)
		*step = (h2d_ple_step_t){
			.slot = runner->slot,
			.num_requests = sizes.requests,
			.has_initial_state = h2d_buffer_device(ragged->has_initial_state),
		};
	return status;
}

h2d_status_t h2d_ple_view(const h2d_runner_t *runner, uint32_t slot, h2d_ple_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, PLE, slot);
	if (status == H2D_STATUS_SUCCESS)
		*step = (h2d_ple_step_t){
			.slot = slot,
			.has_initial_state =
				h2d_buffer_device(runner->slots[slot].ragged.has_initial_state),
		};
	return status;
}
