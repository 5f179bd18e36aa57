/* SPDX-License-Identifier: MIT */
/*
 * Memory shared between processes. A handle names the exporting process and its file descriptor;
 * the importer opens the same file through /proc.
 */
#include "allocations.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Words of a handle. */
enum {
	WORD_MAGIC,
	WORD_PROCESS,
	WORD_FILE,
	WORD_OFFSET, /* pages */
	WORD_INODE,  /* so that a descriptor number used again is not taken for the old one */
	WORD_NODE,
	WORD_RUNTIME, /* the runtime keeps the offset of a piece here */
	WORD_SIZE,    /* pages */
};

#define MAGIC	  UINT32_C(0x53475055)
#define HUGE_MASK ((UINT64_C(1) << 21) - 1)

HSAKMT_STATUS hsaKmtShareMemory(void *MemoryAddress, HSAuint64 SizeInBytes,
				HsaSharedMemoryHandle *SharedMemoryHandle)
{
	const uint64_t address = (uint64_t)(uintptr_t)MemoryAddress;
	struct softgpu_allocation *allocation;
	HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
	struct stat information;

	SOFTGPU_REQUIRE_OPEN();
	if (!SharedMemoryHandle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	softgpu_allocations_lock();
	allocation = softgpu_allocation_find(address);
	if (allocation && allocation->begin == address && allocation->size == SizeInBytes &&
	    allocation->file >= 0 && fstat(allocation->file, &information) == 0) {
		uint32_t *word = *SharedMemoryHandle;

		word[WORD_MAGIC] = MAGIC;
		word[WORD_PROCESS] = (uint32_t)getpid();
		word[WORD_FILE] = (uint32_t)allocation->file;
		word[WORD_OFFSET] = (uint32_t)(allocation->file_offset / SOFTGPU_PAGE);
		word[WORD_INODE] = (uint32_t)information.st_ino;
		word[WORD_NODE] = allocation->node_id;
		word[WORD_RUNTIME] = 0;
		word[WORD_SIZE] = (uint32_t)(allocation->size / SOFTGPU_PAGE);
		allocation->shared = true;
		status = HSAKMT_STATUS_SUCCESS;
	}
	softgpu_allocations_unlock();
	return status;
}

static int open_shared(const uint32_t *word)
{
	struct stat information;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", word[WORD_PROCESS], word[WORD_FILE]);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file >= 0 &&
	    (fstat(file, &information) != 0 || (uint32_t)information.st_ino != word[WORD_INODE])) {
		close(file);
		return -1;
	}
	return file;
}

static void *map_shared(const struct softgpu_allocation *allocation, void *at, int protection)
{
	void *address = mmap(at, allocation->size, protection,
			     MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), allocation->file,
			     (off_t)allocation->file_offset);

	return address == MAP_FAILED ? NULL : address;
}

/* Host memory appears at one address for host and GPU, video memory only with a large BAR. */
static bool map_import(struct softgpu_allocation *allocation)
{
	const bool host = allocation->node_id == SOFTGPU_HOST_NODE;
	void *window = map_shared(allocation, NULL, PROT_READ | PROT_WRITE);
	uint8_t *area;
	uint64_t begin;

	if (!window)
		return false;
	allocation->begin = (uint64_t)(uintptr_t)window;
	if (host)
		return true;
	area = mmap(NULL, allocation->size + HUGE_MASK + 1, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED) {
		munmap(window, allocation->size);
		return false;
	}
	begin = ((uint64_t)(uintptr_t)area + HUGE_MASK) & ~HUGE_MASK;
	if (begin != (uint64_t)(uintptr_t)area)
		munmap(area, begin - (uint64_t)(uintptr_t)area);
	munmap((void *)(uintptr_t)(begin + allocation->size),
	       (uint64_t)(uintptr_t)area + HUGE_MASK + 1 - begin);
	if (softgpu_device()->options.large_bar &&
	    !map_shared(allocation, (void *)(uintptr_t)begin, PROT_READ | PROT_WRITE)) {
		munmap((void *)(uintptr_t)begin, allocation->size);
		munmap(window, allocation->size);
		return false;
	}
	allocation->begin = begin;
	allocation->host_offset = (intptr_t)window - (intptr_t)begin;
	return true;
}

static struct softgpu_allocation *create_import(const struct softgpu_device *device,
						const uint32_t *word)
{
	struct softgpu_allocation *allocation = calloc(1, sizeof(*allocation));

	if (!allocation)
		return NULL;
	allocation->kind = SOFTGPU_MEMORY_IMPORTED;
	allocation->size = (uint64_t)word[WORD_SIZE] * SOFTGPU_PAGE;
	allocation->node_id =
		word[WORD_NODE] <= device->options.gpus ? word[WORD_NODE] : SOFTGPU_HOST_NODE + 1;
	allocation->flags.ui32.NonPaged = 1;
	allocation->flags.ui32.CoarseGrain = word[WORD_NODE] != SOFTGPU_HOST_NODE;
	allocation->file_offset = (uint64_t)word[WORD_OFFSET] * SOFTGPU_PAGE;
	allocation->file = open_shared(word);
	allocation->owns_file = true;
	if (allocation->file >= 0 && map_import(allocation))
		return allocation;
	if (allocation->file >= 0)
		close(allocation->file);
	free(allocation);
	return NULL;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *SharedMemoryHandle,
						void **MemoryAddress, HSAuint64 *SizeInBytes,
						HSAuint64 NumberOfNodes, HSAuint32 *NodeArray)
{
	struct softgpu_allocation *allocation;
	bool inserted;

	SOFTGPU_REQUIRE_OPEN();
	if (!SharedMemoryHandle || !MemoryAddress || !SizeInBytes ||
	    (*SharedMemoryHandle)[WORD_MAGIC] != MAGIC || (*SharedMemoryHandle)[WORD_SIZE] == 0)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	allocation = create_import(softgpu_device(), *SharedMemoryHandle);
	if (!allocation)
		return HSAKMT_STATUS_INVALID_HANDLE;
	for (uint64_t i = 0; i < NumberOfNodes; i++) {
		if (softgpu_device_gpu(softgpu_device(), NodeArray[i]) &&
		    allocation->registered_count < SOFTGPU_MAX_GPUS)
			allocation->registered[allocation->registered_count++] = NodeArray[i];
	}
	softgpu_allocations_lock();
	inserted = softgpu_allocation_insert(allocation);
	if (inserted) {
		*MemoryAddress = (void *)(uintptr_t)allocation->begin;
		*SizeInBytes = allocation->size;
	} else {
		softgpu_allocation_discard(softgpu_device(), allocation);
	}
	softgpu_allocations_unlock();
	return inserted ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

HSAKMT_STATUS hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *SharedMemoryHandle,
					 void **MemoryAddress, HSAuint64 *SizeInBytes)
{
	return hsaKmtRegisterSharedHandleToNodes(SharedMemoryHandle, MemoryAddress, SizeInBytes, 0,
						 NULL);
}
