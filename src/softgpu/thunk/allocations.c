/* SPDX-License-Identifier: MIT */
/* The registry of all memory that the thunk knows, and what is mapped to which GPU. */
#include "allocations.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct softgpu_allocation **allocations; /* by begin; they do not overlap */
static size_t allocation_count;
static size_t allocation_capacity;
static struct softgpu_allocation *registrations; /* may overlap each other and allocations */

void softgpu_allocations_lock(void)
{
	pthread_mutex_lock(&lock);
}

void softgpu_allocations_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* Index of the first allocation that begins behind `address`. */
static size_t upper_bound(uint64_t address)
{
	size_t low = 0, high = allocation_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (allocations[middle]->begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct softgpu_allocation *softgpu_allocation_find(uint64_t address)
{
	const size_t behind = upper_bound(address);
	struct softgpu_allocation *allocation = behind == 0 ? NULL : allocations[behind - 1];

	return allocation && address - allocation->begin < allocation->size ? allocation : NULL;
}

struct softgpu_allocation *softgpu_registration_find(uint64_t address)
{
	for (struct softgpu_allocation *user = registrations; user; user = user->next) {
		if (address >= user->begin && address - user->begin < user->size)
			return user;
	}
	return NULL;
}

struct softgpu_allocation *softgpu_registration_at(uint64_t address)
{
	for (struct softgpu_allocation *user = registrations; user; user = user->next) {
		if (user->begin == address)
			return user;
	}
	return NULL;
}

bool softgpu_allocation_insert(struct softgpu_allocation *allocation)
{
	size_t at;

	if (allocation->kind == SOFTGPU_MEMORY_USER) {
		allocation->next = registrations;
		registrations = allocation;
		return true;
	}
	if (allocation_count == allocation_capacity) {
		const size_t capacity = allocation_capacity == 0 ? 64 : allocation_capacity * 2;
		struct softgpu_allocation **grown =
			realloc(allocations, capacity * sizeof(allocations[0]));

		if (!grown)
			return false;
		allocations = grown;
		allocation_capacity = capacity;
	}
	at = upper_bound(allocation->begin);
	memmove(&allocations[at + 1], &allocations[at],
		(allocation_count - at) * sizeof(allocations[0]));
	allocations[at] = allocation;
	allocation_count++;
	return true;
}

static void take_out(struct softgpu_allocation *allocation)
{
	struct softgpu_allocation **link = &registrations;
	size_t at;

	if (allocation->kind == SOFTGPU_MEMORY_USER) {
		while (*link != allocation)
			link = &(*link)->next;
		*link = allocation->next;
		return;
	}
	at = upper_bound(allocation->begin) - 1;
	allocation_count--;
	memmove(&allocations[at], &allocations[at + 1],
		(allocation_count - at) * sizeof(allocations[0]));
}

/* The GPU maps whole pages, also of memory that the program registered. */
static struct softgpu_translation translation_of(const struct softgpu_allocation *allocation)
{
	const uint64_t mask = SOFTGPU_PAGE - 1;

	return (struct softgpu_translation){
		.begin = allocation->begin & ~mask,
		.end = (allocation->begin + allocation->size + mask) & ~mask,
		.host_offset = allocation->host_offset,
		.readable = true,
		.writable = !allocation->flags.ui32.ReadOnly,
		.executable = true,
	};
}

static bool is_mapped(const struct softgpu_allocation *allocation, uint32_t node_id)
{
	for (uint32_t i = 0; i < allocation->mapped_count; i++) {
		if (allocation->mapped[i] == node_id)
			return true;
	}
	return false;
}

static void unmap_from(struct softgpu_device *device, struct softgpu_allocation *allocation,
		       uint32_t index)
{
	const struct softgpu_translation range = translation_of(allocation);

	softgpu_ranges_remove(&softgpu_device_gpu(device, allocation->mapped[index])->ranges,
			      range.begin, range.end);
	allocation->mapped[index] = allocation->mapped[--allocation->mapped_count];
}

void softgpu_allocation_unmap(struct softgpu_device *device, struct softgpu_allocation *allocation)
{
	while (allocation->mapped_count != 0)
		unmap_from(device, allocation, allocation->mapped_count - 1);
}

static bool contains(const HSAuint32 *nodes, uint64_t count, uint32_t node_id)
{
	for (uint64_t i = 0; i < count; i++) {
		if (nodes[i] == node_id)
			return true;
	}
	return false;
}

HSAKMT_STATUS softgpu_allocation_map(struct softgpu_device *device,
				     struct softgpu_allocation *allocation, const HSAuint32 *nodes,
				     uint64_t count)
{
	const struct softgpu_translation range = translation_of(allocation);
	HSAuint32 all[SOFTGPU_MAX_GPUS];

	if (!nodes) {
		count = allocation->registered_count;
		memcpy(all, allocation->registered, sizeof(all));
		for (uint32_t i = 1; allocation->registered_count == 0 && i <= device->options.gpus;
		     i++)
			all[count++] = i;
		nodes = all;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (nodes[i] > device->options.gpus)
			return HSAKMT_STATUS_INVALID_NODE_UNIT;
	}
	for (uint32_t i = allocation->mapped_count; i-- > 0;) {
		if (!contains(nodes, count, allocation->mapped[i]))
			unmap_from(device, allocation, i);
	}
	for (uint64_t i = 0; i < count; i++) {
		struct softgpu_node *node = softgpu_device_gpu(device, nodes[i]);

		if (!node || is_mapped(allocation, nodes[i]))
			continue;
		if (!softgpu_ranges_add(&node->ranges, &range))
			return HSAKMT_STATUS_NO_MEMORY;
		allocation->mapped[allocation->mapped_count++] = nodes[i];
	}
	return HSAKMT_STATUS_SUCCESS;
}

static void give_memory_back(struct softgpu_device *device, struct softgpu_allocation *allocation)
{
	void *address = (void *)(uintptr_t)allocation->begin;

	if (allocation->kind == SOFTGPU_MEMORY_USER)
		return;
	munmap(address, allocation->size);
	/* What other processes may still use is not used again for something else. */
	if (allocation->kind == SOFTGPU_MEMORY_VRAM && !allocation->shared)
		softgpu_vram_release(&softgpu_device_gpu(device, allocation->node_id)->vram,
				     allocation->file_offset);
	if (allocation->kind == SOFTGPU_MEMORY_IMPORTED && allocation->host_offset != 0)
		munmap((void *)(uintptr_t)(allocation->begin + (uint64_t)allocation->host_offset),
		       allocation->size);
	if (allocation->owns_file)
		close(allocation->file);
}

void softgpu_allocation_discard(struct softgpu_device *device,
				struct softgpu_allocation *allocation)
{
	give_memory_back(device, allocation);
	free(allocation);
}

void softgpu_allocation_remove(struct softgpu_device *device, struct softgpu_allocation *allocation)
{
	softgpu_allocation_unmap(device, allocation);
	take_out(allocation);
	softgpu_allocation_discard(device, allocation);
}

void *softgpu_allocate_internal(struct softgpu_device *device, uint64_t size)
{
	struct softgpu_allocation *allocation = calloc(1, sizeof(*allocation));
	void *address =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool inserted = false;

	if (allocation && address != MAP_FAILED) {
		allocation->kind = SOFTGPU_MEMORY_HOST;
		allocation->begin = (uint64_t)(uintptr_t)address;
		allocation->size = size;
		allocation->file = -1;
		softgpu_allocations_lock();
		inserted = softgpu_allocation_insert(allocation);
		if (inserted &&
		    softgpu_allocation_map(device, allocation, NULL, 0) != HSAKMT_STATUS_SUCCESS) {
			softgpu_allocation_remove(device, allocation);
			softgpu_allocations_unlock();
			return NULL;
		}
		softgpu_allocations_unlock();
	}
	if (inserted)
		return address;
	if (address != MAP_FAILED)
		munmap(address, size);
	free(allocation);
	return NULL;
}

void softgpu_allocations_open(void)
{
	allocation_count = 0;
	registrations = NULL;
}

void softgpu_allocations_close(struct softgpu_device *device)
{
	while (registrations)
		softgpu_allocation_remove(device, registrations);
	while (allocation_count != 0)
		softgpu_allocation_remove(device, allocations[allocation_count - 1]);
	free(allocations);
	allocations = NULL;
	allocation_capacity = 0;
}

void softgpu_allocations_abandon(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
	allocations = NULL;
	allocation_count = allocation_capacity = 0;
	registrations = NULL;
}
