/* SPDX-License-Identifier: MIT */
/* What the program's memory map says of its memory. */
#include "host_memory.h"

#include "../message.h"
#include "device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads lines "begin-end rwxp ..." by rising address. */
static bool mappings_allow(FILE *maps, uint64_t at, uint64_t end, bool write)
{
	size_t capacity = 0;
	char *line = NULL;

	while (at < end && getline(&line, &capacity, maps) > 0) {
		uint64_t first, behind;
		char readable, writable;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &first, &behind, &readable,
			   &writable) != 4)
			break;
		if (behind <= at)
			continue;
		if (first > at || readable != 'r' || (write && writable != 'w'))
			break;
		at = behind;
	}
	free(line);
	return at >= end;
}

bool softgpu_host_memory_allows(uint64_t begin, uint64_t size, bool write)
{
	const uint64_t mask = SOFTGPU_PAGE - 1;
	FILE *maps;
	bool allowed;

	if (size > UINT64_MAX - mask - begin)
		return false;
	maps = fopen("/proc/self/maps", "re");
	if (!maps) {
		softgpu_message("cannot read /proc/self/maps: %s", strerror(errno));
		return false;
	}
	allowed = mappings_allow(maps, begin & ~mask, (begin + size + mask) & ~mask, write);
	fclose(maps);
	return allowed;
}
