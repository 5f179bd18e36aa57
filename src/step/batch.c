/* SPDX-License-Identifier: MIT */
/* The sizes of a batch, and errors that name request and field. */
#include "step/batch.h"

#include <stdarg.h>
#include <stdio.h>

#include "error.h"
#include "step/runner.h"

static h2d_status_t request_error(h2d_status_t status, const char *group, const h2d_batch_t *batch,
				  uint32_t request, const char *format, va_list arguments)
{
	char detail[256];
	char id[40] = "";

	vsnprintf(detail, sizeof(detail), format, arguments);
	if (batch->request_ids)
		snprintf(id, sizeof(id), " (id %llu)",
			 (unsigned long long)batch->request_ids[request]);
	return h2d_error(status, "%s: request %u%s: %s", group, request, id, detail);
}

h2d_status_t h2d_batch_error(const char *group, const h2d_batch_t *batch, uint32_t request,
			     const char *format, ...)
{
	va_list arguments;
	h2d_status_t status;

	va_start(arguments, format);
	status = request_error(H2D_STATUS_OUT_OF_RANGE, group, batch, request, format, arguments);
	va_end(arguments);
	return status;
}

h2d_status_t h2d_batch_contradiction(const char *group, const h2d_batch_t *batch, uint32_t request,
				     const char *format, ...)
{
	va_list arguments;
	h2d_status_t status;

	va_start(arguments, format);
	status = request_error(H2D_STATUS_INVALID_ARGUMENT, group, batch, request, format,
			       arguments);
	va_end(arguments);
	return status;
}

h2d_status_t h2d_batch_missing(const char *group, const h2d_batch_t *batch, const char *field)
{
	return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "%s: %s is NULL for %u requests", group,
			 field, batch->num_requests);
}

/* The captured size that a decode of this batch replays; 0: none holds it. */
static uint32_t captured_size(const h2d_runner_t *runner, const h2d_batch_t *batch)
{
	if (batch->phase == H2D_PHASE_PREFILL)
		return 0;
	return h2d_runner_captured_size(runner, batch->num_requests);
}

static uint32_t running_requests(const h2d_runner_t *runner, const h2d_batch_t *batch)
{
	const uint32_t captured = captured_size(runner, batch);

	if (batch->running_requests)
		return batch->running_requests;
	return captured ? captured : batch->num_requests;
}

/* Only a batch that a graph replays has padded tokens: the full width of each running request. */
static uint32_t running_tokens(const h2d_runner_t *runner, const h2d_batch_t *batch,
			       const h2d_batch_sizes_t *sizes)
{
	const bool padded = batch->running_requests || captured_size(runner, batch);

	if (batch->phase == H2D_PHASE_PREFILL || !padded)
		return sizes->tokens;
	return sizes->running_requests * runner->options.query_length;
}

int32_t h2d_batch_cached(const h2d_batch_t *batch, uint32_t request)
{
	return batch->cached_tokens ? batch->cached_tokens[request] : 0;
}

int32_t h2d_batch_scheduled(const h2d_runner_t *runner, const h2d_batch_t *batch, uint32_t request)
{
	if (batch->scheduled_tokens)
		return batch->scheduled_tokens[request];
	if (batch->phase == H2D_PHASE_PREFILL)
		return batch->context_lengths[request] - h2d_batch_cached(batch, request);
	return (int32_t)runner->options.query_length;
}

static h2d_status_t check_requests(const h2d_runner_t *runner, const char *group,
				   const h2d_batch_t *batch)
{
	const uint32_t max_requests = runner->options.max_requests;

	if (batch->phase != H2D_PHASE_DECODE && batch->phase != H2D_PHASE_PREFILL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "%s: phase %d is unknown", group,
				 (int)batch->phase);
	if (batch->num_requests > max_requests)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: num_requests %u is above max_requests %u", group,
				 batch->num_requests, max_requests);
	if (batch->running_requests && (batch->running_requests < batch->num_requests ||
					batch->running_requests > max_requests))
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: running_requests %u is not in [num_requests %u, "
				 "max_requests %u]",
				 group, batch->running_requests, batch->num_requests, max_requests);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_prefill_lengths(const h2d_runner_t *runner, const char *group,
					  const h2d_batch_t *batch, uint32_t request)
{
	const int32_t context = batch->context_lengths[request];
	const int32_t cached = h2d_batch_cached(batch, request);

	if (context < 0 || (uint32_t)context > runner->options.max_model_length)
		return h2d_batch_error(group, batch, request,
				       "context_lengths %d is not in [0, max_model_length %u]",
				       context, runner->options.max_model_length);
	if (cached < 0 || cached > context)
		return h2d_batch_error(group, batch, request,
				       "cached_tokens %d is not in [0, context_lengths %d]", cached,
				       context);
	if (batch->scheduled_tokens && batch->scheduled_tokens[request] != context - cached)
		return h2d_batch_error(group, batch, request,
				       "scheduled_tokens %d is not context_lengths %d less "
				       "cached_tokens %d",
				       batch->scheduled_tokens[request], context, cached);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_lengths(const h2d_runner_t *runner, const char *group,
				  const h2d_batch_t *batch, uint32_t request)
{
	const uint32_t query_length = runner->options.query_length;

	if (batch->phase == H2D_PHASE_PREFILL)
		return check_prefill_lengths(runner, group, batch, request);
	if (batch->scheduled_tokens && (uint32_t)batch->scheduled_tokens[request] > query_length)
		return h2d_batch_error(group, batch, request,
				       "scheduled_tokens %d is not in [0, query_length %u]",
				       batch->scheduled_tokens[request], query_length);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_batch_measure(const h2d_runner_t *runner, const char *group,
			       const h2d_batch_t *batch, h2d_batch_sizes_t *sizes)
{
	uint64_t tokens = 0;
	h2d_status_t status = check_requests(runner, group, batch);

	if (status == H2D_STATUS_SUCCESS && batch->num_requests > 0 &&
	    batch->phase == H2D_PHASE_PREFILL && !batch->context_lengths)
		status = h2d_batch_missing(group, batch, "context_lengths");
	for (uint32_t i = 0; i < batch->num_requests && status == H2D_STATUS_SUCCESS; i++) {
		status = check_lengths(runner, group, batch, i);
		if (status == H2D_STATUS_SUCCESS)
			tokens += (uint32_t)h2d_batch_scheduled(runner, batch, i);
	}
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (tokens > runner->options.max_tokens)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: the scheduled_tokens of %u requests are %llu, above "
				 "max_tokens %u",
				 group, batch->num_requests, (unsigned long long)tokens,
				 runner->options.max_tokens);
	*sizes = (h2d_batch_sizes_t){
		.requests = batch->num_requests,
		.running_requests = running_requests(runner, batch),
		.tokens = (uint32_t)tokens,
	};
	sizes->running_tokens = running_tokens(runner, batch, sizes);
	return H2D_STATUS_SUCCESS;
}
