/* SPDX-License-Identifier: MIT */
/* Writing a batch's block tables into a published table of fixed-width rows, zero padded. */
#ifndef H2DPUB_SRC_STEP_BLOCK_TABLE_ROWS_H
#define H2DPUB_SRC_STEP_BLOCK_TABLE_ROWS_H

#include <stdint.h>

#include <h2dpub/status.h>

typedef struct h2d_block_table_rows {
	int32_t *rows; /* [max_rows][columns], the pinned source; starts zeroed */
	uint32_t columns;
	uint32_t *row_lengths; /* [max_rows] ids in each row; everything behind them is 0 */
} h2d_block_table_rows_t;

h2d_status_t h2d_block_table_rows_create(h2d_block_table_rows_t *table, int32_t *rows,
					 uint32_t max_rows, uint32_t columns);
void h2d_block_table_rows_destroy(h2d_block_table_rows_t *table);

/*
 * Sets rows [0, count) to the given ids (lengths[i] <= columns) and rows [count, padded) to zero.
 * Rows from padded on keep what they have.
 */
void h2d_block_table_rows_write(h2d_block_table_rows_t *table, const int32_t *const *ids,
				const uint32_t *lengths, uint32_t count, uint32_t padded);

#endif
