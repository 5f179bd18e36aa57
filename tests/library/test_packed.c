/* SPDX-License-Identifier: MIT */
/* The packed transport: arena, header, scatter, reuse, selection of groups. */
#include <stdio.h>

#include "copy_spy.h"
#include "hsa/device.h"
#include "publication_case.h"

#define OMITTED H2D_COUNT_OMITTED

/* ---- arena and header ------------------------------------------------------------------------ */

#define K01_MEMBERS 4

/* float32[5][3] rows, int64[1031] elements, bool[19] and bf16[21] bytes, in one group. */
static h2d_group_t *k01_group(h2d_owner_t *owner, h2d_buffer_t *members[K01_MEMBERS])
{
	h2d_group_t *group = NULL;

	members[0] = case_buffer(owner, "f32", 4, 5, 3, H2D_COUNT_ROWS);
	members[1] = case_buffer(owner, "i64", 8, 1031, 0, H2D_COUNT_ELEMENTS);
	members[2] = case_buffer(owner, "bool", 1, 19, 0, H2D_COUNT_BYTES);
	members[3] = case_buffer(owner, "bf16", 2, 21, 0, H2D_COUNT_BYTES);
	check_success(h2d_group_create(owner, "mixed", members, K01_MEMBERS, &group));
	check_success(h2d_owner_select_transports(owner));
	return group;
}

static const int64_t k01_capacities[K01_MEMBERS] = {5, 1031, 19, 42};
static const size_t k01_bytes_per_count[K01_MEMBERS] = {12, 8, 1, 1};

START_TEST(K01_mixed_bytes_padding_dynamic_counts_and_graph_replay)
{
	static const int64_t steps[][K01_MEMBERS] = {
		{2, 1027, 17, 41},
		{0, 3, OMITTED, 1},
		{1, OMITTED, OMITTED, OMITTED},
		{OMITTED, OMITTED, OMITTED, OMITTED},
		{5, 1031, 19, 42},
	};
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *members[K01_MEMBERS];
	h2d_group_t *group = k01_group(owner, members);
	uint8_t expected[K01_MEMBERS][1031 * 8];
	void *copies[K01_MEMBERS], *addresses[K01_MEMBERS];
	h2d_graph_t *graph = NULL;
	unsigned int step, i;

	ck_assert_int_eq(h2d_group_transport(group), _i);
	check_success(h2d_owner_begin(owner, fixture_stream));
	check_success(h2d_group_publish(group, fixture_stream, k01_capacities, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_graph_begin_capture(fixture_stream));
	for (i = 0; i < K01_MEMBERS; i++) {
		fill_destination_bytes(members[i], 199);
		memset(expected[i], 199, sizeof(expected[i]));
		addresses[i] = h2d_buffer_device(members[i]);
		copies[i] = consume(fixture_stream, addresses[i], buffer_size(members[i]));
	}
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	for (step = 0; step < sizeof(steps) / sizeof(steps[0]); step++) {
		check_success(h2d_owner_begin(owner, fixture_stream));
		for (i = 0; i < K01_MEMBERS; i++)
			fill_source_bytes(members[i], (uint8_t)(71 + step + i));
		delay(fixture_stream, 3);
		check_success(h2d_group_publish(group, fixture_stream, steps[step], NULL));
		check_success(h2d_owner_finish(owner, fixture_stream));
		check_success(h2d_graph_launch(graph, fixture_stream));
		for (i = 0; i < K01_MEMBERS; i++) {
			if (steps[step][i] != OMITTED)
				memset(expected[i], (int)(71 + step + i),
				       (size_t)steps[step][i] * k01_bytes_per_count[i]);
			expect_bytes(copies[i], expected[i], buffer_size(members[i]));
			ck_assert_ptr_eq(h2d_buffer_device(members[i]), addresses[i]);
		}
	}
	check_success(h2d_graph_destroy(graph));
}
END_TEST

/* The header and payload of the last copy. */
static void expect_header(const int64_t header[][2], unsigned int members, size_t size)
{
	ck_assert_uint_eq(copy_spy.size, size);
	ck_assert_mem_eq(copy_spy.source, header, members * sizeof(header[0]));
}

START_TEST(K01_wire_format_is_offset_count_pairs_and_unpadded_payload)
{
	static const int64_t counts[3][K01_MEMBERS] = {
		{2, 1027, 17, 41}, {0, 3, OMITTED, 1}, {5, 1031, 19, 42}};
	static const int64_t headers[3][K01_MEMBERS][2] = {
		{{64, 24}, {88, 8216}, {8304, 17}, {8321, 41}},
		{{64, 0}, {64, 24}, {88, 0}, {88, 1}},
		{{64, 60}, {124, 8248}, {8372, 19}, {8391, 42}},
	};
	static const size_t sizes[3] = {8362, 89, 8433};
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PACKED);
	h2d_buffer_t *members[K01_MEMBERS];
	h2d_group_t *group = k01_group(owner, members);
	h2d_publication_totals_t totals;
	unsigned int step, i;

	for (step = 0; step < 3; step++) {
		const uint8_t *arena;

		check_success(h2d_owner_begin(owner, fixture_stream));
		for (i = 0; i < K01_MEMBERS; i++)
			fill_source_bytes(members[i], (uint8_t)(31 + step + 7 * i));
		copy_spy.calls = 0;
		check_success(h2d_group_publish(group, fixture_stream, counts[step], NULL));
		ck_assert_uint_eq(copy_spy.calls, 1);
		expect_header(headers[step], K01_MEMBERS, sizes[step]);
		arena = copy_spy.source;
		for (i = 0; i < K01_MEMBERS; i++)
			if (headers[step][i][1] > 0)
				ck_assert_mem_eq(arena + headers[step][i][0],
						 h2d_buffer_host(members[i]),
						 (size_t)headers[step][i][1]);
		check_success(h2d_owner_finish(owner, fixture_stream));
	}
	h2d_owner_get_totals(owner, &totals);
	ck_assert_uint_eq(totals.dma_copies, 3);
	ck_assert_uint_eq(totals.dispatches, 3);
	ck_assert_uint_eq(totals.packed_bytes, 8362 + 89 + 8433 - 3 * 64);
	ck_assert_uint_eq(totals.bytes, totals.packed_bytes);
}
END_TEST

START_TEST(K02_packed_arena_reuse_and_atomic_validation)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *a = case_buffer(owner, "a", 4, 1031, 0, H2D_COUNT_ROWS);
	h2d_buffer_t *b = case_buffer(owner, "b", 4, 1031, 0, H2D_COUNT_ROWS);
	h2d_group_t *group = NULL;
	void *copies[6][2];
	int step;

	check_success(h2d_group_create(owner, "pair", (h2d_buffer_t *[]){a, b}, 2, &group));
	check_success(h2d_owner_select_transports(owner));
	for (step = 0; step < 6; step++) {
		int64_t header[4];
		const void *arena = NULL;

		check_success(h2d_owner_begin(owner, fixture_stream));
		if (_i == H2D_BACKEND_PACKED && step > 0) {
			arena = copy_spy.source;
			memcpy(header, arena, sizeof(header));
		}
		fill_source(a, step + 11);
		fill_source(b, step + 21);
		check_fails(publish_two(group, fixture_stream, 17, 1032), H2D_STATUS_OUT_OF_RANGE,
			    "1031], its capacity");
		if (arena)
			ck_assert_mem_eq(arena, header, sizeof(header));
		delay(fixture_stream, 3);
		check_success(publish_two(group, fixture_stream, 1031, 1031));
		copies[step][0] = consume(fixture_stream, h2d_buffer_device(a), 4124);
		copies[step][1] = consume(fixture_stream, h2d_buffer_device(b), 4124);
		check_fails(publish_two(group, fixture_stream, 1, OMITTED),
			    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
		check_success(h2d_owner_finish(owner, fixture_stream));
	}
	for (step = 0; step < 6; step++) {
		expect_values(copies[step][0], 0, 1031, step + 11);
		expect_values(copies[step][1], 0, 1031, step + 21);
	}
}
END_TEST

START_TEST(K04_packed_arena_is_pinned_system_memory)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 51);
	fill_source(pair.b, 61);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_device_check_host_memory(fixture_device, "arena", copy_spy.source,
						   copy_spy.size));
	check_success(h2d_device_check_device_memory(fixture_device, "arena", copy_spy.destination,
						     copy_spy.size));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 51);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 61);
}
END_TEST

/* ---- large members --------------------------------------------------------------------------- */

START_TEST(members_above_the_limit_are_read_from_their_sources)
{
	static const int64_t counts[] = {100, 101, 20000, 7};
	static const int64_t header[][2] = {{64, 100}, {-1, 101}, {-1, 20000}, {164, 7}};
	h2d_owner_t *owner = case_owner(&(h2d_owner_options_t){
		.name = "slot", .backend = H2D_BACKEND_PACKED, .pack_limit_bytes = 100});
	h2d_publication_totals_t totals;
	h2d_buffer_t *members[4];
	h2d_group_t *group = NULL;
	uint8_t *expected;
	char name[2] = "a";
	int i, byte;

	for (i = 0; i < 4; i++, name[0]++)
		members[i] = case_buffer(owner, name, 1, 20003, 0, H2D_COUNT_BYTES);
	check_success(h2d_group_create(owner, "group", members, 4, &group));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (i = 0; i < 4; i++)
		for (byte = 0; byte < 20003; byte++)
			((uint8_t *)h2d_buffer_host(members[i]))[byte] =
				(uint8_t)(byte * 13 + byte / 256 + i);
	gate_close(fixture_stream);
	check_success(h2d_group_publish(group, fixture_stream, counts, NULL));
	expect_header(header, 4, 171);
	check_fails(h2d_buffer_publish(members[1], fixture_stream, 1, "corrected"),
		    H2D_STATUS_SOURCE_IN_USE, "acquire_write");
	gate_open();
	check_success(h2d_owner_finish(owner, fixture_stream));
	for (i = 0; i < 4; i++) {
		expected = calloc(1, 20003);
		ck_assert_ptr_nonnull(expected);
		memcpy(expected, h2d_buffer_host(members[i]), (size_t)counts[i]);
		expect_bytes(h2d_buffer_device(members[i]), expected, 20003);
		free(expected);
	}
	h2d_owner_get_totals(owner, &totals);
	ck_assert_uint_eq(totals.dma_copies, 1);
	ck_assert_uint_eq(totals.dispatches, 1);
	ck_assert_uint_eq(totals.packed_bytes, 107);
	ck_assert_uint_eq(totals.bytes, 20208);
}
END_TEST

#define MANY 70

/* More members than a wave has lanes, of all sizes and alignments. */
START_TEST(many_members_of_random_sizes_land)
{
	uint64_t state = fixture_seed();
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *members[MANY];
	uint8_t *expected[MANY];
	int64_t counts[MANY];
	h2d_group_t *group = NULL;
	char name[24];
	int i, epoch;

	for (i = 0; i < MANY; i++) {
		uint64_t size = fixture_random_between(&state, 1, i % 50 == 0 ? 70000 : 5000);

		snprintf(name, sizeof(name), "member %d", i);
		members[i] = case_buffer(owner, name, 1, size, 0, H2D_COUNT_BYTES);
		expected[i] = calloc(1, size);
		ck_assert_ptr_nonnull(expected[i]);
	}
	check_success(h2d_group_create(owner, "many", members, MANY, &group));
	check_success(h2d_owner_select_transports(owner));
	for (epoch = 0; epoch < 3; epoch++) {
		check_success(h2d_owner_begin(owner, fixture_stream));
		for (i = 0; i < MANY; i++) {
			size_t size = buffer_size(members[i]);

			counts[i] = (int64_t)fixture_random_between(&state, 0, size);
			if (i % 7 == epoch)
				counts[i] = OMITTED;
			fixture_random_bytes(&state, h2d_buffer_host(members[i]), size);
			if (counts[i] != OMITTED)
				memcpy(expected[i], h2d_buffer_host(members[i]), (size_t)counts[i]);
		}
		check_success(h2d_group_publish(group, fixture_stream, counts, NULL));
		check_success(h2d_owner_finish(owner, fixture_stream));
		for (i = 0; i < MANY; i++)
			expect_bytes(h2d_buffer_device(members[i]), expected[i],
				     buffer_size(members[i]));
	}
	for (i = 0; i < MANY; i++)
		free(expected[i]);
}
END_TEST

/* ---- selection ------------------------------------------------------------------------------- */

START_TEST(K05_owner_packs_consumer_boundaries_and_keeps_supported_fallback)
{
	bool strided = _i;
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PACKED);
	h2d_buffer_t *x = case_buffer(owner, "x", 4, 16, 0, H2D_COUNT_ROWS);
	h2d_buffer_t *y = case_buffer(owner, "y", 4, 16, 0, H2D_COUNT_ROWS);
	int32_t *host = case_host_memory(128);
	h2d_buffer_description_t description = {.name = "z",
						.element_size = 4,
						.dimensions = 1,
						.shape = {16},
						.host_strides = {strided ? 2 : 1},
						.device_strides = {strided ? 2 : 1}};
	void *z_memory = case_device_memory(128), *copies[3];
	h2d_group_t *producer = NULL, *consumer = NULL;
	h2d_buffer_t *z = NULL;
	int32_t *z_values;
	int i;

	check_success(h2d_buffer_wrap(owner, &description, host, z_memory, &z));
	check_success(h2d_group_create(owner, "producer", (h2d_buffer_t *[]){x, y}, 2, &producer));
	check_success(
		h2d_group_create(owner, "consumer", (h2d_buffer_t *[]){x, y, z}, 3, &consumer));
	check_success(h2d_owner_select_transports(owner));
	ck_assert_int_eq(h2d_group_transport(consumer),
			 strided ? H2D_BACKEND_DIRECT : H2D_BACKEND_PACKED);
	ck_assert_int_eq(h2d_group_transport(producer),
			 strided ? H2D_BACKEND_PACKED : H2D_BACKEND_DIRECT);
	ck_assert_int_eq(h2d_group_fallback_reason(consumer) != NULL, strided);
	ck_assert_ptr_null(h2d_group_fallback_reason(producer));

	check_success(h2d_owner_begin(owner, fixture_stream));
	fill_source(x, 11);
	fill_source(y, 22);
	for (i = 0; i < 16; i++)
		host[strided ? 2 * i : i] = 33;
	check_success(h2d_group_publish(consumer, fixture_stream, (int64_t[]){16, 16, 16}, NULL));
	copies[0] = consume(fixture_stream, h2d_buffer_device(x), 64);
	copies[1] = consume(fixture_stream, h2d_buffer_device(y), 64);
	copies[2] = consume(fixture_stream, z_memory, 128);
	check_fails(publish_two(producer, fixture_stream, 16, 16), H2D_STATUS_ALREADY_PUBLISHED,
		    "republish_reason");
	check_success(h2d_owner_finish(owner, fixture_stream));
	check_success(h2d_owner_begin(owner, fixture_stream));
	fill_source(x, 44);
	fill_source(y, 55);
	check_success(publish_two(producer, fixture_stream, 16, 16));
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_values(copies[0], 0, 16, 11);
	expect_values(copies[1], 0, 16, 22);
	expect_values(h2d_buffer_device(x), 0, 16, 44);
	expect_values(h2d_buffer_device(y), 0, 16, 55);
	z_values = calloc(32, sizeof(*z_values));
	ck_assert_ptr_nonnull(z_values);
	for (i = 0; i < 16; i++)
		z_values[strided ? 2 * i : i] = 33;
	expect_bytes(copies[2], z_values, 128);
	free(z_values);
}
END_TEST

/* Groups that overlap without containing each other both pack; equal ones pack once. */
START_TEST(only_uncovered_groups_are_packed)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PACKED);
	h2d_group_t *first = NULL, *same = NULL, *overlapping = NULL, *single = NULL;
	h2d_buffer_t *members[4];
	char name[2] = "a";
	int i;

	for (i = 0; i < 2; i++, name[0]++)
		members[i] = case_buffer(owner, name, 4, 4, 0, H2D_COUNT_ROWS);
	/* Made before the later buffers exist. */
	check_success(h2d_group_create(owner, "early", members, 2, &same));
	for (; i < 4; i++, name[0]++)
		members[i] = case_buffer(owner, name, 4, 4, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(owner, "first", members, 3, &first));
	check_success(h2d_group_create(owner, "overlapping", members + 2, 2, &overlapping));
	check_success(h2d_group_create(owner, "single", members + 3, 1, &single));
	check_success(h2d_owner_select_transports(owner));
	ck_assert_int_eq(h2d_group_transport(first), H2D_BACKEND_PACKED);
	ck_assert_int_eq(h2d_group_transport(overlapping), H2D_BACKEND_PACKED);
	ck_assert_int_eq(h2d_group_transport(same), H2D_BACKEND_DIRECT);
	ck_assert_int_eq(h2d_group_transport(single), H2D_BACKEND_DIRECT);
	ck_assert_ptr_null(h2d_group_fallback_reason(same));
}
END_TEST

/* ---- what is in flight ----------------------------------------------------------------------- */

START_TEST(K06_disjoint_single_member_publications_do_not_borrow_packed_header)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	void *first, *second;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	gate_close(fixture_stream); /* nothing below may wait */
	fill_source(pair.a, 17);
	check_success(publish_two(pair.group, fixture_stream, 8, OMITTED));
	first = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	fill_source(pair.b, 23);
	check_success(publish_two(pair.group, fixture_stream, OMITTED, 8));
	second = consume(fixture_stream, h2d_buffer_device(pair.b), 64);
	check_fails(publish_two(pair.group, fixture_stream, 8, OMITTED),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	gate_open();
	expect_values(first, 0, 8, 17);
	expect_values(first, 8, 16, 0);
	expect_values(second, 0, 8, 23);
	expect_values(second, 8, 16, 0);
}
END_TEST

START_TEST(K07_direct_member_preserves_an_in_flight_packed_arena)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *members[5];
	h2d_group_t *group = NULL;
	void *copies[5];
	char name[2] = "a";
	int i;

	for (i = 0; i < 5; i++, name[0]++)
		members[i] = case_buffer(owner, name, 4, 8, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(owner, "five", members, 5, &group));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream)); /* warm */
	check_success(h2d_group_publish(group, fixture_stream, (int64_t[]){8, 8, 8, 8, 8}, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));

	check_success(h2d_owner_begin(owner, fixture_stream));
	for (i = 0; i < 5; i++)
		fill_source(members[i], 11 + i);
	delay(fixture_stream, 20);
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){8, 8, OMITTED, OMITTED, OMITTED}, NULL));
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){OMITTED, OMITTED, 8, OMITTED, OMITTED}, NULL));
	if (_i != H2D_BACKEND_DIRECT)
		check_fails(h2d_group_publish(group, fixture_stream,
					      (int64_t[]){OMITTED, OMITTED, OMITTED, 8, 8}, NULL),
			    H2D_STATUS_TRANSPORT_IN_FLIGHT, "transport counts are in flight");
	/* A fresh member's acquire waits for nothing and cures nothing. */
	check_success(h2d_buffer_acquire_write(members[3], fixture_stream, NULL));
	if (_i != H2D_BACKEND_DIRECT)
		check_fails(h2d_group_publish(group, fixture_stream,
					      (int64_t[]){OMITTED, OMITTED, OMITTED, 8, 8}, NULL),
			    H2D_STATUS_TRANSPORT_IN_FLIGHT, "acquire sources first");
	check_success(h2d_buffer_acquire_write(members[0], fixture_stream, "release the arena"));
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){OMITTED, OMITTED, OMITTED, 8, 8}, NULL));
	for (i = 0; i < 5; i++)
		copies[i] = consume(fixture_stream, h2d_buffer_device(members[i]), 32);
	check_success(h2d_owner_finish(owner, fixture_stream));
	for (i = 0; i < 5; i++)
		expect_values(copies[i], 0, 8, 11 + i);
}
END_TEST

static Suite *packed_suite(void)
{
	Suite *suite = suite_create("packed publication");
	TCase *tcase = tcase_create("packed");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, K01_mixed_bytes_padding_dynamic_counts_and_graph_replay, 0,
			    BACKENDS);
	tcase_add_test(tcase, K01_wire_format_is_offset_count_pairs_and_unpadded_payload);
	tcase_add_loop_test(tcase, K02_packed_arena_reuse_and_atomic_validation, 0, BACKENDS);
	tcase_add_test(tcase, K04_packed_arena_is_pinned_system_memory);
	tcase_add_test(tcase, members_above_the_limit_are_read_from_their_sources);
	tcase_add_loop_test(tcase, many_members_of_random_sizes_land, 0, BACKENDS);
	tcase_add_loop_test(tcase, K05_owner_packs_consumer_boundaries_and_keeps_supported_fallback,
			    0, 2);
	tcase_add_test(tcase, only_uncovered_groups_are_packed);
	tcase_add_loop_test(tcase,
			    K06_disjoint_single_member_publications_do_not_borrow_packed_header, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, K07_direct_member_preserves_an_in_flight_packed_arena, 0,
			    BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(packed_suite());
}
