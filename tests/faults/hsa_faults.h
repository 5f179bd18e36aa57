/* SPDX-License-Identifier: MIT */
/*
 * A tools library for the HSA runtime (HSA_TOOLS_LIB): makes the Nth call of a chosen hsa_* function
 * fail and counts what was created and not destroyed. Found with dlsym() in the library that the
 * runtime has loaded; valid between hsa_init() and the matching hsa_shut_down().
 */
#ifndef H2DPUB_TESTS_HSA_FAULTS_H
#define H2DPUB_TESTS_HSA_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the runtime's objects are counted as. */
enum hsa_faults_kind {
	HSA_FAULTS_SIGNALS,
	HSA_FAULTS_QUEUES,
	HSA_FAULTS_MEMORY,
	HSA_FAULTS_EXECUTABLES,
	HSA_FAULTS_CODE_OBJECT_READERS,
	HSA_FAULTS_KINDS
};

struct hsa_faults {
	/*
	 * The call number nth (from 1, counted from now) of this function returns status and does
	 * nothing. Returns false for a function that the library does not know.
	 */
	bool (*arm)(const char *function, uint64_t nth, hsa_status_t status);
	void (*disarm)(void);
	bool (*fired)(void);
	/* The functions that can be made to fail, NULL behind the last. */
	const char *(*function)(unsigned int index);
	/* Created and not destroyed. */
	int64_t (*outstanding)(enum hsa_faults_kind kind);
	/* Forgets all counts, for objects that a test leaves on purpose. */
	void (*forget)(void);
};

/* The one symbol of the library. */
const struct hsa_faults *hsa_faults_interface(void);

#ifdef __cplusplus
}
#endif

#endif
