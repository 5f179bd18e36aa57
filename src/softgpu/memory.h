/* SPDX-License-Identifier: MIT */
/*
 * How the software GPU sees memory.
 *
 * Host and GPU share one address space, but video memory is PROT_NONE for the host: the GPU side
 * reaches it through a second mapping of the same pages. A translation describes one GPU-mapped
 * range and the distance from its GPU address to the address at which this process may touch it.
 */
#ifndef SOFTGPU_MEMORY_H
#define SOFTGPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct softgpu_translation {
	uint64_t begin;
	uint64_t end;	      /* first address behind the range */
	intptr_t host_offset; /* host address = GPU address + host_offset */
	bool readable;
	bool writable;
	bool executable;
};

struct softgpu_cache;

struct softgpu_memory {
	void *context;
	/* Finds the mapped range that holds `address`; false: not mapped, a memory fault. */
	bool (*translate)(void *context, uint64_t address, struct softgpu_translation *out);
	/*
	 * Translations may be kept while *generation is unchanged. Its owner increments it after
	 * every unmap or free; the reader's acquire load pairs with that release increment.
	 */
	const _Atomic uint64_t *generation;
	/* The cache model, NULL: the GPU is coherent. */
	struct softgpu_cache *cache;
};

#endif
