/* SPDX-License-Identifier: MIT */
/* The library's serving groups of one slot: making and freeing those that the options ask for. */
#ifndef H2DPUB_SRC_STEP_SERVING_GROUPS_H
#define H2DPUB_SRC_STEP_SERVING_GROUPS_H

#include <h2dpub/runner.h>

struct h2d_runner_slot;

/* Before the slot's owner selects transports. */
h2d_status_t h2d_serving_groups_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_serving_groups_destroy(struct h2d_runner_slot *slot);

#endif
