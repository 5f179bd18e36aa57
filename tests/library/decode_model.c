/* SPDX-License-Identifier: MIT */
/* Random decode batches, and a model of what a slot's device memory must hold after their steps. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode_model.h"
#include "fixture.h"

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	ck_assert_ptr_nonnull(memory);
	return memory;
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
	const uint32_t columns = 1 + (options->max_model_length - 1) / options->block_size;
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

decode_image_t decode_image_create(const h2d_runner_options_t *options)
{
	const size_t requests = options->max_requests;
	const size_t tokens = requests * options->query_length;
	decode_image_t image = {
		.options = *options,
		.columns = 1 + (options->max_model_length - 1) / options->block_size,
	};
	const size_t pages = 1 + (options->max_model_length - 1) / options->page_size;

	image.sizes[DECODE_SLOT_MAPPING] = tokens * sizeof(int64_t);
	image.sizes[DECODE_CONTEXT_LENS] = requests * sizeof(int32_t);
	image.sizes[DECODE_BLOCK_TABLES] = requests * image.columns * sizeof(int32_t);
	image.sizes[DECODE_KV_INDPTR] = (requests + 1) * sizeof(int32_t);
	image.sizes[DECODE_POSITIONS] = tokens * sizeof(int64_t);
	image.sizes[DECODE_KV_INDICES] = requests * pages * sizeof(int32_t);
	for (int i = 0; i < DECODE_ARRAYS; i++) {
		uint8_t *bytes = allocate(image.sizes[i], 1);

		for (size_t j = 0; j < image.sizes[i]; j++)
			bytes[j] = (uint8_t)(0xa5 + 7 * i + j);
		image.arrays[i] = bytes;
	}
	return image;
}

void decode_image_free(decode_image_t *image)
{
	for (int i = 0; i < DECODE_ARRAYS; i++)
		free(image->arrays[i]);
}

static int32_t context_of(const h2d_batch_t *batch, uint32_t request)
{
	if (request >= batch->num_requests)
		return 0;
	return batch->context_lengths[request] -
	       (batch->rejected_tokens ? batch->rejected_tokens[request] : 0);
}

static void publish_tokens(decode_image_t *image, const h2d_batch_t *batch,
			   uint32_t graph_requests)
{
	const int64_t query_length = image->options.query_length;
	const int64_t block_size = image->options.block_size;
	int64_t *slot_mapping = image->arrays[DECODE_SLOT_MAPPING];
	int64_t *positions = image->arrays[DECODE_POSITIONS];

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

static void publish_block_tables(decode_image_t *image, const h2d_batch_t *batch,
				 uint32_t graph_requests)
{
	int32_t *block_tables = image->arrays[DECODE_BLOCK_TABLES];

	for (uint32_t request = 0; request < graph_requests; request++) {
		const uint32_t length =
		    request < batch->num_requests ? batch->block_table_lengths[request] : 0;

		for (uint32_t column = 0; column < image->columns; column++)
			*block_tables++ =
			    column < length ? batch->block_tables[request][column] : 0;
	}
}

void decode_image_publish(decode_image_t *image, const h2d_batch_t *batch,
			  uint32_t graph_requests)
{
	const int32_t page_size = (int32_t)image->options.page_size;
	int32_t *context_lens = image->arrays[DECODE_CONTEXT_LENS];
	int32_t *kv_indptr = image->arrays[DECODE_KV_INDPTR];

	publish_tokens(image, batch, graph_requests);
	publish_block_tables(image, batch, graph_requests);
	kv_indptr[0] = 0;
	for (uint32_t request = 0; request < graph_requests; request++) {
		const int32_t context = context_of(batch, request);

		context_lens[request] = context;
		kv_indptr[request + 1] =
		    kv_indptr[request] + context / page_size + (context % page_size != 0);
	}
}

/* Page n of a request starts at token n * page_size, which lies in a known block. */
void decode_image_generate_kv_indices(decode_image_t *image, uint32_t graph_requests)
{
	const int64_t page_size = image->options.page_size;
	const int64_t block_size = image->options.block_size;
	const int32_t *kv_indptr = image->arrays[DECODE_KV_INDPTR];
	const int32_t *block_tables = image->arrays[DECODE_BLOCK_TABLES];
	int32_t *kv_indices = image->arrays[DECODE_KV_INDICES];

	for (uint32_t request = 0; request < graph_requests; request++) {
		const int32_t *table = block_tables + (size_t)request * image->columns;

		for (int64_t page = 0; page < kv_indptr[request + 1] - kv_indptr[request]; page++) {
			const int64_t token = page * page_size;
			const int64_t first_page_of_block =
			    table[token / block_size] * (block_size / page_size);

			kv_indices[kv_indptr[request] + page] =
			    (int32_t)(first_page_of_block + token % block_size / page_size);
		}
	}
}

static void *device_array(const h2d_mha_decode_step_t *view, decode_array_t array)
{
	const void *const arrays[DECODE_ARRAYS] = {
		[DECODE_SLOT_MAPPING] = view->slot_mapping,
		[DECODE_CONTEXT_LENS] = view->context_lens,
		[DECODE_BLOCK_TABLES] = view->block_tables,
		[DECODE_KV_INDPTR] = view->kv_indptr,
		[DECODE_POSITIONS] = view->positions,
		[DECODE_KV_INDICES] = view->kv_indices,
	};

	return (void *)(uintptr_t)arrays[array];
}

void decode_image_upload(const decode_image_t *image, h2d_device_t *device,
			 const h2d_mha_decode_step_t *view)
{
	for (int i = 0; i < DECODE_ARRAYS; i++)
		check_success(h2d_device_write(device, device_array(view, i), image->arrays[i],
					       image->sizes[i], H2D_DEFAULT_TIMEOUT_NS));
}

void decode_image_check(const decode_image_t *image, h2d_device_t *device,
			const h2d_mha_decode_step_t *view, const char *what)
{
	static const char *const names[DECODE_ARRAYS] = {
	    "slot_mapping", "context_lens", "block_tables", "kv_indptr", "positions", "kv_indices"};
	char name[192];

	for (int i = 0; i < DECODE_ARRAYS; i++) {
		void *actual = allocate(image->sizes[i], 1);

		check_success(h2d_device_read(device, actual, device_array(view, i),
					      image->sizes[i], H2D_DEFAULT_TIMEOUT_NS));
		snprintf(name, sizeof(name), "%s, slot %u, %s", what, view->slot, names[i]);
		fixture_check_bytes(name, actual, image->arrays[i], image->sizes[i]);
		free(actual);
	}
}
