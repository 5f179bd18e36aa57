/* SPDX-License-Identifier: MIT */
/* What the files of the GPU side share: its state, and how they count and report errors. */
#ifndef H2DPUB_TOOLS_REPLAY_GPU_STATE_H
#define H2DPUB_TOOLS_REPLAY_GPU_STATE_H

#include "prefill.h"
#include "replay_gpu.h"

/* Captured batch sizes, as serving engines choose them: 1, 2, 4, 8, then every 16. */
#define MAX_CAPTURED_SIZES (4 + 1024 / 16 + 1)

struct replay_slot {
	struct verify_image expected;
	uint64_t unverified; /* the forward that it holds, counted from 1; 0: none */
	bool prefill;	     /* that forward is one */
	uint64_t step;	     /* its place among those of its kind, from 1 */
	/* Of what prefills only have; filled in by the first of the slot. */
	const void *prefill_addresses[VERIFY_ARRAYS];
};

struct replay_gpu {
	struct replay_gpu_settings settings;
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_runner_t *runner;
	char description[160];
	uint32_t captured_sizes[MAX_CAPTURED_SIZES];
	uint32_t num_captured_sizes;
	h2d_graph_t **graphs;	   /* [slots][num_captured_sizes] */
	struct replay_slot *slots; /* [slots], with verify only */
	struct verify_image found;
	struct speculation *speculation; /* NULL: none */
	struct prefill *prefill;	 /* NULL: none */
	struct replay_group groups[REPLAY_GROUPS];
	int64_t *mrope_deltas;			/* [max_num_seqs], of one step */
	h2d_publication_totals_t set_up_totals; /* what the initial uploads took */
	uint64_t launches;
	uint64_t dispatches;
	uint64_t prefills;
	uint64_t forwards; /* of both kinds */
};

/* -1, with the library's message. */
int replay_gpu_library_error(struct tool_error *error, const char *what, h2d_status_t status);

/* The sums over all slots. */
void replay_gpu_sum_totals(const struct replay_gpu *gpu, h2d_publication_totals_t *sum);

/* Adds what the slot's owner has done since `before` to a group. */
void replay_gpu_count_group(struct replay_gpu *gpu, enum replay_group_index index,
			    h2d_publication_totals_t *before);

#endif
