/* SPDX-License-Identifier: MIT */
/*
 * The counters. Definitions in the program come before those of libraries: these stand before
 * libc's allocator and nanosleep(), and before the functions of the HSA runtime that the library
 * may call after initialisation. System calls are counted from outside by ptrace().
 */
#include "counting.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#define EXPORTED __attribute__((visibility("default")))

struct counting *counting;
void (*counting_before_wait)(void);

static _Thread_local bool is_counted;

static struct counts *current(void)
{
	if (!is_counted || counting->phase == COUNTING_NOTHING)
		return NULL;
	return &counting->counts[counting->phase];
}

/* ---- allocations ----------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool counting_sees_allocations(void)
{
	return false;
}
#else
bool counting_sees_allocations(void)
{
	return true;
}

static void note_allocation(void)
{
	struct counts *counts = current();

	if (!counts)
		return;
	if (counting->hsa_depth > 0)
		counts->hsa_allocations++;
	else
		counts->allocations++;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

EXPORTED void *malloc(size_t size)
{
	note_allocation();
	return __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	note_allocation();
	return __libc_calloc(count, size);
}

EXPORTED void *realloc(void *memory, size_t size)
{
	note_allocation();
	return __libc_realloc(memory, size);
}

EXPORTED void free(void *memory)
{
	note_allocation();
	__libc_free(memory);
}
#endif

/* ---- the runtime ----------------------------------------------------------------------------- */

/* Found once, before anything is counted, and kept. */
#define REAL(name) ((__typeof__(&name))find_real(&real_##name, #name))

static void *find_real(void **cache, const char *name)
{
	if (!*cache)
		*cache = dlsym(RTLD_NEXT, name);
	return *cache;
}

static void enter(void)
{
	if (is_counted)
		counting->hsa_depth++;
}

static void leave(void)
{
	if (is_counted)
		counting->hsa_depth--;
}

static void note_wait(void)
{
	struct counts *counts = current();

	if (!counts)
		return;
	counts->waits++;
	if (counting_before_wait)
		counting_before_wait();
}

/* Defines a function that calls the real one as part of the runtime. */
#define RETURNING(type, name, parameters, arguments, note)                                         \
	static void *real_##name;                                                                  \
	EXPORTED type name parameters                                                              \
	{                                                                                          \
		type result;                                                                       \
                                                                                                   \
		note;                                                                              \
		enter();                                                                           \
		result = REAL(name) arguments;                                                     \
		leave();                                                                           \
		return result;                                                                     \
	}

#define RETURNING_NOTHING(name, parameters, arguments)                                             \
	static void *real_##name;                                                                  \
	EXPORTED void name parameters                                                              \
	{                                                                                          \
		enter();                                                                           \
		REAL(name) arguments;                                                              \
		leave();                                                                           \
	}

static void note_copy(void)
{
	struct counts *counts = current();

	if (counts)
		counts->copies++;
}

static void note_other(void)
{
	struct counts *counts = current();

	if (counts)
		counts->other_hsa_calls++;
}

RETURNING(hsa_status_t, hsa_amd_memory_async_copy,
	  (void *destination, hsa_agent_t destination_agent, const void *source,
	   hsa_agent_t source_agent, size_t size, uint32_t dependency_count,
	   const hsa_signal_t *dependencies, hsa_signal_t completion),
	  (destination, destination_agent, source, source_agent, size, dependency_count,
	   dependencies, completion),
	  note_copy())
RETURNING(hsa_signal_value_t, hsa_signal_wait_relaxed,
	  (hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare,
	   uint64_t timeout, hsa_wait_state_t state),
	  (signal, condition, compare, timeout, state), note_wait())
RETURNING(hsa_signal_value_t, hsa_signal_wait_scacquire,
	  (hsa_signal_t signal, hsa_signal_condition_t condition, hsa_signal_value_t compare,
	   uint64_t timeout, hsa_wait_state_t state),
	  (signal, condition, compare, timeout, state), note_wait())
RETURNING(hsa_signal_value_t, hsa_signal_load_scacquire, (hsa_signal_t signal), (signal), (void)0)
RETURNING(uint64_t, hsa_queue_load_read_index_scacquire, (const hsa_queue_t *queue), (queue),
	  (void)0)
RETURNING(uint64_t, hsa_queue_load_write_index_relaxed, (const hsa_queue_t *queue), (queue),
	  (void)0)
RETURNING(uint64_t, hsa_queue_cas_write_index_relaxed,
	  (const hsa_queue_t *queue, uint64_t expected, uint64_t value), (queue, expected, value),
	  (void)0)
RETURNING_NOTHING(hsa_signal_store_relaxed, (hsa_signal_t signal, hsa_signal_value_t value),
		  (signal, value))
RETURNING_NOTHING(hsa_signal_store_screlease, (hsa_signal_t signal, hsa_signal_value_t value),
		  (signal, value))
RETURNING_NOTHING(hsa_signal_add_relaxed, (hsa_signal_t signal, hsa_signal_value_t value),
		  (signal, value))

/* What no publication may need. */
RETURNING(hsa_status_t, hsa_amd_signal_create,
	  (hsa_signal_value_t value, uint32_t consumer_count, const hsa_agent_t *consumers,
	   uint64_t attributes, hsa_signal_t *signal),
	  (value, consumer_count, consumers, attributes, signal), note_other())
RETURNING(hsa_status_t, hsa_signal_destroy, (hsa_signal_t signal), (signal), note_other())
RETURNING(hsa_status_t, hsa_amd_memory_pool_allocate,
	  (hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void **memory),
	  (pool, size, flags, memory), note_other())
RETURNING(hsa_status_t, hsa_amd_memory_pool_free, (void *memory), (memory), note_other())
RETURNING(hsa_status_t, hsa_amd_memory_fill, (void *memory, uint32_t value, size_t count),
	  (memory, value, count), note_other())
RETURNING(hsa_status_t, hsa_amd_agents_allow_access,
	  (uint32_t count, const hsa_agent_t *agents, const uint32_t *flags, const void *memory),
	  (count, agents, flags, memory), note_other())

/* The library's own naps, which are system calls: part of a wait. */
EXPORTED int nanosleep(const struct timespec *time, struct timespec *rest)
{
	long result;

	note_wait();
	enter();
	result = syscall(SYS_nanosleep, time, rest);
	leave();
	return (int)result;
}

/* ---- system calls ---------------------------------------------------------------------------- */

static void note_system_call(pid_t process)
{
	struct counts *counts = &counting->counts[counting->phase];
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, process, (void *)sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY || counting->phase == COUNTING_NOTHING)
		return;
	if (counting->hsa_depth > 0) {
		counts->hsa_system_calls++;
		return;
	}
	counts->system_calls++;
	counts->last_system_call = (long)info.entry.nr;
}

/* Until the process ends; its wait status. */
static int trace(pid_t process)
{
	int status, signal = 0;

	ck_assert_int_eq(waitpid(process, &status, 0), process);
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, process, NULL,
				(void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
			 0);
	for (;;) {
		ck_assert_int_eq(ptrace(PTRACE_SYSCALL, process, NULL, (void *)(intptr_t)signal),
				 0);
		ck_assert_int_eq(waitpid(process, &status, 0), process);
		if (!WIFSTOPPED(status))
			return status;
		signal = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			note_system_call(process);
		else
			signal = WSTOPSIG(status);
	}
}

void counting_run(void (*body)(int argument), int argument)
{
	pid_t process;
	int status;

	counting = mmap(NULL, sizeof(*counting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	ck_assert_ptr_ne(counting, MAP_FAILED);
	process = fork();
	ck_assert_int_ge(process, 0);
	if (process == 0) {
		is_counted = true;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(2);
		raise(SIGSTOP);
		body(argument);
		_exit(0);
	}
	status = trace(process);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "the counted process ended with wait status 0x%x", status);
}
