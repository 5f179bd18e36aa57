/* SPDX-License-Identifier: MIT */
/* One slot's sub-batches for two-batch overlap. */
#ifndef H2DPUB_SRC_STEP_TBO_H
#define H2DPUB_SRC_STEP_TBO_H

#include <h2dpub/tbo.h>

#include "step/kv_index_generation.h"

struct h2d_runner_slot;

/* Members of one sub-batch; those that the runner's options leave out have no buffer. */
typedef enum h2d_tbo_member {
	H2D_TBO_KV_INDPTR,
	H2D_TBO_CONTEXT_LENS,
	H2D_TBO_SLOT_MAPPING,
	H2D_TBO_BLOCK_TABLES,
	H2D_TBO_CU_SEQLENS_Q,
	H2D_TBO_KV_LAST_PAGE_LENS,
	H2D_TBO_G_KV_INDPTR,
	H2D_TBO_SPARSE_KV_INDPTR,
	H2D_TBO_MEMBERS
} h2d_tbo_member_t;

typedef struct h2d_tbo_half {
	h2d_buffer_t *members[H2D_TBO_MEMBERS];
	h2d_group_t *group;
	h2d_published_table_t *block_tables; /* of the member */
	h2d_kv_index_generation_t kv_index_generation;
} h2d_tbo_half_t;

typedef struct h2d_tbo {
	h2d_tbo_half_t halves[H2D_TBO_SUB_BATCHES];
} h2d_tbo_t;

/* Makes the buffers and groups of a slot whose owner is idle, if the runner has tbo. */
h2d_status_t h2d_tbo_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
			    h2d_tbo_t *tbo);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_tbo_destroy(h2d_tbo_t *tbo);

#endif
