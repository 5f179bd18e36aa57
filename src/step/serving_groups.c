/* SPDX-License-Identifier: MIT */
/* The serving groups that a runner has by option: making and freeing those of one slot. */
#include "step/serving_groups.h"

#include "step/runner.h"

h2d_status_t h2d_serving_group_declare_unpacked(const h2d_runner_t *runner, h2d_runner_slot_t *slot,
						const h2d_group_declaration_t *declaration,
						h2d_buffer_t *members[], h2d_group_t **group)
{
	h2d_status_t status = h2d_slot_declare_group(slot, declaration, members, group);

	if (status == H2D_STATUS_SUCCESS && runner->backend == H2D_BACKEND_PULL)
		status = h2d_group_use_transport(*group, H2D_BACKEND_PULL, NULL);
	return status;
}

/* TBO publishes MHA by group, MLA member by member. */
h2d_status_t h2d_serving_groups_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot)
{
	if (runner->options.attention == H2D_ATTENTION_MLA)
		return H2D_STATUS_SUCCESS;
	return h2d_tbo_create(runner, slot, &slot->tbo);
}

h2d_status_t h2d_serving_groups_create_unpacked(const h2d_runner_t *runner, h2d_runner_slot_t *slot)
{
	h2d_status_t status = h2d_mla_create(runner, slot, &slot->mla);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mrope_create(runner, slot, &slot->mrope);
	if (status == H2D_STATUS_SUCCESS && runner->options.attention == H2D_ATTENTION_MLA)
		status = h2d_tbo_create(runner, slot, &slot->tbo);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_ragged_create(runner, slot, &slot->ragged);
	return status;
}

void h2d_serving_groups_destroy(h2d_runner_slot_t *slot)
{
	h2d_tbo_destroy(&slot->tbo);
	h2d_ragged_destroy(&slot->ragged);
}
