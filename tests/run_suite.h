/* SPDX-License-Identifier: MIT */
/* Running a suite, as every test program does at its end. */
#ifndef H2DPUB_TESTS_RUN_SUITE_H
#define H2DPUB_TESTS_RUN_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Writes TAP, as tests/run asks for; returns what main() returns. */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
