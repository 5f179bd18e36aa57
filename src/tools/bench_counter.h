/* SPDX-License-Identifier: MIT */
/*
 * The processor's own count of what a thread executes in user mode (perf_event_open). Many machines
 * have none for their users: virtual ones, and those with a strict perf_event_paranoid.
 */
#ifndef H2DPUB_TOOLS_BENCH_COUNTER_H
#define H2DPUB_TOOLS_BENCH_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* Counts the calling thread's instructions from here on: a file descriptor; -1: no counter. */
int instruction_counter_open(void);
void instruction_counter_close(int counter);

/* 0 without a counter. */
uint64_t instruction_counter_read(int counter);

/* Whether there is a counter for this process. */
bool instruction_counter_exists(void);

#endif
