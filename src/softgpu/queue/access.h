/* SPDX-License-Identifier: MIT */
/* Memory accesses of the packet processors themselves, through the GPU's translations. */
#ifndef SOFTGPU_QUEUE_ACCESS_H
#define SOFTGPU_QUEUE_ACCESS_H

#include "gpu.h"

#include <stddef.h>

#define SOFTGPU_ACCESS_ENTRIES 4

/* The recent translations of one engine; used by one thread. */
struct softgpu_access {
	const struct softgpu_memory *memory;
	uint64_t generation;
	unsigned int next; /* entry replaced next */
	struct softgpu_translation entry[SOFTGPU_ACCESS_ENTRIES];
};

void softgpu_access_init(struct softgpu_access *access, const struct softgpu_memory *memory);

/*
 * Where this process may touch GPU address `address`; *length becomes the number of bytes that
 * follow it in the same mapping. NULL: not mapped, or not for this kind of access.
 */
void *softgpu_access_span(struct softgpu_access *access, uint64_t address, bool write,
			  uint64_t *length);
/* The same for an object of `size` bytes; NULL also if it is not mapped as a whole. */
void *softgpu_access_object(struct softgpu_access *access, uint64_t address, size_t size,
			    bool write);

#endif
