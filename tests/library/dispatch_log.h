/* SPDX-License-Identifier: MIT */
/* A log on the device to which dispatches append: shows which of them ran, and in which order. */
#ifndef H2DPUB_TESTS_LIBRARY_DISPATCH_LOG_H
#define H2DPUB_TESTS_LIBRARY_DISPATCH_LOG_H

#include "fixture.h"

struct dispatch_log {
	h2d_code_object_t *code_object;
	h2d_kernel_t append;
	uint8_t *kernel_arguments; /* 64 bytes for each value */
	uint32_t *cursor;	   /* device */
	uint32_t *values;	   /* device */
	uint32_t capacity;
};

/* A log for the values 0 to capacity - 1. */
struct dispatch_log dispatch_log_make(uint32_t capacity);
void dispatch_log_free(struct dispatch_log *log);

/* The dispatch that appends a value, and dispatching it. */
h2d_dispatch_t dispatch_log_dispatch(const struct dispatch_log *log, uint32_t value);
h2d_status_t dispatch_log_append(const struct dispatch_log *log, h2d_stream_t *stream,
				 uint32_t value);

/* The log holds exactly these values, or exactly 0, 1, ..., count - 1. */
void dispatch_log_check_values(const struct dispatch_log *log, const uint32_t values[],
			       uint32_t count);
void dispatch_log_check(const struct dispatch_log *log, uint32_t count);

/* A stream of 64 packets whose queue stands still behind a barrier until the signal is 0. */
h2d_stream_t *dispatch_log_blocked_stream(uint64_t timeout_ns, hsa_signal_t *gate);

#endif
