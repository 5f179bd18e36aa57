/* SPDX-License-Identifier: MIT */
/*
 * Checks vector ALU operations against models in plain C.
 *
 * A model computes one lane. The checks run an operation in its encodings, on random and edge
 * operands in registers and constants, under random EXEC masks, with destinations that overlap
 * sources, and compare all registers afterwards: those that nothing may write, too.
 */
#ifndef ISA_VECTOR_H
#define ISA_VECTOR_H

#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>

/* Sources and the destination's old value by lane, zero-extended to 64 bits. */
typedef uint64_t vector_model(uint64_t a, uint64_t b, uint64_t c, uint64_t old);

struct vector_case {
	const char *name;
	vector_model *model;
	unsigned int ulps; /* how far a float result may be off */
};

/* Defines a model; the body sees a, b, c and old. */
#define MODEL(name, ...)                                                                           \
	static uint64_t name##_model(uint64_t a, uint64_t b, uint64_t c, uint64_t old)             \
	{                                                                                          \
		(void)a, (void)b, (void)c, (void)old;                                              \
		__VA_ARGS__                                                                        \
	}
#define CASE(name)             {#name, name##_model, 0}
#define CASE_ULPS(name, ulps) {#name, name##_model, ulps}

/* A wave whose registers the test may set; for a test's setup and teardown. */
void vector_open(void);
void vector_close(void);
extern struct softgpu_wave *vector_wave;

/* Decodes and executes the instructions of a program, without its end. */
void vector_execute(const struct isa_program *program);

/* Fills VGPRs, SGPRs and VCC with operands, EXEC with one of several kinds of mask. */
void vector_randomize(void);

/* A copy of the registers, and the check that they are the same but for what was changed in it. */
struct vector_registers {
	uint32_t vgpr[2 * SOFTGPU_VGPRS][SOFTGPU_LANES];
	uint32_t scalar[128];
};
void vector_save(struct vector_registers *registers);
void vector_compare(const struct vector_registers *expected, const char *what);

/* Checks operations of a family and, where they have one, in their VOP3 encoding. */
void vector_check(enum softgpu_family family, const struct vector_case *cases, size_t count);
#define VECTOR_CHECK(family, cases) vector_check(family, cases, sizeof(cases) / sizeof((cases)[0]))

/* Whether a result of this type is within so many units in the last place; any NaN equals any. */
bool vector_equal(unsigned int type, uint64_t actual, uint64_t expected, unsigned int ulps);

/* Numbers from bits and back. */
float as_float(uint64_t bits);
double as_double(uint64_t bits);
double half_value(uint64_t bits);
uint64_t float_bits(float value);
uint64_t double_bits(double value);
/* Rounds to nearest even by search, slowly and independently of the code under test. */
uint64_t half_bits(long double value);

#endif
