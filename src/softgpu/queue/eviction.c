/* SPDX-License-Identifier: MIT */
/* Stopping all queues of a GPU that has faulted. */
#include "eviction.h"

#include "engine.h"

void softgpu_eviction_init(struct softgpu_eviction *eviction)
{
	atomic_init(&eviction->started, false);
	pthread_mutex_init(&eviction->lock, NULL);
	pthread_cond_init(&eviction->stopped, NULL);
	eviction->running = NULL;
}

void softgpu_eviction_destroy(struct softgpu_eviction *eviction)
{
	pthread_cond_destroy(&eviction->stopped);
	pthread_mutex_destroy(&eviction->lock);
}

void softgpu_eviction_enter(struct softgpu_queue *queue)
{
	struct softgpu_eviction *eviction = queue->gpu->eviction;

	pthread_mutex_lock(&eviction->lock);
	queue->next_running = eviction->running;
	eviction->running = queue;
	pthread_mutex_unlock(&eviction->lock);
}

void softgpu_eviction_leave(struct softgpu_queue *queue)
{
	struct softgpu_eviction *eviction = queue->gpu->eviction;
	struct softgpu_queue **link;

	pthread_mutex_lock(&eviction->lock);
	for (link = &eviction->running; *link && *link != queue; link = &(*link)->next_running)
		;
	if (*link)
		*link = queue->next_running;
	if (!eviction->running)
		pthread_cond_broadcast(&eviction->stopped);
	pthread_mutex_unlock(&eviction->lock);
}

/* False: it has started already. */
static bool start(struct softgpu_eviction *eviction)
{
	bool started;

	pthread_mutex_lock(&eviction->lock);
	/* Release: pairs with softgpu_eviction_has_started(). */
	started = !atomic_exchange_explicit(&eviction->started, true, memory_order_acq_rel);
	for (struct softgpu_queue *queue = eviction->running; queue; queue = queue->next_running)
		softgpu_eventcount_notify(&queue->wake);
	pthread_mutex_unlock(&eviction->lock);
	return started;
}

void softgpu_eviction_report(struct softgpu_queue *queue, uint64_t address, bool write)
{
	const struct softgpu_gpu *gpu = queue->gpu;
	struct softgpu_eviction *eviction = gpu->eviction;

	if (!start(eviction))
		return;
	softgpu_eventcount_notify(gpu->signal_activity);
	softgpu_eviction_leave(queue);
	pthread_mutex_lock(&eviction->lock);
	while (eviction->running)
		pthread_cond_wait(&eviction->stopped, &eviction->lock);
	pthread_mutex_unlock(&eviction->lock);
	gpu->services->memory_fault(gpu->services_context, gpu->node, address, write);
}
