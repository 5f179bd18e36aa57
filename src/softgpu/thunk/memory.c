/* SPDX-License-Identifier: MIT */
/* Allocating, freeing, mapping and registering memory. */
#include "allocations.h"

#include "host_memory.h"
#include "newer.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE (UINT64_C(1) << 21)

/* Reserves addresses at which the host may touch nothing; NULL: there are none. */
static void *reserve_addresses(uint64_t size, uint64_t alignment)
{
	const uint64_t length = size + alignment - SOFTGPU_PAGE;
	uint8_t *area =
		mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t start, begin, tail;

	if (area == MAP_FAILED)
		return NULL;
	start = (uintptr_t)area;
	begin = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
	tail = start + length - begin - size;
	if (begin != start)
		munmap(area, begin - start);
	if (tail != 0)
		munmap((void *)(begin + size), tail);
	return (void *)begin;
}

/* In place of reserved addresses: the host sees the same memory there as the GPU. */
static bool open_to_host(const struct softgpu_allocation *allocation)
{
	return mmap((void *)(uintptr_t)allocation->begin, allocation->size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, allocation->file,
		    (off_t)allocation->file_offset) != MAP_FAILED;
}

static HSAKMT_STATUS allocate_vram(struct softgpu_node *node, struct softgpu_allocation *allocation)
{
	/* The runtime shares pieces of its blocks by their offset from a multiple of 2 MiB. */
	const uint64_t alignment = allocation->size >= HUGE_PAGE ? HUGE_PAGE : SOFTGPU_PAGE;
	void *address;

	if (!softgpu_vram_take(&node->vram, allocation->size, alignment, &allocation->file_offset))
		return HSAKMT_STATUS_NO_MEMORY;
	address = reserve_addresses(allocation->size, alignment);
	if (!address) {
		softgpu_vram_release(&node->vram, allocation->file_offset);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	allocation->kind = SOFTGPU_MEMORY_VRAM;
	allocation->begin = (uint64_t)(uintptr_t)address;
	allocation->file = node->vram.file;
	allocation->host_offset =
		(intptr_t)(node->vram.window + allocation->file_offset) - (intptr_t)address;
	if (allocation->flags.ui32.HostAccess && !open_to_host(allocation)) {
		munmap(address, allocation->size);
		softgpu_vram_release(&node->vram, allocation->file_offset);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS allocate_scratch(struct softgpu_allocation *allocation)
{
	void *address = mmap(NULL, allocation->size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (address == MAP_FAILED)
		return HSAKMT_STATUS_NO_MEMORY;
	madvise(address, allocation->size, MADV_DONTDUMP);
	allocation->kind = SOFTGPU_MEMORY_SCRATCH;
	allocation->begin = (uint64_t)(uintptr_t)address;
	return HSAKMT_STATUS_SUCCESS;
}

/* NonPaged host memory is what the runtime wants to share with other processes. */
static HSAKMT_STATUS allocate_host(struct softgpu_allocation *allocation, void *wanted)
{
	int flags = allocation->flags.ui32.NonPaged ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *address;

	allocation->kind = SOFTGPU_MEMORY_HOST;
	if (allocation->flags.ui32.NonPaged) {
		allocation->file = memfd_create("softgpu-host", MFD_CLOEXEC);
		if (allocation->file < 0)
			return HSAKMT_STATUS_NO_MEMORY;
		allocation->owns_file = true;
		if (ftruncate(allocation->file, (off_t)allocation->size) != 0) {
			close(allocation->file);
			return HSAKMT_STATUS_NO_MEMORY;
		}
	}
	if (allocation->flags.ui32.FixedAddress)
		flags |= MAP_FIXED_NOREPLACE;
	else
		wanted = NULL;
	address =
		mmap(wanted, allocation->size, PROT_READ | PROT_WRITE, flags, allocation->file, 0);
	if (address == MAP_FAILED) {
		if (allocation->owns_file)
			close(allocation->file);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	allocation->begin = (uint64_t)(uintptr_t)address;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 PreferredNode, HSAuint64 SizeInBytes,
				HsaMemFlags MemFlags, void **MemoryAddress)
{
	struct softgpu_device *device = softgpu_device();
	struct softgpu_allocation *allocation;
	struct softgpu_node *node;
	HSAKMT_STATUS status;

	SOFTGPU_REQUIRE_OPEN();
	if (!MemoryAddress || SizeInBytes == 0 || SizeInBytes > UINT64_C(1) << 46)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	node = softgpu_device_gpu(device, PreferredNode);
	if (!node && PreferredNode != SOFTGPU_HOST_NODE)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (MemFlags.ui32.GDSMemory)
		return HSAKMT_STATUS_NOT_SUPPORTED;
	allocation = calloc(1, sizeof(*allocation));
	if (!allocation)
		return HSAKMT_STATUS_NO_MEMORY;
	allocation->size = (SizeInBytes + SOFTGPU_PAGE - 1) & ~(uint64_t)(SOFTGPU_PAGE - 1);
	allocation->node_id = PreferredNode;
	allocation->flags = MemFlags;
	allocation->file = -1;

	softgpu_allocations_lock();
	if (MemFlags.ui32.Scratch)
		status = allocate_scratch(allocation);
	else if (node && MemFlags.ui32.NonPaged)
		status = allocate_vram(node, allocation);
	else
		status = allocate_host(allocation, *MemoryAddress);
	if (status != HSAKMT_STATUS_SUCCESS) {
		free(allocation);
	} else if (!softgpu_allocation_insert(allocation)) {
		softgpu_allocation_discard(device, allocation);
		status = HSAKMT_STATUS_NO_MEMORY;
	} else {
		*MemoryAddress = (void *)(uintptr_t)allocation->begin;
	}
	softgpu_allocations_unlock();
	return status;
}

HSAKMT_STATUS hsaKmtFreeMemory(void *MemoryAddress, HSAuint64 SizeInBytes)
{
	struct softgpu_allocation *allocation;
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;

	(void)SizeInBytes;
	SOFTGPU_REQUIRE_OPEN();
	softgpu_allocations_lock();
	allocation = softgpu_allocation_find((uint64_t)(uintptr_t)MemoryAddress);
	if (allocation && allocation->begin == (uint64_t)(uintptr_t)MemoryAddress &&
	    allocation->kind != SOFTGPU_MEMORY_IMPORTED) {
		softgpu_allocation_remove(softgpu_device(), allocation);
		status = HSAKMT_STATUS_SUCCESS;
	}
	softgpu_allocations_unlock();
	return status;
}

HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 Node, HSAuint64 *AvailableBytes)
{
	struct softgpu_node *node;

	SOFTGPU_REQUIRE_OPEN();
	node = softgpu_device_gpu(softgpu_device(), Node);
	if (!AvailableBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!node)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	softgpu_allocations_lock();
	*AvailableBytes = node->vram.size - node->vram.used;
	softgpu_allocations_unlock();
	return HSAKMT_STATUS_SUCCESS;
}

/* What a map or unmap call means by an address: a registration first, then an allocation. */
static struct softgpu_allocation *find_mappable(uint64_t address)
{
	struct softgpu_allocation *user = softgpu_registration_at(address);

	return user ? user : softgpu_allocation_find(address);
}

static HSAKMT_STATUS map_scratch(struct softgpu_device *device,
				 const struct softgpu_allocation *allocation, uint64_t begin,
				 uint64_t size)
{
	const struct softgpu_translation range = {
		.begin = begin,
		.end = begin + size,
		.readable = true,
		.writable = true,
	};

	if (size > allocation->begin + allocation->size - begin)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return softgpu_ranges_add(&softgpu_device_gpu(device, allocation->node_id)->ranges, &range)
		       ? HSAKMT_STATUS_SUCCESS
		       : HSAKMT_STATUS_NO_MEMORY;
}

static HSAKMT_STATUS unmap_scratch(struct softgpu_device *device,
				   const struct softgpu_allocation *allocation, uint64_t begin)
{
	struct softgpu_ranges *ranges = &softgpu_device_gpu(device, allocation->node_id)->ranges;
	struct softgpu_translation range;

	if (!softgpu_ranges_translate(ranges, begin, &range) || range.begin != begin)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	softgpu_ranges_remove(ranges, range.begin, range.end);
	madvise((void *)(uintptr_t)begin, range.end - range.begin, MADV_DONTNEED);
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS map(void *pointer, uint64_t size, HSAuint64 *alternate, const HSAuint32 *nodes,
			 uint64_t count)
{
	struct softgpu_device *device = softgpu_device();
	const uint64_t address = (uint64_t)(uintptr_t)pointer;
	struct softgpu_allocation *allocation;
	HSAKMT_STATUS status;

	softgpu_allocations_lock();
	allocation = find_mappable(address);
	if (!allocation)
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	else if (allocation->kind == SOFTGPU_MEMORY_SCRATCH)
		status = map_scratch(device, allocation, address, size);
	else
		status = softgpu_allocation_map(device, allocation, nodes, count);
	softgpu_allocations_unlock();
	/* Host and GPU use the same addresses: there is never another one. */
	if (status == HSAKMT_STATUS_SUCCESS && alternate)
		*alternate = 0;
	return status;
}

HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
				   HSAuint64 *AlternateVAGPU)
{
	SOFTGPU_REQUIRE_OPEN();
	return map(MemoryAddress, MemorySizeInBytes, AlternateVAGPU, NULL, 0);
}

HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
					HSAuint64 *AlternateVAGPU, HsaMemMapFlags MemMapFlags,
					HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	(void)MemMapFlags;
	SOFTGPU_REQUIRE_OPEN();
	if (NumberOfNodes != 0 && !NodeArray)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	return map(MemoryAddress, MemorySizeInBytes, AlternateVAGPU,
		   NumberOfNodes == 0 ? NULL : NodeArray, NumberOfNodes);
}

HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *MemoryAddress)
{
	struct softgpu_device *device = softgpu_device();
	const uint64_t address = (uint64_t)(uintptr_t)MemoryAddress;
	struct softgpu_allocation *allocation;
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;

	SOFTGPU_REQUIRE_OPEN();
	softgpu_allocations_lock();
	allocation = find_mappable(address);
	if (!allocation)
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	else if (allocation->kind == SOFTGPU_MEMORY_SCRATCH)
		status = unmap_scratch(device, allocation, address);
	else if (allocation->registrations <= 1)
		softgpu_allocation_unmap(device, allocation);
	softgpu_allocations_unlock();
	return status;
}

static HSAKMT_STATUS add_registration(uint64_t address, uint64_t size, HsaMemFlags flags)
{
	struct softgpu_allocation *user = softgpu_registration_at(address);
	const struct softgpu_allocation *allocation = softgpu_allocation_find(address);

	if (user && user->size != size)
		return HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED;
	if (user) {
		user->registrations++;
		return HSAKMT_STATUS_SUCCESS;
	}
	if (allocation && allocation->host_offset != 0) /* the host has no access to it */
		return HSAKMT_STATUS_INVALID_PARAMETER;
	/* The driver pins it, which fails where the program itself has no such access. */
	if (!softgpu_host_memory_allows(address, size, !flags.ui32.ReadOnly))
		return HSAKMT_STATUS_INVALID_PARAMETER;
	user = calloc(1, sizeof(*user));
	if (!user)
		return HSAKMT_STATUS_NO_MEMORY;
	user->kind = SOFTGPU_MEMORY_USER;
	user->begin = address;
	user->size = size;
	user->node_id = SOFTGPU_HOST_NODE;
	user->flags = flags;
	user->file = -1;
	user->registrations = 1;
	softgpu_allocation_insert(user);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
					    HsaMemFlags MemFlags)
{
	HSAKMT_STATUS status;

	SOFTGPU_REQUIRE_OPEN();
	if (!MemoryAddress || MemorySizeInBytes == 0)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	softgpu_allocations_lock();
	status = add_registration((uint64_t)(uintptr_t)MemoryAddress, MemorySizeInBytes, MemFlags);
	softgpu_allocations_unlock();
	return status;
}

HSAKMT_STATUS hsaKmtRegisterMemory(void *MemoryAddress, HSAuint64 MemorySizeInBytes)
{
	const HsaMemFlags flags = {.Value = 0};

	return hsaKmtRegisterMemoryWithFlags(MemoryAddress, MemorySizeInBytes, flags);
}

HSAKMT_STATUS hsaKmtRegisterMemoryToNodes(void *MemoryAddress, HSAuint64 MemorySizeInBytes,
					  HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	(void)NumberOfNodes;
	(void)NodeArray;
	return hsaKmtRegisterMemory(MemoryAddress, MemorySizeInBytes);
}

/* Ends a registration by the user or an import from another process. */
HSAKMT_STATUS hsaKmtDeregisterMemory(void *MemoryAddress)
{
	const uint64_t address = (uint64_t)(uintptr_t)MemoryAddress;
	struct softgpu_allocation *allocation;
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;

	SOFTGPU_REQUIRE_OPEN();
	softgpu_allocations_lock();
	allocation = find_mappable(address);
	if (!allocation || allocation->begin != address)
		status = HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
	else if (allocation->kind == SOFTGPU_MEMORY_IMPORTED ||
		 (allocation->kind == SOFTGPU_MEMORY_USER && --allocation->registrations == 0))
		softgpu_allocation_remove(softgpu_device(), allocation);
	softgpu_allocations_unlock();
	return status;
}

HSAKMT_STATUS hsaKmtSetMemoryPolicy(HSAuint32 Node, HSAuint32 DefaultPolicy,
				    HSAuint32 AlternatePolicy, void *MemoryAddressAlternate,
				    HSAuint64 MemorySizeInBytes)
{
	(void)DefaultPolicy;
	(void)AlternatePolicy;
	(void)MemoryAddressAlternate;
	(void)MemorySizeInBytes;
	SOFTGPU_REQUIRE_OPEN();
	/* The aperture that it configured is gone since gfx9; the driver accepts it still. */
	return softgpu_device_gpu(softgpu_device(), Node) ? HSAKMT_STATUS_SUCCESS
							  : HSAKMT_STATUS_INVALID_NODE_UNIT;
}
