/* SPDX-License-Identifier: MIT */
/* The program's own memory: what of it can be locked, and what becomes of locked memory. */
#include "../run_suite.h"
#include "captured_errors.h"
#include "packets.h"

#include <hsakmt.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096
#define BYTES ((size_t)4 * PAGE)

static struct hsa_harness harness;
static uint8_t *device;

/* What the system event handler was given. */
static _Atomic uint64_t fault_address;

static hsa_status_t note_fault(const hsa_amd_event_t *event, void *data)
{
	(void)data;
	if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT)
		return HSA_STATUS_ERROR;
	atomic_store(&fault_address, event->memory_fault.virtual_address);
	return HSA_STATUS_SUCCESS;
}

static void start(void)
{
	hsa_harness_start(&harness);
	HSA_CHECK(hsa_amd_register_system_event_handler(note_fault, NULL));
	device = hsa_harness_allocate_device(&harness, BYTES);
}

static void start_with_caches(void)
{
	setenv("SOFTGPU_L2S", "2", 1);
	start();
}

static void stop(void)
{
	HSA_CHECK(hsa_amd_memory_pool_free(device));
	hsa_harness_stop(&harness);
}

static uint8_t *map(size_t size, int protection)
{
	uint8_t *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

static hsa_status_t lock(void *memory, size_t size)
{
	void *locked = NULL;

	return hsa_amd_memory_lock(memory, size, &harness.gpu, 1, &locked);
}

static hsa_signal_t start_copy(void *to, hsa_agent_t to_agent, const void *from,
			       hsa_agent_t from_agent, size_t count)
{
	const hsa_signal_t done = packets_signal(1, true);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, count, 0, NULL, done));
	return done;
}

static void copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
		 size_t count)
{
	const hsa_signal_t done = start_copy(to, to_agent, from, from_agent, count);

	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}

/* ---- locking --------------------------------------------------------------------------------- */

START_TEST(sizes_beyond_all_addresses_are_refused)
{
	uint8_t *memory = map(BYTES, PROT_READ | PROT_WRITE);
	const size_t to_the_end = 0 - (size_t)memory;
	const size_t sizes[] = {
		(size_t)-8192,	       (size_t)-1,     to_the_end,	  to_the_end - 1,
		to_the_end - PAGE + 1, to_the_end + 1, to_the_end + PAGE, SIZE_MAX / 2,
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const HsaMemFlags flags = {.Value = 0};

		ck_assert_msg(lock(memory, sizes[i]) != HSA_STATUS_SUCCESS,
			      "0x%zx bytes are locked", sizes[i]);
		ck_assert_int_eq(hsaKmtRegisterMemoryWithFlags(memory, sizes[i], flags),
				 HSAKMT_STATUS_INVALID_PARAMETER);
	}
	munmap(memory, BYTES);
}
END_TEST

START_TEST(memory_without_access_cannot_be_locked)
{
	uint8_t *memory = map(BYTES, PROT_READ | PROT_WRITE);

	/* One page in the middle, and the bytes next to it. */
	for (int protection = PROT_NONE; protection <= PROT_READ; protection++) {
		ck_assert_int_eq(mprotect(memory + PAGE, PAGE, protection), 0);
		ck_assert_int_ne(lock(memory + PAGE, PAGE), HSA_STATUS_SUCCESS);
		ck_assert_int_ne(lock(memory, BYTES), HSA_STATUS_SUCCESS);
		ck_assert_int_ne(lock(memory, PAGE + 1), HSA_STATUS_SUCCESS);
		ck_assert_int_ne(lock(memory + 2 * PAGE - 1, 2), HSA_STATUS_SUCCESS);
		HSA_CHECK(lock(memory, PAGE));
		HSA_CHECK(hsa_amd_memory_unlock(memory));
		HSA_CHECK(lock(memory + 2 * PAGE, 2 * PAGE));
		HSA_CHECK(hsa_amd_memory_unlock(memory + 2 * PAGE));
	}
	ck_assert_int_eq(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	HSA_CHECK(lock(memory, BYTES));
	HSA_CHECK(hsa_amd_memory_unlock(memory));
	munmap(memory, BYTES);
}
END_TEST

static void expect_fault(const void *address)
{
	const uint64_t page = (uint64_t)(uintptr_t)address & ~(uint64_t)(PAGE - 1);

	for (unsigned int i = 0; i < 10000 && atomic_load(&fault_address) == 0; i++)
		packets_pause(1000);
	ck_assert_uint_eq(atomic_load(&fault_address), page);
}

/* The GPU reads it and must not write it. */
START_TEST(read_only_memory_can_be_registered_as_such)
{
	const HsaMemFlags flags = {.ui32 = {.ReadOnly = 1}};
	uint8_t *memory = map(PAGE, PROT_READ | PROT_WRITE);
	uint8_t *back = hsa_harness_allocate(&harness, PAGE);
	HSAuint64 alternate;
	hsa_signal_t done;

	memset(memory, 0x3c, PAGE);
	memset(back, 0, PAGE);
	ck_assert_int_eq(mprotect(memory, PAGE, PROT_READ), 0);
	ck_assert_int_eq(hsaKmtRegisterMemoryWithFlags(memory, PAGE, flags), HSAKMT_STATUS_SUCCESS);
	ck_assert_int_eq(hsaKmtMapMemoryToGPU(memory, PAGE, &alternate), HSAKMT_STATUS_SUCCESS);
	copy(device, harness.gpu, memory, harness.gpu, PAGE);
	copy(back, harness.cpu, device, harness.gpu, PAGE);
	ck_assert_mem_eq(back, memory, PAGE);

	done = start_copy(memory, harness.gpu, device, harness.gpu, PAGE);
	expect_fault(memory);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(back));
}
END_TEST

/* ---- memory that the program takes from itself after it was locked --------------------------- */

static void protect(void *memory)
{
	ck_assert_int_eq(mprotect(memory, BYTES, PROT_NONE), 0);
}

static void make_read_only(void *memory)
{
	ck_assert_int_eq(mprotect(memory, BYTES, PROT_READ), 0);
}

static void unmap(void *memory)
{
	ck_assert_int_eq(munmap(memory, BYTES), 0);
}

static int file; /* what the memory of shorten() is mapped from */

static void shorten(void *memory)
{
	(void)memory;
	ck_assert_int_eq(ftruncate(file, 0), 0);
}

static const struct {
	const char *name;
	void (*take)(void *memory);
	bool write;
} losses[] = {
	{"read from protected memory", protect, false},
	{"write to protected memory", protect, true},
	{"write to read-only memory", make_read_only, true},
	{"read from unmapped memory", unmap, false},
	{"write to unmapped memory", unmap, true},
	{"read behind a file's end", shorten, false},
	{"write behind a file's end", shorten, true},
};

#define LOSSES ((int)(sizeof(losses) / sizeof(losses[0])))

/* Locked memory from a file; what comes later must not take its place when it is unmapped. */
static uint8_t *lock_file(void)
{
	uint8_t *memory;

	file = memfd_create("test", MFD_CLOEXEC);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, BYTES), 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	memset(memory, 0x42, BYTES);
	HSA_CHECK(lock(memory, BYTES));
	return memory;
}

/*
 * The message begins with `who` and names an address on this page: which byte is accessed first
 * is up to the compiler.
 */
static void expect_message(struct captured_errors *errors, const char *who, const void *page)
{
	static const char before[] = "host memory at 0x";
	char text[512];
	const char *place;
	uint64_t address;

	captured_errors_stop(errors, text, sizeof(text));
	place = strstr(text, before);
	ck_assert_msg(strncmp(text, who, strlen(who)) == 0 && place, "only '%s'", text);
	address = strtoull(place + strlen(before), NULL, 16);
	ck_assert_uint_eq(address & ~(uint64_t)(PAGE - 1), (uint64_t)(uintptr_t)page);
	ck_assert_ptr_nonnull(strstr(place, " is not there, or not accessible\n"));
}

START_TEST(copies_fault_on_lost_memory)
{
	uint8_t *memory = lock_file();
	struct captured_errors errors;
	hsa_signal_t done;

	/* The engine, which allocates memory, is there already. */
	copy(device, harness.gpu, memory, harness.cpu, BYTES);
	copy(memory, harness.cpu, device, harness.gpu, BYTES);
	losses[_i].take(memory);
	captured_errors_start(&errors);
	if (losses[_i].write)
		done = start_copy(memory + PAGE, harness.cpu, device, harness.gpu, 1);
	else
		done = start_copy(device, harness.gpu, memory + PAGE, harness.cpu, 1);
	expect_message(&errors, "softgpu: SDMA queue ", memory + PAGE);
	expect_fault(memory + PAGE);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_unlock(memory));
}
END_TEST

/* A kernel that copies 64 words to or from the start of some memory. */
struct kernel_copy {
	hsa_executable_t executable;
	uint64_t *arguments;
	void *other; /* the other side of the copy */
	hsa_kernel_dispatch_packet_t packet;
};

static struct kernel_copy load_copy(void *memory, bool write, hsa_signal_t done)
{
	struct kernel_copy copy = {
		.arguments = hsa_harness_allocate(&harness, PAGE),
		.other = hsa_harness_allocate(&harness, PAGE),
	};
	struct hsa_harness_kernel kernel;
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/softgpu/queue_kernels.hsaco",
		 getenv("H2D_BUILD_DIR"));
	copy.executable = hsa_harness_load(&harness, path);
	kernel = hsa_harness_find(&harness, copy.executable, "copy");
	memset(copy.arguments, 0, PAGE);
	copy.arguments[0] = (uint64_t)(uintptr_t)(write ? memory : copy.other);
	copy.arguments[1] = (uint64_t)(uintptr_t)(write ? copy.other : memory);
	copy.packet = packets_dispatch(&kernel, PACKETS_ORDERED, 1, 64, copy.arguments, done);
	return copy;
}

static void unload_copy(const struct kernel_copy *copy)
{
	HSA_CHECK(hsa_executable_destroy(copy->executable));
	HSA_CHECK(hsa_amd_memory_pool_free(copy->other));
	HSA_CHECK(hsa_amd_memory_pool_free(copy->arguments));
}

START_TEST(kernels_fault_on_lost_memory)
{
	const hsa_signal_t done = packets_signal(1, true);
	uint8_t *memory = lock_file();
	const struct kernel_copy copy = load_copy(memory, losses[_i].write, done);
	struct captured_errors errors;

	losses[_i].take(memory);
	captured_errors_start(&errors);
	packets_submit(harness.queue, &copy.packet);
	expect_message(&errors, "softgpu: queue ", memory);
	expect_fault(memory);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	unload_copy(&copy);
	HSA_CHECK(hsa_amd_memory_unlock(memory));
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

static void release_to_lost_memory(void)
{
	struct kernel_copy copy;
	hsa_signal_t done;
	uint8_t *memory;

	signal(SIGSEGV, SIG_DFL); /* sanitizers handle it */
	start_with_caches();
	done = packets_signal(1, true);
	memory = lock_file();
	copy = load_copy(memory, true, done);
	protect(memory);
	packets_submit(harness.queue, &copy.packet);
	packets_wait(done, 0);
}

/* The kernel that has written it is not there any more to fault. */
START_TEST(a_cache_cannot_release_to_lost_memory)
{
	char text[4096] = "";
	size_t length = 0;
	ssize_t count;
	pid_t child;
	int ends[2], status;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		release_to_lost_memory();
		_exit(0);
	}
	close(ends[1]);
	while ((count = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)count;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
	ck_assert_msg(
		strstr(text, "softgpu: a thread of the GPU has no access to host memory at 0x"),
		"only '%s'", text);
}
END_TEST

/* ---- the program's own handlers -------------------------------------------------------------- */

static sigjmp_buf landing;
static const void *volatile handled_address;

static void handle(int number, siginfo_t *information, void *context)
{
	(void)number;
	(void)context;
	handled_address = information->si_addr;
	siglongjmp(landing, 1);
}

static bool can_read(const volatile uint8_t *address)
{
	if (sigsetjmp(landing, 1) != 0)
		return false;
	(void)*address;
	return true;
}

/* The host tries to read video memory: its handler of before hsa_init() must run. */
START_TEST(a_handler_of_the_program_still_runs)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO}, now;

	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR1);
	ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL), 0);
	for (unsigned int round = 0; round < 2; round++) {
		start();
		for (unsigned int i = 0; i < 2; i++) {
			ck_assert(!can_read(device + 5 + i));
			ck_assert_ptr_eq((const void *)handled_address, device + 5 + i);
		}
		stop();
		ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
		ck_assert(now.sa_sigaction == handle);
	}
}
END_TEST

static volatile sig_atomic_t handled;

static void count_signal(int number)
{
	handled += number;
}

START_TEST(signals_that_are_sent_reach_the_program)
{
	signal(SIGSEGV, count_signal);
	signal(SIGBUS, count_signal);
	start();
	raise(SIGSEGV);
	ck_assert_int_eq(handled, SIGSEGV);
	raise(SIGBUS);
	ck_assert_int_eq(handled, SIGSEGV + SIGBUS);
	stop();
}
END_TEST

START_TEST(without_a_handler_the_program_ends)
{
	signal(SIGSEGV, SIG_DFL); /* sanitizers handle it */
	start();
	exit(*(volatile uint8_t *)device); /* not reached */
}
END_TEST

START_TEST(without_a_handler_a_signal_ends_the_program)
{
	signal(SIGSEGV, SIG_DFL); /* sanitizers handle it */
	start();
	raise(SIGSEGV);
}
END_TEST

static Suite *host_memory_suite(void)
{
	Suite *suite = suite_create("host memory");
	TCase *locks = tcase_create("locks"), *lost = tcase_create("lost memory");
	TCase *cached = tcase_create("lost memory behind caches");
	TCase *handlers = tcase_create("handlers");

	tcase_add_checked_fixture(locks, start, stop);
	tcase_add_test(locks, sizes_beyond_all_addresses_are_refused);
	tcase_add_test(locks, memory_without_access_cannot_be_locked);
	tcase_add_test(locks, read_only_memory_can_be_registered_as_such);
	tcase_add_checked_fixture(lost, start, stop);
	tcase_add_loop_test(lost, copies_fault_on_lost_memory, 0, LOSSES);
	tcase_add_loop_test(lost, kernels_fault_on_lost_memory, 0, LOSSES);
	tcase_add_checked_fixture(cached, start_with_caches, stop);
	tcase_add_loop_test(cached, kernels_fault_on_lost_memory, 0, 1);
	tcase_add_loop_test(cached, kernels_fault_on_lost_memory, 3, 4);
	tcase_add_test(handlers, a_cache_cannot_release_to_lost_memory);
	tcase_add_test(handlers, a_handler_of_the_program_still_runs);
	tcase_add_test(handlers, signals_that_are_sent_reach_the_program);
	tcase_add_test_raise_signal(handlers, without_a_handler_the_program_ends, SIGSEGV);
	tcase_add_test_raise_signal(handlers, without_a_handler_a_signal_ends_the_program, SIGSEGV);
	suite_add_tcase(suite, locks);
	suite_add_tcase(suite, lost);
	suite_add_tcase(suite, cached);
	suite_add_tcase(suite, handlers);
	return suite;
}

int main(void)
{
	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(host_memory_suite());
}
