/* SPDX-License-Identifier: MIT */
/* Random MLA batches, and what their steps must leave in device memory. */
#include "mla_model.h"

static const h2d_runner_options_t *options_of(const step_world_t *world)
{
	return &world->runner->options;
}

static bool owns(const h2d_runner_options_t *options, int32_t position)
{
	const uint32_t ranks = options->dcp_size ? options->dcp_size : 1;
	const uint32_t interleave = options->dcp_interleave ? options->dcp_interleave : 1;

	return (uint32_t)position / interleave % ranks == options->dcp_rank;
}

int32_t mla_local_length(const h2d_runner_options_t *options, int32_t length)
{
	int32_t tokens = 0;

	for (int32_t position = 0; position < length; position++)
		tokens += owns(options, position);
	return tokens;
}

static void begin_case(mla_case_t *mla_case, uint32_t requests)
{
	ck_assert_uint_le(requests, MLA_MAX_REQUESTS);
	memset(mla_case, 0, sizeof(*mla_case));
	for (uint32_t i = 0; i < requests; i++)
		mla_case->rows[i] = mla_case->ids[i];
	mla_case->batch = (h2d_batch_t){
		.num_requests = requests,
		.context_lengths = mla_case->contexts,
		.rejected_tokens = mla_case->rejected,
		.block_tables = mla_case->rows,
		.block_table_lengths = mla_case->lengths,
	};
}

void mla_case_decode(mla_case_t *mla_case, const h2d_runner_options_t *options, uint32_t requests,
		     int32_t step)
{
	begin_case(mla_case, requests);
	for (uint32_t i = 0; i < requests; i++) {
		mla_case->contexts[i] = 17 + 3 * (int32_t)i + step;
		mla_case->lengths[i] = 1 + (uint32_t)mla_case->contexts[i] / options->block_size;
		for (uint32_t j = 0; j < mla_case->lengths[i]; j++)
			mla_case->ids[i][j] = (int32_t)(5 + 8 * i + j);
	}
}

void mla_case_random(mla_case_t *mla_case, uint64_t *state, const h2d_runner_options_t *options,
		     uint32_t requests)
{
	const uint32_t columns = (options->max_model_length - 1) / options->block_size + 1;

	begin_case(mla_case, requests);
	ck_assert_uint_le(columns, MLA_MAX_BLOCKS);
	for (uint32_t i = 0; i < requests; i++) {
		const uint32_t context = (uint32_t)fixture_random_between(
			state, options->query_length, options->max_model_length);
		const uint32_t ranks = options->dcp_size ? options->dcp_size : 1;
		const uint32_t least = (context - 1) / (options->block_size * ranks) + 1;

		mla_case->rejected[i] =
			(int32_t)fixture_random_between(state, 0, options->query_length - 1);
		mla_case->contexts[i] = (int32_t)context + mla_case->rejected[i];
		mla_case->lengths[i] = (uint32_t)fixture_random_between(state, least, columns);
		for (uint32_t j = 0; j < mla_case->lengths[i]; j++)
			mla_case->ids[i][j] =
				(int32_t)fixture_random_between(state, 0, options->num_pages - 1);
	}
}

void mla_world_add_kv_indices(step_world_t *world)
{
	const h2d_runner_options_t *options = options_of(world);
	const size_t pages = (options->max_model_length - 1) / options->page_size + 1;
	const void *device[STEP_MAX_SLOTS];

	for (uint32_t slot = 0; slot < options->slots; slot++) {
		h2d_mla_decode_step_t view;

		check_success(h2d_mla_decode_view(world->runner, slot, &view));
		device[slot] = view.kv_indices;
	}
	step_world_add(world, "kv_indices", device,
		       options->max_requests * pages * sizeof(int32_t));
}

static int32_t context(const mla_case_t *mla_case, uint32_t request)
{
	return mla_case->contexts[request] - mla_case->rejected[request];
}

/* Where the rank's cache holds a position: its own tokens lie one behind the other in the table. */
static int64_t kv_slot(const h2d_runner_options_t *options, const int32_t *ids, int32_t position)
{
	const int32_t local = mla_local_length(options, position);
	const int32_t block_size = (int32_t)options->block_size;

	if (!owns(options, position))
		return -1;
	return (int64_t)ids[local / block_size] * block_size + local % block_size;
}

static void expect_requests(step_world_t *world, const mla_case_t *mla_case, uint32_t running)
{
	const h2d_runner_options_t *options = options_of(world);
	const int32_t page_size = (int32_t)options->page_size;
	int32_t context_lens[MLA_MAX_REQUESTS] = {0};
	int32_t last_page_lens[MLA_MAX_REQUESTS] = {0};
	int32_t kv_indptr[MLA_MAX_REQUESTS + 1] = {0};
	int32_t g_kv_indptr[MLA_MAX_REQUESTS + 1] = {0};

	for (uint32_t i = 0; i < running; i++) {
		int32_t local = 0;

		if (i < mla_case->batch.num_requests) {
			context_lens[i] = context(mla_case, i);
			local = mla_local_length(options, context_lens[i]);
			last_page_lens[i] = local % page_size;
			if (local > 0 && last_page_lens[i] == 0)
				last_page_lens[i] = page_size;
			if (page_size == 1)
				last_page_lens[i] = 1;
		}
		kv_indptr[i + 1] = kv_indptr[i] + local / page_size + (local % page_size > 0);
		g_kv_indptr[i + 1] = g_kv_indptr[i] + context_lens[i];
	}
	step_expect(world, "context_lens", context_lens, running * sizeof(int32_t));
	step_expect(world, "kv_last_page_lens", last_page_lens, running * sizeof(int32_t));
	step_expect(world, "kv_indptr", kv_indptr, (running + 1) * sizeof(int32_t));
	if (options->dcp_size > 1)
		step_expect(world, "g_kv_indptr", g_kv_indptr, (running + 1) * sizeof(int32_t));
}

static void expect_tokens(step_world_t *world, const mla_case_t *mla_case, uint32_t running)
{
	const h2d_runner_options_t *options = options_of(world);
	const int32_t width = (int32_t)options->query_length;
	const int32_t topk = (int32_t)options->index_topk;
	const size_t tokens = (size_t)running * options->query_length;
	int64_t slot_mapping[MLA_MAX_TOKENS];
	int64_t positions[MLA_MAX_TOKENS] = {0};
	int32_t batch_ids[MLA_MAX_TOKENS];
	int32_t local_lens[MLA_MAX_TOKENS] = {0};
	int32_t sparse_kv_indptr[MLA_MAX_TOKENS + 1] = {0};

	ck_assert_uint_le(tokens, MLA_MAX_TOKENS);
	for (size_t t = 0; t < tokens; t++) {
		const uint32_t request = (uint32_t)(t / options->query_length);
		int32_t selected = 0;

		slot_mapping[t] = -1;
		batch_ids[t] = -1;
		if (request < mla_case->batch.num_requests) {
			positions[t] = context(mla_case, request) - width + (int32_t)t % width;
			batch_ids[t] = (int32_t)request;
			if (!mla_case->batch.dummy)
				slot_mapping[t] = kv_slot(options, mla_case->ids[request],
							  (int32_t)positions[t]);
			local_lens[t] = mla_local_length(options, (int32_t)positions[t] + 1);
			selected = positions[t] + 1 > topk ? topk : (int32_t)positions[t] + 1;
		}
		sparse_kv_indptr[t + 1] = sparse_kv_indptr[t] + selected;
	}
	step_expect(world, "slot_mapping", slot_mapping, tokens * sizeof(int64_t));
	if (!options->mrope)
		step_expect(world, "positions", positions, tokens * sizeof(int64_t));
	if (topk == 0)
		return;
	step_expect(world, "batch_id_per_q_token", batch_ids, tokens * sizeof(int32_t));
	step_expect(world, "sparse_kv_indptr", sparse_kv_indptr, (tokens + 1) * sizeof(int32_t));
	if (options->dcp_size > 1)
		step_expect(world, "dcp_local_context_lens", local_lens, tokens * sizeof(int32_t));
}

void mla_expect_decode(step_world_t *world, const mla_case_t *mla_case, uint32_t running)
{
	const h2d_runner_options_t *options = options_of(world);
	const size_t columns = (options->max_model_length - 1) / options->block_size + 1;
	int32_t *table = calloc(running * columns + 1, sizeof(*table));

	ck_assert_ptr_nonnull(table);
	expect_requests(world, mla_case, running);
	expect_tokens(world, mla_case, running);
	for (uint32_t i = 0; i < mla_case->batch.num_requests; i++)
		memcpy(table + i * columns, mla_case->ids[i],
		       mla_case->lengths[i] * sizeof(*table));
	step_expect(world, "block_tables", table, running * columns * sizeof(*table));
	free(table);
}

void mla_expect_kv_indices(step_world_t *world, const mla_case_t *mla_case)
{
	const h2d_runner_options_t *options = options_of(world);
	const int32_t page_size = (int32_t)options->page_size;
	const int32_t ratio = (int32_t)(options->block_size / options->page_size);
	int32_t indices[MLA_MAX_REQUESTS * MLA_MAX_BLOCKS * 16];
	size_t count = 0;

	for (uint32_t i = 0; i < mla_case->batch.num_requests; i++) {
		const int32_t local = mla_local_length(options, context(mla_case, i));

		for (int32_t page = 0; page * page_size < local; page++) {
			ck_assert_uint_lt(count, sizeof(indices) / sizeof(indices[0]));
			indices[count++] = mla_case->ids[i][page / ratio] * ratio + page % ratio;
		}
	}
	step_expect(world, "kv_indices", indices, count * sizeof(*indices));
}
