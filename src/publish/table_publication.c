/* SPDX-License-Identifier: MIT */
/* Block tables as buffers: what is prepared on the host against what the device holds. */
#include <h2dpub/table_publication.h>

#include <stdlib.h>

#include "error.h"
#include "publish/buffer.h"

struct h2d_published_table {
	h2d_buffer_t *buffer; /* NULL once it is destroyed */
	h2d_table_state_t *state;
	h2d_stream_t *stream; /* of the call under way, for acquire_source() */

	/* What the device holds: this many rows of this revision, if valid. */
	bool device_valid;
	uint64_t device_revision;
	uint32_t device_rows;

	h2d_published_table_totals_t totals;
};

static h2d_status_t acquire_source(void *context, const char *reason)
{
	h2d_published_table_t *table = context;

	return h2d_buffer_acquire_write(table->buffer, table->stream, reason);
}

h2d_status_t h2d_published_table_create(h2d_buffer_t *buffer, h2d_published_table_t **out)
{
	h2d_published_table_t *table;
	h2d_status_t status;

	if (!buffer || !out)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "published table: NULL argument");
	if (buffer->dimensions != 2 || buffer->element_size != sizeof(int32_t) ||
	    buffer->unit != H2D_COUNT_ROWS || buffer->strided || buffer->shape[0] > UINT32_MAX ||
	    buffer->shape[1] > UINT32_MAX)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: a block table is rows x columns of 4-byte ids, contiguous, "
				 "counted in rows",
				 h2d_buffer_name(buffer));
	if (buffer->table_link)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "%s: another table publishes this buffer; destroy that one first",
				 h2d_buffer_name(buffer));
	table = calloc(1, sizeof(*table));
	if (!table)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "%s: no memory for a published table",
				 h2d_buffer_name(buffer));
	table->buffer = buffer;
	status = h2d_table_state_create(h2d_buffer_name(buffer), h2d_buffer_host(buffer),
					(uint32_t)buffer->shape[0], (uint32_t)buffer->shape[1],
					acquire_source, table, &table->state);
	if (status != H2D_STATUS_SUCCESS) {
		free(table);
		return status;
	}
	buffer->table_link = &table->buffer;
	*out = table;
	return H2D_STATUS_SUCCESS;
}

void h2d_published_table_destroy(h2d_published_table_t *table)
{
	if (!table)
		return;
	if (table->buffer)
		table->buffer->table_link = NULL;
	h2d_table_state_destroy(table->state);
	free(table);
}

const h2d_table_state_t *h2d_published_table_state(const h2d_published_table_t *table)
{
	return table->state;
}

static h2d_status_t check_table(const h2d_published_table_t *table, const char *call)
{
	if (!table)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "published table %s: the table is NULL", call);
	if (!table->buffer)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "published table %s: the table's buffer is destroyed", call);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_published_table_prepare(h2d_published_table_t *table, h2d_stream_t *stream,
					 const h2d_table_rows_t *rows,
					 const h2d_table_options_t *options)
{
	h2d_status_t status = check_table(table, "prepare");

	if (status != H2D_STATUS_SUCCESS)
		return status;
	table->stream = stream;
	return h2d_table_state_prepare(table->state, rows, options);
}

h2d_status_t h2d_published_table_pad(h2d_published_table_t *table, h2d_stream_t *stream,
				     uint32_t scheduled, uint32_t running, const char *reason)
{
	h2d_status_t status = check_table(table, "pad");

	if (status != H2D_STATUS_SUCCESS)
		return status;
	table->stream = stream;
	return h2d_table_state_pad(table->state, scheduled, running, reason);
}

h2d_status_t h2d_published_table_slice(const h2d_published_table_t *source, uint32_t first,
				       uint32_t count, h2d_published_table_t *target,
				       h2d_stream_t *stream, const h2d_table_options_t *options)
{
	h2d_status_t status = check_table(source, "slice");

	if (status == H2D_STATUS_SUCCESS)
		status = check_table(target, "slice");
	if (status != H2D_STATUS_SUCCESS)
		return status;
	target->stream = stream;
	return h2d_table_state_slice(source->state, first, count, target->state, options);
}

h2d_status_t h2d_published_table_publish(h2d_published_table_t *table, h2d_stream_t *stream,
					 uint32_t rows, h2d_group_t *group,
					 const char *const reasons[], bool *uploaded)
{
	h2d_status_t status = check_table(table, "publish");
	uint64_t revision, bytes;
	bool stale;

	if (status != H2D_STATUS_SUCCESS)
		return status;
	revision = h2d_table_state_revision(table->state);
	stale = !table->device_valid || table->device_revision != revision ||
		table->device_rows != rows;
	bytes = (uint64_t)rows * table->buffer->bytes_per_count;
	if (rows > h2d_table_state_valid_rows(table->state))
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: %u rows to publish, but only %u are prepared or zero; pad first",
				 h2d_buffer_name(table->buffer), rows,
				 h2d_table_state_valid_rows(table->state));
	if (group) {
		status = h2d_group_set_count(group, table->buffer,
					     stale ? (int64_t)rows : H2D_COUNT_OMITTED);
		if (status == H2D_STATUS_SUCCESS)
			status = h2d_group_publish(group, stream, NULL, reasons);
	} else if (stale) {
		status = h2d_buffer_publish(table->buffer, stream, (int64_t)rows,
					    reasons ? reasons[0] : NULL);
	}
	if (status != H2D_STATUS_SUCCESS)
		return status;
	table->device_valid = true;
	table->device_revision = revision;
	table->device_rows = rows;
	if (stale) {
		table->totals.uploads++;
		table->totals.bytes_uploaded += bytes;
	} else {
		table->totals.uploads_omitted++;
		table->totals.bytes_omitted += bytes;
	}
	if (uploaded)
		*uploaded = stale;
	return H2D_STATUS_SUCCESS;
}

void h2d_published_table_invalidate(h2d_published_table_t *table)
{
	table->device_valid = false;
}

void h2d_published_table_get_totals(const h2d_published_table_t *table,
				    h2d_published_table_totals_t *totals)
{
	*totals = table->totals;
}
