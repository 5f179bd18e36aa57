/* SPDX-License-Identifier: MIT */
/*
 * Tells ThreadSanitizer of the order that the HSA runtime makes, whose code it does not see: a
 * library to be preloaded. It stands before the runtime's functions and adds to each exactly the
 * acquire or release that its name promises, on the address that the packet processors use. What is
 * ordered by nothing of that is still a race.
 *
 * Copies and fills are submitted to queues of the runtime's own, whose indices are known since the
 * queues were created; that is where their order is made.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#ifdef HAVE_HSAKMT_HSAKMT_H
#include <hsakmt/hsakmt.h>
#else
#include <hsakmt.h>
#endif
#include <sanitizer/tsan_interface.h>

/* Calls what this library stands before. */
#define REAL(name, ...) (((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__))

#define MAXIMUM_OWN_QUEUES 64

/* The indices of queues that the runtime made for itself; of queues long gone too. */
static struct own_queue {
	void *write_index, *read_index;
} own_queues[MAXIMUM_OWN_QUEUES];
static unsigned int own_queue_count;

static void *value_of(hsa_signal_t signal)
{
	return (char *)(size_t)signal.handle + offsetof(amd_signal_t, value);
}

static void *read_index_of(const hsa_queue_t *queue)
{
	return (char *)(size_t)queue + offsetof(amd_queue_t, read_dispatch_id);
}

static void *write_index_of(const hsa_queue_t *queue)
{
	return (char *)(size_t)queue + offsetof(amd_queue_t, write_dispatch_id);
}

/* ---- signals --------------------------------------------------------------------------------- */

hsa_signal_value_t hsa_signal_load_scacquire(hsa_signal_t signal)
{
	hsa_signal_value_t value = REAL(hsa_signal_load_scacquire, signal);

	__tsan_acquire(value_of(signal));
	return value;
}

hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
					     hsa_signal_value_t compare, uint64_t timeout,
					     hsa_wait_state_t state)
{
	hsa_signal_value_t value =
		REAL(hsa_signal_wait_scacquire, signal, condition, compare, timeout, state);

	__tsan_acquire(value_of(signal));
	return value;
}

void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	__tsan_release(value_of(signal));
	REAL(hsa_signal_store_screlease, signal, value);
}

void hsa_signal_subtract_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	__tsan_release(value_of(signal));
	REAL(hsa_signal_subtract_screlease, signal, value);
}

/* ---- queues ---------------------------------------------------------------------------------- */

uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t *queue)
{
	uint64_t index = REAL(hsa_queue_load_read_index_scacquire, queue);

	__tsan_acquire(read_index_of(queue));
	return index;
}

uint64_t hsa_queue_load_write_index_scacquire(const hsa_queue_t *queue)
{
	uint64_t index = REAL(hsa_queue_load_write_index_scacquire, queue);

	__tsan_acquire(write_index_of(queue));
	return index;
}

/* ---- the runtime's own queues ---------------------------------------------------------------- */

hsa_status_t
hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
		 void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data), void *data,
		 uint32_t private_size, uint32_t group_size, hsa_queue_t **queue)
{
	hsa_status_t status = REAL(hsa_queue_create, agent, size, type, callback, data,
				   private_size, group_size, queue);

	/* That one is the caller's; the runtime may have made others beside it. */
	for (unsigned int i = 0; status == HSA_STATUS_SUCCESS && i < own_queue_count; i++) {
		if (own_queues[i].write_index == write_index_of(*queue))
			own_queues[i] = own_queues[--own_queue_count];
	}
	return status;
}

HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
				HSA_QUEUE_PRIORITY priority, void *address, HSAuint64 size,
				HsaEvent *event, HsaQueueResource *resource)
{
	HSAKMT_STATUS status = REAL(hsaKmtCreateQueue, node, type, percentage, priority, address,
				    size, event, resource);

	if (status == HSAKMT_STATUS_SUCCESS && own_queue_count < MAXIMUM_OWN_QUEUES)
		own_queues[own_queue_count++] =
			(struct own_queue){resource->Queue_write_ptr, resource->Queue_read_ptr};
	return status;
}

/*
 * Before a call that submits something to the runtime's own queues. Their engines may start before
 * it returns. A queue that is only made within the call has run nothing else.
 */
static void release_to_own_queues(void)
{
	for (unsigned int i = 0; i < own_queue_count; i++)
		__tsan_release(own_queues[i].write_index);
}

/* After a call that has waited for them. */
static void acquire_from_own_queues(void)
{
	for (unsigned int i = 0; i < own_queue_count; i++)
		__tsan_acquire(own_queues[i].read_index);
}

hsa_status_t hsa_amd_memory_async_copy(void *destination, hsa_agent_t destination_agent,
				       const void *source, hsa_agent_t source_agent, size_t size,
				       uint32_t dependency_count, const hsa_signal_t *dependencies,
				       hsa_signal_t completion)
{
	release_to_own_queues();
	return REAL(hsa_amd_memory_async_copy, destination, destination_agent, source, source_agent,
		    size, dependency_count, dependencies, completion);
}

hsa_status_t hsa_amd_memory_async_copy_rect(
	const hsa_pitched_ptr_t *destination, const hsa_dim3_t *destination_offset,
	const hsa_pitched_ptr_t *source, const hsa_dim3_t *source_offset, const hsa_dim3_t *range,
	hsa_agent_t agent, hsa_amd_copy_direction_t direction, uint32_t dependency_count,
	const hsa_signal_t *dependencies, hsa_signal_t completion)
{
	release_to_own_queues();
	return REAL(hsa_amd_memory_async_copy_rect, destination, destination_offset, source,
		    source_offset, range, agent, direction, dependency_count, dependencies,
		    completion);
}

hsa_status_t hsa_amd_memory_fill(void *memory, uint32_t value, size_t count)
{
	hsa_status_t status;

	release_to_own_queues();
	status = REAL(hsa_amd_memory_fill, memory, value, count);
	acquire_from_own_queues();
	return status;
}
