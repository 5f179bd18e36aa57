/* SPDX-License-Identifier: MIT */
/* Opening and closing a device, and what it is. */
#include <stdlib.h>

#include "error.h"
#include "hsa/hsa_error.h"
#include "hsa/agent.h"

h2d_status_t h2d_device_count(uint32_t *count)
{
	if (count == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_device_count: count is NULL");
	hsa_status_t hsa = hsa_init();
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_init");
	hsa_agent_t agent;
	uint32_t found;
	h2d_status_t status = h2d_agent_find_gpu(0, &agent, &found);
	hsa_shut_down();
	if (status == H2D_STATUS_SUCCESS)
		*count = found;
	return status;
}

static h2d_status_t find_agent(h2d_device_t *device, uint32_t index)
{
	uint32_t count;
	h2d_status_t status = h2d_agent_find_gpu(index, &device->agent, &count);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (device->agent.handle == 0)
		return h2d_error(H2D_STATUS_NO_DEVICE,
				 "there is no GPU %u: the HSA runtime has %u of them", index,
				 count);
	device->info.index = index;
	return H2D_STATUS_SUCCESS;
}

/* Makes the runtime create the queue of its host-to-device engine: it does so at the first copy. */
static h2d_status_t create_copy_queue(h2d_device_t *device)
{
	void *memory;
	h2d_status_t status = h2d_device_allocate(device, 4096, &memory);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_device_free(device, memory);
}

static h2d_status_t set_up(h2d_device_t *device, uint32_t index)
{
	h2d_status_t status = find_agent(device, index);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_agent_read_info(device);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_agent_choose_pools(device);
	if (status == H2D_STATUS_SUCCESS)
		h2d_system_event_add(device);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_load_kernels(device);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_create_staging(device);
	if (status == H2D_STATUS_SUCCESS)
		status = create_copy_queue(device);
	return status;
}

static void tear_down(h2d_device_t *device)
{
	h2d_device_destroy_staging(device);
	h2d_code_object_free(device->kernels);
	h2d_system_event_remove(device);
	hsa_shut_down();
	pthread_mutex_destroy(&device->staging_lock);
	pthread_mutex_destroy(&device->allocation_lock);
	free(device);
}

h2d_status_t h2d_device_open(uint32_t index, h2d_device_t **device)
{
	if (device == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_device_open: device is NULL");
	h2d_device_t *opened = calloc(1, sizeof(*opened));
	if (opened == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a device");
	hsa_status_t hsa = hsa_init();
	if (hsa != HSA_STATUS_SUCCESS) {
		free(opened);
		return h2d_hsa_error(hsa, "hsa_init");
	}
	pthread_mutex_init(&opened->allocation_lock, NULL);
	pthread_mutex_init(&opened->staging_lock, NULL);
	h2d_status_t status = set_up(opened, index);
	if (status != H2D_STATUS_SUCCESS) {
		tear_down(opened);
		return status;
	}
	*device = opened;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_close(h2d_device_t *device)
{
	if (device == NULL)
		return H2D_STATUS_SUCCESS;
	/* Acquire pairs with the release of h2d_device_release(): its user is done. */
	uint32_t references = atomic_load_explicit(&device->references, memory_order_acquire);
	if (references != 0)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "GPU %u still has %u streams, owners, graphs or code objects",
				 device->info.index, references);
	size_t allocations = 0;
	pthread_mutex_lock(&device->allocation_lock);
	for (const struct h2d_allocation *a = device->allocations; a != NULL; a = a->next)
		allocations++;
	pthread_mutex_unlock(&device->allocation_lock);
	if (allocations != 0)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "GPU %u still has %zu memory allocations", device->info.index,
				 allocations);
	tear_down(device);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_get_info(const h2d_device_t *device, h2d_device_info_t *info)
{
	if (device == NULL || info == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_device_get_info: %s is NULL",
				 device == NULL ? "device" : "info");
	*info = device->info;
	return H2D_STATUS_SUCCESS;
}

void h2d_device_retain(h2d_device_t *device)
{
	atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
}

void h2d_device_release(h2d_device_t *device)
{
	/* Release pairs with the acquire of h2d_device_close(). */
	atomic_fetch_sub_explicit(&device->references, 1, memory_order_release);
}
