/* SPDX-License-Identifier: MIT */
/* What the files of src/hsa share about a device. */
#ifndef H2DPUB_SRC_HSA_DEVICE_STATE_H
#define H2DPUB_SRC_HSA_DEVICE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <hsa/hsa_ext_amd.h>

#include "hsa/device.h"

/* Memory handed out by h2d_device_allocate*(). */
struct h2d_allocation {
	void *memory;
	struct h2d_allocation *next;
};

/* A memory pool and the largest allocation it can hold. */
struct h2d_pool {
	hsa_amd_memory_pool_t pool;
	size_t size;
};

struct h2d_device {
	h2d_device_info_t info;
	hsa_agent_t agent;
	hsa_agent_t host_agent; /* the CPU agent nearest to it */
	struct h2d_pool device_pool;
	struct h2d_pool host_pool;
	struct h2d_pool kernel_argument_pool;
	uint64_t timestamp_frequency; /* of the runtime's wait timeouts, Hz */
	uint32_t queue_min_size;
	uint32_t queue_max_size;

	h2d_code_object_t *kernels; /* the embedded code object of this ISA */
	_Atomic uint32_t references;

	pthread_mutex_t allocation_lock;
	struct h2d_allocation *allocations;

	/* One transfer at a time between pageable and device memory. */
	pthread_mutex_t staging_lock;
	void *staging;
	hsa_signal_t staging_signal;
	bool staging_lost; /* a DMA that did not end may still use it */

	uint64_t fault_address;
	_Atomic bool faulted; /* written after fault_address */
	h2d_device_t *next;   /* in the list of open devices (system_event.c) */
};

/* signal.c */

uint64_t h2d_clock_ns(void);

/* now + timeout_ns, or the end of time. */
uint64_t h2d_deadline(uint64_t timeout_ns);

/* As made by h2d_device_create_host_signal() and h2d_device_create_signal(). */
enum h2d_signal_kind { H2D_SIGNAL_HOST, H2D_SIGNAL_GPU };

enum h2d_wait_result { H2D_WAIT_DONE, H2D_WAIT_FAILED, H2D_WAIT_TIMEOUT };

/*
 * Waits until signal < limit, until failed(context) says that it never will be, or until the
 * deadline. Failures are noticed within milliseconds.
 */
enum h2d_wait_result h2d_signal_wait_below(const h2d_device_t *device, hsa_signal_t signal,
					   enum h2d_signal_kind kind, hsa_signal_value_t limit,
					   uint64_t deadline, bool (*failed)(const void *context),
					   const void *context);

/* memory.c */

h2d_status_t h2d_device_create_staging(h2d_device_t *device);
void h2d_device_destroy_staging(h2d_device_t *device);

/* code_object.c */

/* Loads the embedded code object for the ISA of the device and sets info.isa. */
h2d_status_t h2d_device_load_kernels(h2d_device_t *device);

/* Frees a code object without the reference that h2d_code_object_load() took. */
void h2d_code_object_free(h2d_code_object_t *code_object);

/* system_event.c */

/* Adds an open device to, and removes it from, those that memory faults are reported to. */
void h2d_system_event_add(h2d_device_t *device);
void h2d_system_event_remove(h2d_device_t *device);

/* MEMORY_FAULT with its message if the device faulted, else SUCCESS. */
h2d_status_t h2d_device_check(const h2d_device_t *device);

#endif
