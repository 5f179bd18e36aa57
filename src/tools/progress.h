/* SPDX-License-Identifier: MIT */
/*
 * Progress on standard error: a bar with rate and remaining time on a terminal, else a plain line
 * every few seconds.
 */
#ifndef H2DPUB_TOOLS_PROGRESS_H
#define H2DPUB_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool terminal;
	uint64_t started_ns;
	uint64_t shown_ns;
	bool bar_shown;
};

/* The monotonic clock. */
uint64_t progress_now_ns(void);

void progress_start(struct progress *progress);

/* fraction: 0 to 1. Shows nothing if it has just shown something. */
void progress_update(struct progress *progress, double fraction, uint64_t steps);

/* Removes the bar, so that other lines can follow. */
void progress_end(struct progress *progress);

/* What a terminal shows at this point: "[####----]  50%  120 steps  40.0 steps/s  0:03 left". */
void progress_line(char *line, size_t size, double fraction, uint64_t steps, double seconds);

#endif
