/* SPDX-License-Identifier: MIT */
/* Models of kernels/builtins.cl. */
#include "kernel_models.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

static uint32_t byte_of(uint32_t word, int place)
{
	return word >> place * 8 & 0xff;
}

static uint32_t difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static int16_t saturate_16(int32_t value)
{
	return (int16_t)(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

static void byte_sums(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *operands = (const uint32_t *)run->input + index * 3;
		uint32_t *mine = (uint32_t *)run->output + index * 6;
		uint32_t a = operands[0], b = operands[1], c = operands[2];
		uint32_t sum = 0, masked = 0, average = 0;

		for (int place = 0; place < 4; place++) {
			uint32_t x = byte_of(a, place), y = byte_of(b, place);

			sum += difference(x, y);
			masked += y ? difference(x, y) : 0;
			average |= (x + y + (byte_of(c, place) & 1)) / 2 << place * 8;
		}
		mine[0] = c + sum;
		mine[1] = c + masked;
		mine[2] = c + (sum << 16);
		mine[3] = c + difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16);
		mine[4] = average;
		mine[5] = (uint16_t)saturate_16((int32_t)a) |
			  (uint32_t)(uint16_t)saturate_16((int32_t)b) << 16;
	}
}

/* Sum of the products of all fields of `width` bits. */
static int64_t dot(uint32_t a, uint32_t b, int width, int is_signed)
{
	const int64_t sign = is_signed ? 1ll << (width - 1) : 0, mask = (1ll << width) - 1;
	int64_t sum = 0;

	for (int place = 0; place < 32; place += width) {
		int64_t x = (((a >> place) & mask) ^ sign) - sign;
		int64_t y = (((b >> place) & mask) ^ sign) - sign;

		sum += x * y;
	}
	return sum;
}

static void dot_products(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *operands = (const uint32_t *)run->input + index * 3;
		uint32_t *mine = (uint32_t *)run->output + index * 8;
		uint32_t a = operands[0], b = operands[1], c = operands[2];
		int64_t whole = dot(a, b, 8, 1) + (int32_t)c;
		uint64_t positive = (uint64_t)dot(a, b, 8, 0) + c;

		mine[0] = (uint32_t)dot(a, b, 16, 1) + c;
		mine[1] = (uint32_t)dot(a, b, 16, 0) + c;
		mine[2] = (uint32_t)whole;
		mine[3] = (uint32_t)positive;
		mine[4] = (uint32_t)dot(a, b, 4, 1) + c;
		mine[5] = (uint32_t)dot(a, b, 4, 0) + c;
		mine[6] = (uint32_t)(whole > INT32_MAX	 ? INT32_MAX
				     : whole < INT32_MIN ? INT32_MIN
							 : whole);
		mine[7] = positive > UINT32_MAX ? UINT32_MAX : (uint32_t)positive;
	}
}

static float flush(float value)
{
	return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

static void rounding_modes(const struct kernel_run *run)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

	for (uint32_t index = 0; index < run->count; index++) {
		const float *operands = (const float *)run->input + index * 2;
		float *mine = (float *)run->output + index * 14;
		/* Volatile: the compiler must not move arithmetic across mode changes. */
		volatile float a = operands[0], b = operands[1];

		for (int mode = 0; mode < 4; mode++) {
			volatile float sum, product, fused;

			fesetround(modes[mode]);
			sum = a + b;
			product = a * b;
			fused = fmaf(a, b, a);
			fesetround(FE_TONEAREST);
			mine[mode * 3] = sum;
			mine[mode * 3 + 1] = product;
			mine[mode * 3 + 2] = fused;
		}
		mine[12] = flush(flush(a) + flush(b));
		mine[13] = ldexpf(a, (int)(index % 400) - 200);
	}
}

static uint32_t saturate(double value, double lowest, double highest)
{
	if (isnan(value))
		return 0;
	value = value < lowest ? lowest : value > highest ? highest : value;
	return (uint32_t)(int64_t)value;
}

static void saturating_conversions(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		double a = ((const float *)run->input)[index];
		uint32_t *mine = (uint32_t *)run->output + index * 3;

		mine[0] = saturate(trunc(a), INT32_MIN, INT32_MAX);
		mine[1] = saturate(trunc(a), 0, UINT32_MAX);
		mine[2] = saturate(floor(a), INT32_MIN, INT32_MAX);
	}
}

/* Of like magnitude, so that a product and a sum together are exact in double precision. */
static void prepare_moderate_halves(void *input, size_t size, uint32_t count)
{
	uint16_t *halves = input;

	(void)count;
	for (size_t index = 0; index < size / sizeof(*halves); index++)
		halves[index] =
			(uint16_t)((kernel_random() & 0x83ff) | (10 + kernel_random() % 11) << 10);
}

static void half_fused(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint16_t *operands = (const uint16_t *)run->input + index * 6;
		uint32_t *mine = (uint32_t *)run->output + index * 3;
		double a = kernel_half_value(operands[0]), a_high = kernel_half_value(operands[1]);
		double b = kernel_half_value(operands[2]), b_high = kernel_half_value(operands[3]);
		double c = kernel_half_value(operands[4]), c_high = kernel_half_value(operands[5]);
		float mixed = (float)(a * b_high + c);

		mine[0] = kernel_half_bits(-a * b_high + c) |
			  (uint32_t)kernel_half_bits(a_high * b + c_high) << 16;
		mine[1] = kernel_half_bits(a * fabs(b) - c);
		memcpy(mine + 2, &mixed, sizeof(mixed));
	}
}

static void counters(const struct kernel_run *run)
{
	uint32_t *output = run->output, all = 0;

	for (uint32_t group = 0; group < run->grid / 192; group++) {
		uint32_t *mine = output + 4 + group * 4, steps = 0;

		for (uint32_t item = 0; item < 192 && group * 192 + item < run->count; item++)
			steps += ((const uint32_t *)run->input)[group * 192 + item] & 1;
		mine[0] = 5 + steps;
		mine[1] = (5 + steps) % 13;
		mine[2] = (5 + 10 * 192 - steps) % 10;
		all += steps;
	}
	output[1] = all % 101;
	output[2] = (78 * 1000 - all) % 78;
}

static const struct kernel_case cases[] = {
	{.kernel = "byte_sums",
	 .model = byte_sums,
	 .prepare = prepare_words,
	 .input_words = 3000,
	 .output_words = 6005,
	 .count = 1000,
	 LAUNCH(1024, 256)},
	{.kernel = "dot_products",
	 .model = dot_products,
	 .prepare = prepare_words,
	 .input_words = 3000,
	 .output_words = 8005,
	 .count = 1000,
	 LAUNCH(1024, 256)},
	{.kernel = "rounding_modes",
	 .model = rounding_modes,
	 .prepare = prepare_singles,
	 .input_words = 4000,
	 .output_words = 28005,
	 .count = 2000,
	 LAUNCH(2048, 256),
	 .comparison = COMPARE_SINGLES},
	{.kernel = "saturating_conversions",
	 .model = saturating_conversions,
	 .prepare = prepare_singles,
	 .input_words = 2000,
	 .output_words = 6005,
	 .count = 2000,
	 LAUNCH(2048, 256)},
	{.kernel = "half_fused",
	 .model = half_fused,
	 .prepare = prepare_moderate_halves,
	 .input_words = 3000,
	 .output_words = 3005,
	 .count = 1000,
	 LAUNCH(1024, 256)},
	{.kernel = "counters",
	 .model = counters,
	 .prepare = prepare_words,
	 .input_words = 768,
	 .output_words = 24,
	 .count = 760,
	 LAUNCH(768, 192),
	 .zeroed = true},
};

const struct kernel_table builtin_kernels = {"builtins.cl", cases,
					     sizeof(cases) / sizeof(cases[0])};
