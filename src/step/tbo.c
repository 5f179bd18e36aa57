/* SPDX-License-Identifier: MIT */
/* Two-batch overlap: the buffers of the sub-batches, and what a step puts into them. */
#include <stdio.h>

#include "error.h"
#include "step/arguments.h"
#include "step/decode_batch.h"
#include "step/runner.h"

#define GROUP "tbo"

enum { MAX_NAME = 40 };

/* ---- buffers and groups ---------------------------------------------------------------------- */

/* The larger half of the largest batch. */
static uint32_t max_half(const h2d_runner_t *runner)
{
	return runner->options.max_requests - runner->options.max_requests / 2;
}

/* Fills the declarations of all members that the runner's attention has; returns how many. */
static uint32_t declare_members(const h2d_runner_t *runner, uint32_t half,
				h2d_member_declaration_t members[], h2d_tbo_member_t kinds[],
				char names[][MAX_NAME])
{
	const h2d_runner_options_t *options = &runner->options;
	const uint64_t requests = max_half(runner);
	const uint64_t tokens = requests * options->query_length;
	const bool mla = options->attention == H2D_ATTENTION_MLA;
	const struct {
		bool present;
		const char *name;
		size_t element_size;
		uint64_t rows;
		uint64_t columns;
	} all[H2D_TBO_MEMBERS] = {
		[H2D_TBO_KV_INDPTR] = {true, "kv_indptr", sizeof(int32_t), requests + 1, 0},
		[H2D_TBO_CONTEXT_LENS] = {true, "context_lens", sizeof(int32_t), requests, 0},
		[H2D_TBO_SLOT_MAPPING] = {true, "slot_mapping", sizeof(int64_t), tokens, 0},
		[H2D_TBO_BLOCK_TABLES] = {true, "block_tables", sizeof(int32_t), requests,
					  runner->block_table_columns},
		[H2D_TBO_CU_SEQLENS_Q] = {true, "cu_seqlens_q", sizeof(int32_t), requests + 1, 0},
		[H2D_TBO_KV_LAST_PAGE_LENS] = {mla, "kv_last_page_lens", sizeof(int32_t), requests,
					       0},
		[H2D_TBO_G_KV_INDPTR] = {mla && options->dcp_size > 1, "g_kv_indptr",
					 sizeof(int32_t), requests + 1, 0},
		[H2D_TBO_SPARSE_KV_INDPTR] = {mla && options->index_topk > 0, "sparse_kv_indptr",
					      sizeof(int32_t), tokens + 1, 0},
	};
	uint32_t count = 0;

	for (int kind = 0; kind < H2D_TBO_MEMBERS; kind++) {
		if (!all[kind].present)
			continue;
		snprintf(names[count], MAX_NAME, "ub%u_%s", half, all[kind].name);
		kinds[count] = (h2d_tbo_member_t)kind;
		members[count] = (h2d_member_declaration_t){
			.name = names[count],
			.element_size = all[kind].element_size,
			.rows = all[kind].rows,
			.columns = all[kind].columns,
		};
		count++;
	}
	return count;
}

static h2d_status_t create_half(const h2d_runner_t *runner, h2d_runner_slot_t *slot, uint32_t index,
				h2d_tbo_half_t *half)
{
	const bool mla = runner->options.attention == H2D_ATTENTION_MLA;
	h2d_member_declaration_t members[H2D_TBO_MEMBERS];
	h2d_tbo_member_t kinds[H2D_TBO_MEMBERS];
	h2d_buffer_t *buffers[H2D_TBO_MEMBERS];
	char names[H2D_TBO_MEMBERS][MAX_NAME];
	char name[MAX_NAME];
	const h2d_group_declaration_t declaration = {
		.name = name,
		.members = members,
		.num_members = declare_members(runner, index, members, kinds, names),
		.unpacked = mla,
	};
	h2d_kv_index_generation_description_t generation;
	h2d_status_t status;

	snprintf(name, sizeof(name), "ub%u_%s_metadata", index, mla ? "mla" : "mha");
	status = h2d_slot_declare_group(slot, &declaration, buffers, &half->group);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < declaration.num_members; i++)
		half->members[kinds[i]] = buffers[i];
	status = h2d_published_table_create(half->members[H2D_TBO_BLOCK_TABLES],
					    &half->block_tables);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	generation = (h2d_kv_index_generation_description_t){
		.max_requests = max_half(runner),
		.kv_indptr = h2d_buffer_device(half->members[H2D_TBO_KV_INDPTR]),
		.block_tables = h2d_buffer_device(half->members[H2D_TBO_BLOCK_TABLES]),
		.inputs = {half->members[H2D_TBO_KV_INDPTR], half->members[H2D_TBO_BLOCK_TABLES]},
	};
	return h2d_kv_index_generation_create(runner, &generation, &half->kv_index_generation);
}

h2d_status_t h2d_tbo_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot, h2d_tbo_t *tbo)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (!runner->options.tbo)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < H2D_TBO_SUB_BATCHES && status == H2D_STATUS_SUCCESS; i++)
		status = create_half(runner, slot, i, &tbo->halves[i]);
	return status;
}

void h2d_tbo_destroy(h2d_tbo_t *tbo)
{
	for (int i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		h2d_kv_index_generation_destroy(&tbo->halves[i].kv_index_generation);
		h2d_published_table_destroy(tbo->halves[i].block_tables);
		tbo->halves[i].block_tables = NULL;
	}
}

/* ---- the sources of one sub-batch ------------------------------------------------------------ */

/* Requests [first, first + requests) of the batch, padded to width. */
typedef struct share {
	const h2d_runner_options_t *options;
	const h2d_batch_t *batch;
	const h2d_tbo_half_t *half;
	uint32_t first;
	uint32_t requests;
	uint32_t width;
} share_t;

static void *host_of(const share_t *share, h2d_tbo_member_t member)
{
	return share->half->members[member] ? h2d_buffer_host(share->half->members[member]) : NULL;
}

/* 0 for padding. */
static uint32_t context(const share_t *share, uint32_t request)
{
	if (request >= share->requests)
		return 0;
	return (uint32_t)h2d_decode_context(share->batch, share->first + request);
}

/* Returns the longest context. */
static int32_t write_requests(const share_t *share)
{
	const uint32_t page_size = share->options->page_size;
	int32_t *context_lens = host_of(share, H2D_TBO_CONTEXT_LENS);
	int32_t *kv_indptr = host_of(share, H2D_TBO_KV_INDPTR);
	int32_t *cu_seqlens_q = host_of(share, H2D_TBO_CU_SEQLENS_Q);
	int32_t *last_page_lens = host_of(share, H2D_TBO_KV_LAST_PAGE_LENS);
	int32_t *g_kv_indptr = host_of(share, H2D_TBO_G_KV_INDPTR);
	int32_t longest = 0;

	kv_indptr[0] = 0;
	cu_seqlens_q[0] = 0;
	if (g_kv_indptr)
		g_kv_indptr[0] = 0;
	for (uint32_t i = 0; i < share->width; i++) {
		const bool padding = i >= share->requests;
		const uint32_t local = h2d_mla_local_length(share->options, context(share, i));

		context_lens[i] = (int32_t)context(share, i);
		longest = context_lens[i] > longest ? context_lens[i] : longest;
		kv_indptr[i + 1] = kv_indptr[i] + (int32_t)((local + page_size - 1) / page_size);
		cu_seqlens_q[i + 1] =
			cu_seqlens_q[i] + (padding ? 0 : (int32_t)share->options->query_length);
		if (last_page_lens)
			last_page_lens[i] =
				padding ? 0 : h2d_mla_last_page_length(page_size, local);
		if (g_kv_indptr)
			g_kv_indptr[i + 1] = g_kv_indptr[i] + context_lens[i];
	}
	return longest;
}

static void write_tokens(const share_t *share)
{
	const uint32_t query_length = share->options->query_length;
	const uint32_t topk = share->options->index_topk;
	int64_t *slot_mapping = host_of(share, H2D_TBO_SLOT_MAPPING);
	int32_t *sparse_kv_indptr = host_of(share, H2D_TBO_SPARSE_KV_INDPTR);

	if (sparse_kv_indptr)
		sparse_kv_indptr[0] = 0;
	for (uint32_t t = 0; t < share->width * query_length; t++) {
		const uint32_t request = t / query_length;
		const bool padding = request >= share->requests;
		/* Tokens of the context up to this one. */
		const uint32_t visible =
			padding ? 0 : context(share, request) - query_length + t % query_length + 1;

		slot_mapping[t] =
			padding || share->batch->dummy
				? -1
				: h2d_mla_kv_slot(share->options,
						  h2d_decode_block_ids(share->batch,
								       share->first + request),
						  visible - 1);
		if (sparse_kv_indptr)
			sparse_kv_indptr[t + 1] =
				sparse_kv_indptr[t] + (int32_t)(visible < topk ? visible : topk);
	}
}

static h2d_status_t slice_tables(const h2d_runner_t *runner, const share_t *share,
				 h2d_stream_t *stream)
{
	const h2d_mha_decode_t *decode = &runner->slots[runner->slot].mha_decode;
	const h2d_table_options_t options = {
		.pad_to = share->width,
		.page_limit = runner->block_limit,
	};

	return h2d_published_table_slice(decode->block_tables, share->first, share->requests,
					 share->half->block_tables, stream, &options);
}

static void set_count(const share_t *share, h2d_tbo_member_t member, int64_t count)
{
	/* Only NOT_FOUND could come back, and the group was made with the buffer. */
	if (share->half->members[member])
		(void)h2d_group_set_count(share->half->group, share->half->members[member], count);
}

static h2d_status_t publish(const share_t *share, h2d_stream_t *stream)
{
	const int64_t tokens = (int64_t)share->width * share->options->query_length;

	set_count(share, H2D_TBO_KV_INDPTR, (int64_t)share->width + 1);
	set_count(share, H2D_TBO_CONTEXT_LENS, share->width);
	set_count(share, H2D_TBO_SLOT_MAPPING, tokens);
	set_count(share, H2D_TBO_CU_SEQLENS_Q, (int64_t)share->width + 1);
	set_count(share, H2D_TBO_KV_LAST_PAGE_LENS, share->width);
	set_count(share, H2D_TBO_G_KV_INDPTR, (int64_t)share->width + 1);
	set_count(share, H2D_TBO_SPARSE_KV_INDPTR, tokens + 1);
	return h2d_published_table_publish(share->half->block_tables, stream, share->width,
					   share->half->group, NULL, NULL);
}

/* ---- the step -------------------------------------------------------------------------------- */

static const void *device_of(const h2d_tbo_half_t *half, h2d_tbo_member_t member)
{
	return half->members[member] ? h2d_buffer_device(half->members[member]) : NULL;
}

static h2d_tbo_step_t view_of_slot(const h2d_runner_t *runner, uint32_t slot)
{
	h2d_tbo_step_t step = {.slot = slot};

	for (int i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		const h2d_tbo_half_t *half = &runner->slots[slot].tbo.halves[i];

		step.sub_batches[i] = (h2d_tbo_sub_batch_t){
			.slot_mapping = device_of(half, H2D_TBO_SLOT_MAPPING),
			.context_lens = device_of(half, H2D_TBO_CONTEXT_LENS),
			.block_tables = device_of(half, H2D_TBO_BLOCK_TABLES),
			.kv_indptr = device_of(half, H2D_TBO_KV_INDPTR),
			.cu_seqlens_q = device_of(half, H2D_TBO_CU_SEQLENS_Q),
			.kv_last_page_lens = device_of(half, H2D_TBO_KV_LAST_PAGE_LENS),
			.g_kv_indptr = device_of(half, H2D_TBO_G_KV_INDPTR),
			.sparse_kv_indptr = device_of(half, H2D_TBO_SPARSE_KV_INDPTR),
			.kv_indices = half->kv_index_generation.kv_indices,
			.block_table_columns = runner->block_table_columns,
		};
	}
	return step;
}

static h2d_status_t check_runner(const h2d_runner_t *runner)
{
	if (!runner->options.tbo)
		return h2d_error(H2D_STATUS_INVALID_STATE, GROUP ": the runner has no tbo");
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_batch(const h2d_runner_t *runner, const h2d_batch_t *batch,
				h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = check_runner(runner);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check(runner, GROUP, batch, sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (sizes->running_requests < H2D_TBO_SUB_BATCHES)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 GROUP ": running_requests %u cannot be split",
				 sizes->running_requests);
	return H2D_STATUS_SUCCESS;
}

/* The padded batch in two halves; the real requests fill the first before the second. */
static void split(const h2d_runner_t *runner, const h2d_batch_t *batch,
		  const h2d_batch_sizes_t *sizes, share_t shares[])
{
	const uint32_t half = sizes->running_requests / 2;

	for (uint32_t i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		const uint32_t begin = i == 0 ? 0 : half;
		const uint32_t end = i == 0 ? half : sizes->running_requests;
		const uint32_t real_end = sizes->requests < end ? sizes->requests : end;

		shares[i] = (share_t){
			.options = &runner->options,
			.batch = batch,
			.half = &runner->slots[runner->slot].tbo.halves[i],
			.first = begin,
			.requests = real_end > begin ? real_end - begin : 0,
			.width = end - begin,
		};
	}
}

h2d_status_t h2d_tbo_prepare(h2d_runner_t *runner, h2d_stream_t *stream, const h2d_batch_t *batch,
			     h2d_tbo_step_t *step)
{
	share_t shares[H2D_TBO_SUB_BATCHES];
	int32_t longest[H2D_TBO_SUB_BATCHES];
	h2d_batch_sizes_t sizes;
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = check_batch(runner, batch, &sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	split(runner, batch, &sizes, shares);
	for (int i = 0; i < H2D_TBO_SUB_BATCHES && status == H2D_STATUS_SUCCESS; i++)
		status = h2d_group_check_writable(shares[i].half->group, stream);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check_published(runner, GROUP, batch, &sizes);
	for (int i = 0; i < H2D_TBO_SUB_BATCHES && status == H2D_STATUS_SUCCESS; i++)
		status = slice_tables(runner, &shares[i], stream);
	for (int i = 0; i < H2D_TBO_SUB_BATCHES && status == H2D_STATUS_SUCCESS; i++) {
		longest[i] = write_requests(&shares[i]);
		write_tokens(&shares[i]);
		status = publish(&shares[i], stream);
	}
	if (status != H2D_STATUS_SUCCESS || !step)
		return status;
	*step = view_of_slot(runner, runner->slot);
	for (int i = 0; i < H2D_TBO_SUB_BATCHES; i++) {
		step->sub_batches[i].first_request = shares[i].first;
		step->sub_batches[i].num_requests = shares[i].requests;
		step->sub_batches[i].running_requests = shares[i].width;
		step->sub_batches[i].max_context_length = longest[i];
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_slot(const h2d_runner_t *runner, uint32_t slot)
{
	h2d_status_t status = h2d_arguments_check_slot(GROUP, runner, slot);

	return status == H2D_STATUS_SUCCESS ? check_runner(runner) : status;
}

h2d_status_t h2d_tbo_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream, uint32_t slot,
					uint32_t sub_batch, uint32_t running_requests)
{
	h2d_status_t status = h2d_arguments_check_enqueue(__func__, runner, stream);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, slot);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (sub_batch >= H2D_TBO_SUB_BATCHES)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, GROUP ": sub_batch %u is not 0 or 1",
				 sub_batch);
	if (running_requests > max_half(runner))
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 GROUP ": running_requests %u is above half of max_requests %u",
				 running_requests, runner->options.max_requests);
	return h2d_kv_index_generation_enqueue(
		&runner->slots[slot].tbo.halves[sub_batch].kv_index_generation, stream,
		running_requests);
}

h2d_status_t h2d_tbo_view(const h2d_runner_t *runner, uint32_t slot, h2d_tbo_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = check_slot(runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		*step = view_of_slot(runner, slot);
	return status;
}

const h2d_published_table_t *h2d_tbo_block_tables(const h2d_runner_t *runner, uint32_t slot,
						  uint32_t sub_batch)
{
	if (slot >= runner->options.slots || sub_batch >= H2D_TBO_SUB_BATCHES)
		return NULL;
	return runner->slots[slot].tbo.halves[sub_batch].block_tables;
}
