/* SPDX-License-Identifier: MIT */
/* SOP1: scalar operations with one source; jumps through registers; EXEC masks. */
#include "scalar.h"

#define RESULT32(name, expression)                                                                 \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint32_t a = SOURCE32(0);                                                          \
                                                                                                   \
		WRITE32(expression);                                                               \
	}

#define RESULT32_SCC(name, expression)                                                             \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint32_t a = SOURCE32(0);                                                          \
		uint32_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE32(result);                                                                   \
	}

#define RESULT64_SCC(name, expression)                                                             \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint64_t result = (expression);                                                    \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE64(result);                                                                   \
	}

/* A 32-bit result of a 64-bit source. */
#define COUNT64(name, expression)                                                                  \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
                                                                                                   \
		WRITE32((uint32_t)(expression));                                                   \
	}

RESULT32(mov_b32, a)

SCALAR_OPERATION(mov_b64)
{
	WRITE64(SOURCE64(0));
}

SCALAR_OPERATION(cmov_b32)
{
	if (wave->scc)
		WRITE32(SOURCE32(0));
}

SCALAR_OPERATION(cmov_b64)
{
	if (wave->scc)
		WRITE64(SOURCE64(0));
}

RESULT32_SCC(not_b32, ~a)
RESULT64_SCC(not_b64, ~a)

/* One bit for each group of four that has any bit set, at the group's lowest bit. */
static uint64_t any_of_quad(uint64_t value)
{
	value |= value >> 2;
	value |= value >> 1;
	return value & 0x1111111111111111;
}

static uint64_t quadmask(uint64_t value)
{
	uint64_t result = 0;

	for (int i = 0; i < 16; i++)
		result |= (value >> 4 * i & 0xf ? (uint64_t)1 : 0) << i;
	return result;
}

RESULT32_SCC(wqm_b32, (uint32_t)(any_of_quad(a) * 0xf))
RESULT64_SCC(wqm_b64, any_of_quad(a) * 0xf)
RESULT32_SCC(quadmask_b32, (uint32_t)quadmask(a))
RESULT64_SCC(quadmask_b64, quadmask(a))

static uint64_t reverse(uint64_t value, int bits)
{
	uint64_t result = 0;

	for (int i = 0; i < bits; i++)
		result |= (value >> i & 1) << (bits - 1 - i);
	return result;
}

RESULT32(brev_b32, (uint32_t)reverse(a, 32))

SCALAR_OPERATION(brev_b64)
{
	WRITE64(reverse(SOURCE64(0), 64));
}

#define BIT_COUNT64(name, expression)                                                              \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint32_t result = (uint32_t)(expression);                                          \
                                                                                                   \
		wave->scc = result != 0;                                                           \
		WRITE32(result);                                                                   \
	}

RESULT32_SCC(bcnt0_i32_b32, (uint32_t)__builtin_popcount(~a))
RESULT32_SCC(bcnt1_i32_b32, (uint32_t)__builtin_popcount(a))
BIT_COUNT64(bcnt0_i32_b64, __builtin_popcountll(~a))
BIT_COUNT64(bcnt1_i32_b64, __builtin_popcountll(a))

/* Searches return -1 where there is nothing to find. */
static uint32_t find_low(uint64_t value)
{
	return value != 0 ? (uint32_t)__builtin_ctzll(value) : UINT32_MAX;
}

static uint32_t find_high(uint64_t value, unsigned int bits)
{
	return value != 0 ? (uint32_t)__builtin_clzll(value) - (64 - bits) : UINT32_MAX;
}

RESULT32(ff0_i32_b32, find_low((uint32_t)~a))
RESULT32(ff1_i32_b32, find_low(a))
COUNT64(ff0_i32_b64, find_low(~a))
COUNT64(ff1_i32_b64, find_low(a))
RESULT32(flbit_i32_b32, find_high(a, 32))
COUNT64(flbit_i32_b64, find_high(a, 64))
/* How many bits from the top are like the sign bit. */
RESULT32(flbit_i32, find_high(a ^ (uint32_t)((int32_t)a >> 31), 32))
COUNT64(flbit_i32_i64, find_high(a ^ (uint64_t)((int64_t)a >> 63), 64))

RESULT32(sext_i32_i8, (uint32_t)(int32_t)(int8_t)a)
RESULT32(sext_i32_i16, (uint32_t)(int32_t)(int16_t)a)
RESULT32_SCC(abs_i32, (int32_t)a < 0 ? 0 - a : a)

SCALAR_OPERATION(bitset0_b32)
{
	wave->scalar[instruction->scalar_destination] &= ~(1u << (SOURCE32(0) & 31));
}

SCALAR_OPERATION(bitset1_b32)
{
	wave->scalar[instruction->scalar_destination] |= 1u << (SOURCE32(0) & 31);
}

static uint64_t destination64(const struct softgpu_wave *wave,
			      const struct softgpu_instruction *instruction)
{
	return softgpu_scalar64(wave, instruction, instruction->scalar_destination, SOFTGPU_B64);
}

SCALAR_OPERATION(bitset0_b64)
{
	uint64_t bit = (uint64_t)1 << (SOURCE32(0) & 63);

	WRITE64(destination64(wave, instruction) & ~bit);
}

SCALAR_OPERATION(bitset1_b64)
{
	uint64_t bit = (uint64_t)1 << (SOURCE32(0) & 63);

	WRITE64(destination64(wave, instruction) | bit);
}

SCALAR_OPERATION(bitreplicate_b64_b32)
{
	uint32_t source = SOURCE32(0);
	uint64_t result = 0;

	for (int i = 0; i < 32; i++)
		result |= (uint64_t)(source >> i & 1) * 3 << 2 * i;
	WRITE64(result);
}

SCALAR_OPERATION(getpc_b64)
{
	WRITE64(wave->pc);
}

SCALAR_OPERATION(setpc_b64)
{
	wave->pc = SOURCE64(0);
}

SCALAR_OPERATION(swappc_b64)
{
	uint64_t target = SOURCE64(0);

	WRITE64(wave->pc);
	wave->pc = target;
}

/* D = old EXEC, EXEC = expression of the source a and the old EXEC e. */
#define SAVE_EXEC(name, expression)                                                                \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint64_t e = wave->exec;                                                           \
                                                                                                   \
		WRITE64(e);                                                                        \
		wave->exec = (expression);                                                         \
		wave->scc = wave->exec != 0;                                                       \
	}

SAVE_EXEC(and_saveexec_b64, a &e)
SAVE_EXEC(or_saveexec_b64, a | e)
SAVE_EXEC(xor_saveexec_b64, a ^ e)
SAVE_EXEC(andn2_saveexec_b64, a & ~e)
SAVE_EXEC(orn2_saveexec_b64, a | ~e)
SAVE_EXEC(nand_saveexec_b64, ~(a &e))
SAVE_EXEC(nor_saveexec_b64, ~(a | e))
SAVE_EXEC(xnor_saveexec_b64, ~(a ^ e))
SAVE_EXEC(andn1_saveexec_b64, ~a &e)
SAVE_EXEC(orn1_saveexec_b64, ~a | e)

/* D and EXEC = expression. */
#define WRITE_EXEC(name, expression)                                                               \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		uint64_t a = SOURCE64(0);                                                          \
		uint64_t e = wave->exec;                                                           \
                                                                                                   \
		wave->exec = (expression);                                                         \
		wave->scc = wave->exec != 0;                                                       \
		WRITE64(wave->exec);                                                               \
	}

WRITE_EXEC(andn1_wrexec_b64, ~a &e)
WRITE_EXEC(andn2_wrexec_b64, a & ~e)

/* The SGPR number M0 dwords behind `code`; false after a fault. */
static bool relative(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		     unsigned int code, unsigned int dwords, unsigned int *out)
{
	uint64_t number = (uint64_t)code + wave->m0;

	if (number + dwords > SOFTGPU_CODE_FLAT_SCRATCH) {
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
				   "%s: relative SGPR number %llu is out of range",
				   instruction->operation->name, (unsigned long long)number);
		return false;
	}
	*out = (unsigned int)number;
	return true;
}

SCALAR_OPERATION(movrels_b32)
{
	unsigned int number;

	if (relative(wave, instruction, instruction->source[0], 1, &number))
		WRITE32(wave->scalar[number]);
}

SCALAR_OPERATION(movrels_b64)
{
	unsigned int number;

	if (relative(wave, instruction, instruction->source[0], 2, &number))
		WRITE64(softgpu_scalar64(wave, instruction, number, SOFTGPU_B64));
}

SCALAR_OPERATION(movreld_b32)
{
	unsigned int number;

	if (relative(wave, instruction, instruction->scalar_destination, 1, &number))
		wave->scalar[number] = SOURCE32(0);
}

SCALAR_OPERATION(movreld_b64)
{
	unsigned int number;

	if (relative(wave, instruction, instruction->scalar_destination, 2, &number))
		softgpu_write_scalar64(wave, number, SOURCE64(0));
}

SCALAR_OPERATION(set_gpr_idx_idx)
{
	wave->m0 = (wave->m0 & ~0xffu) | (SOURCE32(0) & 0xff);
}

const struct softgpu_operation softgpu_sop1_operations[256] = {
	[0] = SCALAR_ENTRY(mov_b32, B32, B32, NONE),
	[1] = SCALAR_ENTRY(mov_b64, B64, B64, NONE),
	[2] = SCALAR_ENTRY(cmov_b32, B32, B32, NONE),
	[3] = SCALAR_ENTRY(cmov_b64, B64, B64, NONE),
	[4] = SCALAR_ENTRY(not_b32, B32, B32, NONE),
	[5] = SCALAR_ENTRY(not_b64, B64, B64, NONE),
	[6] = SCALAR_ENTRY(wqm_b32, B32, B32, NONE),
	[7] = SCALAR_ENTRY(wqm_b64, B64, B64, NONE),
	[8] = SCALAR_ENTRY(brev_b32, B32, B32, NONE),
	[9] = SCALAR_ENTRY(brev_b64, B64, B64, NONE),
	[10] = SCALAR_ENTRY(bcnt0_i32_b32, B32, B32, NONE),
	[11] = SCALAR_ENTRY(bcnt0_i32_b64, B32, B64, NONE),
	[12] = SCALAR_ENTRY(bcnt1_i32_b32, B32, B32, NONE),
	[13] = SCALAR_ENTRY(bcnt1_i32_b64, B32, B64, NONE),
	[14] = SCALAR_ENTRY(ff0_i32_b32, B32, B32, NONE),
	[15] = SCALAR_ENTRY(ff0_i32_b64, B32, B64, NONE),
	[16] = SCALAR_ENTRY(ff1_i32_b32, B32, B32, NONE),
	[17] = SCALAR_ENTRY(ff1_i32_b64, B32, B64, NONE),
	[18] = SCALAR_ENTRY(flbit_i32_b32, B32, B32, NONE),
	[19] = SCALAR_ENTRY(flbit_i32_b64, B32, B64, NONE),
	[20] = SCALAR_ENTRY(flbit_i32, B32, B32, NONE),
	[21] = SCALAR_ENTRY(flbit_i32_i64, B32, I64, NONE),
	[22] = SCALAR_ENTRY(sext_i32_i8, B32, B32, NONE),
	[23] = SCALAR_ENTRY(sext_i32_i16, B32, B32, NONE),
	[24] = SCALAR_ENTRY(bitset0_b32, B32, B32, NONE),
	[25] = SCALAR_ENTRY(bitset0_b64, B64, B32, NONE),
	[26] = SCALAR_ENTRY(bitset1_b32, B32, B32, NONE),
	[27] = SCALAR_ENTRY(bitset1_b64, B64, B32, NONE),
	[28] = SCALAR_ENTRY(getpc_b64, B64, NONE, NONE),
	[29] = SCALAR_ENTRY(setpc_b64, NONE, B64, NONE),
	[30] = SCALAR_ENTRY(swappc_b64, B64, B64, NONE),
	[31] = SCALAR_NOT_EMULATED(rfe_b64, NONE, B64, NONE),
	[32] = SCALAR_ENTRY(and_saveexec_b64, B64, B64, NONE),
	[33] = SCALAR_ENTRY(or_saveexec_b64, B64, B64, NONE),
	[34] = SCALAR_ENTRY(xor_saveexec_b64, B64, B64, NONE),
	[35] = SCALAR_ENTRY(andn2_saveexec_b64, B64, B64, NONE),
	[36] = SCALAR_ENTRY(orn2_saveexec_b64, B64, B64, NONE),
	[37] = SCALAR_ENTRY(nand_saveexec_b64, B64, B64, NONE),
	[38] = SCALAR_ENTRY(nor_saveexec_b64, B64, B64, NONE),
	[39] = SCALAR_ENTRY(xnor_saveexec_b64, B64, B64, NONE),
	[40] = SCALAR_ENTRY(quadmask_b32, B32, B32, NONE),
	[41] = SCALAR_ENTRY(quadmask_b64, B64, B64, NONE),
	[42] = SCALAR_ENTRY(movrels_b32, B32, B32, NONE),
	[43] = SCALAR_ENTRY(movrels_b64, B64, B64, NONE),
	[44] = SCALAR_ENTRY(movreld_b32, B32, B32, NONE),
	[45] = SCALAR_ENTRY(movreld_b64, B64, B64, NONE),
	[46] = SCALAR_NOT_EMULATED(cbranch_join, NONE, B32, NONE),
	[48] = SCALAR_ENTRY(abs_i32, B32, B32, NONE),
	[50] = SCALAR_ENTRY(set_gpr_idx_idx, NONE, B32, NONE),
	[51] = SCALAR_ENTRY(andn1_saveexec_b64, B64, B64, NONE),
	[52] = SCALAR_ENTRY(orn1_saveexec_b64, B64, B64, NONE),
	[53] = SCALAR_ENTRY(andn1_wrexec_b64, B64, B64, NONE),
	[54] = SCALAR_ENTRY(andn2_wrexec_b64, B64, B64, NONE),
	[55] = SCALAR_ENTRY(bitreplicate_b64_b32, B64, B32, NONE),
};
