/* SPDX-License-Identifier: MIT */
/* The names of status codes and the calling thread's error message. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char error_message[512];

const char *h2d_status_string(h2d_status_t status)
{
#define NAME(status)                                                                               \
	case status:                                                                               \
		return #status
	switch (status) {
		NAME(H2D_STATUS_SUCCESS);
		NAME(H2D_STATUS_INVALID_ARGUMENT);
		NAME(H2D_STATUS_OUT_OF_RANGE);
		NAME(H2D_STATUS_OVERLAP);
		NAME(H2D_STATUS_NOT_FOUND);
		NAME(H2D_STATUS_INVALID_STATE);
		NAME(H2D_STATUS_WRONG_THREAD);
		NAME(H2D_STATUS_WRONG_DEVICE);
		NAME(H2D_STATUS_CAPTURE_ACTIVE);
		NAME(H2D_STATUS_WRONG_STREAM);
		NAME(H2D_STATUS_ALREADY_PUBLISHED);
		NAME(H2D_STATUS_SOURCE_IN_USE);
		NAME(H2D_STATUS_TRANSPORT_IN_FLIGHT);
		NAME(H2D_STATUS_NO_DEVICE);
		NAME(H2D_STATUS_NOT_SUPPORTED);
		NAME(H2D_STATUS_OUT_OF_MEMORY);
		NAME(H2D_STATUS_TIMEOUT);
		NAME(H2D_STATUS_QUEUE_FULL);
		NAME(H2D_STATUS_QUEUE_ERROR);
		NAME(H2D_STATUS_MEMORY_FAULT);
		NAME(H2D_STATUS_HSA_ERROR);
	}
#undef NAME
	return "unknown status";
}

const char *h2d_error_message(void)
{
	return error_message;
}

h2d_status_t h2d_error(h2d_status_t status, const char *format, ...)
{
	/* Built aside, because an argument may be the old message itself. */
	char message[sizeof(error_message)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	snprintf(error_message, sizeof(error_message), "%s", message);
	return status;
}
