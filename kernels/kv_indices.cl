/* SPDX-License-Identifier: MIT */
/*
 * KV-index generation: the list of physical KV pages of every request, for paged attention.
 *
 * kv_indices[kv_indptr[b] + c * ratio + s] = block_tables[b][c] * ratio + s for the pages s of the
 * block in column c, as far as request b has pages: kv_indptr[b + 1] - kv_indptr[b] of them.
 *
 * Workgroup (x, b) writes SPAN pages of request b from x * SPAN on. The grid covers the longest
 * context that the model allows, so that one recording serves every step of a graph; workgroups
 * behind a request's last page end at once. Consecutive work-items write consecutive pages.
 */

#define WORKGROUP_SIZE   256u
#define PAGES_PER_ITEM   4u
#define SPAN             (WORKGROUP_SIZE * PAGES_PER_ITEM)

__attribute__((reqd_work_group_size(WORKGROUP_SIZE, 1, 1)))
kernel void h2d_kv_indices(global int *restrict kv_indices, global const int *restrict kv_indptr,
			   global const int *restrict block_tables, uint columns, uint ratio)
{
	const uint request = __builtin_amdgcn_workgroup_id_y();
	const uint span = __builtin_amdgcn_workgroup_id_x() * SPAN;
	const int first = kv_indptr[request];
	const uint pages = (uint)(kv_indptr[request + 1] - first);

	if (span >= pages)
		return;

	global int *const indices = kv_indices + first;
	global const int *const table = block_tables + (ulong)request * columns;
	uint page = span + __builtin_amdgcn_workitem_id_x();
	const uint end = pages - span < SPAN ? pages : span + SPAN;
	uint column = page / ratio;
	uint sub = page - column * ratio;
	/* The steps are the same for the whole workgroup: one division each, none in the loop. */
	const uint column_step = WORKGROUP_SIZE / ratio;
	const uint sub_step = WORKGROUP_SIZE - column_step * ratio;

	for (; page < end; page += WORKGROUP_SIZE) {
		indices[page] = table[column] * (int)ratio + (int)sub;
		column += column_step;
		sub += sub_step;
		if (sub >= ratio) {
			sub -= ratio;
			column++;
		}
	}
}
