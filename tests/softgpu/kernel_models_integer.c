/* SPDX-License-Identifier: MIT */
/* Models of kernels/integers.cl. */
#include "kernel_models.h"

static void divide_32(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *operands = (const uint32_t *)run->input + index * 2;
		uint32_t *mine = (uint32_t *)run->output + index * 4;
		uint32_t a = operands[0], b = operands[1];

		if (b == 0)
			continue;
		mine[0] = a / b;
		mine[1] = a % b;
		if (a == 0x80000000u && b == ~0u)
			continue;
		mine[2] = (uint32_t)((int32_t)a / (int32_t)b);
		mine[3] = (uint32_t)((int32_t)a % (int32_t)b);
	}
}

static void divide_64(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint64_t *operands = (const uint64_t *)run->input + index * 2;
		uint64_t *mine = (uint64_t *)run->output + index * 4;
		uint64_t a = operands[0], b = operands[1];

		if (b == 0)
			continue;
		mine[0] = a / b;
		mine[1] = a % b;
		if (a == 1ull << 63 && b == ~0ull)
			continue;
		mine[2] = (uint64_t)((int64_t)a / (int64_t)b);
		mine[3] = (uint64_t)((int64_t)a % (int64_t)b);
	}
}

static void divide_small(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t bits = ((const uint32_t *)run->input)[index];
		uint32_t *mine = (uint32_t *)run->output + index * 6;
		uint32_t a = bits & 0xffff, b = bits >> 16, c = bits & 0xff, d = bits >> 8 & 0xff;
		int32_t e = (int8_t)bits, f = (int8_t)(bits >> 8);

		mine[0] = b ? a / b : 1;
		mine[1] = b ? a % b : 2;
		mine[2] = d ? c / d : 3;
		mine[3] = f ? (uint32_t)(e / f) : 4;
		mine[4] = bits / 10;
		mine[5] = (uint32_t)((int32_t)bits % 1000003);
	}
}

static void prepare_gather(void *input, size_t size, uint32_t count)
{
	uint64_t page_size = 1 + kernel_random() % 5000;

	prepare_wide_words(input, size, count);
	*(uint64_t *)input = page_size;
}

static void gather(const struct kernel_run *run)
{
	uint64_t page_size = *(const uint32_t *)run->input;
	const uint64_t *pages = (const uint64_t *)run->input + 1;
	uint64_t *output = run->output;

	for (uint32_t index = 0; index < run->count; index++) {
		uint64_t position = (uint64_t)index * 0x9e3779b9u;

		output[index] =
		    pages[position / page_size % run->count] * page_size + position % page_size;
	}
}

static void prepare_sorted(void *input, size_t size, uint32_t count)
{
	uint64_t *keys = input, key = 0;

	prepare_wide_words(input, size, count);
	for (uint32_t index = 0; index < count; index++) {
		key += index % 7 ? (uint64_t)kernel_random() << kernel_random() % 20 : 0;
		keys[index] = key;
	}
	for (uint32_t index = 0; index < count; index += 2) /* some are there, or nearly */
		keys[count + index] = keys[kernel_random() % count] + kernel_random() % 3 - 1;
}

/* By counting, not by halving. */
static void binary_search(const struct kernel_run *run)
{
	const uint64_t *keys = run->input;
	uint32_t *output = run->output;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t below = 0;

		for (uint32_t place = 0; place < run->count; place++)
			below += keys[place] < keys[run->count + index];
		output[index] = below;
	}
}

/* High word of the signed product, from four partial products. */
static uint64_t signed_high(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
	uint64_t other = a_low * b_high + (uint32_t)middle;
	uint64_t high = a_high * b_high + (middle >> 32) + (other >> 32);

	return high - (a >> 63 ? b : 0) - (b >> 63 ? a : 0);
}

static uint64_t sign_extend_24(uint64_t value)
{
	return ((value & 0xffffff) ^ 0x800000) - 0x800000;
}

static void multiply(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint64_t *operands = (const uint64_t *)run->input + index * 2;
		uint64_t *mine = (uint64_t *)run->output + index * 7;
		uint64_t a = operands[0], b = operands[1];

		mine[0] = a * b;
		mine[1] = a * (uint32_t)b + (b >> 7);
		mine[2] = (uint64_t)((int64_t)(int32_t)a * (int32_t)b) + b;
		mine[3] = (uint32_t)((uint32_t)a * (uint32_t)b);
		mine[4] = (a & 0xffffff) * (b & 0xffffff);
		mine[5] = sign_extend_24(a) * sign_extend_24(b);
		mine[6] = signed_high(a, b);
	}
}

static void add_carry(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint64_t *operands = (const uint64_t *)run->input + index * 2;
		uint64_t *mine = (uint64_t *)run->output + index * 8;
		uint64_t a = operands[0], b = operands[1];
		int below = (int64_t)a < (int64_t)b;

		mine[0] = a + b;
		mine[1] = a - b;
		mine[2] = b + a;
		mine[3] = a + b + (b + a < b);
		mine[4] = a + b < a;
		mine[5] = (uint64_t)below + (a >= b);
		mine[6] = (a > b ? a : b) - (below ? a : b);
		mine[7] = 0 - (a ^ ~b);
	}
}

static void shifts(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint64_t *operands = (const uint64_t *)run->input + index * 2;
		uint64_t *mine = (uint64_t *)run->output + index * 8;
		uint64_t a = operands[0], b = operands[1];
		uint32_t low = (uint32_t)a, by = b & 31;
		uint32_t rotated = by ? low << by | low >> (32 - by) : low;

		mine[0] = a << (b & 63);
		mine[1] = a >> (b & 63);
		mine[2] = (uint64_t)((int64_t)a >> (b & 63));
		mine[3] = rotated + ((uint64_t)(low >> by) << 32);
		mine[4] = (uint32_t)((int32_t)low >> by);
		mine[5] = a << 13 | a >> 51;
		mine[6] = (uint16_t)(low << (b & 15)) |
			  (uint32_t)(uint16_t)((int16_t)low >> (b & 15)) << 16;
		mine[7] = (uint32_t)((low << 4) + (uint32_t)b +
				     ((low << 9 | (uint32_t)b) ^ (low + 77) << 3));
	}
}

/* Bit by bit: independent of the builtins that the kernel uses. */
static uint32_t ones(uint64_t value)
{
	uint32_t count = 0;

	for (; value; value >>= 1)
		count += value & 1;
	return count;
}

static uint64_t reversed(uint64_t value, int width)
{
	uint64_t result = 0;

	for (int bit = 0; bit < width; bit++)
		result |= (value >> bit & 1) << (width - 1 - bit);
	return result;
}

static uint32_t leading_zeros(uint64_t value, uint32_t width)
{
	uint32_t count = 0;

	while (count < width && !(value >> (width - 1 - count) & 1))
		count++;
	return count;
}

static uint32_t trailing_zeros(uint64_t value, uint32_t width)
{
	return leading_zeros(reversed(value, (int)width), width);
}

static uint64_t swapped(uint64_t value, int bytes)
{
	uint64_t result = 0;

	for (int place = 0; place < bytes; place++)
		result |= (value >> place * 8 & 0xff) << (bytes - 1 - place) * 8;
	return result;
}

static uint32_t field(uint32_t value, uint32_t offset, uint32_t width)
{
	return width ? value >> offset & (uint32_t)((1ull << width) - 1) : 0;
}

static uint32_t signed_field(uint32_t value, uint32_t offset, uint32_t width)
{
	uint32_t bits = (uint32_t)((uint64_t)((int64_t)(int32_t)value >> offset)) &
			(uint32_t)((1ull << width) - 1);
	uint32_t sign = width ? 1u << (width - 1) : 0;

	return (bits ^ sign) - sign;
}

/* Selector bytes 0-3 take from b, 4-7 from a, 12 gives zero. */
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t both = (uint64_t)a << 32 | b;
	uint32_t result = 0;

	for (int place = 0; place < 4; place++) {
		uint32_t which = selector >> place * 8 & 0xff;
		uint32_t byte = which < 8 ? (uint32_t)(both >> which * 8 & 0xff) : 0;

		result |= byte << place * 8;
	}
	return result;
}

static void bits(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint32_t *operands = (const uint32_t *)run->input + index * 2;
		uint32_t *mine = (uint32_t *)run->output + index * 21;
		uint32_t a = operands[0], b = operands[1];
		uint64_t wide = (uint64_t)a << 32 | b;

		mine[0] = ones(a);
		mine[1] = ones(wide);
		mine[2] = leading_zeros(a, 32);
		mine[3] = trailing_zeros(a, 32);
		mine[4] = leading_zeros(wide, 64);
		mine[5] = trailing_zeros(wide, 64);
		mine[6] = (uint32_t)reversed(a, 32);
		mine[7] = (uint32_t)(reversed(wide, 64) >> 16);
		mine[8] = (uint32_t)swapped(a, 4);
		mine[9] = (uint32_t)(swapped(wide, 8) >> 24);
		mine[10] = field(a, 7, 13);
		mine[11] = signed_field(a, 14, 9);
		mine[12] = field(a, b & 31, b >> 5 & 31);
		mine[13] = signed_field(a, b & 31, b >> 5 & 31);
		mine[14] = (uint32_t)(wide >> (a & 31));
		mine[15] = (uint32_t)(wide >> (b & 3) * 8);
		mine[16] = permuted(a, b, 0x07010c02u ^ (a & 0x00040004u));
		mine[17] = (a & b) | (~a & 0x12345678u);
		mine[18] = a ^ b ^ 0x0f0f0f0fu;
		mine[19] = (a & 0xff00ff) | b;
		mine[20] = (a << 16) | (b & 0xffff);
	}
}

static void compares(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint64_t *operands = (const uint64_t *)run->input + index * 2;
		uint32_t *mine = (uint32_t *)run->output + index * 3;
		uint64_t a = operands[0], b = operands[1];
		int64_t as = (int64_t)a, bs = (int64_t)b;
		uint32_t c = (uint32_t)a, d = (uint32_t)b, result = 0;
		int32_t e = (int32_t)a, f = (int32_t)b, g = (int32_t)(a >> 32);
		int32_t low = e < f ? e : f, high = e < f ? f : e;
		const int conditions[] = {a < b,
					  a <= b,
					  a == b,
					  a != b,
					  a >= b,
					  as < bs,
					  as <= bs,
					  bs < as,
					  c < d,
					  c <= d,
					  c == d,
					  c != d,
					  c >= d,
					  e < f,
					  e <= f,
					  f < e,
					  (uint16_t)a < (uint16_t)b,
					  (int16_t)a < (int16_t)b,
					  (uint8_t)a < (uint8_t)b,
					  (int8_t)a < (int8_t)b,
					  (uint16_t)a == (uint16_t)b,
					  (int8_t)a != (int8_t)b};

		for (unsigned bit = 0; bit < sizeof(conditions) / sizeof(conditions[0]); bit++)
			result |= (uint32_t)conditions[bit] << bit;
		mine[0] = result;
		mine[1] = (uint32_t)(g < low ? low : g > high ? high : g);
		mine[2] = (c < d ? c : d) + (c > 100 ? c : 100) + (uint32_t)(e < -5 ? e : -5);
	}
}

static void scalars(const struct kernel_run *run)
{
	for (uint32_t group = 0; group < run->grid / run->workgroup; group++) {
		const uint32_t *operands = (const uint32_t *)run->input + group * 2;
		uint32_t *mine = (uint32_t *)run->output + group * 20;
		uint32_t a = operands[0], b = operands[1];
		int32_t as = (int32_t)a, bs = (int32_t)b;
		uint64_t wide = (uint64_t)a << 32 | b;

		mine[0] = a + b;
		mine[1] = a - b;
		mine[2] = a * b;
		mine[3] = (uint32_t)((uint64_t)a * b >> 32);
		mine[4] = (uint32_t)((uint64_t)((int64_t)as * bs) >> 32);
		mine[5] = a << (b & 31);
		mine[6] = (uint32_t)(as >> (b & 31));
		mine[7] = (uint32_t)(wide >> (b & 63));
		mine[8] = (uint32_t)((int64_t)wide >> (a & 63));
		mine[9] = (uint32_t)(wide << (a & 63));
		mine[10] = (a & ~b) ^ (a | ~b);
		mine[11] = ones(a) + ones(wide);
		mine[12] = a ? leading_zeros(a, 32) : 77;
		mine[13] = wide ? trailing_zeros(wide, 64) : 78;
		mine[14] = (uint32_t)reversed(a, 32) + (uint32_t)reversed(wide, 64);
		mine[15] = field(a, 5, 11) + signed_field(b, 17, 12);
		mine[16] = (a < b ? a : b) + (uint32_t)(as < bs ? bs : as);
		mine[17] = b ? a / b : 5;
		mine[18] = (uint32_t)(int16_t)a + (uint32_t)(int8_t)b;
		mine[19] = (a >> 31 ? 0 - a : a) + (wide > 0x100000000u ? 3u : 9u);
	}
}

static const struct kernel_case cases[] = {
    {.kernel = "divide_32",
     .model = divide_32,
     .prepare = prepare_words,
     .input_words = 4000,
     .output_words = 8004,
     .count = 2000,
     LAUNCH(2048, 256)},
    {.kernel = "divide_64",
     .model = divide_64,
     .prepare = prepare_wide_words,
     .input_words = 8000,
     .output_words = 16008,
     .count = 2000,
     LAUNCH(2048, 256)},
    {.kernel = "divide_small",
     .model = divide_small,
     .prepare = prepare_words,
     .input_words = 1000,
     .output_words = 6001,
     .count = 1000,
     LAUNCH(1024, 64)},
    {.kernel = "gather",
     .model = gather,
     .prepare = prepare_gather,
     .input_words = 2002,
     .output_words = 2010,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "binary_search",
     .model = binary_search,
     .prepare = prepare_sorted,
     .input_words = 4000,
     .output_words = 1001,
     .count = 1000,
     LAUNCH(1024, 128)},
    {.kernel = "multiply",
     .model = multiply,
     .prepare = prepare_wide_words,
     .input_words = 4000,
     .output_words = 14008,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "add_carry",
     .model = add_carry,
     .prepare = prepare_wide_words,
     .input_words = 4000,
     .output_words = 16008,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "shifts",
     .model = shifts,
     .prepare = prepare_wide_words,
     .input_words = 4000,
     .output_words = 16008,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "bits",
     .model = bits,
     .prepare = prepare_words,
     .input_words = 2000,
     .output_words = 21005,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "compares",
     .model = compares,
     .prepare = prepare_wide_words,
     .input_words = 4000,
     .output_words = 3005,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "scalars",
     .model = scalars,
     .prepare = prepare_words,
     .input_words = 512,
     .output_words = 256 * 20 + 3,
     .count = 256,
     LAUNCH(16384, 64)},
};

const struct kernel_table integer_kernels = {"integers.cl", cases,
					     sizeof(cases) / sizeof(cases[0])};
