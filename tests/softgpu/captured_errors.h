/* SPDX-License-Identifier: MIT */
/* What the software GPU writes to standard error, for tests of its messages. */
#ifndef CAPTURED_ERRORS_H
#define CAPTURED_ERRORS_H

#include <check.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

struct captured_errors {
	int pipe[2];
	int standard_error;
};

/* From now on standard error is kept. */
static inline void captured_errors_start(struct captured_errors *errors)
{
	ck_assert_int_eq(pipe(errors->pipe), 0);
	errors->standard_error = dup(STDERR_FILENO);
	ck_assert_int_ge(errors->standard_error, 0);
	ck_assert_int_eq(dup2(errors->pipe[1], STDERR_FILENO), STDERR_FILENO);
	close(errors->pipe[1]);
}

/* Waits for a message, which is written as a whole; `text` stays empty after ten seconds. */
static inline void captured_errors_stop(struct captured_errors *errors, char *text, size_t size)
{
	struct pollfd descriptor = {.fd = errors->pipe[0], .events = POLLIN};
	ssize_t length = 0;

	if (poll(&descriptor, 1, 10000) == 1)
		length = read(errors->pipe[0], text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	dup2(errors->standard_error, STDERR_FILENO);
	close(errors->standard_error);
	close(errors->pipe[0]);
}

#endif
