/* SPDX-License-Identifier: MIT */
/*
 * Block tables of one size and the calls on them that h2dpub-bench table measures.
 *
 * Three tables of the same size, so that no case undoes another's state: one is only hit and
 * changed, one only appended to, one only replaced.
 */
#include "config.h"

#include "bench_world.h"

#include <stdlib.h>
#include <string.h>

#include <h2dpub/block_table.h>

#define NUM_PAGES (1 << 20)

struct bench_table {
	int32_t *host;
	h2d_table_state_t *state;
};

struct bench_world {
	uint32_t rows, columns;
	struct bench_table changing, growing, replaced;
	h2d_block_table_t **full;  /* rows of the changing table, full width */
	h2d_block_table_t **other; /* what they are replaced by, in turns */
	h2d_block_table_t **grown; /* rows of the growing table */
	int32_t *copy;
	uint32_t next_row;   /* to change */
	uint32_t copied_row; /* last */
	bool other_turn;
	int difference; /* keeps the compiler from leaving out compares */
	char failure[256];
};

static void check(struct bench_world *world, h2d_status_t status)
{
	if (status != H2D_STATUS_SUCCESS && world->failure[0] == '\0')
		strncpy(world->failure, h2d_error_message(), sizeof(world->failure) - 1);
}

static void prepare_table(struct bench_world *world, const struct bench_table *table,
			  h2d_block_table_t *const rows[])
{
	const h2d_table_rows_t batch = {
		.count = world->rows,
		.tables = (const h2d_block_table_t *const *)rows,
	};
	const h2d_table_options_t options = {.pad_to = world->rows, .page_limit = NUM_PAGES};

	check(world, h2d_table_state_prepare(table->state, &batch, &options));
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void copy_row(struct bench_world *world, uint32_t row)
{
	memcpy(world->copy + (size_t)row * world->columns, h2d_block_table_ids(world->full[row]),
	       world->columns * sizeof(int32_t));
}

static void copy_rows(void *context)
{
	struct bench_world *world = context;

	for (uint32_t i = 0; i < world->rows; i++)
		copy_row(world, i);
}

static void compare_rows(void *context)
{
	struct bench_world *world = context;

	for (uint32_t i = 0; i < world->rows; i++)
		world->difference |=
			memcmp(world->changing.host + (size_t)i * world->columns,
			       h2d_block_table_ids(world->full[i]), world->columns * sizeof(int32_t));
}

static void prepare_changing(void *context)
{
	struct bench_world *world = context;

	prepare_table(world, &world->changing, world->full);
}

static void prepare_growing(void *context)
{
	struct bench_world *world = context;

	prepare_table(world, &world->growing, world->grown);
}

static void replace(void *context)
{
	struct bench_world *world = context;

	world->other_turn = !world->other_turn;
	prepare_table(world, &world->replaced, world->other_turn ? world->other : world->full);
}

/* An append reads no more of a row than its end, so all rows are touched alike before. */
static void append_to_rows(void *context)
{
	struct bench_world *world = context;

	for (uint32_t i = 0; i < world->rows; i++)
		check(world, h2d_block_table_append(world->grown[i], (int32_t)i));
}

static void change_row(void *context)
{
	struct bench_world *world = context;
	uint32_t row = world->next_row;

	check(world, h2d_block_table_set(world->full[row], 0, (int32_t)row));
	world->next_row = (row + 1) % world->rows;
}

/* Half a table away from the rows that change, so that neither finds the other's row cached. */
static void choose_copied_row(void *context)
{
	struct bench_world *world = context;

	world->copied_row = (world->next_row + world->rows / 2) % world->rows;
	world->next_row = (world->next_row + 1) % world->rows;
}

static void copy_chosen_row(void *context)
{
	struct bench_world *world = context;

	copy_row(world, world->copied_row);
}

void bench_world_cases(struct bench_case cases[BENCH_TABLE_CASES])
{
	static const struct bench_case all[BENCH_TABLE_CASES] = {
		[BENCH_COPY] = {.name = "copy", .call = copy_rows},
		[BENCH_COMPARE] = {.name = "compare", .call = compare_rows},
		[BENCH_HIT] = {.name = "hit", .call = prepare_changing},
		[BENCH_APPEND] = {.name = "append", .prepare = append_to_rows,
				  .call = prepare_growing, .calls = 1},
		[BENCH_CHANGE] = {.name = "change", .prepare = change_row, .call = prepare_changing,
				  .calls = 20},
		[BENCH_COPY_ROW] = {.name = "copy-row", .prepare = choose_copied_row,
				    .call = copy_chosen_row, .calls = 20},
		[BENCH_REPLACE] = {.name = "replace", .call = replace},
	};

	memcpy(cases, all, sizeof(all));
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool create_table(struct bench_world *world, struct bench_table *table)
{
	table->host = malloc((size_t)world->rows * world->columns * sizeof(int32_t));
	return table->host != NULL &&
	       h2d_table_state_create("bench", table->host, world->rows, world->columns, NULL, NULL,
				      &table->state) == H2D_STATUS_SUCCESS;
}

static void release_rows(const struct bench_world *world, h2d_block_table_t **rows)
{
	for (uint32_t i = 0; rows != NULL && i < world->rows; i++)
		h2d_block_table_release(rows[i]);
	free(rows);
}

static h2d_block_table_t **create_rows(struct bench_world *world, uint32_t length, uint32_t first)
{
	h2d_block_table_t **rows = calloc(world->rows, sizeof(*rows));
	int32_t *ids = malloc((length ? length : 1) * sizeof(*ids));
	bool made = rows != NULL && ids != NULL;

	for (uint32_t i = 0; made && i < world->rows; i++) {
		for (uint32_t j = 0; j < length; j++)
			ids[j] = (int32_t)((first + i * 7919u + j) % NUM_PAGES);
		made = h2d_block_table_create(ids, length, &rows[i]) == H2D_STATUS_SUCCESS;
	}
	free(ids);
	if (made)
		return rows;
	release_rows(world, rows);
	return NULL;
}

struct bench_world *bench_world_create(uint32_t rows, uint32_t columns, uint32_t appends)
{
	struct bench_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->rows = rows;
	world->columns = columns;
	world->copy = malloc((size_t)rows * columns * sizeof(int32_t));
	if (world->copy == NULL || !create_table(world, &world->changing) ||
	    !create_table(world, &world->growing) || !create_table(world, &world->replaced)) {
		bench_world_destroy(world);
		return NULL;
	}
	world->full = create_rows(world, columns, 0);
	world->other = create_rows(world, columns, 1);
	world->grown = create_rows(world, columns - appends, 2);
	if (world->full == NULL || world->other == NULL || world->grown == NULL) {
		bench_world_destroy(world);
		return NULL;
	}
	prepare_changing(world);
	prepare_growing(world);
	copy_rows(world);
	return world;
}

void bench_world_destroy(struct bench_world *world)
{
	if (world == NULL)
		return;
	release_rows(world, world->full);
	release_rows(world, world->other);
	release_rows(world, world->grown);
	h2d_table_state_destroy(world->changing.state);
	h2d_table_state_destroy(world->growing.state);
	h2d_table_state_destroy(world->replaced.state);
	free(world->changing.host);
	free(world->growing.host);
	free(world->replaced.host);
	free(world->copy);
	free(world);
}

const char *bench_world_failure(const struct bench_world *world)
{
	return world->failure[0] == '\0' ? NULL : world->failure;
}
