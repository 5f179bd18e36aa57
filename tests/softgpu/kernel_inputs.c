/* SPDX-License-Identifier: MIT */
/* Inputs of the test kernels: seeded random values mixed with edge values. */
#include "kernel_models.h"

#include <string.h>

static uint64_t state;

void kernel_seed(uint64_t seed)
{
	state = seed;
}

/* SplitMix64: any seed will do. */
static uint64_t random_wide(void)
{
	uint64_t value = state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

uint32_t kernel_random(void)
{
	return (uint32_t)(random_wide() >> 32);
}

#define PICK(array) ((array)[kernel_random() % (sizeof(array) / sizeof((array)[0]))])

void prepare_words(void *input, size_t size, uint32_t count)
{
	static const uint32_t edges[] = {0,	     1,		 2,	     3,		 5,
					 7,	     10,	 31,	     32,	 63,
					 64,	     0xff,	 0x7fff,     0x8000,	 0xffff,
					 0x10000,    0xffffff,	 0x1000000,  0x7fffffff, 0x80000000,
					 0x80000001, 0xfffffffe, 0xffffffff, 1000003};
	uint32_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 4; index++) {
		uint32_t kind = kernel_random() % 6;

		if (kind < 2)
			words[index] = PICK(edges);
		else
			words[index] = kernel_random() >> (kind == 2 ? kernel_random() % 32 : 0);
	}
}

void prepare_wide_words(void *input, size_t size, uint32_t count)
{
	static const uint64_t edges[] = {0,
					 1,
					 2,
					 3,
					 10,
					 0x7fffffff,
					 0x80000000,
					 0xffffffff,
					 0x100000000,
					 0x100000001,
					 0xfffffffffffff,
					 0x7fffffffffffffff,
					 0x8000000000000000,
					 0x8000000000000001,
					 0xffffffff00000000,
					 0xffffffff80000000,
					 0xfffffffffffffffe,
					 0xffffffffffffffff};
	uint64_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 8; index++) {
		uint32_t kind = kernel_random() % 6;

		if (kind < 2)
			words[index] = PICK(edges);
		else
			words[index] = random_wide() >> (kind < 4 ? kernel_random() % 64 : 0);
	}
}

void prepare_singles(void *input, size_t size, uint32_t count)
{
	static const uint32_t edges[] = {
	    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000,
	    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0x3fc00000, 0x40200000,
	    0x4b000000, 0x4b000001, 0xcb7fffff, 0x4f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
	    0xff800000, 0x7fc00000, 0x40490fdb, 0x3eaaaaab, 0x40400000};
	uint32_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 4; index++) {
		uint32_t bits = kernel_random(), kind = kernel_random() % 6;

		if (kind < 2)
			bits = PICK(edges);
		else if (kind < 5) /* of like magnitude */
			bits = (bits & 0x807fffff) | (100 + kernel_random() % 56) << 23;
		if ((bits & 0x7fffffff) > 0x7f800000)
			bits |= 0x00400000;
		words[index] = bits;
	}
}

void prepare_doubles(void *input, size_t size, uint32_t count)
{
	static const uint64_t edges[] = {
	    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
	    0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000001, 0x3fe0000000000000,
	    0x3ff8000000000000, 0x4004000000000000, 0x4330000000000000, 0x4330000000000001,
	    0x41dfffffffc00000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
	    0x7ff8000000000000, 0x400921fb54442d18, 0x4008000000000000};
	uint64_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 8; index++) {
		uint64_t bits = random_wide();
		uint32_t kind = kernel_random() % 6;

		if (kind < 2)
			bits = PICK(edges);
		else if (kind < 5)
			bits = (bits & 0x800fffffffffffff) | (uint64_t)(1000 + kernel_random() % 48)
								 << 52;
		if ((bits & 0x7fffffffffffffff) > 0x7ff0000000000000)
			bits |= 0x0008000000000000;
		words[index] = bits;
	}
}

void prepare_halves(void *input, size_t size, uint32_t count)
{
	static const uint16_t edges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400,
					 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3800, 0x3e00, 0x7bff,
					 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x4248, 0x3555};
	uint16_t *words = input;

	(void)count;
	for (size_t index = 0; index < size / 2; index++) {
		uint16_t bits = (uint16_t)kernel_random();
		uint32_t kind = kernel_random() % 4;

		if (kind == 0)
			bits = PICK(edges);
		if ((bits & 0x7fff) > 0x7c00)
			bits |= 0x0200;
		words[index] = bits;
	}
}
