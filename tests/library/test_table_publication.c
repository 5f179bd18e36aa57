/* SPDX-License-Identifier: MIT */
/* Publishing block tables: what reaches the device, and what is not sent again. */
#include "table_case.h"

START_TEST(B01_versioned_hits_do_not_read_page_payload_or_write_sources)
{
	struct world world = open_world("B01", _i);
	h2d_block_table_t *row = ROW(3, 5);
	h2d_publication_totals_t before, after;
	int32_t host[ROWS * COLUMNS];

	begin(&world);
	check_success(PREPARE(world.table, 4, row));
	ck_assert(publish(world.table, 4));
	finish(&world);
	check_success(h2d_stream_synchronize(fixture_stream));
	/* What would be seen, were an id read, or the source written or sent. */
	((int32_t *)h2d_block_table_ids(row))[0] = -1;
	fill_source(world.buffer, 77);
	memcpy(host, h2d_buffer_host(world.buffer), sizeof(host));
	h2d_owner_get_totals(world.owner, &before);
	/* In a new epoch, in a sealed owner, in a failed one. */
	begin(&world);
	check_success(PREPARE(world.table, 4, row));
	ck_assert(!publish(world.table, 4));
	ck_assert_uint_ne(h2d_buffer_published_epoch(world.buffer), h2d_owner_epoch(world.owner));
	finish(&world);
	check_success(PREPARE(world.table, 4, row));
	ck_assert(!publish(world.table, 4));
	check_success(h2d_owner_fail(world.owner));
	check_success(PREPARE(world.table, 4, row));
	ck_assert(!publish(world.table, 4));
	check_success(h2d_owner_drain(world.owner));
	h2d_owner_get_totals(world.owner, &after);
	ck_assert_uint_eq(after.publications, before.publications);
	ck_assert_uint_eq(after.bytes, before.bytes);
	ck_assert_mem_eq(h2d_buffer_host(world.buffer), host, sizeof(host));
	EXPECT_ROW(world.buffer, 0, 3, 5);
}
END_TEST

START_TEST(B02_reorder_append_replace_shrink_and_padding)
{
	struct world world = open_world("B02", _i / 2);
	bool versioned = _i % 2;
	h2d_block_table_t *a = ROW(3, 5), *b = ROW(2, 6);

	fill_destination_bytes(world.buffer, 0x5a);
	step(&world, versioned, ROWS_OF(a, b), 2, 4, true);
	step(&world, versioned, ROWS_OF(a, b), 2, 4, false);
	step(&world, versioned, ROWS_OF(b, a), 2, 4, true);
	step(&world, versioned, ROWS_OF(a), 1, 4, true);
	step(&world, versioned, ROWS_OF(a), 1, 2, true);
	step(&world, versioned, NULL, 0, 2, true);
	step(&world, versioned, NULL, 0, 2, false);
	step(&world, versioned, ROWS_OF(a), 1, 4, true);
	check_success(h2d_block_table_set(a, 0, 7));
	step(&world, versioned, ROWS_OF(a), 1, 4, true);
	EXPECT_ROW(world.buffer, 0, 7, 5);
}
END_TEST

START_TEST(B05_invalid_batches_leave_the_device_as_it_is)
{
	struct world world = open_world("B05", _i);
	h2d_block_table_t *one = ROW(1), *two = ROW(2), *high = ROW(9), *negative = ROW(-1),
			  *wide = ROW(1, 2, 3, 4, 5, 6, 7, 0, 1);
	h2d_block_table_t *invalid[] = {high, negative, wide};
	int32_t host[ROWS * COLUMNS];

	begin(&world);
	check_success(PREPARE(world.table, 2, one, two));
	ck_assert(publish(world.table, 2));
	finish(&world);
	memcpy(host, h2d_buffer_host(world.buffer), sizeof(host));
	for (int i = 0; i < 3; i++) {
		begin(&world);
		check_status(PREPARE(world.table, 2, two, invalid[i]), H2D_STATUS_OUT_OF_RANGE);
		ck_assert_mem_eq(h2d_buffer_host(world.buffer), host, sizeof(host));
		ck_assert(!publish(world.table, 2));
		finish(&world);
		EXPECT_ROW(world.buffer, 0, 1);
		EXPECT_ROW(world.buffer, 1, 2);
	}
}
END_TEST

/* A publication that is refused does not mark; one that fails while enqueuing fails the owner. */
START_TEST(B06_failed_publish_retries_and_destination_replacement_invalidates)
{
	struct world world = open_world("B06", _i);
	h2d_block_table_t *row = ROW(3);
	h2d_stream_t *stranger;
	bool uploaded = false;

	check_success(h2d_stream_create(fixture_device, NULL, &stranger));
	begin(&world);
	check_success(PREPARE(world.table, 2, row));
	check_status(h2d_published_table_publish(world.table, stranger, 2, NULL, NULL, &uploaded),
		     H2D_STATUS_WRONG_STREAM);
	ck_assert(!uploaded);
	expect_values(h2d_buffer_device(world.buffer), 0, ROWS * COLUMNS, 0);
	ck_assert(publish(world.table, 2));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);

	fill_destination_bytes(world.buffer, 0xff);
	h2d_published_table_invalidate(world.table);
	begin(&world);
	check_success(PREPARE(world.table, 2, row));
	ck_assert(publish(world.table, 2));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
	EXPECT_ROW(world.buffer, 1, 0);
	expect_values((int32_t *)h2d_buffer_device(world.buffer) + 2 * COLUMNS, 0, 2 * COLUMNS, -1);
	check_success(h2d_stream_destroy(stranger));
}
END_TEST

START_TEST(B07_cpu_preparation_is_not_gpu_publication)
{
	struct world world = open_world("B07", _i);
	h2d_block_table_t *three = ROW(3), *five = ROW(5);

	begin(&world);
	check_success(PREPARE(world.table, 1, three));
	ck_assert(publish(world.table, 1));
	finish(&world);
	begin(&world);
	check_success(PREPARE(world.table, 1, five));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
	begin(&world);
	check_success(PREPARE(world.table, 1, five));
	ck_assert(publish(world.table, 1));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 5);
}
END_TEST

static bool slice(const struct world *world, uint32_t first, uint32_t count,
		  h2d_published_table_t *target, uint32_t rows)
{
	h2d_table_options_t options = {.pad_to = rows, .page_limit = H2D_NO_PAGE_LIMIT};

	check_success(h2d_published_table_slice(world->table, first, count, target, fixture_stream,
						&options));
	return publish(target, rows);
}

START_TEST(B08_tbo_slices_reuse_row_revisions_and_recover_after_capture)
{
	struct world world = {.owner = case_owner_of("B08", _i)};
	h2d_buffer_t *halves[2];
	h2d_published_table_t *targets[2];
	const h2d_block_table_t *const rows[] = {ROW(1), ROW(2), ROW(3), ROW(4)};
	const int32_t zeros[COLUMNS] = {0};
	const int32_t *zero_rows[] = {zeros, zeros, zeros};
	h2d_table_rows_t captured = {.count = 3,
				     .ids = zero_rows,
				     .lengths = (const uint32_t[]){COLUMNS, COLUMNS, COLUMNS}};

	world.buffer = case_buffer(world.owner, "table", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	halves[0] = case_buffer(world.owner, "left", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	halves[1] = case_buffer(world.owner, "right", 4, ROWS, COLUMNS, H2D_COUNT_ROWS);
	check_success(h2d_owner_select_transports(world.owner));
	world.table = make_table(world.buffer);
	for (int i = 0; i < 2; i++)
		targets[i] = make_table(halves[i]);

	begin(&world);
	check_success(prepare_rows(world.table, true, rows, 4, 4, 8, NULL));
	ck_assert(slice(&world, 0, 2, targets[0], 3));
	ck_assert(slice(&world, 2, 2, targets[1], 3));
	finish(&world);
	/* Sealed: an acquire or an upload would be refused. */
	check_success(prepare_rows(world.table, true, rows, 4, 4, 8, NULL));
	ck_assert(!slice(&world, 0, 2, targets[0], 3));
	ck_assert(!slice(&world, 2, 2, targets[1], 3));

	begin(&world);
	check_success(h2d_published_table_prepare(targets[0], fixture_stream, &captured, NULL));
	ck_assert(publish(targets[0], 3));
	finish(&world);
	expect_values(h2d_buffer_device(halves[0]), 0, 3 * COLUMNS, 0);
	begin(&world);
	ck_assert(slice(&world, 0, 2, targets[0], 4));
	ck_assert(slice(&world, 2, 2, targets[1], 4));
	finish(&world);
	for (int i = 0; i < 2; i++) {
		EXPECT_ROW(halves[i], 0, 2 * i + 1);
		EXPECT_ROW(halves[i], 1, 2 * i + 2);
		EXPECT_ROW(halves[i], 2, 0);
		EXPECT_ROW(halves[i], 3, 0);
	}
}
END_TEST

START_TEST(B09_slots_have_independent_states)
{
	struct world first = open_world("B09 slot 0", _i), second = open_world("B09 slot 1", _i);
	h2d_block_table_t *three = ROW(3), *five = ROW(5);

	begin(&first);
	check_success(PREPARE(first.table, 1, three));
	ck_assert(publish(first.table, 1));
	finish(&first);
	begin(&second);
	/* Nothing is described in the second slot, so nothing may be taken as published. */
	check_fails(h2d_published_table_publish(second.table, fixture_stream, 1, NULL, NULL, NULL),
		    H2D_STATUS_OUT_OF_RANGE, "only 0 are prepared");
	check_success(PREPARE(second.table, 1, five));
	ck_assert(publish(second.table, 1));
	finish(&second);
	EXPECT_ROW(first.buffer, 0, 3);
	EXPECT_ROW(second.buffer, 0, 5);
	begin(&first);
	check_success(PREPARE(first.table, 1, three));
	ck_assert(!publish(first.table, 1));
	finish(&first);
}
END_TEST

/* Padding an empty batch clears a table that held rows, on the device too (host part: table_state). */
START_TEST(B10_empty_batch_is_published_as_zeros)
{
	struct world world = open_world("B10", _i);

	begin(&world);
	check_success(PREPARE(world.table, 2, ROW(3, 5), ROW(7)));
	ck_assert(publish(world.table, 2));
	finish(&world);
	begin(&world);
	check_success(PREPARE_NONE(world.table, 4));
	ck_assert(publish(world.table, 4));
	finish(&world);
	expect_values(h2d_buffer_device(world.buffer), 0, ROWS * COLUMNS, 0);
}
END_TEST

START_TEST(B11_group_validation_failure_does_not_publish_a_revision)
{
	struct world world = open_world("B11", _i);
	h2d_block_table_t *row = ROW(3);
	bool uploaded = false;

	begin(&world);
	check_success(PREPARE(world.table, 2, row));
	fill_source(world.other, 6);
	check_success(h2d_group_set_count(world.group, world.other, 5));
	check_status(h2d_published_table_publish(world.table, fixture_stream, 2, world.group, NULL,
						 &uploaded),
		     H2D_STATUS_OUT_OF_RANGE);
	ck_assert(!uploaded);
	expect_values(h2d_buffer_device(world.buffer), 0, ROWS * COLUMNS, 0);
	check_success(h2d_group_set_count(world.group, world.other, 2));
	check_success(h2d_published_table_publish(world.table, fixture_stream, 2, world.group, NULL,
						  &uploaded));
	ck_assert(uploaded);
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
	expect_values(h2d_buffer_device(world.other), 0, 2 * COLUMNS, 6);

	begin(&world);
	check_success(PREPARE(world.table, 2, row));
	fill_source(world.other, 4);
	check_success(h2d_published_table_publish(world.table, fixture_stream, 2, world.group, NULL,
						  &uploaded));
	ck_assert(!uploaded);
	/* The group went without the table: of it alone this epoch knows nothing. */
	ck_assert_uint_ne(h2d_buffer_published_epoch(world.buffer), h2d_owner_epoch(world.owner));
	ck_assert_uint_eq(h2d_buffer_published_epoch(world.other), h2d_owner_epoch(world.owner));
	finish(&world);
	EXPECT_ROW(world.buffer, 0, 3);
	expect_values(h2d_buffer_device(world.other), 0, 2 * COLUMNS, 4);
}
END_TEST

START_TEST(B13_rejected_acquisition_changes_nothing)
{
	struct world world = open_world("B13", _i);
	h2d_block_table_t *good = ROW(1), *more = ROW(2);
	int32_t host[ROWS * COLUMNS];
	uint64_t revision;

	begin(&world);
	check_success(PREPARE(world.table, 2, good));
	ck_assert(publish(world.table, 2));
	finish(&world);
	memcpy(host, h2d_buffer_host(world.buffer), sizeof(host));
	revision = h2d_table_state_revision(h2d_published_table_state(world.table));
	/* Sealed: the source cannot be acquired. */
	check_status(PREPARE(world.table, 2, good, more), H2D_STATUS_INVALID_STATE);
	check_status(h2d_published_table_pad(world.table, fixture_stream, 0, 2, NULL),
		     H2D_STATUS_INVALID_STATE);
	ck_assert_mem_eq(h2d_buffer_host(world.buffer), host, sizeof(host));
	ck_assert_uint_eq(h2d_table_state_revision(h2d_published_table_state(world.table)), revision);
	check_success(PREPARE(world.table, 2, good));
	check_success(h2d_block_table_append(more, 5));
	begin(&world);
	check_success(PREPARE(world.table, 2, good, more));
	ck_assert(publish(world.table, 2));
	finish(&world);
	EXPECT_ROW(world.buffer, 1, 2, 5);
}
END_TEST

/* The source is in use until the GPU has read it: a delayed GPU still gets what was published. */
START_TEST(published_rows_are_not_rewritten_under_the_gpu)
{
	struct world world = open_world("delay", _i);
	const int32_t *copies[2];

	begin(&world);
	delay(fixture_stream, 20);
	check_success(PREPARE(world.table, 1, ROW(3, 5)));
	ck_assert(publish(world.table, 1));
	copies[0] = consume(fixture_stream, h2d_buffer_device(world.buffer), COLUMNS * 4);
	check_status(PREPARE(world.table, 1, ROW(7)), H2D_STATUS_ALREADY_PUBLISHED);
	finish(&world);
	begin(&world);
	delay(fixture_stream, 20);
	check_success(PREPARE(world.table, 1, ROW(7)));
	ck_assert(publish(world.table, 1));
	copies[1] = consume(fixture_stream, h2d_buffer_device(world.buffer), COLUMNS * 4);
	finish(&world);
	expect_bytes(copies[0], IDS(3, 5, 0, 0, 0, 0, 0, 0), COLUMNS * 4);
	expect_bytes(copies[1], IDS(7, 0, 0, 0, 0, 0, 0, 0), COLUMNS * 4);
}
END_TEST

START_TEST(B18_zero_width_rows_and_padding)
{
	h2d_owner_t *owner = case_owner_of("B18", _i);
	h2d_buffer_description_t description = {
		.name = "narrow", .element_size = 4, .dimensions = 2, .shape = {4, 0}};
	h2d_buffer_t *buffer = NULL;
	struct world world = {.owner = owner};

	check_success(h2d_buffer_allocate(owner, &description, &buffer));
	check_success(h2d_owner_select_transports(owner));
	world.table = make_table(buffer);
	begin(&world);
	check_success(prepare_rows(world.table, true, ROWS_OF(make_row(NULL, 0)), 1, 4, 0, NULL));
	check_success(prepare_rows(world.table, true, NULL, 0, 4, 0, NULL));
	ck_assert(publish(world.table, 4));
	ck_assert(!publish(world.table, 4));
	finish(&world);
	ck_assert_uint_eq(h2d_buffer_capacity(buffer), 4);
	ck_assert_uint_eq(h2d_buffer_bytes_per_count(buffer), 0);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("table_publication");
	TCase *tcase = tcase_create("publication");

	tcase_add_checked_fixture(tcase, case_setup, table_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, B01_versioned_hits_do_not_read_page_payload_or_write_sources, 0, BACKENDS);
	tcase_add_loop_test(tcase, B02_reorder_append_replace_shrink_and_padding, 0, 2 * BACKENDS);
	tcase_add_loop_test(tcase, B05_invalid_batches_leave_the_device_as_it_is, 0, BACKENDS);
	tcase_add_loop_test(tcase, B06_failed_publish_retries_and_destination_replacement_invalidates, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, B07_cpu_preparation_is_not_gpu_publication, 0, BACKENDS);
	tcase_add_loop_test(tcase, B08_tbo_slices_reuse_row_revisions_and_recover_after_capture, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, B09_slots_have_independent_states, 0, BACKENDS);
	tcase_add_loop_test(tcase, B10_empty_batch_is_published_as_zeros, 0, BACKENDS);
	tcase_add_loop_test(tcase, B11_group_validation_failure_does_not_publish_a_revision, 0, BACKENDS);
	tcase_add_loop_test(tcase, B13_rejected_acquisition_changes_nothing, 0, BACKENDS);
	tcase_add_loop_test(tcase, published_rows_are_not_rewritten_under_the_gpu, 0, BACKENDS);
	tcase_add_loop_test(tcase, B18_zero_width_rows_and_padding, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(make_suite());
}
