/* SPDX-License-Identifier: MIT */
/*
 * Eviction: a memory fault stops all queues of its GPU, compute and SDMA, for good, and is reported
 * once they have stopped. So does the kernel driver, which evicts the queues that the process has
 * on the GPU and then sets the event; queues on other GPUs go on.
 */
#ifndef SOFTGPU_QUEUE_EVICTION_H
#define SOFTGPU_QUEUE_EVICTION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct softgpu_queue;

/* Of one GPU. */
struct softgpu_eviction {
	atomic_bool started;
	pthread_mutex_t lock;
	pthread_cond_t stopped;	       /* signalled when the last queue has left */
	struct softgpu_queue *running; /* the queues that have not stopped yet */
};

void softgpu_eviction_init(struct softgpu_eviction *eviction);
void softgpu_eviction_destroy(struct softgpu_eviction *eviction);

/* Adds a queue to those that must stop. */
void softgpu_eviction_enter(struct softgpu_queue *queue);
/* The queue has stopped: nothing of it runs any more. Nothing happens if it has left already. */
void softgpu_eviction_leave(struct softgpu_queue *queue);

static inline bool softgpu_eviction_has_started(const struct softgpu_eviction *eviction)
{
	/* Acquire: pairs with the release of the report. */
	return atomic_load_explicit(&eviction->started, memory_order_acquire);
}

/*
 * Reports that `queue` has accessed `address`, which its GPU cannot. Called on the queue's thread,
 * when nothing of the queue runs any more. Only the first fault of a GPU is reported.
 */
void softgpu_eviction_report(struct softgpu_queue *queue, uint64_t address, bool write);

#endif
