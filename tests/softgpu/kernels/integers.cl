/* SPDX-License-Identifier: MIT */
/* Integer arithmetic: division, wide products, shifts, comparisons, bit twiddling. */
#include "kernel.h"

/* Division by zero and INT_MIN / -1 have no value in C: both sides skip them alike. */
kernel void divide_32(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint a = input[index * 2], b = input[index * 2 + 1];
	global uint *mine = output + index * 4;
	if (b == 0)
		return;
	mine[0] = a / b;
	mine[1] = a % b;
	if (a == 0x80000000u && b == ~0u)
		return;
	mine[2] = (uint)((int)a / (int)b);
	mine[3] = (uint)((int)a % (int)b);
}

kernel void divide_64(global const ulong *input, global ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong a = input[index * 2], b = input[index * 2 + 1];
	global ulong *mine = output + index * 4;
	if (b == 0)
		return;
	mine[0] = a / b;
	mine[1] = a % b;
	if (a == 1ul << 63 && b == ~0ul)
		return;
	mine[2] = (ulong)((long)a / (long)b);
	mine[3] = (ulong)((long)a % (long)b);
}

kernel void divide_small(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint bits = input[index];
	ushort a = (ushort)bits, b = (ushort)(bits >> 16);
	uchar c = (uchar)bits, d = (uchar)(bits >> 8);
	char e = (char)bits, f = (char)(bits >> 8);
	global uint *mine = output + index * 6;
	mine[0] = b ? (uint)(a / b) : 1;
	mine[1] = b ? (uint)(a % b) : 2;
	mine[2] = d ? (uint)(c / d) : 3;
	mine[3] = f ? (uint)(e / f) : 4;
	mine[4] = bits / 10;
	mine[5] = (uint)((int)bits % 1000003);
}

/* 64-bit gather: page table lookup with a division and a remainder by a run-time size. */
kernel void gather(global const uint *input, global ulong *output, uint count)
{
	uint index = global_x();
	ulong page_size = input[0];
	global const ulong *pages = (global const ulong *)(input + 2);

	if (index >= count)
		return;
	ulong position = (ulong)index * 0x9e3779b9ul;
	ulong page = position / page_size, offset = position % page_size;
	output[index] = pages[page % count] * page_size + offset;
}

/* First position whose key is not below the wanted one; keys are sorted. */
kernel void binary_search(global const ulong *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong wanted = input[count + index];
	uint low = 0, high = count;
	while (low < high) {
		uint middle = low + (high - low) / 2;
		if (input[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	output[index] = low;
}

kernel void multiply(global const ulong *input, global ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong a = input[index * 2], b = input[index * 2 + 1];
	global ulong *mine = output + index * 7;
	mine[0] = a * b;
	mine[1] = a * (uint)b + (b >> 7);
	mine[2] = (ulong)((long)(int)a * (int)b) + b;
	mine[3] = (uint)a * (uint)b;
	mine[4] = (a & 0xffffff) * (b & 0xffffff);
	mine[5] = (ulong)(long)((int)(a << 8) >> 8) * (ulong)(long)((int)(b << 8) >> 8);
	mine[6] = (ulong)(((__int128)(long)a * (long)b) >> 64);
}

kernel void add_carry(global const ulong *input, global ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong a = input[index * 2], b = input[index * 2 + 1];
	global ulong *mine = output + index * 8;
	unsigned __int128 wide =
	    ((unsigned __int128)a << 64 | b) + ((unsigned __int128)b << 64 | a);
	mine[0] = a + b;
	mine[1] = a - b;
	mine[2] = (ulong)wide;
	mine[3] = (ulong)(wide >> 64);
	mine[4] = a + b < a;
	mine[5] = (ulong)((long)a < (long)b) + (a >= b);
	mine[6] = (a > b ? a : b) - ((long)a < (long)b ? a : b);
	mine[7] = (ulong) - (long)(a ^ ~b);
}

kernel void shifts(global const ulong *input, global ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong a = input[index * 2], b = input[index * 2 + 1];
	uint low = (uint)a, by = (uint)b & 31;
	global ulong *mine = output + index * 8;
	mine[0] = a << (b & 63);
	mine[1] = a >> (b & 63);
	mine[2] = (ulong)((long)a >> (b & 63));
	mine[3] = (low << by | low >> (-by & 31)) + ((ulong)(low >> by) << 32);
	mine[4] = (uint)((int)low >> by);
	mine[5] = a << 13 | a >> 51;
	mine[6] = (ushort)((ushort)a << (b & 15)) | (uint)(ushort)((short)a >> (b & 15)) << 16;
	mine[7] = (low << 4) + (uint)b + ((low << 9 | (uint)b) ^ ((low + 77) << 3));
}

kernel void bits(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint a = input[index * 2], b = input[index * 2 + 1];
	ulong wide = (ulong)a << 32 | b;
	global uint *mine = output + index * 21;
	mine[0] = __builtin_popcount(a);
	mine[1] = __builtin_popcountl(wide);
	mine[2] = a ? (uint)__builtin_clz(a) : 32;
	mine[3] = a ? (uint)__builtin_ctz(a) : 32;
	mine[4] = wide ? (uint)__builtin_clzl(wide) : 64;
	mine[5] = wide ? (uint)__builtin_ctzl(wide) : 64;
	mine[6] = __builtin_bitreverse32(a);
	mine[7] = (uint)(__builtin_bitreverse64(wide) >> 16);
	mine[8] = __builtin_bswap32(a);
	mine[9] = (uint)(__builtin_bswap64(wide) >> 24);
	mine[10] = a >> 7 & 0x1fff;
	mine[11] = (uint)((int)(a << 9) >> 23);
	mine[12] = __builtin_amdgcn_ubfe(a, b & 31, b >> 5 & 31);
	mine[13] = __builtin_amdgcn_sbfe((int)a, b & 31, b >> 5 & 31);
	mine[14] = __builtin_amdgcn_alignbit(a, b, a & 31);
	mine[15] = __builtin_amdgcn_alignbyte(a, b, b & 3);
	mine[16] = __builtin_amdgcn_perm(a, b, 0x07010c02u ^ (a & 0x00040004u));
	mine[17] = (a & b) | (~a & 0x12345678u);
	mine[18] = a ^ b ^ 0x0f0f0f0fu;
	mine[19] = (a & 0xff00ff) | b;
	mine[20] = (a << 16) | (b & 0xffff);
}

kernel void compares(global const ulong *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong a = input[index * 2], b = input[index * 2 + 1];
	uint c = (uint)a, d = (uint)b;
	uint result = 0;
	result |= (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a >= b) << 4;
	result |= ((long)a < (long)b) << 5 | ((long)a <= (long)b) << 6 | ((long)a > (long)b) << 7;
	result |= (c < d) << 8 | (c <= d) << 9 | (c == d) << 10 | (c != d) << 11 | (c >= d) << 12;
	result |= ((int)c < (int)d) << 13 | ((int)c <= (int)d) << 14 | ((int)c > (int)d) << 15;
	result |= ((ushort)a < (ushort)b) << 16 | ((short)a < (short)b) << 17;
	result |= ((uchar)a < (uchar)b) << 18 | ((char)a < (char)b) << 19;
	result |= ((ushort)a == (ushort)b) << 20 | ((char)a != (char)b) << 21;
	output[index * 3] = result;
	int e = (int)c, f = (int)d, g = (int)(a >> 32);
	int low = e < f ? e : f, high = e < f ? f : e;
	output[index * 3 + 1] = (uint)(g < low ? low : g > high ? high : g);
	output[index * 3 + 2] = (c < d ? c : d) + (c > 100 ? c : 100) + (uint)(e < -5 ? e : -5);
}

/* Uniform values: the same arithmetic on the scalar unit. */
kernel void scalars(global const uint *input, global uint *output, uint count)
{
	uint group = group_x();
	uint a = input[group * 2], b = input[group * 2 + 1];
	ulong wide = (ulong)a << 32 | b;
	global uint *mine = output + group * 20;

	(void)count;
	mine[0] = a + b;
	mine[1] = a - b;
	mine[2] = a * b;
	mine[3] = (uint)(((ulong)a * b) >> 32);
	mine[4] = (uint)(((long)(int)a * (int)b) >> 32);
	mine[5] = a << (b & 31);
	mine[6] = (uint)((int)a >> (b & 31));
	mine[7] = (uint)(wide >> (b & 63));
	mine[8] = (uint)((long)wide >> (a & 63));
	mine[9] = (uint)(wide << (a & 63));
	mine[10] = (a & ~b) ^ (a | ~b);
	mine[11] = __builtin_popcount(a) + (uint)__builtin_popcountl(wide);
	mine[12] = a ? (uint)__builtin_clz(a) : 77;
	mine[13] = wide ? (uint)__builtin_ctzl(wide) : 78;
	mine[14] = __builtin_bitreverse32(a) + (uint)__builtin_bitreverse64(wide);
	mine[15] = (a >> 5 & 0x7ff) + (uint)((int)(b << 3) >> 20);
	mine[16] = (a < b ? a : b) + (uint)((int)a < (int)b ? (int)b : (int)a);
	mine[17] = b ? a / b : 5;
	mine[18] = (uint)(short)a + (uint)(char)b;
	mine[19] = (uint)((int)a < 0 ? -(int)a : (int)a) + (wide > 0x100000000ul ? 3u : 9u);
}
