/* SPDX-License-Identifier: MIT */
/* Vector ALU: selects, carries, and operations that move values between lanes or register files. */
#include "vector.h"
#include "vector_operations.h"

/* Source 0 of operations that take nothing but registers there. */
static unsigned int vgpr_number(const struct softgpu_instruction *instruction)
{
	return instruction->source[0] % SOFTGPU_VGPRS;
}

void softgpu_v_nop(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	(void)wave;
	(void)instruction;
}

/* Exceptions are not raised, so there are none to clear. */
void softgpu_v_clrexcp(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	(void)wave;
	(void)instruction;
}

void softgpu_v_cndmask_b32(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;
	uint8_t second[SOFTGPU_LANES];

	softgpu_vector_begin(&vector, wave, instruction);
	const uint32_t *restrict a = vector.source[0];
	const uint32_t *restrict b = vector.source[1];
	uint32_t *restrict low = vector.result[0];
	softgpu_vector_spread_mask(softgpu_vector_carry_in(&vector), second);
	SOFTGPU_FOR_LANES (lane)
		low[lane] = second[lane] ? b[lane] : a[lane];
	softgpu_vector_end(&vector);
}

/* The carry out of bit 31, from the operands' and the result's bits; carry in is in the result. */
static inline uint32_t carry_of_sum(uint32_t a, uint32_t b, uint32_t sum)
{
	return ((a & b) | ((a | b) & ~sum)) >> 31;
}

static inline uint32_t borrow_of_difference(uint32_t a, uint32_t b, uint32_t difference)
{
	return ((~a & b) | ((~a | b) & difference)) >> 31;
}

/* `clamp` saturates the lanes that carry and leaves the mask as it is. */
static void end_carry(struct softgpu_vector *vector, const uint8_t carry[SOFTGPU_LANES],
		      uint32_t limit)
{
	if (vector->instruction->clamp)
		SOFTGPU_FOR_LANES (lane)
			if (carry[lane])
				vector->result[0][lane] = limit;
	softgpu_vector_write_mask(vector, softgpu_vector_gather_mask(carry));
	softgpu_vector_end(vector);
}

#define VECTOR_CARRY(name, carry_in, limit, expression, carry_out)                                 \
	void softgpu_##name(struct softgpu_wave *wave,                                             \
			    const struct softgpu_instruction *instruction)                         \
	{                                                                                          \
		struct softgpu_vector vector;                                                      \
		uint8_t carry[SOFTGPU_LANES] = {0};                                                \
                                                                                                   \
		softgpu_vector_begin(&vector, wave, instruction);                                  \
		const uint32_t *restrict low0 = vector.source[0];                                  \
		const uint32_t *restrict low1 = vector.source[1];                                  \
		uint32_t *restrict low = vector.result[0];                                         \
		if (carry_in)                                                                      \
			softgpu_vector_spread_mask(softgpu_vector_carry_in(&vector), carry);       \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			const uint32_t a = low0[lane], b = low1[lane], c = carry[lane] != 0;       \
			const uint32_t result = (expression);                                      \
                                                                                                   \
			(void)c;                                                                   \
			carry[lane] = (uint8_t)(carry_out);                                        \
			low[lane] = result;                                                        \
		}                                                                                  \
		end_carry(&vector, carry, limit);                                                  \
	}

VECTOR_CARRY(v_add_co_u32, false, UINT32_MAX, a + b, carry_of_sum(a, b, result))
VECTOR_CARRY(v_sub_co_u32, false, 0, a - b, borrow_of_difference(a, b, result))
VECTOR_CARRY(v_subrev_co_u32, false, 0, b - a, borrow_of_difference(b, a, result))
VECTOR_CARRY(v_addc_co_u32, true, UINT32_MAX, a + b + c, carry_of_sum(a, b, result))
VECTOR_CARRY(v_subb_co_u32, true, 0, a - b - c, borrow_of_difference(a, b, result))
VECTOR_CARRY(v_subbrev_co_u32, true, 0, b - a - c, borrow_of_difference(b, a, result))

/* 32 x 32 + 64 bits; the mask receives bit 64 of the sum. */
#define VECTOR_WIDE_MULTIPLY(name, type, wide)                                                     \
	void softgpu_##name(struct softgpu_wave *wave,                                             \
			    const struct softgpu_instruction *instruction)                         \
	{                                                                                          \
		struct softgpu_vector vector;                                                      \
		uint8_t carry[SOFTGPU_LANES];                                                      \
                                                                                                   \
		softgpu_vector_begin(&vector, wave, instruction);                                  \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			const wide a = softgpu_load_##type##32(vector.source[0], NULL, lane);      \
			const wide b = softgpu_load_##type##32(vector.source[1], NULL, lane);      \
			const wide c = softgpu_load_##type##64(vector.source[2],                   \
							       vector.source_high[2], lane);       \
			const wide sum = a * b + c;                                                \
                                                                                                   \
			carry[lane] = sum >> 64 & 1;                                               \
			softgpu_store_u64(vector.result[0], vector.result[1], lane,                \
					  (uint64_t)sum);                                          \
		}                                                                                  \
		softgpu_vector_write_mask(&vector, softgpu_vector_gather_mask(carry));             \
		softgpu_vector_end(&vector);                                                       \
	}

VECTOR_WIDE_MULTIPLY(v_mad_u64_u32, u, unsigned __int128)
VECTOR_WIDE_MULTIPLY(v_mad_i64_i32, i, __int128)

/* The first active lane, or lane 0 of a wave without active lanes. */
void softgpu_v_readfirstlane_b32(struct softgpu_wave *wave,
				 const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	softgpu_write_scalar32(wave, instruction->scalar_destination,
			       vector.source[0][wave->exec ? __builtin_ctzll(wave->exec) : 0]);
}

/* Reads the lane whether it is active or not. */
void softgpu_v_readlane_b32(struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	softgpu_write_scalar32(wave, instruction->scalar_destination,
			       vector.source[0][vector.source[1][0] % SOFTGPU_LANES]);
}

/* Writes the lane whether it is active or not. */
void softgpu_v_writelane_b32(struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	wave->vgpr[vector.destination][vector.source[1][0] % SOFTGPU_LANES] = vector.source[0][0];
}

void softgpu_v_swap_b32(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	uint32_t *destination = wave->vgpr[vector.destination];
	uint32_t *source = wave->vgpr[vgpr_number(instruction)];
	softgpu_vector_copy(vector.result[0], destination, vector.active);
	softgpu_vector_copy(destination, source, vector.active);
	softgpu_vector_copy(source, vector.result[0], vector.active);
}

/* AccVGPR n is register SOFTGPU_VGPRS + n; the operations fix which operand is one. */
void softgpu_v_accvgpr_read_b32(struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction)
{
	const unsigned int source = vgpr_number(instruction);

	softgpu_vector_copy(wave->vgpr[instruction->destination],
			    wave->vgpr[SOFTGPU_VGPRS + source], wave->exec);
}

void softgpu_v_accvgpr_write_b32(struct softgpu_wave *wave,
				 const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	softgpu_vector_copy(wave->vgpr[SOFTGPU_VGPRS + instruction->destination], vector.source[0],
			    wave->exec);
}

void softgpu_v_accvgpr_mov_b32(struct softgpu_wave *wave,
			       const struct softgpu_instruction *instruction)
{
	const unsigned int source = vgpr_number(instruction);

	softgpu_vector_copy(wave->vgpr[SOFTGPU_VGPRS + instruction->destination],
			    wave->vgpr[SOFTGPU_VGPRS + source], wave->exec);
}
