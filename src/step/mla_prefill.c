/* SPDX-License-Identifier: MIT */
/* MLA prefill metadata: the pages of cached contexts, and the prefixes of sparse attention. */
#include "error.h"
#include "step/arguments.h"
#include "step/batch.h"
#include "step/runner.h"

#define GROUP "mla_prefill"

/* What a batch is, from its lengths on the host. */
typedef struct prefill_shape {
	h2d_batch_sizes_t sizes;
	int32_t max_query_length;
	int32_t max_context_length;
	bool paged;
	bool sparse;
} prefill_shape_t;

static h2d_status_t measure(const h2d_runner_t *runner, const h2d_batch_t *batch,
			    prefill_shape_t *shape)
{
	int64_t all_tokens = 0;
	h2d_status_t status = h2d_mla_check_runner(runner);

	if (status == H2D_STATUS_SUCCESS && batch->phase != H2D_PHASE_PREFILL)
		status = h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				   "mla_prefill: the batch is not a prefill");
	*shape = (prefill_shape_t){.paged = runner->options.query_length > 1};
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_batch_measure(runner, GROUP, batch, &shape->sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int32_t context = batch->context_lengths[i];
		const int32_t scheduled = h2d_batch_scheduled(runner, batch, i);

		all_tokens += context;
		if (all_tokens > INT32_MAX)
			return h2d_batch_error(GROUP, batch, i,
					       "context_lengths up to it are more than %d tokens",
					       INT32_MAX);
		if (context > shape->max_context_length)
			shape->max_context_length = context;
		if (scheduled > shape->max_query_length)
			shape->max_query_length = scheduled;
		if (h2d_batch_cached(batch, i) > 0)
			shape->paged = true;
	}
	shape->sparse = h2d_mla_is_sparse(&runner->options, shape->max_context_length);
	return H2D_STATUS_SUCCESS;
}

/* A drafter's planner reads the last pages of the whole buffer. */
static void write_pages(const h2d_runner_t *runner, const h2d_mla_t *mla, const h2d_batch_t *batch,
			uint32_t running_requests)
{
	const h2d_runner_options_t *options = &runner->options;
	int32_t *last_page_lens = h2d_mla_host(mla, H2D_MLA_KV_LAST_PAGE_LENS);
	int32_t *kv_indptr = h2d_mla_host(mla, H2D_MLA_KV_INDPTR);

	kv_indptr[0] = 0;
	for (uint32_t i = 0; i < options->max_requests; i++) {
		const uint32_t context =
			i < batch->num_requests ? (uint32_t)batch->context_lengths[i] : 0;
		const uint32_t local = h2d_mla_local_length(options, context);

		last_page_lens[i] =
			local ? h2d_mla_last_page_length(options->block_size, local) : 0;
		if (i < running_requests)
			kv_indptr[i + 1] =
				kv_indptr[i] +
				(int32_t)((local + options->page_size - 1) / options->page_size);
	}
}

static void write_tokens(const h2d_runner_t *runner, const h2d_mla_t *mla, const h2d_batch_t *batch)
{
	const uint32_t topk = runner->options.index_topk;
	int32_t *ks = h2d_mla_host(mla, H2D_MLA_CU_SEQLEN_KS);
	int32_t *ke = h2d_mla_host(mla, H2D_MLA_CU_SEQLEN_KE);
	int32_t *batch_ids = h2d_mla_host(mla, H2D_MLA_BATCH_ID_PER_Q_TOKEN);
	int32_t *sparse_kv_indptr = h2d_mla_host(mla, H2D_MLA_SPARSE_KV_INDPTR);
	int32_t base = 0;
	int32_t selected = 0;
	uint32_t token = 0;

	sparse_kv_indptr[0] = 0;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const uint32_t context = (uint32_t)batch->context_lengths[i];

		for (uint32_t visible = (uint32_t)h2d_batch_cached(batch, i) + 1;
		     visible <= context; visible++) {
			ks[token] = base;
			ke[token] = base + (int32_t)visible;
			batch_ids[token] = (int32_t)i;
			selected += (int32_t)(visible < topk ? visible : topk);
			sparse_kv_indptr[++token] = selected;
		}
		base += (int32_t)context;
	}
}

static void set_counts(const h2d_runner_t *runner, const h2d_mla_t *mla,
		       const prefill_shape_t *shape)
{
	const int64_t tokens = shape->sizes.tokens;
	const int64_t requests = shape->sizes.running_requests;

	h2d_group_reset_counts(mla->prefill);
	if (shape->paged) {
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_KV_LAST_PAGE_LENS,
				  runner->options.max_requests);
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_KV_INDPTR, requests + 1);
	}
	if (shape->sparse) {
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_CU_SEQLEN_KS, tokens);
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_CU_SEQLEN_KE, tokens);
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_SPARSE_KV_INDPTR, tokens + 1);
		h2d_mla_set_count(mla, mla->prefill, H2D_MLA_BATCH_ID_PER_Q_TOKEN, tokens);
	}
}

static void describe(const h2d_runner_t *runner, const h2d_mla_t *mla, const prefill_shape_t *shape,
		     h2d_mla_prefill_step_t *step)
{
	*step = (h2d_mla_prefill_step_t){
		.num_requests = shape->sizes.requests,
		.running_requests = shape->sizes.running_requests,
		.tokens = shape->sizes.tokens,
		.slot = runner->slot,
		.max_query_length = shape->max_query_length,
		.max_context_length = shape->max_context_length,
	};
	if (shape->paged) {
		step->kv_last_page_lens = h2d_mla_device(mla, H2D_MLA_KV_LAST_PAGE_LENS);
		step->kv_indptr = h2d_mla_device(mla, H2D_MLA_KV_INDPTR);
	}
	if (shape->sparse) {
		step->cu_seqlen_ks = h2d_mla_device(mla, H2D_MLA_CU_SEQLEN_KS);
		step->cu_seqlen_ke = h2d_mla_device(mla, H2D_MLA_CU_SEQLEN_KE);
		step->sparse_kv_indptr = h2d_mla_device(mla, H2D_MLA_SPARSE_KV_INDPTR);
		step->batch_id_per_q_token = h2d_mla_device(mla, H2D_MLA_BATCH_ID_PER_Q_TOKEN);
	}
}

h2d_status_t h2d_mla_prefill_prepare(h2d_runner_t *runner, h2d_stream_t *stream,
				     const h2d_batch_t *batch, h2d_mla_prefill_step_t *step)
{
	prefill_shape_t shape;
	const h2d_mla_t *mla;
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = measure(runner, batch, &shape);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	mla = &runner->slots[runner->slot].mla;
	status = h2d_group_check_writable(mla->prefill, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (shape.paged)
		write_pages(runner, mla, batch, shape.sizes.running_requests);
	if (shape.sparse)
		write_tokens(runner, mla, batch);
	set_counts(runner, mla, &shape);
	status = h2d_group_publish(mla->prefill, stream, NULL, NULL);
	if (status == H2D_STATUS_SUCCESS && step)
		describe(runner, mla, &shape, step);
	return status;
}
