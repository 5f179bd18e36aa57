/* SPDX-License-Identifier: MIT */
/* Scatter: the packed members of an arena, and the members beside it, to their destinations. */
#include "chunk.h"

/*
 * arena starts with one (offset, count) pair a member, in bytes; the payload lies at that offset,
 * or at the pinned source if the offset is negative. table holds (destination, pinned source)
 * pairs. The workgroups are the chunks of all members, one after the other.
 */
kernel __attribute__((reqd_work_group_size(WORKGROUP_SIZE, 1, 1)))
void h2d_scatter(global const uchar *arena, global const ulong2 *table, uint members)
{
	global const long2 *headers = (global const long2 *)arena;
	uint chunk = (uint)__builtin_amdgcn_workgroup_id_x();

	for (uint first = 0; first < members; first += WAVE_SIZE) {
		uint member = first + lane_in_wave();
		long2 header = 0;
		ulong2 addresses = 0;
		uint lane;

		if (member < members) {
			header = headers[member];
			addresses = table[member];
		}
		if (!find_chunk(chunk_count(header.y), &chunk, &lane))
			continue;
		long offset = (long)read_lane_64((ulong)header.x, lane);
		global const uchar *source = (global const uchar *)read_lane_64(addresses.y, lane);
		if (offset >= 0)
			source = arena + offset;
		copy_chunk((global uchar *)read_lane_64(addresses.x, lane), source,
			   read_lane_64((ulong)header.y, lane), chunk);
		return;
	}
}
