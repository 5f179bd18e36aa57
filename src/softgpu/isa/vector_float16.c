/* SPDX-License-Identifier: MIT */
/*
 * Vector ALU: floats of 16 bits, single, packed and mixed with 32 bits. Halves are computed as
 * doubles, in which sums and products of two are exact, and rounded once when stored.
 */
#include "vector.h"
#include "vector_operations.h"

VECTOR_ARITHMETIC(v_add_f16, f16, f16, f16, none, a + b)
VECTOR_ARITHMETIC(v_sub_f16, f16, f16, f16, none, a - b)
VECTOR_ARITHMETIC(v_subrev_f16, f16, f16, f16, none, b - a)
VECTOR_ARITHMETIC(v_mul_f16, f16, f16, f16, none, a * b)
VECTOR_ARITHMETIC(v_fma_f16, f16, f16, f16, f16, softgpu_half_fma(a, b, c))
VECTOR_ARITHMETIC(v_fma_legacy_f16, f16, f16, f16, f16, softgpu_half_fma(a, b, c))

/* The product is rounded to a half before the sum. */
static inline double multiply_add(double a, double b, double c)
{
	return softgpu_half_to_double(softgpu_half_from_double(a * b)) + c;
}

VECTOR_FLUSH(v_mad_f16, f16, f16, f16, f16, multiply_add(a, b, c))
VECTOR_FLUSH(v_mad_legacy_f16, f16, f16, f16, f16, multiply_add(a, b, c))
VECTOR_FLUSH(v_mac_f16, f16, f16, f16, f16, multiply_add(a, b, c))
VECTOR_FLUSH(v_madmk_f16, f16, f16, f16, f16, multiply_add(a, b, c))
VECTOR_FLUSH(v_madak_f16, f16, f16, f16, f16, multiply_add(a, b, c))

VECTOR_FLOAT(v_min_f16, u16, u16, u16, none, softgpu_min16(a, b, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_max_f16, u16, u16, u16, none, softgpu_max16(a, b, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_med3_f16, u16, u16, u16, u16, softgpu_med16(a, b, c, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_min3_f16, u16, u16, u16, u16,
	     softgpu_min16(softgpu_min16(a, b, softgpu_ieee_mode(wave)), c,
			   softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_max3_f16, u16, u16, u16, u16,
	     softgpu_max16(softgpu_max16(a, b, softgpu_ieee_mode(wave)), c,
			   softgpu_ieee_mode(wave)))

VECTOR_ARITHMETIC(v_trunc_f16, f16, f16, none, none, trunc(a))
VECTOR_ARITHMETIC(v_ceil_f16, f16, f16, none, none, ceil(a))
VECTOR_ARITHMETIC(v_floor_f16, f16, f16, none, none, floor(a))
VECTOR_ARITHMETIC(v_rndne_f16, f16, f16, none, none, softgpu_round_even(a))
VECTOR_ARITHMETIC(v_fract_f16, f16, f16, none, none, softgpu_fract(a, 0x1.ffcp-1))

VECTOR_ARITHMETIC(v_rcp_f16, f16, f16, none, none, 1.0 / a)
VECTOR_ARITHMETIC(v_rsq_f16, f16, f16, none, none, 1.0 / sqrt(a))
VECTOR_ARITHMETIC(v_sqrt_f16, f16, f16, none, none, sqrt(a))
VECTOR_ARITHMETIC(v_exp_f16, f16, f16, none, none, exp2(a))
VECTOR_ARITHMETIC(v_log_f16, f16, f16, none, none, log2(a))
VECTOR_ARITHMETIC(v_sin_f16, f16, f16, none, none, softgpu_sin_revolutions(a))
VECTOR_ARITHMETIC(v_cos_f16, f16, f16, none, none, softgpu_cos_revolutions(a))

VECTOR_ARITHMETIC(v_ldexp_f16, f16, f16, i16, none, ldexp(a, b))
VECTOR_ARITHMETIC(v_frexp_mant_f16, f16, f16, none, none, softgpu_frexp_mantissa(a))
VECTOR_FLOAT(v_frexp_exp_i16_f16, u16, f16, none, none, (uint32_t)softgpu_frexp_exponent(a))

VECTOR(v_pack_b32_f16, u32, u16, u16, none, a | (uint32_t)b << 16)

/* A half result; a NaN is the first operand that is one, made quiet, or the default NaN. */
static uint32_t packed_result(double value, uint16_t a, uint16_t b, uint16_t c)
{
	if (value == value)
		return softgpu_half_from_double(value);
	return softgpu_is_nan16(a)   ? a | 0x200
	       : softgpu_is_nan16(b) ? b | 0x200
	       : softgpu_is_nan16(c) ? c | 0x200
				     : 0x7e00;
}

/* `expression` sees one half of each operand as a, b and c. */
#define PACKED(name, expression)                                                                   \
	static uint32_t name##_half(uint16_t a_bits, uint16_t b_bits, uint16_t c_bits)             \
	{                                                                                          \
		const double a = softgpu_half_to_double(a_bits);                                   \
		const double b = softgpu_half_to_double(b_bits);                                   \
		const double c = softgpu_half_to_double(c_bits);                                   \
                                                                                                   \
		(void)c;                                                                           \
		return packed_result(expression, a_bits, b_bits, c_bits);                          \
	}                                                                                          \
	VECTOR_FLOAT(name, pk16, pk16, pk16, pk16,                                                 \
		     name##_half(a.low, b.low, c.low) | name##_half(a.high, b.high, c.high) << 16)

PACKED(v_pk_add_f16, a + b)
PACKED(v_pk_mul_f16, a * b)
PACKED(v_pk_fma_f16, softgpu_half_fma(a, b, c))
PACKED(v_pk_fmac_f16, softgpu_half_fma(a, b, c))

VECTOR_FLOAT(v_pk_min_f16, pk16, pk16, pk16, none,
	     softgpu_min16(a.low, b.low, softgpu_ieee_mode(wave)) |
		     (uint32_t)softgpu_min16(a.high, b.high, softgpu_ieee_mode(wave)) << 16)
VECTOR_FLOAT(v_pk_max_f16, pk16, pk16, pk16, none,
	     softgpu_max16(a.low, b.low, softgpu_ieee_mode(wave)) |
		     (uint32_t)softgpu_max16(a.high, b.high, softgpu_ieee_mode(wave)) << 16)

/* Products of halves added to a float, rounded once. */
VECTOR_FLOAT(v_dot2_f32_f16, f32, pk16, pk16, f32,
	     (float)(softgpu_half_to_double(a.low) * softgpu_half_to_double(b.low) +
		     softgpu_half_to_double(a.high) * softgpu_half_to_double(b.high) + c))
VECTOR_FLOAT(v_dot2c_f32_f16, f32, pk16, pk16, f32,
	     (float)(softgpu_half_to_double(a.low) * softgpu_half_to_double(b.low) +
		     softgpu_half_to_double(a.high) * softgpu_half_to_double(b.high) + c))

/*
 * Mixed operands: op_sel_hi says which sources are halves, op_sel which half; abs has the place
 * of neg_hi.
 */
static float mixed_operand(const struct softgpu_vector *vector, unsigned int index, unsigned lane)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const unsigned int code = instruction->source[index];
	const bool half = instruction->op_sel_hi >> index & 1;
	const bool high = instruction->op_sel >> index & 1;
	uint32_t bits = vector->source[index][lane];
	float value;

	if (half && code < SOFTGPU_CODE_VGPR0)
		bits = softgpu_scalar32(vector->wave, instruction, code, SOFTGPU_F16);
	if (!half && !vector->keep_denormals_in && !(bits & 0x7f800000))
		bits &= 0x80000000;
	value = half ? softgpu_half_to_float((uint16_t)(bits >> 16 * high)) : softgpu_float(bits);
	if (instruction->neg_hi >> index & 1)
		value = fabsf(value);
	return instruction->neg >> index & 1 ? -value : value;
}

static void mix(struct softgpu_vector *vector)
{
	SOFTGPU_FOR_LANES (lane) {
		const float value =
			fmaf(mixed_operand(vector, 0, lane), mixed_operand(vector, 1, lane),
			     mixed_operand(vector, 2, lane));

		vector->result[0][lane] = softgpu_float_bits(value);
	}
}

void softgpu_v_fma_mix_f32(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_mixed(&vector, wave, instruction);
	mix(&vector);
	softgpu_vector_end_float(&vector);
}

/* Writes one half of the destination and keeps the other. */
static void mix_to_half(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			bool high)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_mixed(&vector, wave, instruction);
	const uint32_t *old = wave->vgpr[vector.destination];
	mix(&vector);
	SOFTGPU_FOR_LANES (lane)
		vector.result[0][lane] =
			softgpu_half_from_double(softgpu_float(vector.result[0][lane]));
	softgpu_vector_modify_float(&vector);
	SOFTGPU_FOR_LANES (lane)
		vector.result[0][lane] = high ? (old[lane] & 0xffff) | vector.result[0][lane] << 16
					      : (old[lane] & 0xffff0000) | vector.result[0][lane];
	softgpu_vector_end(&vector);
}

void softgpu_v_fma_mixlo_f16(struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction)
{
	mix_to_half(wave, instruction, false);
}

void softgpu_v_fma_mixhi_f16(struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction)
{
	mix_to_half(wave, instruction, true);
}
