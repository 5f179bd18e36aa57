/* SPDX-License-Identifier: MIT */
/* The device of this process while it is open: its GPUs and what they share. */
#ifndef SOFTGPU_THUNK_DEVICE_H
#define SOFTGPU_THUNK_DEVICE_H

#include "../options.h"
#include "../queue/doorbell.h"
#include "../queue/eviction.h"
#include "../queue/gpu.h"
#include "../queue/workers.h"
#include "ranges.h"
#include "vram.h"

#include <hsakmt.h>

/* Node 0 is the host, the GPUs follow. */
#define SOFTGPU_HOST_NODE 0
#define SOFTGPU_PAGE	  4096

struct softgpu_node {
	struct softgpu_gpu gpu;
	struct softgpu_eviction eviction;
	struct softgpu_ranges ranges;
	struct softgpu_vram vram; /* guarded by the lock of the allocations */
};

struct softgpu_device {
	struct softgpu_options options;
	struct softgpu_workers *workers;
	struct softgpu_doorbell_monitor *monitor;
	struct softgpu_eventcount signal_activity;
	struct softgpu_node node[SOFTGPU_MAX_GPUS];
};

/* NULL: not open. It stays open while any call of this interface is in progress. */
struct softgpu_device *softgpu_device(void);
/* NULL: no GPU has this node number. */
struct softgpu_node *softgpu_device_gpu(struct softgpu_device *device, uint32_t node_id);

/* The parts' own beginnings and ends (topology has none). False: no memory. */
bool softgpu_events_open(struct softgpu_device *device);
void softgpu_events_close(void);
void softgpu_allocations_open(void);
void softgpu_allocations_close(struct softgpu_device *device);
void softgpu_queues_open(void);
void softgpu_queues_close(void);

/* In a child process after fork(): forgets everything, since the threads are gone. */
void softgpu_events_abandon(void);
void softgpu_allocations_abandon(void);
void softgpu_queues_abandon(void);

/* What the engines ask of the thunk (events.c); `context` is not used. */
void softgpu_events_set(void *context, uint32_t event_id);
void softgpu_events_memory_fault(void *context, uint32_t node, uint64_t address, bool write);

/* Begins every call: fails if the device is not open. */
#define SOFTGPU_REQUIRE_OPEN()                                                                     \
	do {                                                                                       \
		if (!softgpu_device())                                                             \
			return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;                         \
	} while (0)

#endif
