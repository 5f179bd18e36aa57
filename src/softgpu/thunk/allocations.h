/* SPDX-License-Identifier: MIT */
/* Every piece of memory that the thunk knows: allocated, imported or registered by the user. */
#ifndef SOFTGPU_THUNK_ALLOCATIONS_H
#define SOFTGPU_THUNK_ALLOCATIONS_H

#include "device.h"

enum softgpu_memory_kind {
	SOFTGPU_MEMORY_HOST, /* allocated on the host node */
	SOFTGPU_MEMORY_VRAM,
	SOFTGPU_MEMORY_SCRATCH,	 /* reserved; parts of it are mapped to the GPU as needed */
	SOFTGPU_MEMORY_IMPORTED, /* shared by another process */
	SOFTGPU_MEMORY_USER,	 /* of the program's own, registered */
};

struct softgpu_allocation {
	enum softgpu_memory_kind kind;
	uint64_t begin;
	uint64_t size;
	uint32_t node_id; /* where the memory is */
	HsaMemFlags flags;
	intptr_t host_offset; /* from the GPU address to where this process may touch it */
	int file;	      /* what can be shared; -1: nothing */
	bool owns_file;
	uint64_t file_offset;
	bool shared;		/* other processes may have it mapped */
	uint32_t registrations; /* USER: how often */
	uint32_t mapped_count;
	HSAuint32 mapped[SOFTGPU_MAX_GPUS]; /* node numbers */
	uint32_t registered_count;	    /* nodes for which an import was registered; 0: all */
	HSAuint32 registered[SOFTGPU_MAX_GPUS];
	void *user_data;
	struct softgpu_allocation *next; /* USER: the list of registrations */
};

/* All of the following are called with this lock held. */
void softgpu_allocations_lock(void);
void softgpu_allocations_unlock(void);

/* The allocation that holds `address`, NULL if none; registrations are looked up apart. */
struct softgpu_allocation *softgpu_allocation_find(uint64_t address);
struct softgpu_allocation *softgpu_registration_find(uint64_t address);
/* The registration that begins at `address`. */
struct softgpu_allocation *softgpu_registration_at(uint64_t address);
/* Takes over a filled allocation; false: no memory. */
bool softgpu_allocation_insert(struct softgpu_allocation *allocation);
/* Gives the memory of an allocation that was not inserted back, and frees it. */
void softgpu_allocation_discard(struct softgpu_device *device,
				struct softgpu_allocation *allocation);
/* Unmaps it from all GPUs first, and takes it out. */
void softgpu_allocation_remove(struct softgpu_device *device,
			       struct softgpu_allocation *allocation);

/*
 * Maps it to exactly these GPUs, or to all that may have it if `nodes` is NULL. Host nodes in the
 * list are passed over.
 */
HSAKMT_STATUS softgpu_allocation_map(struct softgpu_device *device,
				     struct softgpu_allocation *allocation, const HSAuint32 *nodes,
				     uint64_t count);
void softgpu_allocation_unmap(struct softgpu_device *device, struct softgpu_allocation *allocation);

/* Host memory for the thunk's own use, mapped to all GPUs; NULL: no memory. */
void *softgpu_allocate_internal(struct softgpu_device *device, uint64_t size);

#endif
