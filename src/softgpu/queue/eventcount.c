/* SPDX-License-Identifier: MIT */
/* Sleeping until some condition in memory may have changed, on a futex. */
#include "eventcount.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t softgpu_eventcount_prepare(struct softgpu_eventcount *eventcount)
{
	uint32_t sequence;

	atomic_fetch_add_explicit(&eventcount->waiters, 1, memory_order_relaxed);
	/* Acquire: pairs with the increment by notify. */
	sequence = atomic_load_explicit(&eventcount->sequence, memory_order_acquire);
	/*
	 * Pairs with the fence of notify: either the notifier sees this waiter, or the waiter's
	 * next look at its condition, by a load of any order, sees the change. The increment
	 * itself would not do: a later weaker load may still be done before it.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return sequence;
}

void softgpu_eventcount_cancel(struct softgpu_eventcount *eventcount)
{
	atomic_fetch_sub_explicit(&eventcount->waiters, 1, memory_order_relaxed);
}

void softgpu_eventcount_wait(struct softgpu_eventcount *eventcount, uint32_t sequence,
			     uint64_t nanoseconds)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(nanoseconds / 1000000000),
		.tv_nsec = (long)(nanoseconds % 1000000000),
	};

	syscall(SYS_futex, &eventcount->sequence, FUTEX_WAIT_PRIVATE, sequence,
		nanoseconds == SOFTGPU_WAIT_FOREVER ? NULL : &timeout, NULL, 0);
	softgpu_eventcount_cancel(eventcount);
}

void softgpu_eventcount_notify(struct softgpu_eventcount *eventcount)
{
	/* Pairs with the fence of prepare: the change before it, the look for waiters after it. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&eventcount->waiters, memory_order_relaxed) == 0)
		return;
	/* Release: pairs with the load of prepare. */
	atomic_fetch_add_explicit(&eventcount->sequence, 1, memory_order_release);
	syscall(SYS_futex, &eventcount->sequence, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
