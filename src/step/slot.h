/* SPDX-License-Identifier: MIT */
/* One publication slot of a runner: an owner with all buffers and groups of a step, by name. */
#ifndef H2DPUB_SRC_STEP_SLOT_H
#define H2DPUB_SRC_STEP_SLOT_H

#include <h2dpub/runner.h>

#include "step/mha_decode.h"
#include "step/mla.h"
#include "step/mrope.h"
#include "step/prefill_inputs.h"
#include "step/ragged.h"
#include "step/tbo.h"
#include "step/token_inputs.h"

typedef struct h2d_named_group {
	char *name;
	h2d_group_t *group;
} h2d_named_group_t;

/* Every slot of a runner has the same buffers and groups, in the same order. */
typedef struct h2d_runner_slot {
	h2d_owner_t *owner;
	h2d_buffer_t **buffers;
	uint32_t num_buffers;
	h2d_named_group_t *groups;
	uint32_t num_groups;
	h2d_token_inputs_t token_inputs;
	h2d_prefill_inputs_t prefill_inputs;
	h2d_mha_decode_t mha_decode;
	h2d_mla_t mla;
	h2d_mrope_t mrope;
	h2d_tbo_t tbo;
	h2d_ragged_t ragged;
} h2d_runner_slot_t;

/*
 * Makes a group that h2d_runner_group() finds, and those of its buffers that the slot does not have
 * yet. members may be NULL; it gets one buffer for each declared member. INVALID_ARGUMENT: the slot
 * has a group of that name, or a buffer of that name and another shape or unit.
 */
h2d_status_t h2d_slot_declare_group(h2d_runner_slot_t *slot,
				    const h2d_group_declaration_t *declaration,
				    h2d_buffer_t *members[], h2d_group_t **group);

/* The two parts of it, for groups that are made of the members of others, or not at all. */
h2d_status_t h2d_slot_declare_members(h2d_runner_slot_t *slot,
				      const h2d_group_declaration_t *declaration,
				      h2d_buffer_t *members[]);
h2d_status_t h2d_slot_add_group(h2d_runner_slot_t *slot, const char *name,
				h2d_buffer_t *const members[], uint32_t num_members,
				h2d_group_t **group);

/* NULL: the slot has none of that name. */
h2d_buffer_t *h2d_slot_find_buffer(const h2d_runner_slot_t *slot, const char *name);

/* The index of a group; num_groups: the slot has none of that name. */
uint32_t h2d_slot_find_group(const h2d_runner_slot_t *slot, const char *name);

/* Frees the lists; the owner's are the objects in them. */
void h2d_slot_free_lists(h2d_runner_slot_t *slot);

#endif
