/* SPDX-License-Identifier: MIT */
/* The registry's inside: which memory belongs to which buffer. */
#ifndef H2DPUB_SRC_PUBLISH_REGISTRY_H
#define H2DPUB_SRC_PUBLISH_REGISTRY_H

#include <h2dpub/publication.h>

/* The bytes [begin, end) of one buffer in one address space. Must stay in place while registered.
 */
typedef struct h2d_interval {
	uintptr_t begin;
	uintptr_t end;
	const char *owner_name;
	const char *buffer_name;
} h2d_interval_t;

/*
 * Registers a buffer's destination and source, both or none. OVERLAP: the message names the two
 * buffers and the ranges. An empty interval overlaps nothing and is not kept. OUT_OF_MEMORY.
 */
h2d_status_t h2d_registry_insert(h2d_registry_t *registry, const h2d_interval_t *destination,
				 const h2d_interval_t *source);

/* Takes back what h2d_registry_insert() registered. */
void h2d_registry_remove(h2d_registry_t *registry, const h2d_interval_t *destination,
			 const h2d_interval_t *source);

#endif
