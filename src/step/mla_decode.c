/* SPDX-License-Identifier: MIT */
/* MLA decode metadata: written from the batch, padded for its graph, published. */
#include <string.h>

#include "error.h"
#include "step/arguments.h"
#include "step/decode_batch.h"
#include "step/runner.h"

#define GROUP "mla_decode"

/* One step: all sizes were checked against the runner's, so products fit. */
typedef struct mla_step {
	const h2d_runner_t *runner;
	const h2d_runner_options_t *options;
	const h2d_mla_t *mla;
	const h2d_batch_t *batch;
	uint32_t requests;
	uint32_t graph_requests;
} mla_step_t;

static uint32_t graph_tokens(const mla_step_t *step)
{
	return step->graph_requests * step->options->query_length;
}

static uint32_t tokens(const mla_step_t *step)
{
	return step->requests * step->options->query_length;
}

/* The position of a request's first token of this step. */
static uint32_t first_position(const mla_step_t *step, uint32_t request)
{
	return (uint32_t)h2d_decode_context(step->batch, request) - step->options->query_length;
}

/* ---- the sources ----------------------------------------------------------------------------- */

static void write_slot_mapping(const mla_step_t *step)
{
	int64_t *slot_mapping = h2d_mla_host(step->mla, H2D_MLA_SLOT_MAPPING);

	for (uint32_t i = 0; i < graph_tokens(step); i++)
		slot_mapping[i] = -1;
	if (step->batch->dummy)
		return;
	for (uint32_t i = 0; i < step->requests; i++) {
		const int32_t *ids = h2d_decode_block_ids(step->batch, i);
		const uint32_t first = first_position(step, i);

		for (uint32_t j = 0; j < step->options->query_length; j++)
			*slot_mapping++ = h2d_mla_kv_slot(step->options, ids, first + j);
	}
}

static void write_positions(const mla_step_t *step)
{
	int64_t *positions = h2d_mla_host(step->mla, H2D_MLA_POSITIONS);

	memset(positions + tokens(step), 0,
	       (size_t)(graph_tokens(step) - tokens(step)) * sizeof(*positions));
	for (uint32_t i = 0; i < step->requests; i++) {
		for (uint32_t j = 0; j < step->options->query_length; j++)
			*positions++ = (int64_t)first_position(step, i) + j;
	}
}

/* Contexts, and the pages of them that this rank holds. Returns the longest context. */
static int32_t write_contexts(const mla_step_t *step)
{
	const uint32_t page_size = step->options->page_size;
	int32_t *context_lens = h2d_mla_host(step->mla, H2D_MLA_CONTEXT_LENS);
	int32_t *last_page_lens = h2d_mla_host(step->mla, H2D_MLA_KV_LAST_PAGE_LENS);
	int32_t *kv_indptr = h2d_mla_host(step->mla, H2D_MLA_KV_INDPTR);
	int32_t *g_kv_indptr = h2d_mla_host(step->mla, H2D_MLA_G_KV_INDPTR);
	int32_t longest = 0;
	int32_t pages = 0;
	int32_t all_tokens = 0;

	kv_indptr[0] = 0;
	for (uint32_t i = 0; i < step->graph_requests; i++) {
		const bool padding = i >= step->requests;
		const uint32_t context = padding ? 0 : (uint32_t)h2d_decode_context(step->batch, i);
		const uint32_t local = h2d_mla_local_length(step->options, context);

		context_lens[i] = (int32_t)context;
		last_page_lens[i] = padding ? 0 : h2d_mla_last_page_length(page_size, local);
		pages += (int32_t)((local + page_size - 1) / page_size);
		kv_indptr[i + 1] = pages;
		longest = context_lens[i] > longest ? context_lens[i] : longest;
	}
	if (!g_kv_indptr)
		return longest;
	g_kv_indptr[0] = 0;
	for (uint32_t i = 0; i < step->graph_requests; i++) {
		all_tokens += context_lens[i];
		g_kv_indptr[i + 1] = all_tokens;
	}
	return longest;
}

/* What each token sees: with sparse attention only. */
static void write_tokens(const mla_step_t *step)
{
	const uint32_t topk = step->options->index_topk;
	const uint32_t query_length = step->options->query_length;
	int32_t *sparse_kv_indptr = h2d_mla_host(step->mla, H2D_MLA_SPARSE_KV_INDPTR);
	int32_t *batch_ids = h2d_mla_host(step->mla, H2D_MLA_BATCH_ID_PER_Q_TOKEN);
	int32_t *local_lens = h2d_mla_host(step->mla, H2D_MLA_DCP_LOCAL_CONTEXT_LENS);

	if (topk == 0)
		return;
	sparse_kv_indptr[0] = 0;
	for (uint32_t t = 0; t < graph_tokens(step); t++) {
		const uint32_t request = t / query_length;
		const bool padding = request >= step->requests;
		const uint32_t visible =
			padding ? 0 : first_position(step, request) + t % query_length + 1;

		batch_ids[t] = padding ? -1 : (int32_t)request;
		sparse_kv_indptr[t + 1] =
			sparse_kv_indptr[t] + (int32_t)(visible < topk ? visible : topk);
		if (local_lens)
			local_lens[t] = (int32_t)h2d_mla_local_length(step->options, visible);
	}
}

static h2d_status_t publish(const mla_step_t *step, h2d_stream_t *stream)
{
	const h2d_mla_t *mla = step->mla;
	const int64_t requests = step->graph_requests;
	const int64_t all_tokens = graph_tokens(step);

	h2d_mla_set_count(mla, mla->decode, H2D_MLA_SLOT_MAPPING, all_tokens);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_CONTEXT_LENS, requests);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_KV_LAST_PAGE_LENS, requests);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_DCP_LOCAL_CONTEXT_LENS, all_tokens);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_KV_INDPTR, requests + 1);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_POSITIONS,
			  step->options->mrope ? H2D_COUNT_OMITTED : all_tokens);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_G_KV_INDPTR, requests + 1);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_SPARSE_KV_INDPTR, all_tokens + 1);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_BATCH_ID_PER_Q_TOKEN, all_tokens);
	return h2d_published_table_publish(
		step->runner->slots[step->runner->slot].mha_decode.block_tables, stream,
		step->graph_requests, mla->decode, NULL, NULL);
}

/* ---- the step -------------------------------------------------------------------------------- */

static h2d_mla_decode_step_t view_of_slot(const h2d_runner_t *runner, uint32_t slot)
{
	const h2d_mla_t *mla = &runner->slots[slot].mla;

	return (h2d_mla_decode_step_t){
		.slot = slot,
		.slot_mapping = h2d_mla_device(mla, H2D_MLA_SLOT_MAPPING),
		.context_lens = h2d_mla_device(mla, H2D_MLA_CONTEXT_LENS),
		.kv_last_page_lens = h2d_mla_device(mla, H2D_MLA_KV_LAST_PAGE_LENS),
		.block_tables = h2d_mla_device(mla, H2D_MLA_BLOCK_TABLES),
		.kv_indptr = h2d_mla_device(mla, H2D_MLA_KV_INDPTR),
		.positions = runner->options.mrope ? NULL : h2d_mla_device(mla, H2D_MLA_POSITIONS),
		.g_kv_indptr = h2d_mla_device(mla, H2D_MLA_G_KV_INDPTR),
		.dcp_local_context_lens = h2d_mla_device(mla, H2D_MLA_DCP_LOCAL_CONTEXT_LENS),
		.sparse_kv_indptr = h2d_mla_device(mla, H2D_MLA_SPARSE_KV_INDPTR),
		.batch_id_per_q_token = h2d_mla_device(mla, H2D_MLA_BATCH_ID_PER_Q_TOKEN),
		.kv_indices = runner->slots[slot].mha_decode.kv_index_generation.kv_indices,
		.block_table_columns = runner->block_table_columns,
	};
}

h2d_status_t h2d_mla_decode_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				    const h2d_batch_t *batch, h2d_mla_decode_step_t *step)
{
	h2d_runner_slot_t *slot;
	h2d_batch_sizes_t sizes;
	mla_step_t made;
	int32_t longest;
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mla_check_runner(runner);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check(runner, GROUP, batch, &sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	slot = &runner->slots[runner->slot];
	status = h2d_group_check_writable(slot->mla.decode, stream);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_prepare_tables(runner, GROUP, slot->mha_decode.block_tables,
						   stream, batch, sizes.running_requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;

	made = (mla_step_t){
		.runner = runner,
		.options = &runner->options,
		.mla = &slot->mla,
		.batch = batch,
		.requests = sizes.requests,
		.graph_requests = sizes.running_requests,
	};
	write_slot_mapping(&made);
	longest = write_contexts(&made);
	write_tokens(&made);
	if (!runner->options.mrope)
		write_positions(&made);
	status = publish(&made, stream);
	if (status == H2D_STATUS_SUCCESS)
		h2d_decode_remember(runner, batch, &sizes);
	if (status != H2D_STATUS_SUCCESS || !step)
		return status;
	*step = view_of_slot(runner, runner->slot);
	step->num_requests = sizes.requests;
	step->graph_requests = sizes.running_requests;
	step->max_context_length = longest;
	return H2D_STATUS_SUCCESS;
}

/* ---- graph capture, and the fixed addresses -------------------------------------------------- */

/* One page of one token for each request. */
static void write_capture(const h2d_mla_t *mla, uint32_t graph_requests)
{
	int32_t *kv_indptr = h2d_mla_host(mla, H2D_MLA_KV_INDPTR);
	int32_t *g_kv_indptr = h2d_mla_host(mla, H2D_MLA_G_KV_INDPTR);
	int32_t *last_page_lens = h2d_mla_host(mla, H2D_MLA_KV_LAST_PAGE_LENS);

	for (uint32_t i = 0; i <= graph_requests; i++) {
		kv_indptr[i] = (int32_t)i;
		if (g_kv_indptr)
			g_kv_indptr[i] = (int32_t)i;
		if (i < graph_requests)
			last_page_lens[i] = 1;
	}
}

h2d_status_t h2d_mla_decode_prepare_capture(h2d_runner_t *runner, h2d_stream_t *stream,
					    uint32_t graph_requests, h2d_mla_decode_step_t *step)
{
	const h2d_mla_t *mla;
	h2d_status_t status = h2d_arguments_check_enqueue(__func__, runner, stream);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mla_check_runner(runner);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check_graph_requests(runner, GROUP, graph_requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	mla = &runner->slots[runner->slot].mla;
	status = h2d_group_check_writable(mla->decode, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_capture(mla, graph_requests);
	h2d_group_reset_counts(mla->decode);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_KV_LAST_PAGE_LENS, graph_requests);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_KV_INDPTR, (int64_t)graph_requests + 1);
	h2d_mla_set_count(mla, mla->decode, H2D_MLA_G_KV_INDPTR, (int64_t)graph_requests + 1);
	status = h2d_group_publish(mla->decode, stream, NULL, NULL);
	if (status != H2D_STATUS_SUCCESS || !step)
		return status;
	*step = view_of_slot(runner, runner->slot);
	step->num_requests = graph_requests;
	step->graph_requests = graph_requests;
	step->max_context_length = graph_requests > 0;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_slot(const h2d_runner_t *runner, uint32_t slot)
{
	h2d_status_t status = h2d_arguments_check_slot(GROUP, runner, slot);

	return status == H2D_STATUS_SUCCESS ? h2d_mla_check_runner(runner) : status;
}

h2d_status_t h2d_mla_decode_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
					       uint32_t slot, uint32_t graph_requests)
{
	h2d_status_t status = h2d_arguments_check_enqueue(__func__, runner, stream);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check_graph_requests(runner, GROUP, graph_requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_kv_index_generation_enqueue(&runner->slots[slot].mha_decode.kv_index_generation,
					       stream, graph_requests);
}

h2d_status_t h2d_mla_decode_view(const h2d_runner_t *runner, uint32_t slot,
				 h2d_mla_decode_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		*step = view_of_slot(runner, slot);
	return status;
}
