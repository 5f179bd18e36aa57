/* SPDX-License-Identifier: MIT */
/* Vector ALU: bytes and smaller parts of a dword: permutation, differences, dot products. */
#include "vector.h"
#include "vector_operations.h"

/* One selector byte of v_perm: a byte of {first, second}, a sign of one, or a constant. */
static inline uint32_t select_byte(uint64_t bytes, uint32_t selector)
{
	if (selector < 8)
		return bytes >> 8 * selector & 0xff;
	if (selector < 12)
		return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
	return selector == 12 ? 0 : 0xff;
}

static inline uint32_t permute(uint32_t first, uint32_t second, uint32_t selectors)
{
	const uint64_t bytes = (uint64_t)first << 32 | second;
	uint32_t result = 0;

	for (unsigned int shift = 0; shift < 32; shift += 8)
		result |= select_byte(bytes, selectors >> shift & 0xff) << shift;
	return result;
}

VECTOR(v_perm_b32, u32, u32, u32, u32, permute(a, b, c))

/* The mean of each byte; bit 0 of the third operand's byte rounds up. */
static inline uint32_t interpolate(uint32_t a, uint32_t b, uint32_t round)
{
	uint32_t result = 0;

	for (unsigned int shift = 0; shift < 32; shift += 8) {
		const uint32_t sum =
			(a >> shift & 0xff) + (b >> shift & 0xff) + (round >> shift & 1);

		result |= sum / 2 << shift;
	}
	return result;
}

VECTOR(v_lerp_u8, u32, u32, u32, u32, interpolate(a, b, c))

static inline uint32_t absolute_difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The sum of the four byte differences; masked: a zero byte in `reference` counts nothing. */
static inline uint32_t sum_of_differences(uint32_t value, uint32_t reference, bool masked)
{
	uint32_t sum = 0;

	for (unsigned int shift = 0; shift < 32; shift += 8) {
		const uint32_t byte = reference >> shift & 0xff;

		if (byte || !masked)
			sum += absolute_difference(value >> shift & 0xff, byte);
	}
	return sum;
}

VECTOR_SATURATE_U32(v_sad_u8, u32, u32, u32, (int64_t)c + sum_of_differences(a, b, false))
VECTOR_SATURATE_U32(v_msad_u8, u32, u32, u32, (int64_t)c + sum_of_differences(a, b, true))
VECTOR_SATURATE_U32(v_sad_hi_u8, u32, u32, u32,
		    (int64_t)c + ((int64_t)sum_of_differences(a, b, false) << 16))
VECTOR_SATURATE_U32(v_sad_u16, u32, u32, u32,
		    (int64_t)c + absolute_difference(a & 0xffff, b & 0xffff) +
			    absolute_difference(a >> 16, b >> 16))
VECTOR_SATURATE_U32(v_sad_u32, u32, u32, u32, (int64_t)c + absolute_difference(a, b))

/* Four sums, each of the four bytes one further up; added to the 16-bit parts of `base`. */
static inline uint64_t four_sums(uint64_t bytes, uint32_t reference, uint64_t base, bool masked,
				 bool clamp)
{
	uint64_t result = 0;

	for (unsigned int part = 0; part < 4; part++) {
		uint32_t sum = sum_of_differences((uint32_t)(bytes >> 8 * part), reference, masked);

		sum += base >> 16 * part & 0xffff;
		if (clamp && sum > UINT16_MAX)
			sum = UINT16_MAX;
		result |= (uint64_t)(uint16_t)sum << 16 * part;
	}
	return result;
}

VECTOR(v_qsad_pk_u16_u8, u64, u64, u32, u64, four_sums(a, b, c, false, instruction->clamp))
VECTOR(v_mqsad_pk_u16_u8, u64, u64, u32, u64, four_sums(a, b, c, true, instruction->clamp))

/* The same with sums of 32 bits in four registers; the third source is four registers, too. */
void softgpu_v_mqsad_u32_u8(struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction)
{
	const unsigned int code = instruction->source[2];
	const uint32_t constant = code < SOFTGPU_CODE_VGPR0
					  ? softgpu_scalar32(wave, instruction, code, SOFTGPU_B32)
					  : 0;
	struct softgpu_vector vector;

	softgpu_vector_begin_raw(&vector, wave, instruction);
	for (unsigned int part = 0; part < 4; part++) {
		SOFTGPU_FOR_LANES (lane) {
			const uint64_t bytes =
				softgpu_load_u64(vector.source[0], vector.source_high[0], lane);
			const uint64_t sum = sum_of_differences((uint32_t)(bytes >> 8 * part),
								vector.source[1][lane], true);
			const uint64_t base =
				code < SOFTGPU_CODE_VGPR0
					? constant
					: wave->vgpr[code - SOFTGPU_CODE_VGPR0 + part][lane];

			vector.result[part][lane] = instruction->clamp && base + sum > UINT32_MAX
							    ? UINT32_MAX
							    : (uint32_t)(base + sum);
		}
	}
	softgpu_vector_end(&vector);
}

/* Dot products of parts of `width` bits. */
static inline int64_t dot_signed(uint32_t a, uint32_t b, unsigned int width)
{
	int64_t sum = 0;

	for (unsigned int shift = 0; shift < 32; shift += width) {
		const int32_t x = (int32_t)(a << (32 - width - shift)) >> (32 - width);
		const int32_t y = (int32_t)(b << (32 - width - shift)) >> (32 - width);

		sum += (int64_t)x * y;
	}
	return sum;
}

static inline int64_t dot_unsigned(uint32_t a, uint32_t b, unsigned int width)
{
	const uint32_t mask = UINT32_MAX >> (32 - width);
	int64_t sum = 0;

	for (unsigned int shift = 0; shift < 32; shift += width)
		sum += (int64_t)(a >> shift & mask) * (b >> shift & mask);
	return sum;
}

VECTOR_SATURATE_I32(v_dot2_i32_i16, u32, u32, i32, dot_signed(a, b, 16) + c)
VECTOR_SATURATE_U32(v_dot2_u32_u16, u32, u32, u32, dot_unsigned(a, b, 16) + c)
VECTOR_SATURATE_I32(v_dot4_i32_i8, u32, u32, i32, dot_signed(a, b, 8) + c)
VECTOR_SATURATE_U32(v_dot4_u32_u8, u32, u32, u32, dot_unsigned(a, b, 8) + c)
VECTOR_SATURATE_I32(v_dot8_i32_i4, u32, u32, i32, dot_signed(a, b, 4) + c)
VECTOR_SATURATE_U32(v_dot8_u32_u4, u32, u32, u32, dot_unsigned(a, b, 4) + c)
VECTOR_SATURATE_I32(v_dot2c_i32_i16, u32, u32, i32, dot_signed(a, b, 16) + c)
VECTOR_SATURATE_I32(v_dot4c_i32_i8, u32, u32, i32, dot_signed(a, b, 8) + c)
VECTOR_SATURATE_I32(v_dot8c_i32_i4, u32, u32, i32, dot_signed(a, b, 4) + c)
