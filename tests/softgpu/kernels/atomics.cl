/* SPDX-License-Identifier: MIT */
/* Atomic operations on global memory and LDS, by all lanes on a few cells. */
#include "kernel.h"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define RELAXED __ATOMIC_RELAXED
#define DEVICE	__OPENCL_MEMORY_SCOPE_DEVICE
#define GROUP	__OPENCL_MEMORY_SCOPE_WORK_GROUP
#define SYSTEM	__OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES

#define APPLY(cells, operation, value, scope)                                                      \
	__opencl_atomic_fetch_##operation(&(cells), value, RELAXED, scope)

/* The results depend on no order, so that the test can compute them. */
kernel void global_atomics(global const uint *input, global atomic_uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	uint value = input[index];
	global atomic_uint *cells = output + value % 4 * 8;
	APPLY(cells[0], add, value, DEVICE);
	APPLY(cells[1], sub, value, SYSTEM);
	APPLY(cells[2], min, value, DEVICE);
	APPLY(cells[3], max, value, DEVICE);
	APPLY(cells[4], and, value | 0xffff, DEVICE);
	APPLY(cells[5], or, value & 0x00ff00ff, DEVICE);
	APPLY(cells[6], xor, value, SYSTEM);
	global atomic_int *signed_cells = (global atomic_int *)(output + 32);
	APPLY(signed_cells[0], min, (int)value, DEVICE);
	APPLY(signed_cells[1], max, (int)value, DEVICE);
}

kernel void global_atomics_64(global const ulong *input, global atomic_ulong *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	ulong value = input[index];
	global atomic_ulong *cells = output + value % 4 * 8;
	APPLY(cells[0], add, value, DEVICE);
	APPLY(cells[1], sub, value, SYSTEM);
	APPLY(cells[2], min, value, DEVICE);
	APPLY(cells[3], max, value, DEVICE);
	APPLY(cells[4], and, value | 0xffff, DEVICE);
	APPLY(cells[5], or, value & 0x00ff00ff00ff00fful, DEVICE);
	APPLY(cells[6], xor, value, SYSTEM);
	global atomic_long *signed_cells = (global atomic_long *)(output + 32);
	APPLY(signed_cells[0], min, (long)value, DEVICE);
	APPLY(signed_cells[1], max, (long)value, DEVICE);
}

/* Old values come back: every ticket exactly once. */
kernel void tickets(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();
	global atomic_uint *counter = (global atomic_uint *)output;

	(void)input;
	if (index >= count)
		return;
	uint ticket = APPLY(counter[0], add, 1, DEVICE);
	uint pair = (uint)APPLY(*(global atomic_ulong *)(output + 2), add, 3ul, DEVICE) / 3;
	APPLY(counter[4 + ticket], add, 1, DEVICE);
	APPLY(counter[4 + count + pair], add, 1, DEVICE);
	/* The exchange hands each value on once; the last work-item takes the one left over. */
	uint taken = __opencl_atomic_exchange(counter + 1, index + 1, RELAXED, DEVICE);
	APPLY(counter[4 + 2 * count], add, hash(taken), DEVICE);
	uint done = __opencl_atomic_fetch_add(counter + 5 + 2 * count, 1, __ATOMIC_ACQ_REL, DEVICE);
	if (done == count - 1) {
		taken = __opencl_atomic_exchange(counter + 1, 0, RELAXED, DEVICE);
		APPLY(counter[4 + 2 * count], add, hash(taken), DEVICE);
	}
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
lds_atomics(global const uint *input, global uint *output, uint count)
{
	local atomic_uint cells[10];
	local atomic_ulong wide[4];
	uint item = item_x(), index = group_x() * 256 + item;
	global uint *mine = output + group_x() * 24;

	if (item < 10)
		__opencl_atomic_store(cells + item, item == 2 || item == 4 ? ~0u : 0, RELAXED,
				      GROUP);
	if (item < 4)
		__opencl_atomic_store(wide + item, item == 1 ? ~0ul : 0, RELAXED, GROUP);
	workgroup_barrier();
	if (index < count) {
		uint value = input[index];
		APPLY(cells[0], add, value, GROUP);
		APPLY(cells[1], sub, value, GROUP);
		APPLY(cells[2], min, value, GROUP);
		APPLY(cells[3], max, value, GROUP);
		APPLY(cells[4], and, value | 0xffff, GROUP);
		APPLY(cells[5], or, value & 0x00ff00ff, GROUP);
		APPLY(cells[6], xor, value, GROUP);
		APPLY(*(local atomic_int *)(cells + 7), min, (int)value, GROUP);
		APPLY(*(local atomic_int *)(cells + 8), max, (int)value, GROUP);
		uint ticket = APPLY(cells[9], add, 1, GROUP);
		APPLY(wide[0], add, (ulong)value * value + ticket, GROUP);
		APPLY(wide[1], min, (ulong)value << 20, GROUP);
		APPLY(wide[2], max, (ulong)value << 20, GROUP);
		APPLY(wide[3], xor, (ulong)value << 17, GROUP);
	}
	workgroup_barrier();
	if (item < 10)
		mine[item] = __opencl_atomic_load(cells + item, RELAXED, GROUP);
	if (item < 4)
		((global ulong *)mine)[6 + item] =
		    __opencl_atomic_load(wide + item, RELAXED, GROUP);
}

/* A sum by compare-and-swap loops, 32 and 64 bits, global memory and LDS. */
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
swap_loops(global const uint *input, global atomic_uint *output, uint count)
{
	local atomic_uint sum;
	uint item = item_x(), index = group_x() * 64 + item;

	if (item == 0)
		__opencl_atomic_store(&sum, 0, RELAXED, GROUP);
	workgroup_barrier();
	if (index < count) {
		uint value = input[index];
		uint seen = __opencl_atomic_load(&sum, RELAXED, GROUP);
		while (!__opencl_atomic_compare_exchange_strong(&sum, &seen, seen + value, RELAXED,
								RELAXED, GROUP))
			;
		seen = __opencl_atomic_load(output, RELAXED, DEVICE);
		while (!__opencl_atomic_compare_exchange_weak(output, &seen, seen + value, RELAXED,
							      RELAXED, DEVICE))
			;
		global atomic_ulong *wide = (global atomic_ulong *)(output + 2);
		ulong seen_wide = __opencl_atomic_load(wide, RELAXED, DEVICE);
		while (!__opencl_atomic_compare_exchange_strong(
		    wide, &seen_wide, seen_wide ^ (ulong)value << 16, __ATOMIC_ACQ_REL,
		    __ATOMIC_ACQUIRE, SYSTEM))
			;
	}
	workgroup_barrier();
	if (item == 0)
		__opencl_atomic_store(output + 4 + group_x(),
				      __opencl_atomic_load(&sum, RELAXED, GROUP), RELAXED, DEVICE);
}

/* Whole numbers below 2^24: a float sum is exact in every order. */
kernel void float_add(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float value = (float)(input[index] % 997);
	global atomic_uint *cell = (global atomic_uint *)output + input[index] % 3;
	uint seen = __opencl_atomic_load(cell, RELAXED, DEVICE);
	while (!__opencl_atomic_compare_exchange_strong(
	    cell, &seen, as_uint(as_float(seen) + value), RELAXED, RELAXED, DEVICE))
		;
}

/* The hardware's own floating-point atomics. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void float_add_native(global const uint *input, global uint *output, uint count)
{
	uint index = global_x();

	if (index >= count)
		return;
	float value = (float)(input[index] % 997);
	__builtin_amdgcn_global_atomic_fadd_f32((global float *)output + input[index] % 3, value);
	__builtin_amdgcn_global_atomic_fadd_f64((global double *)(output + 4) + input[index] % 3,
						(double)value);
}
