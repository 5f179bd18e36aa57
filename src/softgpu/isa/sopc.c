/* SPDX-License-Identifier: MIT */
/* SOPC: scalar compares; the result is SCC. */
#include "scalar.h"

#define COMPARE32(name, type, operator)                                                            \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		wave->scc = (type)SOURCE32(0) operator(type) SOURCE32(1);                          \
	}

COMPARE32(cmp_eq_i32, int32_t, ==)
COMPARE32(cmp_lg_i32, int32_t, !=)
COMPARE32(cmp_gt_i32, int32_t, >)
COMPARE32(cmp_ge_i32, int32_t, >=)
COMPARE32(cmp_lt_i32, int32_t, <)
COMPARE32(cmp_le_i32, int32_t, <=)
COMPARE32(cmp_eq_u32, uint32_t, ==)
COMPARE32(cmp_lg_u32, uint32_t, !=)
COMPARE32(cmp_gt_u32, uint32_t, >)
COMPARE32(cmp_ge_u32, uint32_t, >=)
COMPARE32(cmp_lt_u32, uint32_t, <)
COMPARE32(cmp_le_u32, uint32_t, <=)

SCALAR_OPERATION(cmp_eq_u64)
{
	wave->scc = SOURCE64(0) == SOURCE64(1);
}

SCALAR_OPERATION(cmp_lg_u64)
{
	wave->scc = SOURCE64(0) != SOURCE64(1);
}

SCALAR_OPERATION(bitcmp0_b32)
{
	wave->scc = (SOURCE32(0) >> (SOURCE32(1) & 31) & 1) == 0;
}

SCALAR_OPERATION(bitcmp1_b32)
{
	wave->scc = (SOURCE32(0) >> (SOURCE32(1) & 31) & 1) == 1;
}

SCALAR_OPERATION(bitcmp0_b64)
{
	wave->scc = (SOURCE64(0) >> (SOURCE32(1) & 63) & 1) == 0;
}

SCALAR_OPERATION(bitcmp1_b64)
{
	wave->scc = (SOURCE64(0) >> (SOURCE32(1) & 63) & 1) == 1;
}

/* The second source field is four mode bits, not an operand. */
SCALAR_OPERATION(set_gpr_idx_on)
{
	wave->m0 = (wave->m0 & ~0xf0ffu) | (SOURCE32(0) & 0xff) |
		   (uint32_t)(instruction->source[1] & 0xf) << 12;
	wave->mode |= 1u << SOFTGPU_MODE_GPR_INDEX_EN;
}

const struct softgpu_operation softgpu_sopc_operations[128] = {
	[0] = SCALAR_ENTRY(cmp_eq_i32, NONE, B32, B32),
	[1] = SCALAR_ENTRY(cmp_lg_i32, NONE, B32, B32),
	[2] = SCALAR_ENTRY(cmp_gt_i32, NONE, B32, B32),
	[3] = SCALAR_ENTRY(cmp_ge_i32, NONE, B32, B32),
	[4] = SCALAR_ENTRY(cmp_lt_i32, NONE, B32, B32),
	[5] = SCALAR_ENTRY(cmp_le_i32, NONE, B32, B32),
	[6] = SCALAR_ENTRY(cmp_eq_u32, NONE, B32, B32),
	[7] = SCALAR_ENTRY(cmp_lg_u32, NONE, B32, B32),
	[8] = SCALAR_ENTRY(cmp_gt_u32, NONE, B32, B32),
	[9] = SCALAR_ENTRY(cmp_ge_u32, NONE, B32, B32),
	[10] = SCALAR_ENTRY(cmp_lt_u32, NONE, B32, B32),
	[11] = SCALAR_ENTRY(cmp_le_u32, NONE, B32, B32),
	[12] = SCALAR_ENTRY(bitcmp0_b32, NONE, B32, B32),
	[13] = SCALAR_ENTRY(bitcmp1_b32, NONE, B32, B32),
	[14] = SCALAR_ENTRY(bitcmp0_b64, NONE, B64, B32),
	[15] = SCALAR_ENTRY(bitcmp1_b64, NONE, B64, B32),
	[16] = SCALAR_NOT_EMULATED(setvskip, NONE, B32, B32),
	[17] = SCALAR_ENTRY(set_gpr_idx_on, NONE, B32, NONE),
	[18] = SCALAR_ENTRY(cmp_eq_u64, NONE, B64, B64),
	[19] = SCALAR_ENTRY(cmp_lg_u64, NONE, B64, B64),
};
