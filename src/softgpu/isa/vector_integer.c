/* SPDX-License-Identifier: MIT */
/* Vector ALU: integers and bits of 32 and 64 bits. */
#include "vector.h"
#include "vector_operations.h"

VECTOR(v_mov_b32, u32, u32, none, none, a)
VECTOR(v_not_b32, u32, u32, none, none, ~a)
VECTOR(v_and_b32, u32, u32, u32, none, a & b)
VECTOR(v_or_b32, u32, u32, u32, none, a | b)
VECTOR(v_xor_b32, u32, u32, u32, none, a ^ b)
VECTOR(v_xnor_b32, u32, u32, u32, none, ~(a ^ b))
VECTOR(v_and_or_b32, u32, u32, u32, u32, (a & b) | c)
VECTOR(v_or3_b32, u32, u32, u32, u32, a | b | c)
VECTOR(v_xad_u32, u32, u32, u32, u32, (a ^ b) + c)

VECTOR(v_lshlrev_b32, u32, u32, u32, none, b << (a & 31))
VECTOR(v_lshrrev_b32, u32, u32, u32, none, b >> (a & 31))
VECTOR(v_ashrrev_i32, u32, u32, i32, none, (uint32_t)(b >> (a & 31)))
VECTOR(v_lshlrev_b64, u64, u32, u64, none, b << (a & 63))
VECTOR(v_lshrrev_b64, u64, u32, u64, none, b >> (a & 63))
VECTOR(v_ashrrev_i64, u64, u32, i64, none, (uint64_t)(b >> (a & 63)))
VECTOR(v_lshl_add_u32, u32, u32, u32, u32, (a << (b & 31)) + c)
VECTOR(v_add_lshl_u32, u32, u32, u32, u32, (a + b) << (c & 31))
VECTOR(v_lshl_or_b32, u32, u32, u32, u32, (a << (b & 31)) | c)

VECTOR_SATURATE_U32(v_add_u32, u32, u32, none, (uint64_t)a + b)
VECTOR_SATURATE_U32(v_sub_u32, u32, u32, none, (int64_t)a - b)
VECTOR_SATURATE_U32(v_subrev_u32, u32, u32, none, (int64_t)b - a)
VECTOR_SATURATE_I32(v_add_i32, i32, i32, none, (int64_t)a + b)
VECTOR_SATURATE_I32(v_sub_i32, i32, i32, none, (int64_t)a - b)
VECTOR(v_add3_u32, u32, u32, u32, u32, a + b + c)

VECTOR(v_min_i32, u32, i32, i32, none, (uint32_t)(a < b ? a : b))
VECTOR(v_max_i32, u32, i32, i32, none, (uint32_t)(a > b ? a : b))
VECTOR(v_min_u32, u32, u32, u32, none, a < b ? a : b)
VECTOR(v_max_u32, u32, u32, u32, none, a > b ? a : b)

static inline int64_t min3(int64_t a, int64_t b, int64_t c)
{
	const int64_t low = a < b ? a : b;

	return low < c ? low : c;
}

static inline int64_t max3(int64_t a, int64_t b, int64_t c)
{
	const int64_t high = a > b ? a : b;

	return high > c ? high : c;
}

static inline int64_t med3(int64_t a, int64_t b, int64_t c)
{
	return a + b + c - min3(a, b, c) - max3(a, b, c);
}

VECTOR(v_min3_i32, u32, i32, i32, i32, (uint32_t)min3(a, b, c))
VECTOR(v_max3_i32, u32, i32, i32, i32, (uint32_t)max3(a, b, c))
VECTOR(v_med3_i32, u32, i32, i32, i32, (uint32_t)med3(a, b, c))
VECTOR(v_min3_u32, u32, u32, u32, u32, (uint32_t)min3(a, b, c))
VECTOR(v_max3_u32, u32, u32, u32, u32, (uint32_t)max3(a, b, c))
VECTOR(v_med3_u32, u32, u32, u32, u32, (uint32_t)med3(a, b, c))

VECTOR(v_mul_lo_u32, u32, u32, u32, none, a * b)
VECTOR(v_mul_hi_u32, u32, u32, u32, none, (uint32_t)((uint64_t)a * b >> 32))
VECTOR(v_mul_hi_i32, u32, i32, i32, none, (uint32_t)((int64_t)a * b >> 32))

static inline uint64_t low24(uint32_t value)
{
	return value & 0xffffff;
}

static inline int64_t signed24(uint32_t value)
{
	return (int32_t)(value << 8) >> 8;
}

VECTOR(v_mul_u32_u24, u32, u32, u32, none, (uint32_t)(low24(a) * low24(b)))
VECTOR(v_mul_i32_i24, u32, u32, u32, none, (uint32_t)(signed24(a) * signed24(b)))
VECTOR(v_mul_hi_u32_u24, u32, u32, u32, none, (uint32_t)(low24(a) * low24(b) >> 32))
VECTOR(v_mul_hi_i32_i24, u32, u32, u32, none, (uint32_t)(signed24(a) * signed24(b) >> 32))
VECTOR_SATURATE_U32(v_mad_u32_u24, u32, u32, u32, low24(a) * low24(b) + c)
VECTOR_SATURATE_I32(v_mad_i32_i24, u32, u32, i32, signed24(a) * signed24(b) + c)

VECTOR(v_bfe_u32, u32, u32, u32, u32, a >> (b & 31) & ((1u << (c & 31)) - 1))
VECTOR(v_bfi_b32, u32, u32, u32, u32, (a & b) | (~a & c))
VECTOR(v_bfm_b32, u32, u32, u32, none, ((1u << (a & 31)) - 1) << (b & 31))

static inline uint32_t signed_field(int32_t value, uint32_t offset, uint32_t width)
{
	const uint32_t field = (uint32_t)(value >> (offset & 31));

	width &= 31;
	return width ? (uint32_t)((int32_t)(field << (32 - width)) >> (32 - width)) : 0;
}

VECTOR(v_bfe_i32, u32, i32, u32, u32, signed_field(a, b, c))
VECTOR(v_alignbit_b32, u32, u32, u32, u32, (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))
VECTOR(v_alignbyte_b32, u32, u32, u32, u32, (uint32_t)(((uint64_t)a << 32 | b) >> 8 * (c & 3)))

static inline uint32_t reverse_bits(uint32_t value)
{
	value = (value & 0x55555555) << 1 | (value >> 1 & 0x55555555);
	value = (value & 0x33333333) << 2 | (value >> 2 & 0x33333333);
	value = (value & 0x0f0f0f0f) << 4 | (value >> 4 & 0x0f0f0f0f);
	return __builtin_bswap32(value);
}

static inline uint32_t first_bit_high(uint32_t value)
{
	return value ? (uint32_t)__builtin_clz(value) : UINT32_MAX;
}

VECTOR(v_bfrev_b32, u32, u32, none, none, reverse_bits(a))
VECTOR(v_ffbh_u32, u32, u32, none, none, first_bit_high(a))
VECTOR(v_ffbh_i32, u32, i32, none, none, first_bit_high((uint32_t)(a ^ a >> 31)))
VECTOR(v_ffbl_b32, u32, u32, none, none, a ? (uint32_t)__builtin_ctz(a) : UINT32_MAX)
VECTOR(v_bcnt_u32_b32, u32, u32, u32, none, (uint32_t)__builtin_popcount(a) + b)

/* How many bits of the mask, which is for 32 lanes from `first` on, belong to lanes below. */
static inline uint32_t masked_count(uint32_t mask, unsigned lane, unsigned first)
{
	const uint64_t below = (UINT64_C(1) << lane) - 1;

	return (uint32_t)__builtin_popcount(mask & (uint32_t)(below >> first));
}

VECTOR(v_mbcnt_lo_u32_b32, u32, u32, u32, none, masked_count(a, lane, 0) + b)
VECTOR(v_mbcnt_hi_u32_b32, u32, u32, u32, none, masked_count(a, lane, 32) + b)
