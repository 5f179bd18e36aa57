/* SPDX-License-Identifier: MIT */
/* Kernel dispatch packets: checks, scratch memory, the grid's start and end. */
#include "aql.h"

#include "clock.h"

#include <inttypes.h>
#include <stdio.h>

/* The grid ended on whichever thread ran its last workgroup. */
static void grid_ended(struct softgpu_grid *grid, bool aborted)
{
	struct softgpu_aql_record *record = grid->owner;
	struct softgpu_aql *aql = record->aql;
	/* Once the packet is complete its record may serve a new packet. */
	const bool uses_scratch = record->uses_scratch;

	softgpu_kernel_destroy(grid->kernel);
	grid->kernel = NULL;
	/* The packet's release fence; pairs with the acquire of whoever sees it complete. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!aborted)
		softgpu_aql_complete(record);

	/* Last, and under the lock: a queue without grids may be destroyed. */
	pthread_mutex_lock(&aql->lock);
	if (aborted) {
		record->state = SOFTGPU_AQL_ABORTED;
		if (aql->fault.kind == SOFTGPU_FAULT_NONE)
			aql->fault = grid->fault;
	}
	if (uses_scratch)
		aql->scratch_users--;
	aql->in_flight--;
	softgpu_eventcount_notify(&aql->queue->wake);
	pthread_mutex_unlock(&aql->lock);
}

/* A kernel decremented a signal itself and interrupts the host. */
static void interrupt_host(void *context, uint32_t event_id)
{
	const struct softgpu_gpu *gpu = context;

	gpu->services->set_event(gpu->services_context, event_id);
}

static void read_dispatch(const struct softgpu_aql *aql, const hsa_kernel_dispatch_packet_t *packet,
			  struct softgpu_dispatch *dispatch)
{
	const amd_queue_t *amd_queue = aql->amd_queue;
	const unsigned int dimensions = packet->setup & 3;

	*dispatch = (struct softgpu_dispatch){
		.kernel_object = packet->kernel_object,
		.kernarg_address = (uint64_t)(uintptr_t)packet->kernarg_address,
		.packet_address = (uint64_t)(uintptr_t)packet,
		.queue_address = (uint64_t)(uintptr_t)amd_queue,
		.dispatch_id = aql->next,
		.grid_size = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
		.workgroup_size = {packet->workgroup_size_x, packet->workgroup_size_y,
				   packet->workgroup_size_z},
		.private_segment_size = packet->private_segment_size,
		.group_segment_size = packet->group_segment_size,
		.private_aperture_base = aql->gpu->private_aperture_base,
		.shared_aperture_base = aql->gpu->shared_aperture_base,
		.interrupt = interrupt_host,
		.interrupt_context = (void *)(uintptr_t)aql->gpu,
	};
	for (unsigned int i = dimensions; i < 3; i++)
		dispatch->grid_size[i] = dispatch->workgroup_size[i] = 1;
	for (unsigned int i = 0; i < 4; i++)
		dispatch->scratch.descriptor[i] = amd_queue->scratch_resource_descriptor[i];
	dispatch->scratch.base = amd_queue->scratch_resource_descriptor[0] |
				 (uint64_t)(amd_queue->scratch_resource_descriptor[1] & 0xffff)
					 << 32;
	dispatch->scratch.byte_size = amd_queue->scratch_backing_memory_byte_size;
}

/* The checks of the packet itself, in the order in which the hardware makes them. */
static bool check(const struct softgpu_aql *aql, unsigned int setup,
		  const struct softgpu_dispatch *dispatch, enum softgpu_aql_error *error,
		  char *message, size_t size)
{
	const uint32_t *grid = dispatch->grid_size, *group = dispatch->workgroup_size;
	const struct softgpu_target *target = aql->gpu->target;
	const uint64_t work_items = (uint64_t)group[0] * group[1] * group[2];

	if ((setup & 3) == 0 || grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
		*error = SOFTGPU_AQL_ERROR_DIMENSIONS;
		snprintf(message, size,
			 "packet %" PRIu64 " has %u dimensions and a grid of %" PRIu32 " x %" PRIu32
			 " x %" PRIu32,
			 aql->next, setup & 3, grid[0], grid[1], grid[2]);
		return false;
	}
	if (work_items == 0 || work_items > target->max_workgroup_size) {
		*error = SOFTGPU_AQL_ERROR_WORKGROUP_SIZE;
		snprintf(message, size,
			 "packet %" PRIu64 " has a workgroup of %" PRIu32 " x %" PRIu32
			 " x %" PRIu32 ", at most %" PRIu32 " work-items are possible",
			 aql->next, group[0], group[1], group[2], target->max_workgroup_size);
		return false;
	}
	if (dispatch->kernel_object == 0) {
		*error = SOFTGPU_AQL_ERROR_KERNEL_OBJECT;
		snprintf(message, size, "packet %" PRIu64 " has none", aql->next);
		return false;
	}
	if (dispatch->group_segment_size > target->group_memory_size) {
		*error = SOFTGPU_AQL_ERROR_GROUP_MEMORY;
		snprintf(message, size, "packet %" PRIu64 " wants %" PRIu32 " of %" PRIu32 " bytes",
			 aql->next, dispatch->group_segment_size, target->group_memory_size);
		return false;
	}
	return true;
}

enum softgpu_step softgpu_aql_dispatch_fault(struct softgpu_aql *aql,
					     const struct softgpu_fault *fault)
{
	switch (fault->kind) {
	case SOFTGPU_FAULT_MEMORY:
		return softgpu_aql_memory_fault(aql, fault->address, fault->write, fault->message);
	case SOFTGPU_FAULT_TRAP:
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_TRAP, fault->message);
	case SOFTGPU_FAULT_KERNEL_OBJECT:
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_KERNEL_OBJECT, fault->message);
	case SOFTGPU_FAULT_GROUP_MEMORY:
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_GROUP_MEMORY, fault->message);
	case SOFTGPU_FAULT_WORKGROUP_SIZE:
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_WORKGROUP_SIZE, fault->message);
	case SOFTGPU_FAULT_SCRATCH:
	case SOFTGPU_FAULT_OUT_OF_MEMORY:
		return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_REGISTERS, fault->message);
	case SOFTGPU_FAULT_ILLEGAL_INSTRUCTION:
	case SOFTGPU_FAULT_NONE:
		break;
	}
	return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_ILLEGAL_INSTRUCTION, fault->message);
}

/* Grids that use scratch memory at the same time must agree on the size of a wave's share. */
static bool reserve_scratch(struct softgpu_aql *aql, uint32_t wave_size)
{
	bool reserved;

	pthread_mutex_lock(&aql->lock);
	reserved = aql->scratch_users == 0 || aql->scratch_wave_size == wave_size;
	if (reserved) {
		aql->scratch_users++;
		aql->scratch_wave_size = wave_size;
	}
	pthread_mutex_unlock(&aql->lock);
	return reserved;
}

static void launch(struct softgpu_aql *aql, const hsa_kernel_dispatch_packet_t *packet,
		   struct softgpu_kernel *kernel, bool uses_scratch)
{
	const uint32_t number = (uint32_t)aql->next;
	struct softgpu_aql_record *record = softgpu_aql_begin(aql, packet->completion_signal);

	record->uses_scratch = uses_scratch;
	record->grid = (struct softgpu_grid){
		.gpu = aql->gpu,
		.kernel = kernel,
		.scratch_slots = uses_scratch ? &aql->scratch_slots : NULL,
		.queue_number = aql->queue->parameters.number,
		.first_l2 = number,
		.ended = grid_ended,
		.owner = record,
	};
	pthread_mutex_lock(&aql->queue->lock);
	record->grid.compute_units = aql->queue->compute_units;
	pthread_mutex_unlock(&aql->queue->lock);
	pthread_mutex_lock(&aql->lock);
	aql->in_flight++;
	pthread_mutex_unlock(&aql->lock);
	record->hold_until = softgpu_adversary_hold_dispatch(&aql->queue->adversary);
	if (record->hold_until != 0)
		aql->held++;
	else
		softgpu_workers_submit(aql->gpu->workers, &record->grid);
}

bool softgpu_aql_submit_held(struct softgpu_aql *aql)
{
	for (unsigned int i = 0; i < SOFTGPU_AQL_WINDOW && aql->held != 0; i++) {
		struct softgpu_aql_record *record = &aql->record[i];

		if (record->hold_until == 0 || softgpu_clock_now() < record->hold_until)
			continue;
		record->hold_until = 0;
		aql->held--;
		softgpu_workers_submit(aql->gpu->workers, &record->grid);
	}
	return aql->held != 0;
}

enum softgpu_step softgpu_aql_start_dispatch(struct softgpu_aql *aql,
					     const union softgpu_aql_packet *packet)
{
	const hsa_kernel_dispatch_packet_t *dispatch_packet = &packet->dispatch;
	struct softgpu_fault fault = {.kind = SOFTGPU_FAULT_NONE};
	struct softgpu_dispatch dispatch;
	struct softgpu_kernel *kernel;
	enum softgpu_aql_error error;
	char message[160];
	uint32_t wave_size;

	read_dispatch(aql, dispatch_packet, &dispatch);
	if (!check(aql, dispatch_packet->setup, &dispatch, &error, message, sizeof(message)))
		return softgpu_aql_fail(aql, error, message);
	/* 1 asks the runtime for scratch memory; then the packet is looked at anew. */
	if (aql->scratch_requested ||
	    dispatch.private_segment_size > aql->amd_queue->scratch_wave64_lane_byte_size)
		return softgpu_aql_ask_runtime(aql, 1);
	if (!softgpu_kernel_create(aql->gpu->target, &aql->gpu->memory, &dispatch, &kernel, &fault))
		return softgpu_aql_dispatch_fault(aql, &fault);
	wave_size = softgpu_kernel_scratch_wave_size(kernel);
	if (wave_size != 0 && !reserve_scratch(aql, wave_size)) {
		softgpu_kernel_destroy(kernel);
		return SOFTGPU_STEP_BUSY;
	}
	aql->scratch_once = wave_size != 0 && aql->amd_queue->queue_properties &
						      AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE;
	softgpu_aql_acquire(aql);
	launch(aql, dispatch_packet, kernel, wave_size != 0);
	return SOFTGPU_STEP_PROGRESS;
}
