/* SPDX-License-Identifier: MIT */
/* The mha_decode group: what paged attention reads in one decode step, padded for its graph. */
#include <string.h>

#include "error.h"
#include "step/arguments.h"
#include "step/decode_batch.h"
#include "step/mha_decode.h"
#include "step/runner.h"

#define GROUP "mha_decode"

/* The sizes of one step. All were checked against the runner's, so products fit. */
typedef struct step_sizes {
	uint32_t requests;
	uint32_t graph_requests;
	uint32_t query_length;
	uint32_t block_size;
	uint32_t page_size;
	bool mrope; /* publishes the positions instead */
} step_sizes_t;

h2d_status_t h2d_mha_decode_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
				   h2d_mha_decode_t *mha_decode)
{
	const uint64_t requests = runner->options.max_requests;
	/* All but kv_indptr are those of prefill_inputs. */
	const h2d_member_declaration_t members[H2D_MHA_DECODE_MEMBERS] = {
		[H2D_MHA_DECODE_SLOT_MAPPING] = {.name = "slot_mapping"},
		[H2D_MHA_DECODE_CONTEXT_LENS] = {.name = "context_lens"},
		[H2D_MHA_DECODE_BLOCK_TABLES] = {.name = "block_tables"},
		[H2D_MHA_DECODE_KV_INDPTR] = {.name = "kv_indptr",
					      .element_size = sizeof(int32_t),
					      .rows = requests + 1},
		[H2D_MHA_DECODE_POSITIONS] = {.name = "positions"},
	};
	const h2d_group_declaration_t declaration = {
		.name = GROUP,
		.members = members,
		.num_members = H2D_MHA_DECODE_MEMBERS,
	};
	h2d_kv_index_generation_description_t generation;
	h2d_buffer_t **buffers = mha_decode->members;
	h2d_status_t status = h2d_slot_declare_members(slot, &declaration, buffers);

	/* MLA shares the buffers, not the group. */
	if (status == H2D_STATUS_SUCCESS && runner->options.attention == H2D_ATTENTION_MHA)
		status = h2d_slot_add_group(slot, GROUP, buffers, H2D_MHA_DECODE_MEMBERS,
					    &mha_decode->group);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = h2d_published_table_create(buffers[H2D_MHA_DECODE_BLOCK_TABLES],
					    &mha_decode->block_tables);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	generation = (h2d_kv_index_generation_description_t){
		.max_requests = runner->options.max_requests,
		.kv_indptr = h2d_buffer_device(buffers[H2D_MHA_DECODE_KV_INDPTR]),
		.block_tables = h2d_buffer_device(buffers[H2D_MHA_DECODE_BLOCK_TABLES]),
		.inputs = {buffers[H2D_MHA_DECODE_KV_INDPTR], buffers[H2D_MHA_DECODE_BLOCK_TABLES]},
	};
	return h2d_kv_index_generation_create(runner, &generation,
					      &mha_decode->kv_index_generation);
}

void h2d_mha_decode_destroy(h2d_mha_decode_t *mha_decode)
{
	h2d_kv_index_generation_destroy(&mha_decode->kv_index_generation);
	h2d_published_table_destroy(mha_decode->block_tables);
	mha_decode->block_tables = NULL;
}

/* ---- the sources ----------------------------------------------------------------------------- */

/* Token j of a request is at position context - query_length + j; its slot is in that block. */
static void write_slot_mapping(const step_sizes_t *sizes, const h2d_batch_t *batch,
			       int64_t *slot_mapping)
{
	const size_t tokens = (size_t)sizes->graph_requests * sizes->query_length;

	for (size_t i = 0; i < tokens; i++)
		slot_mapping[i] = -1;
	if (batch->dummy)
		return;
	for (uint32_t i = 0; i < sizes->requests; i++) {
		const int32_t *table = h2d_decode_block_ids(batch, i);
		const uint32_t start = (uint32_t)h2d_decode_context(batch, i) - sizes->query_length;
		uint32_t block = start / sizes->block_size;
		uint32_t offset = start % sizes->block_size;

		for (uint32_t j = 0; j < sizes->query_length; j++) {
			*slot_mapping++ = (int64_t)table[block] * sizes->block_size + offset;
			if (++offset == sizes->block_size) {
				offset = 0;
				block++;
			}
		}
	}
}

/* Returns the longest context, 0 for none. */
static int32_t write_context_lens(const step_sizes_t *sizes, const h2d_batch_t *batch,
				  int32_t *context_lens)
{
	int32_t longest = 0;

	for (uint32_t i = 0; i < sizes->requests; i++) {
		context_lens[i] = (int32_t)h2d_decode_context(batch, i);
		if (context_lens[i] > longest)
			longest = context_lens[i];
	}
	for (uint32_t i = sizes->requests; i < sizes->graph_requests; i++)
		context_lens[i] = 0;
	return longest;
}

static void write_kv_indptr(const step_sizes_t *sizes, const int32_t *context_lens,
			    int32_t *kv_indptr)
{
	uint32_t pages = 0;

	kv_indptr[0] = 0;
	for (uint32_t i = 0; i < sizes->graph_requests; i++) {
		/* A padding request has no context, so its prefix stays flat. */
		pages += ((uint32_t)context_lens[i] + sizes->page_size - 1) / sizes->page_size;
		kv_indptr[i + 1] = (int32_t)pages;
	}
}

static void write_positions(const step_sizes_t *sizes, const int32_t *context_lens,
			    int64_t *positions)
{
	for (uint32_t i = 0; i < sizes->requests; i++) {
		int64_t position = context_lens[i] - (int64_t)sizes->query_length;

		for (uint32_t j = 0; j < sizes->query_length; j++)
			*positions++ = position++;
	}
	memset(positions, 0,
	       (size_t)(sizes->graph_requests - sizes->requests) * sizes->query_length *
		   sizeof(*positions));
}

static int32_t write_sources(h2d_mha_decode_t *mha_decode, const step_sizes_t *sizes,
			     const h2d_batch_t *batch)
{
	h2d_buffer_t *const *members = mha_decode->members;
	int32_t *context_lens = h2d_buffer_host(members[H2D_MHA_DECODE_CONTEXT_LENS]);
	int32_t longest = write_context_lens(sizes, batch, context_lens);

	write_slot_mapping(sizes, batch, h2d_buffer_host(members[H2D_MHA_DECODE_SLOT_MAPPING]));
	write_kv_indptr(sizes, context_lens, h2d_buffer_host(members[H2D_MHA_DECODE_KV_INDPTR]));
	if (!sizes->mrope)
		write_positions(sizes, context_lens,
				h2d_buffer_host(members[H2D_MHA_DECODE_POSITIONS]));
	return longest;
}

/* The block table goes with the others unless the device has it already. */
static h2d_status_t publish_sources(h2d_mha_decode_t *mha_decode, h2d_stream_t *stream,
				    const step_sizes_t *sizes)
{
	const int64_t requests = sizes->graph_requests;
	const int64_t tokens = requests * sizes->query_length;
	const struct {
		h2d_mha_decode_member_t member;
		int64_t count;
	} counts[] = {
		{H2D_MHA_DECODE_SLOT_MAPPING, tokens},
		{H2D_MHA_DECODE_CONTEXT_LENS, requests},
		{H2D_MHA_DECODE_KV_INDPTR, requests + 1},
		{H2D_MHA_DECODE_POSITIONS, sizes->mrope ? H2D_COUNT_OMITTED : tokens},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		h2d_status_t status = h2d_group_set_count(mha_decode->group,
							  mha_decode->members[counts[i].member],
							  counts[i].count);

		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return h2d_published_table_publish(mha_decode->block_tables, stream, sizes->graph_requests,
					   mha_decode->group, NULL, NULL);
}

/* ---- the step -------------------------------------------------------------------------------- */

static h2d_mha_decode_step_t view_of_slot(const h2d_runner_t *runner, uint32_t slot)
{
	const h2d_mha_decode_t *mha_decode = &runner->slots[slot].mha_decode;
	h2d_buffer_t *const *members = mha_decode->members;

	return (h2d_mha_decode_step_t){
		.slot = slot,
		.slot_mapping = h2d_buffer_device(members[H2D_MHA_DECODE_SLOT_MAPPING]),
		.context_lens = h2d_buffer_device(members[H2D_MHA_DECODE_CONTEXT_LENS]),
		.block_tables = h2d_buffer_device(members[H2D_MHA_DECODE_BLOCK_TABLES]),
		.kv_indptr = h2d_buffer_device(members[H2D_MHA_DECODE_KV_INDPTR]),
		.positions = runner->options.mrope
				     ? NULL
				     : h2d_buffer_device(members[H2D_MHA_DECODE_POSITIONS]),
		.kv_indices = mha_decode->kv_index_generation.kv_indices,
		.block_table_columns = runner->block_table_columns,
	};
}

h2d_status_t h2d_mha_decode_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				    const h2d_batch_t *batch, h2d_mha_decode_step_t *step)
{
	h2d_mha_decode_t *mha_decode;
	h2d_batch_sizes_t batch_sizes;
	step_sizes_t sizes;
	int32_t longest;
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (runner->options.attention != H2D_ATTENTION_MHA)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "mha_decode: the runner's attention is not MHA");
	status = h2d_decode_check(runner, GROUP, batch, &batch_sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	mha_decode = &runner->slots[runner->slot].mha_decode;
	status = h2d_group_check_writable(mha_decode->group, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;

	sizes = (step_sizes_t){
		.requests = batch->num_requests,
		.graph_requests = batch_sizes.running_requests,
		.query_length = runner->options.query_length,
		.block_size = runner->options.block_size,
		.page_size = runner->options.page_size,
		.mrope = runner->options.mrope,
	};
	status = h2d_decode_prepare_tables(runner, GROUP, mha_decode->block_tables, stream, batch,
					   sizes.graph_requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	longest = write_sources(mha_decode, &sizes, batch);
	status = publish_sources(mha_decode, stream, &sizes);
	if (status == H2D_STATUS_SUCCESS)
		h2d_decode_remember(runner, batch, &batch_sizes);
	if (status != H2D_STATUS_SUCCESS || !step)
		return status;

	*step = view_of_slot(runner, runner->slot);
	step->num_requests = sizes.requests;
	step->graph_requests = sizes.graph_requests;
	step->max_context_length = longest;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_mha_decode_enqueue_kv_indices(h2d_runner_t *runner, h2d_stream_t *stream,
					       uint32_t slot, uint32_t graph_requests)
{
	h2d_status_t status = h2d_arguments_check_enqueue(__func__, runner, stream);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_arguments_check_slot(GROUP, runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_decode_check_graph_requests(runner, GROUP, graph_requests);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_kv_index_generation_enqueue(&runner->slots[slot].mha_decode.kv_index_generation,
					       stream, graph_requests);
}

h2d_status_t h2d_mha_decode_view(const h2d_runner_t *runner, uint32_t slot,
				 h2d_mha_decode_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_arguments_check_slot(GROUP, runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		*step = view_of_slot(runner, slot);
	return status;
}

const h2d_published_table_t *h2d_mha_decode_block_tables(const h2d_runner_t *runner, uint32_t slot)
{
	return slot < runner->options.slots ? runner->slots[slot].mha_decode.block_tables : NULL;
}
