/* SPDX-License-Identifier: MIT */
/*
 * Packing against one byte at a time: every size up to where the copies repeat, at any address,
 * with each vector that this processor has.
 */
#include <string.h>

#include "fixture.h"
#include "publish/pack.h"

#define MEMBERS	  4
#define MAXIMUM	  2100
#define ROOM	  (MEMBERS * MAXIMUM + 256)
#define UNTOUCHED 0xee

static uint8_t sources[MEMBERS][MAXIMUM + MEMBERS], arena[ROOM], expected[ROOM];

static const size_t vectors[] = {0, 32, 64};
#define VECTORS 3

static void check_pack(h2d_pack_function_t *pack, const size_t bytes[MEMBERS], size_t begin,
		       uint64_t *seed)
{
	struct h2d_pack_copy copies[MEMBERS];
	size_t end = begin;

	memset(arena, UNTOUCHED, sizeof(arena));
	memset(expected, UNTOUCHED, sizeof(expected));
	for (int i = 0; i < MEMBERS; i++) {
		uint8_t *source = sources[i] + i;

		fixture_random_bytes(seed, source, bytes[i]);
		copies[i] = (struct h2d_pack_copy){source, bytes[i]};
		for (size_t n = 0; n < bytes[i]; n++)
			expected[end++] = source[n];
	}
	ck_assert_ptr_eq(pack(arena + begin, copies, MEMBERS), arena + end);
	fixture_check_bytes("the arena", arena, expected, sizeof(arena));
}

START_TEST(every_size_is_copied_whole_and_no_byte_more)
{
	uint64_t seed = fixture_seed();

	for (size_t size = 1; size <= MAXIMUM; size++) {
		const size_t bytes[MEMBERS] = {size, 1, MAXIMUM + 1 - size, size};

		check_pack(h2d_pack_with(vectors[_i]), bytes, size % 64, &seed);
	}
}
END_TEST

START_TEST(nothing_to_pack)
{
	uint8_t byte = 1;

	ck_assert_ptr_eq(h2d_pack_with(vectors[_i])(&byte, NULL, 0), &byte);
	ck_assert_uint_eq(byte, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pack");
	TCase *cases = tcase_create("pack");

	tcase_add_loop_test(cases, every_size_is_copied_whole_and_no_byte_more, 0, VECTORS);
	tcase_add_loop_test(cases, nothing_to_pack, 0, VECTORS);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
