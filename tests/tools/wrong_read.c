/* SPDX-License-Identifier: MIT */
/*
 * Preloaded under h2dpub-replay: changes one byte of what one read from the device returns, as a
 * GPU that went wrong would. WRONG_READ is the number of that read, from 1.
 */
#include "config.h"

#include <dlfcn.h>
#include <h2dpub/device.h>
#include <stdlib.h>
#include <string.h>

typedef h2d_status_t read_function(h2d_device_t *device, void *destination, const void *source,
				   size_t size, uint64_t timeout_ns);

H2D_API h2d_status_t h2d_device_read(h2d_device_t *device, void *destination, const void *source,
				     size_t size, uint64_t timeout_ns)
{
	static unsigned long reads;
	const char *wanted = getenv("WRONG_READ");
	void *symbol = dlsym(RTLD_NEXT, "h2d_device_read");
	read_function *next;
	h2d_status_t status;

	/* ISO C has no cast from an object pointer to a function pointer */
	memcpy(&next, &symbol, sizeof(next));
	status = next(device, destination, source, size, timeout_ns);
	if (++reads == (wanted == NULL ? 0 : strtoul(wanted, NULL, 10)))
		((unsigned char *)destination)[size - 1] ^= 1;
	return status;
}
