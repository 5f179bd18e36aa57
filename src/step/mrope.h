/* SPDX-License-Identifier: MIT */
/* One slot's MRoPE positions. */
#ifndef H2DPUB_SRC_STEP_MROPE_H
#define H2DPUB_SRC_STEP_MROPE_H

#include <h2dpub/mrope.h>

struct h2d_runner_slot;

typedef struct h2d_mrope {
	h2d_buffer_t *positions; /* [3, max_tokens], counted in elements; NULL: no mrope */
	h2d_group_t *group;
} h2d_mrope_t;

/* Makes the buffer and group of a slot whose owner is idle, if the runner has mrope. */
h2d_status_t h2d_mrope_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot,
			      h2d_mrope_t *mrope);

#endif
