/* SPDX-License-Identifier: MIT */
/* Questions about pointers, and data that the runtime attaches to them. */
#include "allocations.h"

#include <string.h>

static HSA_POINTER_TYPE pointer_type(const struct softgpu_allocation *allocation)
{
	switch (allocation->kind) {
	case SOFTGPU_MEMORY_USER:
		return HSA_POINTER_REGISTERED_USER;
	case SOFTGPU_MEMORY_IMPORTED:
		return HSA_POINTER_REGISTERED_SHARED;
	default:
		return HSA_POINTER_ALLOCATED;
	}
}

static struct softgpu_allocation *find(const void *pointer)
{
	const uint64_t address = (uint64_t)(uintptr_t)pointer;
	struct softgpu_allocation *allocation = softgpu_allocation_find(address);

	if (!allocation)
		allocation = softgpu_registration_find(address);
	return allocation && allocation->kind != SOFTGPU_MEMORY_SCRATCH ? allocation : NULL;
}

HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *Pointer, HsaPointerInfo *PointerInfo)
{
	const struct softgpu_allocation *allocation;

	if (!PointerInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	memset(PointerInfo, 0, sizeof(*PointerInfo));
	PointerInfo->Type = HSA_POINTER_UNKNOWN;
	SOFTGPU_REQUIRE_OPEN();
	softgpu_allocations_lock();
	allocation = find(Pointer);
	if (allocation) {
		PointerInfo->Type = pointer_type(allocation);
		PointerInfo->Node = allocation->node_id;
		PointerInfo->MemFlags = allocation->flags;
		if (allocation->host_offset == 0) /* else the host has no access */
			PointerInfo->CPUAddress = (void *)(uintptr_t)allocation->begin;
		PointerInfo->GPUAddress = allocation->begin;
		PointerInfo->SizeInBytes = allocation->size;
		PointerInfo->NRegisteredNodes = allocation->registered_count;
		PointerInfo->NMappedNodes = allocation->mapped_count;
		/* These arrays live as long as the allocation. */
		PointerInfo->RegisteredNodes = allocation->registered;
		PointerInfo->MappedNodes = allocation->mapped;
		PointerInfo->UserData = allocation->user_data;
	}
	softgpu_allocations_unlock();
	return allocation ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *Pointer, void *UserData)
{
	struct softgpu_allocation *allocation;

	SOFTGPU_REQUIRE_OPEN();
	softgpu_allocations_lock();
	allocation = find(Pointer);
	if (allocation)
		allocation->user_data = UserData;
	softgpu_allocations_unlock();
	return allocation ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}
