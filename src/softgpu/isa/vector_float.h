/* SPDX-License-Identifier: MIT */
/*
 * Floating-point helpers of the vector ALU: bit patterns, halves, and the operations whose result
 * for NaN, infinity and zero the instruction set defines more closely than C does.
 */
#ifndef SOFTGPU_VECTOR_FLOAT_H
#define SOFTGPU_VECTOR_FLOAT_H

#include "half.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float softgpu_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t softgpu_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double softgpu_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t softgpu_double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Exact. A NaN becomes quiet. */
static inline double softgpu_half_to_double(uint16_t bits)
{
	return (double)softgpu_half_to_float(bits);
}

/* Rounds as the host's rounding mode says. A NaN becomes quiet. */
uint16_t softgpu_half_from_double(double value);
/* Rounds towards zero, so that no finite value becomes infinite. */
uint16_t softgpu_half_from_double_truncated(double value);

static inline bool softgpu_is_nan16(uint16_t bits)
{
	return (bits & 0x7fff) > 0x7c00;
}

static inline bool softgpu_is_nan32(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

static inline bool softgpu_is_nan64(uint64_t bits)
{
	return (bits & INT64_MAX) > 0x7ff0000000000000;
}

/*
 * Minimum, maximum and median of bit patterns. A quiet NaN loses against a number; in IEEE mode a
 * signalling NaN wins and becomes quiet. -0 is less than +0.
 */
uint16_t softgpu_min16(uint16_t a, uint16_t b, bool ieee);
uint16_t softgpu_max16(uint16_t a, uint16_t b, bool ieee);
uint16_t softgpu_med16(uint16_t a, uint16_t b, uint16_t c, bool ieee);
uint32_t softgpu_min32(uint32_t a, uint32_t b, bool ieee);
uint32_t softgpu_max32(uint32_t a, uint32_t b, bool ieee);
uint32_t softgpu_med32(uint32_t a, uint32_t b, uint32_t c, bool ieee);
uint64_t softgpu_min64(uint64_t a, uint64_t b, bool ieee);
uint64_t softgpu_max64(uint64_t a, uint64_t b, bool ieee);

/* The class of a value as one of the ten bits of v_cmp_class. */
uint32_t softgpu_class16(uint16_t bits);
uint32_t softgpu_class32(uint32_t bits);
uint32_t softgpu_class64(uint64_t bits);

/* Rounds to the nearest integer, ties to even, whatever the host's rounding mode is. */
double softgpu_round_even(double value);

/* Conversions that truncate and saturate; NaN becomes 0. */
int32_t softgpu_to_i32(double value);
uint32_t softgpu_to_u32(double value);
int16_t softgpu_to_i16(double value);
uint16_t softgpu_to_u16(double value);

/* sin and cos of an angle in revolutions. */
double softgpu_sin_revolutions(double value);
double softgpu_cos_revolutions(double value);

/* a * b + c of halves with one rounding to a half left to do. */
double softgpu_half_fma(double a, double b, double c);

/* The fraction above the next lower integer, below 1. `limit` is the largest value below 1. */
double softgpu_fract(double value, double limit);

/* Significand in [0.5, 1) and exponent; zero, infinity and NaN have exponent 0. */
double softgpu_frexp_mantissa(double value);
int softgpu_frexp_exponent(double value);

#endif
