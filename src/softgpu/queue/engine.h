/* SPDX-License-Identifier: MIT */
/*
 * What the queue thread (queue.c) and the two packet processors (aql.c, sdma.c) share. The thread
 * calls the processor's step function again and again; the step says what to do until the next.
 */
#ifndef SOFTGPU_QUEUE_ENGINE_H
#define SOFTGPU_QUEUE_ENGINE_H

#include "access.h"
#include "adversary.h"
#include "eviction.h"
#include "queue.h"

#include <pthread.h>

enum softgpu_step {
	SOFTGPU_STEP_PROGRESS, /* something was done: go on */
	SOFTGPU_STEP_BUSY,     /* waits until a grid of this queue ends */
	SOFTGPU_STEP_POLL,     /* waits until memory changes that anybody may write */
	SOFTGPU_STEP_IDLE,     /* waits for the doorbell */
	SOFTGPU_STEP_HALTED,   /* after an error or a fault: waits to be destroyed */
};

struct softgpu_engine_operations {
	/* The processor's state; NULL: no memory. */
	void *(*create)(struct softgpu_queue *queue);
	void (*destroy)(void *state);
	enum softgpu_step (*step)(struct softgpu_queue *queue, void *state);
	/* Aborts what runs and returns when nothing of this queue does any more. */
	void (*abort)(struct softgpu_queue *queue, void *state);
	/* Whether grids of this queue run: then the thread helps while it polls. */
	bool (*has_work)(void *state);
};

extern const struct softgpu_engine_operations softgpu_aql_operations;
extern const struct softgpu_engine_operations softgpu_sdma_operations;

struct softgpu_queue {
	struct softgpu_queue_parameters parameters;
	const struct softgpu_gpu *gpu;
	const struct softgpu_engine_operations *operations;
	void *state;
	struct softgpu_doorbell doorbell;
	/* Notified when the thread should look again: doorbell, grid ended, stop, activity. */
	struct softgpu_eventcount wake;
	struct softgpu_access access;		  /* the thread's own */
	struct softgpu_adversary_state adversary; /* the thread's own */
	struct softgpu_instruction_cache *cache;  /* the thread's own */
	bool evicted;				  /* the thread's own */
	pthread_t thread;
	atomic_bool stop;
	atomic_bool active;
	pthread_mutex_t lock; /* of the compute units */
	struct softgpu_compute_units compute_units;
	struct softgpu_queue *next_running; /* guarded by the eviction's lock */
};

#endif
