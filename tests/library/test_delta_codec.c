/* SPDX-License-Identifier: MIT */
/* The delta codec: exact wire bytes, lineage on both sides, and messages that lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../run_suite.h"
#include "codec_case.h"

START_TEST(the_wire_form_is_as_documented)
{
	static const uint8_t expected[] = {
		'H', '2', 'B', 'T', 1, 0, 0, 0,                 /* magic, version, reserved */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* channel */
		2, 0, 0, 0, 0, 0, 0, 0,                         /* sequence */
		2, 0, 0, 0, 3, 0, 0, 0,                         /* requests, tail ids */
		9, 0, 0, 0, 0, 0, 0, 0,                         /* request ids */
		7, 0, 0, 0, 1, 0, 0, 0,                         /* 7 + 2^32 */
		0, 0, 0, 0, 2, 0, 0, 0,                         /* base lengths */
		0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,             /* tail offsets */
		1, 2, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0,             /* tails: 513, 4 and 8 */
	};
	size_t size;
	const uint8_t *bytes;

	ADD(7 + (UINT64_C(1) << 32), 5, 6);
	encode(&size);
	ck_assert_int_eq(h2d_block_table_append(rows[0], 8), H2D_STATUS_SUCCESS);
	ADD(9, 513, 4);
	/* The new request first: places do not matter. */
	h2d_block_table_t *row = rows[0];
	rows[0] = rows[1];
	rows[1] = row;
	ids[1] = ids[0];
	ids[0] = 9;
	bytes = encode(&size);
	ck_assert_uint_eq(size, sizeof(expected) + 4);
	ck_assert_mem_eq(bytes, expected, sizeof(expected));
	ck_assert_uint_eq(u32_at(bytes, size - 4), crc32(crc32(0, NULL, 0), expected, sizeof(expected)));
}
END_TEST

START_TEST(first_step_whole_then_appends_only)
{
	size_t size;
	const uint8_t *bytes;
	h2d_decoded_batch_t batch;

	ADD(1, 1, 2, 3);
	ADD(2, 4, 5);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 0);
	ck_assert_uint_eq(base_length(bytes, 1), 0);
	batch = decode_ok(bytes, size);
	assert_same(&batch);

	h2d_block_table_append(rows[0], 6);
	h2d_block_table_append(rows[1], 7);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 3);
	ck_assert_uint_eq(base_length(bytes, 1), 2);
	ck_assert_uint_eq(u32_at(bytes, 28), 2); /* tail ids */
	batch = decode_ok(bytes, size);
	assert_same(&batch);

	bytes = encode(&size);
	ck_assert_uint_eq(u32_at(bytes, 28), 0);
	batch = decode_ok(bytes, size);
	assert_same(&batch);
}
END_TEST

START_TEST(B03_decoder_carries_append_lineage_without_mutating_older_batches)
{
	const h2d_block_table_t *first, *grown;
	const int32_t two[] = {3, 5}, three[] = {3, 5, 7};

	ADD(1, 3, 5);
	first = step().tables[0];
	h2d_block_table_retain(first);
	ck_assert_ptr_eq(step().tables[0], first);

	h2d_block_table_append(rows[0], 7);
	grown = step().tables[0];
	h2d_block_table_retain(grown);
	ck_assert_ptr_ne(grown, first);
	ck_assert_uint_eq(h2d_block_table_version(grown), h2d_block_table_version(first));
	ck_assert_uint_eq(h2d_block_table_length(first), 2);
	ck_assert_mem_eq(h2d_block_table_ids(first), two, sizeof(two));

	h2d_block_table_set(rows[0], 0, 2);
	ck_assert_uint_ne(h2d_block_table_version(step().tables[0]), h2d_block_table_version(grown));
	ck_assert_uint_eq(h2d_block_table_length(grown), 3);
	ck_assert_mem_eq(h2d_block_table_ids(grown), three, sizeof(three));
	ck_assert_mem_eq(h2d_block_table_ids(first), two, sizeof(two));
	h2d_block_table_release(first);
	h2d_block_table_release(grown);
}
END_TEST

/* Whatever is no pure append is sent whole: edits, clear and refill, a new row, an absence. */
START_TEST(only_appends_build_on_the_last_step)
{
	size_t size;
	const uint8_t *bytes;

	ADD(1, 1, 2, 3);
	ADD(2, 4, 5);
	step();
	h2d_block_table_set(rows[0], 0, 1);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 0);
	ck_assert_uint_eq(base_length(bytes, 1), 2);
	decode_ok(bytes, size);

	h2d_block_table_clear(rows[0]);
	h2d_block_table_extend(rows[0], (const int32_t[]){1, 2, 3}, 3);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 0);
	decode_ok(bytes, size);

	h2d_block_table_pop(rows[1], NULL);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 3);
	ck_assert_uint_eq(base_length(bytes, 1), 0);
	decode_ok(bytes, size);

	/* Request 2 is absent for one step. */
	count = 1;
	step();
	count = 2;
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 3);
	ck_assert_uint_eq(base_length(bytes, 1), 0);
	h2d_decoded_batch_t batch = decode_ok(bytes, size);
	assert_same(&batch);
}
END_TEST

START_TEST(empty_rows_and_empty_batches)
{
	step();
	add_row(1, NULL, 0);
	step();
	h2d_block_table_append(rows[0], 4);
	step();
	step();
}
END_TEST

/* One field of a valid message is changed, the checksum made right again: never a wrong table. */
START_TEST(lying_fields_are_errors)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *fragment;
		h2d_status_t status;
	} lies[] = {
		{0, 0x12345678, "not with \"H2BT\"", H2D_STATUS_INVALID_ARGUMENT},
		{4, 2, "version 2.0", H2D_STATUS_INVALID_ARGUMENT},
		{4, 0x00010001, "version 1.1", H2D_STATUS_INVALID_ARGUMENT},
		{8, 5, "builds on one that was not received", H2D_STATUS_NOT_FOUND},
		{16, 1, "came again or late", H2D_STATUS_INVALID_STATE},
		{16, 9, "ask for whole tables", H2D_STATUS_NOT_FOUND},
		{24, 3, "3 requests and 1 ids take", H2D_STATUS_INVALID_ARGUMENT},
		{24, 0xffffffff, "4294967295 requests", H2D_STATUS_INVALID_ARGUMENT},
		{28, 2, "2 requests and 2 ids take", H2D_STATUS_INVALID_ARGUMENT},
		{32, 3, "missing block-table prefix for request 3", H2D_STATUS_NOT_FOUND},
		{40, 1, "request 1 stands in it twice", H2D_STATUS_INVALID_ARGUMENT},
		{48, 2, "3 ids", H2D_STATUS_NOT_FOUND},
		{48, 4, "3 ids", H2D_STATUS_NOT_FOUND},
		{48, 0xffffffff, "missing block-table prefix", H2D_STATUS_NOT_FOUND},
		{56, 1, "tail offsets run from 1", H2D_STATUS_INVALID_ARGUMENT},
		{60, 2, "tail offset 1 is 2", H2D_STATUS_INVALID_ARGUMENT},
		{64, 0, "tail offsets run from 0 to 0", H2D_STATUS_INVALID_ARGUMENT},
	};
	h2d_decoded_batch_t batch;
	uint8_t good[512], bad[512];
	const uint8_t *bytes;
	size_t size;

	ADD(1, 1, 2, 3);
	ADD(2, 4, 5);
	step();
	h2d_block_table_append(rows[0], 6);
	bytes = encode(&size);
	ck_assert_uint_le(size, sizeof(good));
	memcpy(good, bytes, size);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(bad, good, size);
		put_u32_at(bad, lies[i].at, lies[i].value);
		/* The message of base 2 and 4 says what is there, for row 0: "its row has 3". */
		sign(bad, size);
		h2d_status_t status = h2d_delta_decoder_decode(decoder, bad, size, &batch);
		const char *fragment = lies[i].at == 48 && lies[i].value < 5 ? "its row has 3"
									     : lies[i].fragment;

		ck_assert_msg(status == lies[i].status, "lie %zu: %s: %s", i,
			      h2d_status_string(status), h2d_error_message());
		ck_assert_msg(strstr(h2d_error_message(), fragment) != NULL, "lie %zu: %s", i,
			      h2d_error_message());
	}
	/* None of them has changed the decoder. */
	batch = decode_ok(good, size);
	assert_same(&batch);
}
END_TEST

START_TEST(truncated_or_flipped_messages_are_errors)
{
	h2d_decoded_batch_t batch;
	uint8_t good[512], bad[513];
	const uint8_t *bytes;
	size_t size;

	ADD(1, 1, 2, 3);
	ADD(2, 4, 5);
	step();
	h2d_block_table_append(rows[1], 6);
	bytes = encode(&size);
	memcpy(good, bytes, size);
	for (size_t shorter = 0; shorter < size; shorter++) {
		/* An exact allocation, so that a read behind the end is seen. */
		uint8_t *cut = malloc(shorter ? shorter : 1);

		memcpy(cut, good, shorter);
		ck_assert_int_eq(h2d_delta_decoder_decode(decoder, cut, shorter, &batch),
				 H2D_STATUS_INVALID_ARGUMENT);
		free(cut);
	}
	memcpy(bad, good, size);
	bad[size] = 0;
	ck_assert_int_eq(h2d_delta_decoder_decode(decoder, bad, size + 1, &batch),
			 H2D_STATUS_INVALID_ARGUMENT);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		memcpy(bad, good, size);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_int_ne(h2d_delta_decoder_decode(decoder, bad, size, &batch),
				 H2D_STATUS_SUCCESS);
	}
	batch = decode_ok(good, size);
	assert_same(&batch);
}
END_TEST

START_TEST(bad_batches_leave_the_encoder_as_it_was)
{
	const void *bytes;
	size_t size;

	ADD(1, 1, 2, 3);
	ADD(2, 4, 5);
	step();
	ids[1] = 1;
	ck_assert_int_eq(h2d_delta_encoder_encode(encoder, count, ids,
						  (const h2d_block_table_t *const *)rows, &bytes,
						  &size),
			 H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_pstr_eq(h2d_error_message(), "delta encoder: request 1 stands in the batch twice");
	ids[1] = 2;
	h2d_block_table_t *row = rows[1];
	rows[1] = NULL;
	ck_assert_int_eq(h2d_delta_encoder_encode(encoder, count, ids,
						  (const h2d_block_table_t *const *)rows, &bytes,
						  &size),
			 H2D_STATUS_INVALID_ARGUMENT);
	ck_assert_pstr_eq(h2d_error_message(), "delta encoder: request 2 has no block table");
	rows[1] = row;
	h2d_block_table_append(rows[0], 9);
	bytes = encode(&size);
	ck_assert_uint_eq(base_length(bytes, 0), 3);
	ck_assert_uint_eq(base_length(bytes, 1), 2);
	h2d_decoded_batch_t batch = decode_ok(bytes, size);
	assert_same(&batch);
}
END_TEST

START_TEST(a_delta_of_long_rows_is_a_hundredth)
{
	int32_t *pages = malloc(6000 * sizeof(*pages));
	size_t whole, delta;

	for (int32_t i = 0; i < 6000; i++)
		pages[i] = 7 * i;
	for (uint64_t i = 0; i < 50; i++)
		add_row(i, pages, 6000);
	free(pages);
	encode(&whole);
	for (uint32_t i = 0; i < 50; i++)
		h2d_block_table_append(rows[i], 1);
	encode(&delta);
	ck_assert_uint_ge(whole, 50 * 6000 * 4);
	ck_assert_uint_lt(delta * 100, whole);
}
END_TEST

/* Random sessions: appends, edits, reorders, arrivals, departures, lost messages. */
START_TEST(random_sessions_arrive_whole)
{
	unsigned int seed = (unsigned int)_i + 1;
	bool lost = false;

	for (int n = 0; n < 2000; n++) {
		const uint8_t *bytes;
		size_t size;
		h2d_decoded_batch_t batch;
		unsigned int what = (unsigned int)rand_r(&seed) % 10;
		uint32_t i = count ? (uint32_t)rand_r(&seed) % count : 0;

		if (what < 2 && count < 40) {
			int32_t pages[20];
			uint32_t length = (uint32_t)rand_r(&seed) % 20;

			for (uint32_t j = 0; j < length; j++)
				pages[j] = rand_r(&seed);
			add_row((uint64_t)n << 32 | (unsigned int)n, pages, length);
		} else if (what == 2 && count) {
			h2d_block_table_release(rows[i]);
			rows[i] = rows[--count];
			ids[i] = ids[count];
		} else if (what == 3 && count) {
			uint32_t j = (uint32_t)rand_r(&seed) % count;
			h2d_block_table_t *row = rows[i];
			uint64_t id = ids[i];

			rows[i] = rows[j];
			ids[i] = ids[j];
			rows[j] = row;
			ids[j] = id;
		} else if (what == 4 && count) {
			h2d_block_table_set(rows[i], 0, rand_r(&seed));
		} else if (what == 5 && count) {
			h2d_block_table_clear(rows[i]);
		} else if (count) {
			h2d_block_table_append(rows[i], rand_r(&seed));
		}
		if (lost)
			h2d_delta_encoder_request_whole(encoder);
		lost = false;
		bytes = encode(&size);
		if (rand_r(&seed) % 50 == 0) {
			/* The message is lost; the next one is refused unless it needs nothing. */
			bytes = encode(&size);
			if (h2d_delta_decoder_decode(decoder, bytes, size, &batch) ==
			    H2D_STATUS_SUCCESS)
				assert_same(&batch);
			else
				lost = true;
			continue;
		}
		batch = decode_ok(bytes, size);
		assert_same(&batch);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("delta_codec");
	TCase *codec = tcase_create("codec");

	tcase_add_checked_fixture(codec, codec_setup, codec_teardown);
	tcase_set_timeout(codec, 60);
	tcase_add_test(codec, the_wire_form_is_as_documented);
	tcase_add_test(codec, first_step_whole_then_appends_only);
	tcase_add_test(codec, B03_decoder_carries_append_lineage_without_mutating_older_batches);
	tcase_add_test(codec, only_appends_build_on_the_last_step);
	tcase_add_test(codec, empty_rows_and_empty_batches);
	tcase_add_test(codec, lying_fields_are_errors);
	tcase_add_test(codec, truncated_or_flipped_messages_are_errors);
	tcase_add_test(codec, bad_batches_leave_the_encoder_as_it_was);
	tcase_add_test(codec, a_delta_of_long_rows_is_a_hundredth);
	tcase_add_loop_test(codec, random_sessions_arrive_whole, 0, 5);
	suite_add_tcase(suite, codec);
	return run_suite(suite);
}
