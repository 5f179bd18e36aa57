/* SPDX-License-Identifier: MIT */
/*
 * Greedy correction: replaces the sampled id of each greedy row by that of its largest logit. A row
 * is greedy if its temperature is the clamp or less: the host uploads max(t, clamp), with which no
 * division by zero happens in the sampler, and thus a greedy row's 0 as exactly the clamp.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void h2d_greedy_rows(global int *restrict sampled_ids,
			    global const int *restrict largest_logit_ids,
			    global const float *restrict temperatures, float clamp, uint rows)
{
	const uint row = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	if (row < rows && temperatures[row] <= clamp)
		sampled_ids[row] = largest_logit_ids[row];
}
