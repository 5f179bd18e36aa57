/* SPDX-License-Identifier: MIT */
/* Kernels with which the tests of queues, errors and memory make workgroups do as they need. */

/* Each work-item writes its global id plus `offset`. */
kernel void write_ids(global uint *out, uint offset)
{
	uint id = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	out[id] = id + offset;
}

/* Each work-item copies its element. */
kernel void copy(global uint *out, global const uint *in)
{
	uint id = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();

	out[id] = in[id];
}

/* Announces itself in mine, then waits until the other kernel has done so. */
kernel void meet(global uint *mine, global uint *other)
{
	if (__builtin_amdgcn_workitem_id_x() != 0)
		return;
	__opencl_atomic_store((volatile global atomic_uint *)mine, 1, memory_order_release,
			      memory_scope_all_svm_devices);
	while (__opencl_atomic_load((volatile global atomic_uint *)other, memory_order_acquire,
				    memory_scope_all_svm_devices) == 0)
		__builtin_amdgcn_s_sleep(1);
}

/* All workgroups of the grid wait for each other. */
kernel void meet_grid(global uint *arrived, uint workgroups)
{
	if (__builtin_amdgcn_workitem_id_x() != 0)
		return;
	__opencl_atomic_fetch_add((volatile global atomic_uint *)arrived, 1, memory_order_acq_rel,
				  memory_scope_all_svm_devices);
	while (__opencl_atomic_load((volatile global atomic_uint *)arrived, memory_order_acquire,
				    memory_scope_all_svm_devices) < workgroups)
		__builtin_amdgcn_s_sleep(1);
}

/* Announces itself and never ends. */
kernel void endless(global uint *started)
{
	__opencl_atomic_store((volatile global atomic_uint *)started, 1, memory_order_release,
			      memory_scope_all_svm_devices);
	for (;;)
		__builtin_amdgcn_s_sleep(1);
}

kernel void trap(global uint *out)
{
	*out = 1;
	__builtin_trap();
}

/* SOPP operation 127 does not exist. */
kernel void illegal(global uint *out)
{
	*out = 1;
	__asm__ volatile(".long 0xbfff0000");
}

/* Which compute unit each workgroup runs on: bits 8 to 15 of the hardware id. */
kernel void compute_unit(global uint *out)
{
	out[__builtin_amdgcn_workgroup_id_x()] =
		__builtin_amdgcn_s_getreg((8 - 1) << 11 | 8 << 6 | 4);
}

/* Uses private memory that cannot be kept in registers. */
kernel void scratch(global uint *out, uint rotation)
{
	uint id = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
	volatile uint values[256];
	uint sum = 0;

	for (uint i = 0; i < 256; i++)
		values[(i + rotation) % 256] = i * id;
	for (uint i = 0; i < 256; i++)
		sum += values[i] ^ i;
	out[id] = sum;
}
