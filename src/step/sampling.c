/* SPDX-License-Identifier: MIT */
/* Sampling parameters: clamped temperatures, and filters only where they differ by request. */
#include <math.h>

#include "error.h"
#include "step/runner.h"

#define GROUP "sampling"

typedef struct greedy_rows_arguments {
	int32_t *sampled_ids;
	const int32_t *largest_logit_ids;
	const float *temperatures;
	float clamp;
	uint32_t rows;
} greedy_rows_arguments_t;

h2d_status_t h2d_sampling_validate(const h2d_batch_t *batch)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (batch->temperatures &&
		    !(isfinite(batch->temperatures[i]) && batch->temperatures[i] >= 0))
			return h2d_batch_error(GROUP, batch, i,
					       "temperatures %g is not finite and at least 0",
					       (double)batch->temperatures[i]);
		if (batch->top_ks && batch->top_ks[i] != -1 && batch->top_ks[i] < 1)
			return h2d_batch_error(GROUP, batch, i,
					       "top_ks %d is neither -1 nor at least 1",
					       batch->top_ks[i]);
		if (batch->top_ps && !(batch->top_ps[i] > 0 && batch->top_ps[i] <= 1))
			return h2d_batch_error(GROUP, batch, i, "top_ps %g is not in (0, 1]",
					       (double)batch->top_ps[i]);
	}
	return H2D_STATUS_SUCCESS;
}

static void write_temperatures(const h2d_token_inputs_t *inputs, const h2d_batch_t *batch,
			       int64_t counts[], h2d_token_inputs_step_t *step)
{
	float *temperatures = h2d_buffer_host(inputs->members[H2D_TEMPERATURES]);

	step->all_greedy = true;
	step->needs_independent_noise = false;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const float temperature = batch->temperatures ? batch->temperatures[i] : 1;

		temperatures[i] =
			temperature > H2D_TEMPERATURE_CLAMP ? temperature : H2D_TEMPERATURE_CLAMP;
		step->all_greedy &= temperature == 0;
		step->needs_independent_noise |=
			batch->needs_independent_noise && batch->needs_independent_noise[i];
	}
	counts[H2D_TEMPERATURES] = batch->num_requests;
	step->temperatures = h2d_buffer_device(inputs->members[H2D_TEMPERATURES]);
}

static void write_top_ks(const h2d_token_inputs_t *inputs, const h2d_batch_t *batch,
			 int64_t counts[], h2d_token_inputs_step_t *step)
{
	int32_t *top_ks = h2d_buffer_host(inputs->members[H2D_TOP_KS]);
	bool uniform = true;

	step->top_ks = NULL;
	step->top_k = batch->top_ks && batch->num_requests > 0 ? batch->top_ks[0] : -1;
	for (uint32_t i = 1; batch->top_ks && i < batch->num_requests; i++)
		uniform &= batch->top_ks[i] == step->top_k;
	if (uniform)
		return;
	for (uint32_t i = 0; i < batch->num_requests; i++)
		top_ks[i] = batch->top_ks[i];
	counts[H2D_TOP_KS] = batch->num_requests;
	step->top_ks = h2d_buffer_device(inputs->members[H2D_TOP_KS]);
}

static void write_top_ps(const h2d_token_inputs_t *inputs, const h2d_batch_t *batch,
			 int64_t counts[], h2d_token_inputs_step_t *step)
{
	float *top_ps = h2d_buffer_host(inputs->members[H2D_TOP_PS]);
	bool uniform = true;

	step->top_ps = NULL;
	step->top_p = batch->top_ps && batch->num_requests > 0 ? batch->top_ps[0] : 1;
	for (uint32_t i = 1; batch->top_ps && i < batch->num_requests; i++)
		uniform &= batch->top_ps[i] == step->top_p;
	if (uniform)
		return;
	for (uint32_t i = 0; i < batch->num_requests; i++)
		top_ps[i] = batch->top_ps[i];
	counts[H2D_TOP_PS] = batch->num_requests;
	step->top_ps = h2d_buffer_device(inputs->members[H2D_TOP_PS]);
}

void h2d_sampling_write(const h2d_token_inputs_t *inputs, const h2d_batch_t *batch,
			int64_t counts[], h2d_token_inputs_step_t *step)
{
	write_temperatures(inputs, batch, counts, step);
	write_top_ks(inputs, batch, counts, step);
	write_top_ps(inputs, batch, counts, step);
}

h2d_status_t h2d_sampling_enqueue_greedy_correction(h2d_runner_t *runner, h2d_stream_t *stream,
						    uint32_t slot, uint32_t rows,
						    int32_t *sampled_ids,
						    const int32_t *largest_logit_ids)
{
	h2d_token_inputs_t *inputs;
	greedy_rows_arguments_t arguments;
	h2d_status_t status;

	if (!runner || !stream || !sampled_ids || !largest_logit_ids)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_sampling_enqueue_greedy_correction: an argument is NULL");
	if (slot >= runner->options.slots || rows > runner->options.max_requests)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "greedy correction: slot %u is not in [0, %u), or rows %u are "
				 "above max_requests %u",
				 slot, runner->options.slots, rows, runner->options.max_requests);
	inputs = &runner->slots[slot].token_inputs;
	status = h2d_step_kernel_keep_input(stream, inputs->members[H2D_TEMPERATURES]);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	arguments = (greedy_rows_arguments_t){
		.sampled_ids = sampled_ids,
		.largest_logit_ids = largest_logit_ids,
		.temperatures = h2d_buffer_device(inputs->members[H2D_TEMPERATURES]),
		.clamp = H2D_TEMPERATURE_CLAMP,
		.rows = rows,
	};
	return h2d_step_kernel_enqueue(&inputs->greedy_rows, stream, rows, &arguments,
				       sizeof(arguments));
}
