/* SPDX-License-Identifier: MIT */
/* What the tests of published tables share: rows, tables, an owner with a table and a group. */
#ifndef H2DPUB_TESTS_TABLE_CASE_H
#define H2DPUB_TESTS_TABLE_CASE_H

#include <h2dpub/table_publication.h>

#include "publication_case.h"

#define ROWS	4
#define COLUMNS 8

#define IDS(...)      ((const int32_t[]){__VA_ARGS__})
#define COUNT_OF(...) (sizeof(IDS(__VA_ARGS__)) / sizeof(int32_t))
#define ROW(...)      make_row(IDS(__VA_ARGS__), COUNT_OF(__VA_ARGS__))

/* Rows and tables; table_teardown() frees them and ends with case_teardown(). */
h2d_block_table_t *make_row(const int32_t *ids, size_t count);
h2d_published_table_t *make_table(h2d_buffer_t *buffer);
void table_teardown(void);

/* An owner with int32[4,8] buffers "table" and "other", and the group of the two. */
struct world {
	h2d_owner_t *owner;
	h2d_buffer_t *buffer, *other;
	h2d_group_t *group;
	h2d_published_table_t *table;
};

struct world open_world(const char *name, h2d_backend_t backend);

/* Versioned rows, or copies of their ids without versions. */
h2d_status_t prepare_rows(h2d_published_table_t *table, bool versioned,
			  const h2d_block_table_t *const *tables, uint32_t count, uint32_t pad_to,
			  uint64_t limit, const char *reason);

#define ROWS_OF(...) ((const h2d_block_table_t *const[]){__VA_ARGS__})
#define PREPARE(table, pad_to, ...)                                                                \
	prepare_rows(table, true, ROWS_OF(__VA_ARGS__),                                            \
		     sizeof(ROWS_OF(__VA_ARGS__)) / sizeof(void *), pad_to, 8, NULL)
#define PREPARE_NONE(table, pad_to) prepare_rows(table, true, NULL, 0, pad_to, 8, NULL)

void begin(const struct world *world);
void finish(const struct world *world);

/* Publishes alone and says whether the table was sent. */
bool publish(h2d_published_table_t *table, uint32_t rows);

/* Row of the device's table is these ids, then zeros. */
void expect_row(const h2d_buffer_t *buffer, uint32_t row, const int32_t *ids, size_t count);

#define EXPECT_ROW(buffer, row, ...)                                                               \
	expect_row(buffer, row, IDS(__VA_ARGS__), COUNT_OF(__VA_ARGS__))

/* One epoch a step: prepare, publish, compare the device's rows. */
void step(const struct world *world, bool versioned, const h2d_block_table_t *const *tables,
	  uint32_t count, uint32_t rows, bool uploads);

#endif
