/* SPDX-License-Identifier: MIT */
/*
 * Accesses of the GPU's threads to memory that the program has taken from itself.
 *
 * A program may unmap or protect its memory, or shorten a mapped file, while the GPU has it mapped.
 * The access of an engine then ends in a signal on a thread of the GPU, and this makes a memory
 * fault of it:
 *
 *	sigjmp_buf landing;
 *
 *	if (!softgpu_host_guard_enter(&landing))
 *		return fault(softgpu_host_guard_land());
 *	access memory
 *	softgpu_host_guard_leave();
 *
 * All other such signals go to the handlers that the program had before.
 */
#ifndef SOFTGPU_HOST_GUARD_H
#define SOFTGPU_HOST_GUARD_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Handles SIGSEGV and SIGBUS from now on. */
void softgpu_host_guard_install(void);
/* Gives them back, unless the program has put a handler of its own in front meanwhile. */
void softgpu_host_guard_remove(void);
/* The signals that a thread of the GPU must not block. */
void softgpu_host_guard_signals(sigset_t *signals);
/* The calling thread is one of the GPU. */
void softgpu_host_guard_adopt_thread(void);

/*
 * True: what follows is guarded, up to the leave. It is left here again, with false, if it accesses
 * memory that is not there. A macro, since its caller must not return in between.
 */
#define softgpu_host_guard_enter(landing)                                                          \
	(sigsetjmp(*(landing), 0) == 0 && softgpu_host_guard_arm(landing))
bool softgpu_host_guard_arm(sigjmp_buf *landing);
void softgpu_host_guard_leave(void);
/* Ends the guard after an enter that is false; the host address that was not there. */
uint64_t softgpu_host_guard_land(void);

/* A mutex under which guarded memory is accessed: landing unlocks it. */
void softgpu_host_guard_lock(pthread_mutex_t *mutex);
void softgpu_host_guard_unlock(pthread_mutex_t *mutex);

#endif
