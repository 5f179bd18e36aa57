/* SPDX-License-Identifier: MIT */
/* A group's inside, as transports see it: dense arrays with one entry a member. */
#ifndef H2DPUB_SRC_PUBLISH_GROUP_H
#define H2DPUB_SRC_PUBLISH_GROUP_H

#include "publish/buffer.h"

typedef struct h2d_packed h2d_packed_t;
typedef struct h2d_pull h2d_pull_t;

struct h2d_group {
	h2d_owner_t *owner;
	char *name;
	uint32_t index; /* among the owner's groups: the order of creation */
	uint32_t size;
	h2d_buffer_t **buffers;

	/* What a publication reads of its members. */
	uint32_t *ledger_index;
	uint64_t *mask; /* the members' bits in the ledger */
	uint32_t mask_words;
	uint64_t *capacity;
	uint64_t *bytes_per_count;
	const uint8_t **source;
	uint8_t **destination;

	int64_t *counts; /* set by h2d_group_set_count(), kept across epochs */

	/*
	 * What the last checked counts mean. Steps of the same batch size publish the same counts
	 * again and again, and find it ready.
	 */
	bool measured;
	bool measured_own; /* these are the group's own counts, which have not changed since */
	int64_t *measured_counts;
	uint64_t *bytes; /* 0: nothing to copy */
	uint64_t total_bytes;
	uint64_t chunks;          /* h2d_chunk_count() of all members: the kernels' workgroups */
	uint32_t active;          /* members with bytes */
	uint64_t *published_mask; /* the bits of members that are published */
	uint64_t *in_use_mask;    /* the bits of active members */
	bool described;           /* the transport's descriptors hold these bytes */

	/* By buffer index: see h2d_group_position(). */
	uint32_t *position;
	uint32_t position_count;

	h2d_backend_t transport;
	bool transport_chosen; /* by the caller: selection leaves it alone */
	const char *fallback_reason;
	h2d_packed_t *packed;
	h2d_pull_t *pull;
	uint64_t in_flight_epoch; /* the owner's epoch: the GPU may still read the descriptors */
};

/* A buffer's position in a group of its owner; the group's size: it is not a member. */
static inline uint32_t h2d_group_position(const h2d_group_t *group, const h2d_buffer_t *buffer)
{
	return buffer->index < group->position_count ? group->position[buffer->index] : group->size;
}

/* Makes a group and appends it to the owner's groups, without checking the members. */
h2d_status_t h2d_group_make(h2d_owner_t *owner, const char *name, h2d_buffer_t *const buffers[],
			    uint32_t count, h2d_group_t **group);

/* ALREADY_PUBLISHED if a member was published in this epoch; in any state of the owner. */
h2d_status_t h2d_group_check_fresh(const h2d_group_t *group);

/* Frees a group that is no longer any owner's. */
void h2d_group_free(h2d_group_t *group);

#endif
