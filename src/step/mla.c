/* SPDX-License-Identifier: MIT */
/* The buffers and groups of MLA, and which token of a context is where in this rank's KV cache. */
#include "step/mla.h"

#include "error.h"
#include "step/runner.h"

static const h2d_mla_member_t decode_members[] = {
	H2D_MLA_SLOT_MAPPING,	   H2D_MLA_CONTEXT_LENS,
	H2D_MLA_KV_LAST_PAGE_LENS, H2D_MLA_DCP_LOCAL_CONTEXT_LENS,
	H2D_MLA_BLOCK_TABLES,	   H2D_MLA_KV_INDPTR,
	H2D_MLA_POSITIONS,	   H2D_MLA_G_KV_INDPTR,
	H2D_MLA_SPARSE_KV_INDPTR,  H2D_MLA_BATCH_ID_PER_Q_TOKEN,
};

static const h2d_mla_member_t prefill_members[] = {
	H2D_MLA_KV_LAST_PAGE_LENS,    H2D_MLA_KV_INDPTR,    H2D_MLA_SPARSE_KV_INDPTR,
	H2D_MLA_BATCH_ID_PER_Q_TOKEN, H2D_MLA_CU_SEQLEN_KS, H2D_MLA_CU_SEQLEN_KE,
};

#define COUNT(members) (sizeof(members) / sizeof((members)[0]))

/* Finds or allocates the buffers of a group and makes it, without the members that are left out. */
static h2d_status_t create_group(h2d_runner_slot_t *slot, const char *name,
				 const h2d_member_declaration_t all[],
				 const h2d_mla_member_t chosen[], size_t num_chosen, h2d_mla_t *mla,
				 h2d_group_t **group)
{
	h2d_member_declaration_t members[H2D_MLA_MEMBERS];
	h2d_buffer_t *buffers[H2D_MLA_MEMBERS];
	h2d_group_declaration_t declaration = {.name = name, .members = members, .unpacked = true};
	uint32_t next = 0;
	h2d_status_t status;

	for (size_t i = 0; i < num_chosen; i++) {
		if (all[chosen[i]].name)
			members[declaration.num_members++] = all[chosen[i]];
	}
	status = h2d_slot_declare_group(slot, &declaration, buffers, group);
	for (size_t i = 0; i < num_chosen && status == H2D_STATUS_SUCCESS; i++) {
		if (all[chosen[i]].name)
			mla->members[chosen[i]] = buffers[next++];
	}
	return status;
}

h2d_status_t h2d_mla_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot, h2d_mla_t *mla)
{
	const h2d_runner_options_t *options = &runner->options;
	const uint64_t requests = options->max_requests;
	const uint64_t tokens = options->max_tokens;
	const size_t int32 = sizeof(int32_t);
	/* Without rows: mha_decode has made it. */
	h2d_member_declaration_t all[H2D_MLA_MEMBERS] = {
		[H2D_MLA_SLOT_MAPPING] = {.name = "slot_mapping"},
		[H2D_MLA_CONTEXT_LENS] = {.name = "context_lens"},
		[H2D_MLA_KV_LAST_PAGE_LENS] = {"kv_last_page_lens", int32, requests, 0, 0},
		[H2D_MLA_BLOCK_TABLES] = {.name = "block_tables"},
		[H2D_MLA_KV_INDPTR] = {.name = "kv_indptr"},
		[H2D_MLA_POSITIONS] = {.name = "positions"},
	};
	h2d_status_t status;

	if (options->attention != H2D_ATTENTION_MLA)
		return H2D_STATUS_SUCCESS;
	if (options->dcp_size > 1)
		all[H2D_MLA_G_KV_INDPTR] =
			(h2d_member_declaration_t){"g_kv_indptr", int32, requests + 1, 0, 0};
	if (options->dcp_size > 1 && options->index_topk > 0)
		all[H2D_MLA_DCP_LOCAL_CONTEXT_LENS] = (h2d_member_declaration_t){
			"dcp_local_context_lens", int32, requests * options->query_length, 0, 0};
	if (options->index_topk > 0) {
		all[H2D_MLA_SPARSE_KV_INDPTR] =
			(h2d_member_declaration_t){"sparse_kv_indptr", int32, tokens + 1, 0, 0};
		all[H2D_MLA_BATCH_ID_PER_Q_TOKEN] =
			(h2d_member_declaration_t){"batch_id_per_q_token", int32, tokens, 0, 0};
		all[H2D_MLA_CU_SEQLEN_KS] =
			(h2d_member_declaration_t){"cu_seqlen_ks", int32, tokens, 0, 0};
		all[H2D_MLA_CU_SEQLEN_KE] =
			(h2d_member_declaration_t){"cu_seqlen_ke", int32, tokens, 0, 0};
	}
	status = create_group(slot, "mla_decode", all, decode_members, COUNT(decode_members), mla,
			      &mla->decode);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return create_group(slot, "mla_prefill", all, prefill_members, COUNT(prefill_members), mla,
			    &mla->prefill);
}

h2d_status_t h2d_mla_check_runner(const h2d_runner_t *runner)
{
	if (runner->options.attention != H2D_ATTENTION_MLA)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "mla: the runner's attention is not MLA");
	return H2D_STATUS_SUCCESS;
}

const void *h2d_mla_device(const h2d_mla_t *mla, h2d_mla_member_t member)
{
	return mla->members[member] ? h2d_buffer_device(mla->members[member]) : NULL;
}

void *h2d_mla_host(const h2d_mla_t *mla, h2d_mla_member_t member)
{
	return mla->members[member] ? h2d_buffer_host(mla->members[member]) : NULL;
}

void h2d_mla_set_count(const h2d_mla_t *mla, h2d_group_t *group, h2d_mla_member_t member,
		       int64_t count)
{
	/* Only NOT_FOUND could come back, and the group was made with the buffer. */
	if (mla->members[member])
		(void)h2d_group_set_count(group, mla->members[member], count);
}

bool h2d_mla_is_sparse(const h2d_runner_options_t *options, int32_t longest_context)
{
	return options->index_topk > 0 && (uint32_t)longest_context > options->index_topk;
}

/* ---- decode context parallelism -------------------------------------------------------------- */

uint32_t h2d_mla_local_length(const h2d_runner_options_t *options, uint32_t length)
{
	const uint64_t interleave = options->dcp_interleave;
	const uint64_t round = interleave * options->dcp_size;
	const uint64_t whole_rounds = length / round;
	const int64_t rest = (int64_t)(length - whole_rounds * round) -
			     (int64_t)(options->dcp_rank * interleave);
	const uint64_t own_rest = rest < 0			? 0
				  : (uint64_t)rest > interleave ? interleave
								: (uint64_t)rest;

	return (uint32_t)(whole_rounds * interleave + own_rest);
}

int64_t h2d_mla_kv_slot(const h2d_runner_options_t *options, const int32_t *block_ids,
			uint32_t position)
{
	const uint64_t interleave = options->dcp_interleave;
	const uint64_t ranks = options->dcp_size;
	const uint64_t local = position / (interleave * ranks) * interleave + position % interleave;
	const uint64_t block_size = options->block_size;

	if (position / interleave % ranks != options->dcp_rank)
		return -1;
	return (int64_t)((uint64_t)block_ids[position / (block_size * ranks)] * block_size +
			 local % block_size);
}

int32_t h2d_mla_last_page_length(uint32_t page_size, uint32_t tokens)
{
	if (page_size == 1)
		return 1;
	return tokens == 0 ? 0 : (int32_t)((tokens - 1) % page_size + 1);
}
