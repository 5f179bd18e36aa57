/* SPDX-License-Identifier: MIT */
/*
 * The worker threads that run workgroups. Workgroups of all active grids take turns in time
 * slices, so that kernels which wait for each other, or workgroups of one kernel that do, make
 * progress whatever the number of threads, and a kernel that never ends can be aborted.
 */
#ifndef SOFTGPU_QUEUE_WORKERS_H
#define SOFTGPU_QUEUE_WORKERS_H

#include "../isa/isa.h"
#include "gpu.h"
#include "slots.h"

#include <stdbool.h>
#include <stdint.h>

#define SOFTGPU_MAX_COMPUTE_UNITS 256

/* The compute units on which a queue's workgroups may run, in the order of their use. */
struct softgpu_compute_units {
	uint32_t count;
	uint16_t index[SOFTGPU_MAX_COMPUTE_UNITS];
};

struct softgpu_resident; /* a workgroup that has been started */

/* One dispatch while its workgroups run. */
struct softgpu_grid {
	/* Set by the submitter. */
	const struct softgpu_gpu *gpu;
	struct softgpu_kernel *kernel;
	struct softgpu_slots *scratch_slots; /* of the queue; NULL: no scratch is used */
	struct softgpu_compute_units compute_units;
	uint32_t queue_number;
	uint32_t first_l2; /* that of the first workgroup, in the cache model: differs from grid to
			      grid, so that small grids do not share one by luck */
	/* Called once, by the thread that ends the grid; `aborted` also after a fault. */
	void (*ended)(struct softgpu_grid *grid, bool aborted);
	void *owner;
	/* The workers'. */
	uint32_t counts[3];
	uint64_t total;
	uint64_t started;
	uint64_t resident;
	uint64_t resident_limit;
	bool abort;
	bool over;			       /* no longer among the active grids */
	struct softgpu_fault fault;	       /* of the first workgroup that faulted */
	struct softgpu_resident *first, *last; /* between time slices */
	struct softgpu_grid *previous, *next;  /* among the active grids */
};

/* NULL: no memory or no threads. Threads start when they are first needed. */
struct softgpu_workers *softgpu_workers_create(uint32_t threads);
/* All grids must have ended. */
void softgpu_workers_destroy(struct softgpu_workers *workers);

/* Makes a grid active; it must stay until `ended` is called for it. */
void softgpu_workers_submit(struct softgpu_workers *workers, struct softgpu_grid *grid);
/*
 * Ends a grid before its time: `ended` follows once no thread runs a workgroup of it. Nothing
 * happens if it is over already.
 */
void softgpu_workers_abort(struct softgpu_workers *workers, struct softgpu_grid *grid);
/* Runs one time slice of some active grid on the calling thread; false: there is nothing to run. */
bool softgpu_workers_run_slice(struct softgpu_workers *workers,
			       struct softgpu_instruction_cache *cache);

#endif
