/* SPDX-License-Identifier: MIT */
/*
 * An instruction that the software GPU does not emulate must end the queue with an error status and
 * a message that names kernel object, address and encoding; nothing behind it may run.
 */
#include "../run_suite.h"
#include "hsa_harness.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 20
/* Bytes from the kernel's entry to the instruction in question; see the source. */
#define INSTRUCTION_OFFSET 0x28

static const struct {
	const char *kernel;
	const char *encoding; /* first dword, as a debugger prints it */
} cases[] = {
    {"reserved_encoding", "bfffffff"},
    {"matrix_instruction", "d3c28000"},
};

static struct hsa_harness harness;
static int saved_stderr;
static FILE *captured;

static void start(void)
{
	captured = tmpfile();
	ck_assert_ptr_nonnull(captured);
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
	hsa_harness_start(&harness);
}

static void stop(void)
{
	hsa_harness_stop(&harness);
	fclose(captured);
	close(saved_stderr);
}

static void read_captured(char *text, size_t size)
{
	size_t length;

	fflush(stderr);
	dup2(saved_stderr, STDERR_FILENO);
	rewind(captured);
	length = fread(text, 1, size - 1, captured);
	text[length] = '\0';
	fputs(text, stderr);
}

static void assert_names(const char *text, const char *what, uint64_t value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%" PRIx64, value);
	ck_assert_msg(strstr(text, digits) != NULL, "the message does not name the %s %s: %s", what,
		      digits, text);
}

START_TEST(unknown_instruction_ends_the_queue)
{
	const char *build = getenv("H2D_BUILD_DIR");
	volatile uint32_t *word = hsa_harness_allocate(&harness, sizeof(*word));
	uint64_t argument = (uint64_t)(uintptr_t)word;
	struct hsa_harness_dispatch dispatch = {
	    .grid = {1, 1, 1},
	    .workgroup = {1, 1, 1},
	    .code_object_version = 4,
	    .arguments = &argument,
	    .arguments_size = sizeof(argument),
	};
	char path[4200], text[4096];
	hsa_executable_t executable;
	int64_t entry;

	snprintf(path, sizeof(path), "%s/tests/softgpu/kernels/unknown_instructions.hsaco",
		 build ? build : ".");
	executable = hsa_harness_load(&harness, path);
	dispatch.kernel = hsa_harness_find(&harness, executable, cases[_i].kernel);
	*word = 0;
	hsa_harness_submit(&harness, &dispatch);
	int error = hsa_harness_wait_error(&harness, TIMEOUT_SECONDS);
	read_captured(text, sizeof(text));

	ck_assert_int_eq(error, (int)HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
	ck_assert_uint_eq(*word, 1);
	ck_assert_int_eq(hsa_signal_load_scacquire(harness.completion), 1);
	assert_names(text, "kernel object", dispatch.kernel.object);
	ck_assert_msg(strstr(text, cases[_i].encoding) != NULL,
		      "the message does not name the encoding %s: %s", cases[_i].encoding, text);
	/* The descriptor lies in VRAM; a copy of it tells where the code begins. */
	int64_t *descriptor = hsa_harness_allocate(&harness, 64);
	HSA_CHECK(hsa_memory_copy(descriptor, (void *)(uintptr_t)dispatch.kernel.object, 64));
	entry = descriptor[2];
	assert_names(text, "address",
		     dispatch.kernel.object + (uint64_t)entry + INSTRUCTION_OFFSET);
	HSA_CHECK(hsa_executable_destroy(executable));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unknown_instruction");
	TCase *tcase = tcase_create("queue");

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	tcase_add_checked_fixture(tcase, start, stop);
	tcase_set_timeout(tcase, 3 * TIMEOUT_SECONDS);
	tcase_add_loop_test(tcase, unknown_instruction_ends_the_queue, 0,
			    (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
