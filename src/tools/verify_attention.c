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

static uint32_t width(const struct verify_image *image)
{
	return 1 + image->shape.speculative_tokens;
}

static void apply_last_pages(int32_t *last_page_lens, const struct verify_image *image,
			     const struct scheduler_batch *batch, uint32_t graph_requests)
{
	const int32_t page_size = (int32_t)image->shape.page_size;

	for (uint32_t row = 0; row < graph_requests; row++) {
		int32_t left = row < batch->num_requests ? batch->context_lengths[row] : 0;

		while (left > page_size)
			left -= page_size;
		last_page_lens[row] = left;
	}
}

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
		apply_last_pages(arrays[VERIFY_SUB_KV_LAST_PAGE_LENS], image, &requests, rows);
}

void verify_apply_attention(struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t graph_requests)
{
	const struct verify_shape *shape = &image->shape;

	if (shape->mla)
		apply_last_pages(image->arrays[VERIFY_KV_LAST_PAGE_LENS], image, batch,
				 graph_requests);
	if (shape->mrope)
		apply_mrope(image, batch, graph_requests);
	/* one request cannot be split */
	if (!shape->tbo || graph_requests < 2)
		return;
	apply_sub_batch(image, batch, 0, 0, graph_requests / 2);
	apply_sub_batch(image, batch, 1, graph_requests / 2, graph_requests - graph_requests / 2);
}
