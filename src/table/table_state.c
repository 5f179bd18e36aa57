/* SPDX-License-Identifier: MIT */
/*
 * The prepared snapshot of a batch of rows in one host array.
 *
 * The host array itself is the snapshot: what it holds is described by the versions and lengths of
 * the rows last prepared, so that the next batch is compared with those alone.
 */
#include "table_state.h"

#include <stdlib.h>
#include <string.h>

#include "block_table_row.h"
#include "error.h"

/* A row of the batch being prepared that the array does not hold as it is. */
struct row_change {
	uint64_t version;
	const int32_t *ids;
	uint32_t row;
	uint32_t length;
	uint32_t id_bound; /* no id, read as unsigned, is known to be above it */
};

struct h2d_table_state {
	char *name;
	int32_t *host;
	uint32_t rows;
	uint32_t columns;
	h2d_table_acquire_t acquire;
	void *context;

	/* Rows [0, described) hold the ids of these versions and lengths, then zeros. */
	uint64_t *versions;
	uint32_t *lengths;
	uint32_t described;
	uint32_t zero_to; /* rows [described, zero_to) are zero */
	uint64_t page_limit; /* that all of these ids are known to be below */
	uint64_t revision;

	struct row_change *changes; /* of the batch being prepared */
	uint32_t change_count;

	h2d_table_totals_t totals;
};

void h2d_table_state_destroy(h2d_table_state_t *state)
{
	if (!state)
		return;
	free(state->name);
	free(state->versions);
	free(state->lengths);
	free(state->changes);
	free(state);
}

h2d_status_t h2d_table_state_create(const char *name, int32_t *host, uint32_t rows,
				    uint32_t columns, h2d_table_acquire_t acquire, void *context,
				    h2d_table_state_t **out)
{
	h2d_table_state_t *state;
	/* calloc(0) may return NULL; a table without rows is legal. */
	size_t places = rows ? rows : 1;

	if (!name || !out || (!host && rows && columns))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "table state: NULL argument");
	state = calloc(1, sizeof(*state));
	if (!state)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "%s: no memory for a table state", name);
	state->name = strdup(name);
	state->host = host;
	state->rows = rows;
	state->columns = columns;
	state->acquire = acquire;
	state->context = context;
	state->versions = calloc(places, sizeof(*state->versions));
	state->lengths = calloc(places, sizeof(*state->lengths));
	state->changes = calloc(places, sizeof(*state->changes));
	state->page_limit = H2D_NO_PAGE_LIMIT;
	if (!state->name || !state->versions || !state->lengths || !state->changes) {
		h2d_table_state_destroy(state);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "%s: no memory for a table state of %u rows",
				 name, rows);
	}
	*out = state;
	return H2D_STATUS_SUCCESS;
}

static int32_t *host_row(const h2d_table_state_t *state, uint32_t row)
{
	return state->host + (size_t)row * state->columns;
}

static void zero_rows(h2d_table_state_t *state, uint32_t first, uint32_t end)
{
	if (first < end && state->columns)
		memset(host_row(state, first), 0,
		       (size_t)(end - first) * state->columns * sizeof(*state->host));
}

/*
 * Makes the array writable and forgets what it describes: should a write be interrupted, no later
 * batch can take the half-written array for its own.
 */
static h2d_status_t begin_write(h2d_table_state_t *state, const char *reason)
{
	h2d_status_t status;

	if (state->acquire) {
		status = state->acquire(state->context, reason);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	state->revision++;
	state->described = 0;
	state->zero_to = 0;
	return H2D_STATUS_SUCCESS;
}

/* ---- what changes ---------------------------------------------------------------------------- */

static void add_change(h2d_table_state_t *state, uint32_t row, uint64_t version, const int32_t *ids,
		       uint32_t length, uint32_t id_bound)
{
	state->changes[state->change_count++] = (struct row_change){
		.version = version,
		.ids = ids,
		.row = row,
		.length = length,
		.id_bound = id_bound,
	};
}

/* An unversioned row that equals the snapshot keeps its version; any other gets a new one. */
static void consider_ids(h2d_table_state_t *state, uint32_t row, const int32_t *ids,
			 uint32_t length)
{
	if (row < state->described && state->lengths[row] == length &&
	    (!length || !memcmp(host_row(state, row), ids, length * sizeof(*ids))))
		return;
	add_change(state, row, h2d_block_table_draw_version(), ids, length,
		   h2d_largest_id(ids, length));
}

static h2d_status_t consider_unversioned(h2d_table_state_t *state, const h2d_table_rows_t *rows,
					 uint32_t row)
{
	if (!rows->lengths || !rows->ids || (rows->lengths[row] && !rows->ids[row]))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: row %u has neither a block table nor ids", state->name, row);
	consider_ids(state, row, rows->ids[row], rows->lengths[row]);
	return H2D_STATUS_SUCCESS;
}

/*
 * The first row from here on that is not a block table as it was. The only code that looks at every
 * row of a batch, and mostly at all of them: two compares a row.
 */
static uint32_t skip_unchanged(const h2d_table_state_t *state, const h2d_table_rows_t *rows,
			       uint32_t row)
{
	const h2d_block_table_t *const *tables = rows->tables;
	const uint64_t *versions = state->versions;
	const uint32_t *lengths = state->lengths;
	uint32_t end = rows->count < state->described ? rows->count : state->described;

	while (tables && row < end && tables[row] &&
	       !((tables[row]->version ^ versions[row]) | (tables[row]->length ^ lengths[row])))
		row++;
	return row;
}

static h2d_status_t find_changes(h2d_table_state_t *state, const h2d_table_rows_t *rows)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;
	uint32_t row = skip_unchanged(state, rows, 0);

	state->change_count = 0;
	while (row < rows->count && status == H2D_STATUS_SUCCESS) {
		const h2d_block_table_t *table = rows->tables ? rows->tables[row] : NULL;

		if (table)
			add_change(state, row, table->version, table->ids, table->length,
				   table->id_bound);
		else
			status = consider_unversioned(state, rows, row);
		row = skip_unchanged(state, rows, row + 1);
	}
	return status;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static h2d_status_t check_required_pages(const h2d_table_state_t *state,
					 const h2d_table_rows_t *rows)
{
	if (!rows->required_pages)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < rows->count; i++) {
		const h2d_block_table_t *table = rows->tables ? rows->tables[i] : NULL;
		uint32_t length = table ? table->length : rows->lengths[i];

		if (length < rows->required_pages[i])
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "%s: row %u of the request PAGE table is incomplete or out of "
					 "range: %u pages, %u required",
					 state->name, i, length, rows->required_pages[i]);
	}
	return H2D_STATUS_SUCCESS;
}

/* Ids are int32, so no limit is above 2^31. */
static uint64_t effective_limit(uint64_t page_limit)
{
	return page_limit > INT32_MAX ? UINT64_C(1) << 31 : page_limit;
}

/* A bound may be left over from ids that the row has lost, so the ids themselves decide. */
static h2d_status_t check_ids(const h2d_table_state_t *state, uint32_t row, const int32_t *ids,
			      uint32_t length, uint64_t limit)
{
	uint32_t column = 0;

	while (column < length && (uint32_t)ids[column] < limit)
		column++;
	if (column == length)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_OUT_OF_RANGE,
			 "%s: request PAGE table is incomplete or out of range: row %u column %u has "
			 "page %d, the limit is %llu",
			 state->name, row, column, ids[column], (unsigned long long)limit);
}

/* Most rows are known to be below the limit without a look at their ids. */
static h2d_status_t check_changes(const h2d_table_state_t *state, uint64_t page_limit)
{
	uint64_t limit = effective_limit(page_limit);

	for (uint32_t i = 0; i < state->change_count; i++) {
		const struct row_change *change = &state->changes[i];
		h2d_status_t status = H2D_STATUS_SUCCESS;

		if (change->length > state->columns)
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "%s: row %u has %u ids, the table %u columns", state->name,
					 change->row, change->length, state->columns);
		if (change->id_bound >= limit)
			status = check_ids(state, change->row, change->ids, change->length, limit);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return H2D_STATUS_SUCCESS;
}

/* Under a lower limit than before, the rows that stay as they are must be looked at again. */
static h2d_status_t check_unchanged(const h2d_table_state_t *state, uint32_t count,
				    uint64_t page_limit)
{
	uint64_t limit = effective_limit(page_limit);
	const struct row_change *change = state->changes;
	const struct row_change *end = change + state->change_count;

	if (limit >= effective_limit(state->page_limit))
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < count; i++) {
		h2d_status_t status;

		if (change < end && change->row == i) {
			change++;
			continue;
		}
		status = check_ids(state, i, host_row(state, i), state->lengths[i], limit);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return H2D_STATUS_SUCCESS;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* described: rows that the array described before. */
static void write_row(h2d_table_state_t *state, const struct row_change *change, uint32_t described)
{
	uint32_t row = change->row, length = change->length;
	int32_t *ids = host_row(state, row);
	/* A row that was never described may hold stale ids in every column. */
	uint32_t old = row < described ? state->lengths[row] : state->columns;
	bool same_lineage = row < described && state->versions[row] == change->version;
	uint32_t first = same_lineage && old <= length ? old : 0;

	if (length - first == 1)
		ids[first] = change->ids[first];
	else if (length > first)
		memcpy(ids + first, change->ids + first, (length - first) * sizeof(*ids));
	if (length < old)
		memset(ids + length, 0, (old - length) * sizeof(*ids));
	state->versions[row] = change->version;
	state->lengths[row] = length;
	if (first)
		state->totals.rows_appended++;
	else
		state->totals.rows_written++;
	state->totals.ids_written += length - first;
}

/* Brings the array to the checked changes; rows up to end are to be zero. */
static h2d_status_t write_changes(h2d_table_state_t *state, uint32_t count, uint32_t end,
				  const char *reason)
{
	uint32_t described = state->described;
	uint32_t zero_to = state->zero_to;
	bool clear_padding = end > count && (count != described || end > zero_to);

	if (state->change_count || clear_padding) {
		h2d_status_t status = begin_write(state, reason);

		if (status != H2D_STATUS_SUCCESS)
			return status;
		for (uint32_t i = 0; i < state->change_count; i++)
			write_row(state, &state->changes[i], described);
		if (clear_padding)
			zero_rows(state, count, end);
	}
	state->zero_to = count == described && zero_to > end ? zero_to : end;
	state->described = count;
	return H2D_STATUS_SUCCESS;
}

/* ---- the public calls ------------------------------------------------------------------------ */

static h2d_status_t check_extent(const h2d_table_state_t *state, uint32_t count, uint32_t end)
{
	if (count <= end && end <= state->rows)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_OUT_OF_RANGE, "%s: %u rows padded to %u, the table has %u rows",
			 state->name, count, end, state->rows);
}

static bool is_hit(const h2d_table_state_t *state, uint32_t count, uint32_t end,
		   uint64_t page_limit)
{
	return state->change_count == 0 && count == state->described && end <= state->zero_to &&
	       page_limit == state->page_limit;
}

/* Checks and writes the changes that were found. */
static h2d_status_t apply_changes(h2d_table_state_t *state, uint32_t count, uint32_t end,
				  uint64_t page_limit, const char *reason)
{
	h2d_status_t status = check_changes(state, page_limit);

	if (status == H2D_STATUS_SUCCESS)
		status = check_unchanged(state, count, page_limit);
	if (status == H2D_STATUS_SUCCESS)
		status = write_changes(state, count, end, reason);
	if (status == H2D_STATUS_SUCCESS)
		state->page_limit = page_limit;
	return status;
}

h2d_status_t h2d_table_state_prepare(h2d_table_state_t *state, const h2d_table_rows_t *rows,
				     const h2d_table_options_t *options)
{
	uint64_t page_limit = options ? options->page_limit : H2D_NO_PAGE_LIMIT;
	uint32_t end;
	bool hit;
	h2d_status_t status;

	if (!state || !rows)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "table state prepare: NULL argument");
	end = options && options->pad_to ? options->pad_to : rows->count;
	status = check_extent(state, rows->count, end);
	if (status == H2D_STATUS_SUCCESS)
		status = find_changes(state, rows);
	if (status == H2D_STATUS_SUCCESS)
		status = check_required_pages(state, rows);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	hit = is_hit(state, rows->count, end, page_limit);
	if (!hit)
		status = apply_changes(state, rows->count, end, page_limit,
				       options ? options->reason : NULL);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	state->totals.prepares++;
	state->totals.hits += hit;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_table_state_pad(h2d_table_state_t *state, uint32_t scheduled, uint32_t running,
				 const char *reason)
{
	h2d_status_t status;

	if (!state)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "table state pad: NULL argument");
	status = check_extent(state, scheduled, running);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (scheduled > state->described)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "%s: %u rows scheduled, %u were prepared",
				 state->name, scheduled, state->described);
	/* The rows that stay are as they were. */
	state->change_count = 0;
	return write_changes(state, scheduled, running, reason);
}

/* Rows that the source describes keep their versions; others are taken as they stand. */
static void find_slice_changes(const h2d_table_state_t *source, uint32_t first, uint32_t count,
			       bool described, h2d_table_state_t *target)
{
	target->change_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const int32_t *ids = host_row(source, first + i);
		uint64_t version = source->versions[first + i];
		uint32_t length = source->lengths[first + i];

		if (!described)
			consider_ids(target, i, ids, source->columns);
		else if (i >= target->described || target->versions[i] != version ||
			 target->lengths[i] != length)
			/* It is below the source's limit, which is the target's. */
			add_change(target, i, version, ids, length, 0);
	}
}

h2d_status_t h2d_table_state_slice(const h2d_table_state_t *source, uint32_t first, uint32_t count,
				   h2d_table_state_t *target, const h2d_table_options_t *options)
{
	uint64_t page_limit = options ? options->page_limit : H2D_NO_PAGE_LIMIT;
	uint32_t end = options && options->pad_to ? options->pad_to : count;
	h2d_status_t status;
	bool described, hit;

	if (!source || !target || source == target)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "table state slice: needs two different table states");
	if (first > source->rows || count > source->rows - first)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: slice of %u rows from row %u, the table has %u rows",
				 source->name, count, first, source->rows);
	status = check_extent(target, count, end);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	described = first + count <= source->described;
	if (described)
		page_limit = source->page_limit;
	find_slice_changes(source, first, count, described, target);
	hit = is_hit(target, count, end, page_limit);
	if (!hit)
		status = apply_changes(target, count, end, page_limit,
				       options ? options->reason : NULL);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	target->totals.prepares++;
	target->totals.hits += hit;
	return H2D_STATUS_SUCCESS;
}

/* The same ids as the snapshot's, whatever the version. */
static bool holds_row(const h2d_table_state_t *state, const h2d_table_rows_t *rows, uint32_t row)
{
	const h2d_block_table_t *table = rows->tables ? rows->tables[row] : NULL;
	const int32_t *ids = table ? table->ids : rows->ids[row];
	uint32_t length = table ? table->length : rows->lengths[row];

	return row < state->described && state->lengths[row] == length &&
	       (!length || !memcmp(host_row(state, row), ids, length * sizeof(*ids)));
}

uint32_t h2d_table_state_find_difference(const h2d_table_state_t *state,
					 const h2d_table_rows_t *rows)
{
	uint32_t row = skip_unchanged(state, rows, 0);

	while (row < rows->count && holds_row(state, rows, row))
		row = skip_unchanged(state, rows, row + 1);
	return row;
}

const int32_t *h2d_table_state_row(const h2d_table_state_t *state, uint32_t row, uint32_t *length)
{
	*length = state->lengths[row];
	return host_row(state, row);
}

uint64_t h2d_table_state_revision(const h2d_table_state_t *state)
{
	return state->revision;
}

uint32_t h2d_table_state_described_rows(const h2d_table_state_t *state)
{
	return state->described;
}

uint32_t h2d_table_state_valid_rows(const h2d_table_state_t *state)
{
	return state->zero_to > state->described ? state->zero_to : state->described;
}

void h2d_table_state_get_totals(const h2d_table_state_t *state, h2d_table_totals_t *totals)
{
	*totals = state->totals;
}
