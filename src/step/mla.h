/* SPDX-License-Identifier: MIT */
/* One slot's MLA metadata: the decode and prefill groups share most buffers. */
#ifndef H2DPUB_SRC_STEP_MLA_H
#define H2DPUB_SRC_STEP_MLA_H

#include <h2dpub/mla_decode.h>
#include <h2dpub/mla_prefill.h>

struct h2d_runner_slot;

/* Members that the runner's options leave out have no buffer. */
typedef enum h2d_mla_member {
	H2D_MLA_SLOT_MAPPING,
	H2D_MLA_CONTEXT_LENS,
	H2D_MLA_KV_LAST_PAGE_LENS,
	H2D_MLA_DCP_LOCAL_CONTEXT_LENS,
	H2D_MLA_BLOCK_TABLES,
	H2D_MLA_KV_INDPTR,
	H2D_MLA_POSITIONS,
	H2D_MLA_G_KV_INDPTR,
	H2D_MLA_SPARSE_KV_INDPTR,
	H2D_MLA_BATCH_ID_PER_Q_TOKEN,
	H2D_MLA_CU_SEQLEN_KS,
	H2D_MLA_CU_SEQLEN_KE,
	H2D_MLA_MEMBERS
} h2d_mla_member_t;

typedef struct h2d_mla {
	h2d_buffer_t *members[H2D_MLA_MEMBERS];
	h2d_group_t *decode;
	h2d_group_t *prefill;
} h2d_mla_t;

/* Makes the buffers and groups of a slot whose owner is idle, after mha_decode's, if it is MLA. */
h2d_status_t h2d_mla_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
			    h2d_mla_t *mla);

/* INVALID_STATE: not a runner of MLA. */
h2d_status_t h2d_mla_check_runner(const h2d_runner_t *runner);

/* A member's device address and host array; NULL: the runner has no such member. */
const void *h2d_mla_device(const h2d_mla_t *mla, h2d_mla_member_t member);
void *h2d_mla_host(const h2d_mla_t *mla, h2d_mla_member_t member);

/* Sets a member's count in a group; nothing if the runner has no such member. */
void h2d_mla_set_count(const h2d_mla_t *mla, h2d_group_t *group, h2d_mla_member_t member,
		       int64_t count);

/* Whether a prefill with this longest context selects among its keys; never without MLA. */
bool h2d_mla_is_sparse(const h2d_runner_options_t *options, int32_t longest_context);

/* The tokens among the first `length` of a context that this rank's cache holds. */
uint32_t h2d_mla_local_length(const h2d_runner_options_t *options, uint32_t length);

/* Where this rank's cache holds a position; -1: it does not. */
int64_t h2d_mla_kv_slot(const h2d_runner_options_t *options, const int32_t *block_ids,
			uint32_t position);

/* The tokens in the last of the pages of page_size that hold so many tokens. */
int32_t h2d_mla_last_page_length(uint32_t page_size, uint32_t tokens);

#endif
