/* SPDX-License-Identifier: MIT */
/*
 * Block tables: the page ids of each request, and the prepared snapshot of a batch of them.
 *
 * A *row* (h2d_block_table_t) is one request's growable list of page ids. Its version names a
 * lineage: appending keeps the version, any other change and every independent copy draws a new
 * one from a process-wide counter that never repeats. So for two observations of rows,
 *
 *   same version and length >= n   =>   the first n ids are the same.
 *
 * A *table state* prepares the rows of a batch in a fixed host array (rows x columns of int32) and
 * uses versions and lengths to touch only what has changed. Nothing here uses a GPU: publication
 * of a prepared table is table_publication.h.
 */
#ifndef H2DPUB_BLOCK_TABLE_H
#define H2DPUB_BLOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <h2dpub/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct h2d_block_table h2d_block_table_t;

/*
 * Makes a row with a copy of these ids and a new version. ids may be NULL if count is 0.
 * Threading of rows: any number of readers or one writer; retain and release from any thread.
 * OUT_OF_MEMORY; OUT_OF_RANGE: more than UINT32_MAX ids.
 */
H2D_API h2d_status_t h2d_block_table_create(const int32_t *ids, uint64_t count,
					    h2d_block_table_t **table);

/* Makes an independent copy with a new version. OUT_OF_MEMORY. */
H2D_API h2d_status_t h2d_block_table_copy(const h2d_block_table_t *table, h2d_block_table_t **copy);

/* Shares a row: each retain needs one more release. */
H2D_API void h2d_block_table_retain(const h2d_block_table_t *table);

/* Gives up a reference; the last one frees the row. NULL is allowed. */
H2D_API void h2d_block_table_release(const h2d_block_table_t *table);

/* The version, and the number of ids. */
H2D_API uint64_t h2d_block_table_version(const h2d_block_table_t *table);
H2D_API uint32_t h2d_block_table_length(const h2d_block_table_t *table);

/* The ids, borrowed until the next call that changes the row. Reading never blocks an append. */
H2D_API const int32_t *h2d_block_table_ids(const h2d_block_table_t *table);

/*
 * Appends; the version stays. ids must not lie in the row itself. OUT_OF_MEMORY; OUT_OF_RANGE: more
 * than UINT32_MAX ids.
 */
H2D_API h2d_status_t h2d_block_table_append(h2d_block_table_t *table, int32_t id);
H2D_API h2d_status_t h2d_block_table_extend(h2d_block_table_t *table, const int32_t *ids,
					    uint64_t count);

/*
 * Every other change draws a new version first, so that even a failing one does. OUT_OF_RANGE: an
 * index behind the end; insert also takes index = length. remove takes out the first occurrence
 * of id (NOT_FOUND). pop takes out the last id (OUT_OF_RANGE when empty; id may be NULL). erase
 * takes out count ids from first on.
 */
H2D_API h2d_status_t h2d_block_table_set(h2d_block_table_t *table, uint32_t index, int32_t id);
H2D_API h2d_status_t h2d_block_table_insert(h2d_block_table_t *table, uint32_t index, int32_t id);
H2D_API h2d_status_t h2d_block_table_remove(h2d_block_table_t *table, int32_t id);
H2D_API h2d_status_t h2d_block_table_pop(h2d_block_table_t *table, int32_t *id);
H2D_API h2d_status_t h2d_block_table_erase(h2d_block_table_t *table, uint32_t first,
					   uint32_t count);
H2D_API void h2d_block_table_reverse(h2d_block_table_t *table);
H2D_API void h2d_block_table_clear(h2d_block_table_t *table);

/* ---- the prepared snapshot of a batch -------------------------------------------------------- */

typedef struct h2d_table_state h2d_table_state_t;

/* No limit on page ids (they must still be >= 0). */
#define H2D_NO_PAGE_LIMIT UINT64_MAX

/*
 * Called before the first host write of a prepare, pad or slice that changes something: makes the
 * host array writable (h2d_buffer_acquire_write) or fails with the status to return. reason is the
 * caller's, or NULL.
 */
typedef h2d_status_t (*h2d_table_acquire_t)(void *context, const char *reason);

/*
 * Makes the state of one host array of rows x columns int32, contiguous, which the state writes and
 * the caller keeps allocated. From now on nobody else writes the array. Its contents may be
 * anything: rows never described are taken to hold stale ids. name is for messages; copied.
 * acquire may be NULL. A state is used by one thread at a time. OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_table_state_create(const char *name, int32_t *host, uint32_t rows,
					    uint32_t columns, h2d_table_acquire_t acquire,
					    void *context, h2d_table_state_t **state);
H2D_API void h2d_table_state_destroy(h2d_table_state_t *state);

/*
 * The rows of a batch, borrowed for the call. Row i is tables[i] if tables and tables[i] are not
 * NULL; else the unversioned ids[i][0..lengths[i]), which are compared with the snapshot.
 */
typedef struct h2d_table_rows {
	uint32_t count;
	const h2d_block_table_t *const *tables; /* [count] or NULL */
	const int32_t *const *ids;              /* [count] or NULL */
	const uint32_t *lengths;                /* [count] or NULL; of the unversioned rows */
	/*
	 * Pages that each row must have this step, [count] or NULL: checked on every call, also on
	 * a hit, without reading an id.
	 */
	const uint32_t *required_pages;
} h2d_table_rows_t;

typedef struct h2d_table_options {
	uint32_t pad_to;      /* rows [count, pad_to) are zeroed; 0: count */
	uint64_t page_limit;  /* every id < page_limit, or H2D_NO_PAGE_LIMIT */
	const char *reason;   /* handed to acquire: a second publication within an epoch */
} h2d_table_options_t;

/*
 * Brings the host array to these rows: row i holds its ids, then zeros. A batch with the versions,
 * lengths, padding and limit of the last one is a hit: two compares a row, no id read, nothing
 * written, no acquire. Appends copy the added ids only; a changed row is rewritten alone. A row
 * knows a bound of its ids, so that a limit is checked without reading them, in any order of rows
 * and under any limit, unless the bound is left over from ids that the row has lost.
 *
 * The whole batch is validated and the source acquired before anything is written:
 * OUT_OF_RANGE: more rows or ids than the array holds, fewer pages than required, an id outside
 * [0, page_limit) ("PAGE table is incomplete or out of range"); errors of acquire. On any error
 * the array, the state and the revision are as before.
 */
H2D_API h2d_status_t h2d_table_state_prepare(h2d_table_state_t *state,
					     const h2d_table_rows_t *rows,
					     const h2d_table_options_t *options);

/*
 * Pads the prepared rows to running rows with zero rows, and forgets rows from scheduled on. If no
 * row has to be zeroed for that, nothing is acquired and the revision stays. OUT_OF_RANGE:
 * scheduled > running, running > rows, or scheduled more than were prepared.
 */
H2D_API h2d_status_t h2d_table_state_pad(h2d_table_state_t *state, uint32_t scheduled,
					 uint32_t running, const char *reason);

/*
 * Prepares target with rows [first, first + count) of source, sharing their versions, for a
 * sub-batch that has its own buffer. They are below the limit of source already, so that these
 * options' page_limit does not count.
 *
 * If source does not describe all of these rows, all are taken at full width and without versions,
 * as they stand in its array, so that an append to one of them rewrites it. Then every id, those of
 * the rows that source describes included, must be below these options' page_limit.
 * OUT_OF_RANGE: behind the rows of source; errors of prepare.
 */
H2D_API h2d_status_t h2d_table_state_slice(const h2d_table_state_t *source, uint32_t first,
					   uint32_t count, h2d_table_state_t *target,
					   const h2d_table_options_t *options);

/* Grows by one with every change of the host array. */
H2D_API uint64_t h2d_table_state_revision(const h2d_table_state_t *state);

/* Rows that the array describes, and the row behind the last that is described or zero. */
H2D_API uint32_t h2d_table_state_described_rows(const h2d_table_state_t *state);
H2D_API uint32_t h2d_table_state_valid_rows(const h2d_table_state_t *state);

/* What preparing has done so far, for reports. */
typedef struct h2d_table_totals {
	uint64_t prepares;     /* successful calls of prepare (and slice, as target) */
	uint64_t hits;         /* of which hits */
	uint64_t rows_appended; /* rows that only grew */
	uint64_t rows_written;  /* rows rewritten from their first id */
	uint64_t ids_written;
} h2d_table_totals_t;

H2D_API void h2d_table_state_get_totals(const h2d_table_state_t *state,
					h2d_table_totals_t *totals);

#ifdef __cplusplus
}
#endif

#endif
