/* SPDX-License-Identifier: MIT */
/* What the test kernels share. No device library is linked, so only compiler builtins are used. */
#ifndef KERNEL_H
#define KERNEL_H

#define WAVE_SIZE 64

#define group_x() __builtin_amdgcn_workgroup_id_x()
#define group_y() __builtin_amdgcn_workgroup_id_y()
#define group_z() __builtin_amdgcn_workgroup_id_z()
#define item_x()  __builtin_amdgcn_workitem_id_x()
#define item_y()  __builtin_amdgcn_workitem_id_y()
#define item_z()  __builtin_amdgcn_workitem_id_z()

/* Not inlined: a real call with its own frame. */
#define OUT_OF_LINE __attribute__((noinline))

static inline uint global_x(void)
{
	return group_x() * __builtin_amdgcn_workgroup_size_x() + item_x();
}

static inline uint lane(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

static inline ulong ballot(bool predicate)
{
	return __builtin_amdgcn_uicmp((uint)predicate, 0u, 33 /* not equal */);
}

static inline void workgroup_barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline uint hash(uint value)
{
	value ^= value >> 16;
	value *= 0x7feb352du;
	value ^= value >> 15;
	value *= 0x846ca68bu;
	return value ^ value >> 16;
}

#endif
