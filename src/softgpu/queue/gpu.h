/* SPDX-License-Identifier: MIT */
/* One GPU as its packet processors see it, and what they ask of whoever owns it. */
#ifndef SOFTGPU_QUEUE_GPU_H
#define SOFTGPU_QUEUE_GPU_H

#include "../memory.h"
#include "../target.h"
#include "eventcount.h"

#include <stdbool.h>
#include <stdint.h>

struct softgpu_adversary;
struct softgpu_eviction;
struct softgpu_workers;

struct softgpu_services {
	/* Sets the event of this id, as an interrupt does. */
	void (*set_event)(void *context, uint32_t event_id);
	/* Tells of an access to `address`, which this GPU cannot make (eviction.h). */
	void (*memory_fault)(void *context, uint32_t node, uint64_t address, bool write);
};

struct softgpu_gpu {
	uint32_t node;
	const struct softgpu_target *target;
	struct softgpu_memory memory;
	const struct softgpu_services *services;
	void *services_context;
	struct softgpu_workers *workers;
	uint32_t shader_engines;
	uint32_t compute_units; /* of all shader engines together */
	uint32_t waves_per_compute_unit;
	uint64_t private_aperture_base;
	uint64_t shared_aperture_base;
	uint64_t spin_nanoseconds; /* before a queue with nothing to do sleeps */
	/* Notified whenever an engine changes a signal; shared by all GPUs of the process. */
	struct softgpu_eventcount *signal_activity;
	const struct softgpu_adversary *adversary;
	struct softgpu_eviction *eviction; /* this GPU's */
};

#endif
