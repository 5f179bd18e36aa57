/* SPDX-License-Identifier: MIT */
/*
 * The test kernels (kernels/ *.cl) and what each must compute: input, launch and a model in C.
 * Every kernel has the arguments (input, output, count). The model gets the output as the kernel
 * found it and changes what the kernel changes; all other bytes must stay.
 */
#ifndef KERNEL_MODELS_H
#define KERNEL_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_run {
	const void *input;
	void *output;
	uint32_t count;
	uint32_t grid; /* first dimension; most kernels use one */
	uint32_t workgroup;
};

/* How two outputs are compared. NaNs have no fixed bits: any NaN equals any other. */
enum kernel_comparison {
	COMPARE_BYTES,
	COMPARE_HALVES, /* 16-bit elements, bitwise except NaNs */
	COMPARE_SINGLES,
	COMPARE_DOUBLES,
	COMPARE_NEAR_SINGLES, /* one unit in the last place */
	COMPARE_NEAR_DOUBLES,
};

struct kernel_case {
	const char *kernel;
	void (*model)(const struct kernel_run *run);
	void (*prepare)(void *input, size_t size, uint32_t count);
	uint32_t input_words;
	uint32_t output_words;
	uint32_t count;
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint32_t dynamic_group_bytes;
	/* Stack beyond what the compiler counts, which is not recursion nor calls by pointer. */
	uint32_t deeper_stack_bytes;
	bool zeroed; /* the output starts as zeros, not as KERNEL_FILL bytes */
	enum kernel_comparison comparison;
};

#define KERNEL_FILL 0xa5

/* One-dimensional launches are the rule. */
#define LAUNCH(work_items, workgroup_size)                                                         \
	.grid = {work_items, 1, 1}, .workgroup = {workgroup_size, 1, 1}

struct kernel_table {
	const char *source; /* the kernels' file */
	const struct kernel_case *cases;
	size_t count;
};

extern const struct kernel_table wave_kernels;
extern const struct kernel_table integer_kernels;
extern const struct kernel_table float_kernels;
extern const struct kernel_table half_kernels;
extern const struct kernel_table memory_kernels;
extern const struct kernel_table call_kernels;
extern const struct kernel_table atomic_kernels;
extern const struct kernel_table grid_kernels;
extern const struct kernel_table builtin_kernels;

/* Inputs. The seed is set once a test; every value depends on it only. */
void kernel_seed(uint64_t seed);
uint32_t kernel_random(void);
/* Random words, a third of them edge values. */
void prepare_words(void *input, size_t size, uint32_t count);
void prepare_wide_words(void *input, size_t size, uint32_t count);
/* Floating-point numbers of all kinds: zeros, denormals, infinities, quiet NaNs, halfway cases. */
void prepare_singles(void *input, size_t size, uint32_t count);
void prepare_doubles(void *input, size_t size, uint32_t count);
void prepare_halves(void *input, size_t size, uint32_t count);

/* Exact: every half is a single. NaNs keep their payload. */
float kernel_half_value(uint16_t bits);
/* Rounds once, to nearest even. */
uint16_t kernel_half_bits(double value);

/* The same mixing as in kernels/kernel.h. */
static inline uint32_t kernel_hash(uint32_t value)
{
	value ^= value >> 16;
	value *= 0x7feb352du;
	value ^= value >> 15;
	value *= 0x846ca68bu;
	return value ^ value >> 16;
}

#endif
