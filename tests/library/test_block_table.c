/* SPDX-License-Identifier: MIT */
/* Block-table rows: contents and lineage. */
#include <check.h>
#include <stdlib.h>

#include <h2dpub/block_table.h>

#include "../run_suite.h"

static h2d_block_table_t *row_of(const int32_t *ids, uint64_t count)
{
	h2d_block_table_t *row = NULL;

	ck_assert_int_eq(h2d_block_table_create(ids, count, &row), H2D_STATUS_SUCCESS);
	return row;
}

#define ROW(...)                                                                                   \
	row_of((const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void assert_ids(const h2d_block_table_t *row, const int32_t *ids, uint32_t count)
{
	ck_assert_uint_eq(h2d_block_table_length(row), count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_int_eq(h2d_block_table_ids(row)[i], ids[i]);
}

#define ASSERT_IDS(row, ...)                                                                       \
	assert_ids(row, (const int32_t[]){__VA_ARGS__},                                            \
		   sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

START_TEST(appends_keep_the_version)
{
	h2d_block_table_t *row = row_of(NULL, 0);
	uint64_t version = h2d_block_table_version(row);
	const int32_t more[] = {4, 5, 6};

	for (int32_t i = 0; i < 4; i++)
		ck_assert_int_eq(h2d_block_table_append(row, i), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_block_table_extend(row, more, 3), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_block_table_extend(row, NULL, 0), H2D_STATUS_SUCCESS);
	ASSERT_IDS(row, 0, 1, 2, 3, 4, 5, 6);
	ck_assert_uint_eq(h2d_block_table_version(row), version);
	h2d_block_table_release(row);
}
END_TEST

/* Runs one change on a row of 3, 5, 5, 7 and checks that a new version was drawn. */
#define CHANGE(call, expected_status, ...)                                                         \
	do {                                                                                       \
		h2d_block_table_t *row = ROW(3, 5, 5, 7);                                          \
		uint64_t version = h2d_block_table_version(row);                                   \
                                                                                                   \
		ck_assert_int_eq(call, expected_status);                                           \
		ck_assert_uint_gt(h2d_block_table_version(row), version);                          \
		ASSERT_IDS(row, __VA_ARGS__);                                                      \
		h2d_block_table_release(row);                                                      \
	} while (0)

START_TEST(every_other_change_draws_a_new_version)
{
	int32_t id = 0;

	CHANGE(h2d_block_table_set(row, 3, 9), H2D_STATUS_SUCCESS, 3, 5, 5, 9);
	CHANGE(h2d_block_table_set(row, 0, 3), H2D_STATUS_SUCCESS, 3, 5, 5, 7);
	CHANGE(h2d_block_table_insert(row, 0, 1), H2D_STATUS_SUCCESS, 1, 3, 5, 5, 7);
	CHANGE(h2d_block_table_insert(row, 4, 1), H2D_STATUS_SUCCESS, 3, 5, 5, 7, 1);
	CHANGE(h2d_block_table_remove(row, 5), H2D_STATUS_SUCCESS, 3, 5, 7);
	CHANGE(h2d_block_table_pop(row, &id), H2D_STATUS_SUCCESS, 3, 5, 5);
	ck_assert_int_eq(id, 7);
	CHANGE(h2d_block_table_erase(row, 1, 2), H2D_STATUS_SUCCESS, 3, 7);
	CHANGE((h2d_block_table_reverse(row), 0), H2D_STATUS_SUCCESS, 7, 5, 5, 3);
}
END_TEST

START_TEST(failing_changes_draw_a_version_and_change_nothing)
{
	h2d_block_table_t *empty = row_of(NULL, 0);
	uint64_t empty_version = h2d_block_table_version(empty);

	CHANGE(h2d_block_table_set(row, 4, 9), H2D_STATUS_OUT_OF_RANGE, 3, 5, 5, 7);
	CHANGE(h2d_block_table_insert(row, 5, 9), H2D_STATUS_OUT_OF_RANGE, 3, 5, 5, 7);
	CHANGE(h2d_block_table_remove(row, 4), H2D_STATUS_NOT_FOUND, 3, 5, 5, 7);
	CHANGE(h2d_block_table_erase(row, 3, 2), H2D_STATUS_OUT_OF_RANGE, 3, 5, 5, 7);
	CHANGE(h2d_block_table_erase(row, 5, 0), H2D_STATUS_OUT_OF_RANGE, 3, 5, 5, 7);
	ck_assert_int_eq(h2d_block_table_pop(empty, NULL), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_uint_gt(h2d_block_table_version(empty), empty_version);
	h2d_block_table_release(empty);
}
END_TEST

START_TEST(clear_and_reverse_of_any_length)
{
	h2d_block_table_t *row = row_of(NULL, 0);
	int32_t ids[5];

	h2d_block_table_reverse(row);
	ck_assert_uint_eq(h2d_block_table_length(row), 0);
	for (uint32_t length = 1; length <= 5; length++) {
		uint64_t version = h2d_block_table_version(row);

		h2d_block_table_clear(row);
		ck_assert_uint_gt(h2d_block_table_version(row), version);
		ck_assert_uint_eq(h2d_block_table_length(row), 0);
		for (uint32_t i = 0; i < length; i++) {
			ck_assert_int_eq(h2d_block_table_append(row, (int32_t)i), 0);
			ids[length - 1 - i] = (int32_t)i;
		}
		h2d_block_table_reverse(row);
		assert_ids(row, ids, length);
	}
	h2d_block_table_release(row);
}
END_TEST

START_TEST(copies_are_independent)
{
	h2d_block_table_t *row = ROW(3, 5), *copy = NULL;

	ck_assert_int_eq(h2d_block_table_copy(row, &copy), H2D_STATUS_SUCCESS);
	ck_assert_uint_gt(h2d_block_table_version(copy), h2d_block_table_version(row));
	ck_assert_int_eq(h2d_block_table_append(copy, 7), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_block_table_set(row, 0, 1), H2D_STATUS_SUCCESS);
	ASSERT_IDS(row, 1, 5);
	ASSERT_IDS(copy, 3, 5, 7);
	h2d_block_table_release(row);
	h2d_block_table_release(copy);
}
END_TEST

START_TEST(a_hundred_rows_have_a_hundred_versions)
{
	uint64_t versions[100];

	for (int i = 0; i < 100; i++) {
		h2d_block_table_t *row = row_of(NULL, 0);

		versions[i] = h2d_block_table_version(row);
		ck_assert_uint_ne(versions[i], 0);
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(versions[j], versions[i]);
		h2d_block_table_release(row);
	}
}
END_TEST

START_TEST(a_shared_row_lives_until_its_last_release)
{
	h2d_block_table_t *row = ROW(3, 5);

	h2d_block_table_retain(row);
	h2d_block_table_release(row);
	ASSERT_IDS(row, 3, 5);
	h2d_block_table_release(row);
	h2d_block_table_release(NULL);
}
END_TEST

START_TEST(bad_arguments_are_named)
{
	h2d_block_table_t *row = NULL;

	ck_assert_int_eq(h2d_block_table_create(NULL, 3, &row), H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_pstr_eq(h2d_error_message(), "block table: 3 ids at NULL");
	ck_assert_int_eq(h2d_block_table_create((const int32_t[]){1}, UINT64_C(1) << 32, &row),
			 H2D_STATUS_OUT_OF_RANGE);
	row = ROW(1);
	ck_assert_int_eq(h2d_block_table_extend(row, NULL, 2), H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_int_eq(h2d_block_table_extend(row, (const int32_t[]){1}, UINT64_MAX),
			 H2D_STATUS_OUT_OF_RANGE);
	ck_assert_int_eq(h2d_block_table_set(row, 1, 0), H2D_STATUS_OUT_OF_RANGE);
	ck_assert_pstr_eq(h2d_error_message(), "block table set: index 1 in a row of 1 ids");
	ASSERT_IDS(row, 1);
	h2d_block_table_release(row);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block_table");
	TCase *rows = tcase_create("rows");

	tcase_add_test(rows, appends_keep_the_version);
	tcase_add_test(rows, every_other_change_draws_a_new_version);
	tcase_add_test(rows, failing_changes_draw_a_version_and_change_nothing);
	tcase_add_test(rows, clear_and_reverse_of_any_length);
	tcase_add_test(rows, copies_are_independent);
	tcase_add_test(rows, a_hundred_rows_have_a_hundred_versions);
	tcase_add_test(rows, a_shared_row_lives_until_its_last_release);
	tcase_add_test(rows, bad_arguments_are_named);
	suite_add_tcase(suite, rows);
	return run_suite(suite);
}
