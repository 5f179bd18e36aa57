/* SPDX-License-Identifier: MIT */
/* Writing a batch's block tables into a published table of fixed-width rows, zero padded. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "step/block_table_rows.h"

h2d_status_t h2d_block_table_rows_create(h2d_block_table_rows_t *table, int32_t *rows,
					 uint32_t max_rows, uint32_t columns)
{
	table->row_lengths = calloc(max_rows, sizeof(*table->row_lengths));
	if (!table->row_lengths)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "block_tables: no memory for the lengths of %u rows", max_rows);
	table->rows = rows;
	table->columns = columns;
	return H2D_STATUS_SUCCESS;
}

void h2d_block_table_rows_destroy(h2d_block_table_rows_t *table)
{
	free(table->row_lengths);
	*table = (h2d_block_table_rows_t){0};
}

/* Only the ids of an earlier, longer row need clearing: rows are thousands of columns wide. */
static void write_row(h2d_block_table_rows_t *table, uint32_t row, const int32_t *ids,
		      uint32_t length)
{
	int32_t *const destination = table->rows + (size_t)row * table->columns;
	const uint32_t old_length = table->row_lengths[row];

	if (length > 0)
		memcpy(destination, ids, length * sizeof(*ids));
	if (old_length > length)
		memset(destination + length, 0, (old_length - length) * sizeof(*ids));
	table->row_lengths[row] = length;
}

void h2d_block_table_rows_write(h2d_block_table_rows_t *table, const int32_t *const *ids,
				const uint32_t *lengths, uint32_t count, uint32_t padded)
{
	for (uint32_t row = 0; row < count; row++)
		write_row(table, row, ids[row], lengths[row]);
	for (uint32_t row = count; row < padded; row++)
		write_row(table, row, NULL, 0);
}
