/* SPDX-License-Identifier: MIT */
/*
 * The hostile timing of the software GPU: that delays, other orders and stalls happen where they
 * were asked for and nowhere else, that a seed repeats them, and that the seed is told.
 */
#include "../run_suite.h"
#include "packets.h"
#include "softgpu/queue/adversary.h"
#include "softgpu/queue/clock.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND UINT64_C(1000000)

/* ---- draws ----------------------------------------------------------------------------------- */

/* How long a packet is held, by what it set; `until` counts from some moment in between. */
static uint64_t drawn_delay(struct softgpu_adversary_state *state, uint64_t position)
{
	const uint64_t before = softgpu_clock_now();

	softgpu_adversary_holds(state, position);
	ck_assert_uint_ge(state->until, before);
	return state->until - before;
}

START_TEST(nothing_is_held_unless_asked_for)
{
	const struct softgpu_adversary adversary = {.seed = 3};
	struct softgpu_adversary_state state;

	softgpu_adversary_init(&state, &adversary, SOFTGPU_ENGINE_AQL, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert(!softgpu_adversary_holds(&state, i));
		ck_assert_uint_eq(softgpu_adversary_hold_dispatch(&state), 0);
	}
}
END_TEST

/* Which packets are delayed, and the state that all further draws come from. */
static uint64_t delay_pattern(uint64_t seed, uint32_t queue, uint64_t *random)
{
	const struct softgpu_adversary adversary = {
		.seed = seed, .delay_nanoseconds = 3600000 * MILLISECOND, .reorder = true};
	struct softgpu_adversary_state state;
	uint64_t pattern = 0;

	softgpu_adversary_init(&state, &adversary, SOFTGPU_ENGINE_SDMA, queue);
	for (uint64_t i = 0; i < 32; i++) {
		/* A drawn delay of less than a second in an hour is too rare to matter. */
		pattern = pattern << 1 | (drawn_delay(&state, i) > 1000 * MILLISECOND);
		pattern = pattern << 1 | (softgpu_adversary_hold_dispatch(&state) != 0);
	}
	*random = state.random;
	return pattern;
}

START_TEST(the_seed_repeats_all_draws)
{
	uint64_t random[2], other;

	for (uint64_t seed = 0; seed < 20; seed++) {
		const uint64_t pattern = delay_pattern(seed, 1, &random[0]);

		ck_assert_uint_eq(delay_pattern(seed, 1, &random[1]), pattern);
		ck_assert_uint_eq(random[0], random[1]);
		ck_assert_uint_ne(delay_pattern(seed + 1, 1, &other), pattern);
		/* Queues do not delay in step. */
		ck_assert_uint_ne(delay_pattern(seed, 2, &other), pattern);
		ck_assert_int_gt(__builtin_popcountll(pattern), 10);
		ck_assert_int_lt(__builtin_popcountll(pattern), 54);
	}
}
END_TEST

START_TEST(delays_stay_below_their_limit)
{
	const struct softgpu_adversary adversary = {.seed = 3, .delay_nanoseconds = 5000};
	struct softgpu_adversary_state state;
	uint64_t random;

	softgpu_adversary_init(&state, &adversary, SOFTGPU_ENGINE_AQL, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		softgpu_adversary_holds(&state, i);
		ck_assert_uint_le(state.until, softgpu_clock_now() + 5000);
		/* Asking again draws nothing. */
		random = state.random;
		while (softgpu_adversary_holds(&state, i))
			;
		ck_assert_uint_eq(state.random, random);
		ck_assert_uint_eq(softgpu_adversary_hold_dispatch(&state), 0);
	}
}
END_TEST

START_TEST(one_packet_of_one_engine_stalls)
{
	const struct softgpu_adversary adversary = {
		.stall[SOFTGPU_ENGINE_SDMA] = {.packet = 3, .nanoseconds = 20 * MILLISECOND}};
	struct softgpu_adversary_state sdma, aql;
	uint64_t begin;

	softgpu_adversary_init(&sdma, &adversary, SOFTGPU_ENGINE_SDMA, 1);
	softgpu_adversary_init(&aql, &adversary, SOFTGPU_ENGINE_AQL, 1);
	for (uint64_t i = 0; i < 6; i++) {
		ck_assert(!softgpu_adversary_holds(&aql, i));
		begin = softgpu_clock_now();
		/* Positions are those of a ring of bytes, the third packet counts. */
		ck_assert(softgpu_adversary_holds(&sdma, 64 * i) == (i == 2));
		while (softgpu_adversary_holds(&sdma, 64 * i))
			;
		if (i == 2)
			ck_assert_uint_ge(softgpu_clock_now() - begin, 20 * MILLISECOND);
	}
}
END_TEST

START_TEST(a_stall_may_last_forever)
{
	const struct softgpu_adversary adversary = {
		.stall[SOFTGPU_ENGINE_AQL] = {.packet = 1, .nanoseconds = SOFTGPU_STALL_FOREVER}};
	struct softgpu_adversary_state state;

	softgpu_adversary_init(&state, &adversary, SOFTGPU_ENGINE_AQL, 1);
	ck_assert(softgpu_adversary_holds(&state, 0));
	ck_assert_uint_eq(state.until, UINT64_MAX);
}
END_TEST

/* ---- under the runtime ----------------------------------------------------------------------- */

static struct hsa_harness harness;
static hsa_executable_t executable;
static struct hsa_harness_kernel write_ids;
static uint8_t *kernarg;
static uint32_t *out;

static void stop(void)
{
	HSA_CHECK(hsa_executable_destroy(executable));
	HSA_CHECK(hsa_amd_memory_pool_free(kernarg));
	HSA_CHECK(hsa_amd_memory_pool_free(out));
	hsa_harness_stop(&harness);
}

/* With these settings, NAME, VALUE, ..., NULL, and no others. */
static void start(const char *const settings[])
{
	static const char *const variables[] = {"SOFTGPU_L2S", "SOFTGPU_DELAY", "SOFTGPU_REORDER",
						"SOFTGPU_STALL", "SOFTGPU_SEED"};
	char path[4096];

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	for (unsigned int i = 0; settings[i]; i += 2)
		setenv(settings[i], settings[i + 1], 1);
	hsa_harness_start(&harness);
	snprintf(path, sizeof(path), "%s/tests/softgpu/queue_kernels.hsaco",
		 getenv("H2D_BUILD_DIR"));
	executable = hsa_harness_load(&harness, path);
	write_ids = hsa_harness_find(&harness, executable, "write_ids");
	kernarg = hsa_harness_allocate(&harness, 4096);
	out = hsa_harness_allocate(&harness, 4096);
}

/* Two kernels write the same element, the second behind the first: how often does the first stay?
 */
static unsigned int overtakings(unsigned int header_bits, unsigned int rounds)
{
	const hsa_signal_t done = packets_signal(0, true);
	unsigned int count = 0;

	for (uint32_t number = 0; number < 2; number++) {
		memcpy(kernarg + 64 * number, &out, 8);
		memcpy(kernarg + 64 * number + 8, &number, 4);
	}
	for (unsigned int i = 0; i < rounds; i++) {
		hsa_signal_store_relaxed(done, 2);
		for (uint32_t number = 0; number < 2; number++) {
			const hsa_kernel_dispatch_packet_t packet = packets_dispatch(
				&write_ids, header_bits, 64, 64, kernarg + 64 * number, done);

			packets_submit(harness.queue, &packet);
		}
		packets_wait(done, 0);
		ck_assert(out[0] == 0 || out[0] == 1);
		count += out[0] == 0;
	}
	HSA_CHECK(hsa_signal_destroy(done));
	return count;
}

START_TEST(only_the_barrier_bit_keeps_dispatches_in_order)
{
	start((const char *const[]){"SOFTGPU_DELAY", "1000", "SOFTGPU_REORDER", "1", "SOFTGPU_SEED",
				    "7", NULL});
	ck_assert_uint_eq(overtakings(PACKETS_ORDERED, 60), 0);
	ck_assert_uint_gt(overtakings(PACKETS_ORDERED & ~(1U << HSA_PACKET_HEADER_BARRIER), 60), 0);
	stop();
}
END_TEST

/* A packet behind a held dispatch, without the barrier bit itself, ends before it. */
START_TEST(barrier_packets_without_the_bit_overtake_dispatches)
{
	hsa_signal_t first, second;
	unsigned int overtaken = 0;

	start((const char *const[]){"SOFTGPU_DELAY", "20000", "SOFTGPU_REORDER", "1",
				    "SOFTGPU_SEED", "7", NULL});
	first = packets_signal(1, true);
	second = packets_signal(1, true);
	memcpy(kernarg, &out, 8);
	for (unsigned int bit = 0; bit < 2; bit++) {
		for (unsigned int i = 0; i < 12; i++) {
			const hsa_kernel_dispatch_packet_t dispatch = packets_dispatch(
				&write_ids, PACKETS_ORDERED, 64, 64, kernarg, first);
			const hsa_barrier_and_packet_t barrier =
				packets_barrier(HSA_PACKET_TYPE_BARRIER_AND,
						bit << HSA_PACKET_HEADER_BARRIER, NULL, 0, second);

			hsa_signal_store_relaxed(first, 1);
			hsa_signal_store_relaxed(second, 1);
			packets_submit(harness.queue, &dispatch);
			packets_submit(harness.queue, &barrier);
			packets_wait(second, 0);
			if (hsa_signal_load_scacquire(first) != 0) {
				ck_assert_uint_eq(bit, 0);
				overtaken++;
			}
			packets_wait(first, 0);
		}
	}
	ck_assert_uint_gt(overtaken, 0);
	HSA_CHECK(hsa_signal_destroy(first));
	HSA_CHECK(hsa_signal_destroy(second));
	stop();
}
END_TEST

static double seconds_of_barriers(unsigned int count)
{
	const hsa_signal_t done = packets_signal(count, true);
	const hsa_barrier_and_packet_t packet =
		packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, done);
	const uint64_t begin = softgpu_clock_now();

	for (unsigned int i = 0; i < count; i++)
		packets_submit(harness.queue, &packet);
	packets_wait(done, 0);
	HSA_CHECK(hsa_signal_destroy(done));
	return (double)(softgpu_clock_now() - begin) * 1e-9;
}

/* 100 packets, half of them late by 5 ms on average: a quarter of a second. */
START_TEST(packets_start_late)
{
	double seconds;

	start((const char *const[]){"SOFTGPU_DELAY", "10000", "SOFTGPU_SEED", "7", NULL});
	seconds = seconds_of_barriers(100);
	ck_assert_msg(seconds > 0.1, "100 delayed barriers took %.3f s", seconds);
	stop();
}
END_TEST

/* Whether a copy of 64 bytes ends in two seconds. */
static bool copy_ends(hsa_signal_t done)
{
	uint64_t frequency;

	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	hsa_signal_store_relaxed(done, 1);
	HSA_CHECK(hsa_amd_memory_async_copy(out, harness.gpu, out + 512, harness.gpu, 64, 0, NULL,
					    done));
	return hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 2 * frequency,
					 HSA_WAIT_STATE_BLOCKED) == 0;
}

START_TEST(a_stalled_dma_engine_never_goes_on_but_queues_do)
{
	unsigned int copies = 0;
	hsa_signal_t done;

	start((const char *const[]){"SOFTGPU_STALL", "sdma:30:forever", NULL});
	done = packets_signal(1, true);
	while (copies < 30 && copy_ends(done))
		copies++;
	ck_assert_uint_gt(copies, 0);
	ck_assert_uint_lt(copies, 30);
	ck_assert(!copy_ends(done));
	ck_assert_uint_eq(overtakings(PACKETS_ORDERED, 20), 0);
	HSA_CHECK(hsa_signal_destroy(done));
	/* The engine is stopped all the same: shutting down does not hang. */
	stop();
}
END_TEST

START_TEST(a_stalled_queue_goes_on_after_its_time)
{
	double seconds;

	/* Long enough to be told from a slow machine. */
	start((const char *const[]){"SOFTGPU_STALL", "aql:5:3000", NULL});
	seconds = seconds_of_barriers(4);
	ck_assert_msg(seconds < 3, "4 barriers took %.3f s before the stall", seconds);
	seconds = seconds_of_barriers(1);
	ck_assert_msg(seconds >= 3, "the stalled barrier took %.3f s", seconds);
	stop();
}
END_TEST

/* ---- the seed -------------------------------------------------------------------------------- */

/* What the software GPU says when it starts with these settings. */
static void expect_said(const char *const settings[], const char *words)
{
	char said[4096] = "";
	FILE *file = tmpfile();
	int saved = dup(2);

	ck_assert(file != NULL && saved >= 0);
	fflush(stderr);
	ck_assert_int_ge(dup2(fileno(file), 2), 0);
	start(settings);
	stop();
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	if (words)
		ck_assert_msg(strstr(said, words) != NULL, "'%s' is not in '%s'", words, said);
	else
		ck_assert_str_eq(said, "");
}

START_TEST(the_seed_is_told_where_anything_is_hostile)
{
	expect_said((const char *const[]){"SOFTGPU_DELAY", "1", "SOFTGPU_SEED", "12345", NULL},
		    "SOFTGPU_SEED=12345");
	expect_said((const char *const[]){"SOFTGPU_L2S", "2", NULL}, "SOFTGPU_SEED=");
	expect_said((const char *const[]){"SOFTGPU_STALL", "aql:90000:1", NULL}, "SOFTGPU_SEED=");
	expect_said((const char *const[]){"SOFTGPU_SEED", "12345", NULL}, NULL);
}
END_TEST

static TCase *cases_of(Suite *suite, const char *name)
{
	TCase *cases = tcase_create(name);

	tcase_set_timeout(cases, 30);
	suite_add_tcase(suite, cases);
	return cases;
}

int main(void)
{
	Suite *suite = suite_create("adversary");
	TCase *draws = cases_of(suite, "draws"), *runtime = cases_of(suite, "runtime");

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	tcase_add_test(draws, nothing_is_held_unless_asked_for);
	tcase_add_test(draws, the_seed_repeats_all_draws);
	tcase_add_test(draws, delays_stay_below_their_limit);
	tcase_add_test(draws, one_packet_of_one_engine_stalls);
	tcase_add_test(draws, a_stall_may_last_forever);
	tcase_add_test(runtime, only_the_barrier_bit_keeps_dispatches_in_order);
	tcase_add_test(runtime, barrier_packets_without_the_bit_overtake_dispatches);
	tcase_add_test(runtime, packets_start_late);
	tcase_add_test(runtime, a_stalled_dma_engine_never_goes_on_but_queues_do);
	tcase_add_test(runtime, a_stalled_queue_goes_on_after_its_time);
	tcase_add_test(runtime, the_seed_is_told_where_anything_is_hostile);
	return run_suite(suite);
}
