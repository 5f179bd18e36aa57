/* SPDX-License-Identifier: MIT */
/*
 * What the GPU must hold after a decode step, computed by the CPU alone: the arrays of the
 * decode group and the KV indices that its first consumer generates, with speculative decoding also
 * those of token_inputs and what its consumers make of them; graph padding and untouched tails
 * included.
 */
#ifndef H2DPUB_TOOLS_VERIFY_H
#define H2DPUB_TOOLS_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler.h"

enum verify_array {
	VERIFY_SLOT_MAPPING,
	VERIFY_CONTEXT_LENS,
	VERIFY_BLOCK_TABLES,
	VERIFY_KV_INDPTR,
	VERIFY_POSITIONS,
	VERIFY_KV_INDICES,
	/* with speculative tokens only: */
	VERIFY_INPUT_IDS,
	VERIFY_CU_SEQLENS_Q,
	VERIFY_TEMPERATURES,
	VERIFY_TOP_PS,
	VERIFY_CU_NUM_DRAFT_TOKENS,
	VERIFY_TARGET_LOGITS_INDICES,
	VERIFY_BONUS_LOGITS_INDICES,
	VERIFY_DRAFT_IDS,
	/* with MLA only: */
	VERIFY_KV_LAST_PAGE_LENS,
	/* with ranks only: */
	VERIFY_G_KV_INDPTR,
	/* with ranks and sparse attention only: */
	VERIFY_DCP_LOCAL_CONTEXT_LENS,
	/* with sparse attention only: */
	VERIFY_SPARSE_KV_INDPTR,
	VERIFY_BATCH_ID_PER_Q_TOKEN,
	/* with MRoPE only: */
	VERIFY_MROPE_POSITIONS,
	/* with QSA and PLE only: */
	VERIFY_QSA_TOKEN_TO_REQ,
	VERIFY_QSA_LOGICAL_POSITIONS,
	VERIFY_QSA_COMPRESSED_SLOTS,
	VERIFY_PLE_HAS_INITIAL_STATE,
	/* with prefills only, and as soon as the slot has had one: */
	VERIFY_CU_SEQLENS_K,
	VERIFY_NUM_CACHED_TOKENS,
	VERIFY_SEQ_STARTS,
	VERIFY_PREFILL_KV_INDPTR,
	/* with sparse attention, too: */
	VERIFY_CU_SEQLEN_KS,
	VERIFY_CU_SEQLEN_KE,
	/* with two-batch overlap only; each half has these, in the order of verify_sub_array: */
	VERIFY_UB0,
	VERIFY_UB1 = VERIFY_UB0 + 9,
	VERIFY_ARRAYS = VERIFY_UB1 + 9
};

enum verify_sub_array {
	VERIFY_SUB_SLOT_MAPPING,
	VERIFY_SUB_CONTEXT_LENS,
	VERIFY_SUB_BLOCK_TABLES,
	VERIFY_SUB_KV_INDPTR,
	VERIFY_SUB_KV_INDICES,
	VERIFY_SUB_CU_SEQLENS_Q,
	VERIFY_SUB_KV_LAST_PAGE_LENS, /* with MLA only */
	VERIFY_SUB_G_KV_INDPTR,	      /* with ranks only */
	VERIFY_SUB_SPARSE_KV_INDPTR,  /* with sparse attention only */
	VERIFY_SUB_ARRAYS
};

struct verify_shape {
	uint32_t max_requests;
	uint32_t columns;    /* block-table columns */
	uint32_t block_size; /* tokens of a block-table page */
	uint32_t page_size;  /* tokens of a physical KV page; divides block_size */
	uint32_t speculative_tokens; /* of a request in one step, behind its first */
	bool mla;                    /* else MHA */
	bool mrope;                  /* then the positions are not written */
	bool tbo;
	uint32_t dcp_size; /* ranks that share a context (with MLA); 0 or 1: none do */
	uint32_t dcp_rank; /* this one, below dcp_size */
	uint32_t dcp_interleave; /* tokens in a row that a rank gets; 0: 1 */
	uint32_t index_topk;     /* most tokens that one sees (with MLA); 0: all */
	uint32_t qsa_ratio;      /* tokens to a compressed one; 0: neither QSA nor PLE */
	uint32_t prefill_tokens; /* most of a prefill forward; 0: there are none */
};

/* The tokens of a step with speculative ones; width = 1 + speculative_tokens. */
struct verify_tokens {
	const int32_t *ids;        /* [num_requests * width] */
	const float *temperatures; /* [num_requests] as requested */
	const float *top_ps;       /* [num_requests] */
	int32_t *draft_ids;        /* what the slots share; the step's are entered */
};

/* The arrays of one slot, in ordinary memory. */
struct verify_image {
	struct verify_shape shape;
	void *arrays[VERIFY_ARRAYS];
	size_t kv_indices_used; /* entries that any step so far has written */
	size_t sub_kv_indices_used[2];
	bool prefilled;                /* a prefill has been applied */
	size_t prefill_kv_indptr_used; /* as kv_indices_used */
};

struct verify_mismatch {
	uint64_t elements; /* how many differ; the rest describes the first of them */
	enum verify_array array;
	size_t index;
	int64_t expected;
	int64_t found;
};

const char *verify_array_name(enum verify_array array);

/* 8 for int64 arrays, 4 for int32 and float arrays, whose bits are compared, 1 for truth values. */
size_t verify_element_size(enum verify_array array);

/*
 * Elements to read back and compare: the whole array, of kv_indices and a prefill's kv_indptr the
 * part ever written.
 */
size_t verify_element_count(const struct verify_image *image, enum verify_array array);

/* All arrays zeroed. False: out of memory. */
bool verify_image_create(struct verify_image *image, const struct verify_shape *shape);
void verify_image_destroy(struct verify_image *image);

/*
 * Applies one step, padded to graph_requests, to the image: it writes exactly what a publication
 * and its consumer write and leaves everything else as earlier steps left it.
 */
void verify_apply(struct verify_image *image, const struct scheduler_batch *batch,
		  uint32_t graph_requests);

/* The same for the tokens of a step. */
void verify_apply_tokens(struct verify_image *image, const struct scheduler_batch *batch,
			 const struct verify_tokens *tokens, uint32_t graph_requests);

/* The sampling parameters among these. */
void verify_apply_sampling(struct verify_image *image, uint32_t num_requests,
			   const struct verify_tokens *tokens);

/*
 * The same for what the attention reads beside that: MLA's, MRoPE's, QSA's, and those of
 * sub-batches.
 */
void verify_apply_attention(struct verify_image *image, const struct scheduler_batch *batch,
			    uint32_t graph_requests);

/* The tokens of a context dealt out to the ranks like cards. All zero before the first. */
struct verify_deal {
	uint32_t rank;     /* that the next token goes to */
	uint32_t in_a_row; /* that it has got */
	uint32_t held;     /* by the shape's rank so far */
};

/* Deals one token; whether the shape's rank gets it. */
bool verify_deal_token(const struct verify_shape *shape, struct verify_deal *deal);

/* What the replay adds to the positions of a request: images make them differ from its tokens. */
int64_t verify_mrope_delta(uint64_t request_id);

/* The first of the arrays of a sub-batch. */
enum verify_array verify_sub_batch_arrays(uint32_t sub_batch);

/* Compares every element; true if all are equal. */
bool verify_compare(const struct verify_image *expected, const struct verify_image *found,
		    struct verify_mismatch *mismatch);

#endif
