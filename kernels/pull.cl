/* SPDX-License-Identifier: MIT */
/* Pull: members from their pinned sources straight to their destinations. */
#include "chunk.h"

/* What follows the declared arguments in kernel-argument memory. */
struct descriptor {
	ulong source;
	ulong destination;
	ulong bytes;
};

#define ARGUMENTS_BYTES 8

/* The workgroups are the chunks of all members, one after the other. */
kernel __attribute__((reqd_work_group_size(WORKGROUP_SIZE, 1, 1)))
void h2d_pull(uint members, uint reserved)
{
	constant const uchar *arguments =
	    (constant const uchar *)__builtin_amdgcn_kernarg_segment_ptr();
	constant const struct descriptor *descriptors =
	    (constant const struct descriptor *)(arguments + ARGUMENTS_BYTES);
	uint chunk = (uint)__builtin_amdgcn_workgroup_id_x();

	(void)reserved;
	for (uint first = 0; first < members; first += WAVE_SIZE) {
		uint member = first + lane_in_wave();
		struct descriptor descriptor = {0, 0, 0};
		uint lane;

		if (member < members)
			descriptor = descriptors[member];
		if (!find_chunk(chunk_count((long)descriptor.bytes), &chunk, &lane))
			continue;
		copy_chunk((global uchar *)read_lane_64(descriptor.destination, lane),
			   (global const uchar *)read_lane_64(descriptor.source, lane),
			   read_lane_64(descriptor.bytes, lane), chunk);
		return;
	}
}
