/* SPDX-License-Identifier: MIT */
/* Opening and closing the device, versions, and the calls about the whole device. */
#include "device.h"

#include "../cache.h"
#include "../host_guard.h"
#include "../message.h"
#include "topology.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static const struct softgpu_services services = {
	.set_event = softgpu_events_set,
	.memory_fault = softgpu_events_memory_fault,
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t open_count;
static _Atomic(struct softgpu_device *) open_device;

struct softgpu_device *softgpu_device(void)
{
	/* Acquire: pairs with the release of hsaKmtOpenKFD, which fills the device before. */
	return atomic_load_explicit(&open_device, memory_order_acquire);
}

struct softgpu_node *softgpu_device_gpu(struct softgpu_device *device, uint32_t node_id)
{
	if (node_id == SOFTGPU_HOST_NODE || node_id > device->options.gpus)
		return NULL;
	return &device->node[node_id - 1];
}

static bool open_gpu(struct softgpu_device *device, uint32_t index)
{
	struct softgpu_node *node = &device->node[index];

	if (!softgpu_vram_open(&node->vram, device->options.vram_size))
		return false;
	softgpu_ranges_init(&node->ranges);
	if (device->options.l2s != 0) {
		node->ranges.cache = softgpu_cache_create(&node->gpu.memory, device->options.l2s);
		if (!node->ranges.cache) {
			softgpu_ranges_free(&node->ranges);
			softgpu_vram_close(&node->vram);
			return false;
		}
	}
	node->gpu = (struct softgpu_gpu){
		.node = index + 1,
		.target = device->options.target,
		.memory =
			{
				.context = &node->ranges,
				.translate = softgpu_ranges_translate,
				.generation = &node->ranges.generation,
				.cache = node->ranges.cache,
			},
		.services = &services,
		.workers = device->workers,
		.shader_engines = SOFTGPU_SHADER_ENGINES,
		.compute_units = SOFTGPU_COMPUTE_UNITS,
		.waves_per_compute_unit = SOFTGPU_SIMDS_PER_UNIT * SOFTGPU_WAVES_PER_SIMD,
		.private_aperture_base = SOFTGPU_PRIVATE_APERTURE,
		.shared_aperture_base = SOFTGPU_SHARED_APERTURE,
		.spin_nanoseconds = (uint64_t)device->options.spin * 1000,
		.signal_activity = &device->signal_activity,
		.adversary = &device->options.adversary,
		.eviction = &node->eviction,
	};
	softgpu_eviction_init(&node->eviction);
	return true;
}

static void close_gpus(struct softgpu_device *device, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		softgpu_eviction_destroy(&device->node[i].eviction);
		softgpu_cache_destroy(device->node[i].ranges.cache);
		softgpu_ranges_free(&device->node[i].ranges);
		softgpu_vram_close(&device->node[i].vram);
	}
}

static void close_device(struct softgpu_device *device)
{
	softgpu_queues_close();
	softgpu_workers_destroy(device->workers);
	softgpu_doorbell_monitor_destroy(device->monitor);
	softgpu_events_close();
	softgpu_allocations_close(device);
	close_gpus(device, device->options.gpus);
	softgpu_host_guard_remove();
	free(device);
}

static HSAKMT_STATUS create_device(struct softgpu_device **out)
{
	struct softgpu_device *device = calloc(1, sizeof(*device));
	char message[256];
	uint32_t opened = 0;

	if (!device)
		return HSAKMT_STATUS_NO_MEMORY;
	if (!softgpu_options_read(&device->options, message, sizeof(message))) {
		softgpu_message("%s", message);
		free(device);
		return HSAKMT_STATUS_ERROR;
	}
	if (softgpu_options_hostile(&device->options))
		softgpu_message("hostile timing and caches, SOFTGPU_SEED=%" PRIu64 " repeats them",
				device->options.adversary.seed);
	device->workers = softgpu_workers_create(device->options.workers);
	device->monitor = softgpu_doorbell_monitor_create(device->options.userfaultfd);
	softgpu_queues_open();
	softgpu_allocations_open();
	if (device->workers && device->monitor) {
		while (opened < device->options.gpus && open_gpu(device, opened))
			opened++;
		if (opened == device->options.gpus && softgpu_events_open(device)) {
			*out = device;
			return HSAKMT_STATUS_SUCCESS;
		}
	}
	softgpu_message("cannot open the device: no memory for %u GPUs", device->options.gpus);
	softgpu_allocations_close(device);
	close_gpus(device, opened);
	softgpu_doorbell_monitor_destroy(device->monitor);
	softgpu_workers_destroy(device->workers);
	free(device);
	return HSAKMT_STATUS_NO_MEMORY;
}

/* Threads do not survive fork(): the child starts without a device, and may open its own. */
static void abandon(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	open_lock = fresh;
	open_count = 0;
	atomic_store_explicit(&open_device, NULL, memory_order_relaxed);
	softgpu_queues_abandon();
	softgpu_allocations_abandon();
	softgpu_events_abandon();
}

HSAKMT_STATUS hsaKmtOpenKFD(void)
{
	static bool fork_handled;
	struct softgpu_device *device;
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;

	pthread_mutex_lock(&open_lock);
	if (open_count != 0) {
		open_count++;
		pthread_mutex_unlock(&open_lock);
		return HSAKMT_STATUS_KERNEL_ALREADY_OPENED;
	}
	if (!fork_handled)
		fork_handled = pthread_atfork(NULL, NULL, abandon) == 0;
	status = create_device(&device);
	if (status == HSAKMT_STATUS_SUCCESS) {
		softgpu_host_guard_install();
		open_count = 1;
		/* Release: pairs with softgpu_device(). */
		atomic_store_explicit(&open_device, device, memory_order_release);
	}
	pthread_mutex_unlock(&open_lock);
	return status;
}

HSAKMT_STATUS hsaKmtCloseKFD(void)
{
	struct softgpu_device *device = softgpu_device();

	if (!device)
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&open_lock);
	if (--open_count == 0) {
		/* No other call may be in progress, as with the real driver's descriptor. */
		close_device(device);
		atomic_store_explicit(&open_device, NULL, memory_order_relaxed);
	}
	pthread_mutex_unlock(&open_lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *VersionInfo)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!VersionInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	VersionInfo->KernelInterfaceMajorVersion = 1;
	VersionInfo->KernelInterfaceMinorVersion = 8;
	return HSAKMT_STATUS_SUCCESS;
}

/* NOT_SUPPORTED makes the runtime take queue errors from the queue's inactive signal. */
HSAKMT_STATUS hsaKmtRuntimeEnable(void *rDebug, bool setupTtmp)
{
	(void)rDebug;
	(void)setupTtmp;
	SOFTGPU_REQUIRE_OPEN();
	return softgpu_device()->options.exceptions ? HSAKMT_STATUS_SUCCESS
						    : HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtRuntimeDisable(void)
{
	SOFTGPU_REQUIRE_OPEN();
	return softgpu_device()->options.exceptions ? HSAKMT_STATUS_SUCCESS
						    : HSAKMT_STATUS_NOT_SUPPORTED;
}
