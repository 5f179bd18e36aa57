/* SPDX-License-Identifier: MIT */
/* Messages of the software GPU to its user. */
#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void softgpu_message(const char *format, ...)
{
	char line[1024] = "softgpu: ";
	const size_t prefix = sizeof("softgpu: ") - 1;
	size_t length;
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
	va_end(arguments);
	if (written < 0)
		return;
	length = prefix + (size_t)written;
	if (length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length++] = '\n';
	/* One write for the whole line, so that lines of several threads do not mix. */
	for (size_t done = 0; done < length;) {
		const ssize_t count = write(STDERR_FILENO, line + done, length - done);

		if (count < 0 && errno != EINTR)
			return;
		if (count > 0)
			done += (size_t)count;
	}
}
