/* SPDX-License-Identifier: MIT */
/*
 * Compiled kernels on the real HSA runtime against the same arithmetic in C: each kernel, built by
 * each compiler and code object version, byte for byte. H2D_KERNEL_VARIANT=NAME runs one variant.
 */
#include "../run_suite.h"
#include "hsa_harness.h"
#include "kernel_models.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARIANTS	64
#define GUARD_BYTES	64
#define TIMEOUT_SECONDS 60

struct arguments {
	const void *input;
	void *output;
	uint32_t count;
	uint32_t dynamic_group_offset;
};

static const struct kernel_table *const tables[] = {
	&wave_kernels, &integer_kernels, &float_kernels, &half_kernels,	   &memory_kernels,
	&call_kernels, &atomic_kernels,	 &grid_kernels,	 &builtin_kernels,
};
#define TABLES (int)(sizeof(tables) / sizeof(tables[0]))

static char variants[MAX_VARIANTS][64];
static int variant_count;
static char directory[4096];

/* The list that the build of the kernels left. */
static void read_variants(void)
{
	const char *build = getenv("H2D_BUILD_DIR");
	const char *only = getenv("H2D_KERNEL_VARIANT");
	char path[4200], line[64];
	FILE *file;

	snprintf(directory, sizeof(directory), "%s/tests/softgpu/kernels", build ? build : ".");
	snprintf(path, sizeof(path), "%s/variants", directory);
	file = fopen(path, "r");
	if (!file) {
		fprintf(stderr, "cannot open %s\n", path);
		exit(EXIT_FAILURE);
	}
	while (variant_count < MAX_VARIANTS && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!only || strcmp(only, line) == 0)
			strcpy(variants[variant_count++], line);
	}
	fclose(file);
	if (variant_count == 0) {
		fprintf(stderr, "%s names no variant%s%s\n", path, only ? " called " : "",
			only ? only : "");
		exit(EXIT_FAILURE);
	}
}

/* Distance in units in the last place; NaNs are at distance 0 of each other. */
static uint64_t distance(uint64_t a, uint64_t b, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1), mask = sign | (sign - 1);
	uint64_t infinity = bits == 16 ? 0x7c00 : bits == 32 ? 0x7f800000 : 0x7ff0000000000000;
	bool a_is_nan = (a & ~sign & mask) > infinity, b_is_nan = (b & ~sign & mask) > infinity;

	if (a_is_nan || b_is_nan)
		return a_is_nan && b_is_nan ? 0 : UINT64_MAX;
	if ((a ^ b) & sign)
		return a == b ? 0 : UINT64_MAX;
	return a > b ? a - b : b - a;
}

static uint64_t element(const unsigned char *bytes, size_t index, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes + index * size, size);
	return value;
}

static void compare(const struct kernel_case *kernel, const unsigned char *found,
		    const unsigned char *expected, size_t size)
{
	static const size_t element_sizes[] = {1, 2, 4, 8, 4, 8};
	size_t step = element_sizes[kernel->comparison];
	bool near = kernel->comparison >= COMPARE_NEAR_SINGLES;
	size_t wrong = 0, first = 0;

	if (memcmp(found, expected, size) == 0)
		return;
	for (size_t index = 0; index < size / step; index++) {
		uint64_t a = element(found, index, step), b = element(expected, index, step);
		uint64_t apart = kernel->comparison == COMPARE_BYTES
					 ? a != b
					 : distance(a, b, (unsigned)step * 8);

		if (apart > (near ? 1 : 0) && wrong++ == 0)
			first = index;
	}
	ck_assert_msg(wrong == 0,
		      "%s: %zu of %zu elements of %zu bytes wrong; first %zu: got 0x%llx, expected "
		      "0x%llx (words 0x%x, 0x%x)",
		      kernel->kernel, wrong, size / step, step, first,
		      (unsigned long long)element(found, first, step),
		      (unsigned long long)element(expected, first, step),
		      (unsigned)element(found, first * step / 4, 4),
		      (unsigned)element(expected, first * step / 4, 4));
}

static struct hsa_harness harness;

static void start(void)
{
	hsa_harness_start(&harness);
}

static void stop(void)
{
	hsa_harness_stop(&harness);
}

static void run_case(const char *variant, const struct kernel_case *kernel)
{
	size_t input_size = kernel->input_words * sizeof(uint32_t);
	size_t output_size = kernel->output_words * sizeof(uint32_t) + GUARD_BYTES;
	unsigned char *input = hsa_harness_allocate(&harness, input_size);
	unsigned char *output = hsa_harness_allocate(&harness, output_size);
	unsigned char *expected = malloc(output_size), *kept = malloc(input_size);
	struct arguments arguments = {input, output, kernel->count, 0};
	struct hsa_harness_dispatch dispatch = {
		.dynamic_group_bytes = kernel->dynamic_group_bytes,
		.code_object_version = strstr(variant, "-v5-") ? 5 : 4,
		.arguments = &arguments,
		.arguments_size = sizeof(arguments),
	};
	struct kernel_run run = {kept, expected, kernel->count, kernel->grid[0],
				 kernel->workgroup[0]};
	char path[4200];
	hsa_executable_t executable;

	ck_assert_ptr_nonnull(expected);
	ck_assert_ptr_nonnull(kept);
	snprintf(path, sizeof(path), "%s/%s.hsaco", directory, variant);
	executable = hsa_harness_load(&harness, path);
	dispatch.kernel = hsa_harness_find(&harness, executable, kernel->kernel);
	dispatch.kernel.private_segment_size += kernel->deeper_stack_bytes;
	memcpy(dispatch.grid, kernel->grid, sizeof(dispatch.grid));
	memcpy(dispatch.workgroup, kernel->workgroup, sizeof(dispatch.workgroup));
	kernel->prepare(input, input_size, kernel->count);
	memcpy(kept, input, input_size);
	memset(output, kernel->zeroed ? 0 : KERNEL_FILL, output_size);
	memcpy(expected, output, output_size);

	kernel->model(&run);
	hsa_harness_submit(&harness, &dispatch);
	hsa_harness_wait(&harness, TIMEOUT_SECONDS);

	compare(kernel, output, expected, output_size);
	ck_assert_msg(memcmp(input, kept, input_size) == 0, "%s changed its input", kernel->kernel);
	HSA_CHECK(hsa_executable_destroy(executable));
	free(expected);
	free(kept);
}

/* Loop index: variant * cases of the table + case. */
#define TEST_TABLE(name, table)                                                                    \
	START_TEST(name)                                                                           \
	{                                                                                          \
		const char *variant = variants[(size_t)_i / (table).count];                        \
		const struct kernel_case *kernel = (table).cases + (size_t)_i % (table).count;     \
		uint64_t seed = 0x50f7 + (uint64_t)_i;                                             \
                                                                                                   \
		fprintf(stderr, "%s %s, seed %llu\n", variant, kernel->kernel,                     \
			(unsigned long long)seed);                                                 \
		kernel_seed(seed);                                                                 \
		run_case(variant, kernel);                                                         \
	}                                                                                          \
	END_TEST

TEST_TABLE(lanes_of_a_wave, wave_kernels)
TEST_TABLE(integers, integer_kernels)
TEST_TABLE(singles_and_doubles, float_kernels)
TEST_TABLE(halves_and_packed_operations, half_kernels)
TEST_TABLE(memory_of_every_width, memory_kernels)
TEST_TABLE(calls_and_branches, call_kernels)
TEST_TABLE(atomic_operations, atomic_kernels)
TEST_TABLE(grids_and_workgroups, grid_kernels)
TEST_TABLE(builtins_and_modes, builtin_kernels)

int main(void)
{
	const TTest *const tests[] = {
		lanes_of_a_wave,       integers,
		singles_and_doubles,   halves_and_packed_operations,
		memory_of_every_width, calls_and_branches,
		atomic_operations,     grids_and_workgroups,
		builtins_and_modes,
	};
	Suite *suite = suite_create("kernels");

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	read_variants();
	for (int table = 0; table < TABLES; table++) {
		TCase *tcase = tcase_create(tables[table]->source);

		tcase_add_checked_fixture(tcase, start, stop);
		tcase_set_timeout(tcase, 2 * TIMEOUT_SECONDS);
		tcase_add_loop_test(tcase, tests[table], 0,
				    variant_count * (int)tables[table]->count);
		suite_add_tcase(suite, tcase);
	}
	return run_suite(suite);
}
