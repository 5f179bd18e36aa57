/* SPDX-License-Identifier: MIT */
/* Which thread, device and stream may publish, and when: rejected calls change nothing. */
#include <pthread.h>
#include <stdio.h>

#include "publication_case.h"
#include "publish/group.h"

#define OMITTED H2D_COUNT_OMITTED

/* ---- threads --------------------------------------------------------------------------------- */

/* A call made by a thread of its own, and what came of it. */
struct foreign_call {
	enum {
		FOREIGN_PUBLISH,
		FOREIGN_RESUME,
		FOREIGN_FINISH,
		FOREIGN_ACQUIRE,
		FOREIGN_BEGIN,
		FOREIGN_EPOCH
	} call;
	struct pair *pair;
	h2d_stream_t *stream;
	h2d_status_t status;
	char message[512];
};

static void *make_call(void *argument)
{
	struct foreign_call *call = argument;
	struct pair *pair = call->pair;

	switch (call->call) {
	case FOREIGN_PUBLISH:
		call->status = publish_two(pair->group, call->stream, 8, 8);
		break;
	case FOREIGN_RESUME:
		call->status = h2d_owner_resume(pair->owner, call->stream);
		break;
	case FOREIGN_FINISH:
		call->status = h2d_owner_finish(pair->owner, call->stream);
		break;
	case FOREIGN_ACQUIRE:
		call->status = h2d_buffer_acquire_write(pair->a, call->stream, "corrected");
		break;
	case FOREIGN_BEGIN:
		call->status = h2d_owner_begin(pair->owner, call->stream);
		break;
	case FOREIGN_EPOCH:
		call->status = h2d_owner_begin(pair->owner, call->stream);
		if (call->status == H2D_STATUS_SUCCESS)
			call->status = publish_two(pair->group, call->stream, 8, 8);
		if (call->status == H2D_STATUS_SUCCESS)
			call->status = h2d_owner_finish(pair->owner, call->stream);
		break;
	}
	snprintf(call->message, sizeof(call->message), "%s", h2d_error_message());
	return NULL;
}

static void call_on_thread(struct foreign_call *call)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, make_call, call), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void rejected_on_thread(struct pair *pair, int what)
{
	struct foreign_call call = {.call = what, .pair = pair, .stream = fixture_stream};

	call_on_thread(&call);
	ck_assert_msg(call.status == H2D_STATUS_WRONG_THREAD, "%s", h2d_status_string(call.status));
	ck_assert_ptr_nonnull(strstr(call.message, "owner thread"));
}

START_TEST(P03_another_thread_cannot_publish_or_resume_the_owner)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 0);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 7);
	rejected_on_thread(&pair, FOREIGN_PUBLISH);
	rejected_on_thread(&pair, FOREIGN_ACQUIRE);
	rejected_on_thread(&pair, FOREIGN_FINISH);
	check_success(h2d_buffer_publish(pair.a, fixture_stream, 8, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	rejected_on_thread(&pair, FOREIGN_RESUME);
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_SEALED);
	check_success(h2d_owner_resume(pair.owner, fixture_stream));
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 8, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 8, 7);
}
END_TEST

/* The system gives a new thread what an ended one has left, its pthread_t among it. */
START_TEST(P03_a_thread_that_begins_after_the_owner_thread_has_ended_is_another)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	struct foreign_call begin = {
		.call = FOREIGN_BEGIN, .pair = &pair, .stream = fixture_stream};

	call_on_thread(&begin);
	ck_assert_msg(begin.status == H2D_STATUS_SUCCESS, "%s", begin.message);
	for (int i = 0; i < 3; i++)
		rejected_on_thread(&pair, FOREIGN_PUBLISH);
	check_success(h2d_owner_fail(pair.owner));
	check_success(h2d_owner_drain(pair.owner));
}
END_TEST

START_TEST(a_new_epoch_may_belong_to_another_thread)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	struct foreign_call call = {.call = FOREIGN_EPOCH, .pair = &pair, .stream = fixture_stream};

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	call_on_thread(&call);
	ck_assert_msg(call.status == H2D_STATUS_SUCCESS, "%s", call.message);
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 2);
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_WRONG_THREAD,
		    "owner thread");
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------- */

START_TEST(states_refuse_what_they_do_not_allow)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_buffer_t *late = NULL;
	h2d_group_t *group = NULL;
	h2d_buffer_description_t description = {
		.name = "late", .element_size = 4, .dimensions = 1, .shape = {4}};

	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_IDLE);
	check_fails(publish_two(pair.group, fixture_stream, OMITTED, OMITTED),
		    H2D_STATUS_INVALID_STATE, "idle; acquire sources first");
	check_fails(h2d_owner_finish(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE, "idle");
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot resume: owner 'slot' is idle");
	check_fails(h2d_owner_drain(pair.owner), H2D_STATUS_INVALID_STATE,
		    "drain is only for failed owners");
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_ACTIVE);
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot begin: owner 'slot' is active");
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot resume");
	check_fails(h2d_owner_record(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot record");
	check_fails(h2d_buffer_allocate(pair.owner, &description, &late), H2D_STATUS_INVALID_STATE,
		    "bind buffers before");
	check_fails(h2d_group_create(pair.owner, "late", &pair.a, 1, &group),
		    H2D_STATUS_INVALID_STATE, "active");
	check_fails(h2d_group_use_transport(pair.group, H2D_BACKEND_DIRECT, NULL),
		    H2D_STATUS_INVALID_STATE, "during initialization");
	check_fails(h2d_owner_select_transports(pair.owner), H2D_STATUS_INVALID_STATE,
		    "during initialization");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(publish_two(pair.group, fixture_stream, OMITTED, OMITTED),
		    H2D_STATUS_INVALID_STATE, "sealed");
	check_fails(h2d_buffer_acquire_write(pair.a, fixture_stream, NULL),
		    H2D_STATUS_INVALID_STATE, "sealed");
	check_fails(h2d_group_use_transport(pair.group, H2D_BACKEND_DIRECT, NULL),
		    H2D_STATUS_INVALID_STATE, "during initialization");
	check_success(h2d_owner_resume(pair.owner, fixture_stream));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_fail(pair.owner));
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot begin: owner 'slot' is failed");
	check_success(h2d_owner_drain(pair.owner));
	check_success(h2d_owner_drain(pair.owner));
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_FAILED);
}
END_TEST

/* ---- streams --------------------------------------------------------------------------------- */

START_TEST(P22_wrong_stream_is_rejected_before_any_submission)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_publication_totals_t before, after;
	h2d_stream_t *other = NULL;

	check_success(h2d_stream_create(fixture_device, NULL, &other));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 3);
	fill_source(pair.b, 4);
	h2d_owner_get_totals(pair.owner, &before);
	check_fails(publish_two(pair.group, other, 16, 16), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_fails(h2d_buffer_acquire_write(pair.a, other, NULL), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_fails(h2d_owner_finish(pair.owner, other), H2D_STATUS_WRONG_STREAM, "compute stream");
	h2d_owner_get_totals(pair.owner, &after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_owner_resume(pair.owner, other), H2D_STATUS_WRONG_STREAM,
		    "original owner stream");
	check_fails(h2d_owner_record(pair.owner, other), H2D_STATUS_WRONG_STREAM,
		    "original owner stream");
	expect_values(h2d_buffer_device(pair.a), 0, 16, 3);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 4);
	check_success(h2d_stream_destroy(other));
}
END_TEST

START_TEST(P25_stream_alias_and_new_epoch_preserve_values_and_ledger)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_stream_options_t same_queue = {.queue = h2d_stream_queue(fixture_stream)};
	h2d_stream_t *other = NULL, *wrapper = NULL, *alias = NULL;

	check_success(h2d_stream_create(fixture_device, NULL, &other));
	/* Another stream over the same queue is another stream; an alias is the same. */
	check_success(h2d_stream_create(fixture_device, &same_queue, &wrapper));
	check_success(h2d_stream_create_alias(fixture_stream, &alias));
	check_success(h2d_owner_begin(pair.owner, fixture_stream)); /* warm */
	check_success(h2d_owner_finish(pair.owner, fixture_stream));

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 12);
	check_fails(publish_two(pair.group, other, 8, 8), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_fails(publish_two(pair.group, wrapper, 8, 8), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_success(publish_two(pair.group, alias, 8, 8));
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 8, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_owner_finish(pair.owner, alias));
	check_success(h2d_owner_resume(pair.owner, alias));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 8, 11);
	expect_values(h2d_buffer_device(pair.b), 0, 8, 12);

	check_success(h2d_owner_begin(pair.owner, wrapper));
	fill_source(pair.a, 21);
	check_fails(publish_two(pair.group, fixture_stream, 8, OMITTED), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_success(publish_two(pair.group, wrapper, 8, OMITTED));
	check_success(h2d_owner_finish(pair.owner, wrapper));
	check_success(h2d_owner_begin(pair.owner, other));
	fill_source(pair.b, 22);
	check_fails(publish_two(pair.group, alias, 8, 8), H2D_STATUS_WRONG_STREAM,
		    "compute stream");
	check_success(publish_two(pair.group, other, OMITTED, 8));
	check_success(h2d_owner_finish(pair.owner, other));
	check_success(h2d_stream_synchronize(other));
	expect_values(h2d_buffer_device(pair.a), 0, 8, 21);
	expect_values(h2d_buffer_device(pair.b), 0, 8, 22);
	expect_values(h2d_buffer_device(pair.b), 8, 16, 0);

	/* The owner still holds the stream of its last epoch. */
	check_fails(h2d_stream_destroy(other), H2D_STATUS_INVALID_STATE, "used by");
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_stream_destroy(other));
	check_success(h2d_stream_destroy(wrapper));
	check_success(h2d_stream_destroy(alias));
}
END_TEST

/* ---- devices --------------------------------------------------------------------------------- */

static void two_devices_setup(void)
{
	/* Read by the software GPU when the runtime starts, in this test's own process. */
	ck_assert_int_eq(setenv("SOFTGPU_GPUS", "2", 1), 0);
	case_setup();
}

START_TEST(P27_other_device_rejects_before_publication)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_device_t *other = NULL;
	h2d_stream_t *stream = NULL;
	h2d_graph_t *graph = NULL;
	uint32_t count = 0;

	check_success(h2d_device_count(&count));
	if (count < 2 && getenv("RUN_H2D_GPU_TESTS"))
		return; /* this machine has but one GPU */
	check_success(h2d_device_open(1, &other));
	check_success(h2d_stream_create(other, NULL, &stream));
	check_fails(h2d_owner_begin(pair.owner, stream), H2D_STATUS_WRONG_DEVICE, "wrong device");
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 0);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 41);
	fill_source(pair.b, 42);
	check_fails(publish_two(pair.group, stream, 16, 16), H2D_STATUS_WRONG_DEVICE,
		    "wrong device");
	check_fails(h2d_owner_finish(pair.owner, stream), H2D_STATUS_WRONG_DEVICE, "wrong device");
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_owner_resume(pair.owner, stream), H2D_STATUS_WRONG_DEVICE, "wrong device");
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_SEALED);
	check_success(h2d_graph_begin_capture(stream));
	check_fails(h2d_buffer_use_in_recording(pair.a, stream), H2D_STATUS_WRONG_DEVICE,
		    "buffer 'a'");
	check_success(h2d_graph_end_capture(stream, &graph));
	check_success(h2d_graph_destroy(graph));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 41);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 42);
	check_success(h2d_stream_destroy(stream));
	check_success(h2d_device_close(other));
}
END_TEST

/* ---- capture --------------------------------------------------------------------------------- */

START_TEST(P26_capture_and_other_thread_reject_without_consuming_publication)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graph = NULL;
	void *output;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 31);
	fill_source(pair.b, 32);
	rejected_on_thread(&pair, FOREIGN_PUBLISH);
	check_success(h2d_graph_begin_capture(fixture_stream));
	output = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	check_fails(publish_two(pair.group, fixture_stream, 8, 8), H2D_STATUS_CAPTURE_ACTIVE,
		    "actual graph capture");
	check_fails(h2d_buffer_acquire_write(pair.a, fixture_stream, NULL),
		    H2D_STATUS_CAPTURE_ACTIVE, "capture");
	rejected_on_thread(&pair, FOREIGN_PUBLISH); /* the thread is checked first */
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(publish_two(pair.group, fixture_stream, 8, 8));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_graph_launch(graph, fixture_stream));
	expect_values(output, 0, 8, 31);
	expect_values(output, 8, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 8, 32);
	check_success(h2d_graph_destroy(graph));
}
END_TEST

START_TEST(begin_and_resume_are_refused_during_capture)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graph = NULL;

	check_success(h2d_graph_begin_capture(fixture_stream));
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE,
		    "before actual graph capture");
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 0);
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_IDLE);
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE,
		    "before actual graph capture");
	check_fails(h2d_owner_record(pair.owner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE,
		    "before actual graph capture");
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_SEALED);
}
END_TEST

/* ---- late preparation ------------------------------------------------------------------------ */

/* The owner is as finish left it. */
static void expect_sealed(const struct pair *pair, const h2d_publication_totals_t *totals)
{
	h2d_publication_totals_t now;

	h2d_owner_get_totals(pair->owner, &now);
	ck_assert_mem_eq(&now, totals, sizeof(now));
	ck_assert_int_eq(h2d_owner_state(pair->owner), H2D_OWNER_SEALED);
	ck_assert_uint_eq(h2d_owner_epoch(pair->owner), 1);
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair->a), 1);
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair->b), 0);
}

/* An epoch in which a was published; late is the group of b alone. */
static struct pair late_pair(h2d_backend_t backend, h2d_group_t **late)
{
	struct pair pair = pair_make("slot", backend);

	check_success(h2d_group_create(pair.owner, "late", &pair.b, 1, late));
	check_success(h2d_owner_select_transports(pair.owner));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 51);
	check_success(h2d_buffer_publish(pair.a, fixture_stream, 16, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	return pair;
}

START_TEST(refused_late_preparation_leaves_the_epoch_sealed)
{
	h2d_group_t *late = NULL;
	struct pair pair = late_pair((h2d_backend_t)_i, &late);
	h2d_publication_totals_t totals;
	h2d_stream_t *other = NULL;
	h2d_graph_t *graph = NULL;

	check_success(h2d_stream_create(fixture_device, NULL, &other));
	h2d_owner_get_totals(pair.owner, &totals);
	/* What a producer asks before it resumes: without the checks of an active epoch. */
	check_success(h2d_group_check_fresh(late));
	check_fails(h2d_group_check_fresh(pair.group), H2D_STATUS_ALREADY_PUBLISHED, "buffer 'a'");
	check_fails(h2d_group_check_writable(late, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "sealed");
	expect_sealed(&pair, &totals);
	rejected_on_thread(&pair, FOREIGN_RESUME);
	expect_sealed(&pair, &totals);
	check_fails(h2d_owner_resume(pair.owner, other), H2D_STATUS_WRONG_STREAM,
		    "original owner stream");
	expect_sealed(&pair, &totals);
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE,
		    "capture");
	rejected_on_thread(&pair, FOREIGN_RESUME); /* the thread is checked first */
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	expect_sealed(&pair, &totals);

	check_success(h2d_owner_resume(pair.owner, fixture_stream));
	check_success(h2d_group_check_writable(late, fixture_stream));
	fill_source(pair.b, 52);
	check_success(h2d_group_publish(late, fixture_stream, (int64_t[]){7}, NULL));
	check_fails(h2d_group_check_fresh(late), H2D_STATUS_ALREADY_PUBLISHED, "buffer 'b'");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 1);
	expect_values(h2d_buffer_device(pair.a), 0, 16, 51);
	expect_values(h2d_buffer_device(pair.b), 0, 7, 52);
	expect_values((int32_t *)h2d_buffer_device(pair.b) + 7, 0, 9, 0);
	check_success(h2d_stream_destroy(other));
}
END_TEST

/* The body of a late preparation gave up after it wrote its source. */
START_TEST(abandoned_late_preparation_fails_the_owner)
{
	h2d_group_t *late = NULL;
	struct pair pair = late_pair((h2d_backend_t)_i, &late);

	check_success(h2d_owner_resume(pair.owner, fixture_stream));
	fill_source(pair.b, 62);
	check_success(h2d_owner_fail(pair.owner));
	check_fails(h2d_group_publish(late, fixture_stream, (int64_t[]){16}, NULL),
		    H2D_STATUS_INVALID_STATE, "failed");
	check_fails(h2d_owner_finish(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "failed");
	check_fails(h2d_owner_resume(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "failed");
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "failed");
	check_success(h2d_owner_drain(pair.owner));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 51);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 0);
}
END_TEST

static Suite *identity_suite(void)
{
	Suite *suite = suite_create("publication identity");
	TCase *tcase = tcase_create("identity");
	TCase *devices = tcase_create("two devices");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, P03_another_thread_cannot_publish_or_resume_the_owner, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase,
			    P03_a_thread_that_begins_after_the_owner_thread_has_ended_is_another, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, a_new_epoch_may_belong_to_another_thread, 0, BACKENDS);
	tcase_add_loop_test(tcase, states_refuse_what_they_do_not_allow, 0, BACKENDS);
	tcase_add_loop_test(tcase, P22_wrong_stream_is_rejected_before_any_submission, 0, BACKENDS);
	tcase_add_loop_test(tcase, P25_stream_alias_and_new_epoch_preserve_values_and_ledger, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase,
			    P26_capture_and_other_thread_reject_without_consuming_publication, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, begin_and_resume_are_refused_during_capture, 0, BACKENDS);
	tcase_add_loop_test(tcase, refused_late_preparation_leaves_the_epoch_sealed, 0, BACKENDS);
	tcase_add_loop_test(tcase, abandoned_late_preparation_fails_the_owner, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(devices, two_devices_setup, case_teardown);
	tcase_set_timeout(devices, 60);
	tcase_add_loop_test(devices, P27_other_device_rejects_before_publication, 0, BACKENDS);
	suite_add_tcase(suite, devices);
	return suite;
}

int main(void)
{
	return run_suite(identity_suite());
}
