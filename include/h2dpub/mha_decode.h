/* SPDX-License-Identifier: MIT */
/* The mha_decode group: what paged attention reads in a decode step, and its KV indices. */
#ifndef H2DPUB_MHA_DECODE_H
#define H2DPUB_MHA_DECODE_H

#include <h2dpub/runner.h>
#include <h2dpub/table_publication.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a prepared MHA decode step looks like to its consumers: fixed addresses of the slot. */
typedef struct h2d_mha_decode_step {
	uint32_t num_requests;
	uint32_t graph_requests; /* the batch padded to a captured size */
	uint32_t slot;
	int32_t max_context_length;
	const int64_t *slot_mapping;  /* device [graph_requests * query_length]; padding -1 */
	const int32_t *context_lens;  /* device [graph_requests]; padding 0 */
	const int32_t *block_tables;  /* device [graph_requests, columns], contiguous; padding 0 */
	const int32_t *kv_indptr;     /* device [graph_requests + 1] in physical pages; padding flat */
	const int64_t *positions;     /* device [graph_requests * query_length]; padding 0; NULL
				       * with mrope */
	int32_t *kv_indices;          /* device; written by KV-index generation */
	uint32_t block_table_columns; /* ceil(max_model_length / block_size) */
} h2d_mha_decode_step_t;

/*
 * Prepares and publishes the mha_decode group (slot_mapping, context_lens, block_tables, kv_indptr,
 * positions) of the current slot, padded for the graph. step may be NULL.
 *
 * With q = query_length, request i has the context c = context_lengths[i] - rejected_tokens[i], and
 * its token j is at position p = c - q + j in slot table[p / block_size] * block_size + p %
 * block_size. kv_indptr is the prefix sum of ceil(c / page_size). A row of block_tables holds all
 * of its request's ids, then zeros. When the slot's device has these rows already, the group is
 * published without them.
 *
 * The whole batch is validated before anything is written. OUT_OF_RANGE names the request and the
 * field: scheduled_tokens, if given, are q; q <= c <= max_model_length; ceil(c / block_size) <= ids
 * in the row <= columns, and all of them are in [0, num_pages). INVALID_ARGUMENT: not a decode, or
 * an array is missing. INVALID_STATE: the runner's attention is not MHA. Publication errors as for
 * h2d_group_publish().
 */
H2D_API h2d_status_t h2d_mha_decode_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					    const h2d_batch_t *batch,
					    h2d_mha_decode_step_t *step);

/*
 * Enqueues (or, during capture, records) KV-index generation for a batch of graph_requests on a
 * slot: kv_indices[kv_indptr[b] + c*r + s] = block_tables[b][c]*r + s, r = block_size / page_size,
 * for every physical page of request b. It is the first consumer of mha_decode. The number of pages
 * comes from kv_indptr, so that one recording serves every batch of that size. 0 requests: nothing
 * is enqueued. OUT_OF_RANGE: slot or graph_requests. WRONG_DEVICE. Others as h2d_stream_dispatch().
 */
H2D_API h2d_status_t h2d_mha_decode_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
						       uint32_t slot, uint32_t graph_requests);

/* The fixed addresses of a slot; the sizes of the batch are 0. OUT_OF_RANGE: slot. */
H2D_API h2d_status_t h2d_mha_decode_view(const h2d_runner_t *runner, uint32_t slot,
					 h2d_mha_decode_step_t *step);

/* The block table of a slot, for its totals; NULL: there is no such slot. */
H2D_API const h2d_published_table_t *h2d_mha_decode_block_tables(const h2d_runner_t *runner,
								 uint32_t slot);

#ifdef __cplusplus
}
#endif

#endif
