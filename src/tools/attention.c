/* SPDX-License-Identifier: MIT */
/* The decode metadata of the chosen attention: published, consumed, found again. */
#include "config.h"

#include "attention.h"

void attention_set_options(const struct attention_settings *settings, h2d_runner_options_t *options)
{
	options->attention = settings->mla ? H2D_ATTENTION_MLA : H2D_ATTENTION_MHA;
	options->dcp_size = settings->dcp_size;
	options->dcp_rank = settings->dcp_rank;
	options->dcp_interleave = settings->dcp_interleave;
	options->index_topk = settings->index_topk;
	options->mrope = settings->mrope;
	options->tbo = settings->tbo;
	options->ragged = settings->qsa_ratio > 0;
}

void attention_set_shape(const struct attention_settings *settings, struct verify_shape *shape)
{
	shape->mla = settings->mla;
	shape->dcp_size = settings->dcp_size;
	shape->dcp_rank = settings->dcp_rank;
	shape->dcp_interleave = settings->dcp_interleave;
	shape->index_topk = settings->index_topk;
	shape->mrope = settings->mrope;
	shape->tbo = settings->tbo;
	shape->qsa_ratio = settings->qsa_ratio;
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
	addresses[VERIFY_G_KV_INDPTR] = view.g_kv_indptr;
	addresses[VERIFY_DCP_LOCAL_CONTEXT_LENS] = view.dcp_local_context_lens;
	addresses[VERIFY_SPARSE_KV_INDPTR] = view.sparse_kv_indptr;
	addresses[VERIFY_BATCH_ID_PER_Q_TOKEN] = view.batch_id_per_q_token;
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
		of_half[VERIFY_SUB_G_KV_INDPTR] = half->g_kv_indptr;
		of_half[VERIFY_SUB_SPARSE_KV_INDPTR] = half->sparse_kv_indptr;
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

static h2d_status_t ragged_addresses(const h2d_runner_t *runner, uint32_t slot,
				     const void *addresses[])
{
	h2d_qsa_step_t qsa = {0};
	h2d_ple_step_t ple = {0};
	h2d_status_t status = h2d_qsa_view(runner, slot, &qsa);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_ple_view(runner, slot, &ple);
	addresses[VERIFY_QSA_TOKEN_TO_REQ] = qsa.token_to_req;
	addresses[VERIFY_QSA_LOGICAL_POSITIONS] = qsa.logical_positions;
	addresses[VERIFY_QSA_COMPRESSED_SLOTS] = qsa.compressed_slots;
	addresses[VERIFY_PLE_HAS_INITIAL_STATE] = ple.has_initial_state;
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
	if (status == H2D_STATUS_SUCCESS && settings->qsa_ratio > 0)
		status = ragged_addresses(runner, slot, addresses);
	return status;
}

/* ---- the first consumers --------------------------------------------------------------------- */

static h2d_status_t record_halves(h2d_runner_t *runner, h2d_stream_t *stream, uint32_t slot,
				  uint32_t graph_requests)
{
	const uint32_t first = graph_requests / 2;
	h2d_status_t status = h2d_tbo_enqueue_kv_indices(runner, stream, slot, 0, first);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_tbo_enqueue_kv_indices(runner, stream, slot, 1, graph_requests - first);
}

h2d_status_t attention_record(const struct attention_settings *settings, h2d_runner_t *runner,
			      h2d_stream_t *stream, uint32_t slot, uint32_t graph_requests,
			      uint32_t query_length)
{
	const void *addresses[VERIFY_ARRAYS] = {0};
	h2d_status_t status = attention_addresses(settings, runner, slot, addresses);

	if (status == H2D_STATUS_SUCCESS)
		status = settings->mla ? h2d_mla_decode_enqueue_kv_indices(runner, stream, slot,
									   graph_requests)
				       : h2d_mha_decode_enqueue_kv_indices(runner, stream, slot,
									   graph_requests);
	if (status == H2D_STATUS_SUCCESS && attention_splits(settings, graph_requests))
		status = record_halves(runner, stream, slot, graph_requests);
	if (status == H2D_STATUS_SUCCESS && settings->qsa_ratio > 0)
		status = h2d_qsa_enqueue_compressed_slots(
			runner, stream, slot, addresses[VERIFY_SLOT_MAPPING],
			graph_requests * query_length, settings->qsa_ratio);
	return status;
}
