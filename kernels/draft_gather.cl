/* SPDX-License-Identifier: MIT */
/*
 * Draft-id gather: the drafted ids that verification compares with the target's choices. The row
 * of logits t predicts the token behind position t, so its draft is the next input id.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void h2d_draft_gather(global int *restrict draft_ids, global const int *restrict input_ids,
			     global const long *restrict target_logits_indices, uint drafts)
{
	const uint draft =
		__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	if (draft < drafts)
		draft_ids[draft] = input_ids[target_logits_indices[draft] + 1];
}
