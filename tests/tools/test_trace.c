/* SPDX-License-Identifier: MIT */
/* Reading of request traces: both formats, and what each kind of bad line says. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../run_suite.h"
#include "tools/trace.h"

#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens"

static char path[64];
static struct trace trace;
static struct tool_error error;

static void make_path(void)
{
	strcpy(path, "/tmp/h2dpub-trace-XXXXXX");
	close(mkstemp(path));
}

static void remove_path(void)
{
	trace_free(&trace);
	unlink(path);
}

static int read_bytes(const char *bytes, size_t size, size_t limit)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
	return trace_read(&trace, path, limit, &error);
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text), 0);
}

/* The message must be exactly "<path>:<line>: <rest>". */
static void assert_error(const char *text, unsigned line, const char *rest)
{
	char wanted[512];

	ck_assert_int_eq(read_text(text), -1);
	snprintf(wanted, sizeof(wanted), "%s:%u: %s", path, line, rest);
	ck_assert_str_eq(error.text, wanted);
	ck_assert_uint_eq(trace.request_count, 0);
	ck_assert_ptr_null(trace.requests);
}

static void assert_request(size_t i, int64_t arrival_us, uint32_t prompt, uint32_t output)
{
	ck_assert_uint_lt(i, trace.request_count);
	ck_assert_int_eq(trace.requests[i].arrival_us, arrival_us);
	ck_assert_uint_eq(trace.requests[i].prompt_tokens, prompt);
	ck_assert_uint_eq(trace.requests[i].output_tokens, output);
}

START_TEST(csv_with_cr_lf_and_without_final_newline)
{
	ck_assert_int_eq(read_text(HEADER "\r\n"
				   "2023-11-16 23:59:59.9799600,4808,10\r\n"
				   "2023-11-17 00:00:00.0319601,3180,0"),
			 0);
	ck_assert_uint_eq(trace.request_count, 2);
	assert_request(0, 0, 4808, 10);
	assert_request(1, 52000, 3180, 0);
	ck_assert_uint_eq(trace.hash_id_count, 0);
}
END_TEST

START_TEST(csv_with_lf_and_zones)
{
	ck_assert_int_eq(read_text(HEADER "\n"
				   "2024-02-29 12:00:00+00:00,1,1\n"
				   "2024-02-29 14:00:01.5+01:00,2147483647,2147483647\n"),
			 0);
	assert_request(0, 0, 1, 1);
	assert_request(1, INT64_C(3601500000), 2147483647, 2147483647);
}
END_TEST

START_TEST(csv_out_of_order_is_sorted_and_equal_arrivals_keep_their_order)
{
	ck_assert_int_eq(read_text(HEADER "\n"
				   "2023-11-16 10:00:02,3,1\n2023-11-16 10:00:01,1,1\n"
				   "2023-11-16 10:00:01,2,1\n"),
			 0);
	assert_request(0, 0, 1, 1);
	assert_request(1, 0, 2, 1);
	assert_request(2, 1000000, 3, 1);
}
END_TEST

START_TEST(mooncake_lines)
{
	ck_assert_int_eq(read_text("{\"timestamp\": 5, \"input_length\": 1100, "
				   "\"output_length\": 500, \"hash_ids\": [0, 14, 9]}\n"
				   "{\"hash_ids\":[],\"output_length\":0,\"input_length\":7,"
				   "\"timestamp\":7.5} \r\n"),
			 0);
	ck_assert_uint_eq(trace.request_count, 2);
	assert_request(0, 0, 1100, 500);
	assert_request(1, 2500, 7, 0);
	ck_assert_uint_eq(trace.requests[0].hash_count, 3);
	ck_assert_int_eq(trace.hash_ids[trace.requests[0].first_hash + 1], 14);
	ck_assert_uint_eq(trace.requests[1].hash_count, 0);
}
END_TEST

START_TEST(hash_ids_have_64_bits)
{
	ck_assert_int_eq(read_text("{\"timestamp\": 0, \"input_length\": 2048, \"output_length\": 1, "
				   "\"hash_ids\": [9223372036854775807, 9223372036854775808, "
				   "9223372036854775809, 18446744073709551615]}\n"),
			 0);
	ck_assert_uint_eq(trace.hash_id_count, 4);
	ck_assert_uint_eq(trace.hash_ids[0], UINT64_C(9223372036854775807));
	ck_assert_uint_eq(trace.hash_ids[1], UINT64_C(9223372036854775808));
	ck_assert_uint_eq(trace.hash_ids[2], UINT64_C(9223372036854775809));
	ck_assert_uint_eq(trace.hash_ids[3], UINT64_C(18446744073709551615));
}
END_TEST

/* Digits in other places of a line are no numbers, and other numbers are no integers. */
START_TEST(digits_in_strings_and_other_members_are_not_looked_at)
{
	ck_assert_int_eq(read_text("{\"99999999999999999999\": \"\\\"99999999999999999999\\\\\", "
				   "\"timestamp\": 5.00000000000000000000000000, \"input_length\": 7, "
				   "\"rate\": 99999999999999999999e-20, \"output_length\": 5, "
				   "\"hash_ids\": []}\n"),
			 0);
	assert_request(0, 0, 7, 5);
}
END_TEST

START_TEST(limit_stops_before_a_bad_line)
{
	const char *text = HEADER "\n2023-11-16 10:00:01,1,1\n2023-11-16 10:00:02,2,1\nbad\n";

	ck_assert_int_eq(read_bytes(text, strlen(text), 2), 0);
	ck_assert_uint_eq(trace.request_count, 2);
	trace_free(&trace);
	ck_assert_int_eq(read_bytes(text, strlen(text), 3), -1);
}
END_TEST

START_TEST(many_requests)
{
	FILE *file = fopen(path, "w");

	fputs(HEADER "\n", file);
	for (unsigned i = 0; i < 5000; i++)
		fprintf(file, "2023-11-16 %02u:%02u:%02u,%u,%u\n", i / 3600, i / 60 % 60, i % 60,
			i + 1, i);
	fclose(file);
	ck_assert_int_eq(trace_read(&trace, path, 0, &error), 0);
	ck_assert_uint_eq(trace.request_count, 5000);
	for (unsigned i = 0; i < 5000; i++)
		assert_request(i, (int64_t)i * 1000000, i + 1, i);
}
END_TEST

static const struct {
	const char *text;
	unsigned line;
	const char *rest;
} bad_traces[] = {
	{"", 1, "no request in the trace (the file is empty)"},
	{HEADER "\n", 2, "no request in the trace (only a header)"},
	{HEADER, 2, "no request in the trace (only a header)"},
	{"hello\n", 1, "neither the header " HEADER " nor a JSON object: 'hello'"},
	{"TIMESTAMP,ContextTokens\n", 1,
	 "neither the header " HEADER " nor a JSON object: 'TIMESTAMP,ContextTokens'"},
	{HEADER "\n\n", 2, "0 columns instead of 3: ''"},
	{HEADER "\n2023-11-16 10:00:01,1,1\n2023-11-16 10:00:02,1", 3,
	 "2 columns instead of 3: '2023-11-16 10:00:02,1'"},
	{HEADER "\n2023-11-16 10:00:01,1,1,1\n", 2,
	 "4 columns instead of 3: '2023-11-16 10:00:01,1,1,1'"},
	{HEADER "\n2023-11-16 10:00:01,-5,1\n", 2,
	 "ContextTokens is '-5', not a whole number from 1 to 2147483647"},
	{HEADER "\n2023-11-16 10:00:01,0,1\n", 2,
	 "ContextTokens is '0', not a whole number from 1 to 2147483647"},
	{HEADER "\n2023-11-16 10:00:01,5,\n", 2,
	 "GeneratedTokens is '', not a whole number from 0 to 2147483647"},
	{HEADER "\n2023-11-16 10:00:01,5,1e3\n", 2,
	 "GeneratedTokens is '1e3', not a whole number from 0 to 2147483647"},
	{HEADER "\n2023-11-16 10:00:01,5,2147483648\n", 2,
	 "GeneratedTokens is '2147483648', not a whole number from 0 to 2147483647"},
	{HEADER "\n2023-11-16 10:00:01,99999999999999999999999,1\n", 2,
	 "ContextTokens is '99999999999999999999999', not a whole number from 1 to 2147483647"},
	{HEADER "\n2023-02-30 10:00:01,5,1\n", 2,
	 "TIMESTAMP is '2023-02-30 10:00:01', not a time such as 2023-11-16 18:17:03.9799600"},
	{HEADER "\nyesterday,5,1\n", 2,
	 "TIMESTAMP is 'yesterday', not a time such as 2023-11-16 18:17:03.9799600"},
	{HEADER "\n2023-11-16 10:00:01.,5,1\n", 2,
	 "TIMESTAMP is '2023-11-16 10:00:01.', not a time such as 2023-11-16 18:17:03.9799600"},
	{HEADER "\n2023-11-16 10:00:01x,5,1\n", 2,
	 "TIMESTAMP is '2023-11-16 10:00:01x', not a time such as 2023-11-16 18:17:03.9799600"},
	{HEADER "\n2023-11-16 10:00:01,5\001,1\n", 2,
	 "ContextTokens is '5\\x01', not a whole number from 1 to 2147483647"},
	{"{\"timestamp\": -1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": []}", 1,
	 "timestamp is '-1', not milliseconds from 0 to 1000000000000000"},
	{"{\"timestamp\": NaN, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": []}", 1,
	 "timestamp is 'NaN', not milliseconds from 0 to 1000000000000000"},
	{"{\"timestamp\": 1, \"input_length\": \"7\", \"output_length\": 5, \"hash_ids\": []}", 1,
	 "input_length is '\"7\"', not a whole number from 1 to 2147483647"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5.5, \"hash_ids\": []}", 1,
	 "output_length is '5.5', not a whole number from 0 to 2147483647"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"hash_ids\": []}", 1,
	 "no \"output_length\" in '{\"timestamp\":1,\"input_length\":7,\"hash_ids\":[]}'"},
	{"{\"timestamp\": 1, \"input_length\": null, \"output_length\": 5, \"hash_ids\": []}", 1,
	 "\"input_length\" is null"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": {}}", 1,
	 "hash_ids is '{}', not an array"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1, -2]}", 1,
	 "hash_ids[1] is '-2', not a whole number"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [null]}", 1,
	 "hash_ids[0] is 'null', not a whole number"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1, "
	 "18446744073709551616]}",
	 1, "the number '18446744073709551616' in column 73 exceeds 64 bits"},
	{"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": "
	 "[-9223372036854775809]}",
	 1, "the number '-9223372036854775809' in column 70 exceeds 64 bits"},
	{"{\"timestamp\": 1, \"input_length\": 99999999999999999999999999, \"output_length\": 5, "
	 "\"hash_ids\": []}",
	 1, "the number '99999999999999999999999999' in column 34 exceeds 64 bits"},
	{"{\"timestamp\": 99999999999999999999, \"input_length\": 7, \"output_length\": 5, "
	 "\"hash_ids\": []}",
	 1, "the number '99999999999999999999' in column 15 exceeds 64 bits"},
	{"{\"timestamp\": 1, \"input_length\": 18446744073709551615, \"output_length\": 5, "
	 "\"hash_ids\": []}",
	 1, "input_length is '18446744073709551615', not a whole number from 1 to 2147483647"},
	{"{\"timestamp\": 18446744073709551615, \"input_length\": 1, \"output_length\": 5, "
	 "\"hash_ids\": []}",
	 1, "timestamp is '18446744073709551615', not milliseconds from 0 to 1000000000000000"},
	{"{\"timestamp\": 1e400, \"input_length\": 1, \"output_length\": 5, \"hash_ids\": []}", 1,
	 "timestamp is '1e400', not milliseconds from 0 to 1000000000000000"},
};

START_TEST(bad_line_is_named_with_line_and_value)
{
	assert_error(bad_traces[_i].text, bad_traces[_i].line, bad_traces[_i].rest);
}
END_TEST

START_TEST(bad_json_is_named_with_line)
{
	static const char good[] = "{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, "
				   "\"hash_ids\": [1]}\n";
	static const char *const bad[] = {
		"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1, 2",
		"{\"timestamp\" 1}",
		"{} {}",
		"[1, 2, 3]",
		"12",
		"",
		"{\"timestamp\": 1, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [1]} x",
	};
	char text[512], place[80];

	snprintf(text, sizeof(text), "%s%s", good, bad[_i]);
	if (bad[_i][0] == '\0')
		strcat(text, "\n");
	snprintf(place, sizeof(place), "%s:2: ", path);
	ck_assert_int_eq(read_text(text), -1);
	ck_assert_msg(strncmp(error.text, place, strlen(place)) == 0, "%s", error.text);
	ck_assert_ptr_null(trace.requests);
	ck_assert_ptr_null(trace.hash_ids);
}
END_TEST

START_TEST(nul_bytes)
{
	static const char text[] = HEADER "\n2023-11-16 10:00:01,5\0,1\n";
	char wanted[128];

	ck_assert_int_eq(read_bytes(text, sizeof(text) - 1, 0), -1);
	snprintf(wanted, sizeof(wanted), "%s:2: NUL byte in column 22", path);
	ck_assert_str_eq(error.text, wanted);
}
END_TEST

START_TEST(endless_line)
{
	size_t size = (size_t)3 << 20;
	char *text = malloc(size);
	char wanted[128];

	memset(text, '7', size);
	ck_assert_int_eq(read_bytes(text, size, 0), -1);
	snprintf(wanted, sizeof(wanted), "%s:1: the line is longer than 1048576 bytes", path);
	ck_assert_str_eq(error.text, wanted);
	free(text);
}
END_TEST

START_TEST(deeply_nested_json)
{
	char text[4096];

	memset(text, '[', sizeof(text));
	memcpy(text, "{\"hash_ids\":", 12);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(read_text(text), -1);
	ck_assert_msg(strstr(error.text, ":1: invalid JSON") != NULL, "%s", error.text);
}
END_TEST

START_TEST(directory_and_missing_file)
{
	ck_assert_int_eq(trace_read(&trace, "/", 0, &error), -1);
	ck_assert_str_eq(error.text, "/: is a directory, not a trace");
	ck_assert_int_eq(trace_read(&trace, "/no/such/trace", 0, &error), -1);
	ck_assert_str_eq(error.text,
			 "/no/such/trace: cannot open the trace: No such file or directory");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *cases = tcase_create("trace");

	tcase_add_checked_fixture(cases, make_path, remove_path);
	tcase_add_test(cases, csv_with_cr_lf_and_without_final_newline);
	tcase_add_test(cases, csv_with_lf_and_zones);
	tcase_add_test(cases, csv_out_of_order_is_sorted_and_equal_arrivals_keep_their_order);
	tcase_add_test(cases, mooncake_lines);
	tcase_add_test(cases, hash_ids_have_64_bits);
	tcase_add_test(cases, digits_in_strings_and_other_members_are_not_looked_at);
	tcase_add_test(cases, limit_stops_before_a_bad_line);
	tcase_add_test(cases, many_requests);
	tcase_add_loop_test(cases, bad_line_is_named_with_line_and_value, 0,
			    sizeof(bad_traces) / sizeof(bad_traces[0]));
	tcase_add_loop_test(cases, bad_json_is_named_with_line, 0, 7);
	tcase_add_test(cases, nul_bytes);
	tcase_add_test(cases, endless_line);
	tcase_add_test(cases, deeply_nested_json);
	tcase_add_test(cases, directory_and_missing_file);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
