/* SPDX-License-Identifier: MIT */
/* Models of kernels/memory.cl. */
#include "kernel_models.h"

#include <string.h>

/* The elements in reverse order. */
static void move(const struct kernel_run *run, size_t size, size_t from, size_t to)
{
	const unsigned char *input = (const unsigned char *)run->input + from;
	unsigned char *output = (unsigned char *)run->output + to;

	for (uint32_t index = 0; index < run->count; index++)
		memcpy(output + index * size, input + (run->count - 1 - index) * size, size);
}

#define MOVE(name, size, from, to)                                                                 \
	static void name(const struct kernel_run *run)                                             \
	{                                                                                          \
		move(run, size, from, to);                                                         \
	}
MOVE(move_byte, 1, 0, 0)
MOVE(move_short, 2, 0, 0)
MOVE(move_dword, 4, 0, 0)
MOVE(move_x2, 8, 0, 0)
MOVE(move_x3, 12, 0, 0)
MOVE(move_x4, 16, 0, 0)
MOVE(unaligned_short, 2, 1, 3)
MOVE(unaligned_dword, 4, 1, 3)
MOVE(unaligned_x2, 8, 1, 3)
MOVE(unaligned_x4, 16, 1, 3)

static uint16_t short_at(const void *bytes, size_t index)
{
	uint16_t value;

	memcpy(&value, (const unsigned char *)bytes + index * 2, 2);
	return value;
}

static void extend(const struct kernel_run *run)
{
	for (uint32_t index = 0; index < run->count; index++) {
		const uint8_t *bytes = run->input;
		uint32_t *mine = (uint32_t *)run->output + index * 6;
		uint16_t word = short_at(bytes, index / 2);

		mine[0] = (uint32_t)(int8_t)bytes[index];
		mine[1] = bytes[index];
		mine[2] = (uint32_t)(int16_t)word;
		mine[3] = word;
		((uint8_t *)(mine + 4))[1] = (uint8_t)word;
		((uint16_t *)(mine + 5))[1] = (uint16_t)(bytes[index] * 259);
	}
}

struct record {
	uint32_t key;
	uint16_t tags[5];
	uint8_t name[11];
	uint64_t value;
};

static void copy_records(const struct kernel_run *run)
{
	const struct record *input = run->input;
	struct record *output = run->output;

	for (uint32_t index = 0; index < run->count; index++) {
		struct record *copy = output + index;

		memcpy(copy, input + index * 7 % run->count, sizeof(*copy));
		copy->key += index;
		copy->tags[copy->key % 5] ^= 0x55aa;
		copy->name[copy->key % 11] = (uint8_t)index;
		copy->value = copy->value * 3 + copy->tags[2];
	}
}

/* Padding is the compilers' to copy or to leave: zero on both sides. */
static void prepare_records(void *input, size_t size, uint32_t count)
{
	struct record *records = input;

	prepare_words(input, size, count);
	for (size_t index = 0; index < size / sizeof(*records); index++) {
		struct record *record = records + index;
		size_t end = offsetof(struct record, name) + sizeof(record->name);

		memset((char *)record + end, 0, offsetof(struct record, value) - end);
	}
}

static void scratch_permute(const struct kernel_run *run)
{
	const uint32_t *input = run->input;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t words[24], sum = 0;
		uint8_t bytes[40];
		uint64_t pairs[9];

		for (uint32_t slot = 0; slot < 24; slot++)
			words[slot] = input[(index + slot) % run->count];
		for (uint32_t slot = 0; slot < 40; slot++)
			bytes[slot] = (uint8_t)(words[slot % 24] >> slot % 25);
		for (uint32_t slot = 0; slot < 9; slot++)
			pairs[slot] = (uint64_t)words[slot * 2] << 32 | slot;
		for (uint32_t turn = 0; turn < 24; turn++) {
			uint32_t from = words[turn] % 24;
			uint32_t kept = words[from];

			words[from] = words[turn] + bytes[kept % 40];
			words[turn] = kept;
			pairs[kept % 9] += words[from];
			bytes[from] ^= (uint8_t)turn;
		}
		for (uint32_t slot = 0; slot < 24; slot++)
			sum = sum * 31 + words[slot] + bytes[slot] +
			      (uint32_t)(pairs[slot % 9] >> 16);
		((uint32_t *)run->output)[index] = sum;
	}
}

static void lds_widths_group(const uint32_t *input, uint32_t *output)
{
	enum { ITEMS = 128 };
	uint32_t words[ITEMS * 4], results[ITEMS][4];
	uint8_t bytes[ITEMS];
	uint16_t shorts[ITEMS];

	memcpy(words, input, sizeof(words));
	for (uint32_t item = 0; item < ITEMS; item++) {
		bytes[item] = (uint8_t)input[item * 4 + 1];
		shorts[item] = (uint16_t)input[item * 4 + 2];
	}
	for (uint32_t item = 0; item < ITEMS; item++) {
		results[item][0] = words[(255 - item) * 2] + bytes[(item * 11 + 5) % 128] +
				   (uint32_t)(int8_t)bytes[127 - item];
		results[item][1] =
		    words[(255 - item) * 2 + 1] ^
		    (shorts[(item * 3 + 1) % 128] + (uint32_t)(int16_t)shorts[item ^ 64]);
		results[item][2] = words[item * 37 % 512];
	}
	for (uint32_t item = 0; item < ITEMS; item++) {
		words[item] = results[item][0];
		words[item + 128] = results[item][1];
		((uint8_t *)words)[1024 + item] = (uint8_t)results[item][2];
		((uint16_t *)words)[640 + item] = (uint16_t)(results[item][2] >> 9);
	}
	for (uint32_t item = 0; item < ITEMS; item++) {
		output[item * 3] = words[item ^ 1];
		output[item * 3 + 1] = words[item + 128];
		output[item * 3 + 2] = item < 32 ? words[256 + item] : words[320 + item % 64];
	}
}

static void lds_widths(const struct kernel_run *run)
{
	for (uint32_t first = 0; first < run->grid; first += 128)
		lds_widths_group((const uint32_t *)run->input + first * 4,
				 (uint32_t *)run->output + first * 3);
}

static void generic_pointers(const struct kernel_run *run)
{
	const uint32_t *input = run->input;

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t item = index % 64, loaded, result;

		switch (input[index] % 3) {
		case 0:
			loaded = input[index];
			break;
		case 1:
			loaded = input[index - item + 63 - item] * 3;
			break;
		default:
			loaded = item * item; /* own[index & 63] */
		}
		result = input[index] % 3 == 1 ? (loaded + 1) * 2 : (loaded + 1) ^ 0x80;
		((uint32_t *)run->output)[index] = result;
	}
}

static void constants(const struct kernel_run *run)
{
	static const uint32_t primes[16] = {2,	3,  5,	7,  11, 13, 17, 19,
					    23, 29, 31, 37, 41, 43, 47, 53};
	static const char letters[] = "software graphics processor";

	for (uint32_t index = 0; index < run->count; index++) {
		uint32_t value = ((const uint32_t *)run->input)[index];

		((uint32_t *)run->output)[index] =
		    primes[value & 15] * primes[index / run->workgroup & 15] +
		    (uint32_t)letters[value % 27];
	}
}

#define MOVE_CASE(name, words)                                                                     \
	{                                                                                          \
		.kernel = #name, .model = name, .prepare = prepare_words,                          \
		.input_words = (words) + 2, .output_words = (words) + 4, .count = 1000,            \
		LAUNCH(1024, 256)                                                                  \
	}

static const struct kernel_case cases[] = {
    MOVE_CASE(move_byte, 250),
    MOVE_CASE(move_short, 500),
    MOVE_CASE(move_dword, 1000),
    MOVE_CASE(move_x2, 2000),
    MOVE_CASE(move_x3, 3000),
    MOVE_CASE(move_x4, 4000),
    MOVE_CASE(unaligned_short, 500),
    MOVE_CASE(unaligned_dword, 1000),
    MOVE_CASE(unaligned_x2, 2000),
    MOVE_CASE(unaligned_x4, 4000),
    {.kernel = "extend",
     .model = extend,
     .prepare = prepare_words,
     .input_words = 256,
     .output_words = 6010,
     .count = 1000,
     LAUNCH(1024, 256)},
    {.kernel = "copy_records",
     .model = copy_records,
     .prepare = prepare_records,
     .input_words = 2500,
     .output_words = 2520,
     .count = 250,
     LAUNCH(256, 64),
     .zeroed = true},
    {.kernel = "scratch_permute",
     .model = scratch_permute,
     .prepare = prepare_words,
     .input_words = 500,
     .output_words = 510,
     .count = 500,
     LAUNCH(512, 256)},
    {.kernel = "lds_widths",
     .model = lds_widths,
     .prepare = prepare_words,
     .input_words = 2048,
     .output_words = 1540,
     .count = 512,
     LAUNCH(512, 128)},
    {.kernel = "generic_pointers",
     .model = generic_pointers,
     .prepare = prepare_words,
     .input_words = 512,
     .output_words = 516,
     .count = 512,
     LAUNCH(512, 64)},
    {.kernel = "constants",
     .model = constants,
     .prepare = prepare_words,
     .input_words = 2048,
     .output_words = 2050,
     .count = 2040,
     LAUNCH(2048, 64)},
};

const struct kernel_table memory_kernels = {"memory.cl", cases, sizeof(cases) / sizeof(cases[0])};
