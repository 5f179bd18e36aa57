/* SPDX-License-Identifier: MIT */
/* Models of kernels/floats.cl and kernels/halves.cl. */
#include "kernel_models.h"

#include <math.h>
#include <string.h>

static uint32_t single_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void single_exact(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const float *operands = (const float *)run->input + index * 3;
		float *mine = (float *)run->output + index * 12;
		float a = operands[0], b = operands[1], c = operands[2];

		mine[0] = a + b;
		mine[1] = a - b;
		mine[2] = a * b;
		mine[3] = fmaf(a, b, c);
		mine[4] = fmaf(-a, b, -c);
		mine[5] = a / b;
		mine[6] = floorf(a);
		mine[7] = ceilf(b);
		mine[8] = truncf(c);
		mine[9] = rintf(a);
		mine[10] = fabsf(a) + -b;
		mine[11] = copysignf(a, c);
	}
}

static void single_select(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const float *operands = (const float *)run->input + index * 3;
		uint32_t *mine = (uint32_t *)run->output + index * 5;
		float a = operands[0], b = operands[1], c = operands[2];
		const int conditions[] = {a<b, a <= b, a == b, a != b, a >= b, a> b,
					  !(a < b),
					  !(a >= b),
					  isnan(a) || isnan(b),
					  isnan(a),
					  a < c || a > c};

		mine[0] = 0;
		for (unsigned bit = 0; bit < sizeof(conditions) / sizeof(conditions[0]); bit++)
			mine[0] |= (uint32_t)(conditions[bit] != 0) << bit;
		mine[1] = single_bits(a < b ? a : c);
		mine[2] = fmaxf(a, b) == (a > b ? a : b);
		mine[3] = fminf(b, c) <= b;
		mine[4] = (uint32_t)(isinf(a) != 0) | (uint32_t)(isnan(b) != 0) << 1 |
			  (uint32_t)(fabsf(c) < 0x1p-126f) << 2;
	}
}

static void double_exact(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const double *operands = (const double *)run->input + index * 3;
		double *mine = (double *)run->output + index * 10;
		double a = operands[0], b = operands[1], c = operands[2];

		mine[0] = a + b;
		mine[1] = a - b;
		mine[2] = a * b;
		mine[3] = fma(a, b, c);
		mine[4] = a / b;
		mine[5] = floor(a);
		mine[6] = ceil(b);
		mine[7] = trunc(c);
		mine[8] = rint(a);
		mine[9] = a < b ? -a : fabs(c);
	}
}

/* Of a size whose products still fit into an int and a long. */
static void prepare_bounded_singles(void *input, size_t size, uint32_t count)
{
	float *values = input;

	(void)count;
	for (size_t index = 0; index < size / sizeof(float); index++) {
		int exponent = (int)(kernel_random() % 48) - 20;
		float value = ldexpf((float)(kernel_random() & 0xffffff) * 0x1p-24f + 1, exponent);

		values[index] = kernel_random() & 1 ? -value : value;
		if (index % 16 == 3)
			values[index] = (float)(int)(kernel_random() % 9) - 4.5f;
	}
}

static void conversions(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		float a = ((const float *)run->input)[index];
		uint64_t *mine = (uint64_t *)run->output + index * 14;
		uint32_t bits = single_bits(a);
		double wide = (double)a * 3.0000001;

		mine[0] = (uint64_t)(int32_t)a;
		mine[1] = (uint32_t)fabsf(a);
		mine[2] = (uint64_t)(int64_t)a;
		mine[3] = (uint64_t)fabsf(a);
		mine[4] = double_bits(wide);
		mine[5] = single_bits((float)wide);
		mine[6] = single_bits((float)bits) | (uint64_t)single_bits((float)(int32_t)bits)
							     << 32;
		mine[7] = single_bits((float)((uint64_t)bits * 0x10001)) |
			  (uint64_t)single_bits((float)((int64_t)(int32_t)bits * 0x30003)) << 32;
		mine[8] = double_bits((double)bits);
		mine[9] = double_bits((double)(int32_t)bits);
		mine[10] = double_bits((double)((uint64_t)bits * 0x123456789u));
		mine[11] = double_bits((double)(int64_t)((uint64_t)bits * 0xfedcba987654321u));
		mine[12] = (uint64_t)(int32_t)wide + (uint32_t)fabs(wide);
		mine[13] = (uint64_t)(int64_t)(wide * 1e6) ^
			   single_bits((float)(uint8_t)bits + (float)(bits >> 24));
	}
}

static void prepare_positive_singles(void *input, size_t size, uint32_t count)
{
	uint32_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 4; index++)
		words[index] = (kernel_random() & 0x7fffff) | (64 + kernel_random() % 128) << 23;
}

static void single_approximate(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		float a = ((const float *)run->input)[index];
		float *mine = (float *)run->output + index * 6;
		int exponent;

		mine[0] = sqrtf(a);
		mine[1] = 1.0f / a;
		mine[2] = (float)(1.0 / sqrt((double)a));
		mine[3] = fminf(a - floorf(a), 0x1.fffffep-1f);
		mine[4] = sqrtf(a);
		mine[5] = frexpf(a, &exponent);
	}
}

static void prepare_positive_doubles(void *input, size_t size, uint32_t count)
{
	uint64_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 8; index++)
		words[index] = (uint64_t)(kernel_random() & 0xfffff) << 32 | kernel_random() |
			       (uint64_t)(512 + kernel_random() % 1024) << 52;
}

static void double_approximate(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		double a = ((const double *)run->input)[index];
		double *mine = (double *)run->output + index * 4;
		int exponent;

		mine[0] = 1.0 / a;
		mine[1] = 1.0 / sqrt(a);
		mine[2] = frexp(a, &exponent);
		mine[3] = ldexp(a, exponent / 2 - 3);
	}
}

static const struct kernel_case single_cases[] = {
	{.kernel = "single_exact",
	 .model = single_exact,
	 .prepare = prepare_singles,
	 .input_words = 6000,
	 .output_words = 24005,
	 .count = 2000,
	 LAUNCH(2048, 256),
	 .comparison = COMPARE_SINGLES},
	{.kernel = "single_select",
	 .model = single_select,
	 .prepare = prepare_singles,
	 .input_words = 6000,
	 .output_words = 10005,
	 .count = 2000,
	 LAUNCH(2048, 256)},
	{.kernel = "double_exact",
	 .model = double_exact,
	 .prepare = prepare_doubles,
	 .input_words = 12000,
	 .output_words = 40010,
	 .count = 2000,
	 LAUNCH(2048, 256),
	 .comparison = COMPARE_DOUBLES},
	{.kernel = "conversions",
	 .model = conversions,
	 .prepare = prepare_bounded_singles,
	 .input_words = 1000,
	 .output_words = 28010,
	 .count = 1000,
	 LAUNCH(1024, 256)},
	{.kernel = "single_approximate",
	 .model = single_approximate,
	 .prepare = prepare_positive_singles,
	 .input_words = 1000,
	 .output_words = 6005,
	 .count = 1000,
	 LAUNCH(1024, 256),
	 .comparison = COMPARE_NEAR_SINGLES},
	{.kernel = "double_approximate",
	 .model = double_approximate,
	 .prepare = prepare_positive_doubles,
	 .input_words = 2000,
	 .output_words = 8010,
	 .count = 1000,
	 LAUNCH(1024, 256),
	 .comparison = COMPARE_NEAR_DOUBLES},
};

const struct kernel_table float_kernels = {"floats.cl", single_cases,
					   sizeof(single_cases) / sizeof(single_cases[0])};

float kernel_half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
	float value;

	if (exponent == 31) {
		uint32_t wide = 0x7f800000u | (uint32_t)mantissa << 13;

		memcpy(&value, &wide, sizeof(value));
	} else if (exponent == 0) {
		value = ldexpf((float)mantissa, -24);
	} else {
		value = ldexpf((float)(mantissa + 1024), exponent - 25);
	}
	return bits & 0x8000 ? -value : value;
}

uint16_t kernel_half_bits(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value);
	int exponent;

	if (isnan(value))
		return sign | 0x7e00;
	if (magnitude >= 65520)
		return sign | 0x7c00;
	if (magnitude < 0x1p-14)
		return (uint16_t)(sign | (uint16_t)rint(magnitude * 0x1p24));
	frexp(magnitude, &exponent);
	uint32_t mantissa = (uint32_t)rint(ldexp(magnitude, 11 - exponent));

	/* A mantissa that rounded up to 2048 carries into the exponent by itself. */
	return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + mantissa - 1024));
}

static void half_exact(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint16_t *operands = (const uint16_t *)run->input + index * 2;
		uint16_t *mine = (uint16_t *)run->output + index * 8;
		float a = kernel_half_value(operands[0]), b = kernel_half_value(operands[1]);

		mine[0] = kernel_half_bits((double)a + b);
		mine[1] = kernel_half_bits((double)a - b);
		mine[2] = kernel_half_bits((double)a * b);
		mine[3] = a < b ? operands[0] ^ 0x8000 : operands[1];
		mine[4] = (uint16_t)((a < b) | (a == b) << 1 | (a >= b) << 2 | (a != b) << 3);
		mine[5] = (uint16_t)(single_bits(a) >> 13);
		mine[6] = kernel_half_bits(a + 100.0f);
		mine[7] = kernel_half_bits((double)(int16_t)operands[0]);
	}
}

static uint32_t pack(double low, double high)
{
	return kernel_half_bits(low) | (uint32_t)kernel_half_bits(high) << 16;
}

static void packed_halves(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint16_t *operands = (const uint16_t *)run->input + index * 4;
		uint32_t *mine = (uint32_t *)run->output + index * 4;
		double a = kernel_half_value(operands[0]), b = kernel_half_value(operands[1]);
		double c = kernel_half_value(operands[2]), d = kernel_half_value(operands[3]);

		mine[0] = pack(a + c, b + d);
		mine[1] = pack(a * c, b * d);
		mine[2] = pack(a - d, b - c);
		mine[3] = pack((double)kernel_half_value(kernel_half_bits(c * 2)) - a,
			       (double)kernel_half_value(kernel_half_bits(d * 0.5)) - b);
	}
}

static void packed_shorts(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint16_t *operands = (const uint16_t *)run->input + index * 4;
		uint16_t *mine = (uint16_t *)run->output + index * 18;

		for (unsigned half = 0; half < 2; half++) {
			uint16_t a = operands[half], b = operands[2 + half];
			uint16_t other_a = operands[1 - half], other_b = operands[3 - half];
			int16_t c = (int16_t)a, d = (int16_t)b;
			uint16_t *place = mine + half;

			place[0] = (uint16_t)(a + b);
			place[2] = (uint16_t)(a - other_b);
			place[4] = (uint16_t)((uint32_t)a * b);
			place[6] = (uint16_t)(a << (b & 15));
			place[8] = (uint16_t)(c >> (b & 15));
			place[10] = (uint16_t)(a >> (b & 15));
			place[12] = (uint16_t)(c < d ? c : d);
			place[14] = a > b ? a : b;
			place[16] = (uint16_t)((uint32_t)a * b + other_a);
		}
	}
}

static const struct kernel_case half_cases[] = {
	{.kernel = "half_exact",
	 .model = half_exact,
	 .prepare = prepare_halves,
	 .input_words = 2000,
	 .output_words = 8003,
	 .count = 2000,
	 LAUNCH(2048, 256),
	 .comparison = COMPARE_HALVES},
	{.kernel = "packed_halves",
	 .model = packed_halves,
	 .prepare = prepare_halves,
	 .input_words = 4000,
	 .output_words = 8003,
	 .count = 2000,
	 LAUNCH(2048, 256),
	 .comparison = COMPARE_HALVES},
	{.kernel = "packed_shorts",
	 .model = packed_shorts,
	 .prepare = prepare_words,
	 .input_words = 4000,
	 .output_words = 18003,
	 .count = 2000,
	 LAUNCH(2048, 256)},
};

const struct kernel_table half_kernels = {"halves.cl", half_cases,
					  sizeof(half_cases) / sizeof(half_cases[0])};
