/* SPDX-License-Identifier: MIT */
/* Rows of page ids and their append lineage. */
#include "block_table_row.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

uint64_t h2d_block_table_draw_version(void)
{
	/* Only uniqueness matters: no other memory is ordered by the counter, so relaxed. */
	static _Atomic uint64_t last_version;

	return atomic_fetch_add_explicit(&last_version, 1, memory_order_relaxed) + 1;
}

uint32_t h2d_largest_id(const int32_t *ids, uint32_t count)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = (uint32_t)ids[i];

		largest = id > largest ? id : largest;
	}
	return largest;
}

/* Must see every id that a row gets. */
static void raise_id_bound(h2d_block_table_t *table, uint32_t bound)
{
	if (bound > table->id_bound)
		table->id_bound = bound;
}

static size_t storage_size(uint64_t capacity)
{
	return sizeof(struct h2d_block_table_storage) + capacity * sizeof(int32_t);
}

/* Makes a row with these ids, and a storage of its own with room for more. */
static h2d_status_t create_with_version(const int32_t *ids, uint32_t count, uint32_t capacity,
					uint64_t version, h2d_block_table_t **out)
{
	h2d_block_table_t *table = malloc(sizeof(*table));
	struct h2d_block_table_storage *storage = malloc(storage_size(capacity));

	if (!table || !storage) {
		free(table);
		free(storage);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "no memory for a block table row of %u ids", capacity);
	}
	atomic_init(&storage->references, 1);
	storage->capacity = capacity;
	if (count)
		memcpy(storage->ids, ids, count * sizeof(*ids));
	table->version = version;
	table->ids = storage->ids;
	table->storage = storage;
	table->length = count;
	table->id_bound = 0;
	atomic_init(&table->references, 1);
	*out = table;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_block_table_create(const int32_t *ids, uint64_t count, h2d_block_table_t **table)
{
	h2d_status_t status;

	if (!table)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "block table: no place for the row");
	if (count && !ids)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "block table: %llu ids at NULL",
				 (unsigned long long)count);
	if (count > UINT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "block table: %llu ids, the limit is %u",
				 (unsigned long long)count, UINT32_MAX);
	status = create_with_version(ids, (uint32_t)count, (uint32_t)count,
				     h2d_block_table_draw_version(), table);
	if (status == H2D_STATUS_SUCCESS)
		(*table)->id_bound = h2d_largest_id(ids, (uint32_t)count);
	return status;
}

h2d_status_t h2d_block_table_copy(const h2d_block_table_t *table, h2d_block_table_t **copy)
{
	h2d_status_t status;

	if (!table || !copy)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "block table copy: NULL argument");
	status = create_with_version(table->ids, table->length, table->length,
				     h2d_block_table_draw_version(), copy);
	if (status == H2D_STATUS_SUCCESS)
		(*copy)->id_bound = table->id_bound;
	return status;
}

/* Makes another row of these ids that shares the storage. */
static h2d_status_t share(const h2d_block_table_t *table, h2d_block_table_t **out)
{
	h2d_block_table_t *row = malloc(sizeof(*row));

	if (!row)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a block table row");
	row->version = table->version;
	row->ids = table->ids;
	row->storage = table->storage;
	row->length = table->length;
	row->id_bound = table->id_bound;
	atomic_init(&row->references, 1);
	/* Relaxed: the storage is reached through the row that is shared. */
	atomic_fetch_add_explicit(&row->storage->references, 1, memory_order_relaxed);
	*out = row;
	return H2D_STATUS_SUCCESS;
}

/* A row of the same ids with room for more behind them, in the same storage if it has that. */
static h2d_status_t begin_growth(const h2d_block_table_t *table, uint32_t more,
				 h2d_block_table_t **out)
{
	uint64_t capacity = (uint64_t)table->length + more;
	h2d_status_t status;

	if (table->storage->capacity - table->length >= more)
		return share(table, out);
	/* A row that has grown will grow again. */
	capacity += capacity / 4 + 16;
	status = create_with_version(table->ids, table->length,
				     capacity < UINT32_MAX ? (uint32_t)capacity : UINT32_MAX,
				     table->version, out);
	if (status == H2D_STATUS_SUCCESS)
		(*out)->id_bound = table->id_bound;
	return status;
}

h2d_status_t h2d_block_table_grow(const h2d_block_table_t *table, const void *tail,
				  uint32_t tail_count, h2d_block_table_t **grown)
{
	uint32_t length = table ? table->length : 0;
	h2d_block_table_t *row;
	h2d_status_t status;

	if (tail_count > UINT32_MAX - length)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "block table: %u ids and %u more, the limit is %u", length,
				 tail_count, UINT32_MAX);
	status = table ? begin_growth(table, tail_count, &row)
		       : create_with_version(NULL, 0, tail_count, h2d_block_table_draw_version(),
					     &row);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (tail_count)
		memcpy(row->ids + length, tail, tail_count * sizeof(*row->ids));
	row->length = length + tail_count;
	for (uint32_t i = length; i < row->length; i++)
		row->ids[i] = (int32_t)le32toh((uint32_t)row->ids[i]);
	raise_id_bound(row, h2d_largest_id(row->ids + length, tail_count));
	*grown = row;
	return H2D_STATUS_SUCCESS;
}

void h2d_block_table_retain(const h2d_block_table_t *table)
{
	/* Relaxed: whoever hands over the reference orders the row's contents. */
	atomic_fetch_add_explicit(&((h2d_block_table_t *)table)->references, 1,
				  memory_order_relaxed);
}

/* True for the last one. */
static bool drop_reference(atomic_uint *references)
{
	/*
	 * Release orders this thread's reads before the decrement; acquire, in the thread that
	 * frees, pairs with the releases of all others.
	 */
	return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

void h2d_block_table_release(const h2d_block_table_t *table)
{
	h2d_block_table_t *row = (h2d_block_table_t *)table;

	if (row && drop_reference(&row->references)) {
		if (drop_reference(&row->storage->references))
			free(row->storage);
		free(row);
	}
}

uint64_t h2d_block_table_version(const h2d_block_table_t *table)
{
	return table->version;
}

uint32_t h2d_block_table_length(const h2d_block_table_t *table)
{
	return table->length;
}

const int32_t *h2d_block_table_ids(const h2d_block_table_t *table)
{
	return table->ids;
}

/* Makes room for more ids; doubles, so that appending one at a time costs constant time. */
static h2d_status_t reserve(h2d_block_table_t *table, uint64_t more)
{
	uint64_t needed = table->length + more;
	uint64_t capacity = table->storage->capacity ? table->storage->capacity : 8;
	struct h2d_block_table_storage *storage;

	if (needed < more || needed > UINT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "block table: %u ids and %llu more, the limit is %u",
				 table->length, (unsigned long long)more, UINT32_MAX);
	if (needed <= table->storage->capacity)
		return H2D_STATUS_SUCCESS;
	while (capacity < needed)
		capacity *= 2;
	if (capacity > UINT32_MAX)
		capacity = UINT32_MAX;
	storage = realloc(table->storage, storage_size(capacity));
	if (!storage)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a block table row of %llu ids",
				 (unsigned long long)needed);
	storage->capacity = (uint32_t)capacity;
	table->storage = storage;
	table->ids = storage->ids;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_index(const h2d_block_table_t *table, const char *call, uint32_t index,
				uint64_t limit)
{
	if (index < limit)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_OUT_OF_RANGE, "block table %s: index %u in a row of %u ids", call,
			 index, table->length);
}

/* Every change but growing makes another row of it, also one that fails. */
static h2d_status_t begin_change(h2d_block_table_t *table, const char *call)
{
	if (!table)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "block table %s: the row is NULL",
				 call);
	table->version = h2d_block_table_draw_version();
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_block_table_append(h2d_block_table_t *table, int32_t id)
{
	return h2d_block_table_extend(table, &id, 1);
}

h2d_status_t h2d_block_table_extend(h2d_block_table_t *table, const int32_t *ids, uint64_t count)
{
	h2d_status_t status;

	if (!table || (count && !ids))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "block table extend: NULL argument");
	status = reserve(table, count);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (count)
		memcpy(table->ids + table->length, ids, count * sizeof(*ids));
	table->length += (uint32_t)count;
	raise_id_bound(table, h2d_largest_id(ids, (uint32_t)count));
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_block_table_set(h2d_block_table_t *table, uint32_t index, int32_t id)
{
	h2d_status_t status = begin_change(table, "set");

	if (status == H2D_STATUS_SUCCESS)
		status = check_index(table, "set", index, table->length);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	table->ids[index] = id;
	raise_id_bound(table, (uint32_t)id);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_block_table_insert(h2d_block_table_t *table, uint32_t index, int32_t id)
{
	h2d_status_t status = begin_change(table, "insert");

	if (status == H2D_STATUS_SUCCESS)
		status = check_index(table, "insert", index, (uint64_t)table->length + 1);
	if (status == H2D_STATUS_SUCCESS)
		status = reserve(table, 1);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	memmove(table->ids + index + 1, table->ids + index,
		(table->length - index) * sizeof(*table->ids));
	table->ids[index] = id;
	table->length++;
	raise_id_bound(table, (uint32_t)id);
	return H2D_STATUS_SUCCESS;
}

static void take_out(h2d_block_table_t *table, uint32_t first, uint32_t count)
{
	if (!count)
		return;
	memmove(table->ids + first, table->ids + first + count,
		(table->length - first - count) * sizeof(*table->ids));
	table->length -= count;
}

h2d_status_t h2d_block_table_remove(h2d_block_table_t *table, int32_t id)
{
	h2d_status_t status = begin_change(table, "remove");

	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < table->length; i++) {
		if (table->ids[i] == id) {
			take_out(table, i, 1);
			return H2D_STATUS_SUCCESS;
		}
	}
	return h2d_error(H2D_STATUS_NOT_FOUND, "block table remove: no id %d in a row of %u ids", id,
			 table->length);
}

h2d_status_t h2d_block_table_pop(h2d_block_table_t *table, int32_t *id)
{
	h2d_status_t status = begin_change(table, "pop");

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (!table->length)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE, "block table pop: the row is empty");
	table->length--;
	if (id)
		*id = table->ids[table->length];
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_block_table_erase(h2d_block_table_t *table, uint32_t first, uint32_t count)
{
	h2d_status_t status = begin_change(table, "erase");

	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (first > table->length || count > table->length - first)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "block table erase: %u ids from index %u in a row of %u ids", count,
				 first, table->length);
	take_out(table, first, count);
	return H2D_STATUS_SUCCESS;
}

void h2d_block_table_reverse(h2d_block_table_t *table)
{
	table->version = h2d_block_table_draw_version();
	for (uint32_t i = 0, j = table->length; i + 1 < j; i++) {
		int32_t id = table->ids[i];

		table->ids[i] = table->ids[--j];
		table->ids[j] = id;
	}
}

void h2d_block_table_clear(h2d_block_table_t *table)
{
	table->version = h2d_block_table_draw_version();
	table->length = 0;
	table->id_bound = 0;
}
