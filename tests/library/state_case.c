/* SPDX-License-Identifier: MIT */
/* What the tests of table states share: a state over a small array, whose acquisitions count. */
#include "state_case.h"

int32_t host[ROWS * COLUMNS];
h2d_table_state_t *state;
unsigned int acquires;
h2d_status_t acquire_result;

static h2d_status_t acquire(void *context, const char *reason)
{
	(void)reason;
	ck_assert_ptr_eq(context, host);
	acquires++;
	return acquire_result;
}

void state_setup(void)
{
	for (int i = 0; i < ROWS * COLUMNS; i++)
		host[i] = -7;
	acquires = 0;
	acquire_result = H2D_STATUS_SUCCESS;
	ck_assert_int_eq(h2d_table_state_create("table", host, ROWS, COLUMNS, acquire, host, &state),
			 H2D_STATUS_SUCCESS);
}

void state_teardown(void)
{
	h2d_table_state_destroy(state);
}

h2d_block_table_t *row_of(const int32_t *ids, uint32_t count)
{
	h2d_block_table_t *row = NULL;

	ck_assert_int_eq(h2d_block_table_create(ids, count, &row), H2D_STATUS_SUCCESS);
	return row;
}
