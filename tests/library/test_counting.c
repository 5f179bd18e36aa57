/* SPDX-License-Identifier: MIT */
/*
 * What publishing costs the host, counted: no allocation and no system call of the library's own,
 * and no wait but in begin, in acquire_write and for a full ring.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "hsa/stream.h"
#include "publication_case.h"

#define MEMBERS 6
#define EPOCHS	10000

static const char *const phase_names[COUNTING_PHASES] = {
	"nothing", "begin", "publish", "publish into a full ring", "acquire_write", "finish",
};

/* Calls, and leaves in `status` what came of it, as part of a phase. */
#define COUNT(in_phase, call)                                                                      \
	do {                                                                                       \
		counting->phase = (in_phase);                                                      \
		const h2d_status_t count_status = (call);                                          \
		counting->phase = COUNTING_NOTHING;                                                \
		check_success(count_status);                                                       \
	} while (0)

static void check_counts(enum counting_phase phase, bool may_wait)
{
	const struct counts *counts = &counting->counts[phase];

	ck_assert_msg(counts->allocations == 0, "%s: %" PRIu64 " allocations", phase_names[phase],
		      counts->allocations);
	ck_assert_msg(counts->system_calls == 0,
		      "%s: %" PRIu64 " system calls, the last number %ld", phase_names[phase],
		      counts->system_calls, counts->last_system_call);
	ck_assert_msg(counts->other_hsa_calls == 0,
		      "%s: %" PRIu64 " calls that make or destroy objects of the runtime",
		      phase_names[phase], counts->other_hsa_calls);
	if (!may_wait)
		ck_assert_msg(counts->waits == 0, "%s: %" PRIu64 " waits", phase_names[phase],
			      counts->waits);
	fprintf(stderr,
		"# %s: %" PRIu64 " waits; the runtime: %" PRIu64 " copies, %" PRIu64
		" allocations, %" PRIu64 " system calls\n",
		phase_names[phase], counts->waits, counts->copies, counts->hsa_allocations,
		counts->hsa_system_calls);
}

struct slot {
	h2d_owner_t *owner;
	h2d_buffer_t *members[MEMBERS];
	h2d_group_t *group;
};

static void slot_make(struct slot *slot, const char *name, h2d_backend_t backend)
{
	char member_name[16];

	slot->owner = case_owner_of(name, backend);
	for (int i = 0; i < MEMBERS; i++) {
		snprintf(member_name, sizeof(member_name), "member %d", i);
		slot->members[i] =
			case_buffer(slot->owner, member_name, 4, 8 << i, 0, H2D_COUNT_ROWS);
	}
	check_success(h2d_group_create(slot->owner, "group", slot->members, MEMBERS, &slot->group));
	check_success(h2d_owner_select_transports(slot->owner));
	ck_assert_int_eq(h2d_group_transport(slot->group), backend);
}

/* Counts that change from epoch to epoch, with omitted, empty and single members among them. */
static void choose_counts(uint32_t epoch, int64_t counts[MEMBERS])
{
	for (int i = 0; i < MEMBERS; i++) {
		counts[i] = 1 + (epoch + 3 * (uint32_t)i) % (8U << i);
		if (epoch % 7 == 3 && i != (int)(epoch % MEMBERS))
			counts[i] = i % 2 ? 0 : H2D_COUNT_OMITTED;
	}
}

/* Calls as COUNT does what must wait for the GPU, which stands still until the wait begins. */
#define COUNT_WAIT(in_phase, call)                                                                 \
	do {                                                                                       \
		counting_before_wait = gate_open;                                                  \
		COUNT(in_phase, call);                                                             \
		counting_before_wait = NULL;                                                       \
	} while (0)

/* The two waits that the contract has, each certain to happen. */
static void wait_twice(struct slot *slot)
{
	const int64_t counts[MEMBERS] = {1, 2, 3, 4, 5, 6};

	check_success(h2d_owner_begin(slot->owner, fixture_stream));
	gate_close(fixture_stream);
	check_success(h2d_group_publish(slot->group, fixture_stream, counts, NULL));
	COUNT_WAIT(COUNTING_ACQUIRE,
		   h2d_buffer_acquire_write(slot->members[0], fixture_stream, "again"));
	gate_close(fixture_stream);
	check_success(h2d_buffer_publish(slot->members[0], fixture_stream, 8, "again"));
	check_success(h2d_owner_finish(slot->owner, fixture_stream));
	COUNT_WAIT(COUNTING_BEGIN, h2d_owner_begin(slot->owner, fixture_stream));
	check_success(h2d_owner_finish(slot->owner, fixture_stream));
}

static void publish_many_epochs(int backend)
{
	struct slot slot;
	int64_t counts[MEMBERS];

	case_setup();
	slot_make(&slot, "slot", (h2d_backend_t)backend);
	wait_twice(&slot);
	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		choose_counts(epoch, counts);
		COUNT(COUNTING_BEGIN, h2d_owner_begin(slot.owner, fixture_stream));
		fill_source(slot.members[0], (int32_t)epoch);
		COUNT(COUNTING_PUBLISH,
		      h2d_group_publish(slot.group, fixture_stream, counts, NULL));
		/* Now and then something is corrected: a wait that the contract has. */
		if (epoch % 100 == 50) {
			COUNT(COUNTING_ACQUIRE,
			      h2d_buffer_acquire_write(slot.members[0], fixture_stream, "again"));
			fill_source(slot.members[0], (int32_t)epoch + 1);
			COUNT(COUNTING_PUBLISH,
			      h2d_buffer_publish(slot.members[0], fixture_stream, 8, "again"));
		}
		COUNT(COUNTING_FINISH, h2d_owner_finish(slot.owner, fixture_stream));
	}
	/* The last one published only member EPOCHS - 1 modulo MEMBERS, or all of them. */
	choose_counts(EPOCHS - 1, counts);
	if (counts[0] > 0)
		expect_values(h2d_buffer_device(slot.members[0]), 0, 1, EPOCHS - 1);
	case_teardown();
	check_counts(COUNTING_BEGIN, true);
	check_counts(COUNTING_PUBLISH, false);
	check_counts(COUNTING_ACQUIRE, true);
	check_counts(COUNTING_FINISH, false);
	ck_assert_uint_gt(counting->counts[COUNTING_BEGIN].waits, 0);
	ck_assert_uint_gt(counting->counts[COUNTING_ACQUIRE].waits, 0);
	if (backend == H2D_BACKEND_PULL)
		ck_assert_uint_eq(counting->counts[COUNTING_PUBLISH].hsa_system_calls, 0);
	else
		ck_assert_uint_ge(counting->counts[COUNTING_PUBLISH].copies, EPOCHS);
}

START_TEST(ten_thousand_epochs_cost_nothing_but_the_waits_of_begin_and_acquire)
{
	counting_run(publish_many_epochs, _i);
}
END_TEST

/* The caller's own packets, until this many slots of the ring are free. */
static void fill_ring(h2d_stream_t *stream, uint64_t room)
{
	const hsa_queue_t *queue = h2d_stream_queue(stream);
	h2d_packet_t nothing;

	h2d_packet_barrier(&nothing, true, H2D_FENCE_NONE, H2D_FENCE_NONE, (hsa_signal_t){0},
			   (hsa_signal_t){0});
	while (hsa_queue_load_write_index_relaxed(queue) + room <
	       hsa_queue_load_read_index_relaxed(queue) + queue->size)
		check_success(h2d_stream_submit(stream, &nothing, 1));
}

/*
 * The GPU does not move: slot after slot is published into a small ring without a wait. Before the
 * last one the ring is full; the GPU goes on once its publication waits for room.
 */
static void publish_ahead(int backend)
{
	enum { SLOTS = 6, ROUNDS = 10 };
	static struct slot slots[SLOTS];
	const h2d_stream_options_t options = {.queue_size = 64};
	const int64_t counts[MEMBERS] = {1, 2, 3, 4, 5, 6};
	h2d_stream_t *stream;

	case_setup();
	check_success(h2d_stream_create(fixture_device, &options, &stream));
	for (int i = 0; i < SLOTS; i++)
		slot_make(&slots[i], "slot", (h2d_backend_t)backend);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SLOTS; i++)
			check_success(h2d_owner_begin(slots[i].owner, stream));
		gate_close(stream);
		for (int i = 0; i < SLOTS - 1; i++)
			COUNT(COUNTING_PUBLISH,
			      h2d_group_publish(slots[i].group, stream, counts, NULL));
		fill_ring(stream, 1);
		COUNT_WAIT(COUNTING_PUBLISH_FULL_RING,
			   h2d_group_publish(slots[SLOTS - 1].group, stream, counts, NULL));
		for (int i = 0; i < SLOTS; i++)
			check_success(h2d_owner_finish(slots[i].owner, stream));
	}
	case_teardown_owners();
	check_success(h2d_stream_destroy(stream));
	case_teardown();
	check_counts(COUNTING_PUBLISH, false);
	check_counts(COUNTING_PUBLISH_FULL_RING, true);
	ck_assert_uint_ge(counting->counts[COUNTING_PUBLISH_FULL_RING].waits, ROUNDS);
}

START_TEST(publications_wait_for_nothing_but_room_in_the_ring)
{
	counting_run(publish_ahead, _i);
}
END_TEST

/* The counters count: each kind of what must not happen is seen when it does happen. */
static void misbehave(int unused)
{
	const struct timespec moment = {.tv_nsec = 1000};
	struct counts *counts = &counting->counts[COUNTING_FINISH];
	void *volatile memory;

	(void)unused;
	counting->phase = COUNTING_FINISH;
	memory = malloc(100);
	free(memory);
	getppid();
	getppid();
	nanosleep(&moment, NULL);
	counting->phase = COUNTING_NOTHING;
	if (counting_sees_allocations())
		ck_assert_uint_eq(counts->allocations, 2);
	ck_assert_uint_eq(counts->system_calls, 2);
	ck_assert_uint_eq(counts->waits, 1);
}

START_TEST(the_counters_count)
{
	counting_run(misbehave, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counting");
	TCase *cases = tcase_create("counting");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, the_counters_count);
	tcase_add_loop_test(cases,
			    ten_thousand_epochs_cost_nothing_but_the_waits_of_begin_and_acquire, 0,
			    BACKENDS);
	tcase_add_loop_test(cases, publications_wait_for_nothing_but_room_in_the_ring, 0, BACKENDS);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
