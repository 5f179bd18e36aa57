/* SPDX-License-Identifier: MIT */
/* Threads of the software GPU inside a program that knows nothing of them. */
#ifndef SOFTGPU_QUEUE_THREAD_H
#define SOFTGPU_QUEUE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread on which no signal handler of the program runs, but for those of invalid accesses
 * (../host_guard.h). False: there is none to have.
 */
bool softgpu_thread_start(pthread_t *thread, const char *name, void *(*function)(void *),
			  void *argument);

#endif
