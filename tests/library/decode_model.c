/* SPDX-License-Identifier: MIT */
/* Random decode batches, and a model of what a slot's device memory must hold after their steps. */
#include "decode_model.h"

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	ck_assert_ptr_nonnull(memory);
	return memory;
}

uint32_t decode_columns(const h2d_runner_options_t *options)
{
	return 1 + (options->max_model_length - 1) / options->block_size;
}

/* ---- random batches -------------------------------------------------------------------------- */

static int32_t *random_block_table(uint64_t *state, const h2d_runner_options_t *options,
				   uint32_t length)
{
	int32_t *table = allocate(length, sizeof(*table));

	for (uint32_t i = 0; i < length; i++)
		table[i] = (int32_t)fixture_random_between(state, 0, options->num_pages - 1);
	return table;
}

static void random_request(uint64_t *state, const h2d_runner_options_t *options,
			   decode_case_t *decode_case, uint32_t request)
{
	const uint32_t columns = decode_columns(options);
	uint32_t context = (uint32_t)fixture_random_between(state, options->query_length,
							    options->max_model_length);
	uint32_t needed;
	uint32_t length;

	/* The edges: nothing but this step's tokens, and the longest context. */
	if (fixture_random_between(state, 0, 7) == 0)
		context = options->query_length;
	if (fixture_random_between(state, 0, 7) == 0)
		context = options->max_model_length;
	needed = 1 + (context - 1) / options->block_size;
	length = (uint32_t)fixture_random_between(state, needed, columns);
	decode_case->context_lengths[request] = (int32_t)context;
	decode_case->block_table_lengths[request] = length;
	decode_case->block_tables[request] = random_block_table(state, options, length);
	decode_case->request_ids[request] = fixture_random_between(state, 0, UINT64_MAX - 1);
	if (decode_case->batch.rejected_tokens) {
		int32_t rejected =
			(int32_t)fixture_random_between(state, 0, options->query_length - 1);

		decode_case->rejected_tokens[request] = rejected;
		decode_case->context_lengths[request] += rejected;
	}
}

decode_case_t decode_case_random(uint64_t *state, const h2d_runner_options_t *options,
				 uint32_t num_requests)
{
	decode_case_t decode_case = {
		.context_lengths = allocate(num_requests, sizeof(int32_t)),
		.rejected_tokens = allocate(num_requests, sizeof(int32_t)),
		.block_tables = allocate(num_requests, sizeof(int32_t *)),
		.block_table_lengths = allocate(num_requests, sizeof(uint32_t)),
		.request_ids = allocate(num_requests, sizeof(uint64_t)),
		.num_requests = num_requests,
	};

	decode_case.batch = (h2d_batch_t){
		.num_requests = num_requests,
		.context_lengths = decode_case.context_lengths,
		.rejected_tokens =
			fixture_random_between(state, 0, 1) ? decode_case.rejected_tokens : NULL,
		.block_tables = (const int32_t *const *)decode_case.block_tables,
		.block_table_lengths = decode_case.block_table_lengths,
		.request_ids = decode_case.request_ids,
	};
	for (uint32_t i = 0; i < num_requests; i++)
		random_request(state, options, &decode_case, i);
	return decode_case;
}

void decode_case_free(decode_case_t *decode_case)
{
	for (uint32_t i = 0; i < decode_case->num_requests; i++)
		free(decode_case->block_tables[i]);
	free(decode_case->context_lengths);
	free(decode_case->rejected_tokens);
	free(decode_case->block_tables);
	free(decode_case->block_table_lengths);
	free(decode_case->request_ids);
}

/* ---- images ---------------------------------------------------------------------------------- */

static int32_t context_of(const h2d_batch_t *batch, uint32_t request)
{
	if (request >= batch->num_requests)
		return 0;
	return batch->context_lengths[request] -
	       (batch->rejected_tokens ? batch->rejected_tokens[request] : 0);
}

static void expect_tokens(step_world_t *world, const h2d_batch_t *batch, uint32_t graph_requests)
{
	const int64_t query_length = world->runner->options.query_length;
	const int64_t block_size = world->runner->options.block_size;
	int64_t *slot_mapping = step_image(world, "slot_mapping");
	int64_t *positions = step_image(world, "positions");

	for (int64_t token = 0; token < graph_requests * query_length; token++) {
		const uint32_t request = (uint32_t)(token / query_length);
		const int64_t position =
			context_of(batch, request) - query_length + token % query_length;

		slot_mapping[token] = -1;
		positions[token] = 0;
		if (request >= batch->num_requests)
			continue;
		positions[token] = position;
		if (!batch->dummy)
			slot_mapping[token] =
				batch->block_tables[request][position / block_size] * block_size +
				position % block_size;
	}
}

static void expect_block_tables(step_world_t *world, const h2d_batch_t *batch,
				uint32_t graph_requests)
{
	const uint32_t columns = decode_columns(&world->runner->options);
	int32_t *block_tables = step_image(world, "block_tables");

	for (uint32_t request = 0; request < graph_requests; request++) {
		const uint32_t length =
			request < batch->num_requests ? batch->block_table_lengths[request] : 0;

		for (uint32_t column = 0; column < columns; column++)
			*block_tables++ =
				column < length ? batch->block_tables[request][column] : 0;
	}
}

void decode_expect(step_world_t *world, const h2d_batch_t *batch, uint32_t graph_requests)
{
	const int32_t page_size = (int32_t)world->runner->options.page_size;
	int32_t *context_lens = step_image(world, "context_lens");
	int32_t *kv_indptr = step_image(world, "kv_indptr");

	expect_tokens(world, batch, graph_requests);
	expect_block_tables(world, batch, graph_requests);
	kv_indptr[0] = 0;
	for (uint32_t request = 0; request < graph_requests; request++) {
		const int32_t context = context_of(batch, request);

		context_lens[request] = context;
		kv_indptr[request + 1] =
			kv_indptr[request] + context / page_size + (context % page_size != 0);
	}
}

/* Page n of a request starts at token n * page_size, which lies in a known block. */
void decode_expect_kv_indices(step_world_t *world, uint32_t graph_requests)
{
	const int64_t page_size = world->runner->options.page_size;
	const int64_t block_size = world->runner->options.block_size;
	const int32_t *kv_indptr = step_image(world, "kv_indptr");
	const int32_t *block_tables = step_image(world, "block_tables");
	int32_t *kv_indices = step_image(world, "kv_indices");

	for (uint32_t request = 0; request < graph_requests; request++) {
		const int32_t *table =
			block_tables + (size_t)request * decode_columns(&world->runner->options);

		for (int64_t page = 0; page < kv_indptr[request + 1] - kv_indptr[request]; page++) {
			const int64_t token = page * page_size;
			const int64_t first_page_of_block =
				table[token / block_size] * (block_size / page_size);

			kv_indices[kv_indptr[request] + page] =
				(int32_t)(first_page_of_block + token % block_size / page_size);
		}
	}
}
