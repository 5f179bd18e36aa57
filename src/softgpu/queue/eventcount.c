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
	/* Sequentially consistent: pairs with the fence of notify, so that either the notifier
	 * sees this waiter or the waiter's next look at its condition sees the change. */
	atomic_fetch_add(&eventcount->waiters, 1);
	return atomic_load(&eventcount->sequence);
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
	/* Pairs with the increment of prepare. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&eventcount->waiters, memory_order_relaxed) == 0)
		return;
	atomic_fetch_add(&eventcount->sequence, 1);
	syscall(SYS_futex, &eventcount->sequence, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
