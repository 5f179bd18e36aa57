/* SPDX-License-Identifier: MIT */
/* What the tests of the library share: an open device with a stream, test kernels, byte patterns.
 */
#ifndef H2DPUB_TESTS_LIBRARY_FIXTURE_H
#define H2DPUB_TESTS_LIBRARY_FIXTURE_H

#include <check.h>
#include <time.h>

#include <h2dpub/stream.h>

#include "../run_suite.h"

/* GPU 0 and a stream with an own queue and a timeout of 10 s: a checked fixture. */
extern h2d_device_t *fixture_device;
extern h2d_stream_t *fixture_stream;

void fixture_setup(void);

/* Fails the test if it left anything on the device. */
void fixture_teardown(void);

/* Loads tests/library/device_kernels.cl as compiled for the device. */
h2d_code_object_t *fixture_load_kernels(void);
h2d_kernel_t fixture_kernel(const h2d_code_object_t *code_object, const char *name);

/* Reads a whole file of the build folder; free() it. */
void *fixture_read_file(const char *name, size_t *size);

/* The seed of random tests, from the environment's H2D_TEST_SEED or fixed; says it on stderr. */
uint64_t fixture_seed(void);

/* The next number of a sequence of pseudo-random numbers. */
uint64_t fixture_random(uint64_t *state);

/* A number from low to high, both included. */
uint64_t fixture_random_between(uint64_t *state, uint64_t low, uint64_t high);

void fixture_random_bytes(uint64_t *state, void *bytes, size_t size);

#define check_success(call) ck_assert_msg((call) == H2D_STATUS_SUCCESS, "%s", h2d_error_message())

#define check_status(call, expected)                                                               \
	do {                                                                                       \
		h2d_status_t check_actual = (call);                                                \
		ck_assert_msg(check_actual == (expected), "%s instead of %s: %s",                  \
			      h2d_status_string(check_actual), h2d_status_string(expected),        \
			      h2d_error_message());                                                \
	} while (0)

/*
 * The call succeeds within a minute: for what must end after a case has met the short timeout that
 * it is about, however slow the machine.
 */
#define check_success_in_time(call)                                                                \
	do {                                                                                       \
		const time_t check_deadline = time(NULL) + 60;                                     \
		h2d_status_t check_actual;                                                         \
		do                                                                                 \
			check_actual = (call);                                                     \
		while ((check_actual == H2D_STATUS_TIMEOUT ||                                      \
			check_actual == H2D_STATUS_QUEUE_FULL) &&                                  \
		       time(NULL) < check_deadline);                                               \
		ck_assert_msg(check_actual == H2D_STATUS_SUCCESS, "%s", h2d_error_message());      \
	} while (0)

/* The last error message contains these words. */
#define check_message(words)                                                                       \
	ck_assert_msg(strstr(h2d_error_message(), words) != NULL, "\"%s\" is not in \"%s\"",       \
		      words, h2d_error_message())

/* The same bytes, or the first offset at which they differ. */
void fixture_check_bytes(const char *what, const void *actual, const void *expected, size_t size);

#endif
