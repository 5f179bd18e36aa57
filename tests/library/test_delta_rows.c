/* SPDX-License-Identifier: MIT */
/* The rows that a decoder hands out: their storage. */
#include "../run_suite.h"
#include "codec_case.h"

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

int main(void)
{
	Suite *suite = suite_create("delta_rows");
	TCase *decoded = tcase_create("decoded");

	tcase_add_checked_fixture(decoded, codec_setup, codec_teardown);
	tcase_add_test(decoded, a_refused_message_costs_the_next_one_no_copy);
	suite_add_tcase(suite, decoded);
	return run_suite(suite);
}
