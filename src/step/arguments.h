/* SPDX-License-Identifier: MIT */
/* The arguments that the calls of all serving groups have in common, and their validation. */
#ifndef H2DPUB_SRC_STEP_ARGUMENTS_H
#define H2DPUB_SRC_STEP_ARGUMENTS_H

#include <h2dpub/runner.h>

/* INVALID_ARGUMENT, naming the caller and which argument of a prepare call is NULL. */
h2d_status_t h2d_arguments_check_prepare(const char *caller, const h2d_runner_t *runner,
					 const h2d_stream_t *stream, const h2d_batch_t *batch);

/* The same of a call that enqueues a consumer of what was prepared. */
h2d_status_t h2d_arguments_check_enqueue(const char *caller, const h2d_runner_t *runner,
					 const h2d_stream_t *stream);

/* The same of a call that fills in a slot's fixed addresses; step: whichever group's. */
h2d_status_t h2d_arguments_check_view(const char *caller, const h2d_runner_t *runner,
				      const void *step);

/* OUT_OF_RANGE, naming the group: the runner has no such slot. */
h2d_status_t h2d_arguments_check_slot(const char *group, const h2d_runner_t *runner, uint32_t slot);

#endif
