/* SPDX-License-Identifier: MIT */
/*
 * MLA decode: what attention over a compressed KV cache reads in a decode step, sparse attention
 * and decode context parallelism (DCP) included, and its KV indices. For runners with attention
 * MLA.
 */
#ifndef H2DPUB_MLA_DECODE_H
#define H2DPUB_MLA_DECODE_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a prepared step looks like to its consumers: fixed addresses of the slot, all on the device.
 * G = graph_requests, q = query_length. Arrays that the runner's options leave out are NULL.
 */
typedef struct h2d_mla_decode_step {
	uint32_t num_requests;
	uint32_t graph_requests; /* the batch padded to a captured size */
	uint32_t slot;
	int32_t max_context_length;
	const int64_t *slot_mapping;	  /* [G * q]; padding, and tokens of other ranks: -1 */
	const int32_t *context_lens;	  /* [G] of all ranks; padding 0 */
	const int32_t *kv_last_page_lens; /* [G] tokens in the last page; padding 0 */
	const int32_t *block_tables;	  /* [G, columns], contiguous; padding 0 */
	const int32_t *kv_indptr;	  /* [G + 1] in pages of this rank; padding flat */
	const int64_t *positions;	  /* [G * q]; padding 0; NULL with mrope */
	const int32_t *g_kv_indptr;	  /* DCP: [G + 1] in tokens of all ranks; padding flat */
	const int32_t *dcp_local_context_lens; /* DCP and sparse: [G * q] tokens of this rank that a
						* token sees; padding 0 */
	const int32_t *sparse_kv_indptr;     /* sparse: [G * q + 1] selected tokens; padding flat */
	const int32_t *batch_id_per_q_token; /* sparse: [G * q] its request; padding -1 */
	int32_t *kv_indices;		     /* written by KV-index generation */
	uint32_t block_table_columns;
} h2d_mla_decode_step_t;

/*
 * Prepares and publishes the MLA decode metadata of the current slot, padded for the graph. step
 * may be NULL. Under the packed backend its members are copied one by one.
 *
 * With c, p and j as for h2d_mha_decode_prepare(), W = dcp_size, s = dcp_interleave: position p is
 * that of rank (p / s) % W, whose cache holds it as token l = p / (s * W) * s + p % s; its slot is
 * table[p / (block_size * W)] * block_size + l % block_size. kv_indptr is the prefix sum of
 * ceil(n / page_size), n being the tokens of c that this rank holds. A last page holds
 * (n - 1) % page_size + 1 tokens, and 1 if page_size is 1. sparse_kv_indptr is the prefix sum of
 * min(c - q + j + 1, index_topk).
 *
 * The whole batch is validated before anything is written: INVALID_STATE, the runner's attention is
 * not MLA; others as for h2d_mha_decode_prepare(), a block holding block_size * W tokens.
 * OUT_OF_RANGE too: with W > 1, contexts of more than int32 tokens in all.
 */
H2D_API h2d_status_t h2d_mla_decode_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					    const h2d_batch_t *batch, h2d_mla_decode_step_t *step);

/*
 * What a graph of this many requests is recorded with: kv_indptr and g_kv_indptr 0, 1, 2, ..., and
 * pages of one token, for planners that cannot do without a page. The block tables stay as they
 * are. Errors as for prepare; OUT_OF_RANGE: graph_requests.
 */
H2D_API h2d_status_t h2d_mla_decode_prepare_capture(h2d_runner_t *runner, h2d_stream_t *stream,
						    uint32_t graph_requests,
						    h2d_mla_decode_step_t *step);

/* As h2d_mha_decode_enqueue_kv_indices(), over the pages of this rank. */
H2D_API h2d_status_t h2d_mla_decode_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
						       uint32_t slot, uint32_t graph_requests);

/* The fixed addresses of a slot; the sizes of the batch are 0. OUT_OF_RANGE: slot. INVALID_STATE.
 */
H2D_API h2d_status_t h2d_mla_decode_view(const h2d_runner_t *runner, uint32_t slot,
					 h2d_mla_decode_step_t *step);

#ifdef __cplusplus
}
#endif

#endif
