/* SPDX-License-Identifier: MIT */
/* Calls: out of line, nested, recursive, through pointers; many-way branches. */
#include "kernel.h"
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

OUT_OF_LINE uint mix(uint a, uint b)
{
	return hash(a) * 31 + b;
}

OUT_OF_LINE ulong spill(uint a, ulong b, uint4 c, private uint *cells)
{
	cells[a % 8] += (uint)b;
	return ((ulong)mix(a, c.x) << 32 | mix(c.y, c.z)) + cells[c.w % 8] + b;
}

OUT_OF_LINE uint outer(uint depth, uint value)
{
	uint cells[8];

	for (uint slot = 0; slot < 8; slot++)
		cells[slot] = value + slot * depth;
	ulong wide =
	    spill(value, value * 0x100000001ul, (uint4)(value, depth, value ^ depth, 7), cells);
	return (uint)(wide >> 20) ^ mix(cells[value % 8], depth);
}

kernel void nested_calls(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index];
	for (uint depth = 0; depth < value % 5; depth++)
		value = outer(depth, value);
	output[index] = value;
}

/* A chain of calls in divergent branches: some lanes are off in the callees. */
OUT_OF_LINE uint third(uint value)
{
	return value & 1 ? mix(value, 3) : value / 3;
}

OUT_OF_LINE uint second(uint value)
{
	return value & 2 ? third(value + 1) + mix(value, 2) : third(value * 5);
}

OUT_OF_LINE uint first(uint value)
{
	return value & 4 ? second(value ^ 0xabcd) : second(third(value));
}

kernel void divergent_calls(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index];
	if (value % 3)
		value = first(value) + lane();
	if (value % 5 == 2)
		return;
	output[index] = value;
}

OUT_OF_LINE uint descend(uint depth, uint value)
{
	if (depth == 0)
		return value;
	return hash(descend(depth - 1, value + depth)) ^ depth;
}

kernel void recursion(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index < count)
		output[index] = descend(input[index] % 13, input[index]);
}

typedef uint operation(uint, uint);

OUT_OF_LINE uint operation_add(uint a, uint b)
{
	return a + b;
}

OUT_OF_LINE uint operation_xor(uint a, uint b)
{
	return a ^ b;
}

OUT_OF_LINE uint operation_hash(uint a, uint b)
{
	return hash(a - b);
}

/* Lanes of one wave call different functions by pointer. */
kernel void pointer_calls(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index];
	operation *chosen = operation_add;
	if (value % 3 == 1)
		chosen = operation_xor;
	if (value % 3 == 2)
		chosen = operation_hash;
	output[index] = chosen(value, index);
}

kernel void switches(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index], result = 0;
	switch (value % 11) {
	case 0:
		result = value + 1;
		break;
	case 1:
		result = value * 3;
		/* fall through */
	case 2:
		result ^= 0x1234;
		break;
	case 3:
	case 4:
		result = value / 7;
		break;
	case 7:
		for (uint turn = 0; turn < value % 9; turn++)
			result += hash(value + turn);
		break;
	case 9:
		result = ~value;
		break;
	default:
		result = value >> 3;
	}
	switch (input[group_x()] & 7) { /* the same for the whole workgroup */
	case 0:
		result += 11;
		break;
	case 1:
		result -= 22;
		break;
	case 2:
		result *= 33;
		break;
	case 3:
		result ^= 44;
		break;
	case 5:
		result = (result << 5) + 1;
		break;
	default:
		result |= 0x40;
	}
	switch (value >> 28) { /* a table of constants */
	case 0:
		result += 100;
		break;
	case 1:
		result += 7;
		break;
	case 2:
		result += 5000;
		break;
	case 3:
		result += 12;
		break;
	case 4:
		result += 99;
		break;
	case 5:
		result += 31;
		break;
	case 6:
		result += 2;
		break;
	case 7:
		result += 77777;
		break;
	default:
		break;
	}
	output[index] = result;
}

/* Collatz steps: lanes leave the loop one after another. */
kernel void loops(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong value = input[index] % 100000 + 1;
	uint steps = 0;
	while (value != 1 && steps < 200) {
		if (value & 1) {
			value = value * 3 + 1;
		} else {
			value /= 2;
			if (value % 1000 == 777)
				continue;
		}
		steps++;
	}
	output[index] = steps << 16 ^ (uint)value;
}
