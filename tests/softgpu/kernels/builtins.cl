/* SPDX-License-Identifier: MIT */
/* Instructions that compilers emit only when asked: by builtin or by name. */
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void byte_sums(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	global uint *mine = output + index * 6;
	mine[0] = __builtin_amdgcn_sad_u8(a, b, c);
	mine[1] = __builtin_amdgcn_msad_u8(a, b, c);
	mine[2] = __builtin_amdgcn_sad_hi_u8(a, b, c);
	mine[3] = __builtin_amdgcn_sad_u16(a, b, c);
	mine[4] = __builtin_amdgcn_lerp(a, b, c);
	mine[5] = as_uint(__builtin_amdgcn_cvt_pk_i16((int)a, (int)b));
}

kernel void dot_products(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	global uint *mine = output + index * 8;
	mine[0] = (uint)__builtin_amdgcn_sdot2(as_short2(a), as_short2(b), (int)c, false);
	mine[1] = __builtin_amdgcn_udot2(as_ushort2(a), as_ushort2(b), c, false);
	mine[2] = (uint)__builtin_amdgcn_sdot4((int)a, (int)b, (int)c, false);
	mine[3] = __builtin_amdgcn_udot4(a, b, c, false);
	mine[4] = (uint)__builtin_amdgcn_sdot8((int)a, (int)b, (int)c, false);
	mine[5] = __builtin_amdgcn_udot8(a, b, c, false);
	mine[6] = (uint)__builtin_amdgcn_sdot4((int)a, (int)b, (int)c, true);
	mine[7] = __builtin_amdgcn_udot4(a, b, c, true);
}

/* Sums and products in each of the four rounding modes, then with denormals flushed. */
#define ROUNDED(mode)                                                                              \
	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), " mode "\n"                 \
			 "v_add_f32 %0, %3, %4\n"                                                  \
			 "v_mul_f32 %1, %3, %4\n"                                                  \
			 "v_fma_f32 %2, %3, %4, %3\n"                                              \
			 "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0"                          \
			 : "=&v"(sum), "=&v"(product), "=&v"(fused)                                \
			 : "v"(a), "v"(b));                                                        \
	mine[slot++] = sum;                                                                        \
	mine[slot++] = product;                                                                    \
	mine[slot++] = fused

kernel void rounding_modes(global const float *input, global float *output, uint count)
{
	uint index = global_x(), slot = 0;

	if (index >= count)
		return;
	float a = input[index * 2], b = input[index * 2 + 1], sum, product, fused;
	global float *mine = output + index * 14;
	ROUNDED("0x0");
	ROUNDED("0x5");
	ROUNDED("0xa");
	ROUNDED("0xf");
	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n"
			 "v_add_f32 %0, %1, %2\n"
			 "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3"
			 : "=&v"(sum)
			 : "v"(a), "v"(b));
	mine[12] = sum;
	mine[13] = __builtin_amdgcn_ldexpf(a, (int)(index % 400) - 200);
}

/* Conversions of values that do not fit saturate; NaN becomes 0. */
#define CONVERT(instruction)                                                                       \
	__asm__(instruction " %0, %1" : "=v"(result) : "v"(a));                                    \
	mine[slot++] = result

kernel void saturating_conversions(global const float *input, global uint *output, uint count)
{
	uint index = global_x(), slot = 0, result;

	if (index >= count)
		return;
	float a = input[index];
	global uint *mine = output + index * 3;
	CONVERT("v_cvt_i32_f32");
	CONVERT("v_cvt_u32_f32");
	CONVERT("v_cvt_flr_i32_f32");
}

kernel void half_fused(global const uint *input, global uint *output, uint count)
{
	uint index = global_x(), packed, single, mixed;

	if (index >= count)
		return;
	uint a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	__asm__("v_pk_fma_f16 %0, %1, %2, %3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]"
		: "=v"(packed)
		: "v"(a), "v"(b), "v"(c));
	__asm__("v_fma_f16 %0, %1, |%2|, -%3" : "=v"(single) : "v"(a), "v"(b), "v"(c));
	__asm__("v_fma_mix_f32 %0, %1, %2, %3 op_sel:[0,1,0] op_sel_hi:[1,1,1]"
		: "=v"(mixed)
		: "v"(a), "v"(b), "v"(c));
	output[index * 3] = packed;
	output[index * 3 + 1] = single & 0xffff;
	output[index * 3 + 2] = mixed;
}

/* Counters that wrap, and the one that counts active lanes. */
kernel __attribute__((reqd_work_group_size(192, 1, 1))) void
counters(global const uint *input, global uint *output, uint count)
{
	local uint cells[3];
	uint item = item_x(), index = group_x() * 192 + item;

	if (item < 3)
		cells[item] = 5;
	workgroup_barrier();
	if (index < count && input[index] & 1) {
		uint first = (uint)__builtin_amdgcn_ds_append((local int *)cells);
		/* All lanes of the wave got the same number. */
		if (first != (uint)__builtin_amdgcn_readfirstlane(first))
			output[0] = 0xbad;
		__builtin_amdgcn_atomic_inc32(cells + 1, 12u, __ATOMIC_RELAXED, "workgroup");
		__builtin_amdgcn_atomic_dec32(cells + 2, 9u, __ATOMIC_RELAXED, "workgroup");
		__builtin_amdgcn_atomic_inc32(output + 1, 100u, __ATOMIC_RELAXED, "agent");
		__builtin_amdgcn_atomic_dec32(output + 2, 77u, __ATOMIC_RELAXED, "agent");
	}
	workgroup_barrier();
	if (item < 3)
		output[4 + group_x() * 4 + item] = cells[item];
}
