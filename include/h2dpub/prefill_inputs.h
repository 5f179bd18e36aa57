/* SPDX-License-Identifier: MIT */
/*
 * The prefill_inputs group: what attention reads in a prefill, and ordinary positions. First
 * consumer: attention preparation, which lists the pages of contexts that are cached already.
 *
 * Notation: B requests, G running requests, T scheduled tokens; request i has the context L =
 * context_lengths[i], of which c = cached_tokens[i] are in the KV cache already.
 */
#ifndef H2DPUB_PREFILL_INPUTS_H
#define H2DPUB_PREFILL_INPUTS_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fixed device addresses of a slot, NULL where this step did not publish them, and sizes. */
typedef struct h2d_prefill_inputs_step {
	uint32_t slot;
	uint32_t num_requests;      /* B */
	uint32_t running_requests;  /* G */
	uint32_t num_tokens;        /* T */
	int32_t max_query_length;   /* the largest L - c */
	int32_t max_context_length; /* the largest L */
	uint64_t num_keys;          /* that attention reads: the sum of L; nothing cached: T */
	bool has_cached;            /* any c > 0 */
	const int64_t *slot_mapping; /* [T] KV slot of each token; -1: none */
	const int32_t *context_lens; /* [G] L; padding 0 */
	const int32_t *cu_seqlens_k; /* [G + 1] prefix sum of L; padding flat */
	const int64_t *positions;    /* [T] c..L-1 of each request; NULL: MRoPE has them */

	/* Of a step with cached tokens. With MLA, block_tables [G] also where drafts are made and
	 * in a sparse step, whose longest context is above index_topk. */
	const int32_t *block_tables;      /* [B, columns] */
	const int32_t *num_cached_tokens; /* [B] c */
	const int32_t *seq_starts;        /* [B] 0 */

	/* Written by attention preparation. */
	const int32_t *kv_indptr;  /* [G + 1] prefix sum of ceil(L / page_size); NULL with dcp_size
				    * above 1: mla_prefill.h has that of this rank */
	const int32_t *kv_indices; /* the pages */
} h2d_prefill_inputs_step_t;

/*
 * Prepares and publishes prefill_inputs of the slot in use. packed and pull publish one group,
 * "prefill_inputs"; direct, and runners with MRoPE, publish "prefill", and direct then "positions".
 * step may be NULL. The token at position p of a request is in slot table[p / block_size] *
 * block_size + p % block_size (with decode context parallelism: if it is this rank's). Without
 * block tables, and in a dummy batch, every slot is -1. Block tables are prepared in any case, and
 * published where attention reads them and the device does not hold them yet.
 *
 * The whole batch is validated before anything is written. OUT_OF_RANGE names request and field:
 * 0 <= c <= L <= max_model_length; scheduled_tokens, if given, are L - c; T <= max_tokens; the sum
 * of L is an int32; ceil(L / block_size) <= ids in the row <= columns; ids below num_pages.
 * INVALID_ARGUMENT: not a prefill; cached tokens without block tables. Publication errors as for
 * h2d_producer_run().
 */
H2D_API h2d_status_t h2d_prefill_inputs_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
						const h2d_batch_t *batch,
						h2d_prefill_inputs_step_t *step);

/*
 * Enqueues (or, during capture, records) attention preparation for a prefill of running_requests
 * that has published its block tables: kv_indptr from context_lens, then kv_indices as in
 * mha_decode.h. It shares kv_indices with the slot's decode. Outside capture at most once an epoch
 * of the slot (INVALID_STATE), on that epoch's stream (WRONG_STREAM); the slot's next begin waits
 * for it. 0 requests: nothing. INVALID_STATE also with dcp_size above 1, where the pages of whole
 * contexts are not those of this rank: see mla_prefill.h. Others as for
 * h2d_mha_decode_enqueue_kv_indices().
 */
H2D_API h2d_status_t h2d_prefill_inputs_enqueue_kv_indices(h2d_runner_t *runner,
							   h2d_stream_t *stream, uint32_t slot,
							   uint32_t running_requests);

#ifdef __cplusplus
}
#endif

#endif
