/* SPDX-License-Identifier: MIT */
/*
 * The AMD GPU built-ins that kernels/scatter.cl and pull.cl use, in terms of PTX: included before
 * them, it lets clang compile the unchanged sources for NVIDIA GPUs. A warp is a wave of 32 lanes.
 */
#ifndef H2DPUB_TESTS_CUDA_OPENCL_ON_PTX_H
#define H2DPUB_TESTS_CUDA_OPENCL_ON_PTX_H

#define ALL_LANES 0xffffffffu

#define __builtin_amdgcn_workgroup_id_x()      __nvvm_read_ptx_sreg_ctaid_x()
#define __builtin_amdgcn_workitem_id_x()       __nvvm_read_ptx_sreg_tid_x()
#define __builtin_amdgcn_ballot_w32(predicate) __nvvm_vote_ballot_sync(ALL_LANES, predicate)
#define __builtin_amdgcn_readlane(value, lane) __nvvm_shfl_sync_idx_i32(ALL_LANES, value, lane, 31)

/* A row shift right by control - 0x110 lanes, the only one in use: shfl.up in segments of 16 lanes,
 * whose clamp operand 0x1000 keeps a lane's own value where there is none to shift in. */
static int shift_row(int value, int lanes)
{
	int shifted = __nvvm_shfl_sync_up_i32(ALL_LANES, value, lanes, 0x1000);

	return (__nvvm_read_ptx_sreg_tid_x() & 15) >= lanes ? shifted : 0;
}
#define __builtin_amdgcn_update_dpp(old, value, control, row_mask, bank_mask, bound)               \
	shift_row(value, (control) - 0x110)

/*
 * For h2d_pull only. What follows the declared arguments in kernel-argument memory is a last
 * parameter here. CUDA copies all of it with each launch, whatever its use: ARGUMENT_DESCRIPTORS
 * says how much there is. The generic address space reads it.
 */
#ifdef ARGUMENT_DESCRIPTORS
struct argument_tail {
	ulong words[3 * ARGUMENT_DESCRIPTORS];
};
#define h2d_pull(members, reserved) h2d_pull(members, reserved, struct argument_tail tail)
#define constant __generic

static constant const uchar *kernel_arguments(void)
{
	constant const uchar *address;

	__asm__("{\n\t"
		".reg .b64 parameter;\n\t"
		"mov.b64 parameter, h2d_pull_param_0;\n\t"
		"cvta.param.u64 %0, parameter;\n\t"
		"}"
		: "=l"(address));
	return address;
}
#define __builtin_amdgcn_kernarg_segment_ptr() kernel_arguments()
#endif

/*
 * PTX loads are aligned. From other addresses, the words that hold a wanted byte are loaded and
 * shifted together: nothing outside these words is read. Both ways issue all loads before they use
 * any of them.
 */
static void load_aligned(uint4 *vector, uint count, uint stride, global const uchar *source,
			 uint vectors)
{
#pragma unroll
	for (uint i = 0; i < count; i++) {
		uint at = i * stride + __nvvm_read_ptx_sreg_tid_x();
		if (at < vectors)
			vector[i] = *(global const uint4 *)(source + at * 16);
	}
}

static ulong join(uint high, uint low)
{
	return (ulong)high << 32 | low;
}

static void load_shifted(uint4 *vector, uint count, uint stride, global const uchar *source,
			 uint vectors)
{
	global const uint *words = (global const uint *)((ulong)source & ~3ul);
	uint shift = ((uint)(ulong)source & 3) * 8;
	/* The word of the last byte: the fourth, or the fifth if the address is no multiple of 4. */
	uint last = shift ? 4 : 3;
	uint fifth[16];

#pragma unroll
	for (uint i = 0; i < count; i++) {
		uint at = i * stride + __nvvm_read_ptx_sreg_tid_x();
		if (at < vectors) {
			vector[i] = (uint4)(words[at * 4], words[at * 4 + 1], words[at * 4 + 2],
					    words[at * 4 + 3]);
			fifth[i] = words[at * 4 + last];
		}
	}
#pragma unroll
	for (uint i = 0; i < count; i++) {
		uint4 v = vector[i];

		vector[i] = (uint4)((uint)(join(v.y, v.x) >> shift),
				    (uint)(join(v.z, v.y) >> shift),
				    (uint)(join(v.w, v.z) >> shift),
				    (uint)(join(fifth[i], v.w) >> shift));
	}
}

static void load_vectors(uint4 *vector, uint count, uint stride, global const uchar *source,
			 uint vectors)
{
	if (((ulong)source & 15) == 0)
		load_aligned(vector, count, stride, source, vectors);
	else
		load_shifted(vector, count, stride, source, vectors);
}
#define LOAD_VECTORS(vector, source, vectors)                                                      \
	load_vectors(vector, VECTORS_PER_ITEM, WORKGROUP_SIZE, source, vectors)

#endif
