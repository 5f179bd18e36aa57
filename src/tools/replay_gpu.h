/* SPDX-License-Identifier: MIT */
/*
 * The GPU side of the replay: a runner with its slots, one recorded graph for every slot and
 * padded batch size, and the read-back that is compared with the CPU model.
 */
#ifndef H2DPUB_TOOLS_REPLAY_GPU_H
#define H2DPUB_TOOLS_REPLAY_GPU_H

#include <h2dpub/h2dpub.h>

#include "attention.h"
#include "report.h"
#include "tool_error.h"
#include "verify.h"

struct replay_gpu_settings {
	const char *backend; /* NULL: as the environment says */
	uint32_t slots;
	uint32_t max_num_seqs;
	uint32_t block_size;
	uint32_t page_size;
	uint32_t num_pages;
	uint32_t max_model_len;
	uint32_t speculative_tokens; /* 0: token inputs are not published */
	uint32_t prefill_tokens;     /* most of a prefill forward; 0: there are none */
	struct attention_settings attention;
	bool verify;
};

/* The captured size that a batch is padded to. */
uint32_t replay_gpu_padded(uint32_t max_num_seqs, uint32_t num_requests);

struct replay_gpu_step {
	uint32_t graph_requests;
	uint64_t publication_ns; /* host time of preparing and publishing */
	uint64_t consumer_ns;    /* preparation begun to first consumer done; if waited for */
};

/* What a prefill forward was. */
struct replay_gpu_prefill {
	uint64_t tokens;
	bool has_cached;
	uint64_t dispatches;     /* of its consumers */
	uint64_t publication_ns; /* host time of preparing and publishing */
};

/* What became of an earlier forward. */
struct replay_gpu_verdict {
	bool prefill;
	uint64_t step;  /* from 1, among those of its kind */
	uint64_t bytes; /* compared */
	struct verify_mismatch mismatch;
};

struct replay_gpu;

/* NULL with a message that names what failed. */
struct replay_gpu *replay_gpu_create(const struct replay_gpu_settings *settings,
				     struct tool_error *error);
void replay_gpu_destroy(struct replay_gpu *gpu);

/* Name and ISA of the device. */
const char *replay_gpu_device(const struct replay_gpu *gpu);
h2d_backend_t replay_gpu_backend(const struct replay_gpu *gpu);

/*
 * Publishes one decode step on the next slot and launches the graph of its padded batch size. It
 * waits for the slot; only with `measure` also for the GPU, to see when the first consumer is done.
 */
int replay_gpu_run_step(struct replay_gpu *gpu, const struct scheduler_batch *batch, bool measure,
			struct replay_gpu_step *step, struct tool_error *error);

/*
 * Publishes one prefill forward on the next slot and enqueues its consumers. It waits for the slot
 * only.
 */
int replay_gpu_run_prefill(struct replay_gpu *gpu, const struct scheduler_batch *forward,
			   struct replay_gpu_prefill *result, struct tool_error *error);

/* Waits until the GPU has done everything, and what it wrote can be read back. */
int replay_gpu_wait(struct replay_gpu *gpu, struct tool_error *error);

/*
 * With verify, after replay_gpu_wait(): reads back and compares the oldest forward that is not
 * verified yet. It must be called until all are, before a slot is used again. 1: *verdict is about
 * that forward, 0: none is left, -1: an error.
 */
int replay_gpu_verify(struct replay_gpu *gpu, struct replay_gpu_verdict *verdict,
		      struct tool_error *error);

/* The totals of all slots since the replay began. */
void replay_gpu_totals(const struct replay_gpu *gpu, h2d_publication_totals_t *totals);

/* What each group's publications took since the replay began. */
void replay_gpu_groups(const struct replay_gpu *gpu, struct replay_group groups[REPLAY_GROUPS]);

/* What became of the slots' block tables. */
void replay_gpu_tables(const struct replay_gpu *gpu, struct replay_tables *tables);

/* Graphs launched, and the dispatches in them. */
void replay_gpu_launches(const struct replay_gpu *gpu, uint64_t *launches, uint64_t *dispatches);

#endif
