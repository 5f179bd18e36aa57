/* SPDX-License-Identifier: MIT */
/* The progress bar. */
#include "config.h"

#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH            30
#define TERMINAL_INTERVAL_NS UINT64_C(100000000)
#define PLAIN_INTERVAL_NS    UINT64_C(5000000000)

uint64_t progress_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void progress_start(struct progress *progress)
{
	const char *terminal = getenv("TERM");

	*progress = (struct progress){
		.terminal = isatty(STDERR_FILENO) && terminal != NULL &&
			    strcmp(terminal, "dumb") != 0,
		.started_ns = progress_now_ns(),
	};
	progress->shown_ns = progress->started_ns;
}

void progress_line(char *line, size_t size, double fraction, uint64_t steps, double seconds)
{
	char bar[BAR_WIDTH + 1];
	int filled = (int)(fraction * BAR_WIDTH);
	double left = fraction > 0 ? seconds / fraction * (1 - fraction) : 0;
	uint64_t left_seconds = (uint64_t)(left + 0.5);

	for (int i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '-';
	bar[BAR_WIDTH] = '\0';
	snprintf(line, size,
		 "[%s] %3.0f%%  %" PRIu64 " steps  %.1f steps/s  %" PRIu64 ":%02" PRIu64 " left",
		 bar, fraction * 100, steps, seconds > 0 ? (double)steps / seconds : 0,
		 left_seconds / 60, left_seconds % 60);
}

void progress_update(struct progress *progress, double fraction, uint64_t steps)
{
	uint64_t now = progress_now_ns();
	uint64_t interval = progress->terminal ? TERMINAL_INTERVAL_NS : PLAIN_INTERVAL_NS;
	char line[160];

	if (now - progress->shown_ns < interval)
		return;
	progress->shown_ns = now;
	progress_line(line, sizeof(line), fraction, steps,
		      (double)(now - progress->started_ns) / 1e9);
	if (progress->terminal) {
		/* carriage return, and erase to the end of the line */
		fprintf(stderr, "\r%s\033[K", line);
		progress->bar_shown = true;
	} else {
		/* a log has no use for the bar itself */
		fprintf(stderr, "h2dpub-replay: %s\n", line + BAR_WIDTH + 3);
	}
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->bar_shown)
		fputs("\r\033[K", stderr);
	progress->bar_shown = false;
}
