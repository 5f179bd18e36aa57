/* SPDX-License-Identifier: MIT */
/*
 * The workers of a replay as its scheduler sees them: processes that each have a GPU of their own
 * and get every step's block tables as a delta message.
 */
#ifndef H2DPUB_TOOLS_WORKERS_H
#define H2DPUB_TOOLS_WORKERS_H

#include "replay_gpu.h"
#include "report.h"

struct workers_settings {
	uint32_t count;
	uint64_t late_step; /* the last worker starts after this step; 0: with the others */
	struct replay_gpu_settings gpu;
};

struct workers;

/* Starts the processes and waits until those that are not late hear the scheduler. NULL: an error. */
struct workers *workers_start(const struct workers_settings *settings, struct tool_error *error);

/* Ends processes that still run, whatever they do. */
void workers_destroy(struct workers *workers);

/*
 * Sends a step, numbered from 1, to all workers; waits until all that have joined are at most
 * `slots` steps behind.
 */
int workers_step(struct workers *workers, const struct scheduler_batch *batch, uint64_t step,
		 struct tool_error *error);

/* Waits until the workers have done their steps and have sent their figures, which are added. */
int workers_finish(struct workers *workers, struct report *report, struct tool_error *error);

#endif
