/* SPDX-License-Identifier: MIT */
/* Memory of a device: allocation, checks of the caller's pointers, and DMA copies. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/hsa_error.h"
#include "hsa/device_state.h"

#define STAGING_BYTES ((size_t)1 << 20)

/* ---- allocation ------------------------------------------------------------------------------ */

/* Allocates from a pool, accessible to the GPU, and records it. The contents are undefined. */
static h2d_status_t allocate(h2d_device_t *device, const struct h2d_pool *pool, const char *kind,
			     size_t size, void **memory)
{
	if (size > pool->size)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "%zu bytes of %s memory asked for, GPU %u has %zu", size, kind,
				 device->info.index, pool->size);
	struct h2d_allocation *allocation = malloc(sizeof(*allocation));
	if (allocation == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for an allocation record");
	hsa_status_t hsa = hsa_amd_memory_pool_allocate(pool->pool, size, 0, &allocation->memory);
	if (hsa != HSA_STATUS_SUCCESS) {
		free(allocation);
		h2d_status_t status = h2d_hsa_error(hsa, "hsa_amd_memory_pool_allocate");
		return h2d_error(status, "%zu bytes of %s memory on GPU %u: %s", size, kind,
				 device->info.index, h2d_error_message());
	}
	hsa = hsa_amd_agents_allow_access(1, &device->agent, NULL, allocation->memory);
	if (hsa != HSA_STATUS_SUCCESS) {
		hsa_amd_memory_pool_free(allocation->memory);
		free(allocation);
		return h2d_hsa_error(hsa, "hsa_amd_agents_allow_access");
	}
	pthread_mutex_lock(&device->allocation_lock);
	allocation->next = device->allocations;
	device->allocations = allocation;
	pthread_mutex_unlock(&device->allocation_lock);
	*memory = allocation->memory;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_allocation_arguments(const h2d_device_t *device, size_t size,
					       void *const *memory)
{
	if (device == NULL || memory == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "allocating memory: %s is NULL",
				 device == NULL ? "device" : "memory");
	if (size == 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "allocating memory: size is 0");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_allocate_host(h2d_device_t *device, size_t size, void **memory)
{
	h2d_status_t status = check_allocation_arguments(device, size, memory);

	if (status == H2D_STATUS_SUCCESS)
		status = allocate(device, &device->host_pool, "pinned system", size, memory);
	if (status == H2D_STATUS_SUCCESS)
		memset(*memory, 0, size);
	return status;
}

h2d_status_t h2d_device_allocate_kernel_arguments(h2d_device_t *device, size_t size, void **memory)
{
	h2d_status_t status = check_allocation_arguments(device, size, memory);

	if (status == H2D_STATUS_SUCCESS)
		status = allocate(device, &device->kernel_argument_pool, "kernel-argument", size,
				  memory);
	if (status == H2D_STATUS_SUCCESS)
		memset(*memory, 0, size);
	return status;
}

/* Takes memory off the list of allocations; false: it is not on it. */
static bool forget(h2d_device_t *device, void *memory)
{
	pthread_mutex_lock(&device->allocation_lock);
	struct h2d_allocation **link = &device->allocations;
	while (*link != NULL && (*link)->memory != memory)
		link = &(*link)->next;
	struct h2d_allocation *allocation = *link;
	if (allocation != NULL)
		*link = allocation->next;
	pthread_mutex_unlock(&device->allocation_lock);
	free(allocation);
	return allocation != NULL;
}

h2d_status_t h2d_device_free(h2d_device_t *device, void *memory)
{
	if (memory == NULL)
		return H2D_STATUS_SUCCESS;
	if (device == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_device_free: device is NULL");
	if (!forget(device, memory))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_device_free: %p was not allocated by GPU %u", memory,
				 device->info.index);
	hsa_status_t hsa = hsa_amd_memory_pool_free(memory);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_memory_pool_free");
	return H2D_STATUS_SUCCESS;
}

/* ---- checks of pointers ---------------------------------------------------------------------- */

static bool lists_agent(const hsa_agent_t agents[], uint32_t count, hsa_agent_t agent)
{
	for (uint32_t i = 0; i < count; i++)
		if (agents[i].handle == agent.handle)
			return true;
	return false;
}

/* Checks what both kinds have in common: known to the runtime, large enough, mapped to the GPU. */
static h2d_status_t look_up(const h2d_device_t *device, const char *name, const void *memory,
			    size_t size, hsa_amd_pointer_info_t *info)
{
	uint32_t count = 0;
	hsa_agent_t *agents = NULL;

	if (memory == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "%s: the address is NULL", name);
	*info = (hsa_amd_pointer_info_t){.size = sizeof(*info)};
	hsa_status_t hsa = hsa_amd_pointer_info(memory, info, malloc, &count, &agents);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_pointer_info");
	bool accessible = lists_agent(agents, count, device->agent);
	free(agents);
	if (info->type == HSA_EXT_POINTER_TYPE_UNKNOWN)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %p is memory that the HSA runtime does not know, such as "
				 "pageable memory",
				 name, memory);
	uint64_t address = (uintptr_t)memory;
	uint64_t base = (uintptr_t)info->agentBaseAddress;
	if (address - base >= info->sizeInBytes)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %p is not the address at which a GPU sees that memory (base "
				 "0x%" PRIx64 ")",
				 name, memory, base);
	if (size > info->sizeInBytes - (address - base))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %zu bytes from %p, but its allocation ends after %" PRIu64,
				 name, size, memory, info->sizeInBytes - (address - base));
	if (!accessible)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %p is not mapped to GPU %u (hsa_amd_agents_allow_access)",
				 name, memory, device->info.index);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_check_host_memory(h2d_device_t *device, const char *name,
					  const void *memory, size_t size)
{
	hsa_amd_pointer_info_t info;
	hsa_device_type_t type;
	h2d_status_t status = look_up(device, name, memory, size, &info);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	hsa_status_t hsa = hsa_agent_get_info(info.agentOwner, HSA_AGENT_INFO_DEVICE, &type);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_agent_get_info(device type)");
	if (type != HSA_DEVICE_TYPE_CPU)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %p is device memory, pinned system memory is needed", name,
				 memory);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_check_device_memory(h2d_device_t *device, const char *name,
					    const void *memory, size_t size)
{
	hsa_amd_pointer_info_t info;
	h2d_status_t status = look_up(device, name, memory, size, &info);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (info.agentOwner.handle != device->agent.handle)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: %p is system memory or memory of another GPU, memory of GPU "
				 "%u is needed",
				 name, memory, device->info.index);
	return H2D_STATUS_SUCCESS;
}

/* ---- copies ---------------------------------------------------------------------------------- */

h2d_status_t h2d_device_copy_async(h2d_device_t *device, void *destination, const void *source,
				   size_t size, hsa_signal_t dependency, hsa_signal_t completion)
{
	/* The runtime takes an empty copy and never decrements its completion signal. */
	if (size == 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "an asynchronous copy of 0 bytes");
	hsa_status_t hsa =
	    hsa_amd_memory_async_copy(destination, device->agent, source, device->host_agent, size,
				      dependency.handle != 0 ? 1 : 0,
				      dependency.handle != 0 ? &dependency : NULL, completion);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_memory_async_copy");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_create_staging(h2d_device_t *device)
{
	h2d_status_t status = h2d_device_create_host_signal(device, 0, &device->staging_signal);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	/* Not recorded as an allocation: it is the device's own. */
	hsa_status_t hsa = hsa_amd_memory_pool_allocate(device->host_pool.pool, STAGING_BYTES, 0,
							&device->staging);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_memory_pool_allocate");
	hsa = hsa_amd_agents_allow_access(1, &device->agent, NULL, device->staging);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_agents_allow_access");
	return H2D_STATUS_SUCCESS;
}

void h2d_device_destroy_staging(h2d_device_t *device)
{
	/* A DMA that still runs keeps its memory and its signal. */
	if (device->staging_lost && hsa_signal_load_scacquire(device->staging_signal) > 0)
		return;
	if (device->staging != NULL)
		hsa_amd_memory_pool_free(device->staging);
	h2d_device_destroy_signal(device->staging_signal);
}

static bool device_failed(const void *context)
{
	return h2d_device_faulted(context, NULL);
}

/* One DMA between the staging memory and device memory, waited for. staging_lock is held. */
static h2d_status_t stage(h2d_device_t *device, void *destination, hsa_agent_t destination_agent,
			  const void *source, hsa_agent_t source_agent, size_t size,
			  uint64_t deadline)
{
	hsa_signal_store_relaxed(device->staging_signal, 1);
	hsa_status_t hsa =
	    hsa_amd_memory_async_copy(destination, destination_agent, source, source_agent, size, 0,
				      NULL, device->staging_signal);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_memory_async_copy");
	switch (h2d_signal_wait_below(device, device->staging_signal, H2D_SIGNAL_HOST, 1, deadline,
				      device_failed, device)) {
	case H2D_WAIT_DONE:
		return H2D_STATUS_SUCCESS;
	case H2D_WAIT_FAILED:
		device->staging_lost = true;
		return h2d_device_check(device);
	case H2D_WAIT_TIMEOUT:
		break;
	}
	device->staging_lost = true;
	return h2d_error(H2D_STATUS_TIMEOUT,
			 "a copy of %zu bytes from %p to %p on GPU %u did not end in time", size,
			 source, destination, device->info.index);
}

static h2d_status_t lock_staging(h2d_device_t *device)
{
	pthread_mutex_lock(&device->staging_lock);
	h2d_status_t status = h2d_device_check(device);
	/* What did not end in time may have ended since. */
	if (device->staging_lost && hsa_signal_load_scacquire(device->staging_signal) < 1)
		device->staging_lost = false;
	if (status == H2D_STATUS_SUCCESS && device->staging_lost)
		status = h2d_error(H2D_STATUS_INVALID_STATE,
				   "an earlier copy on GPU %u did not end and holds its staging "
				   "memory",
				   device->info.index);
	if (status != H2D_STATUS_SUCCESS)
		pthread_mutex_unlock(&device->staging_lock);
	return status;
}

static size_t chunk_at(size_t size, size_t done)
{
	return size - done < STAGING_BYTES ? size - done : STAGING_BYTES;
}

/* source NULL: zeros. *in_flight: a DMA that did not end may still write the destination. */
static h2d_status_t write_staged(h2d_device_t *device, void *destination, const void *source,
				 size_t size, uint64_t timeout_ns, bool *in_flight)
{
	uint64_t deadline = h2d_deadline(timeout_ns);
	h2d_status_t status = lock_staging(device);

	*in_flight = false;
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (source == NULL)
		memset(device->staging, 0, chunk_at(size, 0));
	for (size_t done = 0; done < size && status == H2D_STATUS_SUCCESS; done += STAGING_BYTES) {
		size_t chunk = chunk_at(size, done);
		if (source != NULL)
			memcpy(device->staging, (const uint8_t *)source + done, chunk);
		status = stage(device, (uint8_t *)destination + done, device->agent,
			       device->staging, device->host_agent, chunk, deadline);
	}
	*in_flight = device->staging_lost;
	pthread_mutex_unlock(&device->staging_lock);
	return status;
}

h2d_status_t h2d_device_allocate(h2d_device_t *device, size_t size, void **memory)
{
	void *allocated;
	bool in_flight;
	h2d_status_t status = check_allocation_arguments(device, size, memory);

	if (status == H2D_STATUS_SUCCESS)
		status = allocate(device, &device->device_pool, "device", size, &allocated);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = write_staged(device, allocated, NULL, size, H2D_DEFAULT_TIMEOUT_NS, &in_flight);
	if (status == H2D_STATUS_SUCCESS)
		*memory = allocated;
	else if (forget(device, allocated) && !in_flight)
		hsa_amd_memory_pool_free(allocated);
	return status;
}

static h2d_status_t check_transfer(h2d_device_t *device, const char *name, const void *host,
				   const void *device_memory, size_t size)
{
	if (device == NULL || host == NULL || device_memory == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "copying to or from device memory: a pointer is NULL");
	return h2d_device_check_device_memory(device, name, device_memory, size);
}

h2d_status_t h2d_device_write(h2d_device_t *device, void *destination, const void *source,
			      size_t size, uint64_t timeout_ns)
{
	if (size == 0)
		return H2D_STATUS_SUCCESS;
	h2d_status_t status =
	    check_transfer(device, "h2d_device_write's destination", source, destination, size);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	bool in_flight;
	return write_staged(device, destination, source, size, timeout_ns, &in_flight);
}

h2d_status_t h2d_device_read(h2d_device_t *device, void *destination, const void *source,
			     size_t size, uint64_t timeout_ns)
{
	if (size == 0)
		return H2D_STATUS_SUCCESS;
	h2d_status_t status =
	    check_transfer(device, "h2d_device_read's source", destination, source, size);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	uint64_t deadline = h2d_deadline(timeout_ns);
	status = lock_staging(device);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (size_t done = 0; done < size && status == H2D_STATUS_SUCCESS; done += STAGING_BYTES) {
		size_t chunk = chunk_at(size, done);
		status = stage(device, device->staging, device->host_agent,
			       (const uint8_t *)source + done, device->agent, chunk, deadline);
		if (status == H2D_STATUS_SUCCESS)
			memcpy((uint8_t *)destination + done, device->staging, chunk);
	}
	pthread_mutex_unlock(&device->staging_lock);
	return status;
}
