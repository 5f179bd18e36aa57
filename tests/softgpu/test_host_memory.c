/* SPDX-License-Identifier: MIT */
/* The program's own memory: what of it can be locked. */
#include "../run_suite.h"
#include "packets.h"

#include <hsakmt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

static Suite *host_memory_suite(void)
{
	Suite *suite = suite_create("host memory");
	TCase *locks = tcase_create("locks");

	tcase_add_checked_fixture(locks, start, stop);
	tcase_add_test(locks, sizes_beyond_all_addresses_are_refused);
	tcase_add_test(locks, memory_without_access_cannot_be_locked);
	tcase_add_test(locks, read_only_memory_can_be_registered_as_such);
	suite_add_tcase(suite, locks);
	return suite;
}

int main(void)
{
	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(host_memory_suite());
}
