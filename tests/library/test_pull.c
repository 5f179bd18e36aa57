/* SPDX-License-Identifier: MIT */
/* The pull transport: descriptors of their own for single members, no copies, late sources. */
#include "copy_spy.h"
#include "publication_case.h"

#define OMITTED H2D_COUNT_OMITTED

/* The kernel reads the source when the queue gets there, so the source is borrowed until then. */
START_TEST(sources_are_read_late_and_stay_borrowed)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PULL);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 1);
	gate_close(fixture_stream);
	copy_spy.calls = 0;
	check_success(publish_two(pair.group, fixture_stream, 16, 0));
	ck_assert_uint_eq(copy_spy.calls, 0);
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 16, "corrected"),
		    H2D_STATUS_SOURCE_IN_USE, "acquire_write");
	/* Against the contract, to see when the source is read. */
	fill_source(pair.a, 2);
	gate_open();
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 2);
}
END_TEST

/* Three publications of one group before the GPU runs any of them, each with its own counts. */
START_TEST(single_members_have_descriptors_of_their_own)
{
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PULL);
	h2d_buffer_t *members[4];
	h2d_group_t *group = NULL;
	char name[2] = "a";
	int i;

	for (i = 0; i < 4; i++, name[0]++)
		members[i] = case_buffer(owner, name, 4, 2000, 0, H2D_COUNT_ELEMENTS);
	check_success(h2d_group_create(owner, "four", members, 4, &group));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (i = 0; i < 4; i++)
		fill_source(members[i], 5 + i);
	gate_close(fixture_stream);
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){1999, 3, OMITTED, OMITTED}, NULL));
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){OMITTED, OMITTED, 1, OMITTED}, NULL));
	check_success(h2d_group_publish(group, fixture_stream,
					(int64_t[]){OMITTED, OMITTED, OMITTED, 1025}, NULL));
	gate_open();
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_values(h2d_buffer_device(members[0]), 0, 1999, 5);
	expect_values(h2d_buffer_device(members[0]), 1999, 2000, 0);
	expect_values(h2d_buffer_device(members[1]), 0, 3, 6);
	expect_values(h2d_buffer_device(members[1]), 3, 2000, 0);
	expect_values(h2d_buffer_device(members[2]), 0, 1, 7);
	expect_values(h2d_buffer_device(members[2]), 1, 2000, 0);
	expect_values(h2d_buffer_device(members[3]), 0, 1025, 8);
	expect_values(h2d_buffer_device(members[3]), 1025, 2000, 0);
}
END_TEST

/* Every source alignment against every destination alignment, at sizes around the vector width. */
START_TEST(all_alignments_land)
{
	static const uint64_t sizes[] = {1, 15, 16, 17, 31, 63, 4095, 4096, 4097, 8200};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROOM = 8448 };
	h2d_owner_t *owner = case_owner_of("slot", H2D_BACKEND_PULL);
	uint8_t *host = case_host_memory(16 * ROOM), *device = case_device_memory(16 * ROOM);
	uint64_t size = sizes[_i % SIZES];
	h2d_buffer_t *members[16];
	h2d_group_t *group = NULL;
	uint8_t *expected = calloc(16, ROOM);
	int64_t counts[16];
	char name[2] = "a";
	int i;

	ck_assert_ptr_nonnull(expected);
	for (i = 0; i < 16; i++, name[0]++) {
		/* Differences of 0 to 15 between the two alignments. */
		size_t source = (size_t)i * ROOM + (size_t)i, destination = (size_t)i * ROOM + 7;
		h2d_buffer_description_t description = {
			.name = name, .element_size = 1, .dimensions = 1, .shape = {size + 3}};
		uint64_t byte;

		check_success(h2d_buffer_wrap(owner, &description, host + source,
					      device + destination, &members[i]));
		for (byte = 0; byte < size + 3; byte++)
			host[source + byte] = (uint8_t)(byte * 11 + byte / 251 + (uint64_t)i);
		memcpy(expected + destination, host + source, size);
		counts[i] = (int64_t)size;
	}
	check_success(h2d_group_create(owner, "all", members, 16, &group));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	check_success(h2d_group_publish(group, fixture_stream, counts, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_bytes(device, expected, 16 * ROOM);
	free(expected);
}
END_TEST

static Suite *pull_suite(void)
{
	Suite *suite = suite_create("pull publication");
	TCase *tcase = tcase_create("pull");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, sources_are_read_late_and_stay_borrowed);
	tcase_add_test(tcase, single_members_have_descriptors_of_their_own);
	tcase_add_loop_test(tcase, all_alignments_land, 0, 10);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(pull_suite());
}
