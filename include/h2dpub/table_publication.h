/* SPDX-License-Identifier: MIT */
/*
 * Publishing block tables: a table state (block_table.h) over a buffer (publication.h). Preparing
 * and publishing have separate revisions: a table is uploaded only when what the device holds is
 * not what is prepared.
 *
 * Threading: a table is used like its buffer, by the thread of the owner's epoch.
 */
#ifndef H2DPUB_TABLE_PUBLICATION_H
#define H2DPUB_TABLE_PUBLICATION_H

#include <h2dpub/block_table.h>
#include <h2dpub/publication.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_published_table h2d_published_table_t;

/*
 * Attaches a table to a buffer: two dimensions, 4-byte elements, unit rows, contiguous. From now on
 * the source is written, and the buffer published, through the table only. Once the buffer is
 * destroyed, with its owner or alone, the table may only be destroyed too: its other calls refuse
 * (INVALID_STATE). INVALID_ARGUMENT: another shape; INVALID_STATE: the buffer has a table already,
 * as neither would know what the other sends; OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_published_table_create(h2d_buffer_t *buffer,
						h2d_published_table_t **table);
H2D_API void h2d_published_table_destroy(h2d_published_table_t *table);

/* The state, for its revision and totals, and as source of h2d_published_table_slice(). */
H2D_API const h2d_table_state_t *h2d_published_table_state(const h2d_published_table_t *table);

/*
 * h2d_table_state_prepare(), _pad() and _slice() with the buffer's source acquired before the first
 * write: a table that was published in this epoch and changes needs a reason (ALREADY_PUBLISHED).
 * A call that changes nothing needs no owner at all. Errors as for those calls and
 * h2d_buffer_acquire_write().
 */
H2D_API h2d_status_t h2d_published_table_prepare(h2d_published_table_t *table,
						 h2d_stream_t *stream,
						 const h2d_table_rows_t *rows,
						 const h2d_table_options_t *options);
H2D_API h2d_status_t h2d_published_table_pad(h2d_published_table_t *table, h2d_stream_t *stream,
					     uint32_t scheduled, uint32_t running,
					     const char *reason);
H2D_API h2d_status_t h2d_published_table_slice(const h2d_published_table_t *source, uint32_t first,
					       uint32_t count, h2d_published_table_t *target,
					       h2d_stream_t *stream,
					       const h2d_table_options_t *options);

/*
 * Publishes the first rows of the prepared table, alone (group NULL) or with the other members of a
 * group, whose counts are set already. If the device holds this revision and row count already, the
 * table is omitted: the group is published without it, and alone nothing is done at all, in any
 * state of the owner. Its device address stays good. *uploaded (may be NULL) says whether it was
 * sent. reasons: as for h2d_group_publish(), one a member; without a group, one.
 * OUT_OF_RANGE: rows beyond what is described or zero. NOT_FOUND: the group does not hold the
 * table's buffer. On these and all errors of h2d_group_publish() the revision does not count as
 * published.
 */
H2D_API h2d_status_t h2d_published_table_publish(h2d_published_table_t *table,
						 h2d_stream_t *stream, uint32_t rows,
						 h2d_group_t *group, const char *const reasons[],
						 bool *uploaded);

/* Says that somebody else wrote the device's table: the next publication sends it in any case. */
H2D_API void h2d_published_table_invalidate(h2d_published_table_t *table);

/* What its publications did, for reports; those that failed do not count. */
typedef struct h2d_published_table_totals {
	uint64_t uploads;
	uint64_t bytes_uploaded;
	uint64_t uploads_omitted; /* publications whose rows the device held already */
	uint64_t bytes_omitted;   /* which these would have sent */
} h2d_published_table_totals_t;

H2D_API void h2d_published_table_get_totals(const h2d_published_table_t *table,
					    h2d_published_table_totals_t *totals);

#ifdef __cplusplus
}
#endif

#endif
