/* SPDX-License-Identifier: MIT */
/* The video memory of one GPU. */
#include "vram.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool softgpu_vram_open(struct softgpu_vram *vram, uint64_t size)
{
	memset(vram, 0, sizeof(*vram));
	vram->size = size;
	vram->file = memfd_create("softgpu-vram", MFD_CLOEXEC);
	if (vram->file < 0)
		return false;
	if (ftruncate(vram->file, (off_t)size) == 0) {
		void *window = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				    vram->file, 0);

		if (window != MAP_FAILED) {
			/* The window is no memory of the host's program: keep it out of dumps. */
			madvise(window, size, MADV_DONTDUMP);
			vram->window = window;
			return true;
		}
	}
	close(vram->file);
	return false;
}

void softgpu_vram_close(struct softgpu_vram *vram)
{
	munmap(vram->window, vram->size);
	close(vram->file);
	free(vram->extent);
}

static bool reserve(struct softgpu_vram *vram)
{
	const size_t capacity = vram->capacity == 0 ? 64 : vram->capacity * 2;
	struct softgpu_vram_extent *extent;

	if (vram->count < vram->capacity)
		return true;
	extent = realloc(vram->extent, capacity * sizeof(*extent));
	if (!extent)
		return false;
	vram->extent = extent;
	vram->capacity = capacity;
	return true;
}

bool softgpu_vram_take(struct softgpu_vram *vram, uint64_t size, uint64_t alignment,
		       uint64_t *offset)
{
	uint64_t at = 0;
	size_t i;

	if (size > vram->size || !reserve(vram))
		return false;
	/* The first gap that is large enough. */
	for (i = 0; i < vram->count; i++) {
		if (vram->extent[i].offset >= at && vram->extent[i].offset - at >= size)
			break;
		at = vram->extent[i].offset + vram->extent[i].size;
		at = (at + alignment - 1) & ~(alignment - 1);
	}
	if (at > vram->size || vram->size - at < size)
		return false;
	memmove(&vram->extent[i + 1], &vram->extent[i],
		(vram->count - i) * sizeof(vram->extent[0]));
	vram->extent[i] = (struct softgpu_vram_extent){.offset = at, .size = size};
	vram->count++;
	vram->used += size;
	*offset = at;
	return true;
}

void softgpu_vram_release(struct softgpu_vram *vram, uint64_t offset)
{
	for (size_t i = 0; i < vram->count; i++) {
		const uint64_t size = vram->extent[i].size;

		if (vram->extent[i].offset != offset)
			continue;
		fallocate(vram->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			  (off_t)size);
		vram->count--;
		vram->used -= size;
		memmove(&vram->extent[i], &vram->extent[i + 1],
			(vram->count - i) * sizeof(vram->extent[0]));
		return;
	}
}
