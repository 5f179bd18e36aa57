/* SPDX-License-Identifier: MIT */
/* Stepping a process through a call, and telling its instructions apart. x86-64 only. */
#include "config.h"

#include "bench_step.h"

#include <stdlib.h>

#if defined(__x86_64__)

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hsa/amd_hsa_queue.h>

/* ---- the stepped process ---------------------------------------------------------------------- */

enum hook_kind { HOOK_ALLOCATION, HOOK_ADD_PACKETS, HOOK_EXCHANGE_INDEX, HOOK_STORE_INDEX,
		 HOOK_DMA, HOOK_DMA_BATCH };

static const struct hook {
	const char *function;
	enum hook_kind kind;
} hooks[] = {
	{"malloc", HOOK_ALLOCATION},
	{"calloc", HOOK_ALLOCATION},
	{"realloc", HOOK_ALLOCATION},
	{"memalign", HOOK_ALLOCATION},
	{"aligned_alloc", HOOK_ALLOCATION},
	{"posix_memalign", HOOK_ALLOCATION},
	{"hsa_queue_add_write_index_relaxed", HOOK_ADD_PACKETS},
	{"hsa_queue_add_write_index_scacquire", HOOK_ADD_PACKETS},
	{"hsa_queue_add_write_index_screlease", HOOK_ADD_PACKETS},
	{"hsa_queue_add_write_index_scacq_screl", HOOK_ADD_PACKETS},
	{"hsa_queue_cas_write_index_relaxed", HOOK_EXCHANGE_INDEX},
	{"hsa_queue_cas_write_index_scacquire", HOOK_EXCHANGE_INDEX},
	{"hsa_queue_cas_write_index_screlease", HOOK_EXCHANGE_INDEX},
	{"hsa_queue_cas_write_index_scacq_screl", HOOK_EXCHANGE_INDEX},
	{"hsa_queue_store_write_index_relaxed", HOOK_STORE_INDEX},
	{"hsa_queue_store_write_index_screlease", HOOK_STORE_INDEX},
	{"hsa_amd_memory_async_copy", HOOK_DMA},
	{"hsa_amd_memory_async_copy_on_engine", HOOK_DMA},
	{"hsa_amd_memory_async_copy_rect", HOOK_DMA},
	{"hsa_amd_memory_async_batch_copy", HOOK_DMA_BATCH},
};
#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

/* A breakpoint that hands the addresses of the hooked functions over in a register. */
void step_begin(void)
{
	static uint64_t addresses[HOOKS];

	if (addresses[0] == 0) {
		for (size_t i = 0; i < HOOKS; i++)
			addresses[i] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, hooks[i].function);
	}
	__asm__ volatile("int3" : : "a"(addresses) : "memory");
}

void step_end(void)
{
	__asm__ volatile("int3" : : : "memory");
}

/* ---- instructions ------------------------------------------------------------------------------ */

enum instruction_flags {
	KNOWN = 1,
	LOCKED = 2,
	SYSTEM_CALL = 4,
	REPEATED = 8,
	BREAKPOINT = 16,
	HOOKED = 32
};

static unsigned int decode(const uint8_t *code, size_t size)
{
	unsigned int flags = KNOWN;
	bool locked = false, repeated = false;
	size_t i = 0;

	for (; i < size && strchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", code[i]) &&
	       code[i] != 0;
	     i++) {
		locked |= code[i] == 0xf0;
		repeated |= code[i] == 0xf2 || code[i] == 0xf3;
	}
	if (i < size && (code[i] & 0xf0) == 0x40)
		i++;
	if (i + 1 >= size)
		return flags;
	if (code[i] == 0xcc)
		flags |= BREAKPOINT;
	if (code[i] == 0x0f && code[i + 1] == 0x05)
		flags |= SYSTEM_CALL;
	/* An exchange with memory locks by itself. */
	if (locked || ((code[i] | 1) == 0x87 && code[i + 1] < 0xc0))
		flags |= LOCKED;
	if (repeated && ((code[i] >= 0xa4 && code[i] <= 0xa7) ||
			 (code[i] >= 0xaa && code[i] <= 0xaf)))
		flags |= REPEATED;
	return flags;
}

/* ---- the stepping process ---------------------------------------------------------------------- */

/* What is known of the instructions at an address; code does not change while it is counted. */
#define CACHE_ENTRIES (1u << 18)

struct stepper {
	pid_t process;
	int memory; /* of the process */
	uint64_t hooked[HOOKS];
	uint64_t cached_address[CACHE_ENTRIES];
	uint8_t cached_flags[CACHE_ENTRIES];
	struct tool_error *error;
};

static int fail(struct stepper *stepper, const char *what)
{
	tool_error_set(stepper->error, "stepping through a call: %s: %s", what, strerror(errno));
	return -1;
}

static unsigned int look_up(struct stepper *stepper, uint64_t address)
{
	size_t entry = (address ^ address >> 18) % CACHE_ENTRIES;
	uint8_t code[16] = {0};
	ssize_t size;

	if (stepper->cached_address[entry] == address && stepper->cached_flags[entry] & KNOWN)
		return stepper->cached_flags[entry];
	size = pread(stepper->memory, code, sizeof(code), (off_t)address);
	unsigned int flags = decode(code, size > 0 ? (size_t)size : 0);

	for (size_t i = 0; i < HOOKS; i++)
		flags |= stepper->hooked[i] == address ? HOOKED : 0;
	stepper->cached_address[entry] = address;
	stepper->cached_flags[entry] = (uint8_t)flags;
	return flags;
}

/* Continues as told and waits for the next stop; other signals are passed on. -1: it ended. */
static int continue_process(struct stepper *stepper, int request)
{
	int signal = 0, status;

	for (;;) {
		if (ptrace(request, stepper->process, NULL, (void *)(intptr_t)signal) < 0)
			return fail(stepper, "ptrace");
		if (waitpid(stepper->process, &status, 0) < 0)
			return fail(stepper, "waitpid");
		if (!WIFSTOPPED(status)) {
			tool_error_set(stepper->error, "the process that is stepped ended early");
			return -1;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGTRAP)
			return 0;
	}
}

/* The packets that a queue has been given so far. */
static uint64_t read_write_index(const struct stepper *stepper, uint64_t queue)
{
	uint64_t index = 0;
	off_t place = (off_t)(queue + offsetof(amd_queue_t, write_dispatch_id));

	return pread(stepper->memory, &index, sizeof(index), place) == sizeof(index) ? index : 0;
}

static void count_hook(struct stepper *stepper, uint64_t address, struct step_counts *counts)
{
	struct user_regs_struct registers;
	size_t i = 0;

	while (stepper->hooked[i] != address)
		i++;
	if (ptrace(PTRACE_GETREGS, stepper->process, NULL, &registers) < 0)
		return;
	switch (hooks[i].kind) {
	case HOOK_ALLOCATION:
		counts->allocations++;
		break;
	case HOOK_ADD_PACKETS:
		counts->packets += registers.rsi;
		break;
	case HOOK_EXCHANGE_INDEX:
		counts->packets += registers.rdx - registers.rsi;
		break;
	case HOOK_STORE_INDEX:
		counts->packets += registers.rsi - read_write_index(stepper, registers.rdi);
		break;
	case HOOK_DMA:
		counts->dmas++;
		break;
	case HOOK_DMA_BATCH:
		counts->dmas += registers.rsi;
		break;
	}
}

/* From behind one breakpoint up to the next one. */
static int step_through(struct stepper *stepper, struct step_counts *counts)
{
	uint64_t last = 0;

	for (;;) {
		uint64_t address;

		errno = 0;
		address = (uint64_t)ptrace(PTRACE_PEEKUSER, stepper->process,
					   offsetof(struct user_regs_struct, rip), NULL);
		if (errno != 0)
			return fail(stepper, "ptrace");
		unsigned int flags = look_up(stepper, address);

		if (flags & BREAKPOINT)
			return continue_process(stepper, PTRACE_SINGLESTEP);
		if (!(flags & REPEATED && address == last)) {
			counts->instructions++;
			counts->locked += flags & LOCKED ? 1 : 0;
			counts->system_calls += flags & SYSTEM_CALL ? 1 : 0;
		}
		if (flags & HOOKED)
			count_hook(stepper, address, counts);
		last = address;
		if (continue_process(stepper, PTRACE_SINGLESTEP) < 0)
			return -1;
	}
}

static int read_hooks(struct stepper *stepper)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, stepper->process, NULL, &registers) < 0)
		return fail(stepper, "ptrace");
	if (pread(stepper->memory, stepper->hooked, sizeof(stepper->hooked),
		  (off_t)registers.rax) != (ssize_t)sizeof(stepper->hooked))
		return fail(stepper, "reading its memory");
	return 0;
}

static int compare_counts(const void *left, const void *right)
{
	uint64_t a = ((const struct step_counts *)left)->instructions;
	uint64_t b = ((const struct step_counts *)right)->instructions;

	return (a > b) - (a < b);
}

static int step_rounds(struct stepper *stepper, int rounds, struct step_counts *counts)
{
	struct step_counts round[1 + STEP_ROUNDS] = {{0}};

	for (int i = 0; i <= rounds; i++) {
		if (continue_process(stepper, PTRACE_CONT) < 0 || read_hooks(stepper) < 0 ||
		    step_through(stepper, &round[i]) < 0)
			return -1;
	}
	qsort(&round[1], (size_t)rounds, sizeof(round[1]), compare_counts);
	*counts = round[1 + rounds / 2];
	counts->instructions -= round[0].instructions;
	return 0;
}

/*
 * Both processes on one CPU: a step then takes two switches between them and no waking of another
 * CPU. The mask from before goes to *before.
 */
static void stay_on_one_cpu(cpu_set_t *before)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	sched_getaffinity(0, sizeof(*before), before);
	sched_setaffinity(0, sizeof(here), &here);
}

static void become_stepped(char *const argv[])
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		execv("/proc/self/exe", argv);
	_exit(127);
}

int step_count(char *const argv[], int rounds, struct step_counts *counts,
	       struct tool_error *error)
{
	struct stepper *stepper = calloc(1, sizeof(*stepper));
	cpu_set_t affinity;
	char memory[32];
	int result = -1, status;

	if (!stepper) {
		tool_error_set(error, "out of memory");
		return -1;
	}
	stepper->error = error;
	stay_on_one_cpu(&affinity);
	stepper->process = fork();
	if (stepper->process == 0)
		become_stepped(argv);
	if (stepper->process < 0) {
		fail(stepper, "fork");
	} else if (waitpid(stepper->process, &status, 0) < 0 || !WIFSTOPPED(status)) {
		/* It stops once it has become this program. */
		tool_error_set(error, "instructions cannot be counted: ptrace is not allowed here");
		result = 1;
	} else {
		snprintf(memory, sizeof(memory), "/proc/%d/mem", (int)stepper->process);
		stepper->memory = open(memory, O_RDONLY | O_CLOEXEC);
		if (stepper->memory < 0)
			fail(stepper, memory);
		else
			result = step_rounds(stepper, rounds, counts);
		if (stepper->memory >= 0)
			close(stepper->memory);
		kill(stepper->process, SIGKILL);
		waitpid(stepper->process, &status, 0);
	}
	sched_setaffinity(0, sizeof(affinity), &affinity);
	free(stepper);
	return result;
}

#else

void step_begin(void)
{
}

void step_end(void)
{
}

int step_count(char *const argv[], int rounds, struct step_counts *counts,
	       struct tool_error *error)
{
	(void)argv;
	(void)rounds;
	(void)counts;
	tool_error_set(error, "instructions cannot be counted: not on x86-64");
	return 1;
}

#endif
