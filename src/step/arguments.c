/* SPDX-License-Identifier: MIT */
/* The arguments that the calls of all serving groups have in common, and their validation. */
#include "step/arguments.h"

#include "error.h"
#include "step/runner.h"

static h2d_status_t missing(const char *caller, const char *argument)
{
	return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "%s: %s is NULL", caller, argument);
}

h2d_status_t h2d_arguments_check_prepare(const char *caller, const h2d_runner_t *runner,
					 const h2d_stream_t *stream, const h2d_batch_t *batch)
{
	h2d_status_t status = h2d_arguments_check_enqueue(caller, runner, stream);

	return status == H2D_STATUS_SUCCESS && !batch ? missing(caller, "batch") : status;
}

h2d_status_t h2d_arguments_check_enqueue(const char *caller, const h2d_runner_t *runner,
					 const h2d_stream_t *stream)
{
	if (!runner || !stream)
		return missing(caller, !runner ? "runner" : "stream");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_arguments_check_view(const char *caller, const h2d_runner_t *runner,
				      const void *step)
{
	if (!runner || !step)
		return missing(caller, !runner ? "runner" : "step");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_arguments_check_slot(const char *group, const h2d_runner_t *runner, uint32_t slot)
{
	if (slot >= runner->options.slots)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "%s: slot %u is not in [0, %u)", group,
				 slot, runner->options.slots);
	return H2D_STATUS_SUCCESS;
}
