/* SPDX-License-Identifier: MIT */
/* Runs llvm-mc over a list of encodings or of assembly lines and takes its output apart. */
#include "llvm_mc.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS "--triple=amdgcn--amdhsa --mcpu=gfx90a"

/* s_nop instructions: one behind each encoding tells its length, one ends each encoding. */
#define BEHIND	  0xbf80cccc
#define SEPARATOR 0xbf808000
#define NUMBERS	  0x4000 /* of separators, then they start again */

static bool runs(const char *program)
{
	char command[300];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

const char *llvm_mc_path(void)
{
	/* 19 first: 22 crashes when it prints some encodings that are none of gfx90a. */
	const char *const names[] = {"llvm-mc-19", getenv("LLVM_MC"), "llvm-mc", "llvm-mc-14"};
	static const char *found;

	for (size_t i = 0; found == NULL && i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] != NULL && names[i][0] != '\0' && runs(names[i]))
			found = names[i];
	return found;
}

int llvm_mc_version(void)
{
	char command[300], line[200];
	int version = 0;
	FILE *output;

	snprintf(command, sizeof(command), "%s --version", llvm_mc_path());
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	while (fgets(line, sizeof(line), output) != NULL) {
		const char *at = strstr(line, "LLVM version ");

		if (at != NULL)
			version = atoi(at + strlen("LLVM version "));
	}
	pclose(output);
	return version;
}

/* A temporary file that the child reads as its standard input. */
static FILE *make_input(char path[])
{
	int descriptor = mkstemp(path);
	FILE *file;

	ck_assert_int_ge(descriptor, 0);
	file = fdopen(descriptor, "w");
	ck_assert_ptr_nonnull(file);
	return file;
}

static void put_bytes(FILE *file, const uint32_t *dwords, unsigned int count)
{
	fputc('[', file);
	for (unsigned int i = 0; i < 4 * count; i++)
		fprintf(file, "0x%02x%s", dwords[i / 4] >> 8 * (i % 4) & 0xff,
			i + 1 < 4 * count ? "," : "]\n");
}

/* Removes tabs, double spaces and comments. */
static void tidy(char *line)
{
	char *out = line, *comment = strstr(line, " //");
	bool space = true;

	if (comment != NULL)
		*comment = '\0';
	for (const char *in = line; *in != '\0'; in++) {
		bool is_space = *in == ' ' || *in == '\t' || *in == '\n';

		if (!is_space)
			*out++ = *in;
		else if (!space)
			*out++ = ' ';
		space = is_space;
	}
	if (out > line && out[-1] == ' ')
		out--;
	*out = '\0';
}

static bool is_nop(const char *line, uint32_t encoding)
{
	return strncmp(line, "s_nop ", 6) == 0 && strtoul(line + 6, NULL, 0) == (encoding & 0xffff);
}

void llvm_mc_disassemble(const uint32_t (*encodings)[2], unsigned int count,
			 struct llvm_answer *answers)
{
	char path[] = "/tmp/softgpu-decode-XXXXXX", command[400], line[512];
	FILE *input = make_input(path), *output;
	unsigned int answer = 0, lines = 0;

	for (unsigned int i = 0; i < count; i++) {
		uint32_t dwords[3] = {encodings[i][0], encodings[i][1], BEHIND};
		uint32_t separator = SEPARATOR | i % NUMBERS;

		put_bytes(input, dwords, 3);
		put_bytes(input, &separator, 1);
	}
	ck_assert_int_eq(fclose(input), 0);
	snprintf(command, sizeof(command), "%s --disassemble " OPTIONS " < %s 2>/dev/null",
		 llvm_mc_path(), path);
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	memset(answers, 0, sizeof(*answers) * count);
	while (answer < count && fgets(line, sizeof(line), output) != NULL) {
		struct llvm_answer *current = &answers[answer];

		tidy(line);
		if (line[0] == '\0' || line[0] == '.')
			continue;
		if (is_nop(line, SEPARATOR | answer % NUMBERS)) {
			answer++;
			lines = 0;
			continue;
		}
		if (lines == 0) {
			snprintf(current->text, sizeof(current->text), "%.159s", line);
			current->dwords = 1;
		} else if (lines == 1 && is_nop(line, BEHIND)) {
			current->dwords = 2;
		}
		lines++;
	}
	pclose(output);
	unlink(path);
	ck_assert_uint_eq(answer, count);
}

void llvm_mc_assemble(const char *const *lines, unsigned int count, bool *accepted)
{
	char path[] = "/tmp/softgpu-decode-XXXXXX", command[400], line[512];
	FILE *input = make_input(path), *output;

	for (unsigned int i = 0; i < count; i++) {
		fprintf(input, "%s\n", lines[i]);
		accepted[i] = true;
	}
	ck_assert_int_eq(fclose(input), 0);
	snprintf(command, sizeof(command), "%s " OPTIONS " < %s 2>&1 >/dev/null", llvm_mc_path(),
		 path);
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	while (fgets(line, sizeof(line), output) != NULL) {
		unsigned int number;

		/*
		 * How many SGPRs an instruction may read is no question of decoding; inline floats
		 * of 16-bit integers print as numbers that assemble only as literals.
		 */
		if (sscanf(line, "<stdin>:%u:", &number) == 1 && strstr(line, "error") != NULL &&
		    strstr(line, "constant bus") == NULL && strstr(line, "literal") == NULL)
			accepted[number - 1] = false;
	}
	pclose(output);
	unlink(path);
}
