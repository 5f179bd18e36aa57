/* SPDX-License-Identifier: MIT */
/* SDMA packets one by one, on the thunk's own interface: those known, and what stops the queue. */
#include "../run_suite.h"
#include "captured_errors.h"

#include <hsakmt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OK(call) ck_assert_int_eq((call), HSAKMT_STATUS_SUCCESS)

#define RING_DWORDS  16384
#define MEMORY_BYTES 65536

static uint32_t *ring;
static uint8_t *memory;
static HsaQueueResource queue;
static uint64_t written; /* bytes of the ring */

static void *allocate(uint64_t size)
{
	const HsaMemFlags flags = {.ui32 = {.HostAccess = 1}};
	void *allocated = NULL;
	HSAuint64 alternate;

	OK(hsaKmtAllocMemory(0, size, flags, &allocated));
	OK(hsaKmtMapMemoryToGPU(allocated, size, &alternate));
	memset(allocated, 0, size);
	return allocated;
}

static void start(void)
{
	OK(hsaKmtOpenKFD());
	ring = allocate(RING_DWORDS * sizeof(*ring));
	memory = allocate(MEMORY_BYTES);
	OK(hsaKmtCreateQueue(1, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL, ring,
			     RING_DWORDS * sizeof(*ring), NULL, &queue));
	written = 0;
}

static void stop(void)
{
	OK(hsaKmtDestroyQueue(queue.QueueId));
	OK(hsaKmtCloseKFD());
}

/* Writes dwords to the ring, which wraps, without announcing them. */
static void write_dwords(const uint32_t *dwords, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		ring[(written / sizeof(*ring) + i) % RING_DWORDS] = dwords[i];
	written += count * sizeof(*ring);
}

static void ring_doorbell(void)
{
	__atomic_store_n((uint64_t *)(uintptr_t)queue.QueueWptrValue, written, __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)(uintptr_t)queue.QueueDoorBell, written, __ATOMIC_RELEASE);
}

static uint64_t read_index(void)
{
	return __atomic_load_n((uint64_t *)(uintptr_t)queue.QueueRptrValue, __ATOMIC_ACQUIRE);
}

static void pause_briefly(void)
{
	const struct timespec time = {.tv_nsec = 1000000};

	nanosleep(&time, NULL);
}

static void wait_until_done(void)
{
	for (unsigned int i = 0; i < 10000 && read_index() != written; i++)
		pause_briefly();
	ck_assert_uint_eq(read_index(), written);
}

static uint32_t low(const void *address)
{
	return (uint32_t)(uintptr_t)address;
}

static uint32_t high(const void *address)
{
	return (uint32_t)((uintptr_t)address >> 32);
}

static void execute(const uint32_t *dwords, unsigned int count)
{
	write_dwords(dwords, count);
	ring_doorbell();
	wait_until_done();
}

#define EXECUTE(...)                                                                               \
	execute((const uint32_t[]){__VA_ARGS__},                                                   \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

START_TEST(known_packets_do_their_work)
{
	const HsaEventDescriptor descriptor = {.EventType = HSA_EVENTTYPE_SIGNAL};
	uint64_t number = UINT64_C(0x1ffffffff), time = 0, time_after = 0;
	uint8_t expected[MEMORY_BYTES] = {0};
	HsaEvent *event = NULL;

	for (unsigned int i = 0; i < 64; i++)
		memory[i] = expected[i] = (uint8_t)(i * 37 + 1);

	EXECUTE(1, 9 - 1, 0, low(memory + 3), high(memory), low(memory + 101), high(memory));
	memcpy(expected + 101, expected + 3, 9);

	/* Two rows of three elements of four bytes; pitches of 16 and 20 bytes. */
	EXECUTE(1 | 4 << 8 | 2U << 29, low(memory), high(memory), 1, (4 - 1) << 13, 0,
		low(memory + 200), high(memory), 0, (5 - 1) << 13, 0, (3 - 1) | (2 - 1) << 16, 0);
	memcpy(expected + 200, expected + 4, 12);
	memcpy(expected + 220, expected + 20, 12);

	EXECUTE(5, low(memory + 300), high(memory), 0x12345678);
	memcpy(expected + 300, &(uint32_t){0x12345678}, 4);

	memcpy(memory + 312, &number, sizeof(number));
	EXECUTE(10 | 47U << 25, low(memory + 312), high(memory), UINT32_MAX, UINT32_MAX, 0, 0, 0);
	number--;
	memcpy(expected + 312, &number, sizeof(number));

	EXECUTE(11 | 2U << 30, low(memory + 400), high(memory), 0xa1b2c3d4, (5 - 1) * 4);
	for (unsigned int i = 0; i < 5; i++)
		memcpy(expected + 400 + 4 * i, &(uint32_t){0xa1b2c3d4}, 4);

	EXECUTE(13 | 2 << 8, low(memory + 504), high(memory));
	EXECUTE(13 | 2 << 8, low(memory + 512), high(memory));
	memcpy(&time, memory + 504, sizeof(time));
	memcpy(&time_after, memory + 512, sizeof(time_after));
	ck_assert_uint_ne(time, 0);
	ck_assert_uint_le(time, time_after);
	memcpy(expected + 504, memory + 504, 16);

	OK(hsaKmtCreateEvent((HsaEventDescriptor *)(uintptr_t)&descriptor, false, false, &event));
	EXECUTE(6, event->EventId);
	OK(hsaKmtWaitOnEvent(event, 10000));
	OK(hsaKmtDestroyEvent(event));

	EXECUTE(8, 0, 0x80000000, 0, 0, 0); /* flush of the host's data path */
	EXECUTE(0);
	EXECUTE(3 << 16, 0xffffffff, 0xffffffff, 0xffffffff);
	ck_assert_mem_eq(memory, expected, sizeof(expected));
}
END_TEST

/* Each comparison with a value below, at and above the reference. */
START_TEST(polls_compare)
{
	static const bool holds[7][3] = {
		{true, true, true},   {true, false, false}, {true, true, false},
		{false, true, false}, {true, false, true},  {false, true, true},
		{false, false, true},
	};
	_Atomic uint32_t *word = (_Atomic uint32_t *)(void *)memory;

	for (uint32_t function = 0; function < 7; function++) {
		/* The value that holds last, since the packet waits until it does. */
		for (unsigned int i = 0; i < 3; i++) {
			const uint32_t packet[] = {8 | function << 28 | 1U << 31,
						   low(memory),
						   high(memory),
						   0x50,
						   0xf0,
						   0xfff << 16 | 4};
			const uint64_t before = written;

			*word = 0xfffff04f + i * 0x10; /* 0x40, 0x50, 0x60 under the mask */
			write_dwords(packet, 6);
			ring_doorbell();
			if (!holds[function][i]) {
				for (unsigned int turn = 0; turn < 5; turn++)
					pause_briefly();
				ck_assert_uint_eq(read_index(), before);
				*word = holds[function][0]   ? 0x40
					: holds[function][1] ? 0x50
							     : 0x60;
			}
			wait_until_done();
		}
	}
}
END_TEST

START_TEST(packets_wrap_around_the_ring)
{
	const uint32_t pass_over = (RING_DWORDS - 3 - 1) << 16;
	const uint32_t copy[] = {1,	      3, 0, low(memory), high(memory), low(memory + 64),
				 high(memory)};

	memcpy(memory, "wrap", 4);
	write_dwords(&pass_over, 1);
	written = (RING_DWORDS - 3) * sizeof(*ring);
	ring_doorbell();
	wait_until_done();
	execute(copy, 7);
	ck_assert_uint_eq(written, (RING_DWORDS + 4) * sizeof(*ring));
	ck_assert_mem_eq(memory + 64, "wrap", 4);
}
END_TEST

/* ---- what stops the queue -------------------------------------------------------------------- */

/* `dwords` must stop the queue with this message and write nothing, nor does what follows. */
static void expect_stop(const uint32_t *dwords, unsigned int count, const char *message)
{
	const uint32_t fence[] = {5, low(memory + 4096), high(memory), 1};
	uint8_t expected[MEMORY_BYTES];
	struct captured_errors errors;
	uint64_t before;
	char line[256];

	for (unsigned int i = 0; i < MEMORY_BYTES; i++)
		memory[i] = expected[i] = (uint8_t)(i * 31);
	memset(memory + 4096, 0, 4);
	memset(expected + 4096, 0, 4);
	/* The queue works before. */
	execute((const uint32_t[]){5, low(memory + 8192), high(memory), 2}, 4);
	memcpy(expected + 8192, &(uint32_t){2}, 4);
	before = written;

	captured_errors_start(&errors);
	write_dwords(dwords, count);
	write_dwords(fence, 4);
	ring_doorbell();
	captured_errors_stop(&errors, line, sizeof(line));
	ck_assert_str_eq(line, message);
	for (unsigned int i = 0; i < 5; i++)
		pause_briefly();
	ck_assert_uint_eq(read_index(), before);
	ck_assert_mem_eq(memory, expected, sizeof(expected));
}

/* Stand for addresses in the memory. */
#define TO_LOW	  0x7a7a0001
#define TO_HIGH	  0x7a7a0002
#define FROM_LOW  0x7a7a0003
#define FROM_HIGH 0x7a7a0004
#define TO	  TO_LOW, TO_HIGH
#define FROM	  FROM_LOW, FROM_HIGH

static const struct {
	const char *operation; /* of an unknown header; NULL: a known one with `what` unknown */
	const char *what;
	unsigned int count;
	uint32_t dwords[13];
} unknown_packets[] = {
	/* Copies: to two targets, backwards, encrypted, by tiles, of a structure. */
	{"COPY", NULL, 9, {1 | 1U << 27, 7, 0, FROM, TO, TO}},
	{"COPY", NULL, 7, {1 | 1U << 25, 1023, 0, FROM, TO}},
	{"COPY", NULL, 7, {1 | 1U << 16, 7, 0, FROM, TO}},
	{"COPY", NULL, 7, {1 | 1 << 8, 7, 0, FROM, TO}},
	{"COPY", NULL, 7, {1 | 8 << 8, 7, 0, FROM, TO}},
	{"COPY", NULL, 13, {1 | 4 << 8 | 1 << 16, FROM, 0, 63 << 13, 0, TO, 0, 63 << 13, 0, 3, 0}},
	/* Bytes swapped, elements of 32 bytes, a count of more than 30 bits. */
	{NULL, "parameters of a copy", 7, {1, 7, 1 << 16, FROM, TO}},
	{NULL, "parameters of a copy", 7, {1, 1U << 31 | 7, 0, FROM, TO}},
	{NULL,
	 "parameters of a copy",
	 13,
	 {1 | 4 << 8 | 5U << 29, FROM, 0, 63 << 13, 0, TO, 0, 63 << 13, 0, 3, 0}},
	{NULL,
	 "parameters of a copy",
	 13,
	 {1 | 4 << 8, FROM, 0, 63 << 13, 0, TO, 0, 63 << 13, 0, 3, 1 << 16}},
	/* Fences and traps have one form only. */
	{"FENCE", NULL, 4, {5 | 1 << 8, TO, 3}},
	{"FENCE", NULL, 4, {5 | 3 << 16, TO, 3}},
	{"TRAP", NULL, 2, {6 | 1 << 8, 1}},
	/* Polls: of a register, of a register of which bits are written, of memory that is
	 * written then, with the flush's bit, without a comparison, with an end. */
	{"POLL", NULL, 6, {8 | 3U << 28, TO, 1, UINT32_MAX, 0xfff << 16 | 4}},
	{NULL, "register", 6, {8, 4, 0, 0, 0, 0}},
	{NULL, "register", 6, {8, 0, 0x80000000, 1, 0, 0}},
	{"POLL", NULL, 6, {8 | 1 << 8 | 3U << 28 | 1U << 31, TO, 1, UINT32_MAX, 0xfff << 16 | 4}},
	{"POLL", NULL, 6, {8 | 1U << 26, TO, 1, UINT32_MAX, 0xfff << 16 | 4}},
	{"POLL", NULL, 6, {8 | 1U << 26 | 3U << 28 | 1U << 31, TO, 1, UINT32_MAX, 0xfff << 16 | 4}},
	{NULL, "comparison", 6, {8 | 7U << 28 | 1U << 31, TO, 1, UINT32_MAX, 0xfff << 16 | 4}},
	{NULL, "number of retries", 6, {8 | 3U << 28 | 1U << 31, TO, 1, UINT32_MAX, 5 << 16 | 4}},
	/* Atomics: repeated, another operation, a sub-operation. */
	{"ATOMIC", NULL, 8, {10 | 1 << 16 | 47U << 25, TO, 1, 0, 5, 0, 10}},
	{"ATOMIC", NULL, 8, {10 | 48U << 25, TO, 1, 0, 0, 0, 0}},
	{"ATOMIC", NULL, 8, {10 | 1 << 8 | 47U << 25, TO, 1, 0, 0, 0, 0}},
	/* Fills: a sub-operation, bytes, bytes swapped, a count that is none of dwords. */
	{"FILL", NULL, 5, {11 | 1 << 8 | 2U << 30, TO, 0x41424344, 4}},
	{"FILL", NULL, 5, {11, TO, 0x41424344, 3}},
	{"FILL", NULL, 5, {11 | 1 << 16 | 2U << 30, TO, 0x41424344, 4}},
	{NULL, "count of a fill", 5, {11 | 2U << 30, TO, 0x41424344, 3}},
	{NULL, "count of a fill", 5, {11 | 2U << 30, TO, 0x41424344, 1 << 22}},
	/* Times: set, of the engine, with options. */
	{"TIMESTAMP", NULL, 3, {13, 1, 2}},
	{"TIMESTAMP", NULL, 3, {13 | 1 << 8, TO}},
	{"TIMESTAMP", NULL, 3, {13 | 2 << 8 | 1 << 16, TO}},
	/* Nothing is known of the rest. */
	{"NOP", NULL, 1, {1 << 8}},
	{"NOP", NULL, 1, {1U << 30}},
	{"other", NULL, 5, {2, TO, 1, 7}},
	{"other", NULL, 5, {17 | 1 << 8, 0, 0, 0, 0}},
	{"other", NULL, 1, {0xffffffff}},
};

#define UNKNOWN_PACKETS ((int)(sizeof(unknown_packets) / sizeof(unknown_packets[0])))

static uint32_t with_address(uint32_t dword)
{
	switch (dword) {
	case TO_LOW:
		return low(memory + 16384);
	case TO_HIGH:
	case FROM_HIGH:
		return high(memory);
	case FROM_LOW:
		return low(memory + 32768);
	default:
		return dword;
	}
}

START_TEST(unknown_packets_stop_the_queue)
{
	const unsigned int count = unknown_packets[_i].count;
	uint32_t dwords[13];
	char message[256];

	for (unsigned int i = 0; i < count; i++)
		dwords[i] = with_address(unknown_packets[_i].dwords[i]);
	if (unknown_packets[_i].operation)
		snprintf(message, sizeof(message),
			 "softgpu: SDMA queue %u: unknown packet 0x%08" PRIx32
			 " (%s) at byte 16; the queue stops\n",
			 (unsigned int)queue.QueueId, dwords[0], unknown_packets[_i].operation);
	else
		snprintf(message, sizeof(message),
			 "softgpu: SDMA queue %u: packet 0x%08" PRIx32
			 " with unknown %s; the queue stops\n",
			 (unsigned int)queue.QueueId, dwords[0], unknown_packets[_i].what);
	expect_stop(dwords, count, message);
}
END_TEST

/* Every packet of which the last dword has not been announced. */
START_TEST(incomplete_packets_stop_the_queue)
{
	static const struct {
		uint32_t header;
		unsigned int length;
		const char *operation;
	} packets[] = {
		{1, 7, "COPY"},
		{1 | 4 << 8, 13, "COPY"},
		{5, 4, "FENCE"},
		{6, 2, "TRAP"},
		{8, 6, "POLL"},
		{8 | 3U << 28 | 1U << 31, 6, "POLL"},
		{10 | 47U << 25, 8, "ATOMIC"},
		{11 | 2U << 30, 5, "FILL"},
		{13 | 2 << 8, 3, "TIMESTAMP"},
		{7 << 16, 8, "NOP"},
	};
	struct captured_errors errors;
	char line[256], message[256];
	uint32_t dwords[13] = {packets[_i].header};

	captured_errors_start(&errors);
	write_dwords(dwords, packets[_i].length - 1);
	ring_doorbell();
	captured_errors_stop(&errors, line, sizeof(line));
	snprintf(message, sizeof(message),
		 "softgpu: SDMA queue %u: incomplete packet 0x%08" PRIx32
		 " (%s) at byte 0; the queue stops\n",
		 (unsigned int)queue.QueueId, packets[_i].header, packets[_i].operation);
	ck_assert_str_eq(line, message);
	ck_assert_uint_eq(read_index(), 0);
}
END_TEST

static Suite *sdma_packets_suite(void)
{
	Suite *suite = suite_create("SDMA packets");
	TCase *packets = tcase_create("packets");

	tcase_add_checked_fixture(packets, start, stop);
	tcase_set_timeout(packets, 30);
	tcase_add_test(packets, known_packets_do_their_work);
	tcase_add_test(packets, polls_compare);
	tcase_add_test(packets, packets_wrap_around_the_ring);
	tcase_add_loop_test(packets, unknown_packets_stop_the_queue, 0, UNKNOWN_PACKETS);
	tcase_add_loop_test(packets, incomplete_packets_stop_the_queue, 0, 10);
	suite_add_tcase(suite, packets);
	return suite;
}

int main(void)
{
	const char *hardware = getenv("RUN_H2D_GPU_TESTS");

	if (hardware && strcmp(hardware, "1") == 0) {
		puts("1..0 # SKIP a test of the software GPU");
		return EXIT_SUCCESS;
	}
	return run_suite(sdma_packets_suite());
}
