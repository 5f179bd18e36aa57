/* SPDX-License-Identifier: MIT */
/* The CPU model of what a step's attention reads beside the arrays that all kinds share. */
#include "config.h"

#include "verify.h"

int64_t verify_mrope_delta(uint64_t request_id)
{
	/* Any that differ from request to request will do; images move positions back, too. */
	return (int64_t)(request_id % 1001) - 500;
}

enum verify_array verify_sub_batch_arrays(uint32_t sub_batch)
{
	return sub_batch == 0 ? VERIFY_UB0 : VERIFY_UB1;
}

bool verify_deal_token(const struct verify_shape *shape, struct verify_deal *deal)
{
	const bool own = deal->rank == shape->dcp_rank;

	deal->held += own;
	if (++deal->in_a_row >= shape->dcp_interleave) {
		deal->in_a_row = 0;
		if (++deal->rank >= shape->dcp_size)
			deal->rank = 0;
	}
	return own;
}

static uint32_t width(const struct verify_image *image)
{
	return 1 + image->shape.speculative_tokens;
}

/* 0 for padding. */
static int32_t context_length(const struct scheduler_batch *batch, uint32_t row)
{
	return row < batch->num_requests ? batch->context_lengths[row] : 0;
}

/* ---- MLA ------------------------------------------------------------------------------------- */

/*
 * What this rank holds of a request: how full its last page is, and how many tokens of it each of
 * the step's tokens sees (local_lens[width]; NULL: nobody asks).
 */
static void apply_share(const struct verify_image *image, int32_t context, int32_t *last_page_len,
			int32_t *local_lens)
{
	const uint32_t page_size = image->shape.page_size;
	const int32_t first = context - (int32_t)width(image);
	struct verify_deal deal = {0};
	uint32_t in_page = 0;

	for (int32_t token = 0; token < context; token++) {
		if (verify_deal_token(&image->shape, &deal))
			in_page = in_page == page_size ? 1 : in_page + 1;
		if (local_lens != NULL && token >= first)
			local_lens[token - first] = (int32_t)deal.held;
	}
	/* with pages of one token every request has a full one, also where this rank holds none */
	*last_page_len = page_size == 1 && context > 0 ? 1 : (int32_t)in_page;
}

static void apply_shares(struct verify_image *image, const struct scheduler_batch *batch,
			 uint32_t graph_requests)
{
	int32_t *last_page_lens = image->arrays[VERIFY_KV_LAST_PAGE_LENS];
	int32_t *local_lens = NULL;

	if (image->shape.dcp_size > 1 && image->shape.index_topk > 0)
		local_lens = image->arrays[VERIFY_DCP_LOCAL_CONTEXT_LENS];
	for (uint32_t row = 0; row < graph_requests; row++) {
		for (uint32_t j = 0; local_lens != NULL && j < width(image); j++)
			local_lens[j] = 0;
		apply_share(image, context_length(batch, row), &last_page_lens[row], local_lens);
		if (local_lens != NULL)
			local_lens += width(image);
	}
}

static void apply_all_ranks(int32_t *g_kv_indptr, const struct scheduler_batch *batch,
			    uint32_t graph_requests)
{
	int32_t tokens = 0;

	for (uint32_t row = 0; row <= graph_requests; row++) {
		g_kv_indptr[row] = tokens;
		tokens += context_length(batch, row);
	}
}

/* A token sees itself and what is before it, or as many of these as sparse attention selects. */
static void apply_selection(const struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t graph_requests)
{
	int32_t *sparse_kv_indptr = image->arrays[VERIFY_SPARSE_KV_INDPTR];
	int32_t *request_of_token = image->arrays[VERIFY_BATCH_ID_PER_Q_TOKEN];
	const int64_t topk = image->shape.index_topk;

	*sparse_kv_indptr = 0;
	for (uint32_t row = 0; row < graph_requests; row++) {
		for (int64_t behind = width(image); behind-- > 0; sparse_kv_indptr++) {
			int64_t seen = context_length(batch, row) - behind;

			if (seen > topk)
				seen = topk;
			if (row >= batch->num_requests)
				seen = 0;
			sparse_kv_indptr[1] = sparse_kv_indptr[0] + (int32_t)seen;
			if (request_of_token != NULL)
				*request_of_token++ = row < batch->num_requests ? (int32_t)row : -1;
		}
	}
}

/* Of a whole step, or of a sub-batch, which lacks what its arrays have no place for. */
static void apply_mla(struct verify_image *image, const struct scheduler_batch *batch,
		      uint32_t graph_requests)
{
	apply_shares(image, batch, graph_requests);
	if (image->shape.dcp_size > 1)
		apply_all_ranks(image->arrays[VERIFY_G_KV_INDPTR], batch, graph_requests);
	if (image->shape.index_topk > 0)
		apply_selection(image, batch, graph_requests);
}

/* ---- MRoPE ----------------------------------------------------------------------------------- */

static void apply_mrope(struct verify_image *image, const struct scheduler_batch *batch,
			uint32_t graph_requests)
{
	int64_t *positions = image->arrays[VERIFY_MROPE_POSITIONS];
	const uint32_t columns = width(image);

	for (uint32_t token = 0; token < 3 * graph_requests * columns; token++) {
		const uint32_t row = token / columns % graph_requests;
		const int64_t behind = columns - token % columns;

		positions[token] = 0;
		if (row < batch->num_requests)
			positions[token] = batch->context_lengths[row] - behind +
					   verify_mrope_delta(batch->request_ids[row]);
	}
}

/* ---- QSA and PLE ----------------------------------------------------------------------------- */

static void apply_ragged(struct verify_image *image, const struct scheduler_batch *batch,
			 uint32_t graph_requests)
{
	const int64_t *slot_mapping = image->arrays[VERIFY_SLOT_MAPPING];
	int32_t *token_to_req = image->arrays[VERIFY_QSA_TOKEN_TO_REQ];
	int64_t *positions = image->arrays[VERIFY_QSA_LOGICAL_POSITIONS];
	int64_t *compressed = image->arrays[VERIFY_QSA_COMPRESSED_SLOTS];
	bool *has_initial_state = image->arrays[VERIFY_PLE_HAS_INITIAL_STATE];
	const uint32_t columns = width(image);
	const int64_t ratio = image->shape.qsa_ratio;

	for (uint32_t token = 0; token < graph_requests * columns; token++) {
		const uint32_t row = token / columns;

		token_to_req[token] = -1;
		positions[token] = -1;
		compressed[token] = -1;
		if (row >= batch->num_requests)
			continue;
		token_to_req[token] = (int32_t)row;
		positions[token] = batch->context_lengths[row] - (int64_t)columns + token % columns;
		/* the last of a whole number of them, if this rank stores it */
		if ((positions[token] + 1) % ratio == 0 && slot_mapping[token] != -1)
			compressed[token] = slot_mapping[token] / ratio;
	}
	for (uint32_t row = 0; row < batch->num_requests; row++)
		has_initial_state[row] = batch->context_lengths[row] > (int64_t)columns;
}

/* ---- two-batch overlap ----------------------------------------------------------------------- */

/* A sub-batch is a batch of its own, but for the names of its arrays. */
static void apply_sub_batch(struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t sub_batch, uint32_t first, uint32_t rows)
{
	void **arrays = image->arrays + verify_sub_batch_arrays(sub_batch);
	struct verify_image part = {
		.shape = image->shape,
		.arrays =
			{
				[VERIFY_SLOT_MAPPING] = arrays[VERIFY_SUB_SLOT_MAPPING],
				[VERIFY_CONTEXT_LENS] = arrays[VERIFY_SUB_CONTEXT_LENS],
				[VERIFY_BLOCK_TABLES] = arrays[VERIFY_SUB_BLOCK_TABLES],
				[VERIFY_KV_INDPTR] = arrays[VERIFY_SUB_KV_INDPTR],
				[VERIFY_KV_INDICES] = arrays[VERIFY_SUB_KV_INDICES],
				[VERIFY_KV_LAST_PAGE_LENS] = arrays[VERIFY_SUB_KV_LAST_PAGE_LENS],
				[VERIFY_G_KV_INDPTR] = arrays[VERIFY_SUB_G_KV_INDPTR],
				[VERIFY_SPARSE_KV_INDPTR] = arrays[VERIFY_SUB_SPARSE_KV_INDPTR],
			},
		.kv_indices_used = image->sub_kv_indices_used[sub_batch],
	};
	const uint32_t offset = first < batch->num_requests ? first : batch->num_requests;
	const uint32_t real = batch->num_requests - offset;
	const struct scheduler_batch requests = {
		.num_requests = real < rows ? real : rows,
		.request_ids = batch->request_ids + offset,
		.context_lengths = batch->context_lengths + offset,
		.block_tables = batch->block_tables + offset,
		.block_table_lengths = batch->block_table_lengths + offset,
	};
	int32_t *cu_seqlens_q = arrays[VERIFY_SUB_CU_SEQLENS_Q];

	part.shape.mrope = true; /* no positions */
	verify_apply(&part, &requests, rows);
	image->sub_kv_indices_used[sub_batch] = part.kv_indices_used;
	for (uint32_t row = 0; row <= rows; row++)
		cu_seqlens_q[row] =
			(int32_t)(width(image) *
				  (row < requests.num_requests ? row : requests.num_requests));
	if (image->shape.mla)
		apply_mla(&part, &requests, rows);
}

void verify_apply_attention(struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t graph_requests)
{
	const struct verify_shape *shape = &image->shape;

	if (shape->mla)
		apply_mla(image, batch, graph_requests);
	if (shape->mrope)
		apply_mrope(image, batch, graph_requests);
	if (shape->qsa_ratio > 0)
		apply_ragged(image, batch, graph_requests);
	/* one request cannot be split */
	if (!shape->tbo || graph_requests < 2)
		return;
	apply_sub_batch(image, batch, 0, 0, graph_requests / 2);
	apply_sub_batch(image, batch, 1, graph_requests / 2, graph_requests - graph_requests / 2);
}
