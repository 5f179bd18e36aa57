/* SPDX-License-Identifier: MIT */
/* Loads and stores of every width, aligned and not, in every address space. */
#include "kernel.h"

/* Moves [0, count) bytes by one access width; offsets make the pointers unaligned. */
#define MOVE(name, type, alignment)                                                                \
	typedef type name##_type __attribute__((aligned(alignment)));                              \
	kernel void name(global const uchar *input, global uchar *output, uint count)              \
	{                                                                                          \
		uint index = global_x();                                                           \
		if (index >= count)                                                                \
			return;                                                                    \
		((global name##_type *)output)[index] =                                            \
		    ((global const name##_type *)input)[count - 1 - index];                        \
	}
MOVE(move_byte, uchar, 1)
MOVE(move_short, ushort, 2)
MOVE(move_dword, uint, 4)
MOVE(move_x2, uint2, 8)
MOVE(move_x4, uint4, 16)

#define MOVE_UNALIGNED(name, type)                                                                 \
	typedef type name##_type __attribute__((aligned(1)));                                      \
	kernel void name(global const uchar *input, global uchar *output, uint count)              \
	{                                                                                          \
		uint index = global_x();                                                           \
		if (index >= count)                                                                \
			return;                                                                    \
		*(global name##_type *)(output + 3 + index * sizeof(type)) =                       \
		    *(global const name##_type *)(input + 1 + (count - 1 - index) * sizeof(type)); \
	}
MOVE_UNALIGNED(unaligned_short, ushort)
MOVE_UNALIGNED(unaligned_dword, uint)
MOVE_UNALIGNED(unaligned_x2, uint2)
MOVE_UNALIGNED(unaligned_x4, uint4)

/* Three dwords: the structure has no padding. */
struct triple {
	uint a, b, c;
};

kernel void move_x3(global const struct triple *input, global struct triple *output, uint count)
{
	uint index = global_x();

	if (index < count)
		output[index] = input[count - 1 - index];
}

/* Sign and zero extension of narrow loads, narrow stores of wide values. */
kernel void extend(global const uchar *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	global uint *mine = output + index * 6;
	global const ushort *shorts = (global const ushort *)input;
	mine[0] = (uint)((global const char *)input)[index];
	mine[1] = input[index];
	mine[2] = (uint)((global const short *)input)[index / 2];
	mine[3] = shorts[index / 2];
	((global uchar *)(mine + 4))[1] = (uchar)shorts[index / 2];
	((global ushort *)(mine + 5))[1] = (ushort)(input[index] * 259);
}

struct record {
	uint key;
	ushort tags[5];
	uchar name[11];
	ulong value;
};

kernel void copy_records(global const struct record *input, global struct record *output,
			 uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	struct record copy = input[index * 7 % count];
	copy.key += index;
	copy.tags[copy.key % 5] ^= 0x55aa;
	copy.name[copy.key % 11] = (uchar)index;
	copy.value = copy.value * 3 + copy.tags[2];
	output[index] = copy;
}

/* A private array that is indexed by data: scratch memory. */
kernel void scratch_permute(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	uint words[24];
	uchar bytes[40];
	ulong pairs[9];

	if (index >= count)
		return;
	for (uint slot = 0; slot < 24; slot++)
		words[slot] = input[(index + slot) % count];
	for (uint slot = 0; slot < 40; slot++)
		bytes[slot] = (uchar)(words[slot % 24] >> slot % 25);
	for (uint slot = 0; slot < 9; slot++)
		pairs[slot] = (ulong)words[slot * 2] << 32 | slot;
	for (uint turn = 0; turn < 24; turn++) {
		uint from = words[turn] % 24;
		uint kept = words[from];
		words[from] = words[turn] + bytes[kept % 40];
		words[turn] = kept;
		pairs[kept % 9] += words[from];
		bytes[from] ^= (uchar)turn;
	}
	uint sum = 0;
	for (uint slot = 0; slot < 24; slot++)
		sum = sum * 31 + words[slot] + bytes[slot] + (uint)(pairs[slot % 9] >> 16);
	output[index] = sum;
}

/* LDS by every width; the second half of the words is read back in another order. */
kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
lds_widths(global const uint *input, global uint *output, uint count)
{
	local uint words[128 * 4] __attribute__((aligned(16)));
	local uchar bytes[128];
	local ushort shorts[128];
	uint item = item_x(), index = group_x() * 128 + item;

	(void)count;
	uint4 mine = ((global const uint4 *)input)[index];
	((local uint4 *)words)[item] = mine;
	bytes[item] = (uchar)mine.y;
	shorts[item] = (ushort)mine.z;
	workgroup_barrier();
	uint2 pair = ((local uint2 *)words)[255 - item];
	uint word = words[item * 37 % 512];
	uint byte_sum = bytes[(item * 11 + 5) % 128] + (uint)(char)bytes[127 - item];
	uint short_sum = shorts[(item * 3 + 1) % 128] + (uint)(short)shorts[item ^ 64];
	workgroup_barrier();
	words[item] = pair.x + byte_sum;
	words[item + 128] = pair.y ^ short_sum;
	((local uchar *)words)[1024 + item] = (uchar)word;
	((local ushort *)words)[640 + item] = (ushort)(word >> 9);
	workgroup_barrier();
	output[index * 3] = words[item ^ 1];
	output[index * 3 + 1] = words[item + 128];
	output[index * 3 + 2] = item < 32 ? words[256 + item] : words[320 + item % 64];
}

/* One pointer variable, three address spaces: flat accesses. */
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
generic_pointers(global const uint *input, global uint *output, uint count)
{
	local uint shared[64];
	uint own[64];
	uint item = item_x(), index = group_x() * 64 + item;

	if (index >= count)
		index = count - 1;
	for (uint slot = 0; slot < 64; slot++)
		own[slot] = slot * item;
	shared[item] = input[index] * 3;
	workgroup_barrier();
	volatile const generic uint *where;
	uint choice = input[index] % 3;
	if (choice == 0)
		where = input + index;
	else if (choice == 1)
		where = shared + (63 - item);
	else
		where = own + (index & 63);
	uint loaded = *where;
	volatile generic uint *target = choice == 1 ? (volatile generic uint *)(own + 5)
						    : (volatile generic uint *)(output + index);
	*target = loaded + 1;
	output[index] = choice == 1 ? own[5] * 2 : output[index] ^ 0x80;
}

/* Constant tables: addressed relative to the program counter. */
constant uint primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
constant uchar letters[] = "software graphics processor";

kernel void constants(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index];
	output[index] = primes[value & 15] * primes[group_x() & 15] + letters[value % 27];
}
