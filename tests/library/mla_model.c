/* SPDX-License-Identifier: MIT */
/* Random decode batches, and what their steps must leave in device memory. */
#include "mla_model.h"

#include <stdio.h>

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

/* Requests [first, first + width) of the padded batch, and the prefix of their arrays' names. */
typedef struct part {
	step_world_t *world;
	const mla_case_t *mla_case;
	const char *prefix;
	uint32_t first;
	uint32_t width;
} part_t;

static bool is_real(const part_t *part, uint32_t request)
{
	return part->first + request < part->mla_case->batch.num_requests;
}

static void expect(const part_t *part, const char *name, const void *bytes, size_t size)
{
	char full_name[64];

	snprintf(full_name, sizeof(full_name), "%s%s", part->prefix, name);
	step_expect(part->world, full_name, bytes, size);
}

static void expect_requests(const part_t *part)
{
	const h2d_runner_options_t *options = options_of(part->world);
	const int32_t page_size = (int32_t)options->page_size;
	int32_t context_lens[MLA_MAX_REQUESTS] = {0};
	int32_t last_page_lens[MLA_MAX_REQUESTS] = {0};
	int32_t kv_indptr[MLA_MAX_REQUESTS + 1] = {0};
	int32_t g_kv_indptr[MLA_MAX_REQUESTS + 1] = {0};

	for (uint32_t i = 0; i < part->width; i++) {
		int32_t local = 0;

		if (is_real(part, i)) {
			context_lens[i] = context(part->mla_case, part->first + i);
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
	expect(part, "context_lens", context_lens, part->width * sizeof(int32_t));
	expect(part, "kv_indptr", kv_indptr, (part->width + 1) * sizeof(int32_t));
	if (options->attention == H2D_ATTENTION_MLA)
		expect(part, "kv_last_page_lens", last_page_lens, part->width * sizeof(int32_t));
	if (options->dcp_size > 1)
		expect(part, "g_kv_indptr", g_kv_indptr, (part->width + 1) * sizeof(int32_t));
}

/* What sub-batches have as well; the arrays of the whole batch alone follow below. */
static void expect_slots_and_selection(const part_t *part)
{
	const h2d_runner_options_t *options = options_of(part->world);
	const uint32_t width = options->query_length;
	const int32_t topk = (int32_t)options->index_topk;
	const uint32_t tokens = part->width * width;
	int64_t slot_mapping[MLA_MAX_TOKENS];
	int32_t sparse_kv_indptr[MLA_MAX_TOKENS + 1] = {0};

	ck_assert_uint_le(tokens, MLA_MAX_TOKENS);
	for (uint32_t t = 0; t < tokens; t++) {
		const uint32_t request = part->first + t / width;
		int32_t selected = 0;

		slot_mapping[t] = -1;
		if (is_real(part, t / width)) {
			const int32_t position =
				context(part->mla_case, request) - (int32_t)(width - t % width);

			if (!part->mla_case->batch.dummy)
				slot_mapping[t] =
					kv_slot(options, part->mla_case->ids[request], position);
			selected = position + 1 > topk ? topk : position + 1;
		}
		sparse_kv_indptr[t + 1] = sparse_kv_indptr[t] + selected;
	}
	expect(part, "slot_mapping", slot_mapping, tokens * sizeof(int64_t));
	if (topk > 0)
		expect(part, "sparse_kv_indptr", sparse_kv_indptr, (tokens + 1) * sizeof(int32_t));
}

static void expect_tokens(const part_t *part)
{
	const h2d_runner_options_t *options = options_of(part->world);
	const uint32_t width = options->query_length;
	const uint32_t tokens = part->width * width;
	int64_t positions[MLA_MAX_TOKENS] = {0};
	int32_t batch_ids[MLA_MAX_TOKENS];
	int32_t local_lens[MLA_MAX_TOKENS] = {0};

	for (uint32_t t = 0; t < tokens; t++) {
		batch_ids[t] = -1;
		if (!is_real(part, t / width))
			continue;
		positions[t] = context(part->mla_case, t / width) - (int32_t)(width - t % width);
		batch_ids[t] = (int32_t)(t / width);
		local_lens[t] = mla_local_length(options, (int32_t)positions[t] + 1);
	}
	if (!options->mrope)
		expect(part, "positions", positions, tokens * sizeof(int64_t));
	if (options->index_topk > 0)
		expect(part, "batch_id_per_q_token", batch_ids, tokens * sizeof(int32_t));
	if (options->index_topk > 0 && options->dcp_size > 1)
		expect(part, "dcp_local_context_lens", local_lens, tokens * sizeof(int32_t));
}

static void expect_tables(const part_t *part)
{
	const h2d_runner_options_t *options = options_of(part->world);
	const size_t columns = (options->max_model_length - 1) / options->block_size + 1;
	int32_t *table = calloc(part->width * columns + 1, sizeof(*table));

	ck_assert_ptr_nonnull(table);
	for (uint32_t i = 0; i < part->width; i++) {
		if (is_real(part, i))
			memcpy(table + i * columns, part->mla_case->ids[part->first + i],
			       part->mla_case->lengths[part->first + i] * sizeof(*table));
	}
	expect(part, "block_tables", table, part->width * columns * sizeof(*table));
	free(table);
}

void mla_expect_decode(step_world_t *world, const mla_case_t *mla_case, uint32_t running)
{
	const part_t whole = {world, mla_case, "", 0, running};

	expect_requests(&whole);
	expect_slots_and_selection(&whole);
	expect_tokens(&whole);
	expect_tables(&whole);
}

void mla_expect_sub_batch(step_world_t *world, const mla_case_t *mla_case, const char *prefix,
			  uint32_t first, uint32_t width)
{
	const part_t part = {world, mla_case, prefix, first, width};
	const int32_t query_length = (int32_t)options_of(world)->query_length;
	int32_t cu_seqlens_q[MLA_MAX_REQUESTS + 1] = {0};

	for (uint32_t i = 0; i < width; i++)
		cu_seqlens_q[i + 1] = cu_seqlens_q[i] + (is_real(&part, i) ? query_length : 0);
	expect(&part, "cu_seqlens_q", cu_seqlens_q, (width + 1) * sizeof(int32_t));
	expect_requests(&part);
	expect_slots_and_selection(&part);
	expect_tables(&part);
	mla_expect_kv_indices(world, mla_case, prefix, first, width);
}

void mla_expect_kv_indices(step_world_t *world, const mla_case_t *mla_case, const char *prefix,
			   uint32_t first, uint32_t width)
{
	const h2d_runner_options_t *options = options_of(world);
	const part_t part = {world, mla_case, prefix, first, width};
	const int32_t page_size = (int32_t)options->page_size;
	const int32_t ratio = (int32_t)(options->block_size / options->page_size);
	int32_t indices[MLA_MAX_REQUESTS * MLA_MAX_BLOCKS * 16];
	size_t count = 0;

	for (uint32_t i = first; i < first + width; i++) {
		const int32_t local = is_real(&part, i - first)
					      ? mla_local_length(options, context(mla_case, i))
					      : 0;

		for (int32_t page = 0; page * page_size < local; page++) {
			ck_assert_uint_lt(count, sizeof(indices) / sizeof(indices[0]));
			indices[count++] = mla_case->ids[i][page / ratio] * ratio + page % ratio;
		}
	}
	expect(&part, "kv_indices", indices, count * sizeof(*indices));
}
