/* SPDX-License-Identifier: MIT */
/*
 * Sleeping until some condition in memory may have changed. A waiter announces itself, looks at
 * its condition once more and only then sleeps; who changes the condition notifies afterwards.
 * Notifying nobody costs one load.
 */
#ifndef SOFTGPU_QUEUE_EVENTCOUNT_H
#define SOFTGPU_QUEUE_EVENTCOUNT_H

#include <stdint.h>

#define SOFTGPU_WAIT_FOREVER UINT64_MAX

struct softgpu_eventcount {
	_Atomic uint32_t sequence;
	_Atomic uint32_t waiters;
};

/* Announces the caller; the result is passed to the wait. */
uint32_t softgpu_eventcount_prepare(struct softgpu_eventcount *eventcount);
/* Takes the announcement back: the condition already holds. */
void softgpu_eventcount_cancel(struct softgpu_eventcount *eventcount);
/* Sleeps until a notify after the prepare or until the time has passed. */
void softgpu_eventcount_wait(struct softgpu_eventcount *eventcount, uint32_t sequence,
			     uint64_t nanoseconds);
void softgpu_eventcount_notify(struct softgpu_eventcount *eventcount);

#endif
