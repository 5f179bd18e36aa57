/* SPDX-License-Identifier: MIT */
/* What the tests of published tables share. */
#include "table_case.h"

static h2d_block_table_t *rows_made[64];
static unsigned int row_count;
static h2d_published_table_t *tables_made[8];
static unsigned int table_count;

h2d_block_table_t *make_row(const int32_t *ids, size_t count)
{
	ck_assert_uint_lt(row_count, 64);
	check_success(h2d_block_table_create(ids, count, &rows_made[row_count]));
	return rows_made[row_count++];
}

h2d_published_table_t *make_table(h2d_buffer_t *buffer)
{
	ck_assert_uint_lt(table_count, 8);
	check_success(h2d_published_table_create(buffer, &tables_made[table_count]));
	return tables_made[table_count++];
}

void table_teardown(void)
{
	while (row_count > 0)
		h2d_block_table_release(rows_made[--row_count]);
	while (table_count > 0)
		h2d_published_table_destroy(tables_made[--table_count]);
	case_teardown();
}

struct world open_world(const char *name, h2d_backend_t backend)
{
	struct world world = {.owner = case_owner_of(name, backend)};

	world.buffer = case_buffer(world.owner, "table", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	world.other = case_buffer(world.owner, "other", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	check_success(h2d_group_create(world.owner, "step",
				       (h2d_buffer_t *[]){world.buffer, world.other}, 2,
				       &world.group));
	check_success(h2d_owner_select_transports(world.owner));
	world.table = make_table(world.buffer);
	return world;
}

h2d_status_t prepare_rows(h2d_published_table_t *table, bool versioned,
			  const h2d_block_table_t *const *tables, uint32_t count, uint32_t pad_to,
			  uint64_t limit, const char *reason)
{
	const int32_t *ids[ROWS + 1] = {NULL};
	uint32_t lengths[ROWS + 1] = {0};
	h2d_table_rows_t rows = {.count = count};
	h2d_table_options_t options = {.pad_to = pad_to, .page_limit = limit, .reason = reason};

	for (uint32_t i = 0; i < count; i++) {
		ids[i] = h2d_block_table_ids(tables[i]);
		lengths[i] = h2d_block_table_length(tables[i]);
	}
	if (versioned) {
		rows.tables = tables;
	} else {
		rows.ids = ids;
		rows.lengths = lengths;
	}
	return h2d_published_table_prepare(table, fixture_stream, &rows, &options);
}

void begin(const struct world *world)
{
	check_success(h2d_owner_begin(world->owner, fixture_stream));
}

void finish(const struct world *world)
{
	check_success(h2d_owner_finish(world->owner, fixture_stream));
}

bool publish(h2d_published_table_t *table, uint32_t rows)
{
	bool uploaded = false;

	check_success(
		h2d_published_table_publish(table, fixture_stream, rows, NULL, NULL, &uploaded));
	return uploaded;
}

void expect_row(const h2d_buffer_t *buffer, uint32_t row, const int32_t *ids, size_t count)
{
	int32_t expected[COLUMNS] = {0};

	if (count)
		memcpy(expected, ids, count * sizeof(*ids));
	expect_bytes((const int32_t *)h2d_buffer_device(buffer) + row * COLUMNS, expected,
		     sizeof(expected));
}

void step(const struct world *world, bool versioned, const h2d_block_table_t *const *tables,
	  uint32_t count, uint32_t rows, bool uploads)
{
	begin(world);
	check_success(prepare_rows(world->table, versioned, tables, count, rows, 8, NULL));
	ck_assert_int_eq(publish(world->table, rows), uploads);
	finish(world);
	for (uint32_t i = 0; i < rows; i++)
		expect_row(world->buffer, i, i < count ? h2d_block_table_ids(tables[i]) : NULL,
			   i < count ? h2d_block_table_length(tables[i]) : 0);
}
