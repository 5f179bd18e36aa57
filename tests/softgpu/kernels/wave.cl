/* SPDX-License-Identifier: MIT */
/* Lanes of a wave that talk to each other: ballots, scans, swizzles, reads of one lane. */
#include "kernel.h"

kernel void ballots(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	uint value = index < count ? input[index] : 0;
	ulong odd = ballot(value & 1);
	ulong large = ballot((int)value < 0);
	global uint *mine = output + index * 8;

	if (index >= count)
		return;
	mine[0] = (uint)odd;
	mine[1] = (uint)(odd >> 32);
	mine[2] = __builtin_popcountl(large);
	mine[3] =
	    __builtin_amdgcn_mbcnt_hi((uint)(odd >> 32), __builtin_amdgcn_mbcnt_lo((uint)odd, 7));
	mine[4] = odd ? __builtin_ctzl(odd) : 99;
	mine[5] = odd ? __builtin_clzl(odd) : 99;
	mine[6] = (uint)__builtin_amdgcn_read_exec();
	mine[7] = (uint)(__builtin_amdgcn_read_exec() >> 32);
}

kernel void read_lanes(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	uint value = input[index];
	uint first = __builtin_amdgcn_readfirstlane(value);
	uint chosen = __builtin_amdgcn_readlane(value, first & 63);
	uint pulled = __builtin_amdgcn_ds_bpermute((int)((value >> 3 & 63) * 4), (int)value);
	uint pushed = __builtin_amdgcn_ds_permute((int)((lane() * 5 + 3 & 63) * 4), (int)value);
	uint third = 0;

	if (lane() % 3 == 1)
		third = __builtin_amdgcn_readfirstlane(value * 3);
	if (index >= count)
		return;
	output[index * 5] = first;
	output[index * 5 + 1] = chosen;
	output[index * 5 + 2] = pulled;
	output[index * 5 + 3] = pushed;
	output[index * 5 + 4] = third;
}

/* Every data-parallel-primitive control of gfx90a, each with bounds to zero and without. */
#define DPP(control, rows, banks, bound)                                                           \
	mine[slot++] =                                                                             \
	    __builtin_amdgcn_update_dpp(0x5a5a5a5a, (int)value, control, rows, banks, bound)
kernel void dpp_controls(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	uint value = input[index];
	global uint *mine = output + index * 25;
	uint slot = 0;

	(void)count;
	DPP(0x1b, 0xf, 0xf, false); /* quad_perm 3,2,1,0 */
	DPP(0x4e, 0xf, 0xf, true);  /* quad_perm 2,3,0,1 */
	DPP(0x93, 0xa, 0xf, false);
	DPP(0x39, 0xf, 0x5, false);
	DPP(0x101, 0xf, 0xf, false); /* row_shl */
	DPP(0x10f, 0xf, 0xf, true);
	DPP(0x111, 0xf, 0xf, false); /* row_shr */
	DPP(0x118, 0xf, 0xc, true);
	DPP(0x121, 0xf, 0xf, false); /* row_ror */
	DPP(0x12c, 0x3, 0xf, false);
	DPP(0x130, 0xf, 0xf, false); /* wave_shl */
	DPP(0x130, 0xf, 0xf, true);
	DPP(0x134, 0xf, 0xf, false); /* wave_rol */
	DPP(0x138, 0xf, 0xf, false); /* wave_shr */
	DPP(0x138, 0xf, 0xf, true);
	DPP(0x13c, 0xf, 0xf, false); /* wave_ror */
	DPP(0x140, 0xf, 0xf, false); /* row_mirror */
	DPP(0x141, 0xf, 0xf, false); /* row_half_mirror */
	DPP(0x142, 0xa, 0xf, false); /* row_bcast15 */
	DPP(0x142, 0xf, 0xf, true);
	DPP(0x143, 0xc, 0xf, false); /* row_bcast31 */
	DPP(0x143, 0xf, 0xf, true);
	DPP(0x155, 0xf, 0xf, false); /* row_newbcast */
	/* A source lane that is switched off. */
	if (value & 2) {
		mine[23] = __builtin_amdgcn_update_dpp(0x33, (int)value, 0x111, 0xf, 0xf, false);
		mine[24] = __builtin_amdgcn_mov_dpp((int)value, 0x121, 0xf, 0xf, true);
	}
}

/* Inclusive sum over the wave, the way compilers expand wave reductions. */
kernel void dpp_scan(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	uint sum = index < count ? input[index] : 0;

	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x111, 0xf, 0xf, false);
	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x112, 0xf, 0xf, false);
	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x114, 0xf, 0xf, false);
	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x118, 0xf, 0xf, false);
	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x142, 0xa, 0xf, false);
	sum += (uint)__builtin_amdgcn_update_dpp(0, (int)sum, 0x143, 0xc, 0xf, false);
	if (index < count)
		output[index] = sum;
}

kernel void swizzles(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	int value = (int)input[index];
	global uint *mine = output + index * 6;

	(void)count;
	mine[0] = __builtin_amdgcn_ds_swizzle(value, 0x041f); /* exchange neighbours */
	mine[1] = __builtin_amdgcn_ds_swizzle(value, 0x401f); /* exchange halves of 32 */
	mine[2] = __builtin_amdgcn_ds_swizzle(value, 0x7c10); /* and 16, xor 31 */
	mine[3] = __builtin_amdgcn_ds_swizzle(value, 0x00b5); /* and 21, or 5 */
	mine[4] = __builtin_amdgcn_ds_swizzle(value, 0x801b); /* quad permutation 3,2,1,0 */
	mine[5] = __builtin_amdgcn_ds_swizzle(value, 0x80a0); /* quad permutation 0,0,2,2 */
}

/* Inclusive sum over a workgroup of four waves in LDS. */
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
lds_scan(global const uint *input, global uint *output, uint count)
{
	local uint sums[2][256];
	uint item = item_x(), index = group_x() * 256 + item, from = 0;

	sums[0][item] = index < count ? input[index] : 0;
	for (uint distance = 1; distance < 256; distance *= 2) {
		workgroup_barrier();
		uint sum = sums[from][item];
		if (item >= distance)
			sum += sums[from][item - distance];
		sums[from ^ 1][item] = sum;
		from ^= 1;
	}
	if (index < count)
		output[index] = sums[from][item];
}

/* Waves diverge, loop different numbers of times and meet at barriers. */
kernel __attribute__((reqd_work_group_size(320, 1, 1))) void
barrier_rounds(global const uint *input, global uint *output, uint count)
{
	local uint cells[320];
	uint item = item_x(), value = input[group_x() * 320 + item];

	(void)count;
	for (uint round = 0; round < 7; round++) {
		for (uint turn = 0; turn < (item / 64 + round) % 5 * 3; turn++)
			value = hash(value + turn);
		cells[item] = value;
		workgroup_barrier();
		value ^= cells[(item * 7 + round * 64 + 1) % 320];
		workgroup_barrier();
	}
	output[group_x() * 320 + item] = value;
}
