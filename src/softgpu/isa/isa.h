/* SPDX-License-Identifier: MIT */
/*
 * The instruction interpreter, as its users (the packet processors and tests) see it.
 *
 * A kernel is one dispatch: the parsed kernel descriptor plus all that its workgroups share.
 * Workgroups are independent; each may run on any thread, one thread at a time, in time slices,
 * so that a few worker threads can run many workgroups that wait for each other. A kernel must
 * outlive its workgroups; it is constant once created and may be shared by threads.
 */
#ifndef SOFTGPU_ISA_H
#define SOFTGPU_ISA_H

#include "../memory.h"
#include "../target.h"

#include <stdbool.h>
#include <stdint.h>

enum softgpu_fault_kind {
	SOFTGPU_FAULT_NONE,
	SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, /* unknown or not emulated; the message says which */
	SOFTGPU_FAULT_MEMORY,		   /* data access; `address` and `write` are valid */
	SOFTGPU_FAULT_TRAP,		   /* s_trap */
	SOFTGPU_FAULT_KERNEL_OBJECT,	   /* descriptor or code cannot be read or makes no sense */
	SOFTGPU_FAULT_GROUP_MEMORY,	   /* more LDS than the target has */
	SOFTGPU_FAULT_WORKGROUP_SIZE,	   /* zero or above the target's limit */
	SOFTGPU_FAULT_SCRATCH, /* the kernel needs scratch and the queue has none or too little */
	SOFTGPU_FAULT_OUT_OF_MEMORY, /* of the host */
};

struct softgpu_fault {
	enum softgpu_fault_kind kind;
	uint64_t pc;
	uint64_t address;
	bool write;
	char message[256]; /* names kernel object, pc and encoding */
};

struct softgpu_scratch {
	uint32_t descriptor[4]; /* buffer resource handed to kernels (amd_queue_t) */
	uint64_t base;		/* of the queue's backing memory; flat scratch base */
	uint64_t byte_size;	/* of the queue's backing memory; 0: none */
};

struct softgpu_dispatch {
	uint64_t kernel_object; /* address of the kernel descriptor */
	uint64_t kernarg_address;
	uint64_t packet_address; /* of the AQL packet, for the dispatch pointer */
	uint64_t queue_address;	 /* of amd_queue_t, for the queue pointer */
	uint64_t dispatch_id;
	uint32_t grid_size[3]; /* work-items */
	uint32_t workgroup_size[3];
	uint32_t private_segment_size; /* bytes a work-item, from the packet */
	uint32_t group_segment_size;   /* bytes a workgroup, from the packet: static and dynamic */
	struct softgpu_scratch scratch;
	uint64_t private_aperture_base; /* low 32 bits zero, high 32 bits not */
	uint64_t shared_aperture_base;
	/*
	 * Called for s_sendmsg(MSG_INTERRUPT), which device-side signal operations use after they
	 * stored the event's mailbox; NULL: dropped. Runs on the worker's thread.
	 */
	void (*interrupt)(void *context, uint32_t event_id);
	void *interrupt_context;
};

/* Where a workgroup runs; s_getreg HW_ID shows it to the kernel. */
struct softgpu_placement {
	uint32_t shader_engine; /* 0..7 */
	uint32_t compute_unit;	/* 0..15 within its shader engine and array */
	uint32_t shader_array;	/* 0..1 */
	uint32_t queue;		/* 0..7 */
	uint32_t pipe;		/* 0..3 */
	uint32_t l2;		/* the cache that it uses, if there is a cache model */
	/*
	 * Index of the scratch wave slot of the workgroup's first wave; it needs
	 * softgpu_kernel_wave_count() slots, used by no other running workgroup of the queue.
	 * softgpu_kernel_scratch_wave_slots() says how many slots the backing memory holds.
	 */
	uint32_t scratch_wave_slot;
};

struct softgpu_kernel;
struct softgpu_workgroup;

/* Decoded instructions by address. Each worker thread owns one and passes it to every run. */
struct softgpu_instruction_cache;

enum softgpu_run_result {
	SOFTGPU_RUN_DONE,    /* every wave has ended */
	SOFTGPU_RUN_YIELDED, /* budget spent or the waves sleep: run others, then run it again */
	SOFTGPU_RUN_FAULTED, /* the fault says why; only destroy is allowed now */
};

struct softgpu_instruction_cache *softgpu_instruction_cache_create(void);
void softgpu_instruction_cache_destroy(struct softgpu_instruction_cache *cache);

/*
 * Parses the kernel descriptor of the dispatch. The dispatch is copied, `target` and `memory` must
 * outlive the kernel. On failure returns false and fills the fault.
 */
bool softgpu_kernel_create(const struct softgpu_target *target, const struct softgpu_memory *memory,
			   const struct softgpu_dispatch *dispatch, struct softgpu_kernel **out,
			   struct softgpu_fault *fault);
void softgpu_kernel_destroy(struct softgpu_kernel *kernel);

/* Workgroups of the grid in each dimension; partial ones at the end count. */
void softgpu_kernel_workgroup_counts(const struct softgpu_kernel *kernel, uint32_t counts[3]);
/* Waves of a (full) workgroup. */
uint32_t softgpu_kernel_wave_count(const struct softgpu_kernel *kernel);
/* Scratch bytes of one wave; 0: the kernel uses no scratch. */
uint32_t softgpu_kernel_scratch_wave_size(const struct softgpu_kernel *kernel);
/* Waves whose scratch fits into the queue's backing memory; UINT32_MAX if none is needed. */
uint32_t softgpu_kernel_scratch_wave_slots(const struct softgpu_kernel *kernel);

bool softgpu_workgroup_create(const struct softgpu_kernel *kernel, const uint32_t id[3],
			      const struct softgpu_placement *placement,
			      struct softgpu_workgroup **out, struct softgpu_fault *fault);
/* Runs at most about `instruction_budget` wave instructions. */
enum softgpu_run_result softgpu_workgroup_run(struct softgpu_workgroup *workgroup,
					      struct softgpu_instruction_cache *cache,
					      uint64_t instruction_budget,
					      struct softgpu_fault *fault);
/* Fills the fault of a run that was left in an access to the host address `address`. */
void softgpu_workgroup_host_fault(const struct softgpu_workgroup *workgroup, uint64_t address,
				  struct softgpu_fault *fault);
/* Wave instructions run so far. */
uint64_t softgpu_workgroup_instructions(const struct softgpu_workgroup *workgroup);
/* May be called at any time between runs: a workgroup that never ends is aborted so. */
void softgpu_workgroup_destroy(struct softgpu_workgroup *workgroup);

#endif
