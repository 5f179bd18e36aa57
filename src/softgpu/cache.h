/* SPDX-License-Identifier: MIT */
/*
 * The cache model: makes the GPU as incoherent as its rules allow, so that software which is
 * ordered only by luck fails.
 *
 * A GPU has several L2 caches, as gfx942 has one for each compute die; a workgroup uses one of
 * them. Lines never leave a cache by themselves. What a kernel writes stays in its L2; what it has read
 * stays as it was read. Between the L2s and memory stands the agent's view:
 *
 *   release agent    what the L2s hold written goes to the agent's view
 *   release system   the same, then from the agent's view to memory (host, DMA engines, other GPUs)
 *   acquire agent    an L2 forgets what another L2 has released since it was read
 *   acquire system   an L2 forgets everything that it has not written itself
 *
 * So what the host or a DMA engine writes needs a system acquire to be seen, and what they are to
 * see needs a system release. Memory that a kernel has written and not released to the system
 * overwrites, when it is released, what others have written in the meantime, as write-back caches
 * do.
 *
 * Atomics, instruction fetches, kernel arguments and the packet processors go past the caches.
 * Kernels whose own workgroups communicate within one dispatch need a single L2.
 */
#ifndef SOFTGPU_CACHE_H
#define SOFTGPU_CACHE_H

#include "memory.h"

#include <stddef.h>

#define SOFTGPU_MAX_L2S 16

/* In the order of the scopes in an AQL packet header. */
enum softgpu_scope {
	SOFTGPU_SCOPE_NONE,
	SOFTGPU_SCOPE_AGENT,
	SOFTGPU_SCOPE_SYSTEM,
};

struct softgpu_cache;

/* NULL: no memory. `memory` must outlive the cache. */
struct softgpu_cache *softgpu_cache_create(const struct softgpu_memory *memory, uint32_t l2_count);
void softgpu_cache_destroy(struct softgpu_cache *cache);

uint32_t softgpu_cache_l2_count(const struct softgpu_cache *cache);

/* The fences of a packet, in all L2s. Any thread, as all functions. */
void softgpu_cache_acquire(struct softgpu_cache *cache, enum softgpu_scope scope);
void softgpu_cache_release(struct softgpu_cache *cache, enum softgpu_scope scope);

/*
 * Reads and writes through one L2. `host` is where `address` lies in memory; the bytes must lie in
 * one mapped range. False: no memory for another line.
 */
bool softgpu_cache_read(struct softgpu_cache *cache, uint32_t l2, uint64_t address,
			const uint8_t *host, void *data, size_t size);
bool softgpu_cache_write(struct softgpu_cache *cache, uint32_t l2, uint64_t address,
			 const uint8_t *host, const void *data, size_t size);

/*
 * Brings these bytes to memory and forgets them in every L2, before an access that goes past the
 * caches.
 */
void softgpu_cache_bypass(struct softgpu_cache *cache, uint64_t address, uint8_t *host,
			  size_t size);

/* Forgets a range that is unmapped, written or not. */
void softgpu_cache_forget(struct softgpu_cache *cache, uint64_t begin, uint64_t end);

#endif
