/* SPDX-License-Identifier: MIT */
/* The AQL packet processor without kernels: barriers, rings, doorbells, idle queues. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct hsa_harness harness;

static void start(void)
{
	hsa_harness_start(&harness);
}

static void stop(void)
{
	hsa_harness_stop(&harness);
}

static void submit_barrier(hsa_queue_t *queue, uint16_t type, const hsa_signal_t *dependencies,
			   unsigned int count, hsa_signal_t completion)
{
	const hsa_barrier_and_packet_t packet =
		packets_barrier(type, PACKETS_ORDERED, dependencies, count, completion);

	packets_submit(queue, &packet);
}

START_TEST(barriers_complete_in_turn)
{
	for (int interrupt = 0; interrupt < 2; interrupt++) {
		const hsa_signal_t done = packets_signal(0, interrupt);

		for (unsigned int i = 0; i < 2000; i++) {
			hsa_signal_store_relaxed(done, 1);
			submit_barrier(harness.queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
			if (interrupt)
				packets_wait(done, 0);
			else
				packets_poll(done, 0);
		}
		HSA_CHECK(hsa_signal_destroy(done));
	}
	ck_assert_uint_eq(hsa_queue_load_read_index_scacquire(harness.queue), 4000);
	ck_assert_uint_eq(hsa_queue_load_write_index_relaxed(harness.queue), 4000);
}
END_TEST

/* The engine sleeps between the packets: the doorbell must wake it. */
START_TEST(a_sleeping_queue_is_woken)
{
	const hsa_signal_t done = packets_signal(0, true);

	for (unsigned int i = 0; i < 100; i++) {
		packets_pause(1000 + 37 * (long)i);
		hsa_signal_store_relaxed(done, 1);
		submit_barrier(harness.queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
		packets_wait(done, 0);
	}
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

/* Packets of a queue that has been made inactive are ignored, and its doorbell may be rung. */
START_TEST(an_inactive_queue_ignores_packets)
{
	const hsa_signal_t done = packets_signal(1, true), ignored = packets_signal(1, true);
	hsa_queue_t *queue = packets_queue(harness.gpu, 64), *later;

	submit_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
	packets_wait(done, 0);
	HSA_CHECK(hsa_queue_inactivate(queue));
	submit_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, ignored);
	/* A queue that is made now is not disturbed by the old one's doorbell. */
	later = packets_queue(harness.gpu, 64);
	hsa_signal_store_relaxed(done, 1);
	submit_barrier(later, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
	submit_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, ignored);
	packets_wait(done, 0);
	packets_pause(2000);
	ck_assert_int_eq(hsa_signal_load_scacquire(ignored), 1);
	HSA_CHECK(hsa_queue_inactivate(queue));
	HSA_CHECK(hsa_queue_destroy(queue));
	HSA_CHECK(hsa_queue_destroy(later));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_signal_destroy(ignored));
}
END_TEST

#define PRODUCERS	 4
#define PRODUCER_PACKETS 4000

struct producer {
	pthread_t thread;
	hsa_queue_t *queue;
	hsa_signal_t done;
};

static void *produce(void *argument)
{
	struct producer *producer = argument;

	for (unsigned int i = 0; i < PRODUCER_PACKETS; i++)
		submit_barrier(producer->queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0,
			       producer->done);
	return NULL;
}

START_TEST(several_producers_wrap_a_small_ring)
{
	hsa_queue_t *queue = packets_queue(harness.gpu, 64);
	struct producer producers[PRODUCERS];

	ck_assert_uint_eq(queue->size, 64);
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		producers[i].queue = queue;
		producers[i].done = packets_signal(PRODUCER_PACKETS, true);
		ck_assert_int_eq(pthread_create(&producers[i].thread, NULL, produce, &producers[i]),
				 0);
	}
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		pthread_join(producers[i].thread, NULL);
		packets_wait(producers[i].done, 0);
		HSA_CHECK(hsa_signal_destroy(producers[i].done));
	}
	ck_assert_uint_eq(hsa_queue_load_read_index_scacquire(queue), PRODUCERS * PRODUCER_PACKETS);
	for (unsigned int i = 0; i < 64; i++)
		ck_assert_uint_eq(((const uint16_t *)queue->base_address)[i * 32],
				  HSA_PACKET_TYPE_INVALID);
	HSA_CHECK(hsa_queue_destroy(queue));
}
END_TEST

/* The second packet is complete and announced while the first is still being written. */
START_TEST(a_later_doorbell_announces_an_earlier_packet)
{
	const hsa_signal_t done[2] = {packets_signal(1, true), packets_signal(1, true)};
	const uint64_t first = packets_reserve(harness.queue);
	const uint64_t second = packets_reserve(harness.queue);
	hsa_barrier_and_packet_t packet;

	packet = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done[1]);
	packets_write(harness.queue, second, &packet);
	packets_ring(harness.queue, second);
	packets_pause(3000);
	ck_assert_int_eq(hsa_signal_load_scacquire(done[1]), 1);
	packet = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done[0]);
	packets_write(harness.queue, first, &packet);
	/* Its own doorbell is not needed any more. */
	packets_wait(done[0], 0);
	packets_wait(done[1], 0);
	packets_ring(harness.queue, first);
	for (unsigned int i = 0; i < 2; i++)
		HSA_CHECK(hsa_signal_destroy(done[i]));
}
END_TEST

START_TEST(a_packet_waits_for_its_doorbell)
{
	const hsa_signal_t done = packets_signal(1, true);
	const hsa_barrier_and_packet_t packet =
		packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done);
	const uint64_t index = packets_reserve(harness.queue);

	packets_write(harness.queue, index, &packet);
	packets_pause(20000);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	packets_ring(harness.queue, index);
	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(barrier_and_waits_for_all)
{
	hsa_signal_t dependencies[5], done = packets_signal(1, true);

	for (unsigned int i = 0; i < 5; i++)
		dependencies[i] = packets_signal(1 + (int)i, i % 2 == 0);
	submit_barrier(harness.queue, HSA_PACKET_TYPE_BARRIER_AND, dependencies, 5, done);
	for (unsigned int i = 0; i < 5; i++) {
		/* Also values above 32 bits are not 0. */
		hsa_signal_store_screlease(dependencies[i], INT64_C(1) << 32);
		packets_pause(2000);
		ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
		hsa_signal_store_screlease(dependencies[i], 0);
	}
	packets_wait(done, 0);
	for (unsigned int i = 0; i < 5; i++)
		HSA_CHECK(hsa_signal_destroy(dependencies[i]));
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(barrier_or_waits_for_any)
{
	hsa_signal_t dependencies[3], done = packets_signal(0, true);

	for (unsigned int met = 0; met < 3; met++) {
		for (unsigned int i = 0; i < 3; i++)
			dependencies[i] = packets_signal(1, true);
		hsa_signal_store_relaxed(done, 1);
		submit_barrier(harness.queue, HSA_PACKET_TYPE_BARRIER_OR, dependencies, 3, done);
		packets_pause(2000);
		ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
		hsa_signal_store_screlease(dependencies[met], 0);
		packets_wait(done, 0);
		for (unsigned int i = 0; i < 3; i++)
			HSA_CHECK(hsa_signal_destroy(dependencies[i]));
	}
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

START_TEST(barrier_value_compares)
{
	static const struct {
		uint32_t condition;
		int64_t before, after;
	} cases[] = {
		{HSA_SIGNAL_CONDITION_EQ, 6, 0x15},
		{HSA_SIGNAL_CONDITION_NE, 0x35, 4},
		{HSA_SIGNAL_CONDITION_LT, 5, 0x24},
		{HSA_SIGNAL_CONDITION_GTE, 0x34, 6},
	};
	const hsa_signal_t done = packets_signal(0, true), watched = packets_signal(0, true);

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const hsa_amd_barrier_value_packet_t packet = {
			.header = {.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | PACKETS_ORDERED,
				   .AmdFormat = 2},
			.signal = watched,
			.value = 5,
			.mask = 0xf,
			.cond = cases[i].condition,
			.completion_signal = done,
		};

		hsa_signal_store_relaxed(done, 1);
		hsa_signal_store_relaxed(watched, cases[i].before);
		packets_submit(harness.queue, &packet);
		packets_pause(2000);
		ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
		hsa_signal_store_screlease(watched, cases[i].after);
		packets_wait(done, 0);
	}
	HSA_CHECK(hsa_signal_destroy(watched));
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

/* A chain through all queues: each barrier waits for the completion of the one before. */
START_TEST(queues_wait_for_each_other)
{
	enum { QUEUES = 4, LENGTH = 400 };
	hsa_queue_t *queues[QUEUES];
	hsa_signal_t links[LENGTH + 1];

	for (unsigned int i = 0; i < QUEUES; i++)
		queues[i] = packets_queue(harness.gpu, 128);
	for (unsigned int i = 0; i <= LENGTH; i++)
		links[i] = packets_signal(1, i == LENGTH);
	/* Those at the end of the chain are submitted first. */
	for (unsigned int i = 0; i < LENGTH; i++)
		submit_barrier(queues[i % QUEUES], HSA_PACKET_TYPE_BARRIER_AND, &links[i], 1,
			       links[i + 1]);
	ck_assert_int_eq(hsa_signal_load_scacquire(links[LENGTH]), 1);
	hsa_signal_store_screlease(links[0], 0);
	packets_wait(links[LENGTH], 0);
	for (unsigned int i = 0; i <= LENGTH; i++) {
		ck_assert_int_eq(hsa_signal_load_scacquire(links[i]), 0);
		HSA_CHECK(hsa_signal_destroy(links[i]));
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		HSA_CHECK(hsa_queue_destroy(queues[i]));
}
END_TEST

START_TEST(a_blocked_queue_can_be_destroyed)
{
	hsa_queue_t *queue = packets_queue(harness.gpu, 64);
	const hsa_signal_t never = packets_signal(1, true), done = packets_signal(1, true);

	submit_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, &never, 1, done);
	packets_pause(5000);
	HSA_CHECK(hsa_queue_destroy(queue));
	hsa_signal_store_screlease(never, 0);
	packets_pause(5000);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	HSA_CHECK(hsa_signal_destroy(never));
	HSA_CHECK(hsa_signal_destroy(done));
}
END_TEST

static double processor_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool environment_says(const char *name, const char *value)
{
	const char *set = getenv(name);

	return set && strcmp(set, value) == 0;
}

/*
 * The least processor time of a window of 100 ms: what the machine adds to some windows (other
 * processes, interrupts, a slow clock) is not in every one of them; what an engine uses is.
 */
static double least_processor_seconds(double enough)
{
	double least = 1;

	for (int window = 0; window < 50 && least > enough; window++) {
		const double begin = processor_seconds();
		double used;

		packets_pause(100000);
		used = processor_seconds() - begin;
		if (used < least)
			least = used;
	}
	return least;
}

/*
 * Idle queues, a queue that waits for a signal, and an idle SDMA engine. Without userfaultfd each
 * engine looks at its doorbell a hundred times in a window.
 */
START_TEST(idle_engines_use_no_processor)
{
	const double limit = environment_says("SOFTGPU_USERFAULTFD", "0") ? 0.02 : 0.0005;
	hsa_queue_t *queues[4];
	const hsa_signal_t done = packets_signal(5, true), never = packets_signal(1, true);
	uint8_t *memory = hsa_harness_allocate(&harness, 4096);
	double used;

	for (unsigned int i = 0; i < 4; i++) {
		queues[i] = packets_queue(harness.gpu, 64);
		submit_barrier(queues[i], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done);
	}
	HSA_CHECK(hsa_amd_memory_async_copy(memory, harness.gpu, memory + 2048, harness.gpu, 2048,
					    0, NULL, done));
	packets_wait(done, 0);
	used = least_processor_seconds(limit);
	ck_assert_msg(used <= limit, "idle engines used %.2f ms of 100", used * 1e3);

	submit_barrier(queues[0], HSA_PACKET_TYPE_BARRIER_AND, &never, 1, (hsa_signal_t){0});
	used = least_processor_seconds(limit + 0.005);
	ck_assert_msg(used <= limit + 0.005, "a waiting barrier used %.2f ms of 100", used * 1e3);
	hsa_signal_store_screlease(never, 0);
	for (unsigned int i = 0; i < 4; i++)
		HSA_CHECK(hsa_queue_destroy(queues[i]));
	HSA_CHECK(hsa_signal_destroy(never));
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
}
END_TEST

static Suite *queue_suite(void)
{
	Suite *suite = suite_create("queue");
	TCase *barriers = tcase_create("barriers");

	tcase_add_checked_fixture(barriers, start, stop);
	tcase_set_timeout(barriers, 30);
	tcase_add_test(barriers, barriers_complete_in_turn);
	tcase_add_test(barriers, a_sleeping_queue_is_woken);
	tcase_add_test(barriers, an_inactive_queue_ignores_packets);
	tcase_add_test(barriers, several_producers_wrap_a_small_ring);
	tcase_add_test(barriers, a_later_doorbell_announces_an_earlier_packet);
	tcase_add_test(barriers, a_packet_waits_for_its_doorbell);
	tcase_add_test(barriers, barrier_and_waits_for_all);
	tcase_add_test(barriers, barrier_or_waits_for_any);
	tcase_add_test(barriers, barrier_value_compares);
	tcase_add_test(barriers, queues_wait_for_each_other);
	tcase_add_test(barriers, a_blocked_queue_can_be_destroyed);
	/* Without interrupts the runtime's own thread never sleeps. */
	if (!environment_says("HSA_ENABLE_INTERRUPT", "0"))
		tcase_add_test(barriers, idle_engines_use_no_processor);
	suite_add_tcase(suite, barriers);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(queue_suite());
}
