/* SPDX-License-Identifier: MIT */
/* The serving groups that a runner has by option: making and freeing those of one slot. */
#ifndef H2DPUB_SRC_STEP_SERVING_GROUPS_H
#define H2DPUB_SRC_STEP_SERVING_GROUPS_H

#include <h2dpub/runner.h>

struct h2d_runner_slot;

/* Those that may be packed, before transports are selected. */
h2d_status_t h2d_serving_groups_create(const h2d_runner_t *runner, struct h2d_runner_slot *slot);

/* Those that are never packed, once transports are selected. */
h2d_status_t h2d_serving_groups_create_unpacked(const h2d_runner_t *runner,
						struct h2d_runner_slot *slot);

/* Frees what the slot's owner does not own. The GPU must be done with it. */
void h2d_serving_groups_destroy(struct h2d_runner_slot *slot);

/*
 * h2d_slot_declare_group() for a group that gets no arena: its members are copied one by one, or
 * pulled together.
 */
h2d_status_t h2d_serving_group_declare_unpacked(const h2d_runner_t *runner,
						struct h2d_runner_slot *slot,
						const h2d_group_declaration_t *declaration,
						h2d_buffer_t *members[], h2d_group_t **group);

#endif
