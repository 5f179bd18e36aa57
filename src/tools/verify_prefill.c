/* SPDX-License-Identifier: MIT */
/* The CPU model of a prefill forward, written token by token rather than as the library does it. */
#include "config.h"

#include "verify_prefill.h"

/* What the model needs to know of a forward beside its requests. */
struct forward {
	const struct scheduler_batch *batch;
	uint32_t running_requests; /* of the batch, and padding behind them */
	bool has_cached;
	bool sparse;	  /* attention selects among the tokens */
	bool reads_table; /* attention reads the block tables */
};

bool verify_mrope_is_text(uint64_t request_id)
{
	return request_id % 4 == 3;
}

int64_t verify_mrope_prefill_position(uint64_t request_id, uint32_t axis, int64_t place)
{
	const int64_t shifted = place + (int64_t)(request_id % VERIFY_MROPE_SHIFTS);

	if (verify_mrope_is_text(request_id))
		return place;
	/* any that differ from axis to axis will do */
	return axis == 0 ? shifted - 500 : shifted * (axis + 2) % 997;
}

static struct forward describe(const struct verify_shape *shape,
			       const struct scheduler_batch *batch, uint32_t running_requests)
{
	struct forward forward = {.batch = batch, .running_requests = running_requests};

	for (uint32_t row = 0; row < batch->num_requests; row++) {
		forward.has_cached |= batch->cached_tokens[row] > 0;
		forward.sparse |= shape->index_topk > 0 &&
				  (uint32_t)batch->context_lengths[row] > shape->index_topk;
	}
	/* MLA's drafter and sparse attention look tokens up by page, whether they are new or not */
	forward.reads_table = forward.has_cached ||
			      (shape->mla && (shape->speculative_tokens > 0 || forward.sparse));
	return forward;
}

/* 0 for padding. */
static int32_t context_length(const struct scheduler_batch *batch, uint32_t row)
{
	return row < batch->num_requests ? batch->context_lengths[row] : 0;
}

/* ---- prefill_inputs -------------------------------------------------------------------------- */

static void apply_contexts(struct verify_image *image, const struct forward *forward)
{
	const struct scheduler_batch *batch = forward->batch;
	int32_t *context_lens = image->arrays[VERIFY_CONTEXT_LENS];
	int32_t *cu_seqlens_k = image->arrays[VERIFY_CU_SEQLENS_K];
	int32_t *num_cached_tokens = image->arrays[VERIFY_NUM_CACHED_TOKENS];
	int32_t *seq_starts = image->arrays[VERIFY_SEQ_STARTS];
	int32_t keys = 0;

	cu_seqlens_k[0] = 0;
	for (uint32_t row = 0; row < forward->running_requests; row++) {
		keys += context_length(batch, row);
		context_lens[row] = context_length(batch, row);
		cu_seqlens_k[row + 1] = keys;
		if (!forward->has_cached || row >= batch->num_requests)
			continue;
		num_cached_tokens[row] = batch->cached_tokens[row];
		seq_starts[row] = 0;
	}
}

static void apply_slots(struct verify_image *image, const struct scheduler_batch *batch)
{
	const struct verify_shape *shape = &image->shape;
	int64_t *slot_mapping = image->arrays[VERIFY_SLOT_MAPPING];
	int64_t *positions = image->arrays[VERIFY_POSITIONS];

	for (uint32_t row = 0; row < batch->num_requests; row++) {
		const int32_t *pages = batch->block_tables[row];
		struct verify_deal deal = {0};

		for (int32_t token = 0; token < batch->context_lengths[row]; token++) {
			const uint32_t place = deal.held;
			const bool own = verify_deal_token(shape, &deal);

			if (token < batch->cached_tokens[row])
				continue;
			*slot_mapping++ = own ? (int64_t)pages[place / shape->block_size] *
								  shape->block_size +
							  place % shape->block_size
					      : -1;
			if (!shape->mrope)
				*positions++ = token;
		}
	}
}

/* MLA's planners look at the padding's rows, too. */
static void apply_tables(struct verify_image *image, const struct forward *forward)
{
	const struct scheduler_batch *batch = forward->batch;
	const uint32_t rows = image->shape.mla ? forward->running_requests : batch->num_requests;
	int32_t *block_table = image->arrays[VERIFY_BLOCK_TABLES];

	for (uint32_t row = 0; row < rows; row++) {
		const uint32_t pages =
			row < batch->num_requests ? batch->block_table_lengths[row] : 0;

		for (uint32_t column = 0; column < image->shape.columns; column++)
			*block_table++ = column < pages ? batch->block_tables[row][column] : 0;
	}
}

/* Attention preparation lists the pages of whole contexts; with ranks MLA's are listed. */
static void apply_pages(struct verify_image *image, const struct forward *forward)
{
	const struct verify_shape *shape = &image->shape;
	const struct scheduler_batch *batch = forward->batch;
	int32_t *kv_indptr = image->arrays[VERIFY_PREFILL_KV_INDPTR];
	int32_t *kv_indices = image->arrays[VERIFY_KV_INDICES];
	int32_t entries = 0;

	kv_indptr[0] = 0;
	for (uint32_t row = 0; row < forward->running_requests; row++) {
		for (int32_t token = 0; token < context_length(batch, row); token++) {
			const uint32_t place = (uint32_t)token % shape->block_size;
			const int64_t page =
				batch->block_tables[row][(uint32_t)token / shape->block_size];

			if (place % shape->page_size == 0)
				kv_indices[entries++] =
					(int32_t)((page * shape->block_size + place) /
						  shape->page_size);
		}
		kv_indptr[row + 1] = entries;
	}
	if ((size_t)entries > image->kv_indices_used)
		image->kv_indices_used = (size_t)entries;
	if (forward->running_requests + 1 > image->prefill_kv_indptr_used)
		image->prefill_kv_indptr_used = forward->running_requests + 1;
}

/* ---- MLA ------------------------------------------------------------------------------------- */

/*
 * The pages of what this rank holds, and how full the last block of each request is. Where there
 * are ranks, these pages are the listed ones.
 */
static void apply_shares(struct verify_image *image, const struct forward *forward)
{
	const struct verify_shape *shape = &image->shape;
	const struct scheduler_batch *batch = forward->batch;
	int32_t *last_page_lens = image->arrays[VERIFY_KV_LAST_PAGE_LENS];
	int32_t *kv_indptr = image->arrays[VERIFY_KV_INDPTR];
	int32_t *kv_indices = image->arrays[VERIFY_KV_INDICES];
	int32_t entries = 0;

	kv_indptr[0] = 0;
	for (uint32_t row = 0; row < shape->max_requests; row++) {
		struct verify_deal deal = {0};
		uint32_t in_block = 0;

		for (int32_t token = 0; token < context_length(batch, row); token++) {
			const uint32_t block = deal.held / shape->block_size;

			if (!verify_deal_token(shape, &deal))
				continue;
			in_block = in_block == shape->block_size ? 1 : in_block + 1;
			if ((in_block - 1) % shape->page_size != 0)
				continue;
			if (shape->dcp_size > 1)
				kv_indices[entries] =
					(int32_t)(((int64_t)batch->block_tables[row][block] *
							   shape->block_size +
						   in_block - 1) /
						  shape->page_size);
			entries++;
		}
		last_page_lens[row] = (int32_t)in_block;
		if (row < forward->running_requests)
			kv_indptr[row + 1] = entries;
	}
	if (shape->dcp_size > 1 && (size_t)entries > image->kv_indices_used)
		image->kv_indices_used = (size_t)entries;
}

/* Each token sees the keys of its request up to its own, and selects some of them. */
static void apply_selection(struct verify_image *image, const struct scheduler_batch *batch)
{
	int32_t *first_keys = image->arrays[VERIFY_CU_SEQLEN_KS];
	int32_t *end_keys = image->arrays[VERIFY_CU_SEQLEN_KE];
	int32_t *request_of_token = image->arrays[VERIFY_BATCH_ID_PER_Q_TOKEN];
	int32_t *sparse_kv_indptr = image->arrays[VERIFY_SPARSE_KV_INDPTR];
	const int32_t topk = (int32_t)image->shape.index_topk;
	int32_t key = 0, selected = 0;

	*sparse_kv_indptr++ = 0;
	for (uint32_t row = 0; row < batch->num_requests; row++) {
		const int32_t first = key;

		for (int32_t token = 0; token < batch->context_lengths[row]; token++) {
			key++;
			if (token < batch->cached_tokens[row])
				continue;
			*first_keys++ = first;
			*end_keys++ = key;
			*request_of_token++ = (int32_t)row;
			selected += token < topk ? token + 1 : topk;
			*sparse_kv_indptr++ = selected;
		}
	}
}

/* ---- MRoPE, QSA and PLE ---------------------------------------------------------------------- */

static void apply_mrope(struct verify_image *image, const struct scheduler_batch *batch)
{
	int64_t *positions = image->arrays[VERIFY_MROPE_POSITIONS];

	for (uint32_t axis = 0; axis < 3; axis++) {
		for (uint32_t row = 0; row < batch->num_requests; row++) {
			for (int32_t token = batch->cached_tokens[row];
			     token < batch->context_lengths[row]; token++)
				*positions++ = verify_mrope_prefill_position(
					batch->request_ids[row], axis, token);
		}
	}
}

static void apply_ragged(struct verify_image *image, const struct scheduler_batch *batch)
{
	const int64_t *slot_mapping = image->arrays[VERIFY_SLOT_MAPPING];
	int32_t *token_to_req = image->arrays[VERIFY_QSA_TOKEN_TO_REQ];
	int64_t *positions = image->arrays[VERIFY_QSA_LOGICAL_POSITIONS];
	int64_t *compressed = image->arrays[VERIFY_QSA_COMPRESSED_SLOTS];
	bool *has_initial_state = image->arrays[VERIFY_PLE_HAS_INITIAL_STATE];
	const int64_t ratio = image->shape.qsa_ratio;

	for (uint32_t row = 0; row < batch->num_requests; row++) {
		has_initial_state[row] = batch->cached_tokens[row] > 0;
		for (int32_t token = batch->cached_tokens[row]; token < batch->context_lengths[row];
		     token++) {
			*token_to_req++ = (int32_t)row;
			*positions++ = token;
			/* the last of a whole number of them, if this rank stores it */
			*compressed = -1;
			if ((token + 1) % ratio == 0 && *slot_mapping != -1)
				*compressed = *slot_mapping / ratio;
			compressed++;
			slot_mapping++;
		}
	}
}

/* ---------------------------------------------------------------------------------------------- */

void verify_apply_prefill(struct verify_image *image, const struct scheduler_batch *batch,
			  uint32_t running_requests)
{
	const struct verify_shape *shape = &image->shape;
	const struct forward forward = describe(shape, batch, running_requests);

	image->prefilled = true;
	apply_contexts(image, &forward);
	apply_slots(image, batch);
	if (forward.reads_table)
		apply_tables(image, &forward);
	if (forward.reads_table && shape->dcp_size <= 1)
		apply_pages(image, &forward);
	if (shape->mla && (forward.has_cached || shape->speculative_tokens > 0))
		apply_shares(image, &forward);
	if (forward.sparse)
		apply_selection(image, batch);
	if (shape->mrope)
		apply_mrope(image, batch);
	if (shape->qsa_ratio > 0)
		apply_ragged(image, batch);
}

void verify_apply_prefill_tokens(struct verify_image *image, const struct scheduler_batch *batch,
				 uint32_t running_requests, const struct verify_tokens *tokens)
{
	int32_t *input_ids = image->arrays[VERIFY_INPUT_IDS];
	int32_t *cu_seqlens_q = image->arrays[VERIFY_CU_SEQLENS_Q];
	int32_t token = 0;

	verify_apply_sampling(image, batch->num_requests, tokens);
	cu_seqlens_q[0] = 0;
	for (uint32_t row = 0; row < running_requests; row++) {
		const int32_t cached = row < batch->num_requests ? batch->cached_tokens[row] : 0;

		for (int32_t place = cached; place < context_length(batch, row); place++, token++)
			input_ids[token] = tokens->ids[token];
		cu_seqlens_q[row + 1] = token;
	}
}
