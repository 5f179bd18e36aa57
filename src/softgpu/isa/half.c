/* SPDX-License-Identifier: MIT */
/* Conversions between IEEE half and single precision. */
#include "half.h"

#include <string.h>

float softgpu_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1f;
	uint32_t mantissa = half & 0x3ff;
	uint32_t bits;
	float value;

	if (exponent == 0x1f) {
		bits = sign | 0x7f800000 | mantissa << 13;
	} else if (exponent != 0) {
		bits = sign | (exponent + 112) << 23 | mantissa << 13;
	} else {
		value = (float)mantissa * 0x1p-24f;
		memcpy(&bits, &value, sizeof(bits));
		bits |= sign;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint16_t softgpu_float_to_half(float value)
{
	uint32_t bits, magnitude, mantissa, shift, half, rest, middle;
	uint16_t sign;

	memcpy(&bits, &value, sizeof(bits));
	sign = (uint16_t)(bits >> 16 & 0x8000);
	magnitude = bits & 0x7fffffff;
	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
	if (magnitude >= 0x47800000) /* 65536 and above */
		return sign | 0x7c00;
	if (magnitude < 0x33000000) /* below half of the smallest denormal */
		return sign;
	if (magnitude >= 0x38800000) { /* normal half */
		shift = 13;
		mantissa = magnitude - (112u << 23);
	} else {
		shift = 126 - (magnitude >> 23);
		mantissa = (magnitude & 0x7fffff) | 0x800000;
	}
	half = mantissa >> shift;
	rest = mantissa & ((1u << shift) - 1);
	middle = 1u << (shift - 1);
	/* A carry out of the mantissa is the right exponent, up to infinity. */
	if (rest > middle || (rest == middle && half & 1))
		half++;
	return (uint16_t)(sign | half);
}
