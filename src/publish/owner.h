/* SPDX-License-Identifier: MIT */
/* An owner's inside, as buffers, groups and transports see it. */
#ifndef H2DPUB_SRC_PUBLISH_OWNER_H
#define H2DPUB_SRC_PUBLISH_OWNER_H

#include <h2dpub/publication.h>

#include "hsa/device.h"
#include "hsa/stream.h"

struct h2d_owner {
	h2d_device_t *device;
	h2d_registry_t *registry;
	bool registry_is_private;
	bool omit_end_fence;
	h2d_backend_t backend;
	uint64_t timeout_ns;
	uint64_t pack_limit_bytes;
	char *name;

	h2d_owner_state_t state;
	uint64_t epoch;
	uint64_t thread;      /* of the last begin, as are: */
	h2d_stream_t *stream; /* retained; NULL before the first begin */
	uint64_t stream_identity;

	/*
	 * Counts the enqueued completion packets that have not run yet: 0 means that the GPU is
	 * done with everything up to the last one. So finish, resume, finish and record compose.
	 */
	hsa_signal_t completion;
	h2d_packet_t completion_packet;

	/*
	 * The ledger of the epoch, one bit a buffer: those that were published, and those whose
	 * source the GPU may still read. The bits that buffers have are taken.
	 */
	uint64_t *published;
	uint64_t *in_use;
	uint64_t *taken;
	uint32_t ledger_words;

	h2d_buffer_t **buffers; /* each with its implicit group among the groups */
	uint32_t buffer_count;
	h2d_group_t **groups;
	uint32_t group_count;

	h2d_publication_totals_t totals;
	bool drained;
	char failure[512]; /* why the owner failed */
};

static inline bool h2d_ledger_holds(const uint64_t ledger[], uint32_t index)
{
	return ledger[index / 64] >> (index % 64) & 1;
}

static inline void h2d_ledger_put(uint64_t ledger[], uint32_t index, bool holds)
{
	uint64_t bit = UINT64_C(1) << (index % 64);

	ledger[index / 64] = holds ? ledger[index / 64] | bit : ledger[index / 64] & ~bit;
}

/*
 * The checks of every call that belongs to an epoch, in this order: state, thread, device, capture,
 * stream. what and name say in the message who asks, such as "group" and "pair".
 */
h2d_status_t h2d_owner_check_active(const h2d_owner_t *owner, const h2d_stream_t *stream,
				    const char *what, const char *name);

/* INVALID_STATE unless the owner is idle. */
h2d_status_t h2d_owner_check_idle(const h2d_owner_t *owner, const char *action);

/* Enqueues the completion packet and waits for it. */
h2d_status_t h2d_owner_wait_for_sources(h2d_owner_t *owner, h2d_stream_t *stream);

/*
 * If the owner's stream has failed: stops its queue, and lets the copies go that wait for what the
 * queue does no more. They block a DMA engine that other owners use too. HSA_ERROR.
 */
h2d_status_t h2d_owner_open_gates(h2d_owner_t *owner);

/*
 * Fails the owner for the error that h2d_error_message() tells, and returns status with a message
 * that adds what was being done: the format.
 */
h2d_status_t h2d_owner_fail_with(h2d_owner_t *owner, h2d_status_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends a buffer / a group: takes it over. OUT_OF_MEMORY leaves it the caller's. */
h2d_status_t h2d_owner_add_buffer(h2d_owner_t *owner, h2d_buffer_t *buffer);
h2d_status_t h2d_owner_add_group(h2d_owner_t *owner, h2d_group_t *group);

/* Gives it back to the caller. A buffer's groups must be gone. */
void h2d_owner_remove_buffer(h2d_owner_t *owner, h2d_buffer_t *buffer);
void h2d_owner_remove_group(h2d_owner_t *owner, h2d_group_t *group);

/* INVALID_STATE if a recording uses one of the owner's buffers. */
h2d_status_t h2d_owner_check_unrecorded(const h2d_owner_t *owner);

#endif
