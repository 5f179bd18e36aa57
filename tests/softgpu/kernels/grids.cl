/* SPDX-License-Identifier: MIT */
/* Grids and workgroups: ids in three dimensions, sizes, many workgroups that wait for each other.
 */
#include "kernel.h"

/* Grid sizes come as arguments, so that the kernel computes its place by itself. */
kernel void ids_3d(global const uint *input, global uint *output, uint count)
{
	uint size_x = __builtin_amdgcn_workgroup_size_x();
	uint size_y = __builtin_amdgcn_workgroup_size_y();
	uint size_z = __builtin_amdgcn_workgroup_size_z();
	uint x = group_x() * input[3] + item_x();
	uint y = group_y() * input[4] + item_y();
	uint z = group_z() * input[5] + item_z();
	uint index = (z * input[1] + y) * input[0] + x;
	global uint *mine = output + index * 6;

	(void)count;
	mine[0] = x | y << 10 | z << 20;
	mine[1] = group_x() | group_y() << 10 | group_z() << 20;
	mine[2] = item_x() | item_y() << 10 | item_z() << 20;
	mine[3] = __builtin_amdgcn_grid_size_x() | __builtin_amdgcn_grid_size_y() << 10 |
		  __builtin_amdgcn_grid_size_z() << 20;
	mine[4] = size_x;
	mine[5] = size_y | size_z << 16;
}

kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void
large_workgroup(global const uint *input, global uint *output, uint count)
{
	local uint cells[1024];
	uint item = item_x();

	(void)count;
	cells[item] = input[group_x() * 1024 + item];
	workgroup_barrier();
	for (uint distance = 512; distance; distance /= 2) {
		if (item < distance)
			cells[item] += hash(cells[item + distance]);
		workgroup_barrier();
	}
	output[group_x() * 1024 + item] = cells[item];
}

/* LDS whose size the packet decides. */
kernel void dynamic_lds(global const uint *input, global uint *output, uint count,
			local uint *cells)
{
	uint item = item_x(), index = global_x();

	cells[item] = input[index];
	workgroup_barrier();
	if (index < count)
		output[index] = cells[(item * 3 + 1) % 192];
}

#define ORDERED_LOAD(cell)                                                                         \
	__opencl_atomic_load(&(cell), __ATOMIC_ACQUIRE, __OPENCL_MEMORY_SCOPE_DEVICE)
#define ORDERED_STORE(cell, value)                                                                 \
	__opencl_atomic_store(&(cell), value, __ATOMIC_RELEASE, __OPENCL_MEMORY_SCOPE_DEVICE)

/*
 * Workgroup n waits for a word from workgroup n ^ 1 in each of several rounds: both must run at the
 * same time. output: a flag a workgroup, then a value a workgroup, then the results.
 */
kernel void ping_pong(global const uint *input, global uint *output, uint count)
{
	uint group = group_x();
	global atomic_uint *flags = (global atomic_uint *)output;
	global uint *values = output + count;

	if (item_x() != 0)
		return;
	uint value = input[group];
	for (uint round = 1; round <= 6; round++) {
		values[group] = value;
		ORDERED_STORE(flags[group], round * 2 - 1);
		while (ORDERED_LOAD(flags[group ^ 1]) < round * 2 - 1)
			__builtin_amdgcn_s_sleep(1);
		uint other = values[group ^ 1];
		ORDERED_STORE(flags[group], round * 2);
		while (ORDERED_LOAD(flags[group ^ 1]) < round * 2)
			__builtin_amdgcn_s_sleep(1);
		value = hash(value * 3 + other);
	}
	output[2 * count + group] = value;
}

/*
 * The last workgroup produces, all earlier ones spin on it: they must not starve it, although
 * they were dispatched first.
 */
kernel void wait_for_last(global const uint *input, global uint *output, uint count)
{
	uint groups = count;
	global atomic_uint *flag = (global atomic_uint *)output;

	if (group_x() == groups - 1) {
		output[16 + item_x()] = input[item_x()] * 5;
		workgroup_barrier();
		if (item_x() == 0)
			ORDERED_STORE(*flag, 1234);
		return;
	}
	while (ORDERED_LOAD(*flag) != 1234)
		;
	output[128 + group_x() * 64 + item_x()] = output[16 + item_x()] + group_x();
}

/* A barrier over the whole grid, made of an atomic counter. */
kernel void grid_barrier(global const uint *input, global uint *output, uint count)
{
	uint groups = count, item = item_x(), group = group_x();
	global atomic_uint *arrived = (global atomic_uint *)output;
	global uint *now = output + 16, *next = now + groups * 64;

	now[group * 64 + item] = input[group * 64 + item];
	for (uint round = 1; round <= 3; round++) {
		workgroup_barrier();
		if (item == 0) {
			__opencl_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL,
						  __OPENCL_MEMORY_SCOPE_DEVICE);
			while (ORDERED_LOAD(*arrived) < round * groups)
				__builtin_amdgcn_s_sleep(2);
		}
		workgroup_barrier();
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
		next[group * 64 + item] =
		    hash(now[(group + 1) % groups * 64 + item]) + now[group * 64 + (item ^ 1)];
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
		global uint *swap = now;
		now = next;
		next = swap;
	}
}

/* Volatile words that the kernel writes and reads back between fences. */
kernel void volatile_words(global const uint *input, volatile global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	output[index] = input[index];
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
	output[index] += 5;
	output[index] ^= output[index] << 3;
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
	output[index] = output[index] * 7 + (uint)(__builtin_amdgcn_s_memtime() == 0);
}
