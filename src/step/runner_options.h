/* SPDX-License-Identifier: MIT */
/* Checking a runner's options and working out what follows from them. */
#ifndef H2DPUB_SRC_STEP_RUNNER_OPTIONS_H
#define H2DPUB_SRC_STEP_RUNNER_OPTIONS_H

#include "step/runner.h"

/*
 * Fills the runner's options, backend and sizes, with its own copy of the captured batch sizes.
 * Errors name the option and its value.
 */
h2d_status_t h2d_runner_set_options(h2d_runner_t *runner, const h2d_runner_options_t *options);

#endif
