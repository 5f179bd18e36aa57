/* SPDX-License-Identifier: MIT */
/* SOP2: scalar operations with two sources. */
#include "scalar.h"

/* D = expression of 32-bit a and b; the second macro also sets SCC where the result is not 0. */
#define RESULT32(name, expression)                                                                 \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint32_t a = SOURCE32(0);                                                          \
		uint32_t b = SOURCE32(1);                                                          \
                                                                                                   \
		WRITE32(expression);                                                               \
	}

#define RESULT32_SCC(name, expression)                                                             \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint32_t a = SOURCE32(0);                                                          \
		uint32_t b = SOURCE32(1);                                                          \
		uint32_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE32(result);                                                                   \
	}

#define RESULT64_SCC(name, expression)                                                             \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint64_t b = SOURCE64(1);                                                          \
		uint64_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE64(result);                                                                   \
	}

/* The second source is a shift count or a bit field of 32 bits. */
#define SHIFT64_SCC(name, expression)                                                              \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint32_t b = SOURCE32(1);                                                          \
		uint64_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE64(result);                                                                   \
	}

/* SCC = carry: bit 32 of a sum, the sign of a difference. */
#define CARRY(name, expression)                                                                    \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE32(0);                                                          \
		uint64_t b = SOURCE32(1);                                                          \
		uint64_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result >> 32 != 0;                                                     \
		WRITE32((uint32_t)result);                                                         \
	}

CARRY(add_u32, a + b)
CARRY(sub_u32, a - b)
CARRY(addc_u32, a + b + wave->scc)
CARRY(subb_u32, a - b - wave->scc)
CARRY(lshl1_add_u32, (a << 1) + b)
CARRY(lshl2_add_u32, (a << 2) + b)
CARRY(lshl3_add_u32, (a << 3) + b)
CARRY(lshl4_add_u32, (a << 4) + b)

/* SCC = signed overflow. */
SCALAR_OPERATION(add_i32)
{
	int32_t result;

	wave->scc = __builtin_add_overflow((int32_t)SOURCE32(0), (int32_t)SOURCE32(1), &result);
	WRITE32((uint32_t)result);
}

SCALAR_OPERATION(sub_i32)
{
	int32_t result;

	wave->scc = __builtin_sub_overflow((int32_t)SOURCE32(0), (int32_t)SOURCE32(1), &result);
	WRITE32((uint32_t)result);
}

/* SCC = the first source was chosen. */
#define CHOOSE(name, type, operator)                                                               \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint32_t a = SOURCE32(0);                                                          \
		uint32_t b = SOURCE32(1);                                                          \
                                                                                                   \
		wave->scc = (type)a operator(type) b;                                              \
		WRITE32(wave->scc ? a : b);                                                        \
	}

CHOOSE(min_i32, int32_t, <)
CHOOSE(min_u32, uint32_t, <)
CHOOSE(max_i32, int32_t, >)
CHOOSE(max_u32, uint32_t, >)

RESULT32(cselect_b32, wave->scc ? a : b)

SCALAR_OPERATION(cselect_b64)
{
	WRITE64(wave->scc ? SOURCE64(0) : SOURCE64(1));
}

RESULT32_SCC(and_b32, a &b)
RESULT64_SCC(and_b64, a &b)
RESULT32_SCC(or_b32, a | b)
RESULT64_SCC(or_b64, a | b)
RESULT32_SCC(xor_b32, a ^ b)
RESULT64_SCC(xor_b64, a ^ b)
RESULT32_SCC(andn2_b32, a & ~b)
RESULT64_SCC(andn2_b64, a & ~b)
RESULT32_SCC(orn2_b32, a | ~b)
RESULT64_SCC(orn2_b64, a | ~b)
RESULT32_SCC(nand_b32, ~(a &b))
RESULT64_SCC(nand_b64, ~(a &b))
RESULT32_SCC(nor_b32, ~(a | b))
RESULT64_SCC(nor_b64, ~(a | b))
RESULT32_SCC(xnor_b32, ~(a ^ b))
RESULT64_SCC(xnor_b64, ~(a ^ b))

RESULT32_SCC(lshl_b32, a << (b & 31))
RESULT32_SCC(lshr_b32, a >> (b & 31))
RESULT32_SCC(ashr_i32, (uint32_t)((int32_t)a >> (b & 31)))
SHIFT64_SCC(lshl_b64, a << (b & 63))
SHIFT64_SCC(lshr_b64, a >> (b & 63))
SHIFT64_SCC(ashr_i64, (uint64_t)((int64_t)a >> (b & 63)))

RESULT32(bfm_b32, ((1u << (a & 31)) - 1) << (b & 31))

SCALAR_OPERATION(bfm_b64)
{
	WRITE64((((uint64_t)1 << (SOURCE32(0) & 63)) - 1) << (SOURCE32(1) & 63));
}

/* A field of `width` bits at `offset`; what lies above the source reads as 0 or as its sign. */
static uint64_t field_unsigned(uint64_t value, unsigned int offset, unsigned int width)
{
	value >>= offset;
	return width < 64 ? value & (((uint64_t)1 << width) - 1) : value;
}

static uint64_t field_signed(int64_t value, unsigned int offset, unsigned int width)
{
	if (width == 0)
		return 0;
	value >>= offset;
	if (width >= 64)
		return (uint64_t)value;
	return (uint64_t)((int64_t)((uint64_t)value << (64 - width)) >> (64 - width));
}

RESULT32_SCC(bfe_u32, (uint32_t)field_unsigned(a, b & 31, b >> 16 & 127))
RESULT32_SCC(bfe_i32, (uint32_t)field_signed((int32_t)a, b & 31, b >> 16 & 127))
SHIFT64_SCC(bfe_u64, field_unsigned(a, b & 63, b >> 16 & 127))
SHIFT64_SCC(bfe_i64, field_signed((int64_t)a, b & 63, b >> 16 & 127))

RESULT32(mul_i32, a *b)
RESULT32(mul_hi_u32, (uint32_t)((uint64_t)a *b >> 32))
RESULT32(mul_hi_i32, (uint32_t)((int64_t)(int32_t)a *(int32_t)b >> 32))
RESULT32_SCC(absdiff_i32, (int32_t)a > (int32_t)b ? a - b : b - a)
RESULT32(pack_ll_b32_b16, (a & 0xffff) | b << 16)
RESULT32(pack_lh_b32_b16, (a & 0xffff) | (b & 0xffff0000))
RESULT32(pack_hh_b32_b16, a >> 16 | (b & 0xffff0000))

const struct softgpu_operation softgpu_sop2_operations[128] = {
	[0] = SCALAR_ENTRY(add_u32, B32, B32, B32),
	[1] = SCALAR_ENTRY(sub_u32, B32, B32, B32),
	[2] = SCALAR_ENTRY(add_i32, B32, B32, B32),
	[3] = SCALAR_ENTRY(sub_i32, B32, B32, B32),
	[4] = SCALAR_ENTRY(addc_u32, B32, B32, B32),
	[5] = SCALAR_ENTRY(subb_u32, B32, B32, B32),
	[6] = SCALAR_ENTRY(min_i32, B32, B32, B32),
	[7] = SCALAR_ENTRY(min_u32, B32, B32, B32),
	[8] = SCALAR_ENTRY(max_i32, B32, B32, B32),
	[9] = SCALAR_ENTRY(max_u32, B32, B32, B32),
	[10] = SCALAR_ENTRY(cselect_b32, B32, B32, B32),
	[11] = SCALAR_ENTRY(cselect_b64, B64, B64, B64),
	[12] = SCALAR_ENTRY(and_b32, B32, B32, B32),
	[13] = SCALAR_ENTRY(and_b64, B64, B64, B64),
	[14] = SCALAR_ENTRY(or_b32, B32, B32, B32),
	[15] = SCALAR_ENTRY(or_b64, B64, B64, B64),
	[16] = SCALAR_ENTRY(xor_b32, B32, B32, B32),
	[17] = SCALAR_ENTRY(xor_b64, B64, B64, B64),
	[18] = SCALAR_ENTRY(andn2_b32, B32, B32, B32),
	[19] = SCALAR_ENTRY(andn2_b64, B64, B64, B64),
	[20] = SCALAR_ENTRY(orn2_b32, B32, B32, B32),
	[21] = SCALAR_ENTRY(orn2_b64, B64, B64, B64),
	[22] = SCALAR_ENTRY(nand_b32, B32, B32, B32),
	[23] = SCALAR_ENTRY(nand_b64, B64, B64, B64),
	[24] = SCALAR_ENTRY(nor_b32, B32, B32, B32),
	[25] = SCALAR_ENTRY(nor_b64, B64, B64, B64),
	[26] = SCALAR_ENTRY(xnor_b32, B32, B32, B32),
	[27] = SCALAR_ENTRY(xnor_b64, B64, B64, B64),
	[28] = SCALAR_ENTRY(lshl_b32, B32, B32, B32),
	[29] = SCALAR_ENTRY(lshl_b64, B64, B64, B32),
	[30] = SCALAR_ENTRY(lshr_b32, B32, B32, B32),
	[31] = SCALAR_ENTRY(lshr_b64, B64, B64, B32),
	[32] = SCALAR_ENTRY(ashr_i32, B32, B32, B32),
	[33] = SCALAR_ENTRY(ashr_i64, I64, I64, B32),
	[34] = SCALAR_ENTRY(bfm_b32, B32, B32, B32),
	[35] = SCALAR_ENTRY(bfm_b64, B64, B32, B32),
	[36] = SCALAR_ENTRY(mul_i32, B32, B32, B32),
	[37] = SCALAR_ENTRY(bfe_u32, B32, B32, B32),
	[38] = SCALAR_ENTRY(bfe_i32, B32, B32, B32),
	[39] = SCALAR_ENTRY(bfe_u64, B64, B64, B32),
	[40] = SCALAR_ENTRY(bfe_i64, I64, I64, B32),
	[41] = SCALAR_NOT_EMULATED(cbranch_g_fork, NONE, B64, B64),
	[42] = SCALAR_ENTRY(absdiff_i32, B32, B32, B32),
	[43] = SCALAR_NOT_EMULATED(rfe_restore_b64, NONE, B64, B32),
	[44] = SCALAR_ENTRY(mul_hi_u32, B32, B32, B32),
	[45] = SCALAR_ENTRY(mul_hi_i32, B32, B32, B32),
	[46] = SCALAR_ENTRY(lshl1_add_u32, B32, B32, B32),
	[47] = SCALAR_ENTRY(lshl2_add_u32, B32, B32, B32),
	[48] = SCALAR_ENTRY(lshl3_add_u32, B32, B32, B32),
	[49] = SCALAR_ENTRY(lshl4_add_u32, B32, B32, B32),
	[50] = SCALAR_ENTRY(pack_ll_b32_b16, B32, B32, B32),
	[51] = SCALAR_ENTRY(pack_lh_b32_b16, B32, B32, B32),
	[52] = SCALAR_ENTRY(pack_hh_b32_b16, B32, B32, B32),
};
