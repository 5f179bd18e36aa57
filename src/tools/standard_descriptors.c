/* SPDX-License-Identifier: MIT */
/*
 * What a tool prints must not land in a file that merely has the number of its closed output: the
 * runtime's device files would take the bytes, and the tool would end as if they had been read.
 */
#include "config.h"

#include "standard_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int standard_descriptors_occupy(struct tool_error *error)
{
	for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
		if (fcntl(descriptor, F_GETFD) >= 0)
			continue;
		/* the lowest free number is this one; the direction is the one that is not used */
		if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
			tool_error_set(error, "standard descriptor %d is closed, and /dev/null: %s",
				       descriptor, strerror(errno));
			return -1;
		}
	}
	return 0;
}
