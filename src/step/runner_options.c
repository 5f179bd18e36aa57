/* SPDX-License-Identifier: MIT */
/* Checking a runner's options and working out what follows from them. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "step/runner_options.h"

/* Token counts, block ids and page prefixes are int32 on the device. */
#define INT32_COUNT (UINT64_C(1) << 31)

static uint64_t divide_up(uint64_t dividend, uint64_t divisor)
{
	return (dividend + divisor - 1) / divisor;
}

static h2d_status_t check_count(const char *name, uint32_t value)
{
	if (value < 1 || value > INT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "runner option %s: %u is not in [1, %d]",
				 name, value, INT32_MAX);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_counts(const h2d_runner_options_t *options)
{
	const struct {
		const char *name;
		uint32_t value;
	} counts[] = {
		{"slots", options->slots},
		{"max_requests", options->max_requests},
		{"query_length", options->query_length},
		{"block_size", options->block_size},
		{"max_model_length", options->max_model_length},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		h2d_status_t status = check_count(counts[i].name, counts[i].value);

		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	if (options->query_length > options->max_model_length)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option query_length: %u is above max_model_length %u",
				 options->query_length, options->max_model_length);
	if ((uint64_t)options->max_requests * options->query_length > INT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option query_length: %u for each of max_requests %u is "
				 "more than %d tokens",
				 options->query_length, options->max_requests, INT32_MAX);
	return H2D_STATUS_SUCCESS;
}

/* A full decode step must fit. input_ids has one element more, so max_tokens + 1 fits as well. */
static h2d_status_t set_max_tokens(h2d_runner_t *runner, const h2d_runner_options_t *options)
{
	const uint32_t least = options->max_requests * options->query_length;

	runner->options.max_tokens = options->max_tokens ? options->max_tokens : least;
	if (runner->options.max_tokens < least || runner->options.max_tokens >= INT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option max_tokens: %u is not in [%u, %d): max_requests * "
				 "query_length is the least",
				 runner->options.max_tokens, least, INT32_MAX);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t set_page_sizes(h2d_runner_t *runner, const h2d_runner_options_t *options)
{
	const uint32_t page_size = options->page_size ? options->page_size : options->block_size;
	uint64_t max_blocks;

	if (options->block_size % page_size != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner option page_size: %u does not divide block_size %u",
				 page_size, options->block_size);
	runner->options.page_size = page_size;
	runner->pages_per_block = options->block_size / page_size;
	runner->pages_per_request = (uint32_t)divide_up(options->max_model_length, page_size);
	runner->block_table_columns =
		(uint32_t)divide_up(options->max_model_length, options->block_size);
	if ((uint64_t)options->max_requests * runner->pages_per_request > INT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option max_model_length: %u is %u pages for each of "
				 "max_requests %u, more than %d pages",
				 options->max_model_length, runner->pages_per_request,
				 options->max_requests, INT32_MAX);

	max_blocks = INT32_COUNT / runner->pages_per_block;
	if (options->num_pages > max_blocks)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option num_pages: %u blocks of %u physical pages do not "
				 "fit into int32 page ids (at most %llu)",
				 options->num_pages, runner->pages_per_block,
				 (unsigned long long)max_blocks);
	runner->block_limit = options->num_pages ? options->num_pages : (uint32_t)max_blocks;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_groups(const h2d_runner_options_t *options)
{
	if (options->num_groups > 0 && !options->groups)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner option groups: NULL for %u groups", options->num_groups);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t set_attention(h2d_runner_t *runner, const h2d_runner_options_t *options)
{
	const uint32_t ranks = options->dcp_size ? options->dcp_size : 1;
	const uint32_t interleave = options->dcp_interleave ? options->dcp_interleave : 1;
	const bool mla = options->attention == H2D_ATTENTION_MLA;

	if (!mla && options->attention != H2D_ATTENTION_MHA)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "runner option attention: %d is unknown",
				 (int)options->attention);
	if (!mla && (ranks > 1 || options->index_topk > 0))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "runner option %s: %u without MLA",
				 ranks > 1 ? "dcp_size" : "index_topk",
				 ranks > 1 ? ranks : options->index_topk);
	if (options->dcp_rank >= ranks)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option dcp_rank: %u is not below dcp_size %u",
				 options->dcp_rank, ranks);
	if (options->block_size % interleave != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner option dcp_interleave: %u does not divide block_size %u",
				 interleave, options->block_size);
	if (options->index_topk > INT32_MAX ||
	    (uint64_t)options->index_topk * runner->options.max_tokens > INT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "runner option index_topk: %u for each of max_tokens %u is more "
				 "than %d entries",
				 options->index_topk, runner->options.max_tokens, INT32_MAX);
	if (options->tbo && options->max_requests < 2)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner option tbo: max_requests %u cannot be split",
				 options->max_requests);
	runner->options.dcp_size = ranks;
	runner->options.dcp_interleave = interleave;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_captured_batch_sizes(const h2d_runner_options_t *options)
{
	const uint32_t *sizes = options->captured_batch_sizes;
	uint32_t previous = 0;

	if (options->num_captured_batch_sizes > 0 && !sizes)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner option captured_batch_sizes: NULL for %u sizes",
				 options->num_captured_batch_sizes);
	for (uint32_t i = 0; i < options->num_captured_batch_sizes; i++) {
		if (sizes[i] <= previous)
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "runner option captured_batch_sizes[%u]: %u is not above "
					 "%u",
					 i, sizes[i], previous);
		if (sizes[i] > options->max_requests)
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "runner option captured_batch_sizes[%u]: %u is above "
					 "max_requests %u",
					 i, sizes[i], options->max_requests);
		previous = sizes[i];
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t copy_captured_batch_sizes(h2d_runner_t *runner,
					      const h2d_runner_options_t *options)
{
	const size_t size = options->num_captured_batch_sizes * sizeof(uint32_t);

	if (size == 0)
		return H2D_STATUS_SUCCESS;
	runner->captured_batch_sizes = malloc(size);
	if (!runner->captured_batch_sizes)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "runner: no memory for %u captured batch sizes",
				 options->num_captured_batch_sizes);
	memcpy(runner->captured_batch_sizes, options->captured_batch_sizes, size);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_runner_set_options(h2d_runner_t *runner, const h2d_runner_options_t *options)
{
	h2d_status_t status;

	runner->options = *options;
	status = check_counts(options);
	if (status == H2D_STATUS_SUCCESS)
		status = set_max_tokens(runner, options);
	if (status == H2D_STATUS_SUCCESS)
		status = set_page_sizes(runner, options);
	if (status == H2D_STATUS_SUCCESS)
		status = set_attention(runner, options);
	if (status == H2D_STATUS_SUCCESS)
		status = check_groups(options);
	if (status == H2D_STATUS_SUCCESS)
		status = check_captured_batch_sizes(options);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_backend_from_name(options->backend, &runner->backend);
	if (status == H2D_STATUS_SUCCESS)
		status = copy_captured_batch_sizes(runner, options);
	runner->options.captured_batch_sizes = runner->captured_batch_sizes;
	return status;
}
