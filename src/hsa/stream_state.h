/* SPDX-License-Identifier: MIT */
/* What the files of src/hsa share about a stream. */
#ifndef H2DPUB_SRC_HSA_STREAM_STATE_H
#define H2DPUB_SRC_HSA_STREAM_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "hsa/device_state.h"
#include "hsa/stream.h"

struct h2d_recording;

/* One logical stream, shared by its aliases. */
struct h2d_stream_state {
	h2d_device_t *device;
	hsa_queue_t *queue;
	bool own_queue;
	bool single_producer; /* the queue's type: its write index is not written atomically */
	uint64_t identity;
	uint64_t timeout_ns;
	_Atomic uint64_t free_end;    /* slots before this write index were seen to be free */
	_Atomic uint64_t write_index; /* the queue's, when last seen */
	_Atomic uint32_t objects;     /* aliases */
	_Atomic uint32_t queue_error; /* the hsa_status_t that the queue reported, 0: none */
	_Atomic(struct h2d_recording *) recording; /* not NULL: the stream captures */

	/*
	 * Each synchronization enqueues a barrier that takes 1 off the signal and waits until as
	 * many have completed as were enqueued up to its own.
	 */
	pthread_mutex_t synchronize_lock;
	hsa_signal_t synchronize_signal; /* 0 - completed barriers */
	int64_t synchronize_barriers;	 /* enqueued */
};

/* One object of the stream: what the user holds. */
struct h2d_stream {
	struct h2d_stream_state *state;
	_Atomic uint32_t references; /* owners and graphs that hold this object */
};

/* Whether the stream's queue or its device has failed. Inline, because every submission asks. */
static inline bool h2d_stream_failed(const struct h2d_stream_state *state)
{
	/* Acquire pairs with the release of the queue's error callback and of the fault handler. */
	return atomic_load_explicit(&state->queue_error, memory_order_acquire) != 0 ||
	       atomic_load_explicit(&state->device->faulted, memory_order_acquire);
}

/* As h2d_stream_wait_signal(), for a signal of either kind, until signal < limit. */
h2d_status_t h2d_stream_wait_below(h2d_stream_t *stream, hsa_signal_t signal,
				   enum h2d_signal_kind kind, hsa_signal_value_t limit,
				   uint64_t timeout_ns, const char *what);

#endif
