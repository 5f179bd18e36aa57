/* SPDX-License-Identifier: MIT */
/* The rows that a decoder hands out: their ids in a prepared table, their storage and their age. */
#include <string.h>

#include "../run_suite.h"
#include "codec_case.h"

enum { ROWS = 2, COLUMNS = 32, LIMIT = 10 };

/* Whether a table state takes the decoded rows; a refusal leaves the array as it was. */
static h2d_status_t prepare(h2d_table_state_t *state, const int32_t *host,
			    const h2d_decoded_batch_t *batch)
{
	const h2d_table_rows_t table_rows = {.count = batch->count, .tables = batch->tables};
	const h2d_table_options_t options = {.page_limit = LIMIT};
	int32_t before[ROWS * COLUMNS];
	h2d_status_t status;

	memcpy(before, host, sizeof(before));
	status = h2d_table_state_prepare(state, &table_rows, &options);
	if (status != H2D_STATUS_SUCCESS)
		ck_assert_mem_eq(host, before, sizeof(before));
	return status;
}

/*
 * A bad id arrives in the first message or with the second, third or fourth one; the second copies
 * the row to a place with room, in which the others grow. A state that has never seen the row looks
 * at all of it, so it refuses the bad id from then on, wherever it came in.
 */
START_TEST(bad_ids_are_refused_whenever_they_arrived)
{
	static const int32_t bad_ids[] = {-1, LIMIT, INT32_MIN};
	int bad_step = _i / 3;
	int32_t bad = bad_ids[_i % 3];
	const int32_t *places[4];

	add_row(1, (const int32_t[]){3, bad_step == 0 ? bad : 4}, 2);
	for (int n = 0; n < 4; n++) {
		h2d_table_state_t *state = NULL;
		int32_t host[ROWS * COLUMNS];
		h2d_decoded_batch_t batch;
		h2d_status_t expected = n < bad_step ? H2D_STATUS_SUCCESS : H2D_STATUS_OUT_OF_RANGE;

		if (n > 0)
			h2d_block_table_append(rows[0], n == bad_step ? bad : 5);
		batch = step();
		places[n] = h2d_block_table_ids(batch.tables[0]);
		memset(host, 0x5a, sizeof(host));
		ck_assert_int_eq(
			h2d_table_state_create("table", host, ROWS, COLUMNS, NULL, NULL, &state),
			H2D_STATUS_SUCCESS);
		ck_assert_int_eq(prepare(state, host, &batch), expected);
		if (expected != H2D_STATUS_SUCCESS)
			ck_assert_ptr_nonnull(strstr(h2d_error_message(), "out of range: row 0"));
		h2d_table_state_destroy(state);
	}
	ck_assert_ptr_ne(places[1], places[0]);
	ck_assert_ptr_eq(places[2], places[1]);
	ck_assert_ptr_eq(places[3], places[1]);
}
END_TEST

/* The same for a state that has the row's beginning already, and for which only the tail is new. */
START_TEST(a_bad_id_that_is_appended_is_refused)
{
	h2d_table_state_t *state = NULL;
	int32_t host[ROWS * COLUMNS] = {0};
	h2d_decoded_batch_t batch;

	ck_assert_int_eq(h2d_table_state_create("table", host, ROWS, COLUMNS, NULL, NULL, &state),
			 H2D_STATUS_SUCCESS);
	ADD(1, 3, 4);
	for (int n = 0; n < _i; n++) {
		batch = step();
		ck_assert_int_eq(prepare(state, host, &batch), H2D_STATUS_SUCCESS);
		h2d_block_table_append(rows[0], 5);
	}
	batch = step();
	ck_assert_int_eq(prepare(state, host, &batch), H2D_STATUS_SUCCESS);
	h2d_block_table_append(rows[0], LIMIT);
	batch = step();
	ck_assert_int_eq(prepare(state, host, &batch), H2D_STATUS_OUT_OF_RANGE);
	/* Also when more has come behind it. */
	h2d_block_table_append(rows[0], 6);
	batch = step();
	ck_assert_int_eq(prepare(state, host, &batch), H2D_STATUS_OUT_OF_RANGE);
	h2d_table_state_destroy(state);
}
END_TEST

/* The rows of a refused message are given up, so that the next one may write where they were. */
START_TEST(a_refused_message_costs_the_next_one_no_copy)
{
	struct message good, bad;
	const int32_t *place;

	ADD(1, 1, 2);
	ADD(2, 3);
	step();
	h2d_block_table_append(rows[0], 4);
	place = h2d_block_table_ids(step().tables[0]);
	h2d_block_table_append(rows[0], 5);
	h2d_block_table_append(rows[0], 6);
	good = message_of(encoder);
	/* Row 0 has grown before the lie about row 1's length is found. */
	bad = good;
	put_u32_at(bad.bytes, 32 + 2 * 8 + 4, 7);
	put_u32_at(bad.bytes, bad.size - 4 - 4, 99);
	sign(bad.bytes, bad.size);
	ck_assert_int_eq(receive(&bad), H2D_STATUS_NOT_FOUND);
	h2d_decoded_batch_t batch = decode_ok(good.bytes, good.size);
	assert_same(&batch);
	ck_assert_ptr_eq(h2d_block_table_ids(batch.tables[0]), place);
}
END_TEST

/* A scheduler that passes on decoded rows may go back to one that has not grown yet. */
START_TEST(an_older_row_is_sent_whole)
{
	h2d_delta_encoder_t *second = NULL;
	h2d_delta_decoder_t *receiver = NULL;
	const h2d_block_table_t *older, *newer;
	h2d_table_state_t *state = NULL;
	h2d_table_totals_t totals;
	int32_t host[ROWS * COLUMNS] = {0};

	ck_assert_int_eq(h2d_delta_encoder_create(CHANNEL, &second), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_delta_decoder_create(&receiver), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_table_state_create("table", host, ROWS, COLUMNS, NULL, NULL, &state),
			 H2D_STATUS_SUCCESS);
	ADD(1, 3, 4);
	older = step().tables[0];
	h2d_block_table_retain(older);
	h2d_block_table_append(rows[0], 5);
	newer = step().tables[0];
	ck_assert_uint_eq(h2d_block_table_version(newer), h2d_block_table_version(older));
	for (int i = 0; i < 2; i++) {
		const h2d_block_table_t *const sent[] = {i == 0 ? newer : older};
		h2d_decoded_batch_t batch;
		const void *bytes;
		size_t size;

		ck_assert_int_eq(h2d_delta_encoder_encode(second, 1, ids, sent, &bytes, &size),
				 H2D_STATUS_SUCCESS);
		ck_assert_uint_eq(base_length(bytes, 0), 0);
		ck_assert_uint_eq(u32_at(bytes, 28), i == 0 ? 3 : 2);
		ck_assert_msg(h2d_delta_decoder_decode(receiver, bytes, size, &batch) ==
				      H2D_STATUS_SUCCESS,
			      "%s", h2d_error_message());
		ck_assert_uint_eq(h2d_block_table_length(batch.tables[0]), i == 0 ? 3 : 2);
		/* Prepared from the rows themselves, the older one counts as rewritten. */
		batch.tables = sent;
		ck_assert_int_eq(prepare(state, host, &batch), H2D_STATUS_SUCCESS);
	}
	ck_assert_mem_eq(host, ((const int32_t[]){3, 4, 0, 0}), 4 * sizeof(int32_t));
	h2d_table_state_get_totals(state, &totals);
	ck_assert_uint_eq(totals.rows_written, 2);
	ck_assert_uint_eq(totals.ids_written, 5);
	h2d_table_state_destroy(state);
	h2d_block_table_release(older);
	h2d_delta_encoder_destroy(second);
	h2d_delta_decoder_destroy(receiver);
}
END_TEST

/* The same row under another request id: the decoders know it of the first one only. */
START_TEST(a_row_that_another_request_takes_over_is_sent_whole)
{
	size_t size;
	const uint8_t *bytes;

	ADD(1, 3, 4);
	step();
	ids[0] = 2;
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 0);
	h2d_decoded_batch_t batch = decode_ok(bytes, size);
	assert_same(&batch);
}
END_TEST

/* Nothing says that they are the rows that the decoder has, so they are not. */
START_TEST(rows_without_a_base_length_are_new_rows)
{
	const h2d_block_table_t *before[2];
	uint64_t versions[2];
	h2d_decoded_batch_t batch;

	ADD(1, 3, 4);
	add_row(2, NULL, 0);
	batch = step();
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < 2; i++) {
			before[i] = batch.tables[i];
			h2d_block_table_retain(before[i]);
			versions[i] = h2d_block_table_version(before[i]);
		}
		/* Whole tables for whoever asked, in the middle. */
		if (n == 1)
			h2d_delta_encoder_request_whole(encoder);
		batch = step();
		ck_assert_int_eq(batch.tables[0] == before[0], n != 1);
		ck_assert_int_eq(h2d_block_table_version(batch.tables[0]) == versions[0], n != 1);
		ck_assert_ptr_ne(batch.tables[1], before[1]);
		ck_assert_uint_gt(h2d_block_table_version(batch.tables[1]), versions[1]);
		h2d_block_table_release(before[0]);
		h2d_block_table_release(before[1]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("delta_rows");
	TCase *decoded = tcase_create("decoded");

	tcase_add_checked_fixture(decoded, codec_setup, codec_teardown);
	tcase_add_loop_test(decoded, bad_ids_are_refused_whenever_they_arrived, 0, 12);
	tcase_add_loop_test(decoded, a_bad_id_that_is_appended_is_refused, 0, 3);
	tcase_add_test(decoded, a_refused_message_costs_the_next_one_no_copy);
	tcase_add_test(decoded, an_older_row_is_sent_whole);
	tcase_add_test(decoded, a_row_that_another_request_takes_over_is_sent_whole);
	tcase_add_test(decoded, rows_without_a_base_length_are_new_rows);
	suite_add_tcase(suite, decoded);
	return run_suite(suite);
}
