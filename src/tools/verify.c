/* SPDX-License-Identifier: MIT */
/* The CPU model of a decode step, written token by token rather than as the library does it. */
#include "config.h"

#include "verify.h"

#include <stdlib.h>
#include <string.h>

#define SUB_BATCH(first, prefix)                                                                   \
	[first + VERIFY_SUB_SLOT_MAPPING] = {prefix "slot_mapping", sizeof(int64_t)},              \
	[first + VERIFY_SUB_CONTEXT_LENS] = {prefix "context_lens", sizeof(int32_t)},              \
	[first + VERIFY_SUB_BLOCK_TABLES] = {prefix "block_tables", sizeof(int32_t)},              \
	[first + VERIFY_SUB_KV_INDPTR] = {prefix "kv_indptr", sizeof(int32_t)},                    \
	[first + VERIFY_SUB_KV_INDICES] = {prefix "kv_indices", sizeof(int32_t)},                  \
	[first + VERIFY_SUB_CU_SEQLENS_Q] = {prefix "cu_seqlens_q", sizeof(int32_t)},              \
	[first + VERIFY_SUB_KV_LAST_PAGE_LENS] = {prefix "kv_last_page_lens", sizeof(int32_t)},    \
	[first + VERIFY_SUB_G_KV_INDPTR] = {prefix "g_kv_indptr", sizeof(int32_t)},                \
	[first + VERIFY_SUB_SPARSE_KV_INDPTR] = {prefix "sparse_kv_indptr", sizeof(int32_t)}

_Static_assert(VERIFY_UB1 - VERIFY_UB0 == VERIFY_SUB_ARRAYS, "the arrays of a half");

static const struct {
	const char *name;
	size_t element_size;
} array_facts[VERIFY_ARRAYS] = {
	[VERIFY_SLOT_MAPPING] = {"slot_mapping", sizeof(int64_t)},
	[VERIFY_CONTEXT_LENS] = {"context_lens", sizeof(int32_t)},
	[VERIFY_BLOCK_TABLES] = {"block_tables", sizeof(int32_t)},
	[VERIFY_KV_INDPTR] = {"kv_indptr", sizeof(int32_t)},
	[VERIFY_POSITIONS] = {"positions", sizeof(int64_t)},
	[VERIFY_KV_INDICES] = {"kv_indices", sizeof(int32_t)},
	[VERIFY_INPUT_IDS] = {"input_ids", sizeof(int32_t)},
	[VERIFY_CU_SEQLENS_Q] = {"cu_seqlens_q", sizeof(int32_t)},
	[VERIFY_TEMPERATURES] = {"temperatures", sizeof(float)},
	[VERIFY_TOP_PS] = {"top_ps", sizeof(float)},
	[VERIFY_CU_NUM_DRAFT_TOKENS] = {"cu_num_draft_tokens", sizeof(int32_t)},
	[VERIFY_TARGET_LOGITS_INDICES] = {"target_logits_indices", sizeof(int64_t)},
	[VERIFY_BONUS_LOGITS_INDICES] = {"bonus_logits_indices", sizeof(int64_t)},
	[VERIFY_DRAFT_IDS] = {"draft_ids", sizeof(int32_t)},
	[VERIFY_KV_LAST_PAGE_LENS] = {"kv_last_page_lens", sizeof(int32_t)},
	[VERIFY_G_KV_INDPTR] = {"g_kv_indptr", sizeof(int32_t)},
	[VERIFY_DCP_LOCAL_CONTEXT_LENS] = {"dcp_local_context_lens", sizeof(int32_t)},
	[VERIFY_SPARSE_KV_INDPTR] = {"sparse_kv_indptr", sizeof(int32_t)},
	[VERIFY_BATCH_ID_PER_Q_TOKEN] = {"batch_id_per_q_token", sizeof(int32_t)},
	[VERIFY_MROPE_POSITIONS] = {"mrope_positions", sizeof(int64_t)},
	[VERIFY_QSA_TOKEN_TO_REQ] = {"qsa_token_to_req", sizeof(int32_t)},
	[VERIFY_QSA_LOGICAL_POSITIONS] = {"qsa_logical_positions", sizeof(int64_t)},
	[VERIFY_QSA_COMPRESSED_SLOTS] = {"qsa_compressed_slots", sizeof(int64_t)},
	[VERIFY_PLE_HAS_INITIAL_STATE] = {"ple_has_initial_state", sizeof(bool)},
	[VERIFY_CU_SEQLENS_K] = {"cu_seqlens_k", sizeof(int32_t)},
	[VERIFY_NUM_CACHED_TOKENS] = {"num_cached_tokens", sizeof(int32_t)},
	[VERIFY_SEQ_STARTS] = {"seq_starts", sizeof(int32_t)},
	[VERIFY_PREFILL_KV_INDPTR] = {"prefill_kv_indptr", sizeof(int32_t)},
	[VERIFY_CU_SEQLEN_KS] = {"cu_seqlen_ks", sizeof(int32_t)},
	[VERIFY_CU_SEQLEN_KE] = {"cu_seqlen_ke", sizeof(int32_t)},
	SUB_BATCH(VERIFY_UB0, "ub0_"),
	SUB_BATCH(VERIFY_UB1, "ub1_"),
};

const char *verify_array_name(enum verify_array array)
{
	return array_facts[array].name;
}

size_t verify_element_size(enum verify_array array)
{
	return array_facts[array].element_size;
}

static uint32_t width(const struct verify_shape *shape)
{
	return 1 + shape->speculative_tokens;
}

/* A half has the larger part of an odd batch. */
static size_t sub_batch_capacity(const struct verify_shape *shape, enum verify_sub_array array)
{
	const size_t requests = shape->tbo ? (shape->max_requests + 1) / 2 : 0;

	switch (array) {
	case VERIFY_SUB_SLOT_MAPPING:
		return requests * width(shape);
	case VERIFY_SUB_BLOCK_TABLES:
		return requests * shape->columns;
	case VERIFY_SUB_KV_INDPTR:
	case VERIFY_SUB_CU_SEQLENS_Q:
		return shape->tbo ? requests + 1 : 0;
	case VERIFY_SUB_KV_INDICES:
		return requests * shape->columns * (shape->block_size / shape->page_size);
	case VERIFY_SUB_KV_LAST_PAGE_LENS:
		return shape->mla ? requests : 0;
	case VERIFY_SUB_G_KV_INDPTR:
		return shape->tbo && shape->dcp_size > 1 ? requests + 1 : 0;
	case VERIFY_SUB_SPARSE_KV_INDPTR:
		return shape->tbo && shape->index_topk > 0 ? requests * width(shape) + 1 : 0;
	default:
		return requests;
	}
}

/* Whether a step of this shape has the array at all. */
static bool is_present(const struct verify_shape *shape, enum verify_array array)
{
	switch (array) {
	case VERIFY_POSITIONS:
		return !shape->mrope;
	case VERIFY_INPUT_IDS:
	case VERIFY_CU_SEQLENS_Q:
	case VERIFY_TEMPERATURES:
	case VERIFY_TOP_PS:
	case VERIFY_CU_NUM_DRAFT_TOKENS:
	case VERIFY_TARGET_LOGITS_INDICES:
	case VERIFY_BONUS_LOGITS_INDICES:
	case VERIFY_DRAFT_IDS:
		return shape->speculative_tokens > 0;
	case VERIFY_KV_LAST_PAGE_LENS:
		return shape->mla;
	case VERIFY_G_KV_INDPTR:
		return shape->dcp_size > 1;
	case VERIFY_DCP_LOCAL_CONTEXT_LENS:
		return shape->dcp_size > 1 && shape->index_topk > 0;
	case VERIFY_SPARSE_KV_INDPTR:
	case VERIFY_BATCH_ID_PER_Q_TOKEN:
		return shape->index_topk > 0;
	case VERIFY_MROPE_POSITIONS:
		return shape->mrope;
	case VERIFY_QSA_TOKEN_TO_REQ:
	case VERIFY_QSA_LOGICAL_POSITIONS:
	case VERIFY_QSA_COMPRESSED_SLOTS:
	case VERIFY_PLE_HAS_INITIAL_STATE:
		return shape->qsa_ratio > 0;
	case VERIFY_CU_SEQLENS_K:
	case VERIFY_NUM_CACHED_TOKENS:
	case VERIFY_SEQ_STARTS:
	case VERIFY_PREFILL_KV_INDPTR:
		return shape->prefill_tokens > 0;
	case VERIFY_CU_SEQLEN_KS:
	case VERIFY_CU_SEQLEN_KE:
		return shape->prefill_tokens > 0 && shape->index_topk > 0;
	default:
		return true;
	}
}

/* Tokens of the largest step. */
static size_t token_capacity(const struct verify_shape *shape)
{
	const size_t decoded = (size_t)shape->max_requests * width(shape);

	return decoded > shape->prefill_tokens ? decoded : shape->prefill_tokens;
}

static size_t capacity(const struct verify_shape *shape, enum verify_array array)
{
	size_t requests = shape->max_requests;

	if (array >= VERIFY_UB0)
		return sub_batch_capacity(shape, (array - VERIFY_UB0) % VERIFY_SUB_ARRAYS);
	if (!is_present(shape, array))
		return 0;
	switch (array) {
	case VERIFY_SLOT_MAPPING:
	case VERIFY_POSITIONS:
	case VERIFY_BATCH_ID_PER_Q_TOKEN:
	case VERIFY_QSA_TOKEN_TO_REQ:
	case VERIFY_QSA_LOGICAL_POSITIONS:
	case VERIFY_QSA_COMPRESSED_SLOTS:
	case VERIFY_CU_SEQLEN_KS:
	case VERIFY_CU_SEQLEN_KE:
		return token_capacity(shape);
	case VERIFY_DCP_LOCAL_CONTEXT_LENS:
		return requests * width(shape);
	case VERIFY_MROPE_POSITIONS:
		return 3 * token_capacity(shape);
	case VERIFY_INPUT_IDS:
	case VERIFY_SPARSE_KV_INDPTR:
		return token_capacity(shape) + 1;
	case VERIFY_TARGET_LOGITS_INDICES:
	case VERIFY_DRAFT_IDS:
		return requests * shape->speculative_tokens;
	case VERIFY_BLOCK_TABLES:
		return requests * shape->columns;
	case VERIFY_KV_INDPTR:
	case VERIFY_CU_SEQLENS_Q:
	case VERIFY_G_KV_INDPTR:
	case VERIFY_CU_SEQLENS_K:
	case VERIFY_PREFILL_KV_INDPTR:
		return requests + 1;
	case VERIFY_KV_INDICES:
		return requests * shape->columns * (shape->block_size / shape->page_size);
	default:
		return requests;
	}
}

size_t verify_element_count(const struct verify_image *image, enum verify_array array)
{
	if (array == VERIFY_KV_INDICES)
		return image->kv_indices_used;
	if (array == VERIFY_PREFILL_KV_INDPTR)
		return image->prefill_kv_indptr_used;
	if (array >= VERIFY_CU_SEQLENS_K && array <= VERIFY_CU_SEQLEN_KE && !image->prefilled)
		return 0;
	if (array == VERIFY_UB0 + VERIFY_SUB_KV_INDICES)
		return image->sub_kv_indices_used[0];
	if (array == VERIFY_UB1 + VERIFY_SUB_KV_INDICES)
		return image->sub_kv_indices_used[1];
	return capacity(&image->shape, array);
}

bool verify_image_create(struct verify_image *image, const struct verify_shape *shape)
{
	*image = (struct verify_image){.shape = *shape};
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		image->arrays[array] =
			calloc(capacity(shape, array) + 1, array_facts[array].element_size);
		if (image->arrays[array] == NULL) {
			verify_image_destroy(image);
			return false;
		}
	}
	return true;
}

void verify_image_destroy(struct verify_image *image)
{
	for (int array = 0; array < VERIFY_ARRAYS; array++)
		free(image->arrays[array]);
	memset(image, 0, sizeof(*image));
}

/* The rows of one request, or of a padded one (empty context, no pages). */
static void apply_request(struct verify_image *image, uint32_t row, int32_t context_length,
			  const int32_t *pages, uint32_t page_count)
{
	const struct verify_shape *shape = &image->shape;
	int64_t *slot_mapping = image->arrays[VERIFY_SLOT_MAPPING];
	int32_t *context_lens = image->arrays[VERIFY_CONTEXT_LENS];
	int32_t *block_table =
		(int32_t *)image->arrays[VERIFY_BLOCK_TABLES] + (size_t)row * shape->columns;
	int32_t *kv_indptr = image->arrays[VERIFY_KV_INDPTR];
	int32_t *kv_indices = image->arrays[VERIFY_KV_INDICES];
	const int32_t tokens = (int32_t)width(shape);
	int32_t entry = row == 0 ? 0 : kv_indptr[row];
	struct verify_deal deal = {0};

	context_lens[row] = context_length;
	slot_mapping += (size_t)row * width(shape);
	for (int32_t token = 0; token < tokens; token++)
		slot_mapping[token] = -1;
	for (uint32_t column = 0; column < shape->columns; column++)
		block_table[column] = column < page_count ? pages[column] : 0;
	/* the last tokens are those that the step stores; each physical page has one index */
	for (int32_t token = 0; token < context_length; token++) {
		const uint32_t place = deal.held;

		if (!verify_deal_token(shape, &deal))
			continue;
		int64_t slot = (int64_t)pages[place / shape->block_size] * shape->block_size +
			       place % shape->block_size;

		if (token >= context_length - tokens)
			slot_mapping[token - (context_length - tokens)] = slot;
		if (place % shape->page_size == 0)
			kv_indices[entry++] = (int32_t)(slot / shape->page_size);
	}
	kv_indptr[0] = 0;
	kv_indptr[row + 1] = entry;
	if ((size_t)entry > image->kv_indices_used)
		image->kv_indices_used = (size_t)entry;
}

static void apply_positions(struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t graph_requests)
{
	int64_t *positions = image->arrays[VERIFY_POSITIONS];
	const uint32_t tokens = width(&image->shape);

	for (uint32_t row = 0; row < graph_requests; row++) {
		for (uint32_t j = 0; j < tokens; j++)
			*positions++ = row < batch->num_requests ? batch->context_lengths[row] -
									   (int64_t)(tokens - j)
								 : 0;
	}
}

void verify_apply(struct verify_image *image, const struct scheduler_batch *batch,
		  uint32_t graph_requests)
{
	for (uint32_t row = 0; row < batch->num_requests; row++)
		apply_request(image, row, batch->context_lengths[row], batch->block_tables[row],
			      batch->block_table_lengths[row]);
	for (uint32_t row = batch->num_requests; row < graph_requests; row++)
		apply_request(image, row, 0, NULL, 0);
	if (!image->shape.mrope)
		apply_positions(image, batch, graph_requests);
}

void verify_apply_sampling(struct verify_image *image, uint32_t num_requests,
			   const struct verify_tokens *tokens)
{
	float *temperatures = image->arrays[VERIFY_TEMPERATURES];
	bool differ = false;

	for (uint32_t row = 0; row < num_requests; row++) {
		temperatures[row] = tokens->temperatures[row];
		if (temperatures[row] < 1e-10f)
			temperatures[row] = 1e-10f;
		differ |= memcmp(&tokens->top_ps[row], &tokens->top_ps[0], sizeof(float)) != 0;
	}
	/* one value for all stays on the host */
	if (differ)
		memcpy(image->arrays[VERIFY_TOP_PS], tokens->top_ps, num_requests * sizeof(float));
}

/* All tokens of a request but the last judge the draft behind them; the last gives a bonus. */
void verify_apply_tokens(struct verify_image *image, const struct scheduler_batch *batch,
			 const struct verify_tokens *tokens, uint32_t graph_requests)
{
	int32_t *input_ids = image->arrays[VERIFY_INPUT_IDS];
	int32_t *cu_seqlens_q = image->arrays[VERIFY_CU_SEQLENS_Q];
	int32_t *cu_num_draft_tokens = image->arrays[VERIFY_CU_NUM_DRAFT_TOKENS];
	int64_t *target = image->arrays[VERIFY_TARGET_LOGITS_INDICES];
	int64_t *bonus = image->arrays[VERIFY_BONUS_LOGITS_INDICES];
	const uint32_t columns = width(&image->shape);
	const uint32_t num_tokens = batch->num_requests * columns;
	uint32_t drafts = 0;

	verify_apply_sampling(image, batch->num_requests, tokens);
	for (uint32_t token = 0; token < graph_requests * columns; token++)
		input_ids[token] = token < num_tokens ? tokens->ids[token] : 0;
	for (uint32_t row = 0; row <= graph_requests; row++)
		cu_seqlens_q[row] = (int32_t)(row < batch->num_requests ? row * columns
									: num_tokens);
	for (uint32_t token = 0; token < num_tokens; token++) {
		if (token % columns == columns - 1) {
			bonus[token / columns] = token;
			cu_num_draft_tokens[token / columns] = (int32_t)drafts;
			continue;
		}
		target[drafts] = token;
		tokens->draft_ids[drafts++] = tokens->ids[token + 1];
	}
	memcpy(image->arrays[VERIFY_DRAFT_IDS], tokens->draft_ids,
	       capacity(&image->shape, VERIFY_DRAFT_IDS) * sizeof(int32_t));
}

static int64_t element(const struct verify_image *image, enum verify_array array, size_t index)
{
	switch (array_facts[array].element_size) {
	case sizeof(int64_t):
		return ((const int64_t *)image->arrays[array])[index];
	case sizeof(int32_t):
		return ((const int32_t *)image->arrays[array])[index];
	default:
		/* whatever the byte is, and not only whether it is 0 */
		return ((const unsigned char *)image->arrays[array])[index];
	}
}

bool verify_compare(const struct verify_image *expected, const struct verify_image *found,
		    struct verify_mismatch *mismatch)
{
	*mismatch = (struct verify_mismatch){0};
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		size_t count = verify_element_count(expected, array);

		if (memcmp(expected->arrays[array], found->arrays[array],
			   count * array_facts[array].element_size) == 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (element(expected, array, i) == element(found, array, i))
				continue;
			if (mismatch->elements++ > 0)
				continue;
			mismatch->array = array;
			mismatch->index = i;
			mismatch->expected = element(expected, array, i);
			mismatch->found = element(found, array, i);
		}
	}
	return mismatch->elements == 0;
}
