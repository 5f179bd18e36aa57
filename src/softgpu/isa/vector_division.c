/* SPDX-License-Identifier: MIT */
/*
 * Vector ALU: the steps of exact division and of the reduction of large angles.
 *
 * A division scales its operands (div_scale), refines a reciprocal, rounds the quotient and undoes
 * the scaling (div_fmas), and puts in the special cases (div_fixup). div_scale's lane mask tells
 * div_fmas where only one operand was scaled.
 */
#include "vector.h"
#include "vector_operations.h"

#include <fenv.h>

/* What the two widths differ in. */
struct format {
	int minimum_exponent;	/* of a normal number */
	int scale;		/* exponent by which operands are scaled */
	int far_exponent;	/* a quotient this far up needs scaling */
	int tiny_exponent;	/* a numerator below has no room for error terms */
	int underflow_exponent; /* a quotient below is zero */
};

static const struct format format32 = {-126, 64, 96, -104, -150};
static const struct format format64 = {-1022, 128, 768, -970, -1075};

static int exponent_of(double value)
{
	return value == 0.0 ? -2000 : ilogb(value);
}

static bool is_denormal(double value, const struct format *format)
{
	return value != 0.0 && exponent_of(value) < format->minimum_exponent;
}

/* Whether |numerator / denominator| or the like is below the normal numbers. */
static bool quotient_is_denormal(double numerator, double denominator, const struct format *format)
{
	int top, bottom;
	const double a = fabs(frexp(numerator, &top));
	const double b = fabs(frexp(denominator, &bottom));

	if (!isfinite(numerator) || !isfinite(denominator))
		return false;
	return top - bottom + (a < b ? -1 : 0) < format->minimum_exponent;
}

/*
 * Scales `value`, which is the denominator or the numerator. The exponents used are those of the
 * biased fields, where denormals count as one below the smallest normal.
 */
static double div_scale(double value, double denominator, double numerator,
			const struct format *format, bool *one_scaled)
{
	const bool is_denominator = value == denominator;
	const int top = exponent_of(numerator) < format->minimum_exponent
				? format->minimum_exponent - 1
				: exponent_of(numerator);
	const int bottom = exponent_of(denominator) < format->minimum_exponent
				   ? format->minimum_exponent - 1
				   : exponent_of(denominator);
	const bool reciprocal_denormal = quotient_is_denormal(1.0, denominator, format);
	const bool result_denormal = quotient_is_denormal(numerator, denominator, format);

	*one_scaled = false;
	if (numerator == 0.0 || denominator == 0.0)
		return NAN;
	if (!isfinite(numerator) || !isfinite(denominator))
		return value;
	if (top - bottom >= format->far_exponent) {
		*one_scaled = true;
		return is_denominator ? ldexp(value, format->scale) : value;
	}
	if (is_denormal(denominator, format))
		return ldexp(value, format->scale);
	if (reciprocal_denormal && result_denormal) {
		*one_scaled = true;
		return is_denominator ? ldexp(value, -format->scale) : value;
	}
	if (reciprocal_denormal)
		return ldexp(value, -format->scale);
	if (result_denormal) {
		*one_scaled = true;
		return value == numerator ? ldexp(value, format->scale) : value;
	}
	if (top <= format->tiny_exponent)
		return ldexp(value, format->scale);
	return value;
}

#define DIV_SCALE(type, width)                                                                     \
	void softgpu_v_div_scale_##type(struct softgpu_wave *wave,                                 \
					const struct softgpu_instruction *instruction)             \
	{                                                                                          \
		struct softgpu_vector vector;                                                      \
		uint8_t flags[SOFTGPU_LANES];                                                      \
                                                                                                   \
		softgpu_vector_begin(&vector, wave, instruction);                                  \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			double operand[3];                                                         \
			bool one_scaled;                                                           \
                                                                                                   \
			for (unsigned int index = 0; index < 3; index++)                           \
				operand[index] = softgpu_load_##type(                              \
					vector.source[index], vector.source_high[index], lane);    \
			softgpu_store_##type(                                                      \
				vector.result[0], vector.result[1], lane,                          \
				(softgpu_lane_##type)div_scale(operand[0], operand[1], operand[2], \
							       &format##width, &one_scaled));      \
			flags[lane] = one_scaled;                                                  \
		}                                                                                  \
		softgpu_vector_write_mask(&vector, softgpu_vector_gather_mask(flags));             \
		softgpu_vector_end(&vector);                                                       \
	}

DIV_SCALE(f32, 32)
DIV_SCALE(f64, 64)

/* What rounding took from fma(a, b, c) == sum; its sign is exact. */
static double fma_error(double a, double b, double c, double sum)
{
	const double product = a * b;
	const double product_rest = fma(a, b, -product);
	const double low = c + product_rest;
	const double low_share = low - c;
	const double low_rest = (c - (low - low_share)) + (product_rest - low_share);
	const double high = product + low;
	const double high_share = high - product;
	const double high_rest = (product - (high - high_share)) + (low - high_share);

	return ((high - sum) + high_rest) + low_rest;
}

static double narrow(double value, bool is_single)
{
	return is_single ? (double)(float)value : value;
}

/*
 * fma(a, b, c) times a power of two, rounded once: a quotient below the normal numbers has fewer
 * bits than the sum, and a sum that was rounded to halfway between two of them would go astray.
 */
static double scaled_fma(double a, double b, double c, int exponent, bool is_single)
{
	const double sum = fma(a, b, c);
	const double rounded = narrow(ldexp(sum, exponent), is_single);
	double rest, mirrored, error;

	if (!isfinite(rounded) || fegetround() != FE_TONEAREST)
		return rounded;
	rest = sum - ldexp(rounded, -exponent);
	mirrored = narrow(ldexp(sum + rest, exponent), is_single);
	if (rest == 0.0 || ldexp(mirrored, -exponent) != sum + rest)
		return rounded;
	error = fma_error(a, b, c, sum);
	return error != 0.0 && signbit(error) == signbit(rest) ? mirrored : rounded;
}

/* Undoes the scaling in the lanes of VCC; the size of the estimate tells which way it went. */
static float div_fmas_f32(float a, float b, float c, bool scaled)
{
	return scaled ? (float)scaled_fma(a, b, c, fabsf(c) >= 2.0f ? 64 : -64, true)
		      : fmaf(a, b, c);
}

static double div_fmas_f64(double a, double b, double c, bool scaled)
{
	return scaled ? scaled_fma(a, b, c, fabs(c) >= 2.0 ? 128 : -128, false) : fma(a, b, c);
}

VECTOR_ARITHMETIC(v_div_fmas_f32, f32, f32, f32, f32, div_fmas_f32(a, b, c, wave->vcc >> lane & 1))
VECTOR_ARITHMETIC(v_div_fmas_f64, f64, f64, f64, f64, div_fmas_f64(a, b, c, wave->vcc >> lane & 1))

static double quiet(double nan)
{
	return softgpu_double(softgpu_double_bits(nan) | 0x8000000000000);
}

/* The quotient of numerator and denominator, given that it is `quotient` in the usual case. */
static double div_fixup(double quotient, double denominator, double numerator,
			const struct format *format)
{
	const double sign = signbit(denominator) != signbit(numerator) ? -1.0 : 1.0;

	if (numerator != numerator || denominator != denominator)
		return quiet(numerator != numerator ? numerator : denominator);
	if ((denominator == 0.0 && numerator == 0.0) || (isinf(denominator) && isinf(numerator)))
		return -NAN;
	if (denominator == 0.0 || isinf(numerator))
		return copysign(INFINITY, sign);
	if (isinf(denominator) || numerator == 0.0)
		return copysign(0.0, sign);
	if (format &&
	    exponent_of(numerator) - exponent_of(denominator) < format->underflow_exponent)
		return copysign(0.0, sign);
	/* The refinement of an estimate beyond the largest number subtracts infinities. */
	if (quotient != quotient)
		return copysign(INFINITY, sign);
	return copysign(quotient, sign);
}

/* Only float: the NaN results are those chosen above, the default one negative. */
VECTOR_FLOAT(v_div_fixup_f32, f32, f32, f32, f32, (float)div_fixup(a, b, c, &format32))
VECTOR_FLOAT(v_div_fixup_f64, f64, f64, f64, f64, div_fixup(a, b, c, &format64))
VECTOR_FLOAT(v_div_fixup_f16, f16, f16, f16, f16, div_fixup(a, b, c, NULL))
VECTOR_FLOAT(v_div_fixup_legacy_f16, f16, f16, f16, f16, div_fixup(a, b, c, NULL))

/* The first 1201 fractional bits of 2 / pi, most significant first. */
#define TWO_OVER_PI_BITS 1201
static const uint32_t two_over_pi[38] = {
	0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
	0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
	0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
	0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
	0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
	0x1f8d5d08, 0x56033046, 0xfc7b0000,
};

/* 53 bits of 2 / pi from bit `first` on; bits behind the last are zero. */
static uint64_t two_over_pi_segment(unsigned int first)
{
	uint64_t bits = 0;

	for (unsigned int bit = first; bit < first + 53; bit++) {
		bits <<= 1;
		if (bit < TWO_OVER_PI_BITS)
			bits |= two_over_pi[bit / 32] >> (31 - bit % 32) & 1;
	}
	return bits;
}

/* The part of 2 / pi that matters for an angle of this size, segment by segment. */
static double trig_preop(uint64_t angle_bits, uint32_t segment)
{
	const unsigned int exponent = angle_bits >> 52 & 0x7ff;
	unsigned int shift = (segment & 31) * 53;
	double value;

	if (exponent > 1077)
		shift += exponent - 1077;
	value = ldexp((double)two_over_pi_segment(shift), -53 - (int)shift);
	return exponent >= 1968 ? ldexp(value, 128) : value;
}

VECTOR_FLOAT(v_trig_preop_f64, f64, u64, u32, none, trig_preop(a, b))
