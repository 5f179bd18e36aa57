/* SPDX-License-Identifier: MIT */
/* Floating-point helpers of the vector ALU. */
#include "vector_float.h"

#include <fenv.h>

/* The bits of a value that a half represents exactly. */
static uint16_t exact_half(double value)
{
	const uint64_t bits = softgpu_double_bits(value);
	const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
	const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;

	if (exponent < -14)
		return sign | (uint16_t)(fabs(value) * 0x1p24);
	return (uint16_t)(sign | (exponent + 15) << 10 | (bits >> 42 & 0x3ff));
}

static uint16_t half_special(double value)
{
	const uint64_t bits = softgpu_double_bits(value);
	const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);

	if (value != value)
		return sign | 0x7e00 | (bits >> 42 & 0x3ff);
	return sign | 0x7c00;
}

uint16_t softgpu_half_from_double(double value)
{
	const uint64_t magnitude = softgpu_double_bits(value) & INT64_MAX;
	int exponent = (int)(magnitude >> 52) - 1023;
	double adder;

	if (exponent == 1024)
		return half_special(value);
	if (exponent >= 16) {
		/* Overflow: infinity or the largest half, as rounding a value above that says. */
		if (fegetround() == FE_TONEAREST)
			return half_special(copysign(INFINITY, value));
		value = copysign(65519.0, value);
		exponent = 15;
	}
	if (exponent < -14)
		exponent = -14;
	/* Adding a number whose last place is the half's last place lets the host round. */
	adder = copysign(softgpu_double((uint64_t)(exponent - 10 + 52 + 1023) << 52), value);
	value = copysign(value + adder - adder, value);
	if (fabs(value) > 65504.0)
		return half_special(copysign(INFINITY, value));
	return exact_half(value);
}

uint16_t softgpu_half_from_double_truncated(double value)
{
	const uint64_t bits = softgpu_double_bits(value);
	const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;

	if (exponent == 1024)
		return half_special(value);
	if (exponent >= 16)
		return (uint16_t)((bits >> 48 & 0x8000) | 0x7bff);
	if (exponent < -14)
		return (uint16_t)((bits >> 48 & 0x8000) | (uint16_t)(fabs(value) * 0x1p24));
	return exact_half(softgpu_double(bits & ~((UINT64_C(1) << 42) - 1)));
}

/*
 * One set of functions a width. Ordering sign-magnitude numbers as integers also puts -0 below +0.
 */
#define ORDERED(width, sign_bit, quiet_bit)                                                        \
	static bool is_signalling##width(uint##width##_t bits)                                     \
	{                                                                                          \
		return softgpu_is_nan##width(bits) && !(bits & (quiet_bit));                       \
	}                                                                                          \
                                                                                                   \
	static bool is_less##width(uint##width##_t a, uint##width##_t b)                           \
	{                                                                                          \
		a ^= a & (sign_bit) ? (uint##width##_t)~UINT64_C(0) : (sign_bit);                  \
		b ^= b & (sign_bit) ? (uint##width##_t)~UINT64_C(0) : (sign_bit);                  \
		return a < b;                                                                      \
	}                                                                                          \
                                                                                                   \
	static uint##width##_t choose##width(uint##width##_t a, uint##width##_t b, bool ieee,      \
					     bool maximum)                                         \
	{                                                                                          \
		if (ieee && is_signalling##width(a))                                               \
			return a | (quiet_bit);                                                    \
		if (ieee && is_signalling##width(b))                                               \
			return b | (quiet_bit);                                                    \
		if (softgpu_is_nan##width(a))                                                      \
			return b;                                                                  \
		if (softgpu_is_nan##width(b))                                                      \
			return a;                                                                  \
		return is_less##width(a, b) != maximum ? a : b;                                    \
	}                                                                                          \
                                                                                                   \
	uint##width##_t softgpu_min##width(uint##width##_t a, uint##width##_t b, bool ieee)        \
	{                                                                                          \
		return choose##width(a, b, ieee, false);                                           \
	}                                                                                          \
                                                                                                   \
	uint##width##_t softgpu_max##width(uint##width##_t a, uint##width##_t b, bool ieee)        \
	{                                                                                          \
		return choose##width(a, b, ieee, true);                                            \
	}

ORDERED(16, 0x8000, 0x200)
ORDERED(32, 0x80000000, 0x400000)
ORDERED(64, 0x8000000000000000, 0x8000000000000)

#define MEDIAN(width)                                                                              \
	uint##width##_t softgpu_med##width(uint##width##_t a, uint##width##_t b,                   \
					   uint##width##_t c, bool ieee)                           \
	{                                                                                          \
		const uint##width##_t low = softgpu_min##width(a, b, ieee);                        \
		const uint##width##_t high = softgpu_max##width(a, b, ieee);                       \
                                                                                                   \
		if (softgpu_is_nan##width(a) || softgpu_is_nan##width(b) ||                        \
		    softgpu_is_nan##width(c))                                                      \
			return softgpu_min##width(low, c, ieee);                                   \
		return softgpu_max##width(low, softgpu_min##width(high, c, ieee), ieee);           \
	}

MEDIAN(16)
MEDIAN(32)

enum {
	CLASS_SIGNALLING = 1 << 0,
	CLASS_QUIET = 1 << 1,
	CLASS_NEGATIVE_INFINITY = 1 << 2,
	CLASS_POSITIVE_INFINITY = 1 << 9, /* in between: normal, denormal, zero and reverse */
};

static uint32_t classify(bool negative, bool zero, bool denormal, bool infinite)
{
	const unsigned int distance = zero ? 3 : denormal ? 2 : infinite ? 0 : 1;

	return negative ? CLASS_NEGATIVE_INFINITY << distance
			: CLASS_POSITIVE_INFINITY >> distance;
}

uint32_t softgpu_class16(uint16_t bits)
{
	const uint16_t magnitude = bits & 0x7fff;

	if (softgpu_is_nan16(bits))
		return is_signalling16(bits) ? CLASS_SIGNALLING : CLASS_QUIET;
	return classify(bits >> 15, !magnitude, magnitude < 0x400, magnitude == 0x7c00);
}

uint32_t softgpu_class32(uint32_t bits)
{
	const uint32_t magnitude = bits & INT32_MAX;

	if (softgpu_is_nan32(bits))
		return is_signalling32(bits) ? CLASS_SIGNALLING : CLASS_QUIET;
	return classify(bits >> 31, !magnitude, magnitude < 0x800000, magnitude == 0x7f800000);
}

uint32_t softgpu_class64(uint64_t bits)
{
	const uint64_t magnitude = bits & INT64_MAX;

	if (softgpu_is_nan64(bits))
		return is_signalling64(bits) ? CLASS_SIGNALLING : CLASS_QUIET;
	return classify(bits >> 63, !magnitude, magnitude < 0x10000000000000,
			magnitude == 0x7ff0000000000000);
}

double softgpu_round_even(double value)
{
	const double down = floor(value);
	const double rest = value - down;
	double result = down;

	if (!isfinite(value))
		return value;
	if (rest > 0.5 || (rest == 0.5 && fmod(down, 2.0) != 0.0))
		result = down + 1.0;
	return copysign(result, value);
}

static double limit(double value, double minimum, double maximum)
{
	if (value != value)
		return 0.0;
	return value < minimum ? minimum : value > maximum ? maximum : value;
}

int32_t softgpu_to_i32(double value)
{
	return (int32_t)limit(value, INT32_MIN, INT32_MAX);
}

uint32_t softgpu_to_u32(double value)
{
	return (uint32_t)limit(value, 0.0, UINT32_MAX);
}

int16_t softgpu_to_i16(double value)
{
	return (int16_t)limit(value, INT16_MIN, INT16_MAX);
}

uint16_t softgpu_to_u16(double value)
{
	return (uint16_t)limit(value, 0.0, UINT16_MAX);
}

#define TWO_PI 6.283185307179586477

/* Beyond this many revolutions the hardware returns the value of angle 0. */
#define MAX_REVOLUTIONS 256.0

double softgpu_sin_revolutions(double value)
{
	if (isinf(value))
		return NAN;
	if (fabs(value) > MAX_REVOLUTIONS)
		return 0.0;
	/* Whole and half revolutions give exact zeros, which the rounded 2 * pi would miss. */
	value = fmod(value, 1.0);
	if (fabs(value) == 0.5)
		return copysign(0.0, value);
	return sin(value * TWO_PI);
}

double softgpu_cos_revolutions(double value)
{
	if (isinf(value))
		return NAN;
	if (fabs(value) > MAX_REVOLUTIONS)
		return 1.0;
	value = fabs(fmod(value, 1.0));
	if (value == 0.25 || value == 0.75)
		return 0.0;
	return cos(value * TWO_PI);
}

double softgpu_half_fma(double a, double b, double c)
{
	/* The product is exact. Rounding the sum to odd keeps the second rounding right. */
	const double product = a * b;
	const double sum = product + c;
	const double back = sum - product;
	const double error = (product - (sum - back)) + (c - back);
	uint64_t bits = softgpu_double_bits(sum);

	if (!isfinite(sum) || error == 0.0 || bits & 1)
		return sum;
	bits += (error > 0.0) == (sum > 0.0) ? 1 : UINT64_MAX;
	return softgpu_double(bits);
}

double softgpu_fract(double value, double limit_below_one)
{
	const double fraction = value - floor(value);

	return fraction > limit_below_one ? limit_below_one : fraction;
}

double softgpu_frexp_mantissa(double value)
{
	int exponent;

	return frexp(value, &exponent);
}

int softgpu_frexp_exponent(double value)
{
	int exponent = 0;

	if (isfinite(value))
		frexp(value, &exponent);
	return exponent;
}
