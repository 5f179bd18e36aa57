/* SPDX-License-Identifier: MIT */
/* Preparing block tables on the host: what is written, what is not, and what is refused. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../run_suite.h"
#include "state_case.h"

#define IDS(...) ((const int32_t[]){__VA_ARGS__})
#define ROW(...) row_of(IDS(__VA_ARGS__), sizeof(IDS(__VA_ARGS__)) / sizeof(int32_t))

static h2d_status_t prepare(const h2d_block_table_t *const *tables, uint32_t count, uint32_t pad_to,
			    uint64_t limit)
{
	h2d_table_rows_t rows = {.count = count, .tables = tables};
	h2d_table_options_t options = {.pad_to = pad_to, .page_limit = limit};

	return h2d_table_state_prepare(state, &rows, &options);
}

#define PREPARE(pad_to, limit, ...)                                                                \
	prepare((const h2d_block_table_t *const[]){__VA_ARGS__},                                   \
		sizeof((const h2d_block_table_t *const[]){__VA_ARGS__}) / sizeof(void *), pad_to,  \
		limit)

static void assert_row(uint32_t row, const int32_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < COLUMNS; i++)
		ck_assert_int_eq(host[row * COLUMNS + i], i < count ? ids[i] : 0);
}

#define ASSERT_ROW(row, ...) assert_row(row, IDS(__VA_ARGS__), sizeof(IDS(__VA_ARGS__)) / 4)

static void assert_untouched(uint32_t row)
{
	for (uint32_t i = 0; i < COLUMNS; i++)
		ck_assert_int_eq(host[row * COLUMNS + i], -7);
}

/* Nothing of the array, the revision or the keys has changed since the copy. */
static int32_t copy[ROWS * COLUMNS];
static uint64_t copied_revision;

static void remember(void)
{
	memcpy(copy, host, sizeof(host));
	copied_revision = h2d_table_state_revision(state);
}

static void assert_remembered(void)
{
	ck_assert_mem_eq(copy, host, sizeof(host));
	ck_assert_uint_eq(h2d_table_state_revision(state), copied_revision);
}

START_TEST(a_hit_reads_no_id_and_acquires_nothing)
{
	h2d_block_table_t *row = ROW(3, 5);
	h2d_table_totals_t totals;

	ck_assert_int_eq(PREPARE(4, 8, row), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(acquires, 1);
	ASSERT_ROW(0, 3, 5);
	/* What a hit must not read, nor repair: an id behind the row's back, and the array. */
	((int32_t *)h2d_block_table_ids(row))[0] = -1;
	host[0] = 77;
	remember();
	acquire_result = H2D_STATUS_SOURCE_IN_USE;
	ck_assert_int_eq(PREPARE(4, 8, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(PREPARE(2, 8, row), H2D_STATUS_SUCCESS);
	assert_remembered();
	ck_assert_uint_eq(acquires, 1);
	h2d_table_state_get_totals(state, &totals);
	ck_assert_uint_eq(totals.prepares, 3);
	ck_assert_uint_eq(totals.hits, 2);
	ck_assert_uint_eq(totals.ids_written, 2);
	h2d_block_table_release(row);
}
END_TEST

START_TEST(B04_append_validates_only_new_ids_and_keeps_source_resizable)
{
	h2d_block_table_t *row = ROW(3, 5);
	const int32_t tails[2][2] = {{7, 0}, {6, 7}};
	uint32_t added = _i == 0 ? 1 : 2;

	ck_assert_int_eq(PREPARE(0, 8, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_block_table_extend(row, tails[_i], added), H2D_STATUS_SUCCESS);
	for (int i = 0; i < 2; i++)
		((int32_t *)h2d_block_table_ids(row))[i] = -1;
	ck_assert_int_eq(PREPARE(0, 8, row), H2D_STATUS_SUCCESS);
	if (_i == 0)
		ASSERT_ROW(0, 3, 5, 7);
	else
		ASSERT_ROW(0, 3, 5, 6, 7);
	remember();
	ck_assert_int_eq(h2d_block_table_append(row, 8), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(PREPARE(0, 8, row), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "out of range"));
	assert_remembered();
	for (int i = 0; i < 2; i++)
		((int32_t *)h2d_block_table_ids(row))[i] = 3 + 2 * i;
	ck_assert_int_eq(h2d_block_table_pop(row, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(PREPARE(0, 8, row), H2D_STATUS_SUCCESS);
	remember();
	ck_assert_int_eq(PREPARE(0, 7, row), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(),
			  _i == 0 ? "table: request PAGE table is incomplete or out of range: row 0 "
				    "column 2 has page 7, the limit is 7"
				  : "table: request PAGE table is incomplete or out of range: row 0 "
				    "column 3 has page 7, the limit is 7");
	assert_remembered();
	ck_assert_int_eq(h2d_block_table_append(row, 1), H2D_STATUS_SUCCESS);
	h2d_block_table_release(row);
}
END_TEST

START_TEST(B05_validate_whole_batch_before_writing_and_preserve_previous_snapshot)
{
	const int32_t *unversioned[2] = {IDS(4), IDS(1, 2, 3, 4, 5, 6, 7, 0, 1)};
	uint32_t lengths[2] = {1, 9};
	h2d_block_table_t *one = ROW(1), *two = ROW(2), *nine = ROW(9),
			  *long_row = row_of(unversioned[1], 9);
	h2d_table_rows_t rows = {.count = 2, .ids = unversioned, .lengths = lengths};
	h2d_table_options_t options = {.page_limit = 8};

	ck_assert_int_eq(PREPARE(0, 8, one, two), H2D_STATUS_SUCCESS);
	remember();
	ck_assert_int_eq(PREPARE(0, 8, nine, two), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(PREPARE(0, 8, two, nine), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(PREPARE(0, 8, two, long_row), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(), "table: row 1 has 9 ids, the table 8 columns");
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, &options), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(PREPARE(0, 8, one, two, one, two, one), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(), "table: 5 rows padded to 5, the table has 4 rows");
	ck_assert_int_eq(PREPARE(1, 8, one, two), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(PREPARE(5, 8, one, two), H2D_STATUS_OUT_OF_RANGE);
	assert_remembered();
	ck_assert_uint_eq(acquires, 1);
	h2d_block_table_release(one);
	h2d_block_table_release(two);
	h2d_block_table_release(nine);
	h2d_block_table_release(long_row);
}
END_TEST

START_TEST(required_pages_are_checked_on_every_call)
{
	h2d_block_table_t *row = ROW(3, 5);
	const h2d_block_table_t *const tables[] = {row};
	uint32_t required = 2;
	h2d_table_rows_t rows = {.count = 1, .tables = tables, .required_pages = &required};

	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_SUCCESS);
	required = 3;
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(), "table: row 0 of the request PAGE table is incomplete "
					       "or out of range: 2 pages, 3 required");
	h2d_block_table_release(row);
}
END_TEST

/* The write of row 1 is interrupted: its page cannot be written. */
static sigjmp_buf interrupted;

static void interrupt_write(int number)
{
	(void)number;
	siglongjmp(interrupted, 1);
}

START_TEST(B10_failed_host_write_cannot_leave_a_false_empty_batch_hit)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t columns = (uint32_t)(page / sizeof(int32_t));
	int32_t *pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	struct sigaction action = {.sa_handler = interrupt_write};
	h2d_table_state_t *paged = NULL;
	h2d_block_table_t *row = ROW(3, 5);
	const h2d_block_table_t *const tables[] = {row, row};
	h2d_table_rows_t two = {.count = 2, .tables = tables}, none = {.count = 0};
	h2d_table_options_t options = {.pad_to = 4, .page_limit = 8};

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(h2d_table_state_create("paged", pages, 4, columns, NULL, NULL, &paged), 0);
	ck_assert_int_eq(h2d_table_state_prepare(paged, &none, &options), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(mprotect(pages + columns, page, PROT_READ), 0);
	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(interrupted, 1)) {
		h2d_table_state_prepare(paged, &two, &options);
		ck_abort_msg("the write was not interrupted");
	}
	ck_assert_int_eq(mprotect(pages + columns, page, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(pages[0], 3);
	ck_assert_int_eq(h2d_table_state_prepare(paged, &none, &options), H2D_STATUS_SUCCESS);
	for (uint32_t i = 0; i < 4 * columns; i++)
		ck_assert_int_eq(pages[i], 0);
	h2d_table_state_destroy(paged);
	h2d_block_table_release(row);
	munmap(pages, 4 * page);
}
END_TEST

START_TEST(B12_full_replacement_clears_only_exposed_tails_and_padded_rows)
{
	/* Lengths and fills of each batch, and its padding. */
	static const struct {
		uint32_t count, length[2], pad_to;
		int32_t fill[2];
	} batches[] = {{2, {8, 3}, 2, {1, 2}},
		       {2, {2, 7}, 4, {3, 4}},
		       {1, {5, 0}, 3, {5, 0}},
		       {2, {8, 6}, 4, {6, 7}}};
	bool versioned = _i == 0;

	for (size_t b = 0; b < sizeof(batches) / sizeof(batches[0]); b++) {
		int32_t ids[2][COLUMNS];
		const int32_t *unversioned[2] = {ids[0], ids[1]};
		h2d_block_table_t *tables[2] = {NULL, NULL};
		h2d_table_rows_t rows = {.count = batches[b].count,
					 .ids = unversioned,
					 .lengths = batches[b].length,
					 .tables = (const h2d_block_table_t *const *)tables};
		h2d_table_options_t options = {.pad_to = batches[b].pad_to,
					       .page_limit = H2D_NO_PAGE_LIMIT};

		for (uint32_t i = 0; i < batches[b].count; i++) {
			for (uint32_t j = 0; j < COLUMNS; j++)
				ids[i][j] = batches[b].fill[i];
			if (versioned)
				tables[i] = row_of(ids[i], batches[b].length[i]);
		}
		ck_assert_int_eq(h2d_table_state_prepare(state, &rows, &options), H2D_STATUS_SUCCESS);
		for (uint32_t i = 0; i < batches[b].pad_to; i++)
			assert_row(i, ids[i < 2 ? i : 0],
				   i < batches[b].count ? batches[b].length[i] : 0);
		if (b == 0) {
			assert_untouched(2);
			assert_untouched(3);
		}
		h2d_block_table_release(tables[0]);
		h2d_block_table_release(tables[1]);
	}
}
END_TEST

START_TEST(B13_late_invalid_versioned_row_and_rejected_acquisition_never_write)
{
	h2d_block_table_t *good = ROW(1), *bad = ROW(9);

	ck_assert_int_eq(PREPARE(0, 8, good), H2D_STATUS_SUCCESS);
	remember();
	ck_assert_int_eq(PREPARE(0, 8, good, bad), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_uint_eq(acquires, 1);
	assert_remembered();
	ck_assert_int_eq(h2d_block_table_set(bad, 0, 2), H2D_STATUS_SUCCESS);
	acquire_result = H2D_STATUS_ALREADY_PUBLISHED;
	ck_assert_int_eq(PREPARE(0, 8, good, bad), H2D_STATUS_ALREADY_PUBLISHED);
	ck_assert_uint_eq(acquires, 2);
	assert_remembered();
	ck_assert_uint_eq(h2d_table_state_described_rows(state), 1);
	/* The keys are as before: the old batch is still a hit. */
	ck_assert_int_eq(PREPARE(0, 8, good), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(acquires, 2);
	ck_assert_int_eq(h2d_block_table_append(bad, 3), H2D_STATUS_SUCCESS);
	acquire_result = H2D_STATUS_SUCCESS;
	ck_assert_int_eq(PREPARE(0, 8, good, bad), H2D_STATUS_SUCCESS);
	ASSERT_ROW(0, 1);
	ASSERT_ROW(1, 2, 3);
	h2d_block_table_release(good);
	h2d_block_table_release(bad);
}
END_TEST

START_TEST(B14_tbo_inherits_appends_and_tracks_unversioned_content_changes)
{
	int32_t target_host[2 * COLUMNS];
	int32_t changing[] = {2, 3};
	const int32_t *unversioned[] = {NULL, changing};
	uint32_t lengths[] = {0, 2};
	h2d_block_table_t *row = ROW(1);
	const h2d_block_table_t *tables[] = {row, NULL};
	h2d_table_rows_t rows = {.count = 2, .tables = tables, .ids = unversioned, .lengths = lengths};
	h2d_table_state_t *target = NULL;
	h2d_table_options_t pad = {.pad_to = 2};
	uint64_t revision;

	memset(target_host, 0xff, sizeof(target_host));
	ck_assert_int_eq(h2d_table_state_create("ub0", target_host, 2, COLUMNS, NULL, NULL, &target), 0);
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, &pad), H2D_STATUS_SUCCESS);
	ck_assert_mem_eq(target_host, IDS(1, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0),
			 sizeof(target_host));

	h2d_block_table_append(row, 4);
	changing[0] = 5;
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, &pad), H2D_STATUS_SUCCESS);
	ck_assert_mem_eq(target_host, IDS(1, 4, 0, 0, 0, 0, 0, 0, 5, 3, 0, 0, 0, 0, 0, 0),
			 sizeof(target_host));
	revision = h2d_table_state_revision(target);
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, &pad), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(h2d_table_state_revision(target), revision);
	h2d_table_state_destroy(target);
	h2d_block_table_release(row);
}
END_TEST

START_TEST(slices_take_undescribed_rows_as_they_stand)
{
	int32_t target_host[2 * COLUMNS];
	h2d_block_table_t *row = ROW(1, 2);
	h2d_table_state_t *target = NULL;

	memset(target_host, 0xff, sizeof(target_host));
	ck_assert_int_eq(h2d_table_state_create("ub1", target_host, 2, COLUMNS, NULL, NULL, &target), 0);
	ck_assert_int_eq(PREPARE(2, 8, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, NULL), H2D_STATUS_SUCCESS);
	ck_assert_mem_eq(target_host, IDS(1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			 sizeof(target_host));
	/* Row 2 holds what was there before: ids that are no page. */
	ck_assert_int_eq(h2d_table_state_slice(state, 1, 2, target, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_table_state_slice(state, 3, 2, target, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 3, target, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 1, state, NULL), H2D_STATUS_INVALID_ARGUMENT);
	h2d_table_state_destroy(target);
	h2d_block_table_release(row);
}
END_TEST

/* One row that the source does not describe, and all are taken for new rows under another limit. */
START_TEST(a_slice_described_in_part_is_unversioned)
{
	int32_t target_host[3 * COLUMNS] = {0};
	h2d_table_options_t low = {.page_limit = 4}, high = {.page_limit = 8};
	h2d_block_table_t *row = ROW(7, 6);
	h2d_table_state_t *target = NULL;
	h2d_table_totals_t totals;

	ck_assert_int_eq(
		h2d_table_state_create("ub2", target_host, 3, COLUMNS, NULL, NULL, &target), 0);
	ck_assert_int_eq(PREPARE(3, 8, row, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 3, target, &low), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_ptr_nonnull(
		strstr(h2d_error_message(), "row 0 column 0 has page 7, the limit is 4"));
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, &low), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 3, target, &high), H2D_STATUS_SUCCESS);
	h2d_table_state_get_totals(target, &totals);
	ck_assert_uint_eq(totals.rows_written, 5);
	ck_assert_uint_eq(totals.ids_written, 2 + 2 + 3 * COLUMNS);
	/* An append rewrites its row, and is an append again once all rows are described. */
	ck_assert_int_eq(h2d_block_table_append(row, 5), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(PREPARE(3, 8, row, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 1, 2, target, &high), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, NULL), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_block_table_append(row, 4), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(PREPARE(3, 8, row, row), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_slice(state, 0, 2, target, NULL), H2D_STATUS_SUCCESS);
	h2d_table_state_get_totals(target, &totals);
	ck_assert_uint_eq(totals.rows_written, 9);
	ck_assert_uint_eq(totals.rows_appended, 2);
	h2d_table_state_destroy(target);
	h2d_block_table_release(row);
}
END_TEST

START_TEST(B15_sparse_replacement_leaves_unchanged_rows_untouched)
{
	h2d_block_table_t *full[4], *changed = ROW(6, 7);

	for (int i = 0; i < 4; i++)
		full[i] = ROW(0, 1, 2, 3, 4, 5, 6, 7);
	ck_assert_int_eq(PREPARE(0, 8, full[0], full[1], full[2], full[3]), H2D_STATUS_SUCCESS);
	host[0] = host[2 * COLUMNS + 3] = host[3 * COLUMNS + 7] = 99;
	ck_assert_int_eq(PREPARE(0, 8, full[0], changed, full[2], full[3]), H2D_STATUS_SUCCESS);
	ASSERT_ROW(0, 99, 1, 2, 3, 4, 5, 6, 7);
	ASSERT_ROW(1, 6, 7);
	ASSERT_ROW(2, 0, 1, 2, 99, 4, 5, 6, 7);
	ASSERT_ROW(3, 0, 1, 2, 3, 4, 5, 6, 99);
	for (int i = 0; i < 4; i++)
		h2d_block_table_release(full[i]);
	h2d_block_table_release(changed);
}
END_TEST

START_TEST(B16_reorder_reuses_validation_by_lineage)
{
	h2d_block_table_t *a = ROW(1, 2), *b = ROW(3, 4);

	ck_assert_int_eq(PREPARE(0, 8, a, b), H2D_STATUS_SUCCESS);
	/* Ids that would fail, did anybody check them again. */
	((int32_t *)h2d_block_table_ids(a))[1] = 1000;
	ck_assert_int_eq(PREPARE(0, 8, b, a), H2D_STATUS_SUCCESS);
	((int32_t *)h2d_block_table_ids(a))[1] = 2;
	remember();
	ck_assert_int_eq(PREPARE(0, 4, b, a), H2D_STATUS_OUT_OF_RANGE);
	assert_remembered();
	/* Also after an absence, and under limits that it was never checked against. */
	ck_assert_int_eq(PREPARE(0, 8, b), H2D_STATUS_SUCCESS);
	((int32_t *)h2d_block_table_ids(a))[0] = 1000;
	ck_assert_int_eq(PREPARE(0, 5, b, a), H2D_STATUS_SUCCESS);
	ASSERT_ROW(1, 1000, 2);
	h2d_block_table_release(a);
	h2d_block_table_release(b);
}
END_TEST

/* A row that has lost its largest id is below the limit again, however it lost it. */
START_TEST(ids_that_a_row_has_lost_do_not_count)
{
	for (int way = 0; way < 7; way++) {
		h2d_block_table_t *row = ROW(1, 9, 2), *copied = NULL;

		ck_assert_int_eq(PREPARE(0, 9, row), H2D_STATUS_OUT_OF_RANGE);
		if (way == 0)
			ck_assert_int_eq(h2d_block_table_set(row, 1, 3), H2D_STATUS_SUCCESS);
		else if (way == 1)
			ck_assert_int_eq(h2d_block_table_remove(row, 9), H2D_STATUS_SUCCESS);
		else if (way == 2)
			ck_assert_int_eq(h2d_block_table_erase(row, 0, 2), H2D_STATUS_SUCCESS);
		else if (way == 3)
			h2d_block_table_clear(row);
		else if (way == 4)
			ck_assert_int_eq(h2d_block_table_pop(row, NULL) | h2d_block_table_pop(row, NULL),
					 H2D_STATUS_SUCCESS);
		else
			ck_assert_int_eq(h2d_block_table_copy(row, &copied), H2D_STATUS_SUCCESS);
		ck_assert_int_eq(PREPARE(0, 9, row), way < 5 ? H2D_STATUS_SUCCESS : H2D_STATUS_OUT_OF_RANGE);
		if (copied) {
			ck_assert_int_eq(PREPARE(0, 9, copied), H2D_STATUS_OUT_OF_RANGE);
			h2d_block_table_reverse(copied);
			ck_assert_int_eq(PREPARE(0, 9, copied), H2D_STATUS_OUT_OF_RANGE);
			ck_assert_int_eq(PREPARE(0, 10, copied), H2D_STATUS_SUCCESS);
			ASSERT_ROW(0, 2, 9, 1);
			ck_assert_int_eq(h2d_block_table_insert(copied, 0, 10), H2D_STATUS_SUCCESS);
			ck_assert_int_eq(PREPARE(0, 10, copied), H2D_STATUS_OUT_OF_RANGE);
		}
		h2d_block_table_release(row);
		h2d_block_table_release(copied);
	}
}
END_TEST

START_TEST(B17_negative_page_ids_fail_before_any_write)
{
	static const uint64_t limits[] = {8, UINT64_C(1) << 40, H2D_NO_PAGE_LIMIT};
	h2d_block_table_t *row = ROW(3, -1);
	int32_t negative[] = {3, -1};
	const int32_t *ids[] = {negative};
	uint32_t length = 2;
	h2d_table_rows_t rows = {.count = 1, .ids = ids, .lengths = &length};
	h2d_table_options_t options = {.page_limit = limits[_i]};

	remember();
	ck_assert_int_eq(PREPARE(0, limits[_i], row), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "out of range"));
	ck_assert_int_eq(h2d_table_state_prepare(state, &rows, &options), H2D_STATUS_OUT_OF_RANGE);
	assert_remembered();
	ck_assert_uint_eq(acquires, 0);
	h2d_block_table_release(row);
}
END_TEST

START_TEST(B18_zero_width_rows_and_padding)
{
	h2d_table_state_t *narrow = NULL;
	h2d_block_table_t *empty = row_of(NULL, 0), *one = ROW(0);
	const h2d_block_table_t *const tables[] = {empty}, *const wide[] = {one};
	h2d_table_rows_t rows = {.count = 1, .tables = tables}, none = {.count = 0};
	h2d_table_options_t options = {.pad_to = 4, .page_limit = 0};

	ck_assert_int_eq(h2d_table_state_create("narrow", NULL, 4, 0, NULL, NULL, &narrow), 0);
	ck_assert_int_eq(h2d_table_state_prepare(narrow, &rows, &options), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_prepare(narrow, &none, &options), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(h2d_table_state_valid_rows(narrow), 4);
	rows.tables = wide;
	ck_assert_int_eq(h2d_table_state_prepare(narrow, &rows, &options), H2D_STATUS_OUT_OF_RANGE);
	h2d_table_state_destroy(narrow);
	h2d_block_table_release(empty);
	h2d_block_table_release(one);
}
END_TEST

START_TEST(padding_forgets_rows_and_describes_no_more_than_were_prepared)
{
	h2d_block_table_t *row = ROW(1, 2);

	ck_assert_int_eq(PREPARE(0, 8, row, row), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(h2d_table_state_valid_rows(state), 2);
	remember();
	ck_assert_int_eq(h2d_table_state_pad(state, 3, 4, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(), "table: 3 rows scheduled, 2 were prepared");
	ck_assert_int_eq(h2d_table_state_pad(state, 2, 5, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_table_state_pad(state, 2, 1, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_table_state_pad(state, 2, 2, NULL), H2D_STATUS_SUCCESS);
	assert_remembered();
	ck_assert_int_eq(h2d_table_state_pad(state, 2, 3, NULL), H2D_STATUS_SUCCESS);
	ASSERT_ROW(2, 0);
	assert_untouched(3);
	ck_assert_int_eq(h2d_table_state_pad(state, 1, 2, NULL), H2D_STATUS_SUCCESS);
	ASSERT_ROW(0, 1, 2);
	ASSERT_ROW(1, 0);
	ck_assert_uint_eq(h2d_table_state_described_rows(state), 1);
	ck_assert_uint_eq(h2d_table_state_valid_rows(state), 2);
	h2d_block_table_release(row);
}
END_TEST

/* Fewer rows without a zero row behind them: no byte changes, so nothing is acquired or counted. */
START_TEST(forgetting_rows_alone_is_no_write)
{
	h2d_block_table_t *row = ROW(1, 2);

	ck_assert_int_eq(PREPARE(4, 8, row, row, row), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(h2d_table_state_valid_rows(state), 4);
	remember();
	acquire_result = H2D_STATUS_ALREADY_PUBLISHED;
	ck_assert_int_eq(h2d_table_state_pad(state, 2, 2, NULL), H2D_STATUS_SUCCESS);
	assert_remembered();
	ck_assert_uint_eq(acquires, 1);
	/* Row 2 holds ids, so that the zero row behind it does not count any more. */
	ck_assert_uint_eq(h2d_table_state_described_rows(state), 2);
	ck_assert_uint_eq(h2d_table_state_valid_rows(state), 2);
	ck_assert_int_eq(h2d_table_state_pad(state, 0, 0, NULL), H2D_STATUS_SUCCESS);
	ck_assert_uint_eq(h2d_table_state_valid_rows(state), 0);
	ck_assert_int_eq(h2d_table_state_pad(state, 0, 1, NULL), H2D_STATUS_ALREADY_PUBLISHED);
	assert_remembered();
	acquire_result = H2D_STATUS_SUCCESS;
	ck_assert_int_eq(h2d_table_state_pad(state, 0, 1, NULL), H2D_STATUS_SUCCESS);
	ASSERT_ROW(0, 0);
	ASSERT_ROW(1, 1, 2);
	ck_assert_uint_eq(h2d_table_state_revision(state), copied_revision + 1);
	h2d_block_table_release(row);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table_state");
	TCase *table = tcase_create("state");

	tcase_add_checked_fixture(table, state_setup, state_teardown);
	tcase_set_timeout(table, 60);
	tcase_add_test(table, a_hit_reads_no_id_and_acquires_nothing);
	tcase_add_loop_test(table, B04_append_validates_only_new_ids_and_keeps_source_resizable, 0, 2);
	tcase_add_test(table, B05_validate_whole_batch_before_writing_and_preserve_previous_snapshot);
	tcase_add_test(table, required_pages_are_checked_on_every_call);
	tcase_add_test(table, B10_failed_host_write_cannot_leave_a_false_empty_batch_hit);
	tcase_add_loop_test(table, B12_full_replacement_clears_only_exposed_tails_and_padded_rows, 0, 2);
	tcase_add_test(table, B13_late_invalid_versioned_row_and_rejected_acquisition_never_write);
	tcase_add_test(table, B14_tbo_inherits_appends_and_tracks_unversioned_content_changes);
	tcase_add_test(table, slices_take_undescribed_rows_as_they_stand);
	tcase_add_test(table, a_slice_described_in_part_is_unversioned);
	tcase_add_test(table, B15_sparse_replacement_leaves_unchanged_rows_untouched);
	tcase_add_test(table, B16_reorder_reuses_validation_by_lineage);
	tcase_add_test(table, ids_that_a_row_has_lost_do_not_count);
	tcase_add_loop_test(table, B17_negative_page_ids_fail_before_any_write, 0, 3);
	tcase_add_test(table, B18_zero_width_rows_and_padding);
	tcase_add_test(table, padding_forgets_rows_and_describes_no_more_than_were_prepared);
	tcase_add_test(table, forgetting_rows_alone_is_no_write);
	suite_add_tcase(suite, table);
	return run_suite(suite);
}
