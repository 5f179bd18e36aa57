/* SPDX-License-Identifier: MIT */
/* Memory accesses of the packet processors themselves. */
#include "access.h"

#include <stdatomic.h>
#include <string.h>

void softgpu_access_init(struct softgpu_access *access, const struct softgpu_memory *memory)
{
	*access = (struct softgpu_access){.memory = memory};
}

static const struct softgpu_translation *find(struct softgpu_access *access, uint64_t address)
{
	/* Pairs with the release increment after an unmap: an old translation is not used again. */
	const uint64_t generation =
		atomic_load_explicit(access->memory->generation, memory_order_acquire);
	struct softgpu_translation *entry;

	if (generation != access->generation) {
		memset(access->entry, 0, sizeof(access->entry));
		access->generation = generation;
	}
	for (unsigned int i = 0; i < SOFTGPU_ACCESS_ENTRIES; i++) {
		entry = &access->entry[i];
		if (address >= entry->begin && address < entry->end)
			return entry;
	}
	entry = &access->entry[access->next];
	if (!access->memory->translate(access->memory->context, address, entry)) {
		*entry = (struct softgpu_translation){0};
		return NULL;
	}
	access->next = (access->next + 1) % SOFTGPU_ACCESS_ENTRIES;
	return entry;
}

void *softgpu_access_span(struct softgpu_access *access, uint64_t address, bool write,
			  uint64_t *length)
{
	const struct softgpu_translation *entry = find(access, address);

	if (!entry || !(write ? entry->writable : entry->readable))
		return NULL;
	*length = entry->end - address;
	return (void *)(uintptr_t)(address + (uint64_t)entry->host_offset);
}

void *softgpu_access_object(struct softgpu_access *access, uint64_t address, size_t size,
			    bool write)
{
	uint64_t length;
	void *pointer = softgpu_access_span(access, address, write, &length);

	return pointer && length >= size ? pointer : NULL;
}
