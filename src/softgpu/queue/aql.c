/* SPDX-License-Identifier: MIT */
/* The AQL packet processor: order of packets, barriers, completion, errors. */
#include "aql.h"

#include "../message.h"
#include "clock.h"
#include "signal.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	int64_t code;		/* in the queue's inactive signal */
	unsigned int exception; /* bit number of the exception signal, counted from 1 */
	const char *name;
} errors[] = {
	[SOFTGPU_AQL_ERROR_DIMENSIONS] = {2, 16, "invalid dimensions"},
	[SOFTGPU_AQL_ERROR_GROUP_MEMORY] = {4, 17, "too much group memory"},
	[SOFTGPU_AQL_ERROR_KERNEL_OBJECT] = {8, 18, "invalid kernel object"},
	[SOFTGPU_AQL_ERROR_PACKET] = {32, 20, "unsupported packet"},
	[SOFTGPU_AQL_ERROR_WORKGROUP_SIZE] = {64, 21, "invalid workgroup size"},
	[SOFTGPU_AQL_ERROR_REGISTERS] = {128, 22, "too many registers"},
	[SOFTGPU_AQL_ERROR_VENDOR_PACKET] = {256, 23, "unsupported vendor packet"},
	[SOFTGPU_AQL_ERROR_ILLEGAL_INSTRUCTION] = {0x40000000, 4, "illegal instruction"},
	[SOFTGPU_AQL_ERROR_TRAP] = {INT64_C(0x80000000), 2, "trap"},
};

static union softgpu_aql_packet *ring_slot(const struct softgpu_aql *aql, uint64_t index)
{
	return &aql->ring[index & (aql->size - 1)];
}

struct softgpu_aql_record *softgpu_aql_begin(struct softgpu_aql *aql, hsa_signal_t completion)
{
	struct softgpu_aql_record *record = &aql->record[aql->next % SOFTGPU_AQL_WINDOW];

	record->aql = aql;
	record->completion_signal = completion;
	record->release =
		ring_slot(aql, aql->next)->dword[0] >> HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE & 3;
	record->start = softgpu_clock_now();
	record->uses_scratch = false;
	pthread_mutex_lock(&aql->lock);
	record->state = SOFTGPU_AQL_RUNNING;
	pthread_mutex_unlock(&aql->lock);
	aql->next++;
	return record;
}

/* Gives the slots of the oldest packets back to the host. Called with the lock held. */
static void retire(struct softgpu_aql *aql)
{
	uint64_t index = aql->retired;
	struct softgpu_aql_record *record;

	while ((record = &aql->record[index % SOFTGPU_AQL_WINDOW])->state == SOFTGPU_AQL_COMPLETE) {
		record->state = SOFTGPU_AQL_FREE;
		/* Before the read index, which lets producers write the slot again. */
		atomic_store_explicit(&ring_slot(aql, index)->header, HSA_PACKET_TYPE_INVALID,
				      memory_order_relaxed);
		index++;
	}
	aql->retired = index;
	/* Release: pairs with the acquire load of producers that look for free slots. */
	atomic_store_explicit(aql->queue->parameters.read_index, index, memory_order_release);
}

void softgpu_aql_note_fault(struct softgpu_aql *aql, const struct softgpu_fault *fault)
{
	pthread_mutex_lock(&aql->lock);
	if (aql->fault.kind == SOFTGPU_FAULT_NONE)
		aql->fault = *fault;
	pthread_mutex_unlock(&aql->lock);
}

void softgpu_aql_complete(struct softgpu_aql_record *record)
{
	struct softgpu_aql *aql = record->aql;
	const hsa_signal_t signal = record->completion_signal;
	const uint64_t start = record->start;
	uint64_t address;

	if (aql->gpu->memory.cache)
		softgpu_cache_release(aql->gpu->memory.cache, record->release);
	pthread_mutex_lock(&aql->lock);
	record->state = SOFTGPU_AQL_COMPLETE;
	retire(aql);
	pthread_mutex_unlock(&aql->lock);
	if (!softgpu_signal_complete(aql->gpu, signal, start, softgpu_clock_now(), &address)) {
		struct softgpu_fault fault = {
			.kind = SOFTGPU_FAULT_MEMORY,
			.address = address,
			.write = true,
		};

		snprintf(fault.message, sizeof(fault.message),
			 "completion signal at 0x%" PRIx64 " is not mapped to the GPU", address);
		softgpu_aql_note_fault(aql, &fault);
	}
}

void softgpu_aql_acquire(struct softgpu_aql *aql)
{
	const uint32_t header = ring_slot(aql, aql->next)->dword[0];

	/* Pairs with whatever released the data that the packet reads. */
	atomic_thread_fence(memory_order_seq_cst);
	if (aql->gpu->memory.cache)
		softgpu_cache_acquire(aql->gpu->memory.cache,
				      header >> HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE & 3);
}

static uint32_t grids_in_flight(struct softgpu_aql *aql)
{
	uint32_t in_flight;

	pthread_mutex_lock(&aql->lock);
	in_flight = aql->in_flight;
	pthread_mutex_unlock(&aql->lock);
	return in_flight;
}

static void report(struct softgpu_aql *aql, enum softgpu_aql_error error)
{
	const struct softgpu_queue_parameters *parameters = &aql->queue->parameters;
	const struct softgpu_gpu *gpu = aql->gpu;
	uint64_t address;

	if (!parameters->error_reason) {
		softgpu_signal_store(gpu, aql->amd_queue->queue_inactive_signal, errors[error].code,
				     &address);
		return;
	}
	/* Pairs with the acquire of the runtime's exception handler. */
	atomic_fetch_or_explicit(parameters->error_reason,
				 INT64_C(1) << (errors[error].exception - 1), memory_order_release);
	if (parameters->error_event_id != 0)
		gpu->services->set_event(gpu->services_context, parameters->error_event_id);
}

static void abort_grids(struct softgpu_aql *aql)
{
	struct softgpu_queue *queue = aql->queue;

	for (unsigned int i = 0; i < SOFTGPU_AQL_WINDOW; i++) {
		bool running;

		/* What the adversary holds back ends as all others do: through the workers. */
		if (aql->record[i].hold_until != 0) {
			aql->record[i].hold_until = 0;
			aql->held--;
			softgpu_workers_submit(queue->gpu->workers, &aql->record[i].grid);
		}

		pthread_mutex_lock(&aql->lock);
		running = aql->record[i].state == SOFTGPU_AQL_RUNNING;
		pthread_mutex_unlock(&aql->lock);
		if (running)
			softgpu_workers_abort(queue->gpu->workers, &aql->record[i].grid);
	}
	for (;;) {
		const uint32_t sequence = softgpu_eventcount_prepare(&queue->wake);

		if (grids_in_flight(aql) == 0) {
			softgpu_eventcount_cancel(&queue->wake);
			return;
		}
		softgpu_eventcount_wait(&queue->wake, sequence, SOFTGPU_WAIT_FOREVER);
	}
}

enum softgpu_step softgpu_aql_fail(struct softgpu_aql *aql, enum softgpu_aql_error error,
				   const char *message)
{
	softgpu_message("queue %" PRIu32 ": %s: %s", aql->queue->parameters.number,
			errors[error].name, message);
	aql->halted = true;
	abort_grids(aql);
	report(aql, error);
	return SOFTGPU_STEP_HALTED;
}

enum softgpu_step softgpu_aql_memory_fault(struct softgpu_aql *aql, uint64_t address, bool write,
					   const char *message)
{
	softgpu_message("queue %" PRIu32 ": memory fault: %s", aql->queue->parameters.number,
			message);
	aql->halted = true;
	abort_grids(aql);
	softgpu_eviction_report(aql->queue, address, write);
	return SOFTGPU_STEP_HALTED;
}

enum softgpu_step softgpu_aql_ask_runtime(struct softgpu_aql *aql, int64_t code)
{
	const hsa_signal_t signal = aql->amd_queue->queue_inactive_signal;
	uint64_t address;
	int64_t value;

	if (grids_in_flight(aql) != 0)
		return SOFTGPU_STEP_BUSY;
	if (!aql->scratch_requested) {
		aql->scratch_requested = true;
		if (!softgpu_signal_store(aql->gpu, signal, code, &address))
			return softgpu_aql_memory_fault(aql, address, true,
							"the queue's inactive signal");
	}
	if (!softgpu_signal_read(&aql->queue->access, signal, &value, &address))
		return softgpu_aql_memory_fault(aql, address, false, "the queue's inactive signal");
	if (value != 0)
		return SOFTGPU_STEP_POLL;
	aql->scratch_requested = false;
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step start_barrier(struct softgpu_aql *aql,
				       const union softgpu_aql_packet *packet, bool any)
{
	const hsa_signal_t *dependencies = packet->barrier.dep_signal;
	unsigned int waiting = 0, met = 0;

	for (unsigned int i = 0; i < 5; i++) {
		uint64_t address;
		int64_t value;

		if (dependencies[i].handle == 0)
			continue;
		if (!softgpu_signal_read(&aql->queue->access, dependencies[i], &value, &address))
			return softgpu_aql_memory_fault(aql, address, false,
							"a dependency of a barrier packet");
		if (value == 0)
			met++;
		else
			waiting++;
	}
	if (any ? waiting != 0 && met == 0 : waiting != 0)
		return SOFTGPU_STEP_POLL;
	softgpu_aql_acquire(aql);
	softgpu_aql_complete(softgpu_aql_begin(aql, packet->barrier.completion_signal));
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step start_packet(struct softgpu_aql *aql)
{
	const union softgpu_aql_packet *packet = ring_slot(aql, aql->next);
	/* Acquire: pairs with the producer's release store of the header, the last part. */
	const uint16_t header = atomic_load_explicit(&packet->header, memory_order_acquire);
	const unsigned int type = header >> HSA_PACKET_HEADER_TYPE & 0xff;
	char message[96];

	if (type == HSA_PACKET_TYPE_INVALID)
		return SOFTGPU_STEP_POLL; /* announced by another producer, not yet written */
	if (header >> HSA_PACKET_HEADER_BARRIER & 1 && grids_in_flight(aql) != 0)
		return SOFTGPU_STEP_BUSY;
	if (softgpu_adversary_holds(&aql->queue->adversary, aql->next))
		return SOFTGPU_STEP_POLL;
	switch (type) {
	case HSA_PACKET_TYPE_KERNEL_DISPATCH:
		return softgpu_aql_start_dispatch(aql, packet);
	case HSA_PACKET_TYPE_BARRIER_AND:
		return start_barrier(aql, packet, false);
	case HSA_PACKET_TYPE_BARRIER_OR:
		return start_barrier(aql, packet, true);
	case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
		return softgpu_aql_start_vendor(aql, packet);
	default:
		snprintf(message, sizeof(message), "packet %" PRIu64 " has header 0x%04x",
			 aql->next, header);
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_PACKET, message);
	}
}

static bool grid_fault(struct softgpu_aql *aql, struct softgpu_fault *fault)
{
	pthread_mutex_lock(&aql->lock);
	*fault = aql->fault;
	pthread_mutex_unlock(&aql->lock);
	return fault->kind != SOFTGPU_FAULT_NONE;
}

static enum softgpu_step step(struct softgpu_queue *queue, void *state)
{
	struct softgpu_aql *aql = state;
	struct softgpu_fault fault;
	enum softgpu_step waiting;
	bool full;

	if (aql->halted)
		return SOFTGPU_STEP_HALTED;
	if (grid_fault(aql, &fault))
		return softgpu_aql_dispatch_fault(aql, &fault);
	waiting = grids_in_flight(aql) != 0 ? SOFTGPU_STEP_BUSY : SOFTGPU_STEP_IDLE;
	if (softgpu_aql_submit_held(aql))
		waiting = SOFTGPU_STEP_POLL;
	if (!atomic_load_explicit(&queue->active, memory_order_acquire))
		return waiting == SOFTGPU_STEP_BUSY ? waiting : SOFTGPU_STEP_HALTED;
	if (aql->scratch_once) {
		/* 512 asks the runtime to take single-use scratch memory back. */
		const enum softgpu_step answer = softgpu_aql_ask_runtime(aql, 512);

		aql->scratch_once = answer != SOFTGPU_STEP_PROGRESS;
		return answer;
	}
	if (softgpu_doorbell_take(&queue->doorbell)) {
		/* Acquire: pairs with the producers' release of the write index. */
		aql->announced =
			atomic_load_explicit(queue->parameters.write_index, memory_order_acquire);
	}
	if (aql->next == aql->announced)
		return waiting;
	/* Slots that are not retired yet hold old packets. */
	pthread_mutex_lock(&aql->lock);
	full = aql->next - aql->retired >= SOFTGPU_AQL_WINDOW ||
	       aql->next - aql->retired >= aql->size;
	pthread_mutex_unlock(&aql->lock);
	if (!full) {
		const enum softgpu_step started = start_packet(aql);

		/* A held grid ends without notice unless it is submitted in time. */
		return started == SOFTGPU_STEP_BUSY && aql->held != 0 ? SOFTGPU_STEP_POLL : started;
	}
	return waiting;
}

static void *create(struct softgpu_queue *queue)
{
	const struct softgpu_queue_parameters *parameters = &queue->parameters;
	struct softgpu_aql *aql = calloc(1, sizeof(*aql));

	if (!aql)
		return NULL;
	aql->queue = queue;
	aql->gpu = queue->gpu;
	/* The runtime hands over pointers into its amd_queue_t, which the queue needs whole. */
	aql->amd_queue = (amd_queue_t *)(void *)((char *)(void *)parameters->read_index -
						 offsetof(amd_queue_t, read_dispatch_id));
	aql->ring = parameters->ring;
	aql->size = parameters->ring_size / sizeof(union softgpu_aql_packet);
	aql->next = aql->announced = aql->retired =
		atomic_load_explicit(parameters->read_index, memory_order_relaxed);
	pthread_mutex_init(&aql->lock, NULL);
	return aql;
}

static void destroy(void *state)
{
	struct softgpu_aql *aql = state;

	pthread_mutex_destroy(&aql->lock);
	free(aql);
}

static void abort_all(struct softgpu_queue *queue, void *state)
{
	(void)queue;
	abort_grids(state);
}

static bool has_work(void *state)
{
	return grids_in_flight(state) != 0;
}

const struct softgpu_engine_operations softgpu_aql_operations = {
	.create = create,
	.destroy = destroy,
	.step = step,
	.abort = abort_all,
	.has_work = has_work,
};
