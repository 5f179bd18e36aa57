/* SPDX-License-Identifier: MIT */
/* Rows, for the other files of src/table. */
#ifndef H2DPUB_SRC_TABLE_BLOCK_TABLE_ROW_H
#define H2DPUB_SRC_TABLE_BLOCK_TABLE_ROW_H

#include <stdatomic.h>

#include <h2dpub/block_table.h>

/*
 * Where ids lie. Rows of one lineage that a decoder has grown one from the other share it: each
 * reads the ids up to its own length, which nobody writes any more.
 */
struct h2d_block_table_storage {
	atomic_uint references;
	uint32_t capacity;
	int32_t ids[];
};

struct h2d_block_table {
	uint64_t version;
	int32_t *ids; /* of the storage */
	struct h2d_block_table_storage *storage;
	uint32_t length;
	/*
	 * No id, read as unsigned, is above it. So whether a row stays below a limit is known without
	 * reading ids, whichever table it stands in and wherever.
	 */
	uint32_t id_bound;
	atomic_uint references;
};

/* The largest id, read as unsigned so that negative ids count as large ones; 0 for none. */
uint32_t h2d_largest_id(const int32_t *ids, uint32_t count);

/*
 * A version that was never handed out before in this process; never 0. Unversioned rows of a table
 * state draw from the same counter, so that a version never means two things.
 */
uint64_t h2d_block_table_draw_version(void);

/*
 * A new row of the same lineage: the ids of table, then tail, little-endian int32 of any alignment.
 * table NULL: a row of tail alone with a new version. For rows that are made here only and never
 * changed otherwise, by one thread at a time: it writes behind the ids of table, which others may
 * read meanwhile. So a row that table grew to before must be released, as a decoder does with the
 * rows of a message that it refuses; of an accepted one, the row that has grown takes its place.
 */
h2d_status_t h2d_block_table_grow(const h2d_block_table_t *table, const void *tail,
				  uint32_t tail_count, h2d_block_table_t **grown);

#endif
