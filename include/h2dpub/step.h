/* SPDX-License-Identifier: MIT */
/*
 * Steps: the serving groups of a decode or prefill step on top of publication.h. A runner owns the
 * slots (one owner each), their buffers and groups; a step hands in a plain description of the
 * batch and gets its metadata published and its first GPU consumer fed.
 */
#ifndef H2DPUB_STEP_H
#define H2DPUB_STEP_H

#include <h2dpub/graph.h>
#include <h2dpub/publication.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_runner h2d_runner_t;

typedef struct h2d_runner_options {
	uint32_t slots;            /* publication slots, rotated; >= 1 */
	uint32_t max_requests;     /* the largest batch, padding included; >= 1 */
	uint32_t query_length;     /* tokens a request decodes in one step: 1 + speculative tokens */
	uint32_t block_size;       /* tokens of one block-table page; >= 1 */
	uint32_t page_size;        /* tokens of one physical KV page, divides block_size; 0: block_size */
	uint32_t max_model_length; /* tokens of the longest context; >= 1 */
	uint32_t num_pages;        /* block ids are in [0, num_pages); 0: all that fit into int32 pages */
	const uint32_t *captured_batch_sizes; /* ascending; the padded batch sizes; copied */
	uint32_t num_captured_batch_sizes;    /* 0: batches are not padded */
	const char *backend;       /* NULL: ATOM_H2D_BACKEND, else packed */
	bool omit_end_fence;       /* see h2d_owner_options_t */
	uint64_t timeout_ns;       /* 0: H2D_DEFAULT_TIMEOUT_NS */
	uint64_t pack_limit_bytes; /* see h2d_owner_options_t */
} h2d_runner_options_t;

/*
 * One decode step, as a scheduler hands it over. All arrays are borrowed for the call.
 * B = num_requests.
 */
typedef struct h2d_decode_batch {
	uint32_t num_requests;
	const int32_t *context_lengths;     /* [B] tokens in the KV cache including this step's */
	const int32_t *rejected_tokens;     /* [B] or NULL: speculative tokens to take off the context */
	const int32_t *const *block_tables; /* [B] rows of block ids */
	const uint32_t *block_table_lengths; /* [B] ids in each row; >= ceil(context / block_size) */
	const uint64_t *request_ids;        /* [B] or NULL: named in messages */
	bool dummy;                         /* a warm-up step: every slot is -1 */
} h2d_decode_batch_t;

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
	const int64_t *positions;     /* device [graph_requests * query_length]; padding 0 */
	int32_t *kv_indices;          /* device; written by KV-index generation */
	uint32_t block_table_columns; /* ceil(max_model_length / block_size) */
} h2d_mha_decode_step_t;

/*
 * Makes a runner on a device: owners, buffers and groups of every slot, transports chosen, initial
 * contents uploaded. INVALID_ARGUMENT / OUT_OF_RANGE: an option, named with its value.
 * OUT_OF_MEMORY, HSA_ERROR.
 */
H2D_API h2d_status_t h2d_runner_create(h2d_device_t *device, const h2d_runner_options_t *options,
				       h2d_runner_t **runner);

/*
 * Destroys a runner after waiting (bounded) for the GPU work of all slots up to their last finish
 * or record; what was enqueued later must be over (h2d_stream_synchronize). TIMEOUT: the runner
 * keeps its storage but publishes nothing more; destroy it again. NULL is allowed.
 */
H2D_API h2d_status_t h2d_runner_destroy(h2d_runner_t *runner);

H2D_API h2d_backend_t h2d_runner_backend(const h2d_runner_t *runner);

/* The slot in use; 0 before the first begin. */
H2D_API uint32_t h2d_runner_slot(const h2d_runner_t *runner);

/* The owner of a slot; NULL: there is no such slot. */
H2D_API h2d_owner_t *h2d_runner_owner(const h2d_runner_t *runner, uint32_t slot);

/* A group of the slot in use by name ("mha_decode"). NOT_FOUND. */
H2D_API h2d_status_t h2d_runner_group(const h2d_runner_t *runner, const char *name,
				      h2d_group_t **group);

/* The smallest captured batch size that holds num_requests; num_requests itself if none does. */
H2D_API uint32_t h2d_runner_graph_requests(const h2d_runner_t *runner, uint32_t num_requests);

/*
 * The frame of a forward: begin moves to the next slot (with one slot: stays) and begins its epoch;
 * finish ends its preparation; record, after the forward's GPU work is enqueued, makes the next
 * begin of this slot wait for that work as well. Errors as for the owner calls of the same names; a
 * begin that fails does not move, and the slot in use must not be between begin and finish
 * (INVALID_STATE). With several slots the first forward uses slot 1.
 */
H2D_API h2d_status_t h2d_runner_begin(h2d_runner_t *runner, h2d_stream_t *stream);
H2D_API h2d_status_t h2d_runner_finish(h2d_runner_t *runner, h2d_stream_t *stream);
H2D_API h2d_status_t h2d_runner_record(h2d_runner_t *runner, h2d_stream_t *stream);

/*
 * Prepares and publishes the mha_decode group (slot_mapping, context_lens, block_tables, kv_indptr,
 * positions) of the current slot, padded for the graph. step may be NULL.
 *
 * With q = query_length, request i has the context c = context_lengths[i] - rejected_tokens[i], and
 * its token j is at position p = c - q + j in slot table[p / block_size] * block_size + p %
 * block_size. kv_indptr is the prefix sum of ceil(c / page_size). A row of block_tables holds all
 * of its request's ids, then zeros.
 *
 * The whole batch is validated before anything is written. OUT_OF_RANGE names the request and the
 * field: q <= c <= max_model_length, ceil(c / block_size) <= ids in the row <= columns, and the ids
 * that the context needs are below num_pages. Publication errors as for h2d_group_publish().
 */
H2D_API h2d_status_t h2d_mha_decode_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
					    const h2d_decode_batch_t *batch,
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

#ifdef __cplusplus
}
#endif

#endif
