/* SPDX-License-Identifier: MIT */
/* The signals of accesses to memory that is not there, and where the GPU's threads land. */
#include "host_guard.h"

#include "message.h"

#include <inttypes.h>

static const int numbers[] = {SIGSEGV, SIGBUS};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static bool installed;
static struct sigaction previous[NUMBERS];

/* Initial-exec: the signal handler must not be the one to allocate it. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
	bool of_gpu;
	sigjmp_buf *landing; /* NULL: nothing is guarded */
	pthread_mutex_t *held;
	uint64_t address;
} thread;

void softgpu_host_guard_signals(sigset_t *signals)
{
	sigemptyset(signals);
	for (size_t i = 0; i < NUMBERS; i++)
		sigaddset(signals, numbers[i]);
}

/* As if this handler were not there. */
static void pass_on(int number, siginfo_t *information, void *context)
{
	const struct sigaction *action = &previous[number == numbers[0] ? 0 : 1];
	const struct sigaction initial = {.sa_handler = SIG_DFL};
	const bool is_function = action->sa_flags & SA_SIGINFO ||
				 (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);

	if (!is_function || action->sa_flags & SA_RESETHAND)
		sigaction(number, &initial, NULL);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(number, information, context);
	else if (is_function)
		action->sa_handler(number);
	else if (information->si_code <= 0) /* was sent; an access is repeated by itself */
		raise(number);
}

static void handle(int number, siginfo_t *information, void *context)
{
	const bool is_access = information->si_code > 0; /* else somebody has sent it */
	const uint64_t address = (uint64_t)(uintptr_t)information->si_addr;

	if (is_access && thread.landing) {
		sigset_t signals;

		thread.address = address;
		softgpu_host_guard_signals(&signals);
		pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
		siglongjmp(*thread.landing, 1);
	}
	if (is_access && thread.of_gpu)
		softgpu_message("a thread of the GPU has no access to host memory at 0x%" PRIx64,
				address);
	pass_on(number, information, context);
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

void softgpu_host_guard_install(void)
{
	if (installed)
		return;
	for (size_t i = 0; i < NUMBERS; i++) {
		struct sigaction action = {.sa_sigaction = handle};

		/* Before the handler can run, which needs it. */
		sigaction(numbers[i], NULL, &previous[i]);
		action.sa_mask = previous[i].sa_mask;
		action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous[i].sa_flags & SA_NODEFER);
		sigaction(numbers[i], &action, NULL);
	}
	installed = true;
}

void softgpu_host_guard_remove(void)
{
	struct sigaction action;

	/* A handler of the program's may go on to call this one, which stays in place then. */
	for (size_t i = 0; i < NUMBERS; i++) {
		sigaction(numbers[i], NULL, &action);
		if (!is_ours(&action))
			return;
	}
	for (size_t i = 0; i < NUMBERS; i++)
		sigaction(numbers[i], &previous[i], NULL);
	installed = false;
}

void softgpu_host_guard_adopt_thread(void)
{
	thread.of_gpu = true;
}

bool softgpu_host_guard_arm(sigjmp_buf *landing)
{
	thread.landing = landing;
	return true;
}

void softgpu_host_guard_leave(void)
{
	thread.landing = NULL;
}

uint64_t softgpu_host_guard_land(void)
{
	thread.landing = NULL;
	if (thread.held)
		softgpu_host_guard_unlock(thread.held);
	return thread.address;
}

void softgpu_host_guard_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	thread.held = mutex;
}

void softgpu_host_guard_unlock(pthread_mutex_t *mutex)
{
	thread.held = NULL;
	pthread_mutex_unlock(mutex);
}
