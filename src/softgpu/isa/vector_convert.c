/* SPDX-License-Identifier: MIT */
/* Vector ALU: conversions between number formats, single and packing. */
#include "vector.h"
#include "vector_operations.h"

VECTOR_ARITHMETIC(v_cvt_f32_i32, f32, i32, none, none, (float)a)
VECTOR_ARITHMETIC(v_cvt_f32_u32, f32, u32, none, none, (float)a)
VECTOR_ARITHMETIC(v_cvt_f64_i32, f64, i32, none, none, (double)a)
VECTOR_ARITHMETIC(v_cvt_f64_u32, f64, u32, none, none, (double)a)
VECTOR_ARITHMETIC(v_cvt_f16_i16, f16, i16, none, none, (double)a)
VECTOR_ARITHMETIC(v_cvt_f16_u16, f16, u16, none, none, (double)a)
VECTOR_ARITHMETIC(v_cvt_f32_f16, f32, f16, none, none, (float)a)
VECTOR_ARITHMETIC(v_cvt_f16_f32, f16, f32, none, none, (double)a)
VECTOR_ARITHMETIC(v_cvt_f32_f64, f32, f64, none, none, (float)a)
VECTOR_ARITHMETIC(v_cvt_f64_f32, f64, f32, none, none, (double)a)

VECTOR_FLOAT(v_cvt_i32_f32, u32, f32, none, none, (uint32_t)softgpu_to_i32(a))
VECTOR_FLOAT(v_cvt_u32_f32, u32, f32, none, none, softgpu_to_u32(a))
VECTOR_FLOAT(v_cvt_i32_f64, u32, f64, none, none, (uint32_t)softgpu_to_i32(a))
VECTOR_FLOAT(v_cvt_u32_f64, u32, f64, none, none, softgpu_to_u32(a))
VECTOR_FLOAT(v_cvt_i16_f16, u16, f16, none, none, (uint32_t)softgpu_to_i16(a))
VECTOR_FLOAT(v_cvt_u16_f16, u16, f16, none, none, softgpu_to_u16(a))
VECTOR_FLOAT(v_cvt_rpi_i32_f32, u32, f32, none, none,
	     (uint32_t)softgpu_to_i32(floor((double)a + 0.5)))
VECTOR_FLOAT(v_cvt_flr_i32_f32, u32, f32, none, none, (uint32_t)softgpu_to_i32(floor(a)))

VECTOR_ARITHMETIC(v_cvt_f32_ubyte0, f32, u32, none, none, (float)(a & 0xff))
VECTOR_ARITHMETIC(v_cvt_f32_ubyte1, f32, u32, none, none, (float)(a >> 8 & 0xff))
VECTOR_ARITHMETIC(v_cvt_f32_ubyte2, f32, u32, none, none, (float)(a >> 16 & 0xff))
VECTOR_ARITHMETIC(v_cvt_f32_ubyte3, f32, u32, none, none, (float)(a >> 24))

/* A signed number of 4 bits in sixteenths. */
VECTOR_ARITHMETIC(v_cvt_off_f32_i4, f32, u32, none, none,
		  (float)((int32_t)(a << 28) >> 28) * 0.0625f)

/* Numbers in [-1, 1] or [0, 1] as fractions of the largest integer. */
static inline uint32_t signed_fraction(double value)
{
	value = value < -1.0 ? -1.0 : value > 1.0 ? 1.0 : value;
	return (uint16_t)softgpu_to_i16(softgpu_round_even(value * INT16_MAX));
}

static inline uint32_t unsigned_fraction(double value)
{
	value = value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value;
	return softgpu_to_u16(softgpu_round_even(value * UINT16_MAX));
}

VECTOR_FLOAT(v_cvt_norm_i16_f16, u16, f16, none, none, signed_fraction(a))
VECTOR_FLOAT(v_cvt_norm_u16_f16, u16, f16, none, none, unsigned_fraction(a))
VECTOR_FLOAT(v_cvt_pknorm_i16_f32, u32, f32, f32, none,
	     signed_fraction(a) | signed_fraction(b) << 16)
VECTOR_FLOAT(v_cvt_pknorm_u16_f32, u32, f32, f32, none,
	     unsigned_fraction(a) | unsigned_fraction(b) << 16)
VECTOR_FLOAT(v_cvt_pknorm_i16_f16, u32, f16, f16, none,
	     signed_fraction(a) | signed_fraction(b) << 16)
VECTOR_FLOAT(v_cvt_pknorm_u16_f16, u32, f16, f16, none,
	     unsigned_fraction(a) | unsigned_fraction(b) << 16)

VECTOR_FLOAT(v_cvt_pkrtz_f16_f32, u32, f32, f32, none,
	     softgpu_half_from_double_truncated(a) |
		     (uint32_t)softgpu_half_from_double_truncated(b) << 16)

static inline uint32_t limit_u16(uint32_t value)
{
	return value < UINT16_MAX ? value : UINT16_MAX;
}

static inline uint32_t limit_i16(int32_t value)
{
	return (uint16_t)softgpu_limit(value, INT16_MIN, INT16_MAX);
}

static inline uint32_t limit_u8(int16_t value)
{
	return (uint8_t)softgpu_limit(value, 0, UINT8_MAX);
}

VECTOR(v_cvt_pk_u16_u32, u32, u32, u32, none, limit_u16(a) | limit_u16(b) << 16)
VECTOR(v_cvt_pk_i16_i32, u32, i32, i32, none, limit_i16(a) | limit_i16(b) << 16)
VECTOR(v_sat_pk_u8_i16, u16, u32, none, none,
       limit_u8((int16_t)a) | limit_u8((int16_t)(a >> 16)) << 8)

/* Puts a float as a byte into byte `index` of `bytes`. */
static inline uint32_t pack_byte(float value, uint32_t index, uint32_t bytes)
{
	const uint32_t shift = 8 * (index & 3);
	const uint32_t converted = softgpu_to_u32(value);

	return (bytes & ~(0xffu << shift)) | (converted < 0xff ? converted : 0xff) << shift;
}

VECTOR_FLOAT(v_cvt_pk_u8_f32, u32, f32, u32, u32, pack_byte(a, b, c))
VECTOR_FLOAT(v_cvt_pkaccum_u8_f32, u32, f32, u32, u32, pack_byte(a, b, c))
