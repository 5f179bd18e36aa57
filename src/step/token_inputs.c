/* SPDX-License-Identifier: MIT */
/* The token_inputs group: its parts published together or one by one, then their consumers fed. */
#include "error.h"
#include "step/arguments.h"
#include "step/runner.h"

/* A part's members are consecutive among the group's. */
typedef struct part_range {
	const char *name; /* of its group */
	h2d_token_input_t first;
	uint32_t size;
} part_range_t;

static const part_range_t parts[H2D_TOKEN_INPUT_PARTS] = {
	[H2D_PART_SAMPLING] = {"sampling", H2D_TEMPERATURES, 3},
	[H2D_PART_QUERY_PREFIX] = {"early", H2D_CU_SEQLENS_Q, 1},
	[H2D_PART_INPUT_IDS] = {"input_ids", H2D_INPUT_IDS, 2},
	[H2D_PART_VERIFICATION] = {"spec_decode", H2D_CU_NUM_DRAFT_TOKENS, 3},
};

static bool has_part(const h2d_runner_t *runner, h2d_token_input_part_t part)
{
	return part != H2D_PART_VERIFICATION || runner->options.query_length > 1;
}

/* ---- making ---------------------------------------------------------------------------------- */

static h2d_status_t declare_parts(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				  h2d_token_inputs_t *inputs)
{
	const uint64_t requests = runner->options.max_requests;
	const uint64_t tokens = runner->options.max_tokens;
	const uint64_t drafts = requests * (runner->options.query_length - 1);
	const h2d_member_declaration_t members[H2D_TOKEN_INPUTS] = {
		[H2D_TEMPERATURES] = {"temperatures", sizeof(float), requests, 0, H2D_COUNT_ROWS},
		[H2D_TOP_KS] = {"top_ks", sizeof(int32_t), requests, 0, H2D_COUNT_ROWS},
		[H2D_TOP_PS] = {"top_ps", sizeof(float), requests, 0, H2D_COUNT_ROWS},
		[H2D_CU_SEQLENS_Q] = {"cu_seqlens_q", sizeof(int32_t), requests + 1, 0,
				      H2D_COUNT_ROWS},
		/* one more, so that drafting may shift the ids by one */
		[H2D_INPUT_IDS] = {"input_ids", sizeof(int32_t), tokens + 1, 0, H2D_COUNT_ROWS},
		[H2D_DECODE_SRC] = {"decode_src", sizeof(int32_t), tokens, 0, H2D_COUNT_ROWS},
		[H2D_CU_NUM_DRAFT_TOKENS] = {"cu_num_draft_tokens", sizeof(int32_t), requests, 0,
					     H2D_COUNT_ROWS},
		[H2D_TARGET_LOGITS_INDICES] = {"target_logits_indices", sizeof(int64_t), drafts, 0,
					       H2D_COUNT_ROWS},
		[H2D_BONUS_LOGITS_INDICES] = {"bonus_logits_indices", sizeof(int64_t), requests, 0,
					      H2D_COUNT_ROWS},
	};
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS && status == H2D_STATUS_SUCCESS; i++) {
		const h2d_group_declaration_t declaration = {
			.name = parts[i].name,
			.members = &members[parts[i].first],
			.num_members = parts[i].size,
		};

		if (has_part(runner, i))
			status = h2d_slot_declare_group(slot, &declaration,
							&inputs->members[parts[i].first],
							&inputs->parts[i]);
	}
	return status;
}

static h2d_status_t create_kernels(h2d_owner_t *owner, h2d_token_inputs_t *inputs)
{
	h2d_status_t status =
		h2d_step_kernel_create(owner, "h2d_token_assembly", &inputs->token_assembly);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_step_kernel_create(owner, "h2d_draft_gather", &inputs->draft_gather);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_step_kernel_create(owner, "h2d_greedy_rows", &inputs->greedy_rows);
	return status;
}

h2d_status_t h2d_token_inputs_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				     h2d_token_inputs_t *inputs)
{
	const uint32_t size = has_part(runner, H2D_PART_VERIFICATION) ? H2D_TOKEN_INPUTS
								      : H2D_CU_NUM_DRAFT_TOKENS;
	h2d_status_t status = declare_parts(runner, slot, inputs);

	inputs->draft_ids = runner->draft_ids;
	if (status == H2D_STATUS_SUCCESS && runner->backend != H2D_BACKEND_DIRECT)
		status = h2d_slot_add_group(slot, "token_inputs", inputs->members, size,
					    &inputs->group);
	if (status == H2D_STATUS_SUCCESS)
		status = create_kernels(slot->owner, inputs);
	return status;
}

void h2d_token_inputs_destroy(h2d_token_inputs_t *inputs)
{
	h2d_step_kernel_destroy(&inputs->token_assembly);
	h2d_step_kernel_destroy(&inputs->draft_gather);
	h2d_step_kernel_destroy(&inputs->greedy_rows);
}

/* ---- one part, from its sources to its first consumer ---------------------------------------- */

/* What a producer works on: a batch that has been validated. */
typedef struct production {
	const h2d_batch_t *batch;
	h2d_batch_sizes_t sizes;
	int64_t counts[H2D_TOKEN_INPUTS];
	h2d_token_inputs_step_t step;
} production_t;

static h2d_status_t validate_part(const h2d_runner_t *runner, h2d_token_input_part_t part,
				  const h2d_batch_t *batch)
{
	switch (part) {
	case H2D_PART_SAMPLING:
		return h2d_sampling_validate(batch);
	case H2D_PART_INPUT_IDS:
		return h2d_input_ids_validate(runner, batch);
	case H2D_PART_VERIFICATION:
		return h2d_verification_validate(runner, batch);
	case H2D_PART_QUERY_PREFIX: /* measuring the batch has validated all that it reads */
	case H2D_TOKEN_INPUT_PARTS:
		break;
	}
	return H2D_STATUS_SUCCESS;
}

static void write_query_prefix(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
			       production_t *production)
{
	const h2d_batch_sizes_t *sizes = &production->sizes;
	int32_t *cu_seqlens_q = h2d_buffer_host(inputs->members[H2D_CU_SEQLENS_Q]);

	cu_seqlens_q[0] = 0;
	for (uint32_t i = 0; i < sizes->requests; i++)
		cu_seqlens_q[i + 1] =
			cu_seqlens_q[i] + h2d_batch_scheduled(runner, production->batch, i);
	for (uint32_t i = sizes->requests; i < sizes->running_requests; i++)
		cu_seqlens_q[i + 1] = cu_seqlens_q[i];
	production->counts[H2D_CU_SEQLENS_Q] = (int64_t)sizes->running_requests + 1;
	production->step.cu_seqlens_q = h2d_buffer_device(inputs->members[H2D_CU_SEQLENS_Q]);
}

static void write_part(const h2d_runner_t *runner, const h2d_token_inputs_t *inputs,
		       h2d_token_input_part_t part, production_t *production)
{
	const h2d_batch_t *batch = production->batch;
	int64_t *counts = production->counts;
	h2d_token_inputs_step_t *step = &production->step;

	switch (part) {
	case H2D_PART_SAMPLING:
		h2d_sampling_write(inputs, batch, counts, step);
		break;
	case H2D_PART_QUERY_PREFIX:
		write_query_prefix(runner, inputs, production);
		break;
	case H2D_PART_INPUT_IDS:
		h2d_input_ids_write(runner, inputs, batch, &production->sizes, counts, step);
		break;
	case H2D_PART_VERIFICATION:
		h2d_verification_write(runner, inputs, batch, counts, step);
		break;
	case H2D_TOKEN_INPUT_PARTS:
		break;
	}
}

static h2d_status_t check_published(const h2d_buffer_t *buffer, const char *consumer)
{
	if (h2d_buffer_published_epoch(buffer) == 0)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "%s: %s was not published in this epoch, and it reads it",
				 consumer, h2d_buffer_name(buffer));
	return H2D_STATUS_SUCCESS;
}

/* What a part's consumer reads of other parts; before anything of the part is written. */
static h2d_status_t check_readable(const h2d_token_inputs_t *inputs, h2d_token_input_part_t part,
				   const h2d_batch_t *batch)
{
	if (part == H2D_PART_INPUT_IDS && h2d_input_ids_are_deferred(batch))
		return check_published(inputs->members[H2D_CU_SEQLENS_Q], "token assembly");
	if (part == H2D_PART_VERIFICATION)
		return check_published(inputs->members[H2D_INPUT_IDS], "draft-id gather");
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t publish_part(const h2d_token_inputs_t *inputs, h2d_token_input_part_t part,
				 h2d_stream_t *stream, const production_t *production)
{
	return h2d_group_publish(inputs->parts[part], stream,
				 &production->counts[parts[part].first], NULL);
}

static h2d_status_t consume_part(const h2d_runner_t *runner, h2d_token_inputs_t *inputs,
				 h2d_token_input_part_t part, h2d_stream_t *stream,
				 const production_t *production)
{
	if (part == H2D_PART_INPUT_IDS)
		return h2d_input_ids_assemble(runner, inputs, stream, production->batch);
	if (part == H2D_PART_VERIFICATION)
		return h2d_verification_gather(inputs, stream, production->step.num_drafts);
	return H2D_STATUS_SUCCESS;
}

/* ---- the bodies of the producers ------------------------------------------------------------- */

static h2d_status_t produce_part(h2d_runner_t *runner, h2d_stream_t *stream,
				 h2d_token_input_part_t part, production_t *production)
{
	h2d_token_inputs_t *inputs = &runner->slots[runner->slot].token_inputs;
	h2d_status_t status = check_readable(inputs, part, production->batch);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_part(runner, inputs, part, production);
	status = publish_part(inputs, part, stream, production);
	if (status == H2D_STATUS_SUCCESS)
		status = consume_part(runner, inputs, part, stream, production);
	return status;
}

static h2d_status_t produce_sampling(h2d_runner_t *runner, h2d_stream_t *stream, void *production)
{
	return produce_part(runner, stream, H2D_PART_SAMPLING, production);
}

static h2d_status_t produce_query_prefix(h2d_runner_t *runner, h2d_stream_t *stream,
					 void *production)
{
	return produce_part(runner, stream, H2D_PART_QUERY_PREFIX, production);
}

static h2d_status_t produce_input_ids(h2d_runner_t *runner, h2d_stream_t *stream, void *production)
{
	return produce_part(runner, stream, H2D_PART_INPUT_IDS, production);
}

static h2d_status_t produce_verification(h2d_runner_t *runner, h2d_stream_t *stream,
					 void *production)
{
	return produce_part(runner, stream, H2D_PART_VERIFICATION, production);
}

/* All sources first, then what moves them, then token assembly before the gather that reads it. */
static h2d_status_t produce_all(h2d_runner_t *runner, h2d_stream_t *stream, void *context)
{
	h2d_token_inputs_t *inputs = &runner->slots[runner->slot].token_inputs;
	production_t *production = context;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS; i++)
		write_part(runner, inputs, i, production);
	if (inputs->group)
		status = h2d_group_publish(inputs->group, stream, production->counts, NULL);
	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS && status == H2D_STATUS_SUCCESS; i++) {
		if (!inputs->group && inputs->parts[i])
			status = publish_part(inputs, i, stream, production);
	}
	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS && status == H2D_STATUS_SUCCESS; i++)
		status = consume_part(runner, inputs, i, stream, production);
	return status;
}

h2d_status_t h2d_token_inputs_create_producers(h2d_runner_t *runner)
{
	static const h2d_producer_body_t bodies[H2D_TOKEN_INPUT_PARTS] = {
		[H2D_PART_SAMPLING] = produce_sampling,
		[H2D_PART_QUERY_PREFIX] = produce_query_prefix,
		[H2D_PART_INPUT_IDS] = produce_input_ids,
		[H2D_PART_VERIFICATION] = produce_verification,
	};
	const char *names[H2D_TOKEN_INPUT_PARTS];
	h2d_producer_declaration_t all = {"token_inputs", names, 0, produce_all};
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS && status == H2D_STATUS_SUCCESS; i++) {
		const h2d_producer_declaration_t part = {parts[i].name, &parts[i].name, 1,
							 bodies[i]};

		if (!has_part(runner, i))
			continue;
		names[all.num_groups++] = parts[i].name;
		status =
			h2d_producer_create(runner, &part, &runner->token_input_producers.parts[i]);
	}
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_producer_create(runner, &all, &runner->token_input_producers.all);
	return status;
}

/* ---- the interface --------------------------------------------------------------------------- */

static h2d_status_t begin_production(const h2d_runner_t *runner, const char *group,
				     const h2d_batch_t *batch, production_t *production)
{
	h2d_status_t status = h2d_batch_measure(runner, group, batch, &production->sizes);

	production->batch = batch;
	for (int i = 0; i < H2D_TOKEN_INPUTS; i++)
		production->counts[i] = H2D_COUNT_OMITTED;
	production->step = (h2d_token_inputs_step_t){
		.slot = runner->slot,
		.num_requests = production->sizes.requests,
		.running_requests = production->sizes.running_requests,
		.num_tokens = production->sizes.tokens,
		.running_tokens = production->sizes.running_tokens,
	};
	return status;
}

h2d_status_t h2d_token_inputs_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				      const h2d_batch_t *batch, h2d_token_inputs_step_t *step)
{
	production_t production = {0};
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = begin_production(runner, "token_inputs", batch, &production);
	for (int i = 0; i < H2D_TOKEN_INPUT_PARTS && status == H2D_STATUS_SUCCESS; i++)
		status = validate_part(runner, i, batch);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_producer_run(runner->token_input_producers.all, stream, &production);
	if (status == H2D_STATUS_SUCCESS && step)
		*step = production.step;
	return status;
}

/* The part's fields of the step, and the sizes; others keep what earlier parts have put there. */
static void fill_step(h2d_token_input_part_t part, const h2d_token_inputs_step_t *made,
		      h2d_token_inputs_step_t *step)
{
	step->slot = made->slot;
	step->num_requests = made->num_requests;
	step->running_requests = made->running_requests;
	step->num_tokens = made->num_tokens;
	step->running_tokens = made->running_tokens;
	switch (part) {
	case H2D_PART_SAMPLING:
		step->all_greedy = made->all_greedy;
		step->needs_independent_noise = made->needs_independent_noise;
		step->temperatures = made->temperatures;
		step->top_ks = made->top_ks;
		step->top_k = made->top_k;
		step->top_ps = made->top_ps;
		step->top_p = made->top_p;
		break;
	case H2D_PART_QUERY_PREFIX:
		step->cu_seqlens_q = made->cu_seqlens_q;
		break;
	case H2D_PART_INPUT_IDS:
		step->input_ids = made->input_ids;
		step->decode_src = made->decode_src;
		break;
	case H2D_PART_VERIFICATION:
		step->num_drafts = made->num_drafts;
		step->cu_num_draft_tokens = made->cu_num_draft_tokens;
		step->target_logits_indices = made->target_logits_indices;
		step->bonus_logits_indices = made->bonus_logits_indices;
		step->draft_ids = made->draft_ids;
		break;
	case H2D_TOKEN_INPUT_PARTS:
		break;
	}
}

static h2d_status_t prepare_part(const char *caller, h2d_runner_t *runner, h2d_stream_t *stream,
				 h2d_token_input_part_t part, const h2d_batch_t *batch,
				 h2d_token_inputs_step_t *step)
{
	production_t production = {0};
	h2d_status_t status = h2d_arguments_check_prepare(caller, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = begin_production(runner, parts[part].name, batch, &production);
	if (status == H2D_STATUS_SUCCESS)
		status = validate_part(runner, part, batch);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_producer_run(runner->token_input_producers.parts[part], stream,
					  &production);
	if (status == H2D_STATUS_SUCCESS && step)
		fill_step(part, &production.step, step);
	return status;
}

h2d_status_t h2d_sampling_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				  const h2d_batch_t *batch, h2d_token_inputs_step_t *step)
{
	return prepare_part(__func__, runner, stream, H2D_PART_SAMPLING, batch, step);
}

h2d_status_t h2d_query_prefix_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				      const h2d_batch_t *batch, h2d_token_inputs_step_t *step)
{
	return prepare_part(__func__, runner, stream, H2D_PART_QUERY_PREFIX, batch, step);
}

h2d_status_t h2d_input_ids_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				   const h2d_batch_t *batch, h2d_token_inputs_step_t *step)
{
	return prepare_part(__func__, runner, stream, H2D_PART_INPUT_IDS, batch, step);
}

h2d_status_t h2d_verification_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				      const h2d_batch_t *batch, h2d_token_inputs_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (!h2d_verification_is_due(runner, batch))
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "spec_decode: the batch is no decode, a dummy, or the runner's "
				 "query_length is 1: there is nothing to verify");
	return prepare_part(__func__, runner, stream, H2D_PART_VERIFICATION, batch, step);
}

/* A device address; NULL: the runner has no such member. */
static const void *device_of(const h2d_token_inputs_t *inputs, h2d_token_input_t member)
{
	return inputs->members[member] ? h2d_buffer_device(inputs->members[member]) : NULL;
}

h2d_status_t h2d_token_inputs_view(const h2d_runner_t *runner, uint32_t slot,
				   h2d_token_inputs_step_t *step)
{
	const h2d_token_inputs_t *inputs;
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_arguments_check_slot("token_inputs", runner, slot);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	inputs = &runner->slots[slot].token_inputs;
	*step = (h2d_token_inputs_step_t){
		.slot = slot,
		.temperatures = device_of(inputs, H2D_TEMPERATURES),
		.top_ks = device_of(inputs, H2D_TOP_KS),
		.top_ps = device_of(inputs, H2D_TOP_PS),
		.cu_seqlens_q = device_of(inputs, H2D_CU_SEQLENS_Q),
		.input_ids = device_of(inputs, H2D_INPUT_IDS),
		.decode_src = device_of(inputs, H2D_DECODE_SRC),
		.cu_num_draft_tokens = device_of(inputs, H2D_CU_NUM_DRAFT_TOKENS),
		.target_logits_indices = device_of(inputs, H2D_TARGET_LOGITS_INDICES),
		.bonus_logits_indices = device_of(inputs, H2D_BONUS_LOGITS_INDICES),
		.draft_ids = inputs->draft_ids,
	};
	return H2D_STATUS_SUCCESS;
}
