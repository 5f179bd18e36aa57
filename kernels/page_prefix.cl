/* SPDX-License-Identifier: MIT */
/*
 * Page prefix: prefix[b] = the physical pages of all contexts before request b, so that the GPU can
 * derive from the context lengths of a prefill where each request's pages are listed. requests + 1
 * entries; a padding request has no context, and its prefix stays flat.
 *
 * One work-item an entry adds up the contexts before it: a prefill has few requests, and all of
 * them read the same few cache lines.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void h2d_page_prefix(global int *restrict prefix, global const int *restrict context_lens,
			    uint requests, uint page_size)
{
	const uint entry =
		__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
	uint pages = 0;

	if (entry > requests)
		return;
	for (uint request = 0; request < entry; request++)
		pages += ((uint)context_lens[request] + page_size - 1) / page_size;
	prefix[entry] = (int)pages;
}
