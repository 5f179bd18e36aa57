/* SPDX-License-Identifier: MIT */
/*
 * A step reuses the query prefix that token inputs have published, or compacts it: drops the rows
 * of requests without tokens and publishes it again, with a reason, behind its first consumer.
 */
#include "publication_case.h"

#define REQUESTS 3 /* of the running batch, padding included */
#define TOKENS	 8

START_TEST(P16_v41_reuses_early_query_prefix_or_explicitly_compacts)
{
	h2d_backend_t backend = (h2d_backend_t)(_i / 2);
	bool compact = _i % 2;
	/* Lengths 2 and 3; before compaction a request without tokens stands between them. */
	const int32_t early[2][REQUESTS + 1] = {{0, 2, 5, 5}, {0, 2, 2, 5}};
	const int32_t step[REQUESTS + 1] = {0, 2, 5, 5};
	const int32_t owners_of_tokens[TOKENS] = {0, 0, 1, 1, 1, -1, -1, -1};
	const char *reason = compact ? "compact requests without tokens" : NULL;
	h2d_owner_t *owner = case_owner_of("P16", backend);
	h2d_buffer_t *prefix = case_buffer(owner, "cu_seqlens_q", 4, 9, 0, H2D_COUNT_ROWS);
	h2d_buffer_t *batch_ids =
		case_buffer(owner, "batch_id_per_q_token", 4, 16, 0, H2D_COUNT_ROWS);
	h2d_buffer_t *positions = case_buffer(owner, "positions", 8, 16, 0, H2D_COUNT_ROWS);
	h2d_group_t *group = NULL;
	void *first_consumer, *step_consumer;

	check_success(h2d_group_create(owner, "v41_step", (h2d_buffer_t *[]){positions, batch_ids},
				       2, &group));
	check_success(h2d_owner_select_transports(owner));
	fill_destination_bytes(prefix, 0x77);
	fill_destination_bytes(batch_ids, 0x77);

	check_success(h2d_owner_begin(owner, fixture_stream));
	delay(fixture_stream, 5);
	memcpy(h2d_buffer_host(prefix), early[compact], sizeof(early[0]));
	check_success(h2d_buffer_publish(prefix, fixture_stream, REQUESTS + 1, NULL));
	first_consumer = consume(fixture_stream, h2d_buffer_device(prefix), sizeof(early[0]));

	if (compact) {
		/* Without a reason the source stays the first consumer's. */
		check_fails(h2d_buffer_acquire_write(prefix, fixture_stream, NULL),
			    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
		check_success(h2d_buffer_acquire_write(prefix, fixture_stream, reason));
		memcpy(h2d_buffer_host(prefix), step, sizeof(step));
		check_success(h2d_buffer_publish(prefix, fixture_stream, REQUESTS + 1, reason));
	}
	memcpy(h2d_buffer_host(batch_ids), owners_of_tokens, sizeof(owners_of_tokens));
	memset(h2d_buffer_host(positions), 0, TOKENS * sizeof(int64_t));
	check_success(publish_two(group, fixture_stream, TOKENS, TOKENS));
	step_consumer = consume(fixture_stream, h2d_buffer_device(prefix), sizeof(step));
	check_fails(h2d_buffer_publish(prefix, fixture_stream, REQUESTS + 1, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_owner_finish(owner, fixture_stream));

	expect_bytes(first_consumer, early[compact], sizeof(early[0]));
	expect_bytes(step_consumer, step, sizeof(step));
	expect_bytes(h2d_buffer_device(batch_ids), owners_of_tokens, sizeof(owners_of_tokens));
	expect_bytes((uint8_t *)h2d_buffer_device(prefix) + sizeof(step),
		     (const uint8_t[]){0x77, 0x77, 0x77, 0x77}, 4);
	expect_bytes((uint8_t *)h2d_buffer_device(batch_ids) + sizeof(owners_of_tokens),
		     (const uint8_t[]){0x77, 0x77, 0x77, 0x77}, 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query_prefix");
	TCase *cases = tcase_create("query_prefix");

	tcase_add_checked_fixture(cases, case_setup, case_teardown);
	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, P16_v41_reuses_early_query_prefix_or_explicitly_compacts, 0,
			    2 * BACKENDS);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
