/* SPDX-License-Identifier: MIT */
/*
 * What one call executes, counted by stepping a process of its own through it, one instruction
 * after the other (ptrace). Other threads of that process run freely and are not counted.
 */
#ifndef H2DPUB_TOOLS_BENCH_STEP_H
#define H2DPUB_TOOLS_BENCH_STEP_H

#include <stdint.h>

#include "tool_error.h"

struct step_counts {
	uint64_t instructions; /* a repeated string instruction is one */
	uint64_t locked;       /* with a lock prefix, and exchanges with memory */
	uint64_t system_calls;
	uint64_t allocations; /* calls of malloc() and its relatives */
	uint64_t packets;     /* reserved in queues of the HSA runtime */
	uint64_t dmas;	      /* asynchronous copies that the HSA runtime is asked for */
};

#define STEP_ROUNDS 3

/*
 * In the process that is stepped: the calls between the two are counted. An empty call first, then
 * STEP_ROUNDS of the subject.
 */
void step_begin(void);
void step_end(void);

/*
 * Runs this program with these arguments (argv[0] included, NULL at the end) and gives the median of
 * its first rounds, 1 to STEP_ROUNDS, less what the empty call takes. With a message 1 where no
 * process can be stepped through, -1 after other failures.
 */
int step_count(char *const argv[], int rounds, struct step_counts *counts,
	       struct tool_error *error);

#endif
