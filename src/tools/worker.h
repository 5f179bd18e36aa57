/* SPDX-License-Identifier: MIT */
/* A worker process of a replay: decodes the scheduler's messages, publishes and verifies. */
#ifndef H2DPUB_TOOLS_WORKER_H
#define H2DPUB_TOOLS_WORKER_H

#include "replay_gpu.h"

/*
 * Runs worker number `worker` of the run of this name until the scheduler ends it. Returns what the
 * process exits with.
 */
int worker_run(uint32_t worker, const char *name, const struct replay_gpu_settings *settings);

#endif
