/* SPDX-License-Identifier: MIT */
/* Backends by name. */
#include <stdlib.h>
#include <string.h>

#include <h2dpub/publication.h>

#include "error.h"

#define BACKEND_VARIABLE "ATOM_H2D_BACKEND"

static const char *const backend_names[] = {
	[H2D_BACKEND_PACKED] = "packed",
	[H2D_BACKEND_DIRECT] = "direct",
	[H2D_BACKEND_PULL] = "pull",
};

#define BACKEND_COUNT (sizeof(backend_names) / sizeof(backend_names[0]))

const char *h2d_backend_name(h2d_backend_t backend)
{
	return (unsigned int)backend < BACKEND_COUNT ? backend_names[backend] : NULL;
}

h2d_status_t h2d_backend_from_name(const char *name, h2d_backend_t *backend)
{
	const char *origin = "backend";
	unsigned int i;

	if (!backend)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_backend_from_name: backend is NULL");
	if (!name) {
		origin = BACKEND_VARIABLE;
		name = getenv(BACKEND_VARIABLE);
		if (!name || !*name)
			name = backend_names[H2D_BACKEND_PACKED];
	}
	for (i = 0; i < BACKEND_COUNT; i++) {
		if (strcmp(name, backend_names[i]) == 0) {
			*backend = (h2d_backend_t)i;
			return H2D_STATUS_SUCCESS;
		}
	}
	return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
			 "%s is '%s', but the H2D transport must be packed, direct or pull", origin,
			 name);
}
