/* SPDX-License-Identifier: MIT */
/* Setting the calling thread's error message. */
#ifndef H2DPUB_SRC_ERROR_H
#define H2DPUB_SRC_ERROR_H

#include <h2dpub/status.h>

/* Stores the message for h2d_error_message() and returns status, so that callers can return it. */
h2d_status_t h2d_error(h2d_status_t status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
