/* SPDX-License-Identifier: MIT */
/* Threads of the software GPU. */
#include "thread.h"

#include <signal.h>

bool softgpu_thread_start(pthread_t *thread, const char *name, void *(*function)(void *),
			  void *argument)
{
	sigset_t all, before;
	int error;

	/* The new thread inherits the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, function, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_setname_np(*thread, name);
	return error == 0;
}
