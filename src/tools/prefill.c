/* SPDX-License-Identifier: MIT */
/* The prefill forwards of a replay: described, consumed, found again. */
#include "config.h"

#include "prefill.h"

#include <stdlib.h>

#include "speculation.h"
#include "verify_prefill.h"

struct prefill {
	struct prefill_settings settings;
	uint64_t stride; /* of the MRoPE planes */

	/* Of a forward. */
	int32_t *ids;	     /* [max_tokens] */
	float *temperatures; /* [max_requests] */
	float *top_ps;
	const int64_t **mrope_positions;
	uint64_t *mrope_strides;

	int64_t *mrope_planes; /* [3, stride], those of request 0 */
};

/* ---- making ---------------------------------------------------------------------------------- */

static bool allocate(struct prefill *prefill)
{
	const size_t requests = prefill->settings.max_requests;

	prefill->ids = calloc(prefill->settings.max_tokens, sizeof(*prefill->ids));
	prefill->temperatures = calloc(requests, sizeof(*prefill->temperatures));
	prefill->top_ps = calloc(requests, sizeof(*prefill->top_ps));
	prefill->mrope_positions = calloc(requests, sizeof(*prefill->mrope_positions));
	prefill->mrope_strides = calloc(requests, sizeof(*prefill->mrope_strides));
	prefill->mrope_planes =
		calloc(prefill->stride * H2D_MROPE_AXES, sizeof(*prefill->mrope_planes));
	return prefill->ids != NULL && prefill->temperatures != NULL && prefill->top_ps != NULL &&
	       prefill->mrope_positions != NULL && prefill->mrope_strides != NULL &&
	       prefill->mrope_planes != NULL;
}

struct prefill *prefill_create(const struct prefill_settings *settings)
{
	struct prefill *prefill = calloc(1, sizeof(*prefill));

	if (prefill == NULL)
		return NULL;
	prefill->settings = *settings;
	prefill->stride = settings->mrope ? settings->max_model_len + VERIFY_MROPE_SHIFTS : 1;
	if (!allocate(prefill)) {
		prefill_destroy(prefill);
		return NULL;
	}
	for (uint32_t axis = 0; axis < H2D_MROPE_AXES; axis++) {
		for (uint64_t place = 0; place < prefill->stride; place++)
			prefill->mrope_planes[axis * prefill->stride + place] =
				verify_mrope_prefill_position(0, axis, (int64_t)place);
	}
	return prefill;
}

void prefill_destroy(struct prefill *prefill)
{
	if (prefill == NULL)
		return;
	free(prefill->ids);
	free(prefill->temperatures);
	free(prefill->top_ps);
	free(prefill->mrope_positions);
	free(prefill->mrope_strides);
	free(prefill->mrope_planes);
	free(prefill);
}

/* ---- one forward ----------------------------------------------------------------------------- */

static void describe_tokens(struct prefill *prefill, const struct scheduler_batch *forward)
{
	int32_t *ids = prefill->ids;

	for (uint32_t i = 0; i < forward->num_requests; i++) {
		const uint64_t id = forward->request_ids[i];

		for (int32_t place = forward->cached_tokens[i]; place < forward->context_lengths[i];
		     place++)
			*ids++ = speculation_token(id, (uint64_t)place);
		prefill->temperatures[i] = speculation_temperature(id);
		prefill->top_ps[i] = speculation_top_p(id);
	}
}

static void describe_positions(struct prefill *prefill, const struct scheduler_batch *forward)
{
	for (uint32_t i = 0; i < forward->num_requests; i++) {
		const uint64_t id = forward->request_ids[i];

		prefill->mrope_positions[i] =
			verify_mrope_is_text(id) ? NULL
						 : prefill->mrope_planes + id % VERIFY_MROPE_SHIFTS;
		prefill->mrope_strides[i] = prefill->stride;
	}
}

void prefill_describe(struct prefill *prefill, const struct scheduler_batch *forward,
		      h2d_batch_t *batch, struct verify_tokens *tokens)
{
	*batch = (h2d_batch_t){
		.num_requests = forward->num_requests,
		.phase = H2D_PHASE_PREFILL,
		.request_ids = forward->request_ids,
		.context_lengths = forward->context_lengths,
		.cached_tokens = forward->cached_tokens,
		.tables = forward->tables,
	};
	if (prefill->settings.token_inputs) {
		describe_tokens(prefill, forward);
		batch->scheduled_token_ids = prefill->ids;
		batch->temperatures = prefill->temperatures;
		batch->top_ps = prefill->top_ps;
	}
	if (prefill->settings.mrope) {
		describe_positions(prefill, forward);
		batch->mrope_positions = prefill->mrope_positions;
		batch->mrope_strides = prefill->mrope_strides;
	}
	*tokens = (struct verify_tokens){
		.ids = prefill->ids,
		.temperatures = prefill->temperatures,
		.top_ps = prefill->top_ps,
	};
}

/* Attention preparation lists the pages of whole contexts; with ranks MLA's own list is made. */
static h2d_status_t list_pages(const struct attention_settings *settings, h2d_runner_t *runner,
			       h2d_stream_t *stream, const struct prefill_step *step,
			       uint64_t *dispatches)
{
	const h2d_prefill_inputs_step_t *inputs = &step->inputs;

	if (settings->dcp_size > 1) {
		if (step->mla.kv_indptr == NULL)
			return H2D_STATUS_SUCCESS;
		*dispatches = 1;
		return h2d_mla_decode_enqueue_kv_indices(runner, stream, inputs->slot,
							 inputs->running_requests);
	}
	if (inputs->block_tables == NULL)
		return H2D_STATUS_SUCCESS;
	*dispatches = 2; /* the page prefix, then the pages */
	return h2d_prefill_inputs_enqueue_kv_indices(runner, stream, inputs->slot,
						     inputs->running_requests);
}

h2d_status_t prefill_consume(const struct attention_settings *settings, h2d_runner_t *runner,
			     h2d_stream_t *stream, const struct prefill_step *step,
			     uint64_t *dispatches)
{
	h2d_status_t status;

	*dispatches = 0;
	status = list_pages(settings, runner, stream, step, dispatches);
	if (status != H2D_STATUS_SUCCESS || settings->qsa_ratio == 0)
		return status;
	++*dispatches;
	return h2d_qsa_enqueue_compressed_slots(runner, stream, step->inputs.slot,
						step->inputs.slot_mapping, step->inputs.num_tokens,
						settings->qsa_ratio);
}

static h2d_status_t find(const h2d_runner_t *runner, const char *name, const void **address)
{
	h2d_buffer_t *buffer;
	h2d_status_t status = h2d_runner_buffer(runner, name, &buffer);

	if (status == H2D_STATUS_SUCCESS)
		*address = h2d_buffer_device(buffer);
	return status;
}

h2d_status_t prefill_addresses(const struct attention_settings *settings,
			       const h2d_runner_t *runner, const struct prefill_step *step,
			       const void *addresses[VERIFY_ARRAYS])
{
	h2d_status_t status =
		find(runner, "num_cached_tokens", &addresses[VERIFY_NUM_CACHED_TOKENS]);

	if (status == H2D_STATUS_SUCCESS)
		status = find(runner, "seq_starts", &addresses[VERIFY_SEQ_STARTS]);
	if (status == H2D_STATUS_SUCCESS && settings->index_topk > 0)
		status = find(runner, "cu_seqlen_ks", &addresses[VERIFY_CU_SEQLEN_KS]);
	if (status == H2D_STATUS_SUCCESS && settings->index_topk > 0)
		status = find(runner, "cu_seqlen_ke", &addresses[VERIFY_CU_SEQLEN_KE]);
	addresses[VERIFY_CU_SEQLENS_K] = step->inputs.cu_seqlens_k;
	/* in no buffer: its address comes with the first step that has it, and stays */
	if (step->inputs.kv_indptr != NULL)
		addresses[VERIFY_PREFILL_KV_INDPTR] = step->inputs.kv_indptr;
	return status;
}
