/* SPDX-License-Identifier: MIT */
/*
 * MLA prefill: what MLA reads in a prefill besides prefill_inputs: the pages of contexts that are
 * cached already, and the prefixes of sparse attention. For runners with attention MLA.
 */
#ifndef H2DPUB_MLA_PREFILL_H
#define H2DPUB_MLA_PREFILL_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fixed device addresses of the slot. T = the scheduled tokens. What a step did not publish is
 * NULL.
 */
typedef struct h2d_mla_prefill_step {
	uint32_t num_requests;
	uint32_t running_requests;
	uint32_t tokens;
	uint32_t slot;
	int32_t max_query_length;
	int32_t max_context_length;
	const int32_t *kv_last_page_lens;    /* paged: [max_requests] tokens in the last block;
					      * behind the batch 0 */
	const int32_t *kv_indptr;	     /* paged: [running_requests + 1]; padding flat */
	const int32_t *cu_seqlen_ks;	     /* sparse: [T] first key of a token's request */
	const int32_t *cu_seqlen_ke;	     /* sparse: [T] behind the last key that it sees */
	const int32_t *sparse_kv_indptr;     /* sparse: [T + 1] selected tokens */
	const int32_t *batch_id_per_q_token; /* sparse: [T] its request */
} h2d_mla_prefill_step_t;

/*
 * Prepares and publishes the MLA prefill metadata of the current slot. step may be NULL.
 *
 * Paged is a step with cached tokens, or of a runner with query_length > 1, whose drafter reads
 * pages. With n the context's tokens on this rank, kv_indptr is the prefix sum of
 * ceil(n / page_size), while kv_last_page_lens is (n - 1) % block_size + 1: the tokens in the last
 * block, not in the last page, which is what a decode has under that name.
 * Sparse is a step whose longest context is above the runner's index_topk, if that is not 0; it
 * reads the block tables too, which h2d_prefill_inputs_prepare() then publishes. Keys
 * are counted over all contexts, one after the other: with b the sum of the contexts before and p a
 * token's position in its own, ks = b and ke = b + p + 1; it selects min(p + 1, index_topk).
 *
 * Behind h2d_prefill_inputs_prepare() of the same batch, which has published the block tables,
 * h2d_mla_decode_enqueue_kv_indices() of running_requests lists the pages of a paged step: those of
 * this rank, in the kv_indices that h2d_mla_decode_view() tells.
 * h2d_prefill_inputs_enqueue_kv_indices() is refused with dcp_size above 1.
 *
 * INVALID_STATE: the runner's attention is not MLA. INVALID_ARGUMENT: not a prefill. OUT_OF_RANGE:
 * as for the batch's fields; contexts of more than int32 tokens in all. Publication errors.
 */
H2D_API h2d_status_t h2d_mla_prefill_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					     const h2d_batch_t *batch,
					     h2d_mla_prefill_step_t *step);

#ifdef __cplusplus
}
#endif

#endif
