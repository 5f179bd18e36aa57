/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler of a replay and its workers say to each other: ZeroMQ messages between
 * processes of one machine, so in its own formats, but for the block tables (delta_codec.h).
 *
 * Scheduler to all workers (publish, subscribe): struct worker_order; with WORKER_STEP two more
 * frames: int32 context lengths, one a request, and the delta message.
 * Worker to scheduler (dealer, router): struct worker_reply; with WORKER_RESULT three more frames:
 * struct worker_result and uint64 samples of publication_ns and consumer_ns; with WORKER_FAILED
 * one: the text.
 */
#ifndef H2DPUB_TOOLS_WORKER_WIRE_H
#define H2DPUB_TOOLS_WORKER_WIRE_H

#include <stdint.h>

#include "report.h"

enum worker_order_kind {
	WORKER_PING, /* the scheduler is there and has come to this step */
	WORKER_STEP,
	WORKER_END
};

struct worker_order {
	uint32_t kind;
	uint32_t num_requests;
	uint64_t step; /* from 1 */
};

enum worker_reply_kind {
	WORKER_HELLO, /* it hears the scheduler */
	WORKER_DONE,  /* with all steps up to this one, or has missed them */
	WORKER_WHOLE, /* it lacks rows that this step builds on */
	WORKER_RESULT,
	WORKER_FAILED
};

struct worker_reply {
	uint32_t kind;
	uint32_t worker;
	uint64_t step;
};

struct worker_result {
	uint64_t skipped_steps;
	uint64_t verified_steps;
	uint64_t verified_bytes;
	uint64_t mismatched_steps;
	uint64_t mismatched_elements;
	uint64_t publications;
	uint64_t dma_copies;
	uint64_t publication_dispatches;
	uint64_t barrier_packets;
	uint64_t bytes;
	uint64_t packed_bytes;
	uint64_t graph_launches;
	uint64_t consumer_dispatches;
	struct replay_group groups[REPLAY_GROUPS];
	struct replay_tables tables;
	int32_t backend; /* h2d_backend_t */
	char device[160];
};

/* Neither side waits longer for the other. */
#define WORKER_TIMEOUT_MS 30000

#endif
