/* SPDX-License-Identifier: MIT */
/* Publishing block tables: uploads that a mapping needs, second ones, and what is refused. */
#include "table_case.h"

START_TEST(block_table_upload_only_when_mapping_changes)
{
	struct world world = open_world("mapping", _i);
	h2d_block_table_t *a = ROW(3, 5), *b = ROW(2, 6);
	h2d_published_table_totals_t totals;

	step(&world, true, ROWS_OF(a, b), 2, 4, true);
	step(&world, true, ROWS_OF(a, b), 2, 4, false); /* only positions moved */
	check_success(h2d_block_table_append(a, 1));
	step(&world, true, ROWS_OF(a, b), 2, 4, true);
	step(&world, true, ROWS_OF(b, a), 2, 4, true);
	step(&world, true, ROWS_OF(a), 1, 4, true);
	step(&world, true, ROWS_OF(a), 1, 2, true);
	step(&world, true, NULL, 0, 2, true);
	step(&world, true, NULL, 0, 2, false);
	step(&world, true, ROWS_OF(a, b), 2, 4, true);
	h2d_published_table_invalidate(world.table);
	step(&world, true, ROWS_OF(a, b), 2, 4, true);
	h2d_published_table_get_totals(world.table, &totals);
	ck_assert_uint_eq(totals.uploads, 8);
	ck_assert_uint_eq(totals.uploads_omitted, 2);
	ck_assert_uint_eq(totals.bytes_uploaded, (6 * 4 + 2 * 2) * COLUMNS * sizeof(int32_t));
	ck_assert_uint_eq(totals.bytes_omitted, (4 + 2) * COLUMNS * sizeof(int32_t));
}
END_TEST

START_TEST(a_changed_table_is_republished_in_one_epoch_with_a_reason)
{
	struct world world = open_world("republish", _i);
	h2d_block_table_t *row = ROW(3);
	const char *reason = "late request";
	const char *const reasons[] = {reason, NULL};
	bool uploaded;

	begin(&world);
	check_success(PREPARE(world.table, 1, row));
	ck_assert(publish(world.table, 1));
	check_success(h2d_block_table_append(row, 4));
	check_status(PREPARE(world.table, 1, row), H2D_STATUS_ALREADY_PUBLISHED);
	check_success(prepare_rows(world.table, true, ROWS_OF(row), 1, 1, 8, reason));
	/* The preparation alone does not authorise the publication. */
	check_status(h2d_published_table_publish(world.table, fixture_stream, 1, NULL, NULL, NULL),
		     H2D_STATUS_ALREADY_PUBLISHED);
	check_success(h2d_published_table_publish(world.table, fixture_stream, 1, NULL, &reason,
						  &uploaded));
	ck_assert(uploaded);
	EXPECT_ROW(world.buffer, 0, 3, 4);
	/* The same by padding, in a group. */
	check_success(h2d_published_table_pad(world.table, fixture_stream, 0, 2, reason));
	fill_source(world.other, 9);
	check_success(h2d_group_set_count(world.group, world.other, 1));
	check_success(h2d_published_table_publish(world.table, fixture_stream, 2, world.group, reasons,
						  &uploaded));
	ck_assert(uploaded);
	finish(&world);
	expect_values(h2d_buffer_device(world.buffer), 0, 2 * COLUMNS, 0);
	expect_values(h2d_buffer_device(world.other), 0, COLUMNS, 9);
}
END_TEST

START_TEST(publish_refuses_rows_that_are_neither_described_nor_zero)
{
	struct world world = open_world("valid rows", _i);
	h2d_block_table_t *row = ROW(3);

	begin(&world);
	check_success(PREPARE(world.table, 0, row));
	check_fails(h2d_published_table_publish(world.table, fixture_stream, 2, NULL, NULL, NULL),
		    H2D_STATUS_OUT_OF_RANGE, "table: 2 rows to publish, but only 1 are prepared or zero");
	check_success(h2d_published_table_pad(world.table, fixture_stream, 1, 3, NULL));
	check_status(h2d_published_table_publish(world.table, fixture_stream, 4, NULL, NULL, NULL),
		     H2D_STATUS_OUT_OF_RANGE);
	ck_assert(publish(world.table, 3));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
	expect_values(h2d_buffer_device(world.buffer), COLUMNS, ROWS * COLUMNS, 0);
}
END_TEST

START_TEST(padding_cannot_describe_more_rows_than_were_prepared)
{
	struct world world = open_world("pad", _i);

	begin(&world);
	check_success(PREPARE(world.table, 0, ROW(3)));
	check_status(h2d_published_table_pad(world.table, fixture_stream, 2, 4, NULL),
		     H2D_STATUS_OUT_OF_RANGE);
	ck_assert(publish(world.table, 1));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
}
END_TEST

/* Also when the group's table is omitted, the ledger of the other members counts. */
START_TEST(group_without_the_table_is_refused)
{
	struct world world = open_world("member", _i), stranger = open_world("stranger", _i);

	begin(&world);
	check_success(PREPARE(world.table, 1, ROW(3)));
	check_status(h2d_published_table_publish(world.table, fixture_stream, 1, stranger.group, NULL,
						 NULL),
		     H2D_STATUS_NOT_FOUND);
	ck_assert(publish(world.table, 1));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
}
END_TEST

START_TEST(tables_are_contiguous_int32_rows)
{
	static const h2d_buffer_description_t wrong[] = {
		{.name = "int64", .element_size = 8, .dimensions = 2, .shape = {4, 4}},
		{.name = "bytes", .element_size = 1, .dimensions = 2, .shape = {4, 16}},
		{.name = "flat", .element_size = 4, .dimensions = 1, .shape = {16}},
		{.name = "cube", .element_size = 4, .dimensions = 3, .shape = {2, 2, 2}},
		{.name = "elements", .element_size = 4, .dimensions = 2, .shape = {4, 4},
		 .unit = H2D_COUNT_ELEMENTS},
	};
	h2d_owner_t *owner = case_owner_of("shapes", H2D_BACKEND_PACKED);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		h2d_buffer_t *buffer = NULL;
		h2d_published_table_t *table = NULL;

		check_success(h2d_buffer_allocate(owner, &wrong[i], &buffer));
		check_fails(h2d_published_table_create(buffer, &table), H2D_STATUS_INVALID_ARGUMENT,
			    wrong[i].name);
		ck_assert_ptr_null(table);
	}
	check_success(h2d_owner_begin(owner, fixture_stream));
	check_success(h2d_owner_finish(owner, fixture_stream));
}
END_TEST

/* Each would take what it sent itself for what the device holds. */
START_TEST(a_buffer_has_one_table_at_a_time)
{
	struct world world = open_world("one table", _i);
	h2d_published_table_t *second = NULL;
	h2d_block_table_t *a = ROW(3, 5), *b = ROW(2, 6);

	step(&world, true, ROWS_OF(a), 1, 1, true);
	check_fails(h2d_published_table_create(world.buffer, &second), H2D_STATUS_INVALID_STATE,
		    "table: another table publishes this buffer");
	ck_assert_ptr_null(second);
	step(&world, true, ROWS_OF(a), 1, 1, false);
	/* After the first one, another one knows nothing of the device and sends. */
	check_success(h2d_published_table_create(world.other, &second));
	h2d_published_table_destroy(second);
	check_success(h2d_published_table_create(world.other, &second));
	check_fails(h2d_published_table_create(world.buffer, &second), H2D_STATUS_INVALID_STATE,
		    "another table");
	world.table = second;
	world.buffer = world.other;
	step(&world, true, ROWS_OF(b, a), 2, 2, true);
	step(&world, true, ROWS_OF(b, a), 2, 2, false);
	h2d_published_table_destroy(second);
}
END_TEST

START_TEST(a_table_outlives_its_buffer_only_to_be_destroyed)
{
	h2d_owner_t *owner = NULL;
	h2d_buffer_t *buffers[2];
	h2d_published_table_t *tables[2];
	h2d_block_table_t *row = ROW(3);
	const h2d_block_table_t *const batch[] = {row};
	const h2d_table_rows_t rows = {.count = 1, .tables = batch};

	check_success(h2d_owner_create(fixture_device, case_registry, NULL, &owner));
	for (int i = 0; i < 2; i++) {
		buffers[i] = case_buffer(owner, i == 0 ? "alone" : "with its owner", 4, ROWS,
					 COLUMNS, H2D_COUNT_ROWS);
		check_success(h2d_published_table_create(buffers[i], &tables[i]));
	}
	check_success(h2d_buffer_destroy(buffers[0]));
	check_fails(h2d_published_table_slice(tables[1], 0, 1, tables[0], fixture_stream, NULL),
		    H2D_STATUS_INVALID_STATE, "buffer is destroyed");
	check_success(h2d_owner_destroy(owner));
	for (int i = 0; i < 2; i++) {
		check_fails(h2d_published_table_prepare(tables[i], fixture_stream, &rows, NULL),
			    H2D_STATUS_INVALID_STATE, "buffer is destroyed");
		check_fails(h2d_published_table_pad(tables[i], fixture_stream, 0, 0, NULL),
			    H2D_STATUS_INVALID_STATE, "buffer is destroyed");
		check_fails(
			h2d_published_table_publish(tables[i], fixture_stream, 0, NULL, NULL, NULL),
			H2D_STATUS_INVALID_STATE, "buffer is destroyed");
		h2d_published_table_destroy(tables[i]);
	}
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("table_republication");
	TCase *tcase = tcase_create("republication");

	tcase_add_checked_fixture(tcase, case_setup, table_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, block_table_upload_only_when_mapping_changes, 0, BACKENDS);
	tcase_add_loop_test(tcase, a_changed_table_is_republished_in_one_epoch_with_a_reason, 0, BACKENDS);
	tcase_add_loop_test(tcase, publish_refuses_rows_that_are_neither_described_nor_zero, 0, BACKENDS);
	tcase_add_loop_test(tcase, padding_cannot_describe_more_rows_than_were_prepared, 0, BACKENDS);
	tcase_add_loop_test(tcase, group_without_the_table_is_refused, 0, BACKENDS);
	tcase_add_test(tcase, tables_are_contiguous_int32_rows);
	tcase_add_loop_test(tcase, a_buffer_has_one_table_at_a_time, 0, BACKENDS);
	tcase_add_test(tcase, a_table_outlives_its_buffer_only_to_be_destroyed);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(make_suite());
}
