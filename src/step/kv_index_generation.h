/* SPDX-License-Identifier: MIT */
/* One slot's KV-index generation: the dispatch of the kernel in kernels/kv_indices.cl. */
#ifndef H2DPUB_SRC_STEP_KV_INDEX_GENERATION_H
#define H2DPUB_SRC_STEP_KV_INDEX_GENERATION_H

#include <h2dpub/runner.h>

typedef struct h2d_kv_index_generation {
	h2d_device_t *device;
	h2d_buffer_t *inputs[2]; /* that a recording keeps; NULL: none */
	int32_t *kv_indices;     /* device [max_requests * pages_per_request] */
	bool owns_kv_indices;
	h2d_dispatch_t dispatch; /* complete but for the number of requests, grid_size[1] */
	void *kernel_arguments;
} h2d_kv_index_generation_t;

typedef struct h2d_kv_index_generation_description {
	uint32_t max_requests;
	const int32_t *kv_indptr;    /* device [max_requests + 1] */
	const int32_t *block_tables; /* device [max_requests, the runner's columns] */
	h2d_buffer_t *inputs[2];     /* those of the two that are buffers; NULL: none */
	int32_t *kv_indices;         /* device, of another one; NULL: allocated */
} h2d_kv_index_generation_description_t;

/*
 * Allocates kv_indices, unless it has them from another one, and the kernel arguments, which stay
 * the same for every batch.
 */
h2d_status_t
h2d_kv_index_generation_create(const h2d_runner_t *runner,
			       const h2d_kv_index_generation_description_t *description,
			       h2d_kv_index_generation_t *generation);

/* Frees both. The GPU must be done with them. */
void h2d_kv_index_generation_destroy(h2d_kv_index_generation_t *generation);

/*
 * Enqueues it, or records it during capture, for the first num_requests requests; none: nothing. A
 * recording keeps the buffers it reads.
 */
h2d_status_t h2d_kv_index_generation_enqueue(const h2d_kv_index_generation_t *generation,
					     h2d_stream_t *stream, uint32_t num_requests);

#endif
