/* SPDX-License-Identifier: MIT */
/*
 * Two-batch overlap: a decode step is split into two sub-batches that run side by side, each with
 * metadata in buffers of its own. For runners with tbo, of either attention.
 */
#ifndef H2DPUB_TBO_H
#define H2DPUB_TBO_H

#include <h2dpub/runner.h>
#include <h2dpub/table_publication.h>

#ifdef __cplusplus
extern "C" {
#endif

#define H2D_TBO_SUB_BATCHES 2

/*
 * A sub-batch as its consumers see it: fixed addresses of the slot, all on the device. W =
 * running_requests, q = query_length. What the attention leaves out is NULL.
 */
typedef struct h2d_tbo_sub_batch {
	uint32_t first_request;	   /* of the padded batch */
	uint32_t num_requests;	   /* real ones */
	uint32_t running_requests; /* padding included */
	int32_t max_context_length;
	const int64_t *slot_mapping;	  /* [W * q]; padding -1 */
	const int32_t *context_lens;	  /* [W]; padding 0 */
	const int32_t *block_tables;	  /* [W, columns], contiguous; padding 0 */
	const int32_t *kv_indptr;	  /* [W + 1] pages, from 0; padding flat */
	const int32_t *cu_seqlens_q;	  /* [W + 1] tokens, from 0; padding flat */
	const int32_t *kv_last_page_lens; /* MLA: [W]; padding 0 */
	const int32_t *g_kv_indptr;	  /* MLA with DCP: [W + 1] tokens of all ranks */
	const int32_t *sparse_kv_indptr;  /* MLA, sparse: [W * q + 1] selected tokens */
	int32_t *kv_indices;		  /* written by KV-index generation */
	uint32_t block_table_columns;
} h2d_tbo_sub_batch_t;

typedef struct h2d_tbo_step {
	uint32_t slot;
	h2d_tbo_sub_batch_t sub_batches[H2D_TBO_SUB_BATCHES];
} h2d_tbo_step_t;

/*
 * Splits a decode of G running requests into [0, G / 2) and [G / 2, G) and publishes the metadata
 * of both, with the values that h2d_mha_decode_prepare() or h2d_mla_decode_prepare() give these
 * requests. To be called behind that in the same epoch, with the same batch: the sub-batches take
 * their block tables from it. step may be NULL.
 *
 * Whether all sources of both may be written is checked before the first of them is. INVALID_STATE:
 * no tbo, or no decode was published in this epoch. INVALID_ARGUMENT: sizes, contexts or block ids
 * are not those of that decode; the message names request and values. OUT_OF_RANGE: fewer than two
 * running requests. Others as for the decode. Each of the two is one publication; under the packed
 * backend MLA's members are copied one by one.
 */
H2D_API h2d_status_t h2d_tbo_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, h2d_tbo_step_t *step);

/*
 * As h2d_mha_decode_enqueue_kv_indices(), for one sub-batch of running_requests. OUT_OF_RANGE:
 * slot, sub_batch, or running_requests above half of max_requests, rounded up.
 */
H2D_API h2d_status_t h2d_tbo_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
						uint32_t slot, uint32_t sub_batch,
						uint32_t running_requests);

/* The fixed addresses of a slot; the sizes of the sub-batches are 0. OUT_OF_RANGE, INVALID_STATE.
 */
H2D_API h2d_status_t h2d_tbo_view(const h2d_runner_t *runner, uint32_t slot, h2d_tbo_step_t *step);

/* The block table of a sub-batch, for its totals; NULL: there is none. */
H2D_API const h2d_published_table_t *h2d_tbo_block_tables(const h2d_runner_t *runner, uint32_t slot,
							  uint32_t sub_batch);

#ifdef __cplusplus
}
#endif

#endif
