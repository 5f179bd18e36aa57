/* SPDX-License-Identifier: MIT */
/* Failures while enqueuing and waiting: the owner is poisoned, its storage stays, nothing hangs. */
#include <stdio.h>

#include "copy_spy.h"
#include "hsa/stream.h"
#include "publication_case.h"

#define OMITTED H2D_COUNT_OMITTED

/* A failed owner refuses everything but draining, and says why it failed. */
static void expect_failed(struct pair *pair, h2d_stream_t *stream, const char *cause)
{
	ck_assert_int_eq(h2d_owner_state(pair->owner), H2D_OWNER_FAILED);
	check_fails(h2d_owner_begin(pair->owner, stream), H2D_STATUS_INVALID_STATE, "failed");
	check_fails(h2d_owner_resume(pair->owner, stream), H2D_STATUS_INVALID_STATE, "failed");
	check_fails(h2d_owner_finish(pair->owner, stream), H2D_STATUS_INVALID_STATE, "failed");
	check_fails(h2d_buffer_acquire_write(pair->a, stream, "corrected"),
		    H2D_STATUS_INVALID_STATE, "failed");
	check_fails(publish_two(pair->group, stream, OMITTED, OMITTED), H2D_STATUS_INVALID_STATE,
		    "failed");
	ck_assert_msg(strstr(h2d_error_message(), cause), "'%s' is not in '%s'", cause,
		      h2d_error_message());
}

/* ---- copies ---------------------------------------------------------------------------------- */

START_TEST(P12_partial_enqueue_poison_prevents_next_forward)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_DIRECT);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 22);
	copy_spy.calls = 0;
	copy_spy.fail_at = 2;
	check_fails(publish_two(pair.group, fixture_stream, 8, 8), H2D_STATUS_OUT_OF_MEMORY,
		    "publish of group 'pair', owner 'slot', epoch 1: ");
	copy_spy.fail_at = 0;
	/* The queue does not wait for the copy that was never issued. */
	check_success(h2d_stream_synchronize(fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 8, 11);
	expect_values(h2d_buffer_device(pair.a), 8, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 0);
	check_fails(h2d_owner_destroy(pair.owner), H2D_STATUS_INVALID_STATE, "drain it first");
	check_success(h2d_owner_drain(pair.owner));
	expect_failed(&pair, fixture_stream, "hsa_amd_memory_async_copy");
}
END_TEST

/* The first copy that fails: nothing lands, whichever transport copies. */
START_TEST(P18_single_member_failure_poison_and_invalid_counts_are_retryable)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 17, NULL), H2D_STATUS_OUT_OF_RANGE,
		    "capacity");
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, -1, NULL), H2D_STATUS_OUT_OF_RANGE,
		    "capacity");
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair.a), 0);
	copy_spy.calls = 0;
	copy_spy.fail_at = 1;
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 8, NULL), H2D_STATUS_OUT_OF_MEMORY,
		    "publish of group 'a'");
	copy_spy.fail_at = 0;
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, OMITTED, NULL),
		    H2D_STATUS_INVALID_STATE, "failed");
	check_success(h2d_owner_drain(pair.owner));
	expect_failed(&pair, fixture_stream, "hsa_amd_memory_async_copy");
}
END_TEST

START_TEST(packed_copy_failure_poisons_before_anything_lands)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	copy_spy.calls = 0;
	copy_spy.fail_at = 1;
	check_fails(publish_two(pair.group, fixture_stream, 8, 8), H2D_STATUS_OUT_OF_MEMORY,
		    "publish of group 'pair'");
	copy_spy.fail_at = 0;
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	check_success(h2d_owner_drain(pair.owner));
	expect_failed(&pair, fixture_stream, "hsa_amd_memory_async_copy");
}
END_TEST

/* ---- the queue ------------------------------------------------------------------------------- */

static h2d_stream_t *small_stream;

/* A stream with the smallest queue and a short timeout. */
static void make_small_stream(void)
{
	h2d_stream_options_t options = {.queue_size = 64, .timeout_ns = 30000000};

	check_success(h2d_stream_create(fixture_device, &options, &small_stream));
}

/* As a second producer would: leaves room for this many packets. */
static void fill_queue(uint32_t room)
{
	hsa_queue_t *queue = h2d_stream_queue(small_stream);
	h2d_packet_t packet;

	h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE, (hsa_signal_t){0},
			   (hsa_signal_t){0});
	while (hsa_queue_load_write_index_relaxed(queue) + room <
	       hsa_queue_load_read_index_relaxed(queue) + queue->size)
		check_success(h2d_stream_submit(small_stream, &packet, 1));
}

static void fill_queue_completely(void)
{
	fill_queue(0);
}

START_TEST(K03_packed_failure_after_dma_poison_retains_arena)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);

	make_small_stream();
	check_success(h2d_owner_begin(pair.owner, small_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 22);
	gate_close(small_stream);
	/* The copy has been submitted when the room for the scatter is gone. */
	copy_spy.after = fill_queue_completely;
	check_fails(publish_two(pair.group, small_stream, 16, 16), H2D_STATUS_QUEUE_FULL,
		    "publish of group 'pair', owner 'slot'");
	copy_spy.after = NULL;
	expect_failed(&pair, small_stream, "no room");
	check_fails(h2d_owner_drain(pair.owner), H2D_STATUS_QUEUE_FULL, "no room");
	check_fails(h2d_owner_destroy(pair.owner), H2D_STATUS_INVALID_STATE, "drain it first");
	gate_open();
	check_success_in_time(h2d_stream_synchronize(small_stream));
	check_success_in_time(h2d_owner_drain(pair.owner));
	expect_failed(&pair, small_stream, "no room");
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 0);
	/* Arena and sources are still there: the pinned source can be read. */
	ck_assert_int_eq(*(int32_t *)h2d_buffer_host(pair.a), 11);
}
END_TEST

/* A full queue fails the publication before any copy is submitted. */
START_TEST(full_queue_enqueues_nothing)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	make_small_stream();
	check_success(h2d_owner_begin(pair.owner, small_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 22);
	gate_close(small_stream);
	fill_queue(1);
	copy_spy.calls = 0;
	check_fails(publish_two(pair.group, small_stream, 16, 16), H2D_STATUS_QUEUE_FULL,
		    "no room");
	ck_assert_uint_eq(copy_spy.calls, 0);
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_FAILED);
	gate_open();
	check_success_in_time(h2d_stream_synchronize(small_stream));
	check_success_in_time(h2d_owner_drain(pair.owner));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 0);
}
END_TEST

/* Room that comes within the bounded wait is used. */
START_TEST(publication_waits_for_room_in_the_queue)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_stream_options_t options = {.queue_size = 64};

	check_success(h2d_stream_create(fixture_device, &options, &small_stream));
	check_success(h2d_owner_begin(pair.owner, small_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 22);
	gate_close(small_stream);
	fill_queue(1);
	gate_open_later(30);
	check_success(publish_two(pair.group, small_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, small_stream));
	check_success_in_time(h2d_stream_synchronize(small_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 11);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 22);
}
END_TEST

START_TEST(P13_completion_failure_poison_prevents_source_reuse_finish)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	make_small_stream();
	check_success(h2d_owner_begin(pair.owner, small_stream));
	gate_close(small_stream);
	fill_queue(0);
	check_fails(h2d_owner_finish(pair.owner, small_stream), H2D_STATUS_QUEUE_FULL,
		    "finish, owner 'slot'");
	gate_open();
	check_success_in_time(h2d_stream_synchronize(small_stream));
	check_success_in_time(h2d_owner_drain(pair.owner));
	expect_failed(&pair, small_stream, "no room");
}
END_TEST

/* An owner whose waits are short. */
static struct pair hasty_pair(h2d_backend_t backend)
{
	struct pair pair = {.owner = case_owner(&(h2d_owner_options_t){
				    .name = "hasty", .backend = backend, .timeout_ns = 50000000})};

	pair.a = case_buffer(pair.owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	pair.b = case_buffer(pair.owner, "b", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(pair.owner, "pair", (h2d_buffer_t *[]){pair.a, pair.b}, 2,
				       &pair.group));
	check_success(h2d_owner_select_transports(pair.owner));
	return pair;
}

START_TEST(P13_completion_failure_poison_prevents_source_reuse_begin)
{
	struct pair pair = hasty_pair((h2d_backend_t)_i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	gate_close(fixture_stream);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_TIMEOUT,
		    "begin, owner 'hasty', epoch 1: ");
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 1);
	check_fails(h2d_owner_drain(pair.owner), H2D_STATUS_TIMEOUT, "hasty");
	expect_failed(&pair, fixture_stream, "did not end within");
	gate_open();
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success_in_time(h2d_owner_drain(pair.owner));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 11);
}
END_TEST

START_TEST(P13_completion_failure_poison_prevents_source_reuse_acquire)
{
	struct pair pair = hasty_pair((h2d_backend_t)_i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	gate_close(fixture_stream);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_fails(h2d_buffer_acquire_write(pair.a, fixture_stream, "corrected"),
		    H2D_STATUS_TIMEOUT, "acquire_write of buffer 'a', owner 'hasty'");
	gate_open();
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success_in_time(h2d_owner_drain(pair.owner));
	expect_failed(&pair, fixture_stream, "did not end within");
	expect_values(h2d_buffer_device(pair.a), 0, 16, 11);
}
END_TEST

/*
 * The queue dies of a packet before the publication's: what the publication enqueued never runs,
 * copies that wait for it must not block the DMA engine for others, and destroying ends.
 */
START_TEST(queue_error_fails_the_owner_and_frees_the_dma_engine)
{
	struct pair pair = pair_make("doomed", (h2d_backend_t)_i);
	struct pair other = pair_open("other", H2D_BACKEND_DIRECT);
	h2d_kernel_t kernel;
	h2d_packet_t packet;
	int wait;

	check_success(h2d_owner_select_transports(pair.owner));
	check_success(h2d_stream_create(fixture_device, NULL, &small_stream));
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &kernel));
	check_success(h2d_owner_begin(pair.owner, small_stream));
	fill_source(pair.a, 11);
	gate_close(small_stream);
	h2d_packet_dispatch(&packet, &kernel, 1, 256, NULL, H2D_FENCE_NONE, H2D_FENCE_NONE);
	packet.dispatch.workgroup_size_x = 0;
	check_success(h2d_stream_submit(small_stream, &packet, 1));
	check_success(publish_two(pair.group, small_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, small_stream));
	gate_open();
	for (wait = 0; wait < 20000 && h2d_stream_check(small_stream) == H2D_STATUS_SUCCESS; wait++)
		sleep_ms(2);
	check_fails(h2d_owner_begin(pair.owner, small_stream), H2D_STATUS_QUEUE_ERROR,
		    "reported error");
	expect_failed(&pair, small_stream, "reported error");
	if (_i != H2D_BACKEND_PACKED)
		check_success(h2d_owner_drain(pair.owner));
	/* Otherwise destroyed without draining, in the teardown. */

	check_success(h2d_owner_begin(other.owner, fixture_stream));
	fill_source(other.a, 44);
	check_success(publish_two(other.group, fixture_stream, 16, 16));
	if (_i == H2D_BACKEND_DIRECT)
		expect_values(h2d_buffer_device(pair.a), 0, 16, 11);
	check_success(h2d_owner_finish(other.owner, fixture_stream));
	expect_values(h2d_buffer_device(other.a), 0, 16, 44);
}
END_TEST

static void failure_teardown(void)
{
	case_teardown_owners();
	check_success_in_time(h2d_stream_destroy(small_stream));
	case_teardown();
}

static Suite *failure_suite(void)
{
	Suite *suite = suite_create("publication failures");
	TCase *tcase = tcase_create("failures");

	tcase_add_checked_fixture(tcase, case_setup, failure_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, P12_partial_enqueue_poison_prevents_next_forward);
	tcase_add_loop_test(tcase,
			    P18_single_member_failure_poison_and_invalid_counts_are_retryable, 0,
			    H2D_BACKEND_PULL);
	tcase_add_test(tcase, packed_copy_failure_poisons_before_anything_lands);
	tcase_add_test(tcase, K03_packed_failure_after_dma_poison_retains_arena);
	tcase_add_loop_test(tcase, full_queue_enqueues_nothing, 0, BACKENDS);
	tcase_add_loop_test(tcase, publication_waits_for_room_in_the_queue, 0, BACKENDS);
	tcase_add_loop_test(tcase, P13_completion_failure_poison_prevents_source_reuse_begin, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, P13_completion_failure_poison_prevents_source_reuse_finish, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, P13_completion_failure_poison_prevents_source_reuse_acquire, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, queue_error_fails_the_owner_and_frees_the_dma_engine, 0,
			    BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(failure_suite());
}
