/* SPDX-License-Identifier: MIT */
/* One prefill forward on the GPU side. */
#include "config.h"

#include "progress.h"
#include "replay_gpu_state.h"
#include "verify_prefill.h"

/* What is beside the token inputs and the attention's, as for decodes. */
static h2d_status_t publish_beside(struct replay_gpu *gpu, const h2d_batch_t *batch,
				   h2d_publication_totals_t *before)
{
	const struct attention_settings *attention = &gpu->settings.attention;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (attention->mrope) {
		status = h2d_mrope_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_PREFILL_MROPE, before);
	}
	if (status == H2D_STATUS_SUCCESS && attention->qsa_ratio > 0) {
		status = h2d_qsa_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_PREFILL_QSA, before);
		if (status == H2D_STATUS_SUCCESS)
			status = h2d_ple_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_PREFILL_PLE, before);
	}
	return status;
}

static h2d_status_t publish(struct replay_gpu *gpu, const h2d_batch_t *batch,
			    struct prefill_step *step)
{
	h2d_publication_totals_t before;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	h2d_owner_get_totals(h2d_runner_owner(gpu->runner, h2d_runner_slot(gpu->runner)), &before);
	if (gpu->speculation != NULL) {
		status = h2d_token_inputs_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_PREFILL_TOKEN_INPUTS, &before);
	}
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_prefill_inputs_prepare(gpu->runner, gpu->stream, batch, &step->inputs);
	replay_gpu_count_group(gpu, REPLAY_PREFILL_INPUTS, &before);
	if (status == H2D_STATUS_SUCCESS && gpu->settings.attention.mla) {
		status = h2d_mla_prefill_prepare(gpu->runner, gpu->stream, batch, &step->mla);
		replay_gpu_count_group(gpu, REPLAY_MLA_PREFILL, &before);
	}
	if (status == H2D_STATUS_SUCCESS)
		status = publish_beside(gpu, batch, &before);
	return status;
}

/* Prefill is never a graph: its consumers are enqueued each time. */
static h2d_status_t consume(struct replay_gpu *gpu, const struct prefill_step *step,
			    uint64_t *dispatches)
{
	h2d_status_t status = prefill_consume(&gpu->settings.attention, gpu->runner, gpu->stream,
					      step, dispatches);

	/* the slot is free for another forward only when its consumers have run */
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_runner_record(gpu->runner, gpu->stream);
	return status;
}

static h2d_status_t apply(struct replay_gpu *gpu, const struct scheduler_batch *forward,
			  uint32_t running_requests, const struct verify_tokens *tokens,
			  const struct prefill_step *step)
{
	struct replay_slot *slot = &gpu->slots[step->inputs.slot];

	verify_apply_prefill(&slot->expected, forward, running_requests);
	if (gpu->speculation != NULL)
		verify_apply_prefill_tokens(&slot->expected, forward, running_requests, tokens);
	slot->unverified = gpu->forwards;
	slot->prefill = true;
	slot->step = gpu->prefills;
	return prefill_addresses(&gpu->settings.attention, gpu->runner, step,
				 slot->prefill_addresses);
}

/* A prefill is padded only if the server says so: this one does in every other forward. */
static uint32_t running_requests(const struct replay_gpu *gpu,
				 const struct scheduler_batch *forward)
{
	if (gpu->prefills % 2 == 0)
		return forward->num_requests;
	return replay_gpu_padded(gpu->settings.max_num_seqs, forward->num_requests);
}

int replay_gpu_run_prefill(struct replay_gpu *gpu, const struct scheduler_batch *forward,
			   struct replay_gpu_prefill *result, struct tool_error *error)
{
	struct prefill_step step = {0};
	struct verify_tokens tokens;
	h2d_batch_t batch;
	uint64_t begun_ns;
	h2d_status_t status = h2d_runner_begin(gpu->runner, gpu->stream);

	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot begin a prefill", status);
	prefill_describe(gpu->prefill, forward, &batch, &tokens);
	batch.running_requests = running_requests(gpu, forward);
	begun_ns = progress_now_ns();
	status = publish(gpu, &batch, &step);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot publish a prefill", status);
	*result = (struct replay_gpu_prefill){
		.tokens = step.inputs.num_tokens,
		.has_cached = step.inputs.has_cached,
		.publication_ns = progress_now_ns() - begun_ns,
	};
	status = h2d_runner_finish(gpu->runner, gpu->stream);
	if (status == H2D_STATUS_SUCCESS)
		status = consume(gpu, &step, &result->dispatches);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot run a prefill's consumers", status);
	gpu->prefills++;
	gpu->forwards++;
	if (gpu->settings.verify)
		status = apply(gpu, forward, batch.running_requests, &tokens, &step);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot find the arrays of a prefill",
						status);
	return 0;
}
