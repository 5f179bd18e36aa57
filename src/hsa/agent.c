/* SPDX-License-Identifier: MIT */
/* Finding the GPU, its nearest CPU agent and their memory pools. */
#include "hsa/agent.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "hsa/hsa_error.h"

/* ---- agents ---------------------------------------------------------------------------------- */

struct gpu_search {
	uint32_t index;
	uint32_t count;
	hsa_agent_t agent;
};

static hsa_status_t visit_gpu(hsa_agent_t agent, void *data)
{
	struct gpu_search *search = data;
	hsa_device_type_t type;
	hsa_agent_feature_t features;
	hsa_status_t hsa = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);

	if (hsa == HSA_STATUS_SUCCESS)
		hsa = hsa_agent_get_info(agent, HSA_AGENT_INFO_FEATURE, &features);
	if (hsa != HSA_STATUS_SUCCESS)
		return hsa;
	if (type != HSA_DEVICE_TYPE_GPU || !(features & HSA_AGENT_FEATURE_KERNEL_DISPATCH))
		return HSA_STATUS_SUCCESS;
	if (search->count == search->index)
		search->agent = agent;
	search->count++;
	return HSA_STATUS_SUCCESS;
}

h2d_status_t h2d_agent_find_gpu(uint32_t index, hsa_agent_t *agent, uint32_t *count)
{
	struct gpu_search search = {.index = index};
	hsa_status_t hsa = hsa_iterate_agents(visit_gpu, &search);

	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_iterate_agents");
	*agent = search.agent;
	*count = search.count;
	return H2D_STATUS_SUCCESS;
}

/* ---- pools ----------------------------------------------------------------------------------- */

struct pool_choice {
	hsa_agent_t gpu;
	/* Of a GPU: its coarse-grained memory. */
	struct h2d_pool coarse;
	/* Of the CPU agent that is looked at, with the distance of the fine-grained pool. */
	struct h2d_pool fine;
	struct h2d_pool kernel_arguments;
	uint32_t distance;
	/* Of the nearest CPU agent so far. */
	hsa_agent_t host_agent;
	struct h2d_pool host;
	struct h2d_pool host_kernel_arguments;
	uint32_t host_distance;
};

/*
 * How far the pool is from the GPU: the sum of its links' NUMA distances; UINT32_MAX if the GPU
 * cannot reach it.
 */
static hsa_status_t distance_from(hsa_agent_t gpu, hsa_amd_memory_pool_t pool, uint32_t *distance)
{
	hsa_amd_memory_pool_access_t access;
	uint32_t hops;
	hsa_status_t hsa = hsa_amd_agent_memory_pool_get_info(
	    gpu, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);

	if (hsa == HSA_STATUS_SUCCESS)
		hsa = hsa_amd_agent_memory_pool_get_info(
		    gpu, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS, &hops);
	if (hsa != HSA_STATUS_SUCCESS)
		return hsa;
	*distance = access == HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED ? UINT32_MAX : 0;
	if (*distance == UINT32_MAX || hops == 0)
		return HSA_STATUS_SUCCESS;

	hsa_amd_memory_pool_link_info_t *links = calloc(hops, sizeof(*links));
	if (links == NULL)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	hsa = hsa_amd_agent_memory_pool_get_info(gpu, pool,
						 HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO, links);
	for (uint32_t i = 0; i < hops && hsa == HSA_STATUS_SUCCESS; i++)
		*distance += links[i].numa_distance;
	free(links);
	return hsa;
}

static hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct pool_choice *choice = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;
	bool allocatable;
	struct h2d_pool found = {.pool = pool};
	hsa_status_t hsa =
	    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);

	if (hsa != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL)
		return hsa;
	hsa = hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
	if (hsa == HSA_STATUS_SUCCESS)
		hsa = hsa_amd_memory_pool_get_info(
		    pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable);
	if (hsa == HSA_STATUS_SUCCESS)
		hsa =
		    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &found.size);
	if (hsa != HSA_STATUS_SUCCESS || !allocatable)
		return hsa;

	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) {
		if (choice->coarse.size < found.size)
			choice->coarse = found;
		return HSA_STATUS_SUCCESS;
	}
	if (!(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED))
		return HSA_STATUS_SUCCESS;
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
		if (choice->kernel_arguments.size == 0)
			choice->kernel_arguments = found;
		return HSA_STATUS_SUCCESS;
	}
	if (choice->fine.size != 0)
		return HSA_STATUS_SUCCESS;
	choice->fine = found;
	return distance_from(choice->gpu, pool, &choice->distance);
}

static hsa_status_t visit_cpu(hsa_agent_t agent, void *data)
{
	struct pool_choice *choice = data;
	hsa_device_type_t type;
	hsa_status_t hsa = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);

	if (hsa != HSA_STATUS_SUCCESS || type != HSA_DEVICE_TYPE_CPU)
		return hsa;
	choice->fine = (struct h2d_pool){0};
	choice->kernel_arguments = (struct h2d_pool){0};
	choice->distance = UINT32_MAX;
	hsa = hsa_amd_agent_iterate_memory_pools(agent, visit_pool, choice);
	if (hsa != HSA_STATUS_SUCCESS || choice->fine.size == 0 ||
	    choice->distance >= choice->host_distance)
		return hsa;
	choice->host_agent = agent;
	choice->host = choice->fine;
	/* Older runtimes have one pool for both. */
	choice->host_kernel_arguments =
	    choice->kernel_arguments.size != 0 ? choice->kernel_arguments : choice->fine;
	choice->host_distance = choice->distance;
	return HSA_STATUS_SUCCESS;
}

h2d_status_t h2d_agent_choose_pools(h2d_device_t *device)
{
	struct pool_choice choice = {.gpu = device->agent, .host_distance = UINT32_MAX};
	hsa_status_t hsa = hsa_iterate_agents(visit_cpu, &choice);

	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "choosing the pools of the nearest CPU agent");
	if (choice.host.size == 0)
		return h2d_error(H2D_STATUS_NOT_SUPPORTED,
				 "GPU %u (%s): no CPU agent has fine-grained memory that it can "
				 "reach",
				 device->info.index, device->info.name);
	choice.coarse = (struct h2d_pool){0};
	hsa = hsa_amd_agent_iterate_memory_pools(device->agent, visit_pool, &choice);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "choosing the device memory pool");
	if (choice.coarse.size == 0)
		return h2d_error(H2D_STATUS_NOT_SUPPORTED,
				 "GPU %u (%s) has no coarse-grained memory pool",
				 device->info.index, device->info.name);
	device->host_agent = choice.host_agent;
	device->host_pool = choice.host;
	device->kernel_argument_pool = choice.host_kernel_arguments;
	device->device_pool = choice.coarse;
	device->info.memory_bytes = choice.coarse.size;
	return H2D_STATUS_SUCCESS;
}

/* ---- information ----------------------------------------------------------------------------- */

h2d_status_t h2d_agent_read_info(h2d_device_t *device)
{
	const struct {
		hsa_agent_info_t attribute;
		void *value;
		const char *name;
	} attributes[] = {
	    /* The runtime writes 64 bytes for either name. */
	    {HSA_AGENT_INFO_NAME, device->info.name, "name"},
	    {(hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, device->info.product_name,
	     "product name"},
	    {(hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &device->info.compute_units,
	     "compute unit count"},
	    {HSA_AGENT_INFO_WAVEFRONT_SIZE, &device->info.wavefront_size, "wavefront size"},
	    {HSA_AGENT_INFO_QUEUE_MIN_SIZE, &device->queue_min_size, "smallest queue"},
	    {HSA_AGENT_INFO_QUEUE_MAX_SIZE, &device->queue_max_size, "largest queue"},
	};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		hsa_status_t hsa =
		    hsa_agent_get_info(device->agent, attributes[i].attribute, attributes[i].value);
		if (hsa != HSA_STATUS_SUCCESS) {
			char call[64];
			snprintf(call, sizeof(call), "hsa_agent_get_info(%s)", attributes[i].name);
			return h2d_hsa_error(hsa, call);
		}
	}
	device->info.name[sizeof(device->info.name) - 1] = '\0';
	device->info.product_name[sizeof(device->info.product_name) - 1] = '\0';
	device->info.agent = device->agent;

	hsa_status_t hsa =
	    hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &device->timestamp_frequency);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_system_get_info(timestamp frequency)");
	return H2D_STATUS_SUCCESS;
}
