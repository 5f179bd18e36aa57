/* SPDX-License-Identifier: MIT */
/* One slot's metadata of ragged batches. */
#ifndef H2DPUB_SRC_STEP_RAGGED_H
#define H2DPUB_SRC_STEP_RAGGED_H

#include <h2dpub/ragged.h>

#include "step/step_kernel.h"

struct h2d_runner_slot;

typedef struct h2d_ragged {
	h2d_buffer_t *token_to_req; /* NULL: not ragged */
	h2d_buffer_t *logical_positions;
	h2d_group_t *qsa;
	h2d_buffer_t *has_initial_state;
	h2d_group_t *ple;
	h2d_device_t *device;
	int64_t *compressed_slots; /* device [max_tokens] */
	h2d_step_kernel_t compression;
} h2d_ragged_t;

/* Makes the buffers and groups of a slot whose owner is idle, if the runner has ragged. */
h2d_status_t h2d_ragged_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
			       h2d_ragged_t *ragged);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_ragged_destroy(h2d_ragged_t *ragged);

#endif
