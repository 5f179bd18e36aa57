/* SPDX-License-Identifier: MIT */
/* What the tests of table states share: a state over a small array, whose acquisitions count. */
#ifndef H2DPUB_TESTS_STATE_CASE_H
#define H2DPUB_TESTS_STATE_CASE_H

#include <check.h>

#include <h2dpub/block_table.h>

enum { ROWS = 4, COLUMNS = 8 };

/* The array starts with -7 everywhere. */
extern int32_t host[ROWS * COLUMNS];
extern h2d_table_state_t *state;

/* How often the state has acquired the array, and what it is told next time. */
extern unsigned int acquires;
extern h2d_status_t acquire_result;

/* A checked fixture. */
void state_setup(void);
void state_teardown(void);

h2d_block_table_t *row_of(const int32_t *ids, uint32_t count);

#endif
