/* SPDX-License-Identifier: MIT */
/* What all attention kinds read of a decode batch, and its validation. */
#include "step/decode_batch.h"

#include "error.h"
#include "step/runner.h"
#include "table/table_state.h"

int64_t h2d_decode_context(const h2d_batch_t *batch, uint32_t request)
{
	const bool decode = batch->phase == H2D_PHASE_DECODE;
	const int64_t rejected =
		decode && batch->rejected_tokens ? batch->rejected_tokens[request] : 0;

	return batch->context_lengths[request] - rejected;
}

static h2d_status_t check_context(const h2d_runner_t *runner, const char *group,
				  const h2d_batch_t *batch, uint32_t request)
{
	const h2d_runner_options_t *options = &runner->options;
	const int32_t rejected = batch->rejected_tokens ? batch->rejected_tokens[request] : 0;
	const int64_t context = h2d_decode_context(batch, request);

	if (rejected < 0)
		return h2d_batch_error(group, batch, request, "rejected_tokens %d is negative",
				       rejected);
	if (context < options->query_length || context > options->max_model_length)
		return h2d_batch_error(group, batch, request,
				       "context_lengths %d less rejected_tokens %d is %lld, not in "
				       "[query_length %u, max_model_length %u]",
				       batch->context_lengths[request], rejected,
				       (long long)context, options->query_length,
				       options->max_model_length);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_decode_check_contexts(const h2d_runner_t *runner, const char *group,
				       const h2d_batch_t *batch, h2d_batch_sizes_t *sizes)
{
	h2d_status_t status;

	if (batch->phase == H2D_PHASE_PREFILL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "%s: the batch is not a decode", group);
	status = h2d_batch_measure(runner, group, batch, sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (batch->num_requests > 0 && !batch->context_lengths)
		return h2d_batch_missing(group, batch, "context_lengths");
	for (uint32_t i = 0; i < batch->num_requests && status == H2D_STATUS_SUCCESS; i++)
		status = check_context(runner, group, batch, i);
	return status;
}

/* ---- block-table rows ------------------------------------------------------------------------ */

static const h2d_block_table_t *versioned_row(const h2d_batch_t *batch, uint32_t request)
{
	return batch->tables ? batch->tables[request] : NULL;
}

static uint32_t row_length(const h2d_batch_t *batch, uint32_t request)
{
	const h2d_block_table_t *table = versioned_row(batch, request);

	return table ? h2d_block_table_length(table) : batch->block_table_lengths[request];
}

const int32_t *h2d_decode_block_ids(const h2d_batch_t *batch, uint32_t request)
{
	const h2d_block_table_t *table = versioned_row(batch, request);

	return table ? h2d_block_table_ids(table) : batch->block_tables[request];
}

static h2d_status_t check_row(const h2d_runner_t *runner, const char *group,
			      const h2d_batch_t *batch, uint32_t request)
{
	const uint64_t context = (uint64_t)h2d_decode_context(batch, request);
	/* A block holds the tokens of all ranks at the same places of their caches. */
	const uint64_t block_tokens =
		(uint64_t)runner->options.block_size * runner->options.dcp_size;
	const uint64_t needed = (context + block_tokens - 1) / block_tokens;
	uint32_t length;

	if (!versioned_row(batch, request) && (!batch->block_tables || !batch->block_table_lengths))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %s is NULL for request %u, which has no table", group,
				 batch->block_tables ? "block_table_lengths" : "block_tables",
				 request);
	length = row_length(batch, request);
	if (length < needed)
		return h2d_batch_error(group, batch, request,
				       "block_table_lengths %u is below the %llu blocks of %llu "
				       "tokens",
				       length, (unsigned long long)needed,
				       (unsigned long long)context);
	if (length > runner->block_table_columns)
		return h2d_batch_error(group, batch, request,
				       "block_table_lengths %u is above the %u columns", length,
				       runner->block_table_columns);
	if (length > 0 && !h2d_decode_block_ids(batch, request))
		return h2d_batch_error(group, batch, request, "block_tables is NULL");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_decode_check_rows(const h2d_runner_t *runner, const char *group,
				   const h2d_batch_t *batch)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < batch->num_requests && status == H2D_STATUS_SUCCESS; i++)
		status = check_row(runner, group, batch, i);
	return status;
}

/* Slots and positions are those of full width: ragged ones would not be where cu_seqlens_q says. */
static h2d_status_t check_full_width(const h2d_runner_t *runner, const char *group,
				     const h2d_batch_t *batch)
{
	const uint32_t width = runner->options.query_length;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if ((uint32_t)h2d_batch_scheduled(runner, batch, i) != width)
			return h2d_batch_error(group, batch, i,
					       "scheduled_tokens %d is not query_length %u, which "
					       "this group decodes of each request",
					       h2d_batch_scheduled(runner, batch, i), width);
	}
	return H2D_STATUS_SUCCESS;
}

/* With several ranks the prefix sum of all tokens is published, not of this rank's pages alone. */
static h2d_status_t check_all_tokens(const h2d_runner_t *runner, const char *group,
				     const h2d_batch_t *batch)
{
	int64_t tokens = 0;

	if (runner->options.dcp_size == 1)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		tokens += h2d_decode_context(batch, i);
		if (tokens > INT32_MAX)
			return h2d_batch_error(group, batch, i,
					       "the contexts up to it are %lld tokens, more than "
					       "%d",
					       (long long)tokens, INT32_MAX);
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_decode_check(const h2d_runner_t *runner, const char *group,
			      const h2d_batch_t *batch, h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = h2d_decode_check_contexts(runner, group, batch, sizes);

	if (status == H2D_STATUS_SUCCESS)
		status = check_full_width(runner, group, batch);
	if (status == H2D_STATUS_SUCCESS)
		status = check_all_tokens(runner, group, batch);
	return status == H2D_STATUS_SUCCESS ? h2d_decode_check_rows(runner, group, batch) : status;
}

h2d_status_t h2d_decode_check_graph_requests(const h2d_runner_t *runner, const char *group,
					     uint32_t graph_requests)
{
	if (graph_requests > runner->options.max_requests)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: graph_requests %u is above max_requests %u", group,
				 graph_requests, runner->options.max_requests);
	return H2D_STATUS_SUCCESS;
}

/* Says which request an id belongs to that the block table has refused. */
static h2d_status_t explain_ids(const h2d_runner_t *runner, const char *group,
				const h2d_batch_t *batch, h2d_status_t refused)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int32_t *ids = h2d_decode_block_ids(batch, i);

		for (uint32_t j = 0; j < row_length(batch, i); j++) {
			/* A negative id is a large unsigned one. */
			if ((uint32_t)ids[j] >= runner->block_limit)
				return h2d_batch_error(group, batch, i,
						       "block_tables[%u] %d is not in [0, %u)", j,
						       ids[j], runner->block_limit);
		}
	}
	return refused;
}

static h2d_table_rows_t table_rows(const h2d_batch_t *batch)
{
	return (h2d_table_rows_t){
		.count = batch->num_requests,
		.tables = batch->tables,
		.ids = batch->block_tables,
		.lengths = batch->block_table_lengths,
	};
}

h2d_status_t h2d_decode_prepare_tables(const h2d_runner_t *runner, const char *group,
				       h2d_published_table_t *table, h2d_stream_t *stream,
				       const h2d_batch_t *batch, uint32_t running_requests)
{
	const h2d_table_rows_t rows = table_rows(batch);
	const h2d_table_options_t options = {
		.pad_to = running_requests,
		.page_limit = runner->block_limit,
	};
	h2d_status_t status = h2d_published_table_prepare(table, stream, &rows, &options);

	if (status == H2D_STATUS_OUT_OF_RANGE)
		return explain_ids(runner, group, batch, status);
	return status;
}

/* ---- the decode of the epoch ----------------------------------------------------------------- */

void h2d_decode_remember(h2d_runner_t *runner, const h2d_batch_t *batch,
			 const h2d_batch_sizes_t *sizes)
{
	h2d_runner_slot_t *slot = &runner->slots[runner->slot];

	slot->mha_decode.published = (h2d_published_decode_t){
		.epoch = h2d_owner_epoch(slot->owner),
		.requests = sizes->requests,
		.running_requests = sizes->running_requests,
		.dummy = batch->dummy,
	};
}

static h2d_status_t check_same_sizes(const h2d_published_decode_t *decode, const char *group,
				     const h2d_batch_t *batch, const h2d_batch_sizes_t *sizes)
{
	if (decode->requests != sizes->requests ||
	    decode->running_requests != sizes->running_requests)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %u requests padded to %u, in this epoch's decode %u to %u",
				 group, sizes->requests, sizes->running_requests, decode->requests,
				 decode->running_requests);
	if (decode->dummy != batch->dummy)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: dummy is %d, in this epoch's decode %d", group, batch->dummy,
				 decode->dummy);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_same_contexts(const h2d_mha_decode_t *mha_decode, const char *group,
					const h2d_batch_t *batch)
{
	const int32_t *contexts = h2d_buffer_host(mha_decode->members[H2D_MHA_DECODE_CONTEXT_LENS]);

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (contexts[i] != h2d_decode_context(batch, i))
			return h2d_batch_contradiction(group, batch, i,
						       "a context of %lld tokens, in this epoch's "
						       "decode %d",
						       (long long)h2d_decode_context(batch, i),
						       contexts[i]);
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_same_rows(const h2d_mha_decode_t *mha_decode, const char *group,
				    const h2d_batch_t *batch)
{
	const h2d_table_state_t *state = h2d_published_table_state(mha_decode->block_tables);
	const h2d_table_rows_t rows = table_rows(batch);
	const uint32_t request = h2d_table_state_find_difference(state, &rows);
	const int32_t *ids;
	const int32_t *decoded;
	uint32_t length;
	uint32_t column = 0;

	if (request == batch->num_requests)
		return H2D_STATUS_SUCCESS;
	ids = h2d_decode_block_ids(batch, request);
	decoded = h2d_table_state_row(state, request, &length);
	if (row_length(batch, request) != length)
		return h2d_batch_contradiction(group, batch, request,
					       "block_table_lengths %u, in this epoch's decode %u",
					       row_length(batch, request), length);
	while (ids[column] == decoded[column])
		column++;
	return h2d_batch_contradiction(group, batch, request,
				       "block_tables[%u] %d, in this epoch's decode %d", column,
				       ids[column], decoded[column]);
}

h2d_status_t h2d_decode_check_published(const h2d_runner_t *runner, const char *group,
					const h2d_batch_t *batch, const h2d_batch_sizes_t *sizes)
{
	const h2d_runner_slot_t *slot = &runner->slots[runner->slot];
	const h2d_mha_decode_t *mha_decode = &slot->mha_decode;
	h2d_status_t status;

	if (mha_decode->published.epoch != h2d_owner_epoch(slot->owner))
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "%s: slot %u has published no decode in this epoch: prepare the "
				 "decode first",
				 group, runner->slot);
	status = check_same_sizes(&mha_decode->published, group, batch, sizes);
	if (status == H2D_STATUS_SUCCESS)
		status = check_same_contexts(mha_decode, group, batch);
	return status == H2D_STATUS_SUCCESS ? check_same_rows(mha_decode, group, batch) : status;
}
