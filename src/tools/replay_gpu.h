/* SPDX-License-Identifier: MIT */
/*
 * The GPU side of the replay: a runner with its slots, one recorded graph for every slot and
 * padded batch size, and the read-back that is compared with the CPU model.
 */
#ifndef H2DPUB_TOOLS_REPLAY_GPU_H
#define H2DPUB_TOOLS_REPLAY_GPU_H

#include <h2dpub/h2dpub.h>

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
	bool verify;
};

struct replay_gpu_step {
	uint32_t graph_requests;
	uint64_t publication_ns; /* host time of preparing and publishing */
	uint64_t consumer_ns;    /* preparation begun to first consumer done; with verify only */
	uint64_t verified_bytes;
	struct verify_mismatch mismatch; /* with verify only */
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
 * Publishes one decode step and replays the graph of its padded batch size. With verify it waits
 * for the GPU, reads everything back and compares; without, it waits only for a free slot.
 */
int replay_gpu_run_step(struct replay_gpu *gpu, const struct scheduler_batch *batch,
			struct replay_gpu_step *step, struct tool_error *error);

/* Waits until the GPU has done everything. */
int replay_gpu_wait(struct replay_gpu *gpu, struct tool_error *error);

/* The totals of all slots since the replay began. */
void replay_gpu_totals(const struct replay_gpu *gpu, h2d_publication_totals_t *totals);

/* Graphs launched, and the dispatches in them. */
void replay_gpu_launches(const struct replay_gpu *gpu, uint64_t *launches, uint64_t *dispatches);

#endif
