/* SPDX-License-Identifier: MIT */
/*
 * Doorbells: plain memory that the host stores to. A queue that has nothing to do must notice
 * such a store without using any processor time, so its doorbell page is write-protected through
 * userfaultfd; the store then faults, the monitor thread opens the page again, lets the store
 * happen and wakes the queue.
 */
#ifndef SOFTGPU_QUEUE_DOORBELL_H
#define SOFTGPU_QUEUE_DOORBELL_H

#include "eventcount.h"

#include <stdbool.h>
#include <stdint.h>

struct softgpu_doorbell_monitor;

struct softgpu_doorbell {
	struct softgpu_doorbell_monitor *monitor;
	_Atomic uint64_t *value; /* SOFTGPU_DOORBELL_QUIET: not rung since the last take */
	uint8_t *page;
	bool watched; /* the page is registered with userfaultfd */
	bool armed;
	struct softgpu_eventcount *wake; /* notified when an armed doorbell is rung */
	struct softgpu_doorbell *next;
};

#define SOFTGPU_DOORBELL_QUIET UINT64_MAX

/*
 * NULL: no memory. Where userfaultfd is not permitted, or not asked for, the monitor works but its
 * doorbells cannot be armed.
 */
struct softgpu_doorbell_monitor *softgpu_doorbell_monitor_create(bool userfaultfd);
void softgpu_doorbell_monitor_destroy(struct softgpu_doorbell_monitor *monitor);

/* `index` tells the doorbells of a process apart by their offset in the page. */
bool softgpu_doorbell_create(struct softgpu_doorbell *doorbell,
			     struct softgpu_doorbell_monitor *monitor, uint32_t index,
			     struct softgpu_eventcount *wake);
void softgpu_doorbell_destroy(struct softgpu_doorbell *doorbell);

/* True: the doorbell was rung since the last call. */
bool softgpu_doorbell_take(struct softgpu_doorbell *doorbell);
bool softgpu_doorbell_is_rung(const struct softgpu_doorbell *doorbell);
/*
 * From now on ringing notifies `wake`; the caller then looks at the doorbell once more before it
 * sleeps. False: it has to look at the doorbell now and then instead.
 */
bool softgpu_doorbell_arm(struct softgpu_doorbell *doorbell);
void softgpu_doorbell_disarm(struct softgpu_doorbell *doorbell);

#endif
