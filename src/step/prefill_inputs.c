/* SPDX-License-Identifier: MIT */
/* The prefill_inputs group: what attention reads in a prefill, and ordinary positions. */
#include "error.h"
#include "step/arguments.h"
#include "step/batch.h"
#include "step/decode_batch.h"
#include "step/runner.h"

#define GROUP "prefill_inputs"

typedef struct page_prefix_arguments {
	int32_t *prefix;
	const int32_t *context_lens;
	uint32_t requests;
	uint32_t page_size;
} page_prefix_arguments_t;

/* What a producer works on: a batch that has been validated. */
typedef struct production {
	const h2d_batch_t *batch;
	h2d_batch_sizes_t sizes;
	bool has_tables;
	uint32_t table_rows; /* to publish; 0: attention reads no table */
	h2d_prefill_inputs_step_t step;
} production_t;

/* ---- making ---------------------------------------------------------------------------------- */

static h2d_status_t declare_groups(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				   h2d_prefill_inputs_t *inputs)
{
	const uint64_t requests = runner->options.max_requests;
	const uint64_t tokens = runner->options.max_tokens;
	const h2d_member_declaration_t members[H2D_PREFILL_INPUTS] = {
		{"slot_mapping", sizeof(int64_t), tokens, 0, H2D_COUNT_ROWS},
		{"context_lens", sizeof(int32_t), requests, 0, H2D_COUNT_ROWS},
		{"block_tables", sizeof(int32_t), requests, runner->block_table_columns,
		 H2D_COUNT_ROWS},
		{"cu_seqlens_k", sizeof(int32_t), requests + 1, 0, H2D_COUNT_ROWS},
		{"num_cached_tokens", sizeof(int32_t), requests, 0, H2D_COUNT_ROWS},
		{"seq_starts", sizeof(int32_t), requests, 0, H2D_COUNT_ROWS},
		{"positions", sizeof(int64_t), tokens, 0, H2D_COUNT_ROWS},
	};
	const h2d_group_declaration_t mirrors = {
		.name = "prefill",
		.members = members,
		.num_members = H2D_PREFILL_POSITIONS,
	};
	const h2d_group_declaration_t positions = {
		.name = "positions",
		.members = &members[H2D_PREFILL_POSITIONS],
		.num_members = 1,
	};
	h2d_status_t status =
		h2d_slot_declare_group(slot, &mirrors, inputs->members, &inputs->mirrors);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_slot_declare_group(slot, &positions,
						&inputs->members[H2D_PREFILL_POSITIONS],
						&inputs->positions);
	if (status == H2D_STATUS_SUCCESS && runner->backend != H2D_BACKEND_DIRECT &&
	    !runner->options.mrope)
		status = h2d_slot_add_group(slot, GROUP, inputs->members, H2D_PREFILL_INPUTS,
					    &inputs->group);
	return status;
}

h2d_status_t h2d_prefill_inputs_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				       h2d_prefill_inputs_t *inputs)
{
	const size_t size = ((size_t)runner->options.max_requests + 1) * sizeof(int32_t);
	void *memory;
	h2d_status_t status = declare_groups(runner, slot, inputs);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_step_kernel_create(slot->owner, "h2d_page_prefix",
						&inputs->page_prefix);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate(runner->device, size, &memory);
	if (status == H2D_STATUS_SUCCESS)
		inputs->kv_indptr = memory;
	return status;
}

h2d_status_t h2d_prefill_inputs_create_kernels(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
					       h2d_prefill_inputs_t *inputs)
{
	const h2d_kv_index_generation_description_t description = {
		.max_requests = runner->options.max_requests,
		.kv_indptr = inputs->kv_indptr,
		.block_tables = h2d_buffer_device(inputs->members[H2D_PREFILL_BLOCK_TABLES]),
		.inputs = {inputs->members[H2D_PREFILL_BLOCK_TABLES]},
		.kv_indices = slot->mha_decode.kv_index_generation.kv_indices,
	};

	return h2d_kv_index_generation_create(runner, &description, &inputs->kv_index_generation);
}

void h2d_prefill_inputs_destroy(h2d_prefill_inputs_t *inputs)
{
	h2d_kv_index_generation_destroy(&inputs->kv_index_generation);
	if (inputs->page_prefix.device)
		h2d_device_free(inputs->page_prefix.device, inputs->kv_indptr);
	h2d_step_kernel_destroy(&inputs->page_prefix);
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Prefix sums of contexts are int32. */
static h2d_status_t check_keys(const h2d_batch_t *batch)
{
	int64_t keys = 0;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		keys += batch->context_lengths[i];
		if (keys > INT32_MAX)
			return h2d_batch_error(GROUP, batch, i,
					       "context_lengths %d: up to it they are more than %d "
					       "tokens",
					       batch->context_lengths[i], INT32_MAX);
	}
	return H2D_STATUS_SUCCESS;
}

static int32_t longest_context(const h2d_batch_t *batch)
{
	int32_t longest = 0;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (batch->context_lengths[i] > longest)
			longest = batch->context_lengths[i];
	}
	return longest;
}

static bool has_cached(const h2d_batch_t *batch)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (h2d_batch_cached(batch, i) > 0)
			return true;
	}
	return false;
}

static h2d_status_t validate(const h2d_runner_t *runner, const h2d_batch_t *batch,
			     production_t *production)
{
	h2d_status_t status;

	if (batch->phase != H2D_PHASE_PREFILL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, GROUP ": the batch is not a prefill");
	status = h2d_batch_measure(runner, GROUP, batch, &production->sizes);
	if (status == H2D_STATUS_SUCCESS)
		status = check_keys(batch);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	production->batch = batch;
	production->has_tables = batch->tables || batch->block_tables;
	production->step.has_cached = has_cached(batch);
	production->step.max_context_length = longest_context(batch);
	if (production->has_tables)
		return h2d_decode_check_rows(runner, GROUP, batch);
	if (production->step.has_cached)
		return h2d_batch_missing(GROUP, batch, "block_tables");
	return H2D_STATUS_SUCCESS;
}

/* ---- the sources ----------------------------------------------------------------------------- */

static void *host_of(const h2d_prefill_inputs_t *inputs, h2d_prefill_input_t member)
{
	return h2d_buffer_host(inputs->members[member]);
}

/* Where each token is, and its place in its context. */
static void write_tokens(const h2d_runner_t *runner, const h2d_prefill_inputs_t *inputs,
			 const production_t *production)
{
	const h2d_batch_t *batch = production->batch;
	int64_t *slot_mapping = host_of(inputs, H2D_PREFILL_SLOT_MAPPING);
	int64_t *positions = host_of(inputs, H2D_PREFILL_POSITIONS);
	const bool has_slots = production->has_tables && !batch->dummy;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int32_t *ids = has_slots ? h2d_decode_block_ids(batch, i) : NULL;

		for (int32_t p = h2d_batch_cached(batch, i); p < batch->context_lengths[i]; p++) {
			*slot_mapping++ =
				ids ? h2d_mla_kv_slot(&runner->options, ids, (uint32_t)p) : -1;
			if (!runner->options.mrope)
				*positions++ = p;
		}
	}
}

static void write_contexts(const h2d_prefill_inputs_t *inputs, production_t *production)
{
	const h2d_batch_t *batch = production->batch;
	int32_t *context_lens = host_of(inputs, H2D_PREFILL_CONTEXT_LENS);
	int32_t *cu_seqlens_k = host_of(inputs, H2D_PREFILL_CU_SEQLENS_K);
	h2d_prefill_inputs_step_t *step = &production->step;

	cu_seqlens_k[0] = 0;
	for (uint32_t i = 0; i < production->sizes.running_requests; i++) {
		const int32_t context = i < batch->num_requests ? batch->context_lengths[i] : 0;
		const int32_t query =
			i < batch->num_requests ? context - h2d_batch_cached(batch, i) : 0;

		context_lens[i] = context;
		cu_seqlens_k[i + 1] = cu_seqlens_k[i] + context;
		if (query > step->max_query_length)
			step->max_query_length = query;
		step->num_keys += (uint64_t)(step->has_cached ? context : query);
	}
}

static void write_cached(const h2d_prefill_inputs_t *inputs, const h2d_batch_t *batch)
{
	int32_t *num_cached_tokens = host_of(inputs, H2D_PREFILL_NUM_CACHED_TOKENS);
	int32_t *seq_starts = host_of(inputs, H2D_PREFILL_SEQ_STARTS);

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		num_cached_tokens[i] = h2d_batch_cached(batch, i);
		seq_starts[i] = 0;
	}
}

/* ---- publishing ------------------------------------------------------------------------------ */

static const int64_t *set_counts(const h2d_prefill_inputs_t *inputs, h2d_group_t *group,
				 const production_t *production, int64_t counts[])
{
	const h2d_batch_sizes_t *sizes = &production->sizes;
	const int64_t cached =
		production->step.has_cached ? (int64_t)sizes->requests : H2D_COUNT_OMITTED;

	counts[H2D_PREFILL_SLOT_MAPPING] = sizes->tokens;
	counts[H2D_PREFILL_CONTEXT_LENS] = sizes->running_requests;
	counts[H2D_PREFILL_BLOCK_TABLES] = H2D_COUNT_OMITTED;
	counts[H2D_PREFILL_CU_SEQLENS_K] = (int64_t)sizes->running_requests + 1;
	counts[H2D_PREFILL_NUM_CACHED_TOKENS] = cached;
	counts[H2D_PREFILL_SEQ_STARTS] = cached;
	counts[H2D_PREFILL_POSITIONS] = sizes->tokens;
	for (uint32_t i = 0; i < h2d_group_size(group); i++)
		(void)h2d_group_set_count(group, inputs->members[i], counts[i]);
	return counts;
}

/* The table goes with the others, if attention reads it and the device does not hold it yet. */
static h2d_status_t publish(const h2d_runner_t *runner, const h2d_runner_slot_t *slot,
			    h2d_stream_t *stream, const production_t *production)
{
	const h2d_prefill_inputs_t *inputs = &slot->prefill_inputs;
	h2d_group_t *group = inputs->group ? inputs->group : inputs->mirrors;
	int64_t counts[H2D_PREFILL_INPUTS];
	h2d_status_t status;

	set_counts(inputs, group, production, counts);
	if (production->table_rows > 0)
		status = h2d_published_table_publish(slot->mha_decode.block_tables, stream,
						     production->table_rows, group, NULL, NULL);
	else
		status = h2d_group_publish(group, stream, NULL, NULL);
	if (status == H2D_STATUS_SUCCESS && !inputs->group && !runner->options.mrope)
		status = h2d_group_publish(inputs->positions, stream,
					   &counts[H2D_PREFILL_POSITIONS], NULL);
	return status;
}

/*
 * Attention reads the table of cached contexts; MLA's drafter that of any, and so does sparse
 * attention, once a context is longer than what it selects.
 */
static uint32_t table_rows(const h2d_runner_t *runner, const production_t *production)
{
	const bool mla = runner->options.attention == H2D_ATTENTION_MLA;

	if (!production->has_tables)
		return 0;
	if (mla && (production->step.has_cached || runner->options.query_length > 1 ||
		    h2d_mla_is_sparse(&runner->options, production->step.max_context_length)))
		return production->sizes.running_requests;
	return production->step.has_cached ? production->sizes.requests : 0;
}

static void describe(const h2d_runner_t *runner, const h2d_runner_slot_t *slot,
		     production_t *production)
{
	const h2d_prefill_inputs_t *inputs = &slot->prefill_inputs;
	h2d_prefill_inputs_step_t *step = &production->step;

	step->slot = runner->slot;
	step->num_requests = production->sizes.requests;
	step->running_requests = production->sizes.running_requests;
	step->num_tokens = production->sizes.tokens;
	step->slot_mapping = h2d_buffer_device(inputs->members[H2D_PREFILL_SLOT_MAPPING]);
	step->context_lens = h2d_buffer_device(inputs->members[H2D_PREFILL_CONTEXT_LENS]);
	step->cu_seqlens_k = h2d_buffer_device(inputs->members[H2D_PREFILL_CU_SEQLENS_K]);
	if (!runner->options.mrope)
		step->positions = h2d_buffer_device(inputs->members[H2D_PREFILL_POSITIONS]);
	if (production->table_rows > 0) {
		step->block_tables = h2d_buffer_device(inputs->members[H2D_PREFILL_BLOCK_TABLES]);
		if (runner->options.dcp_size == 1)
			step->kv_indptr = inputs->kv_indptr;
		step->kv_indices = inputs->kv_index_generation.kv_indices;
	}
	if (step->has_cached) {
		step->num_cached_tokens =
			h2d_buffer_device(inputs->members[H2D_PREFILL_NUM_CACHED_TOKENS]);
		step->seq_starts = h2d_buffer_device(inputs->members[H2D_PREFILL_SEQ_STARTS]);
	}
}

/* The table first: preparing it is what can still be refused, before anything is written. */
static h2d_status_t produce(h2d_runner_t *runner, h2d_stream_t *stream, void *context)
{
	const h2d_runner_slot_t *slot = &runner->slots[runner->slot];
	production_t *production = context;
	const h2d_batch_sizes_t *sizes = &production->sizes;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	production->table_rows = table_rows(runner, production);
	if (production->has_tables)
		status = h2d_decode_prepare_tables(
			runner, GROUP, slot->mha_decode.block_tables, stream, production->batch,
			production->table_rows > sizes->requests ? production->table_rows
								 : sizes->requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_tokens(runner, &slot->prefill_inputs, production);
	write_contexts(&slot->prefill_inputs, production);
	if (production->step.has_cached)
		write_cached(&slot->prefill_inputs, production->batch);
	describe(runner, slot, production);
	return publish(runner, slot, stream, production);
}

h2d_status_t h2d_prefill_inputs_create_producer(h2d_runner_t *runner)
{
	static const char *const groups[] = {"prefill", "positions"};
	const h2d_producer_declaration_t declaration = {
		.name = GROUP,
		.groups = groups,
		.num_groups = runner->options.mrope ? 1 : 2,
		.body = produce,
	};

	return h2d_producer_create(runner, &declaration, &runner->prefill_inputs_producer);
}

h2d_status_t h2d_prefill_inputs_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					const h2d_batch_t *batch, h2d_prefill_inputs_step_t *step)
{
	production_t production = {0};
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = validate(runner, batch, &production);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_producer_run(runner->prefill_inputs_producer, stream, &production);
	if (status == H2D_STATUS_SUCCESS && step)
		*step = production.step;
	return status;
}

h2d_status_t h2d_prefill_inputs_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
						   uint32_t slot, uint32_t running_requests)
{
	h2d_prefill_inputs_t *inputs;
	page_prefix_arguments_t arguments;
	h2d_status_t status = h2d_arguments_check_enqueue(__func__, runner, stream);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (slot >= runner->options.slots || running_requests > runner->options.max_requests)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 GROUP ": slot %u is not in [0, %u), or running_requests %u are "
				       "above max_requests %u",
				 slot, runner->options.slots, running_requests,
				 runner->options.max_requests);
	/* Whole contexts have more pages than this rank's rows of the table. */
	if (runner->options.dcp_size > 1)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 GROUP ": with dcp_size %u the pages are those of mla_prefill, "
				       "listed by h2d_mla_decode_enqueue_kv_indices()",
				 runner->options.dcp_size);
	inputs = &runner->slots[slot].prefill_inputs;
	status = h2d_step_kernel_keep_input(stream, inputs->members[H2D_PREFILL_CONTEXT_LENS]);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	arguments = (page_prefix_arguments_t){
		.prefix = inputs->kv_indptr,
		.context_lens = h2d_buffer_device(inputs->members[H2D_PREFILL_CONTEXT_LENS]),
		.requests = running_requests,
		.page_size = runner->options.page_size,
	};
	status = h2d_step_kernel_enqueue(&inputs->page_prefix, stream,
					 running_requests ? running_requests + 1 : 0, &arguments,
					 sizeof(arguments));
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_kv_index_generation_enqueue(&inputs->kv_index_generation, stream,
							 running_requests);
	return status;
}
