/* SPDX-License-Identifier: MIT */
/*
 * Token assembly: puts the ids that only the GPU knows into a step's input ids.
 *
 * The span of request b is [cu_seqlens_q[b], cu_seqlens_q[b + 1]). If its source row decode_src[b]
 * is not negative, its first id is the one sampled in that row, and the ids behind it are those
 * drafted in that row: draft_ids[row * draft_row_stride + j - 1] at place j of the span. All other
 * ids, the graph's padding included, stay as the host staged them.
 *
 * One work-item a request and place, width places a request.
 */
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void h2d_token_assembly(global int *restrict input_ids,
			       global const int *restrict cu_seqlens_q,
			       global const int *restrict decode_src,
			       global const int *restrict sampled_ids,
			       global const int *restrict draft_ids, ulong draft_row_stride,
			       uint requests, uint width)
{
	const uint item = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
	const uint request = item / width;
	const uint place = item - request * width;

	if (request >= requests)
		return;

	const int source = decode_src[request];
	const int first = cu_seqlens_q[request];

	if (source < 0 || place >= (uint)(cu_seqlens_q[request + 1] - first))
		return;
	input_ids[first + (int)place] =
		place == 0 ? sampled_ids[source]
			   : draft_ids[(ulong)source * draft_row_stride + (place - 1)];
}
