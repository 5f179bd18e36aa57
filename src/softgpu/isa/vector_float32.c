/* SPDX-License-Identifier: MIT */
/*
 * Vector ALU: floats of 32 bits, single and packed. Where the hardware approximates (reciprocal,
 * square root, exponential, logarithm, sine) the result here is the correctly rounded one or next
 * to it, which the hardware's error bounds allow.
 */
#include "vector.h"
#include "vector_operations.h"

VECTOR_ARITHMETIC(v_add_f32, f32, f32, f32, none, a + b)
VECTOR_ARITHMETIC(v_sub_f32, f32, f32, f32, none, a - b)
VECTOR_ARITHMETIC(v_subrev_f32, f32, f32, f32, none, b - a)
VECTOR_ARITHMETIC(v_mul_f32, f32, f32, f32, none, a * b)
VECTOR_ARITHMETIC(v_fma_f32, f32, f32, f32, f32, fmaf(a, b, c))
VECTOR_ARITHMETIC(v_fmac_f32, f32, f32, f32, f32, fmaf(a, b, c))

/* The product is rounded before the sum; the double product keeps compilers from fusing them. */
static inline float multiply_add(float a, float b, float c)
{
	const float product = (float)((double)a * b);

	return product + c;
}

/* Legacy: zero times anything is zero. */
static inline float multiply_legacy(float a, float b)
{
	return a == 0.0f || b == 0.0f ? 0.0f : a * b;
}

VECTOR_FLUSH(v_mad_f32, f32, f32, f32, f32, multiply_add(a, b, c))
VECTOR_FLUSH(v_mac_f32, f32, f32, f32, f32, multiply_add(a, b, c))
VECTOR_FLUSH(v_madmk_f32, f32, f32, f32, f32, multiply_add(a, b, c))
VECTOR_FLUSH(v_madak_f32, f32, f32, f32, f32, multiply_add(a, b, c))
VECTOR_FLOAT(v_mul_legacy_f32, f32, f32, f32, none, multiply_legacy(a, b))
VECTOR_FLOAT(v_mad_legacy_f32, f32, f32, f32, f32, multiply_legacy(a, b) + c)

VECTOR_FLOAT(v_min_f32, u32, u32, u32, none, softgpu_min32(a, b, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_max_f32, u32, u32, u32, none, softgpu_max32(a, b, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_med3_f32, u32, u32, u32, u32, softgpu_med32(a, b, c, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_min3_f32, u32, u32, u32, u32,
	     softgpu_min32(softgpu_min32(a, b, softgpu_ieee_mode(wave)), c,
			   softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_max3_f32, u32, u32, u32, u32,
	     softgpu_max32(softgpu_max32(a, b, softgpu_ieee_mode(wave)), c,
			   softgpu_ieee_mode(wave)))

/* In float, since a double would be rounded twice. */
static inline float fract(float value)
{
	const float fraction = value - floorf(value);

	return fraction > 0x1.fffffep-1f ? 0x1.fffffep-1f : fraction;
}

VECTOR_ARITHMETIC(v_trunc_f32, f32, f32, none, none, truncf(a))
VECTOR_ARITHMETIC(v_ceil_f32, f32, f32, none, none, ceilf(a))
VECTOR_ARITHMETIC(v_floor_f32, f32, f32, none, none, floorf(a))
VECTOR_ARITHMETIC(v_rndne_f32, f32, f32, none, none, (float)softgpu_round_even(a))
VECTOR_ARITHMETIC(v_fract_f32, f32, f32, none, none, fract(a))

VECTOR_FLUSH(v_rcp_f32, f32, f32, none, none, (float)(1.0 / a))
VECTOR_FLUSH(v_rcp_iflag_f32, f32, f32, none, none, (float)(1.0 / a))
VECTOR_FLUSH(v_rsq_f32, f32, f32, none, none, (float)(1.0 / sqrt(a)))
VECTOR_FLUSH(v_sqrt_f32, f32, f32, none, none, sqrtf(a))
VECTOR_FLUSH(v_exp_f32, f32, f32, none, none, (float)exp2(a))
VECTOR_FLUSH(v_log_f32, f32, f32, none, none, (float)log2(a))
VECTOR_FLUSH(v_exp_legacy_f32, f32, f32, none, none, (float)exp2(a))
VECTOR_FLUSH(v_log_legacy_f32, f32, f32, none, none, (float)log2(a))
VECTOR_FLUSH(v_sin_f32, f32, f32, none, none, (float)softgpu_sin_revolutions(a))
VECTOR_FLUSH(v_cos_f32, f32, f32, none, none, (float)softgpu_cos_revolutions(a))

VECTOR_ARITHMETIC(v_ldexp_f32, f32, f32, i32, none, ldexpf(a, b))
VECTOR_ARITHMETIC(v_frexp_mant_f32, f32, f32, none, none, (float)softgpu_frexp_mantissa(a))
VECTOR_FLOAT(v_frexp_exp_i32_f32, u32, f32, none, none, (uint32_t)softgpu_frexp_exponent(a))

/* The face of a cube that a direction points at: the axis of the largest coordinate. */
enum axis { AXIS_X, AXIS_Y, AXIS_Z };

static inline enum axis major_axis(float x, float y, float z)
{
	if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
		return AXIS_Z;
	return fabsf(y) >= fabsf(x) ? AXIS_Y : AXIS_X;
}

static inline float cube_face(float x, float y, float z)
{
	switch (major_axis(x, y, z)) {
	case AXIS_X:
		return x < 0.0f ? 1.0f : 0.0f;
	case AXIS_Y:
		return y < 0.0f ? 3.0f : 2.0f;
	default:
		return z < 0.0f ? 5.0f : 4.0f;
	}
}

static inline float cube_s(float x, float y, float z)
{
	switch (major_axis(x, y, z)) {
	case AXIS_X:
		return x < 0.0f ? z : -z;
	case AXIS_Y:
		return x;
	default:
		return z < 0.0f ? -x : x;
	}
}

static inline float cube_t(float x, float y, float z)
{
	if (major_axis(x, y, z) == AXIS_Y)
		return y < 0.0f ? -z : z;
	return -y;
}

static inline float cube_major(float x, float y, float z)
{
	switch (major_axis(x, y, z)) {
	case AXIS_X:
		return 2.0f * x;
	case AXIS_Y:
		return 2.0f * y;
	default:
		return 2.0f * z;
	}
}

VECTOR_FLOAT(v_cubeid_f32, f32, f32, f32, f32, cube_face(a, b, c))
VECTOR_FLOAT(v_cubesc_f32, f32, f32, f32, f32, cube_s(a, b, c))
VECTOR_FLOAT(v_cubetc_f32, f32, f32, f32, f32, cube_t(a, b, c))
VECTOR_FLOAT(v_cubema_f32, f32, f32, f32, f32, cube_major(a, b, c))

#define PACKED(low_expression, high_expression)                                                    \
	((softgpu_lane_pkf32){low_expression, high_expression})

VECTOR_ARITHMETIC(v_pk_add_f32, pkf32, pkf32, pkf32, none,
		  PACKED(a.low + b.low, a.high + b.high))
VECTOR_ARITHMETIC(v_pk_mul_f32, pkf32, pkf32, pkf32, none,
		  PACKED(a.low * b.low, a.high * b.high))
VECTOR_ARITHMETIC(v_pk_fma_f32, pkf32, pkf32, pkf32, pkf32,
		  PACKED(fmaf(a.low, b.low, c.low), fmaf(a.high, b.high, c.high)))

/* The low result is a half of source 0, the high one a half of source 1. */
void softgpu_v_pk_mov_b32(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	for (unsigned int half = 0; half < 2; half++)
		memcpy(vector.result[half],
		       instruction->op_sel >> half & 1 ? vector.source_high[half]
						       : vector.source[half],
		       sizeof(vector.result[half]));
	softgpu_vector_end(&vector);
}
