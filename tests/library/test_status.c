/* SPDX-License-Identifier: MIT */
/* Status names and the error message of a thread. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/hsa_error.h"
#include "fixture.h"

static const struct {
	h2d_status_t status;
	const char *name;
} names[] = {
    {0, "H2D_STATUS_SUCCESS"},
    {1, "H2D_STATUS_INVALID_ARGUMENT"},
    {2, "H2D_STATUS_OUT_OF_RANGE"},
    {3, "H2D_STATUS_OVERLAP"},
    {4, "H2D_STATUS_NOT_FOUND"},
    {16, "H2D_STATUS_INVALID_STATE"},
    {17, "H2D_STATUS_WRONG_THREAD"},
    {18, "H2D_STATUS_WRONG_DEVICE"},
    {19, "H2D_STATUS_CAPTURE_ACTIVE"},
    {20, "H2D_STATUS_WRONG_STREAM"},
    {21, "H2D_STATUS_ALREADY_PUBLISHED"},
    {22, "H2D_STATUS_SOURCE_IN_USE"},
    {23, "H2D_STATUS_TRANSPORT_IN_FLIGHT"},
    {32, "H2D_STATUS_NO_DEVICE"},
    {33, "H2D_STATUS_NOT_SUPPORTED"},
    {34, "H2D_STATUS_OUT_OF_MEMORY"},
    {35, "H2D_STATUS_TIMEOUT"},
    {36, "H2D_STATUS_QUEUE_FULL"},
    {37, "H2D_STATUS_QUEUE_ERROR"},
    {38, "H2D_STATUS_MEMORY_FAULT"},
    {39, "H2D_STATUS_HSA_ERROR"},
};

START_TEST(every_status_has_its_name)
{
	for (int status = -1; status < 64; status++) {
		const char *expected = "unknown status";
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if ((int)names[i].status == status)
				expected = names[i].name;
		ck_assert_str_eq(h2d_status_string((h2d_status_t)status), expected);
	}
}
END_TEST

START_TEST(message_is_that_of_the_last_failure)
{
	ck_assert_str_eq(h2d_error_message(), "");
	check_status(h2d_error(H2D_STATUS_OVERLAP, "buffer %s at %d", "positions", 7),
		     H2D_STATUS_OVERLAP);
	ck_assert_str_eq(h2d_error_message(), "buffer positions at 7");
	check_status(h2d_error(H2D_STATUS_TIMEOUT, "again: %s", h2d_error_message()),
		     H2D_STATUS_TIMEOUT);
	ck_assert_str_eq(h2d_error_message(), "again: buffer positions at 7");
}
END_TEST

START_TEST(long_message_is_cut)
{
	char words[2000];

	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	h2d_error(H2D_STATUS_OVERLAP, "%s", words);
	ck_assert_uint_eq(strlen(h2d_error_message()), 511);
	ck_assert_mem_eq(h2d_error_message(), words, 511);
}
END_TEST

static void *message_of_another_thread(void *data)
{
	(void)data;
	char *first = strdup(h2d_error_message());
	h2d_error(H2D_STATUS_OVERLAP, "theirs");
	return first;
}

START_TEST(each_thread_has_its_own_message)
{
	pthread_t thread;
	void *first;

	h2d_error(H2D_STATUS_OVERLAP, "ours");
	ck_assert_int_eq(pthread_create(&thread, NULL, message_of_another_thread, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &first), 0);
	ck_assert_str_eq(first, "");
	ck_assert_str_eq(h2d_error_message(), "ours");
	free(first);
}
END_TEST

START_TEST(hsa_failure_names_the_call_and_the_runtime_s_words)
{
	const char *words;

	ck_assert_int_eq(hsa_status_string(HSA_STATUS_ERROR_INVALID_QUEUE, &words), 0);
	check_status(h2d_hsa_error(HSA_STATUS_ERROR_INVALID_QUEUE, "hsa_queue_destroy"),
		     H2D_STATUS_HSA_ERROR);
	check_message("hsa_queue_destroy failed with 0x1007");
	check_message(words);
	check_status(h2d_hsa_error(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "x"),
		     H2D_STATUS_OUT_OF_MEMORY);
	check_status(h2d_hsa_error((hsa_status_t)0x7777, "x"), H2D_STATUS_HSA_ERROR);
	check_message("0x7777: an unknown HSA status");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("status");
	TCase *cases = tcase_create("status");

	tcase_add_test(cases, every_status_has_its_name);
	tcase_add_test(cases, message_is_that_of_the_last_failure);
	tcase_add_test(cases, long_message_is_cut);
	tcase_add_test(cases, each_thread_has_its_own_message);
	tcase_add_test(cases, hsa_failure_names_the_call_and_the_runtime_s_words);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
