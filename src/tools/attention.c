/* SPDX-License-Identifier: MIT */
/* The decode metadata of the chosen attention: published, consumed, found again. */
#include "config.h"

#include "attention.h"

void attention_set_options(const struct attention_settings *settings, h2d_runner_options_t *options)
{
	options->attention = settings->mla ? H2D_ATTENTION_MLA : H2D_ATTENTION_MHA;
	options->mrope = settings->mrope;
	options->tbo = settings->tbo;
}

h2d_status_t attention_prepare_decode(const struct attention_settings *settings,
				      h2d_runner_t *runner, h2d_stream_t *stream,
				      const h2d_batch_t *batch, uint32_t *graph_requests)
{
	h2d_mha_decode_step_t mha_step = {0};
	h2d_mla_decode_step_t mla_step = {0};
	h2d_status_t status;

	if (settings->mla)
		status = h2d_mla_decode_prepare(runner, stream, batch, &mla_step);
	else
		status = h2d_mha_decode_prepare(runner, stream, batch, &mha_step);
	*graph_requests = settings->mla ? mla_step.graph_requests : mha_step.graph_requests;
	return status;
}

h2d_status_t attention_prepare_mrope(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, int64_t *deltas)
{
	h2d_batch_t with_deltas = *batch;

	for (uint32_t i = 0; i < batch->num_requests; i++)
		deltas[i] = verify_mrope_delta(batch->request_ids[i]);
	with_deltas.mrope_deltas = deltas;
	return h2d_mrope_prepare(runner, stream, &with_deltas, NULL);
}

bool attention_splits(const struct attention_settings *settings, uint32_t graph_requests)
{
	return settings->tbo && graph_requests >= H2D_TBO_SUB_BATCHES;
}

h2d_status_t attention_record(const struct attention_settings *settings, h2d_runner_t *runner,
			      h2d_stream_t *stream, uint32_t slot, uint32_t graph_requests)
{
	const uint32_t first = graph_requests / 2;
	h2d_status_t status;

	if (settings->mla)
		status = h2d_mla_decode_enqueue_kv_indices(runner, stream, slot, graph_requests);
	else
		status = h2d_mha_decode_enqueue_kv_indices(runner, stream, slot, graph_requests);
	if (status != H2D_STATUS_SUCCESS || !attention_splits(settings, graph_requests))
		return status;
	status = h2d_tbo_enqueue_kv_indices(runner, stream, slot, 0, first);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_tbo_enqueue_kv_indices(runner, stream, slot, 1, graph_requests - first);
}

static h2d_status_t mla_addresses(const h2d_runner_t *runner, uint32_t slot,
				  const void *addresses[])
{
	h2d_mla_decode_step_t view = {0};
	h2d_status_t status = h2d_mla_decode_view(runner, slot, &view);

	addresses[VERIFY_SLOT_MAPPING] = view.slot_mapping;
	addresses[VERIFY_CONTEXT_LENS] = view.context_lens;
	addresses[VERIFY_BLOCK_TABLES] = view.block_tables;
	addresses[VERIFY_KV_INDPTR] = view.kv_indptr;
	addresses[VERIFY_POSITIONS] = view.positions;
	addresses[VERIFY_KV_INDICES] = view.kv_indices;
	addresses[VERIFY_KV_LAST_PAGE_LENS] = view.kv_last_page_lens;
	return status;
}

static h2d_status_t mha_addresses(const h2d_runner_t *runner, uint32_t slot,
				  const void *addresses[])
{
	h2d_mha_decode_step_t view = {0};
	h2d_status_t status = h2d_mha_decode_view(runner, slot, &view);

	addresses[VERIFY_SLOT_MAPPING] = view.slot_mapping;
	addresses[VERIFY_CONTEXT_LENS] = view.context_lens;
	addresses[VERIFY_BLOCK_TABLES] = view.block_tables;
	addresses[VERIFY_KV_INDPTR] = view.kv_indptr;
	addresses[VERIFY_POSITIONS] = view.positions;
	addresses[VERIFY_KV_INDICES] = view.kv_indices;
	return status;
}

static h2d_status_t tbo_addresses(const h2d_runner_t *runner, uint32_t slot,
				  const void *addresses[])
{
	h2d_tbo_step_t view = {0};
	h2d_status_t status = h2d_tbo_view(runner, slot, &view);

	for (uint32_t i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		const h2d_tbo_sub_batch_t *half = &view.sub_batches[i];
		const void **of_half = addresses + verify_sub_batch_arrays(i);

		of_half[VERIFY_SUB_SLOT_MAPPING] = half->slot_mapping;
		of_half[VERIFY_SUB_CONTEXT_LENS] = half->context_lens;
		of_half[VERIFY_SUB_BLOCK_TABLES] = half->block_tables;
		of_half[VERIFY_SUB_KV_INDPTR] = half->kv_indptr;
		of_half[VERIFY_SUB_KV_INDICES] = half->kv_indices;
		of_half[VERIFY_SUB_CU_SEQLENS_Q] = half->cu_seqlens_q;
		of_half[VERIFY_SUB_KV_LAST_PAGE_LENS] = half->kv_last_page_lens;
	}
	return status;
}

static h2d_status_t mrope_address(const h2d_runner_t *runner, uint32_t slot,
				  const void *addresses[])
{
	h2d_mrope_step_t view = {0};
	h2d_status_t status = h2d_mrope_view(runner, slot, &view);

	addresses[VERIFY_MROPE_POSITIONS] = view.positions;
	return status;
}

h2d_status_t attention_addresses(const struct attention_settings *settings,
				 const h2d_runner_t *runner, uint32_t slot,
				 const void *addresses[VERIFY_ARRAYS])
{
	h2d_status_t status = settings->mla ? mla_addresses(runner, slot, addresses)
					    : mha_addresses(runner, slot, addresses);

	if (status == H2D_STATUS_SUCCESS && settings->mrope)
		status = mrope_address(runner, slot, addresses);
	if (status == H2D_STATUS_SUCCESS && settings->tbo)
		status = tbo_addresses(runner, slot, addresses);
	return status;
}
