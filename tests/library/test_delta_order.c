/* SPDX-License-Identifier: MIT */
/* The delta codec: messages that are lost, come late, again, or from a restarted scheduler. */
#include <string.h>

#include "../run_suite.h"
#include "codec_case.h"

START_TEST(a_late_or_unlucky_decoder_asks_for_whole_tables)
{
	h2d_decoded_batch_t batch;
	uint8_t copy[512];
	const uint8_t *bytes;
	size_t size;

	ADD(1, 1, 2);
	encode(&size);
	h2d_block_table_append(rows[0], 3);
	bytes = encode(&size);
	/* Late: the first message was never seen. */
	ck_assert_int_eq(h2d_delta_decoder_decode(decoder, bytes, size, &batch),
			 H2D_STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "ask for whole tables"));
	h2d_delta_encoder_request_whole(encoder);
	step();

	/* One message lost. */
	h2d_block_table_append(rows[0], 4);
	encode(&size);
	h2d_block_table_append(rows[0], 5);
	bytes = encode(&size);
	ck_assert_int_eq(h2d_delta_decoder_decode(decoder, bytes, size, &batch),
			 H2D_STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "builds on 4, the last one here was 3"));
	h2d_delta_encoder_request_whole(encoder);
	bytes = encode(&size);
	ck_assert_uint_le(size, sizeof(copy));
	memcpy(copy, bytes, size);
	batch = decode_ok(copy, size);
	assert_same(&batch);

	/* The same message again, and an older one. */
	ck_assert_int_eq(h2d_delta_decoder_decode(decoder, copy, size, &batch),
			 H2D_STATUS_INVALID_STATE);
	step();
	ck_assert_int_eq(h2d_delta_decoder_decode(decoder, copy, size, &batch),
			 H2D_STATUS_INVALID_STATE);
	step();
}
END_TEST

START_TEST(a_restarted_encoder_starts_over)
{
	h2d_delta_encoder_t *first = encoder;

	ADD(1, 1, 2);
	step();
	step();
	ck_assert_int_eq(h2d_delta_encoder_create(CHANNEL + 1, &encoder), H2D_STATUS_SUCCESS);
	step();
	h2d_block_table_append(rows[0], 5);
	step();
	h2d_delta_encoder_destroy(first);
}
END_TEST

START_TEST(messages_of_a_replaced_encoder_are_late)
{
	h2d_delta_encoder_t *second = NULL, *third = NULL;
	struct message a[3], b[3], c;
	h2d_decoded_batch_t batch;

	ck_assert_int_eq(h2d_delta_encoder_create(CHANNEL + 1, &second), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_delta_encoder_create(CHANNEL + 2, &third), H2D_STATUS_SUCCESS);
	ADD(1, 1, 2);
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			h2d_delta_encoder_request_whole(encoder);
		a[i] = message_of(encoder);
		h2d_block_table_append(rows[0], 3 + i);
	}
	h2d_block_table_clear(rows[0]);
	for (int i = 0; i < 3; i++) {
		h2d_block_table_append(rows[0], 50 + i);
		b[i] = message_of(second);
	}
	c = message_of(third);
	ck_assert_int_eq(receive(&a[0]), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(receive(&b[0]), H2D_STATUS_SUCCESS);
	/* The first one again, what follows it, and whole tables that never arrived before. */
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(receive(&a[i]), H2D_STATUS_INVALID_STATE);
		ck_assert_pstr_eq(strstr(h2d_error_message(), "channel 1234605616436508553 has"),
				  "channel 1234605616436508553 has taken its place");
	}
	ck_assert_int_eq(receive(&b[0]), H2D_STATUS_INVALID_STATE);
	ck_assert_int_eq(receive(&b[1]), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(receive(&c), H2D_STATUS_SUCCESS);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(receive(&a[i]), H2D_STATUS_INVALID_STATE);
		ck_assert_int_eq(receive(&b[i]), H2D_STATUS_INVALID_STATE);
	}
	/* The decoder is where the third one's first message has left it. */
	h2d_block_table_append(rows[0], 60);
	c = message_of(third);
	batch = decode_ok(c.bytes, c.size);
	assert_same(&batch);
	h2d_delta_encoder_destroy(second);
	h2d_delta_encoder_destroy(third);
}
END_TEST

/* It remembers all channels that it has left, and takes no more of them than it can remember. */
START_TEST(a_decoder_outlives_a_limited_number_of_restarts)
{
	struct message message;

	ADD(1, 1, 2);
	message = message_of(encoder);
	for (uint64_t channel = 0; channel <= H2D_DELTA_MAX_RESTARTS + 1; channel++) {
		put_u64_at(message.bytes, 8, channel);
		sign(message.bytes, message.size);
		ck_assert_int_eq(receive(&message), channel <= H2D_DELTA_MAX_RESTARTS
							    ? H2D_STATUS_SUCCESS
							    : H2D_STATUS_OUT_OF_RANGE);
	}
	ck_assert_pstr_eq(h2d_error_message(),
			  "delta message: channel 1025 is new after 1025 others, the limit is 1024 "
			  "restarts; make a new decoder");
	for (uint64_t channel = 0; channel <= H2D_DELTA_MAX_RESTARTS; channel++) {
		put_u64_at(message.bytes, 8, channel);
		sign(message.bytes, message.size);
		ck_assert_int_eq(receive(&message), H2D_STATUS_INVALID_STATE);
	}
	put_u64_at(message.bytes, 16, 2);
	sign(message.bytes, message.size);
	ck_assert_int_eq(receive(&message), H2D_STATUS_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("delta_order");
	TCase *order = tcase_create("order");

	tcase_add_checked_fixture(order, codec_setup, codec_teardown);
	tcase_set_timeout(order, 60);
	tcase_add_test(order, a_late_or_unlucky_decoder_asks_for_whole_tables);
	tcase_add_test(order, a_restarted_encoder_starts_over);
	tcase_add_test(order, messages_of_a_replaced_encoder_are_late);
	tcase_add_test(order, a_decoder_outlives_a_limited_number_of_restarts);
	suite_add_tcase(suite, order);
	return run_suite(suite);
}
