/* SPDX-License-Identifier: MIT */
/* The library's serving groups of one slot: making and freeing those that the options ask for. */
#include "step/serving_groups.h"

#include "step/runner.h"

/* A group that shares buffers comes behind the one that declares their shapes. */
h2d_status_t h2d_serving_groups_create(const h2d_runner_t *runner, h2d_runner_slot_t *slot)
{
	h2d_status_t status = h2d_token_inputs_create(runner, slot, &slot->token_inputs);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_prefill_inputs_create(runner, slot, &slot->prefill_inputs);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mha_decode_create(runner, slot, &slot->mha_decode);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_prefill_inputs_create_kernels(runner, slot, &slot->prefill_inputs);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mla_create(runner, slot, &slot->mla);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_mrope_create(runner, slot, &slot->mrope);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_tbo_create(runner, slot, &slot->tbo);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_ragged_create(runner, slot, &slot->ragged);
	return status;
}

void h2d_serving_groups_destroy(h2d_runner_slot_t *slot)
{
	h2d_token_inputs_destroy(&slot->token_inputs);
	h2d_prefill_inputs_destroy(&slot->prefill_inputs);
	h2d_mha_decode_destroy(&slot->mha_decode);
	h2d_tbo_destroy(&slot->tbo);
	h2d_ragged_destroy(&slot->ragged);
}
