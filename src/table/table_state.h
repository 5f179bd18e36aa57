/* SPDX-License-Identifier: MIT */
/* Table states, for those that split or check a batch which was prepared before. */
#ifndef H2DPUB_SRC_TABLE_TABLE_STATE_H
#define H2DPUB_SRC_TABLE_TABLE_STATE_H

#include <h2dpub/block_table.h>

/*
 * The first row of a batch that the snapshot does not hold as it is; rows->count: none. Ids are
 * read only of rows whose version is not the snapshot's. Each row must have a table or ids.
 */
uint32_t h2d_table_state_find_difference(const h2d_table_state_t *state,
					 const h2d_table_rows_t *rows);

/* The ids of a row that is described, and how many. */
const int32_t *h2d_table_state_row(const h2d_table_state_t *state, uint32_t row, uint32_t *length);

#endif
