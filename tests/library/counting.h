/* SPDX-License-Identifier: MIT */
/*
 * Counts what the calling thread does while it is asked to: allocations, waits on the host, system
 * calls. What happens inside hsa_* functions is the runtime's and is counted apart.
 */
#ifndef H2DPUB_TESTS_COUNTING_H
#define H2DPUB_TESTS_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

/* What the thread is doing; the index of counting->counts. */
enum counting_phase {
	COUNTING_NOTHING,
	COUNTING_BEGIN,
	COUNTING_PUBLISH,	    /* into a ring that has room */
	COUNTING_PUBLISH_FULL_RING, /* into one that has none yet */
	COUNTING_ACQUIRE,
	COUNTING_FINISH,
	COUNTING_PHASES,
};

struct counts {
	uint64_t allocations;	  /* malloc, calloc, realloc, free */
	uint64_t hsa_allocations; /* of these functions inside hsa_* functions */
	uint64_t system_calls;
	uint64_t hsa_system_calls;
	uint64_t waits; /* hsa_signal_wait_*, naps */
	uint64_t copies;
	uint64_t other_hsa_calls; /* that create, allocate or destroy something */
	long last_system_call;	  /* number of the last one that was not the runtime's */
};

struct counting {
	/* Of the counted thread: written by it, read by the tracing process at its system calls. */
	volatile int phase;
	volatile int hsa_depth;
	struct counts counts[COUNTING_PHASES];
};

/* In memory that the tracing process shares. */
extern struct counting *counting;

/*
 * Called before each counted wait, where it is set: it brings about what the wait is for, so that
 * the wait certainly happens and certainly ends, however fast the machine is.
 */
extern void (*counting_before_wait)(void);

/*
 * Runs `body` in a new process whose calling thread is traced, so that its system calls are
 * counted; the test fails if it fails. The HSA runtime must be started within `body`.
 */
void counting_run(void (*body)(int argument), int argument);

/* False where a sanitizer has its own allocator: allocations are not counted then. */
bool counting_sees_allocations(void);

#endif
