/* SPDX-License-Identifier: MIT */
/* A hardware queue: a ring of packets in memory and the thread that processes them. */
#ifndef SOFTGPU_QUEUE_QUEUE_H
#define SOFTGPU_QUEUE_QUEUE_H

#include "doorbell.h"
#include "gpu.h"
#include "workers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum softgpu_queue_type {
	SOFTGPU_QUEUE_AQL,
	SOFTGPU_QUEUE_SDMA,
};

struct softgpu_queue_parameters {
	enum softgpu_queue_type type;
	uint32_t number;    /* of the queue in its process, from 1; for messages and HW_ID */
	void *ring;	    /* where this process may touch it */
	uint64_t ring_size; /* bytes, a power of two */
	_Atomic uint64_t *read_index; /* AQL: packets; SDMA: bytes; both never wrap */
	_Atomic uint64_t *write_index;
	/* Exception bits go there if not NULL, followed by the event; else to amd_queue_t. */
	_Atomic int64_t *error_reason;
	uint32_t error_event_id; /* 0: none */
};

struct softgpu_queue;

/* NULL: no memory or no thread. */
struct softgpu_queue *softgpu_queue_create(const struct softgpu_gpu *gpu,
					   struct softgpu_doorbell_monitor *monitor,
					   const struct softgpu_queue_parameters *parameters);
/* Aborts what still runs; no signal of it is decremented any more. */
void softgpu_queue_destroy(struct softgpu_queue *queue);
uint64_t *softgpu_queue_doorbell(struct softgpu_queue *queue);
/* An inactive queue starts no packet; what already runs goes on. */
void softgpu_queue_set_active(struct softgpu_queue *queue, bool active);
/* Bit n of the mask allows compute unit n. False: no unit of the GPU would be left. */
bool softgpu_queue_set_compute_unit_mask(struct softgpu_queue *queue, const uint32_t *mask,
					 uint32_t bits);

#endif
