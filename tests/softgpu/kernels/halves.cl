/* SPDX-License-Identifier: MIT */
/* Half precision and packed 16-bit operations. */
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void half_exact(global const ushort *input, global ushort *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	half a = as_half(input[index * 2]), b = as_half(input[index * 2 + 1]);
	global ushort *mine = output + index * 8;
	mine[0] = as_ushort((half)(a + b));
	mine[1] = as_ushort((half)(a - b));
	mine[2] = as_ushort((half)(a * b));
	mine[3] = as_ushort(a < b ? (half)(-a) : b);
	mine[4] = (ushort)((a < b) | (a == b) << 1 | (a >= b) << 2 | (a != b) << 3);
	mine[5] = (ushort)(as_uint((float)a) >> 13);
	mine[6] = as_ushort((half)((float)a + 100.0f));
	mine[7] = as_ushort((half)(short)input[index * 2]);
}

kernel void packed_halves(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	half2 a = as_half2(input[index * 2]), b = as_half2(input[index * 2 + 1]);
	global uint *mine = output + index * 4;
	mine[0] = as_uint(a + b);
	mine[1] = as_uint(a * b);
	mine[2] = as_uint(a - b.yx);
	mine[3] = as_uint(-a + b * (half2)(2.0h, 0.5h));
}

kernel void packed_shorts(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ushort2 a = as_ushort2(input[index * 2]), b = as_ushort2(input[index * 2 + 1]);
	short2 c = as_short2(a), d = as_short2(b);
	global uint *mine = output + index * 9;
	mine[0] = as_uint(a + b);
	mine[1] = as_uint(a - b.yx);
	mine[2] = as_uint(a * b);
	mine[3] = as_uint(a << (b & (ushort2)15));
	mine[4] = as_uint(c >> (d & (short2)15));
	mine[5] = as_uint(a >> (b & (ushort2)15));
	mine[6] = as_uint(c < d ? c : d);
	mine[7] = as_uint(a > b ? a : b);
	mine[8] = as_uint(a * b + a.yx);
}
