/* SPDX-License-Identifier: MIT */
/* Single and double precision: exact operations, conversions and hardware approximations. */
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void single_exact(global const float *input, global float *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	global float *mine = output + index * 12;
	mine[0] = a + b;
	mine[1] = a - b;
	mine[2] = a * b;
	mine[3] = __builtin_fmaf(a, b, c);
	mine[4] = __builtin_fmaf(-a, b, -c);
	mine[5] = a / b;
	mine[6] = __builtin_floorf(a);
	mine[7] = __builtin_ceilf(b);
	mine[8] = __builtin_truncf(c);
	mine[9] = __builtin_rintf(a);
	mine[10] = __builtin_fabsf(a) + -b;
	mine[11] = __builtin_copysignf(a, c);
}

kernel void single_select(global const float *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	global uint *mine = output + index * 5;
	mine[0] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a >= b) << 4 |
		  (a > b) << 5 | !(a < b) << 6 | !(a >= b) << 7 | __builtin_isunordered(a, b) << 8 |
		  (a != a) << 9 | __builtin_islessgreater(a, c) << 10;
	mine[1] = as_uint(a < b ? a : c);
	/* The result's NaN bits and the sign of a zero are the hardware's choice: not compared. */
	mine[2] = __builtin_fmaxf(a, b) == (a > b ? a : b);
	mine[3] = __builtin_fminf(b, c) <= b;
	mine[4] =
	    __builtin_isinf(a) | __builtin_isnan(b) << 1 | (__builtin_fabsf(c) < 0x1p-126f) << 2;
}

kernel void double_exact(global const double *input, global double *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	double a = input[index * 3], b = input[index * 3 + 1], c = input[index * 3 + 2];
	global double *mine = output + index * 10;
	mine[0] = a + b;
	mine[1] = a - b;
	mine[2] = a * b;
	mine[3] = __builtin_fma(a, b, c);
	mine[4] = a / b;
	mine[5] = __builtin_floor(a);
	mine[6] = __builtin_ceil(b);
	mine[7] = __builtin_trunc(c);
	mine[8] = __builtin_rint(a);
	mine[9] = a < b ? -a : __builtin_fabs(c);
}

/* Operands are bounded by the test so that each conversion has a value in C. */
kernel void conversions(global const float *input, global ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float a = input[index];
	uint bits = as_uint(a);
	double wide = (double)a * 3.0000001;
	global ulong *mine = output + index * 14;
	mine[0] = (ulong)(long)(int)a;
	mine[1] = (uint)__builtin_fabsf(a);
	mine[2] = (ulong)(long)a;
	mine[3] = (ulong)__builtin_fabsf(a);
	mine[4] = as_ulong(wide);
	mine[5] = as_uint((float)wide);
	mine[6] = as_uint((float)bits) | (ulong)as_uint((float)(int)bits) << 32;
	mine[7] = as_uint((float)((ulong)bits * 0x10001)) |
		  (ulong)as_uint((float)((long)(int)bits * 0x30003)) << 32;
	mine[8] = as_ulong((double)bits);
	mine[9] = as_ulong((double)(int)bits);
	mine[10] = as_ulong((double)((ulong)bits * 0x123456789ul));
	mine[11] = as_ulong((double)(long)((ulong)bits * 0xfedcba987654321ul));
	mine[12] = (ulong)(long)(int)wide + (uint)__builtin_fabs(wide);
	mine[13] =
	    (ulong)(long)(wide * 1e6) ^ (ulong)as_uint((float)(uchar)bits + (float)(bits >> 24));
}

/* Square roots and reciprocals: the test allows the documented error of each. */
kernel void single_approximate(global const float *input, global float *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float a = input[index];
	global float *mine = output + index * 6;
	mine[0] = __builtin_sqrtf(a);
	mine[1] = __builtin_amdgcn_rcpf(a);
	mine[2] = __builtin_amdgcn_rsqf(a);
	mine[3] = __builtin_amdgcn_fractf(a);
	mine[4] = __builtin_amdgcn_sqrtf(a);
	mine[5] = __builtin_amdgcn_frexp_mantf(a);
}

kernel void double_approximate(global const double *input, global double *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	double a = input[index];
	global double *mine = output + index * 4;
	mine[0] = __builtin_amdgcn_rcp(a);
	mine[1] = __builtin_amdgcn_rsq(a);
	mine[2] = __builtin_amdgcn_frexp_mant(a);
	mine[3] = __builtin_amdgcn_ldexp(a, __builtin_amdgcn_frexp_exp(a) / 2 - 3);
}
