/* SPDX-License-Identifier: MIT */
/*
 * The video memory of one GPU: one sparse file in memory, of which allocations are pieces. The GPU
 * side sees all of it through one window; the host has no mapping of it at all.
 */
#ifndef SOFTGPU_THUNK_VRAM_H
#define SOFTGPU_THUNK_VRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softgpu_vram_extent {
	uint64_t offset;
	uint64_t size;
};

struct softgpu_vram {
	int file;
	uint8_t *window;
	uint64_t size;
	uint64_t used;
	struct softgpu_vram_extent *extent; /* in use, by offset */
	size_t count;
	size_t capacity;
};

bool softgpu_vram_open(struct softgpu_vram *vram, uint64_t size);
void softgpu_vram_close(struct softgpu_vram *vram);
/* False: no piece of this size is left. Size and alignment are multiples of the page size. */
bool softgpu_vram_take(struct softgpu_vram *vram, uint64_t size, uint64_t alignment,
		       uint64_t *offset);
/* The piece's pages are given back; they read as zero when they are used again. */
void softgpu_vram_release(struct softgpu_vram *vram, uint64_t offset);

#endif
