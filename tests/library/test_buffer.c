/* SPDX-License-Identifier: MIT */
/* Buffers and groups: shapes, strides, wrapped memory, overlaps, and what is refused. */
#include "publication_case.h"

static h2d_buffer_description_t rows_of(const char *name, uint64_t rows, uint64_t columns)
{
	return (h2d_buffer_description_t){
		.name = name, .element_size = 4, .dimensions = 2, .shape = {rows, columns}};
}

/* ---- overlaps -------------------------------------------------------------------------------- */

START_TEST(P06_aliases_rejected_across_owners_but_disjoint_regions_allowed)
{
	h2d_owner_t *first = case_owner_of("first", H2D_BACKEND_DIRECT);
	h2d_owner_t *second = case_owner_of("second", H2D_BACKEND_DIRECT);
	uint32_t *host = case_host_memory(256), *device = case_device_memory(256);
	h2d_buffer_description_t description = {
		.name = "a", .element_size = 4, .dimensions = 1, .shape = {8}};
	h2d_buffer_t *a = NULL, *b = NULL, *c = NULL;

	check_success(h2d_buffer_wrap(first, &description, host, device, &a));
	description.name = "b";
	description.shape[0] = 4;
	check_fails(h2d_buffer_wrap(second, &description, host + 32, device + 2, &b),
		    H2D_STATUS_OVERLAP, "destination overlaps");
	ck_assert_ptr_null(b);
	/* The refused name and source are free, and touching halves do not overlap. */
	description.shape[0] = 8;
	check_success(h2d_buffer_wrap(second, &description, host + 8, device + 8, &b));
	description.name = "c";
	check_success(h2d_buffer_wrap(first, &description, host + 16, device + 16, &c));
	ck_assert_ptr_eq(h2d_buffer_host(b), host + 8);
	ck_assert_ptr_eq(h2d_buffer_device(b), device + 8);
}
END_TEST

START_TEST(P07_shared_host_arena_cannot_be_registered_with_independent_reuse_state)
{
	h2d_owner_t *first = case_owner_of("first", H2D_BACKEND_DIRECT);
	h2d_owner_t *second = case_owner_of("second", H2D_BACKEND_DIRECT);
	uint32_t *host = case_host_memory(256), *device = case_device_memory(256);
	h2d_buffer_description_t description = {
		.name = "a", .element_size = 4, .dimensions = 1, .shape = {16}};
	h2d_buffer_t *a = NULL, *b = NULL;

	check_success(h2d_buffer_wrap(first, &description, host, device, &a));
	check_fails(h2d_buffer_wrap(second, &description, host, device + 16, &b),
		    H2D_STATUS_OVERLAP, "source overlaps");
	check_success(h2d_buffer_wrap(second, &description, host + 16, device + 16, &b));
}
END_TEST

/* Destroying an owner unregisters its memory: the way to rebuild. */
START_TEST(destroyed_owners_leave_their_memory_to_others)
{
	h2d_owner_t *owner = NULL;
	uint32_t *host = case_host_memory(64), *device = case_device_memory(64);
	h2d_buffer_description_t description = {
		.name = "a", .element_size = 4, .dimensions = 1, .shape = {16}};
	h2d_buffer_t *buffer = NULL;
	int round;

	for (round = 0; round < 3; round++) {
		check_success(h2d_owner_create(fixture_device, case_registry, NULL, &owner));
		check_success(h2d_buffer_wrap(owner, &description, host, device, &buffer));
		check_success(h2d_owner_begin(owner, fixture_stream));
		fill_source(buffer, round + 1);
		check_success(h2d_buffer_publish(buffer, fixture_stream, 16, NULL));
		/* Active, with its copy under way: destroying waits for it. */
		check_success(h2d_owner_destroy(owner));
		expect_values(device, 0, 16, round + 1);
	}
}
END_TEST

START_TEST(destroying_waits_bounded_and_keeps_a_busy_owner)
{
	h2d_owner_options_t options = {.name = "busy", .timeout_ns = 20000000};
	h2d_buffer_t *buffer;
	h2d_owner_t *owner = NULL;

	check_success(h2d_owner_create(fixture_device, case_registry, &options, &owner));
	buffer = case_buffer(owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_owner_begin(owner, fixture_stream));
	fill_source(buffer, 9);
	gate_close(fixture_stream);
	check_success(h2d_buffer_publish(buffer, fixture_stream, 16, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	check_fails(h2d_owner_destroy(owner), H2D_STATUS_TIMEOUT, "busy");
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_SEALED);
	gate_open();
	expect_values(h2d_buffer_device(buffer), 0, 16, 9);
	check_success_in_time(h2d_owner_destroy(owner));
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

START_TEST(P08_duplicate_destination_in_group_rejected)
{
	struct pair pair = pair_make("slot", H2D_BACKEND_DIRECT);
	struct pair other = pair_make("other", H2D_BACKEND_DIRECT);
	h2d_group_t *group = NULL;

	check_fails(h2d_group_create(pair.owner, "duplicate", (h2d_buffer_t *[]){pair.a, pair.a}, 2,
				     &group),
		    H2D_STATUS_INVALID_ARGUMENT, "destination twice");
	check_fails(h2d_group_create(pair.owner, "mixed", (h2d_buffer_t *[]){pair.a, other.b}, 2,
				     &group),
		    H2D_STATUS_INVALID_ARGUMENT, "belongs to owner 'other'");
	ck_assert_ptr_null(group);
}
END_TEST

/* The group's own counts and those of a call in turns: each publication follows what it is given.
 */
START_TEST(own_counts_and_given_ones_take_turns)
{
	static const struct {
		int64_t own;   /* set first; OMITTED: left alone */
		int64_t given; /* OMITTED: the own ones are published */
		uint32_t published;
	} turns[] = {
		{4, H2D_COUNT_OMITTED, 4},
		{H2D_COUNT_OMITTED, H2D_COUNT_OMITTED, 4},
		{4, H2D_COUNT_OMITTED, 4},
		{7, H2D_COUNT_OMITTED, 7},
		{H2D_COUNT_OMITTED, 3, 3},
		{H2D_COUNT_OMITTED, H2D_COUNT_OMITTED, 7},
		{5, 5, 5},
		{H2D_COUNT_OMITTED, H2D_COUNT_OMITTED, 5},
		{6, 2, 2},
		{H2D_COUNT_OMITTED, H2D_COUNT_OMITTED, 6},
	};
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	const uint8_t none = 0xcc;

	check_success(h2d_group_set_count(pair.group, pair.b, 16));
	for (int32_t turn = 0; turn < (int32_t)(sizeof(turns) / sizeof(turns[0])); turn++) {
		const int64_t given[] = {turns[turn].given, 16};

		check_success(h2d_owner_begin(pair.owner, fixture_stream));
		fill_destination_bytes(pair.a, none);
		fill_source(pair.a, turn);
		fill_source(pair.b, -turn);
		if (turns[turn].own != H2D_COUNT_OMITTED)
			check_success(h2d_group_set_count(pair.group, pair.a, turns[turn].own));
		check_success(h2d_group_publish(pair.group, fixture_stream,
						given[0] == H2D_COUNT_OMITTED ? NULL : given,
						NULL));
		check_success(h2d_owner_finish(pair.owner, fixture_stream));
		expect_values(h2d_buffer_device(pair.a), 0, turns[turn].published, turn);
		expect_values(h2d_buffer_device(pair.a), turns[turn].published, 16,
			      (int32_t)0xcccccccc);
		expect_values(h2d_buffer_device(pair.b), 0, 16, -turn);
	}
}
END_TEST

START_TEST(P15_transport_selection_preserves_fallback_and_owner_lifecycle)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PACKED);
	h2d_backend_t chosen = H2D_BACKEND_PULL;
	h2d_buffer_t *a = case_buffer(owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	h2d_group_t *group = NULL;
	char reason[128];

	check_success(h2d_group_create(owner, "lonely", &a, 1, &group));
	ck_assert_int_eq(h2d_group_transport(group), H2D_BACKEND_DIRECT);
	ck_assert_ptr_null(h2d_group_fallback_reason(group));
	check_success(h2d_group_use_transport(group, H2D_BACKEND_PACKED, &chosen));
	ck_assert_int_eq(chosen, H2D_BACKEND_DIRECT);
	ck_assert_ptr_nonnull(h2d_group_fallback_reason(group));
	strcpy(reason, h2d_group_fallback_reason(group));
	check_fails(h2d_group_use_transport(group, (h2d_backend_t)7, &chosen),
		    H2D_STATUS_INVALID_ARGUMENT, "H2D transport");
	ck_assert_str_eq(h2d_group_fallback_reason(group), reason);
	check_success(h2d_group_use_transport(group, H2D_BACKEND_DIRECT, NULL));
	ck_assert_ptr_null(h2d_group_fallback_reason(group));
	check_success(h2d_group_use_transport(group, H2D_BACKEND_PULL, &chosen));
	ck_assert_int_eq(chosen, H2D_BACKEND_PULL);
	check_success(h2d_group_use_transport(group, H2D_BACKEND_DIRECT, &chosen));
	ck_assert_int_eq(h2d_group_transport(group), H2D_BACKEND_DIRECT);

	check_success(h2d_owner_begin(owner, fixture_stream));
	fill_source(a, 31);
	check_success(h2d_group_publish(group, fixture_stream, (int64_t[]){8}, NULL));
	check_fails(h2d_group_use_transport(group, H2D_BACKEND_PULL, NULL),
		    H2D_STATUS_INVALID_STATE, "during initialization");
	check_fails(h2d_group_publish(group, fixture_stream, (int64_t[]){8}, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_values(h2d_buffer_device(a), 0, 8, 31);
	expect_values(h2d_buffer_device(a), 8, 16, 0);
}
END_TEST

/* ---- strides --------------------------------------------------------------------------------- */

/* Every second column of rows of 8 on the host, of 10 on the device. */
START_TEST(P11_noncontiguous_direct_does_not_copy_unselected_columns)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	int32_t *host = case_host_memory(3 * 8 * 4), expected[30];
	void *device = case_device_memory(sizeof(expected));
	h2d_buffer_description_t description = rows_of("columns", 3, 4);
	h2d_buffer_t *strided = NULL, *plain;
	h2d_publication_totals_t totals;
	h2d_group_t *group = NULL;
	int row, column;

	memcpy(description.host_strides, (int64_t[]){8, 2}, 2 * sizeof(int64_t));
	memcpy(description.device_strides, (int64_t[]){10, 2}, 2 * sizeof(int64_t));
	check_success(h2d_buffer_wrap(owner, &description, host, device, &strided));
	plain = case_buffer(owner, "plain", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(
		h2d_group_create(owner, "mixed", (h2d_buffer_t *[]){plain, strided}, 2, &group));
	check_success(h2d_owner_select_transports(owner));
	ck_assert_int_eq(h2d_group_transport(group), H2D_BACKEND_DIRECT);
	if (_i == H2D_BACKEND_DIRECT)
		ck_assert_ptr_null(h2d_group_fallback_reason(group));
	else
		ck_assert_ptr_nonnull(strstr(h2d_group_fallback_reason(group), "strided"));
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (row = 0; row < 3; row++)
		for (column = 0; column < 8; column++)
			host[8 * row + column] = 100 * row + column + 1;
	fill_source(plain, 6);
	check_success(publish_two(group, fixture_stream, 16, 2));
	check_success(h2d_owner_finish(owner, fixture_stream));
	memset(expected, 0, sizeof(expected));
	for (row = 0; row < 2; row++)
		for (column = 0; column < 4; column++)
			expected[10 * row + 2 * column] = 100 * row + 2 * column + 1;
	expect_bytes(device, expected, sizeof(expected));
	expect_values(h2d_buffer_device(plain), 0, 16, 6);
	h2d_owner_get_totals(owner, &totals);
	ck_assert_uint_eq(totals.dma_copies, 9); /* one plain, two rows of four elements */
	ck_assert_uint_eq(totals.bytes, 64 + 32);
}
END_TEST

/* As many copies as a publication may take wait behind a closed gate without filling the ring. */
START_TEST(largest_strided_publication_does_not_wait_for_the_gpu)
{
	const size_t rows = H2D_MAX_COPIES;
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_DIRECT);
	int32_t *host = case_host_memory(rows * 8 + 8), *expected = calloc(rows, 8);
	void *device = case_device_memory(rows * 8 + 8);
	h2d_buffer_description_t description = rows_of("columns", (uint32_t)rows, 1);
	h2d_buffer_t *strided = NULL, *plain;
	h2d_group_t *group = NULL;

	ck_assert_ptr_nonnull(expected);
	memcpy(description.host_strides, (int64_t[]){2, 1}, 2 * sizeof(int64_t));
	memcpy(description.device_strides, (int64_t[]){2, 1}, 2 * sizeof(int64_t));
	description.shape[0]++;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &strided),
		    H2D_STATUS_OUT_OF_RANGE,
		    "'columns': 4097 rows of 1 contiguous runs each, but the limit is 4096 copies");
	description.shape[0]--;
	check_success(h2d_buffer_wrap(owner, &description, host, device, &strided));
	plain = case_buffer(owner, "plain", 4, 16, 0, H2D_COUNT_ROWS);
	check_fails(h2d_group_create(owner, "both", (h2d_buffer_t *[]){plain, strided}, 2, &group),
		    H2D_STATUS_OUT_OF_RANGE,
		    "group 'both' of owner 'slot': its members are up to 4097 copies, but the "
		    "limit is 4096");
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (size_t row = 0; row < rows; row++) {
		host[2 * row] = expected[2 * row] = (int32_t)row + 1;
		host[2 * row + 1] = -1;
	}
	gate_close(fixture_stream);
	check_success(h2d_buffer_publish(strided, fixture_stream, (int64_t)rows, NULL));
	gate_open();
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_bytes(device, expected, rows * 8);
	free(expected);
}
END_TEST

/* Rows that are contiguous inside travel as one copy each; three dimensions, one of them strided.
 */
START_TEST(strided_rows_are_copied_by_contiguous_runs)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_DIRECT);
	uint8_t *host = case_host_memory(400), expected[400] = {0};
	void *device = case_device_memory(sizeof(expected));
	h2d_buffer_description_t description = {.name = "planes",
						.element_size = 2,
						.dimensions = 4,
						.shape = {3, 2, 3, 5},
						.host_strides = {40, 20, 5, 1},
						.device_strides = {60, 15, 5, 1}};
	h2d_publication_totals_t totals;
	h2d_buffer_t *buffer = NULL;
	int row, plane, byte;

	check_success(h2d_buffer_wrap(owner, &description, host, device, &buffer));
	ck_assert_uint_eq(h2d_buffer_capacity(buffer), 3);
	ck_assert_uint_eq(h2d_buffer_bytes_per_count(buffer), 60);
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (byte = 0; byte < 400; byte++)
		host[byte] = (uint8_t)(byte * 7 + 1);
	check_success(h2d_buffer_publish(buffer, fixture_stream, 2, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	for (row = 0; row < 2; row++)
		for (plane = 0; plane < 2; plane++)
			memcpy(expected + 120 * row + 30 * plane, host + 80 * row + 40 * plane, 30);
	expect_bytes(device, expected, sizeof(expected));
	h2d_owner_get_totals(owner, &totals);
	ck_assert_uint_eq(totals.dma_copies, 4);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(bad_descriptions_are_named)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_DIRECT);
	void *host = case_host_memory(4096), *device = case_device_memory(4096);
	h2d_buffer_description_t description = rows_of(NULL, 4, 4);
	h2d_buffer_t *buffer = NULL;

	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "needs a name");
	description = rows_of("x", 4, 4);
	description.element_size = 3;
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "'x': element size 3");
	description = rows_of("x", 4, 4);
	description.dimensions = 5;
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "'x': 5 dimensions");
	description = rows_of("x", 4, 4);
	description.unit = (h2d_count_unit_t)3;
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "'x': unit 3");
	description = rows_of("x", UINT64_C(1) << 62, 2);
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_OUT_OF_RANGE,
		    "'x': its shape");
	description = rows_of("x", UINT64_MAX, 0);
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_OUT_OF_RANGE,
		    "'x': its shape");
	description = rows_of("x", 4, 4);
	description.host_strides[0] = 3;
	description.host_strides[1] = 1;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "'x': host stride 3 of dimension 0");
	description = rows_of("x", 4, 4);
	description.device_strides[0] = 4;
	description.device_strides[1] = -1;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "'x': device stride -1 of dimension 1");
	description.device_strides[0] = INT64_MAX / 2;
	description.device_strides[1] = 1;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &buffer),
		    H2D_STATUS_OUT_OF_RANGE, "'x': its device strides");
	description.device_strides[0] = 8;
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "only wrapped memory can be strided");
	description.unit = H2D_COUNT_ELEMENTS;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "only rows can be counted");
	description = rows_of("x", 4, 4);
	check_success(h2d_buffer_allocate(owner, &description, &buffer));
	check_fails(h2d_buffer_allocate(owner, &description, &buffer), H2D_STATUS_INVALID_ARGUMENT,
		    "already has a buffer named 'x'");
}
END_TEST

START_TEST(P14_wrapped_memory_is_checked_at_registration)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_DIRECT);
	h2d_buffer_description_t description = rows_of("x", 4, 4);
	void *host = case_host_memory(64), *device = case_device_memory(64);
	static uint8_t pageable[64];
	h2d_buffer_t *buffer = NULL;

	check_fails(h2d_buffer_wrap(owner, &description, pageable, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "x");
	check_fails(h2d_buffer_wrap(owner, &description, host, pageable, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "x");
	check_fails(h2d_buffer_wrap(owner, &description, device, host, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "x");
	check_fails(h2d_buffer_wrap(owner, &description, NULL, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "'x': host memory is NULL");
	check_fails(h2d_buffer_wrap(owner, &description, host, NULL, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "'x': device memory is NULL");
	description.shape[0] = UINT64_C(1) << 30;
	check_fails(h2d_buffer_wrap(owner, &description, host, device, &buffer),
		    H2D_STATUS_INVALID_ARGUMENT, "x");
	ck_assert_ptr_null(buffer);
	description.shape[0] = 4;
	check_success(h2d_buffer_wrap(owner, &description, host, device, &buffer));
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	struct pair pair = pair_make("slot", H2D_BACKEND_DIRECT);
	h2d_buffer_description_t description = rows_of("x", 4, 4);
	h2d_owner_t *owner = NULL;
	h2d_buffer_t *buffer = NULL;
	h2d_group_t *group = NULL;

#define refused(call) check_fails(call, H2D_STATUS_INVALID_ARGUMENT, "NULL")
	refused(h2d_owner_create(NULL, NULL, NULL, &owner));
	refused(h2d_owner_create(fixture_device, NULL, NULL, NULL));
	refused(h2d_owner_begin(NULL, fixture_stream));
	refused(h2d_owner_begin(pair.owner, NULL));
	refused(h2d_owner_finish(pair.owner, NULL));
	refused(h2d_owner_resume(pair.owner, NULL));
	refused(h2d_owner_record(pair.owner, NULL));
	refused(h2d_owner_fail(NULL));
	refused(h2d_owner_drain(NULL));
	refused(h2d_owner_select_transports(NULL));
	refused(h2d_buffer_allocate(NULL, &description, &buffer));
	refused(h2d_buffer_allocate(pair.owner, NULL, &buffer));
	refused(h2d_buffer_wrap(pair.owner, &description, NULL, NULL, NULL));
	refused(h2d_buffer_publish(NULL, fixture_stream, 1, NULL));
	refused(h2d_buffer_publish(pair.a, NULL, 1, NULL));
	refused(h2d_buffer_publish_rows(NULL, fixture_stream, 1, NULL));
	refused(h2d_buffer_acquire_write(NULL, fixture_stream, NULL));
	refused(h2d_group_create(pair.owner, NULL, &pair.a, 1, &group));
	refused(h2d_group_create(pair.owner, "x", NULL, 1, &group));
	refused(h2d_group_create(pair.owner, "x", (h2d_buffer_t *[]){NULL}, 1, &group));
	refused(h2d_group_use_transport(NULL, H2D_BACKEND_DIRECT, NULL));
	refused(h2d_group_set_count(pair.group, NULL, 1));
	refused(h2d_group_publish(NULL, fixture_stream, NULL, NULL));
	refused(h2d_group_publish(pair.group, NULL, NULL, NULL));
	refused(h2d_group_check_writable(pair.group, NULL));
	refused(h2d_registry_create(NULL));
	check_fails(h2d_owner_create(fixture_device, NULL,
				     &(h2d_owner_options_t){.backend = (h2d_backend_t)9}, &owner),
		    H2D_STATUS_INVALID_ARGUMENT, "H2D transport");
	check_fails(h2d_registry_destroy(case_registry), H2D_STATUS_INVALID_STATE, "buffers");
	check_success(h2d_owner_destroy(NULL));
	check_success(h2d_registry_destroy(NULL));
}
END_TEST

static Suite *buffer_suite(void)
{
	Suite *suite = suite_create("buffers and groups");
	TCase *tcase = tcase_create("buffers");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, P06_aliases_rejected_across_owners_but_disjoint_regions_allowed);
	tcase_add_test(tcase,
		       P07_shared_host_arena_cannot_be_registered_with_independent_reuse_state);
	tcase_add_test(tcase, destroyed_owners_leave_their_memory_to_others);
	tcase_add_test(tcase, destroying_waits_bounded_and_keeps_a_busy_owner);
	tcase_add_test(tcase, P08_duplicate_destination_in_group_rejected);
	tcase_add_loop_test(tcase, own_counts_and_given_ones_take_turns, 0, BACKENDS);
	tcase_add_test(tcase, P15_transport_selection_preserves_fallback_and_owner_lifecycle);
	tcase_add_loop_test(tcase, P11_noncontiguous_direct_does_not_copy_unselected_columns, 0,
			    BACKENDS);
	tcase_add_test(tcase, largest_strided_publication_does_not_wait_for_the_gpu);
	tcase_add_test(tcase, strided_rows_are_copied_by_contiguous_runs);
	tcase_add_test(tcase, bad_descriptions_are_named);
	tcase_add_test(tcase, P14_wrapped_memory_is_checked_at_registration);
	tcase_add_test(tcase, null_arguments_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(buffer_suite());
}
