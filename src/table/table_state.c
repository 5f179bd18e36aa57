/* SPDX-License-Identifier: MIT */
/*
 * The prepared snapshot of a batch of rows in one host array.
 *
 * The host array itself is the snapshot: what it holds is described by the versions and lengths of
 * the rows last prepared, so that the next batch is compared with those alone.
 */
#include "block_table_row.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

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

	/* The batch being prepared. */
	uint64_t *new_versions;
	uint32_t *new_lengths;
	const int32_t **new_ids;
	uint32_t *new_bounds; /* no id of the row, as unsigned, is known to be above it */

	h2d_table_totals_t totals;
};

void h2d_table_state_destroy(h2d_table_state_t *state)
{
	if (!state)
		return;
	free(state->name);
	free(state->versions);
	free(state->lengths);
	free(state->new_versions);
	free(state->new_lengths);
	free(state->new_ids);
	free(state->new_bounds);
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
	state->new_versions = calloc(places, sizeof(*state->new_versions));
	state->new_lengths = calloc(places, sizeof(*state->new_lengths));
	state->new_ids = calloc(places, sizeof(*state->new_ids));
	state->new_bounds = calloc(places, sizeof(*state->new_bounds));
	state->page_limit = H2D_NO_PAGE_LIMIT;
	if (!state->name || !state->versions || !state->lengths || !state->new_versions ||
	    !state->new_lengths || !state->new_ids || !state->new_bounds) {
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

/* The largest id below the limit; ids are int32, so no limit is above 2^31. */
static uint32_t largest_page(uint64_t page_limit)
{
	if (page_limit > INT32_MAX)
		return INT32_MAX;
	return page_limit ? (uint32_t)page_limit - 1 : 0;
}

/* ---- the batch, as versions, lengths and ids ------------------------------------------------- */

/*
 * An unversioned row that equals the snapshot keeps its version and what is known of its ids; of
 * any other nothing is known.
 */
static void read_unversioned(h2d_table_state_t *state, uint32_t row, const int32_t *ids,
			     uint32_t length)
{
	state->new_ids[row] = ids;
	state->new_lengths[row] = length;
	if (row < state->described && state->lengths[row] == length &&
	    (!length || !memcmp(host_row(state, row), ids, length * sizeof(*ids)))) {
		state->new_versions[row] = state->versions[row];
		state->new_bounds[row] = largest_page(state->page_limit);
		return;
	}
	state->new_versions[row] = h2d_block_table_draw_version();
	state->new_bounds[row] = h2d_largest_id(ids, length);
}

static h2d_status_t read_row(h2d_table_state_t *state, const h2d_table_rows_t *rows, uint32_t row)
{
	const h2d_block_table_t *table = rows->tables ? rows->tables[row] : NULL;

	if (table) {
		state->new_versions[row] = table->version;
		state->new_lengths[row] = table->length;
		state->new_ids[row] = table->ids;
		state->new_bounds[row] = table->id_bound;
		return H2D_STATUS_SUCCESS;
	}
	if (!rows->lengths || !rows->ids || (rows->lengths[row] && !rows->ids[row]))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%s: row %u has neither a block table nor ids", state->name, row);
	if (rows->lengths[row] > state->columns)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "%s: row %u has %u ids, the table %u columns",
				 state->name, row, rows->lengths[row], state->columns);
	read_unversioned(state, row, rows->ids[row], rows->lengths[row]);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t read_rows(h2d_table_state_t *state, const h2d_table_rows_t *rows)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < rows->count && status == H2D_STATUS_SUCCESS; i++)
		status = read_row(state, rows, i);
	return status;
}

static h2d_status_t check_required_pages(const h2d_table_state_t *state,
					 const h2d_table_rows_t *rows, const uint32_t lengths[])
{
	if (!rows->required_pages)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < rows->count; i++) {
		if (lengths[i] < rows->required_pages[i])
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "%s: row %u of the request PAGE table is incomplete or out of "
					 "range: %u pages, %u required",
					 state->name, i, lengths[i], rows->required_pages[i]);
	}
	return H2D_STATUS_SUCCESS;
}

/* A bound may be left over from ids that the row has lost, so the ids themselves decide. */
static h2d_status_t check_ids(const h2d_table_state_t *state, uint32_t row, uint32_t largest)
{
	const int32_t *ids = state->new_ids[row];
	uint32_t length = state->new_lengths[row], column = 0;

	while (column < length && (uint32_t)ids[column] <= largest)
		column++;
	if (column == length)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_OUT_OF_RANGE,
			 "%s: request PAGE table is incomplete or out of range: row %u column %u has "
			 "page %d, the limit is %llu",
			 state->name, row, column, ids[column], (unsigned long long)largest + 1);
}

/* Checks rows against the table's width and the limit; most rows without a look at their ids. */
static h2d_status_t check_rows(const h2d_table_state_t *state, uint32_t count, uint64_t page_limit)
{
	uint32_t largest = largest_page(page_limit);

	for (uint32_t i = 0; i < count; i++) {
		h2d_status_t status = H2D_STATUS_SUCCESS;

		if (state->new_lengths[i] > state->columns)
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "%s: row %u has %u ids, the table %u columns", state->name, i,
					 state->new_lengths[i], state->columns);
		if (page_limit == 0 && state->new_lengths[i])
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "%s: request PAGE table is incomplete or out of range: row %u "
					 "has %u pages, the limit is 0",
					 state->name, i, state->new_lengths[i]);
		if (state->new_bounds[i] > largest)
			status = check_ids(state, i, largest);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return H2D_STATUS_SUCCESS;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What the array is known to hold of the row: the length of the same lineage, else nothing. */
static uint32_t reusable_length(const h2d_table_state_t *state, uint32_t row, uint32_t described)
{
	if (row >= described || state->versions[row] != state->new_versions[row] ||
	    state->lengths[row] > state->new_lengths[row])
		return 0;
	return state->lengths[row];
}

static bool row_changed(const h2d_table_state_t *state, uint32_t row, uint32_t described)
{
	return row >= described || state->versions[row] != state->new_versions[row] ||
	       state->lengths[row] != state->new_lengths[row];
}

static void write_row(h2d_table_state_t *state, uint32_t row, uint32_t described)
{
	int32_t *ids = host_row(state, row);
	uint32_t first = reusable_length(state, row, described);
	uint32_t length = state->new_lengths[row];
	/* A row that was never described may hold stale ids in every column. */
	uint32_t old = row < described ? state->lengths[row] : state->columns;

	if (length - first == 1)
		ids[first] = state->new_ids[row][first];
	else if (length > first)
		memcpy(ids + first, state->new_ids[row] + first, (length - first) * sizeof(*ids));
	if (length < old)
		memset(ids + length, 0, (old - length) * sizeof(*ids));
	if (first)
		state->totals.rows_appended++;
	else
		state->totals.rows_written++;
	state->totals.ids_written += length - first;
}

/*
 * Brings the array to the batch in new_versions, new_lengths and new_ids, which is valid; rows up
 * to end are to be zero.
 */
static h2d_status_t write_batch(h2d_table_state_t *state, uint32_t count, uint32_t end,
				const char *reason)
{
	uint32_t described = state->described;
	uint32_t zero_to = state->zero_to;
	bool clear_padding = end > count && (count != described || end > zero_to);
	uint32_t first_change = 0;

	while (first_change < count && !row_changed(state, first_change, described))
		first_change++;
	if (first_change < count || clear_padding) {
		h2d_status_t status = begin_write(state, reason);

		if (status != H2D_STATUS_SUCCESS)
			return status;
		for (uint32_t i = first_change; i < count; i++) {
			if (row_changed(state, i, described))
				write_row(state, i, described);
		}
		if (clear_padding)
			zero_rows(state, count, end);
	}
	memcpy(state->versions, state->new_versions, count * sizeof(*state->versions));
	memcpy(state->lengths, state->new_lengths, count * sizeof(*state->lengths));
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

static bool covers(const h2d_table_state_t *state, uint32_t count, uint32_t end,
		   uint64_t page_limit)
{
	return count == state->described && end <= state->zero_to && page_limit == state->page_limit;
}

/* Whether these are the rows of the snapshot; unversioned rows are not, whatever they hold. */
static bool are_described(const h2d_table_state_t *state, const h2d_table_rows_t *rows)
{
	uint64_t differences = 0;

	if (!rows->tables)
		return rows->count == 0;
	for (uint32_t i = 0; i < rows->count; i++) {
		const h2d_block_table_t *table = rows->tables[i];

		if (!table)
			return false;
		differences |= table->version ^ state->versions[i];
		differences |= table->length ^ state->lengths[i];
	}
	return differences == 0;
}

/* The same of the batch that was read, whose unversioned rows have versions by now. */
static bool is_described(const h2d_table_state_t *state, uint32_t count)
{
	return !memcmp(state->versions, state->new_versions, count * sizeof(*state->versions)) &&
	       !memcmp(state->lengths, state->new_lengths, count * sizeof(*state->lengths));
}

/* Checks and writes the batch that was read. */
static h2d_status_t apply_batch(h2d_table_state_t *state, uint32_t count, uint32_t end,
				uint64_t page_limit, const char *reason)
{
	h2d_status_t status = check_rows(state, count, page_limit);

	if (status == H2D_STATUS_SUCCESS)
		status = write_batch(state, count, end, reason);
	if (status == H2D_STATUS_SUCCESS)
		state->page_limit = page_limit;
	return status;
}

h2d_status_t h2d_table_state_prepare(h2d_table_state_t *state, const h2d_table_rows_t *rows,
				     const h2d_table_options_t *options)
{
	uint64_t page_limit = options ? options->page_limit : H2D_NO_PAGE_LIMIT;
	uint32_t end;
	bool covered, hit;
	h2d_status_t status;

	if (!state || !rows)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "table state prepare: NULL argument");
	end = options && options->pad_to ? options->pad_to : rows->count;
	status = check_extent(state, rows->count, end);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	covered = covers(state, rows->count, end, page_limit);
	hit = covered && are_described(state, rows);
	if (!hit) {
		status = read_rows(state, rows);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		hit = covered && is_described(state, rows->count);
	}
	status = check_required_pages(state, rows, hit ? state->lengths : state->new_lengths);
	if (status == H2D_STATUS_SUCCESS && !hit)
		status = apply_batch(state, rows->count, end, page_limit,
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
	uint32_t described;
	h2d_status_t status;

	if (!state)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "table state pad: NULL argument");
	status = check_extent(state, scheduled, running);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	described = state->described;
	if (scheduled > described)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: %u rows scheduled, %u were prepared", state->name, scheduled,
				 described);
	if (scheduled == described && running <= state->zero_to)
		return H2D_STATUS_SUCCESS;
	status = begin_write(state, reason);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	zero_rows(state, scheduled, running);
	state->described = scheduled;
	state->zero_to = running;
	return H2D_STATUS_SUCCESS;
}

/* Rows that the source describes keep their versions and are known to be below its limit. */
static h2d_status_t slice_described(const h2d_table_state_t *source, uint32_t first,
				    uint32_t count, h2d_table_state_t *target, uint32_t end,
				    const char *reason)
{
	uint64_t page_limit = source->page_limit;
	h2d_status_t status = check_extent(target, count, end);
	bool hit;

	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		target->new_versions[i] = source->versions[first + i];
		target->new_lengths[i] = source->lengths[first + i];
		target->new_ids[i] = host_row(source, first + i);
		target->new_bounds[i] = largest_page(page_limit);
	}
	hit = covers(target, count, end, page_limit) && is_described(target, count);
	if (!hit)
		status = apply_batch(target, count, end, page_limit, reason);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	target->totals.prepares++;
	target->totals.hits += hit;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_table_state_slice(const h2d_table_state_t *source, uint32_t first, uint32_t count,
				   h2d_table_state_t *target, const h2d_table_options_t *options)
{
	h2d_table_rows_t rows = {.count = count};
	h2d_status_t status;

	if (!source || !target || source == target)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "table state slice: needs two different table states");
	if (first > source->rows || count > source->rows - first)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "%s: slice of %u rows from row %u, the table has %u rows",
				 source->name, count, first, source->rows);
	if (first + count <= source->described)
		return slice_described(source, first, count, target,
				       options && options->pad_to ? options->pad_to : count,
				       options ? options->reason : NULL);
	/* target's own arrays serve as the batch: prepare reads each entry before it writes it. */
	status = check_extent(target, count, count);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < count; i++) {
		target->new_ids[i] = host_row(source, first + i);
		target->new_lengths[i] = source->columns;
	}
	rows.ids = target->new_ids;
	rows.lengths = target->new_lengths;
	return h2d_table_state_prepare(target, &rows, options);
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
