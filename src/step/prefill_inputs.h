/* SPDX-License-Identifier: MIT */
/* One slot's prefill_inputs group. */
#ifndef H2DPUB_SRC_STEP_PREFILL_INPUTS_H
#define H2DPUB_SRC_STEP_PREFILL_INPUTS_H

#include <h2dpub/prefill_inputs.h>
#include <h2dpub/producer.h>

#include "step/kv_index_generation.h"
#include "step/step_kernel.h"

struct h2d_runner_slot;

/* The members in the order in which they are published: those of "prefill", then positions. */
typedef enum h2d_prefill_input {
	H2D_PREFILL_SLOT_MAPPING,
	H2D_PREFILL_CONTEXT_LENS,
	H2D_PREFILL_BLOCK_TABLES,
	H2D_PREFILL_CU_SEQLENS_K,
	H2D_PREFILL_NUM_CACHED_TOKENS,
	H2D_PREFILL_SEQ_STARTS,
	H2D_PREFILL_POSITIONS,
	H2D_PREFILL_INPUTS
} h2d_prefill_input_t;

typedef struct h2d_prefill_inputs {
	h2d_buffer_t *members[H2D_PREFILL_INPUTS];
	h2d_group_t *mirrors;   /* "prefill" */
	h2d_group_t *positions; /* NULL: MRoPE */
	h2d_group_t *group;     /* NULL: published one by one */
	int32_t *kv_indptr;     /* device [max_requests + 1], written by the GPU */
	h2d_step_kernel_t page_prefix;
	h2d_kv_index_generation_t kv_index_generation;
} h2d_prefill_inputs_t;

/* Before mha_decode, which shares most of the buffers. */
h2d_status_t h2d_prefill_inputs_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
				       h2d_prefill_inputs_t *inputs);

/* After mha_decode, whose kv_indices it shares. */
h2d_status_t h2d_prefill_inputs_create_kernels(const h2d_runner_t *runner,
					       struct h2d_runner_slot *slot,
					       h2d_prefill_inputs_t *inputs);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_prefill_inputs_destroy(h2d_prefill_inputs_t *inputs);

/* Once all slots are made. */
h2d_status_t h2d_prefill_inputs_create_producer(h2d_runner_t *runner);

#endif
