/* SPDX-License-Identifier: MIT */
/* One slot's mha_decode group. */
#ifndef H2DPUB_SRC_STEP_MHA_DECODE_H
#define H2DPUB_SRC_STEP_MHA_DECODE_H

#include <h2dpub/step.h>
#include <h2dpub/table_publication.h>

#include "step/kv_index_generation.h"

struct h2d_runner_slot;

/* The group's members in the order in which they are published. */
typedef enum h2d_mha_decode_member {
	H2D_MHA_DECODE_SLOT_MAPPING,
	H2D_MHA_DECODE_CONTEXT_LENS,
	H2D_MHA_DECODE_BLOCK_TABLES,
	H2D_MHA_DECODE_KV_INDPTR,
	H2D_MHA_DECODE_POSITIONS,
	H2D_MHA_DECODE_MEMBERS
} h2d_mha_decode_member_t;

/* The decode that was published last, of either attention. */
typedef struct h2d_published_decode {
	uint64_t epoch; /* 0: none */
	uint32_t requests;
	uint32_t running_requests;
	bool dummy;
} h2d_published_decode_t;

typedef struct h2d_mha_decode {
	h2d_buffer_t *members[H2D_MHA_DECODE_MEMBERS];
	h2d_group_t *group;
	h2d_published_table_t *block_tables; /* of the member */
	h2d_published_decode_t published;
	h2d_kv_index_generation_t kv_index_generation;
} h2d_mha_decode_t;

/* Makes the buffers, the group and the KV-index generation of a slot whose owner is idle. */
h2d_status_t h2d_mha_decode_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
				   h2d_mha_decode_t *mha_decode);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_mha_decode_destroy(h2d_mha_decode_t *mha_decode);

#endif
