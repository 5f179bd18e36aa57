/* SPDX-License-Identifier: MIT */
/* MRoPE positions: three planes whose stride is the width that the model runs. */
#include <string.h>

#include "error.h"
#include "step/arguments.h"
#include "step/decode_batch.h"
#include "step/runner.h"

#define GROUP "mrope"

h2d_status_t h2d_mrope_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
			      h2d_mrope_t *mrope)
{
	const h2d_member_declaration_t member = {
		.name = "mrope_positions",
		.element_size = sizeof(int64_t),
		.rows = H2D_MROPE_AXES,
		.columns = runner->options.max_tokens,
		/* Not rows: a plane's place depends on the width of the step. */
		.unit = H2D_COUNT_ELEMENTS,
	};
	const h2d_group_declaration_t declaration = {
		.name = GROUP,
		.members = &member,
		.num_members = 1,
		.unpacked = true,
	};

	if (!runner->options.mrope)
		return H2D_STATUS_SUCCESS;
	return h2d_slot_declare_group(slot, &declaration, &mrope->positions, &mrope->group);
}

/* ---- validation ------------------------------------------------------------------------------ */

static int64_t plane_stride(const h2d_batch_t *batch, uint32_t request)
{
	if (batch->mrope_strides)
		return batch->mrope_strides[request] > INT64_MAX
			       ? INT64_MAX
			       : (int64_t)batch->mrope_strides[request];
	return batch->context_lengths[request];
}

static h2d_status_t check_prefill(const h2d_runner_t *runner, const h2d_batch_t *batch,
				  h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = h2d_batch_measure(runner, GROUP, batch, sizes);

	if (status != H2D_STATUS_SUCCESS || !batch->mrope_positions)
		return status;
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (batch->mrope_positions[i] && plane_stride(batch, i) < batch->context_lengths[i])
			return h2d_batch_error(GROUP, batch, i,
					       "mrope_strides %llu is below context_lengths %d",
					       (unsigned long long)batch->mrope_strides[i],
					       batch->context_lengths[i]);
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_decode(const h2d_runner_t *runner, const h2d_batch_t *batch,
				 h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = h2d_decode_check_contexts(runner, GROUP, batch, sizes);

	if (status != H2D_STATUS_SUCCESS || !batch->mrope_deltas)
		return status;
	/* Positions stay far from the ends of their type, so that no sum overflows. */
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		if (batch->mrope_deltas[i] < INT32_MIN || batch->mrope_deltas[i] > INT32_MAX)
			return h2d_batch_error(GROUP, batch, i,
					       "mrope_deltas %lld is not within int32",
					       (long long)batch->mrope_deltas[i]);
	}
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_runner(const h2d_runner_t *runner)
{
	if (!runner->options.mrope)
		return h2d_error(H2D_STATUS_INVALID_STATE, "mrope: the runner has no mrope");
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_batch(const h2d_runner_t *runner, const h2d_batch_t *batch,
				h2d_batch_sizes_t *sizes)
{
	h2d_status_t status = check_runner(runner);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	return batch->phase == H2D_PHASE_PREFILL ? check_prefill(runner, batch, sizes)
						 : check_decode(runner, batch, sizes);
}

/* ---- the source ------------------------------------------------------------------------------ */

/* One plane of a prefill, of which the batch may hold positions. Returns behind the last token. */
static int64_t *write_prefill_plane(const h2d_batch_t *batch, uint32_t axis, int64_t *plane)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int64_t *given = batch->mrope_positions ? batch->mrope_positions[i] : NULL;
		const int64_t first = h2d_batch_cached(batch, i);
		const int64_t tokens = batch->context_lengths[i] - first;

		if (given)
			memcpy(plane, given + axis * plane_stride(batch, i) + first,
			       (size_t)tokens * sizeof(*plane));
		for (int64_t j = 0; !given && j < tokens; j++)
			plane[j] = first + j;
		plane += tokens;
	}
	return plane;
}

static int64_t *write_decode_plane(const h2d_runner_t *runner, const h2d_batch_t *batch,
				   int64_t *plane)
{
	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const int64_t delta = batch->mrope_deltas ? batch->mrope_deltas[i] : 0;
		const int64_t first =
			h2d_decode_context(batch, i) - runner->options.query_length + delta;
		const int32_t tokens = h2d_batch_scheduled(runner, batch, i);

		for (int32_t j = 0; j < tokens; j++)
			*plane++ = first + j;
	}
	return plane;
}

static void write_planes(const h2d_runner_t *runner, const h2d_batch_t *batch, uint32_t width,
			 int64_t *positions)
{
	for (uint32_t axis = 0; axis < H2D_MROPE_AXES; axis++) {
		int64_t *plane = positions + (size_t)axis * width;
		int64_t *end = batch->phase == H2D_PHASE_PREFILL
				       ? write_prefill_plane(batch, axis, plane)
				       : write_decode_plane(runner, batch, plane);

		memset(end, 0, (size_t)(plane + width - end) * sizeof(*end));
	}
}

h2d_status_t h2d_mrope_prepare(h2d_runner_t *runner, h2d_stream_t *stream, const h2d_batch_t *batch,
			       h2d_mrope_step_t *step)
{
	h2d_batch_sizes_t sizes;
	const h2d_mrope_t *mrope;
	int64_t count;
	h2d_status_t status = h2d_arguments_check_prepare(__func__, runner, stream, batch);

	if (status == H2D_STATUS_SUCCESS)
		status = check_batch(runner, batch, &sizes);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	mrope = &runner->slots[runner->slot].mrope;
	status = h2d_group_check_writable(mrope->group, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_planes(runner, batch, sizes.running_tokens, h2d_buffer_host(mrope->positions));
	count = (int64_t)H2D_MROPE_AXES * sizes.running_tokens;
	status = h2d_group_publish(mrope->group, stream, &count, NULL);
	if (status == H2D_STATUS_SUCCESS && step)
		*step = (h2d_mrope_step_t){
			.slot = runner->slot,
			.tokens = sizes.tokens,
			.width = sizes.running_tokens,
			.positions = h2d_buffer_device(mrope->positions),
		};
	return status;
}

h2d_status_t h2d_mrope_view(const h2d_runner_t *runner, uint32_t slot, h2d_mrope_step_t *step)
{
	h2d_status_t status = h2d_arguments_check_view(__func__, runner, step);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_arguments_check_slot(GROUP, runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		status = check_runner(runner);
	if (status == H2D_STATUS_SUCCESS)
		*step = (h2d_mrope_step_t){
			.slot = slot,
			.positions = h2d_buffer_device(runner->slots[slot].mrope.positions),
		};
	return status;
}
