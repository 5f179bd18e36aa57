/* SPDX-License-Identifier: MIT */
/* Who can touch video memory: the GPU always, the host only where the GPU has a large BAR. */
#include "../run_suite.h"
#include "hsa_harness.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS		1000
#define TIMEOUT_SECONDS 60

static struct hsa_harness harness;

static void start_closed(void)
{
	ck_assert_int_eq(setenv("SOFTGPU_LARGE_BAR", "0", 1), 0);
	hsa_harness_start(&harness);
}

static void start_open(void)
{
	ck_assert_int_eq(setenv("SOFTGPU_LARGE_BAR", "1", 1), 0);
	hsa_harness_start(&harness);
}

/* Sanitizers would report the fault and exit. */
static void start_to_fault(void)
{
	start_closed();
	signal(SIGSEGV, SIG_DFL);
}

static void stop(void)
{
	hsa_harness_stop(&harness);
}

static hsa_amd_memory_pool_access_t host_access(void)
{
	hsa_amd_memory_pool_access_t access;

	HSA_CHECK(hsa_amd_agent_memory_pool_get_info(
		harness.cpu, harness.device_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access));
	return access;
}

/* move_dword of kernels/memory.cl: the words in reverse order. */
static void reverse_words(const uint32_t *input, uint32_t *output)
{
	const struct {
		const void *input;
		void *output;
		uint32_t count;
	} arguments = {input, output, WORDS};
	struct hsa_harness_dispatch dispatch = {
		.grid = {1024, 1, 1},
		.workgroup = {256, 1, 1},
		.arguments = &arguments,
		.arguments_size = sizeof(arguments),
	};
	const char *build = getenv("H2D_BUILD_DIR");
	char directory[4096], path[4300], variant[64] = "";
	hsa_executable_t executable;
	FILE *list;

	snprintf(directory, sizeof(directory), "%s/tests/softgpu/kernels", build ? build : ".");
	snprintf(path, sizeof(path), "%s/variants", directory);
	list = fopen(path, "r");
	ck_assert_msg(list && fscanf(list, "%63s", variant) == 1, "cannot read %s", path);
	fclose(list);
	snprintf(path, sizeof(path), "%s/%s.hsaco", directory, variant);
	dispatch.code_object_version = strstr(variant, "-v5-") ? 5 : 4;
	executable = hsa_harness_load(&harness, path);
	dispatch.kernel = hsa_harness_find(&harness, executable, "move_dword");
	hsa_harness_submit(&harness, &dispatch);
	hsa_harness_wait(&harness, TIMEOUT_SECONDS);
	HSA_CHECK(hsa_executable_destroy(executable));
}

START_TEST(gpu_and_copies_reach_closed_video_memory)
{
	uint32_t *input = hsa_harness_allocate_device(&harness, WORDS * 4);
	uint32_t *output = hsa_harness_allocate_device(&harness, WORDS * 4);
	uint32_t *host = hsa_harness_allocate(&harness, WORDS * 4);

	ck_assert_int_eq(host_access(), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
	for (uint32_t index = 0; index < WORDS; index++)
		host[index] = index * 0x9e3779b9u;
	HSA_CHECK(hsa_memory_copy(input, host, WORDS * 4));
	reverse_words(input, output);
	memset(host, 0, WORDS * 4);
	HSA_CHECK(hsa_memory_copy(host, output, WORDS * 4));
	for (uint32_t index = 0; index < WORDS; index++)
		ck_assert_uint_eq(host[index], (WORDS - 1 - index) * 0x9e3779b9u);
}
END_TEST

START_TEST(host_read_of_closed_video_memory_faults)
{
	volatile uint32_t *words = hsa_harness_allocate_device(&harness, WORDS * 4);
	uint32_t word = *words;

	ck_abort_msg("read 0x%x", word);
}
END_TEST

START_TEST(host_write_of_closed_video_memory_faults)
{
	volatile uint32_t *words = hsa_harness_allocate_device(&harness, WORDS * 4);

	words[WORDS - 1] = 1;
	ck_abort_msg("the write went through");
}
END_TEST

START_TEST(host_shares_video_memory_of_a_large_bar)
{
	uint32_t *input = hsa_harness_allocate_device(&harness, WORDS * 4);
	uint32_t *output = hsa_harness_allocate_device(&harness, WORDS * 4);

	ck_assert_int_eq(host_access(), HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT);
	HSA_CHECK(hsa_amd_agents_allow_access(1, &harness.cpu, NULL, input));
	HSA_CHECK(hsa_amd_agents_allow_access(1, &harness.cpu, NULL, output));
	for (uint32_t index = 0; index < WORDS; index++)
		input[index] = index * 0x85ebca6bu;
	reverse_words(input, output);
	for (uint32_t index = 0; index < WORDS; index++)
		ck_assert_uint_eq(output[index], (WORDS - 1 - index) * 0x85ebca6bu);
}
END_TEST

static void add_case(Suite *suite, const char *name, void (*start)(void), const TTest *test,
		     int expected_signal)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, start, stop);
	tcase_set_timeout(tcase, 2 * TIMEOUT_SECONDS);
	tcase_add_test_raise_signal(tcase, test, expected_signal);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite;

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	suite = suite_create("video_memory");
	add_case(suite, "closed", start_closed, gpu_and_copies_reach_closed_video_memory, 0);
	add_case(suite, "read", start_to_fault, host_read_of_closed_video_memory_faults, SIGSEGV);
	add_case(suite, "write", start_to_fault, host_write_of_closed_video_memory_faults, SIGSEGV);
	add_case(suite, "open", start_open, host_shares_video_memory_of_a_large_bar, 0);
	return run_suite(suite);
}
