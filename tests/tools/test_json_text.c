/* SPDX-License-Identifier: MIT */
/* Texts in JSON: UTF-8 stays as it is, every other byte is escaped. */
#include "config.h"

#include <check.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/json_text.h"

static void assert_text(const char *text, const char *wanted)
{
	struct json_object *object = json_text_new(text);

	ck_assert_ptr_nonnull(object);
	ck_assert_str_eq(json_object_get_string(object), wanted);
	json_object_put(object);
}

START_TEST(utf8_stays)
{
	/* the first and the last of each length, and those around the surrogates */
	static const char *const texts[] = {
		"", "a \\ \" \x7f\x01\n", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
		"\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
		"tr\xc3\xa4ger \xe2\x82\xac\xf0\x9f\x98\x80.csv",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_text(texts[i], texts[i]);
}
END_TEST

static const struct {
	const char *text, *wanted;
} others[] = {
	{"\xff", "\\xff"},
	{"a\xfe" "b", "a\\xfeb"},
	{"\x80\xbf", "\\x80\\xbf"},		      /* no first byte */
	{"\xc3", "\\xc3"},			      /* cut short */
	{"\xe2\x82", "\\xe2\\x82"},
	{"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
	{"\xe2\x82z", "\\xe2\\x82z"},
	{"\xe2\xc3\xa4", "\\xe2\xc3\xa4"},	      /* a character behind one that is cut short */
	{"\xc0\xaf", "\\xc0\\xaf"},		      /* longer than need be */
	{"\xc1\xbf", "\\xc1\\xbf"},
	{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
	{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* a surrogate */
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
	{"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
};

START_TEST(other_bytes_are_escaped)
{
	assert_text(others[_i].text, others[_i].wanted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_text");
	TCase *cases = tcase_create("json_text");

	tcase_add_test(cases, utf8_stays);
	tcase_add_loop_test(cases, other_bytes_are_escaped, 0, sizeof(others) / sizeof(others[0]));
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
