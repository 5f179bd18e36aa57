/* SPDX-License-Identifier: MIT */
/* The kernels that the tests of the library dispatch. */

/* Appends a value to a log: shows the order of dispatches. One work-item. */
kernel void append(global uint *cursor, global uint *log, uint value)
{
	log[*cursor] = value;
	*cursor += 1;
}

/* Does not end before the host sets the flag. */
kernel void wait_for_flag(global atomic_uint *flag)
{
	while (__opencl_atomic_load(flag, memory_order_relaxed, memory_scope_all_svm_devices) == 0)
		__builtin_amdgcn_s_sleep(1);
}

/* Waits for the flag, then writes to an address. One work-item. */
kernel void store_after_flag(global atomic_uint *flag, global uint *address, uint value)
{
	while (__opencl_atomic_load(flag, memory_order_relaxed, memory_scope_all_svm_devices) == 0)
		__builtin_amdgcn_s_sleep(1);
	*address = value;
}

/* Waits for the flag, then copies: a consumer that is still reading. One work-item. */
kernel void copy_after_flag(global atomic_uint *flag, global uint *destination,
			    global const uint *source, uint count)
{
	while (__opencl_atomic_load(flag, memory_order_relaxed, memory_scope_all_svm_devices) == 0)
		__builtin_amdgcn_s_sleep(1);
	for (uint i = 0; i < count; i++)
		destination[i] = source[i];
}

/* Each work-item of a workgroup of x * y * z adds 1 + its flat local id to its workgroup's sum. */
kernel void sum_of_workgroups(global uint *sums, uint x, uint y, uint workgroups_x,
			      uint workgroups_y)
{
	uint workgroup =
	    (__builtin_amdgcn_workgroup_id_z() * workgroups_y + __builtin_amdgcn_workgroup_id_y()) *
		workgroups_x +
	    __builtin_amdgcn_workgroup_id_x();
	uint item = (__builtin_amdgcn_workitem_id_z() * y + __builtin_amdgcn_workitem_id_y()) * x +
		    __builtin_amdgcn_workitem_id_x();

	__opencl_atomic_fetch_add((global atomic_uint *)sums + workgroup, item + 1,
				  memory_order_relaxed, memory_scope_device);
}

/* Reverses the values of one workgroup by way of LDS whose size the dispatch gives. */
kernel void reverse(global uint *values, uint count, local uint *reversed)
{
	uint item = __builtin_amdgcn_workitem_id_x();

	reversed[count - 1 - item] = values[item];
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	values[item] = reversed[item];
}
