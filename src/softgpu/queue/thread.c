/* SPDX-License-Identifier: MIT */
/* Threads of the software GPU. */
#include "thread.h"

#include "../host_guard.h"

#include <signal.h>
#include <stdlib.h>

struct start {
	void *(*function)(void *);
	void *argument;
};

static void *run(void *argument)
{
	const struct start start = *(struct start *)argument;

	free(argument);
	softgpu_host_guard_adopt_thread();
	return start.function(start.argument);
}

bool softgpu_thread_start(pthread_t *thread, const char *name, void *(*function)(void *),
			  void *argument)
{
	struct start *start = malloc(sizeof(*start));
	sigset_t all, guarded, before;
	int error;

	if (!start)
		return false;
	*start = (struct start){.function = function, .argument = argument};
	/* The new thread inherits the mask. */
	sigfillset(&all);
	softgpu_host_guard_signals(&guarded);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_sigmask(SIG_UNBLOCK, &guarded, NULL);
	error = pthread_create(thread, NULL, run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0)
		free(start);
	if (error == 0)
		pthread_setname_np(*thread, name);
	return error == 0;
}
