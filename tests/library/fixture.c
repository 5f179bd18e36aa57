/* SPDX-License-Identifier: MIT */
/* What the tests of the library share: an open device with a stream, test kernels, byte patterns.
 */
#include "fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

h2d_device_t *fixture_device;
h2d_stream_t *fixture_stream;

void fixture_setup(void)
{
	check_success(h2d_device_open(0, &fixture_device));
	check_success(h2d_stream_create(fixture_device, NULL, &fixture_stream));
}

void fixture_teardown(void)
{
	check_success(h2d_stream_destroy(fixture_stream));
	check_success(h2d_device_close(fixture_device));
}

void *fixture_read_file(const char *name, size_t *size)
{
	const char *folder = getenv("H2D_BUILD_DIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder != NULL ? folder : ".", name);
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s does not open", path);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	long length = ftell(file);
	ck_assert_int_gt(length, 0);
	rewind(file);
	void *bytes = malloc((size_t)length);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, (size_t)length, file), (size_t)length);
	fclose(file);
	*size = (size_t)length;
	return bytes;
}

h2d_code_object_t *fixture_load_kernels(void)
{
	h2d_device_info_t info;
	char name[128];
	size_t size;
	h2d_code_object_t *code_object;

	check_success(h2d_device_get_info(fixture_device, &info));
	snprintf(name, sizeof(name), "tests/library/%s.hsaco", info.name);
	void *bytes = fixture_read_file(name, &size);
	check_success(h2d_code_object_load(fixture_device, bytes, size, &code_object));
	free(bytes);
	return code_object;
}

h2d_kernel_t fixture_kernel(const h2d_code_object_t *code_object, const char *name)
{
	h2d_kernel_t kernel;

	check_success(h2d_code_object_get_kernel(code_object, name, &kernel));
	return kernel;
}

uint64_t fixture_seed(void)
{
	const char *text = getenv("H2D_TEST_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : UINT64_C(20250711);

	fprintf(stderr, "# H2D_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* splitmix64 */
uint64_t fixture_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t fixture_random_between(uint64_t *state, uint64_t low, uint64_t high)
{
	return low + fixture_random(state) % (high - low + 1);
}

void fixture_random_bytes(uint64_t *state, void *bytes, size_t size)
{
	uint8_t *byte = bytes;

	for (; size >= 8; size -= 8, byte += 8) {
		uint64_t value = fixture_random(state);
		memcpy(byte, &value, 8);
	}
	for (; size > 0; size--)
		*byte++ = (uint8_t)fixture_random(state);
}

void fixture_check_bytes(const char *what, const void *actual, const void *expected, size_t size)
{
	const uint8_t *a = actual;
	const uint8_t *b = expected;

	if (memcmp(a, b, size) == 0)
		return;
	size_t i = 0;
	while (a[i] == b[i])
		i++;
	ck_abort_msg("%s: byte %zu of %zu is 0x%02x instead of 0x%02x", what, i, size, a[i], b[i]);
}
