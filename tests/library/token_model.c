/* SPDX-License-Identifier: MIT */
/* Random token batches, and a model of what token_inputs must put on the device. */
#include "token_model.h"

#include <string.h>

const h2d_runner_options_t token_options_plain = {.max_requests = 8,
						  .query_length = 1,
						  .max_tokens = 64,
						  .block_size = 16,
						  .max_model_length = 64,
						  CAPTURED(4, 8)};

const h2d_runner_options_t token_options_speculative = {.max_requests = 8,
							.query_length = 4,
							.max_tokens = 64,
							.block_size = 16,
							.max_model_length = 64};

static const h2d_runner_options_t *options_of(const step_world_t *world)
{
	return &world->runner->options;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool captured(const h2d_runner_options_t *options, const h2d_batch_t *batch, uint32_t *size)
{
	bool found = false;

	for (uint32_t i = options->num_captured_batch_sizes; i-- > 0;) {
		if (options->captured_batch_sizes[i] >= batch->num_requests) {
			*size = options->captured_batch_sizes[i];
			found = true;
		}
	}
	return found && batch->phase == H2D_PHASE_DECODE;
}

uint32_t token_running_requests(const h2d_runner_options_t *options, const h2d_batch_t *batch)
{
	uint32_t size = 0;

	if (batch->running_requests > 0)
		return batch->running_requests;
	return captured(options, batch, &size) ? size : batch->num_requests;
}

static uint32_t width_of(const h2d_runner_options_t *options, const h2d_batch_t *batch, uint32_t i)
{
	if (batch->scheduled_tokens)
		return (uint32_t)batch->scheduled_tokens[i];
	if (batch->phase == H2D_PHASE_DECODE)
		return options->query_length;
	return (uint32_t)(batch->context_lengths[i] -
			  (batch->cached_tokens ? batch->cached_tokens[i] : 0));
}

uint32_t token_running_tokens(const h2d_runner_options_t *options, const h2d_batch_t *batch)
{
	uint32_t size, tokens = 0;

	if (batch->phase == H2D_PHASE_DECODE &&
	    (batch->running_requests > 0 || captured(options, batch, &size)))
		return token_running_requests(options, batch) * options->query_length;
	for (uint32_t i = 0; i < batch->num_requests; i++)
		tokens += width_of(options, batch, i);
	return tokens;
}

/* ---- the model ------------------------------------------------------------------------------- */

void token_model_sampling(step_world_t *world, const h2d_batch_t *batch)
{
	float *temperatures = step_image(world, "temperatures");
	int32_t *top_ks = step_image(world, "top_ks");
	float *top_ps = step_image(world, "top_ps");
	bool ks_differ = false, ps_differ = false;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		temperatures[i] = batch->temperatures ? batch->temperatures[i] : 1.0f;
		if (temperatures[i] < 1e-10f)
			temperatures[i] = 1e-10f;
		for (uint32_t j = 0; j < i; j++) {
			ks_differ |= batch->top_ks && batch->top_ks[i] != batch->top_ks[j];
			ps_differ |= batch->top_ps && batch->top_ps[i] < batch->top_ps[j];
			ps_differ |= batch->top_ps && batch->top_ps[i] > batch->top_ps[j];
		}
	}
	if (ks_differ)
		memcpy(top_ks, batch->top_ks, batch->num_requests * sizeof(*top_ks));
	if (ps_differ)
		memcpy(top_ps, batch->top_ps, batch->num_requests * sizeof(*top_ps));
}

void token_model_query_prefix(step_world_t *world, const h2d_batch_t *batch)
{
	int32_t *cu = step_image(world, "cu_seqlens_q");

	for (uint32_t end = 0; end <= token_running_requests(options_of(world), batch); end++) {
		cu[end] = 0;
		for (uint32_t i = 0; i < end && i < batch->num_requests; i++)
			cu[end] += (int32_t)width_of(options_of(world), batch, i);
	}
}

static int32_t token_id(const h2d_runner_options_t *options, const token_case_t *token_case,
			uint32_t request, uint32_t place, uint32_t token)
{
	const h2d_batch_t *batch = &token_case->batch;
	const h2d_previous_step_t *previous = &batch->previous;
	const bool decode = batch->phase == H2D_PHASE_DECODE;

	if (decode && !batch->dummy && batch->previous_rows && batch->previous_rows[request] >= 0) {
		const uint32_t row = (uint32_t)batch->previous_rows[request];

		if (place == 0)
			return token_case->previous_sampled[row];
		return token_case->previous_drafts[previous->draft_offset +
						   row * previous->draft_row_stride + place - 1];
	}
	if (!batch->scheduled_token_ids)
		return 0;
	if (decode && place > 0 && batch->draft_token_ids)
		return batch->draft_token_ids[request * (options->query_length - 1) + place - 1];
	return batch->scheduled_token_ids[token];
}

void token_model_input_ids(step_world_t *world, const token_case_t *token_case)
{
	const h2d_batch_t *batch = &token_case->batch;
	int32_t *ids = step_image(world, "input_ids");
	int32_t *sources = step_image(world, "decode_src");
	uint32_t token = 0;
	bool deferred = false;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		for (uint32_t j = 0; j < width_of(options_of(world), batch, i); j++, token++)
			ids[token] = token_id(options_of(world), token_case, i, j, token);
		deferred |= batch->phase == H2D_PHASE_DECODE && !batch->dummy &&
			    batch->previous_rows && batch->previous_rows[i] >= 0;
	}
	for (; token < token_running_tokens(options_of(world), batch); token++)
		ids[token] = 0;
	for (uint32_t i = 0; i < batch->num_requests && deferred; i++)
		sources[i] = batch->previous_rows[i] >= 0 ? batch->previous_rows[i] : -1;
}

/* Of each request's tokens all but the last judge the draft behind them. */
void token_model_verification(step_world_t *world, const h2d_batch_t *batch)
{
	const int32_t *ids = step_image(world, "input_ids");
	int32_t *draft_ids = (int32_t *)world->draft_ids.expected;
	int32_t *cu;
	int64_t *target, *bonus;
	uint32_t token = 0, drafts = 0;

	if (options_of(world)->query_length == 1 || batch->phase != H2D_PHASE_DECODE ||
	    batch->dummy)
		return;
	cu = step_image(world, "cu_num_draft_tokens");
	target = step_image(world, "target_logits_indices");
	bonus = step_image(world, "bonus_logits_indices");
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const uint32_t last = token + width_of(options_of(world), batch, i) - 1;

		for (; token < last; token++) {
			target[drafts] = token;
			draft_ids[drafts++] = ids[token + 1];
		}
		bonus[i] = token++;
		cu[i] = (int32_t)drafts;
	}
}

void token_model_all(step_world_t *world, const token_case_t *token_case)
{
	token_model_sampling(world, &token_case->batch);
	token_model_query_prefix(world, &token_case->batch);
	token_model_input_ids(world, token_case);
	token_model_verification(world, &token_case->batch);
}

/* ---- batches --------------------------------------------------------------------------------- */

void token_case_attach(token_case_t *token_case, uint32_t num_requests)
{
	h2d_batch_t *batch = &token_case->batch;

	batch->num_requests = num_requests;
	batch->scheduled_tokens = token_case->scheduled;
	batch->scheduled_token_ids = token_case->ids;
	batch->temperatures = token_case->temperatures;
	batch->top_ks = token_case->top_ks;
	batch->top_ps = token_case->top_ps;
	batch->needs_independent_noise = token_case->noise;
}

void token_case_upload_previous(token_case_t *token_case, uint32_t rows, uint32_t columns,
				uint32_t stride, uint32_t offset)
{
	h2d_previous_step_t *previous = &token_case->batch.previous;

	ck_assert_uint_le(offset + rows * stride,
			  sizeof(token_case->previous_drafts) / sizeof(int32_t));
	*previous = (h2d_previous_step_t){
		.sampled_ids = step_upload(token_case->previous_sampled,
					   sizeof(token_case->previous_sampled)),
		.sampled_rows = rows,
	};
	if (columns == 0)
		return;
	previous->draft_ids =
		step_upload(token_case->previous_drafts, sizeof(token_case->previous_drafts));
	previous->draft_columns = columns;
	previous->draft_row_stride = stride;
	previous->draft_offset = offset;
}

static void random_sampling(token_case_t *token_case, uint64_t *state)
{
	static const float ps[] = {1.0f, 0.9f, 0.1f};
	const bool uniform = fixture_random_between(state, 0, 1);

	for (uint32_t i = 0; i < TOKEN_MAX_REQUESTS; i++) {
		const uint64_t k = fixture_random_between(state, 0, 3);

		token_case->temperatures[i] = (float)fixture_random_between(state, 0, 3) / 2;
		token_case->top_ks[i] = k == 0 ? -1 : (int32_t)(k * 7);
		token_case->top_ps[i] = ps[fixture_random_between(state, 0, 2)];
		token_case->noise[i] = fixture_random_between(state, 0, 1);
		if (uniform) {
			token_case->top_ks[i] = token_case->top_ks[0];
			token_case->top_ps[i] = token_case->top_ps[0];
		}
	}
}

static void random_previous(token_case_t *token_case, step_world_t *world, uint64_t *state)
{
	const uint32_t drafts = options_of(world)->query_length - 1;
	const uint32_t rows = (uint32_t)fixture_random_between(state, 1, TOKEN_MAX_REQUESTS);
	const uint32_t stride = drafts + (uint32_t)fixture_random_between(state, 0, 2);
	const uint32_t offset = (uint32_t)fixture_random_between(state, 0, 3);

	for (uint32_t i = 0; i < TOKEN_MAX_REQUESTS; i++)
		token_case->previous_sampled[i] = (int32_t)(2000 + fixture_random(state) % 1000);
	for (uint32_t i = 0; i < 256; i++)
		token_case->previous_drafts[i] = (int32_t)(3000 + fixture_random(state) % 1000);
	token_case_upload_previous(token_case, rows, drafts, stride, offset);
	for (uint32_t i = 0; i < TOKEN_MAX_REQUESTS; i++)
		token_case->rows[i] = (int32_t)fixture_random_between(state, 0, rows) - 1;
	token_case->batch.previous_rows = token_case->rows;
}

/* Deferred ids are placeholders, which the GPU replaces. */
static void random_ids(token_case_t *token_case, const step_world_t *world, uint64_t *state)
{
	h2d_batch_t *batch = &token_case->batch;
	uint32_t token = 0;

	if (fixture_random_between(state, 0, 1))
		batch->draft_token_ids = token_case->drafts;
	for (uint32_t i = 0; i < TOKEN_MAX_REQUESTS * TOKEN_MAX_WIDTH; i++)
		token_case->drafts[i] = (int32_t)(4000 + fixture_random(state) % 1000);
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const bool deferred = batch->previous_rows && batch->previous_rows[i] >= 0 &&
				      batch->phase == H2D_PHASE_DECODE && !batch->dummy;

		for (uint32_t j = 0; j < width_of(options_of(world), batch, i); j++, token++)
			token_case->ids[token] =
				deferred ? -1 : (int32_t)(1000 + fixture_random(state) % 1000);
	}
}

void token_case_random(token_case_t *token_case, step_world_t *world, uint64_t *state)
{
	const h2d_runner_options_t *options = options_of(world);
	const uint64_t kind = fixture_random_between(state, 0, 5);
	h2d_batch_t *batch = &token_case->batch;
	uint32_t width = options->query_length;

	*token_case = (token_case_t){0};
	token_case_attach(token_case,
			  (uint32_t)fixture_random_between(state, 0, options->max_requests));
	batch->phase = kind == 0 ? H2D_PHASE_PREFILL : H2D_PHASE_DECODE;
	batch->dummy = kind == 1;
	if (fixture_random_between(state, 0, 4) == 0)
		batch->running_requests = (uint32_t)fixture_random_between(
			state, batch->num_requests, options->max_requests);
	if (batch->phase == H2D_PHASE_PREFILL)
		width = options->max_tokens / options->max_requests;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		token_case->scheduled[i] = (int32_t)fixture_random_between(state, 1, width);
		token_case->contexts[i] = token_case->scheduled[i];
	}
	batch->context_lengths = token_case->contexts;
	if (batch->phase == H2D_PHASE_DECODE && fixture_random_between(state, 0, 1))
		batch->scheduled_tokens = NULL; /* query_length each */
	random_sampling(token_case, state);
	if (fixture_random_between(state, 0, 2))
		random_previous(token_case, world, state);
	random_ids(token_case, world, state);
}

h2d_status_t token_prepare(step_world_t *world, const h2d_batch_t *batch, bool one_by_one,
			   h2d_token_inputs_step_t *step)
{
	h2d_runner_t *runner = world->runner;
	h2d_status_t status;

	if (!one_by_one)
		return h2d_token_inputs_prepare(runner, fixture_stream, batch, step);
	*step = (h2d_token_inputs_step_t){0};
	status = h2d_sampling_prepare(runner, fixture_stream, batch, step);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_query_prefix_prepare(runner, fixture_stream, batch, step);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_input_ids_prepare(runner, fixture_stream, batch, step);
	if (status == H2D_STATUS_SUCCESS && options_of(world)->query_length > 1 &&
	    batch->phase == H2D_PHASE_DECODE && !batch->dummy)
		status = h2d_verification_prepare(runner, fixture_stream, batch, step);
	return status;
}
