/* SPDX-License-Identifier: MIT */
/* Vector ALU: integers of 16 bits, single and packed. */
#include "vector.h"
#include "vector_operations.h"

VECTOR_SATURATE_U16(v_add_u16, u16, u16, none, a + b)
VECTOR_SATURATE_U16(v_sub_u16, u16, u16, none, a - b)
VECTOR_SATURATE_U16(v_subrev_u16, u16, u16, none, b - a)
VECTOR_SATURATE_I16(v_add_i16, i16, i16, none, a + b)
VECTOR_SATURATE_I16(v_sub_i16, i16, i16, none, a - b)
VECTOR(v_mul_lo_u16, u16, u16, u16, none, (uint32_t)a * b)
VECTOR(v_lshlrev_b16, u16, u16, u16, none, (uint32_t)b << (a & 15))
VECTOR(v_lshrrev_b16, u16, u16, u16, none, b >> (a & 15))
VECTOR(v_ashrrev_i16, u16, u16, i16, none, (uint32_t)(b >> (a & 15)))

VECTOR(v_min_u16, u16, u16, u16, none, a < b ? a : b)
VECTOR(v_max_u16, u16, u16, u16, none, a > b ? a : b)
VECTOR(v_min_i16, u16, i16, i16, none, (uint32_t)(a < b ? a : b))
VECTOR(v_max_i16, u16, i16, i16, none, (uint32_t)(a > b ? a : b))

static inline int min3(int a, int b, int c)
{
	const int low = a < b ? a : b;

	return low < c ? low : c;
}

static inline int max3(int a, int b, int c)
{
	const int high = a > b ? a : b;

	return high > c ? high : c;
}

static inline int med3(int a, int b, int c)
{
	return a + b + c - min3(a, b, c) - max3(a, b, c);
}

VECTOR(v_min3_i16, u16, i16, i16, i16, (uint32_t)min3(a, b, c))
VECTOR(v_max3_i16, u16, i16, i16, i16, (uint32_t)max3(a, b, c))
VECTOR(v_med3_i16, u16, i16, i16, i16, (uint32_t)med3(a, b, c))
VECTOR(v_min3_u16, u16, u16, u16, u16, (uint32_t)min3(a, b, c))
VECTOR(v_max3_u16, u16, u16, u16, u16, (uint32_t)max3(a, b, c))
VECTOR(v_med3_u16, u16, u16, u16, u16, (uint32_t)med3(a, b, c))

VECTOR_SATURATE_U16(v_mad_u16, u16, u16, u16, (int64_t)a * b + c)
VECTOR_SATURATE_I16(v_mad_i16, i16, i16, i16, (int64_t)a * b + c)
VECTOR_SATURATE_U16(v_mad_legacy_u16, u16, u16, u16, (int64_t)a * b + c)
VECTOR_SATURATE_I16(v_mad_legacy_i16, i16, i16, i16, (int64_t)a * b + c)
VECTOR_SATURATE_U32(v_mad_u32_u16, u16, u16, u32, (int64_t)a * b + c)
VECTOR_SATURATE_I32(v_mad_i32_i16, i16, i16, i32, (int64_t)a * b + c)

/*
 * Packed operations do the same in both halves: `expression` sees one half of each operand as a,
 * b and c of `type`.
 */
#define PACKED(name, type, minimum, maximum, expression)                                           \
	static inline uint32_t name##_half(type a, type b, type c, bool clamp)                     \
	{                                                                                          \
		const int64_t value = (expression);                                                \
                                                                                                   \
		(void)c;                                                                           \
		return (uint16_t)(clamp ? softgpu_limit(value, minimum, maximum) : value);         \
	}                                                                                          \
	VECTOR(name, pk16, pk16, pk16, pk16,                                                       \
	       name##_half((type)a.low, (type)b.low, (type)c.low, instruction->clamp) |            \
		       name##_half((type)a.high, (type)b.high, (type)c.high, instruction->clamp)   \
			       << 16)

#define PACKED_U16(name, expression) PACKED(name, uint16_t, 0, UINT16_MAX, expression)
#define PACKED_I16(name, expression) PACKED(name, int16_t, INT16_MIN, INT16_MAX, expression)

PACKED_U16(v_pk_add_u16, a + b)
PACKED_U16(v_pk_sub_u16, a - b)
PACKED_U16(v_pk_mad_u16, (int64_t)a * b + c)
PACKED_U16(v_pk_mul_lo_u16, (uint16_t)((uint32_t)a * b))
PACKED_U16(v_pk_min_u16, a < b ? a : b)
PACKED_U16(v_pk_max_u16, a > b ? a : b)
PACKED_U16(v_pk_lshlrev_b16, (uint16_t)((uint32_t)b << (a & 15)))
PACKED_U16(v_pk_lshrrev_b16, b >> (a & 15))
PACKED_I16(v_pk_add_i16, a + b)
PACKED_I16(v_pk_sub_i16, a - b)
PACKED_I16(v_pk_mad_i16, (int64_t)a * b + c)
PACKED_I16(v_pk_min_i16, a < b ? a : b)
PACKED_I16(v_pk_max_i16, a > b ? a : b)
PACKED_I16(v_pk_ashrrev_i16, b >> (a & 15))
