/* SPDX-License-Identifier: MIT */
/*
 * What the random sequences run on: two slots of buffers of all kinds in overlapping groups,
 * recorded consumers, and room for what they see.
 */
#ifndef H2DPUB_TESTS_SEQUENCE_WORLD_H
#define H2DPUB_TESTS_SEQUENCE_WORLD_H

#include "hsa/kernel_arguments.h"
#include "publication_case.h"

#define SLOTS	   2
#define MEMBERS	   5
#define GROUPS	   3
#define REPLAYS	   14
#define COPIES	   28 /* by enqueue_copy() in one sequence */
#define TIMEOUT_NS UINT64_C(20000000000)

/*
 * Flat byte buffers with odd sizes; the third is above the pack limit when it is full, the fourth
 * lies in memory of the caller. The fifth is strided there on both sides: rows of 10 bytes.
 */
#define WRAPPED	     3
#define STRIDED	     4
#define ROWS	     30
#define ROW_BYTES    10
#define SOURCE_PITCH 24
#define DEVICE_PITCH 14

extern const uint32_t capacities[MEMBERS]; /* in bytes, of the fifth in rows */
/* From the first to the last byte, on the device and in the source. */
extern const uint32_t sizes[MEMBERS], source_sizes[MEMBERS];

/* Where a member lies among the others of its slot, in a snapshot and in a copy of all sources. */
extern const uint32_t offsets[MEMBERS];
#define SNAPSHOT    73856
#define SOURCE_SIZE 74368

/*
 * Group 0 has all flat members, group 1 the first two; so under packed, group 1 is covered: direct.
 * Group 2 has a strided member: direct.
 */
extern const uint32_t group_sizes[GROUPS];
extern const uint32_t group_members[GROUPS][4];
extern const char *const group_names[GROUPS];

extern struct sequence_world {
	h2d_registry_t *registry;
	h2d_owner_t *owner[SLOTS];
	h2d_buffer_t *buffer[SLOTS][MEMBERS];
	/* The caller's memory: of WRAPPED and STRIDED, each host and device. */
	void *wrapped[SLOTS][2][2];
	h2d_group_t *group[SLOTS][GROUPS];
	h2d_graph_t *graph[SLOTS]; /* the consumer: copies all destinations to `seen` */
	uint8_t *seen;
	uint8_t *snapshots; /* of `seen` after each replay */
	uint8_t *constants; /* what GPU writes write */
	struct h2d_pull_arguments *arguments[COPIES];
} world;

void make_world(h2d_backend_t backend);
void destroy_world(void);

/* A kernel that copies, as consumers read and write; enqueued or recorded. */
h2d_status_t enqueue_copy(const struct h2d_pull_arguments *arguments);

#endif
