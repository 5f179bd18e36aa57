/* SPDX-License-Identifier: MIT */
/* The life of a hardware queue and its thread: step, help to run workgroups, spin, sleep. */
#include "engine.h"

#include "clock.h"
#include "thread.h"

#include <sched.h>
#include <stdlib.h>

/* Naps of a queue that waits for memory which nobody announces: short at first, then longer. */
#define FIRST_NAP UINT64_C(10000)
#define LAST_NAP  UINT64_C(1000000)

/* How long the thread has been waiting for the same thing. */
struct patience {
	enum softgpu_step reason;
	uint64_t since;
	uint64_t nap;
};

/* What the engine's step does, unless a fault of the GPU has stopped all queues. */
static enum softgpu_step step(struct softgpu_queue *queue)
{
	if (!softgpu_eviction_has_started(queue->gpu->eviction))
		return queue->operations->step(queue, queue->state);
	if (!queue->evicted) {
		queue->operations->abort(queue, queue->state);
		softgpu_eviction_leave(queue);
		queue->evicted = true;
	}
	return SOFTGPU_STEP_HALTED;
}

static bool must_look(const struct softgpu_queue *queue)
{
	return atomic_load_explicit(&queue->stop, memory_order_acquire) ||
	       softgpu_eviction_has_started(queue->gpu->eviction) ||
	       softgpu_doorbell_is_rung(&queue->doorbell);
}

static uint64_t next_nap(struct patience *patience)
{
	const uint64_t nap = patience->nap;

	patience->nap = nap * 2 > LAST_NAP ? LAST_NAP : nap * 2;
	return nap;
}

/* Grids of this queue run. Their end notifies `wake`; until then this thread helps. */
static void wait_for_grid(struct softgpu_queue *queue, const struct patience *patience)
{
	uint32_t sequence;

	if (softgpu_workers_run_slice(queue->gpu->workers, queue->cache))
		return;
	if (softgpu_clock_now() - patience->since < queue->gpu->spin_nanoseconds) {
		sched_yield();
		return;
	}
	sequence = softgpu_eventcount_prepare(&queue->wake);
	if (step(queue) != SOFTGPU_STEP_BUSY ||
	    atomic_load_explicit(&queue->stop, memory_order_acquire))
		softgpu_eventcount_cancel(&queue->wake);
	else
		softgpu_eventcount_wait(&queue->wake, sequence, LAST_NAP);
}

static void wait_for_memory(struct softgpu_queue *queue, struct patience *patience)
{
	struct softgpu_eventcount *activity = queue->gpu->signal_activity;
	uint32_t sequence;

	if (queue->operations->has_work(queue->state) &&
	    softgpu_workers_run_slice(queue->gpu->workers, queue->cache))
		return;
	if (softgpu_clock_now() - patience->since < queue->gpu->spin_nanoseconds) {
		sched_yield();
		return;
	}
	sequence = softgpu_eventcount_prepare(activity);
	if (step(queue) != SOFTGPU_STEP_POLL ||
	    atomic_load_explicit(&queue->stop, memory_order_acquire))
		softgpu_eventcount_cancel(activity);
	else
		softgpu_eventcount_wait(activity, sequence, next_nap(patience));
}

static void wait_for_doorbell(struct softgpu_queue *queue, struct patience *patience)
{
	uint32_t sequence;
	bool armed;

	if (softgpu_clock_now() - patience->since < queue->gpu->spin_nanoseconds) {
		sched_yield();
		return;
	}
	sequence = softgpu_eventcount_prepare(&queue->wake);
	armed = softgpu_doorbell_arm(&queue->doorbell);
	if (must_look(queue))
		softgpu_eventcount_cancel(&queue->wake);
	else
		softgpu_eventcount_wait(&queue->wake, sequence,
					armed ? SOFTGPU_WAIT_FOREVER : next_nap(patience));
	softgpu_doorbell_disarm(&queue->doorbell);
	/* The store that rang may still be on its way: spin again before the next sleep. */
	if (armed)
		patience->since = softgpu_clock_now();
}

static void wait_for_change(struct softgpu_queue *queue)
{
	const uint32_t sequence = softgpu_eventcount_prepare(&queue->wake);

	/* It may have been stopped or made active again in the meantime. */
	if (step(queue) != SOFTGPU_STEP_HALTED ||
	    atomic_load_explicit(&queue->stop, memory_order_acquire))
		softgpu_eventcount_cancel(&queue->wake);
	else
		softgpu_eventcount_wait(&queue->wake, sequence, SOFTGPU_WAIT_FOREVER);
}

static void *queue_thread(void *argument)
{
	struct softgpu_queue *queue = argument;
	struct patience patience = {.reason = SOFTGPU_STEP_PROGRESS};

	while (!atomic_load_explicit(&queue->stop, memory_order_acquire)) {
		const enum softgpu_step result = step(queue);

		if (result != patience.reason) {
			patience = (struct patience){
				.reason = result,
				.since = softgpu_clock_now(),
				.nap = FIRST_NAP,
			};
		}
		switch (result) {
		case SOFTGPU_STEP_PROGRESS:
			break;
		case SOFTGPU_STEP_BUSY:
			wait_for_grid(queue, &patience);
			break;
		case SOFTGPU_STEP_POLL:
			wait_for_memory(queue, &patience);
			break;
		case SOFTGPU_STEP_IDLE:
			wait_for_doorbell(queue, &patience);
			break;
		case SOFTGPU_STEP_HALTED:
			wait_for_change(queue);
			break;
		}
	}
	queue->operations->abort(queue, queue->state);
	softgpu_eviction_leave(queue);
	return NULL;
}

bool softgpu_queue_set_compute_unit_mask(struct softgpu_queue *queue, const uint32_t *mask,
					 uint32_t bits)
{
	struct softgpu_compute_units units = {.count = 0};

	for (uint32_t unit = 0; unit < queue->gpu->compute_units; unit++) {
		if (!mask || (unit < bits && mask[unit / 32] >> unit % 32 & 1))
			units.index[units.count++] = (uint16_t)unit;
	}
	if (units.count == 0)
		return false;
	pthread_mutex_lock(&queue->lock);
	queue->compute_units = units;
	pthread_mutex_unlock(&queue->lock);
	return true;
}

struct softgpu_queue *softgpu_queue_create(const struct softgpu_gpu *gpu,
					   struct softgpu_doorbell_monitor *monitor,
					   const struct softgpu_queue_parameters *parameters)
{
	struct softgpu_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->parameters = *parameters;
	queue->gpu = gpu;
	queue->operations = parameters->type == SOFTGPU_QUEUE_AQL ? &softgpu_aql_operations
								  : &softgpu_sdma_operations;
	softgpu_access_init(&queue->access, &gpu->memory);
	softgpu_adversary_init(&queue->adversary, gpu->adversary,
			       parameters->type == SOFTGPU_QUEUE_AQL ? SOFTGPU_ENGINE_AQL
								     : SOFTGPU_ENGINE_SDMA,
			       parameters->number);
	atomic_init(&queue->active, true);
	pthread_mutex_init(&queue->lock, NULL);
	softgpu_queue_set_compute_unit_mask(queue, NULL, 0);
	queue->cache = softgpu_instruction_cache_create();
	queue->state = queue->operations->create(queue);
	if (queue->cache && queue->state &&
	    softgpu_doorbell_create(&queue->doorbell, monitor, parameters->number, &queue->wake)) {
		softgpu_eviction_enter(queue);
		if (softgpu_thread_start(&queue->thread,
					 parameters->type == SOFTGPU_QUEUE_AQL ? "softgpu-aql"
									       : "softgpu-sdma",
					 queue_thread, queue))
			return queue;
		softgpu_eviction_leave(queue);
		softgpu_doorbell_destroy(&queue->doorbell);
	}
	if (queue->state)
		queue->operations->destroy(queue->state);
	if (queue->cache)
		softgpu_instruction_cache_destroy(queue->cache);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
	return NULL;
}

void softgpu_queue_destroy(struct softgpu_queue *queue)
{
	/* Release: pairs with the thread's acquire loads. */
	atomic_store_explicit(&queue->stop, true, memory_order_release);
	softgpu_eventcount_notify(&queue->wake);
	softgpu_eventcount_notify(queue->gpu->signal_activity);
	pthread_join(queue->thread, NULL);
	softgpu_doorbell_destroy(&queue->doorbell);
	queue->operations->destroy(queue->state);
	softgpu_instruction_cache_destroy(queue->cache);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

uint64_t *softgpu_queue_doorbell(struct softgpu_queue *queue)
{
	return (uint64_t *)(void *)queue->doorbell.value;
}

void softgpu_queue_set_active(struct softgpu_queue *queue, bool active)
{
	/* Release: pairs with the step's acquire load. */
	atomic_store_explicit(&queue->active, active, memory_order_release);
	softgpu_eventcount_notify(&queue->wake);
	softgpu_eventcount_notify(queue->gpu->signal_activity);
}
