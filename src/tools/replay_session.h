/* SPDX-License-Identifier: MIT */
/* One process's share of a replay: it publishes steps on its GPU, verifies them and collects figures. */
#ifndef H2DPUB_TOOLS_REPLAY_SESSION_H
#define H2DPUB_TOOLS_REPLAY_SESSION_H

#include "prefill_chunks.h"
#include "progress.h"
#include "replay_gpu.h"
#include "report.h"

struct replay_session {
	struct replay_gpu *gpu;
	struct report *report;
	struct progress *progress; /* cleared before a mismatch is printed */
	uint64_t steps;            /* run so far */
	uint64_t forwards;         /* the same with prefills */
};

/* Publishes a step; first verifies the steps that its slot and the others still hold. */
int replay_session_step(struct replay_session *session, const struct scheduler_batch *batch,
			struct tool_error *error);

/* The same for the prefill of requests that were admitted together, in one forward or more. */
int replay_session_prefill(struct replay_session *session, struct prefill_chunks *chunks,
			   struct tool_error *error);

/* Waits for the GPU, verifies what is left and puts the totals into the report. */
int replay_session_finish(struct replay_session *session, struct tool_error *error);

#endif
