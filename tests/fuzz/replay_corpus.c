/* SPDX-License-Identifier: MIT */
/* Runs the committed corpus, and mutations of it that are the same each time, without libFuzzer. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta_decoder.h"

#define LARGEST_INPUT 65536
#define MUTATIONS     4000 /* of each input */

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* A few bytes changed, or the end cut off; each input is a buffer of its own size. */
static void run_mutation(const uint8_t *bytes, size_t size, uint32_t *state)
{
	size_t kept = next_random(state) % 8 ? size : next_random(state) % (size + 1);
	uint8_t *mutated = malloc(kept ? kept : 1);

	if (!mutated)
		abort();
	memcpy(mutated, bytes, kept);
	for (uint32_t i = next_random(state) % 4; kept && i > 0; i--)
		mutated[next_random(state) % kept] ^= (uint8_t)(1u << next_random(state) % 8);
	LLVMFuzzerTestOneInput(mutated, kept);
	free(mutated);
}

static bool run_file(const char *path)
{
	static uint8_t bytes[LARGEST_INPUT];
	FILE *file = fopen(path, "rb");
	uint32_t state = 1;
	size_t size;

	if (!file)
		return false;
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, size);
	for (int i = 0; i < MUTATIONS; i++)
		run_mutation(bytes, size, &state);
	return size > 0;
}

int main(void)
{
	const char *source = getenv("H2D_SOURCE_DIR");
	char directory[2048], path[4096];
	struct dirent **entries;
	int count, number = 0, failures = 0;

	snprintf(directory, sizeof(directory), "%s/tests/fuzz/corpus", source ? source : ".");
	count = scandir(directory, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.') {
			bool passed;

			snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
			passed = run_file(path);
			failures += !passed;
			printf("%sok %d - %s\n", passed ? "" : "not ", ++number, entries[i]->d_name);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	printf("1..%d\n", number);
	return number > 0 && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
