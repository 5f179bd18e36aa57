/* SPDX-License-Identifier: MIT */
/* Memory faults: the runtime's system event handler and what it tells the open devices. */
#include "hsa/device_state.h"

#include <inttypes.h>

#include "error.h"

static pthread_mutex_t open_devices_lock = PTHREAD_MUTEX_INITIALIZER;
static h2d_device_t *open_devices;

/* Returns whether an open device uses the agent. */
static bool notify(hsa_agent_t agent, uint64_t address)
{
	bool found = false;

	pthread_mutex_lock(&open_devices_lock);
	for (h2d_device_t *device = open_devices; device != NULL; device = device->next) {
		if (device->agent.handle != agent.handle)
			continue;
		found = true;
		/* The first fault is the cause; those after it may be its consequences. */
		if (!atomic_load_explicit(&device->faulted, memory_order_relaxed)) {
			device->fault_address = address;
			/* Release pairs with the acquire of h2d_device_faulted(). */
			atomic_store_explicit(&device->faulted, true, memory_order_release);
		}
	}
	pthread_mutex_unlock(&open_devices_lock);
	return found;
}

static hsa_status_t handle_system_event(const hsa_amd_event_t *event, void *data)
{
	(void)data;
	if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT &&
	    notify(event->memory_fault.agent, event->memory_fault.virtual_address))
		return HSA_STATUS_SUCCESS;
	/* Not ours: the runtime does what it does without a handler. */
	return HSA_STATUS_ERROR;
}

void h2d_device_notify_memory_fault(hsa_agent_t agent, uint64_t address)
{
	notify(agent, address);
}

void h2d_system_event_add(h2d_device_t *device)
{
	pthread_mutex_lock(&open_devices_lock);
	device->next = open_devices;
	open_devices = device;
	pthread_mutex_unlock(&open_devices_lock);
	/* Fails if there is a handler: ours since an earlier open, or the application's. */
	hsa_amd_register_system_event_handler(handle_system_event, NULL);
}

void h2d_system_event_remove(h2d_device_t *device)
{
	pthread_mutex_lock(&open_devices_lock);
	h2d_device_t **link = &open_devices;
	while (*link != NULL && *link != device)
		link = &(*link)->next;
	if (*link != NULL)
		*link = device->next;
	pthread_mutex_unlock(&open_devices_lock);
}

bool h2d_device_faulted(const h2d_device_t *device, uint64_t *address)
{
	/* Acquire pairs with the release of notify(): the address was stored before. */
	if (!atomic_load_explicit(&device->faulted, memory_order_acquire))
		return false;
	if (address != NULL)
		*address = device->fault_address;
	return true;
}

h2d_status_t h2d_device_check(const h2d_device_t *device)
{
	uint64_t address;

	if (!h2d_device_faulted(device, &address))
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_MEMORY_FAULT,
			 "GPU %u (%s) accessed address 0x%" PRIx64 ", which is not mapped to it",
			 device->info.index, device->info.name, address);
}
