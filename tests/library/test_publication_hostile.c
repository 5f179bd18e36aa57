/* SPDX-License-Identifier: MIT */
/*
 * Publications on a software GPU that delays and reorders whatever no packet orders, and whose
 * caches show nothing that no fence makes visible. On a real GPU the same cases run as they are.
 */
#include <stdio.h>

#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"
#include "publication_case.h"

#define OMITTED H2D_COUNT_OMITTED
#define MEMBERS 6
#define EPOCHS  12
#define BYTES   9000

static void hostile_setup(void)
{
	/* Read by the software GPU when the runtime starts, in this test's own process. */
	ck_assert_int_eq(setenv("SOFTGPU_L2S", "4", 0), 0);
	ck_assert_int_eq(setenv("SOFTGPU_DELAY", "300", 0), 0);
	ck_assert_int_eq(setenv("SOFTGPU_REORDER", "1", 0), 0);
	ck_assert_int_eq(setenv("SOFTGPU_SEED", "5", 0), 0);
	case_setup();
}

/* A slot, what its destinations hold after each epoch, and where its consumers copy them. */
struct slot {
	h2d_owner_t *owner;
	h2d_buffer_t *members[MEMBERS];
	h2d_group_t *group;
	uint8_t model[MEMBERS][BYTES];
	uint8_t *copies;
	struct h2d_pull_arguments *arguments[EPOCHS];
};

static void slot_make(struct slot *slot, const char *name, h2d_backend_t backend,
		      bool omit_end_fence)
{
	size_t arguments_size =
		sizeof(struct h2d_pull_arguments) + MEMBERS * sizeof(struct h2d_pull_member);
	char member_name[24];
	int i, epoch;

	memset(slot->model, 0, sizeof(slot->model));
	slot->owner = case_owner(&(h2d_owner_options_t){.name = name,
							.backend = backend,
							.pack_limit_bytes = 4000,
							.omit_end_fence = omit_end_fence});
	for (i = 0; i < MEMBERS; i++) {
		snprintf(member_name, sizeof(member_name), "member %d", i);
		slot->members[i] =
			case_buffer(slot->owner, member_name, 1, BYTES, 0, H2D_COUNT_BYTES);
	}
	check_success(h2d_group_create(slot->owner, "group", slot->members, MEMBERS, &slot->group));
	check_success(h2d_owner_select_transports(slot->owner));
	ck_assert_int_eq(h2d_group_transport(slot->group), backend);
	slot->copies = case_device_memory((size_t)EPOCHS * MEMBERS * BYTES);
	for (epoch = 0; epoch < EPOCHS; epoch++) {
		slot->arguments[epoch] = case_host_memory(arguments_size);
		slot->arguments[epoch]->members = MEMBERS;
		for (i = 0; i < MEMBERS; i++)
			slot->arguments[epoch]->member[i] = (struct h2d_pull_member){
				.source = (uintptr_t)h2d_buffer_device(slot->members[i]),
				.destination = (uintptr_t)(slot->copies +
							   (size_t)(epoch * MEMBERS + i) * BYTES),
				.bytes = BYTES,
			};
	}
}

/*
 * A consumer that orders nothing by itself, with no barrier bit and nothing acquired; or one that
 * does, as h2d_stream_dispatch() and h2d_graph_launch() do. What it writes is released for the
 * comparison.
 */
static void dispatch_consumer(struct slot *slot, int epoch, bool careless)
{
	h2d_kernel_t kernel;
	h2d_packet_t packet;

	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &kernel));
	h2d_packet_dispatch(&packet, &kernel, (uint32_t)(MEMBERS * h2d_chunk_count(BYTES)),
			    H2D_CHUNK_WORKGROUP_SIZE, slot->arguments[epoch],
			    careless ? H2D_FENCE_NONE : H2D_FENCE_AGENT, H2D_FENCE_SYSTEM);
	if (careless)
		packet.dispatch.header &= (uint16_t) ~(1U << HSA_PACKET_HEADER_BARRIER);
	check_success(h2d_stream_submit(fixture_stream, &packet, 1));
}

static void publish_random(struct slot *slot, uint64_t *state, int epoch, bool careless)
{
	/* Every third epoch one member alone, which no kernel packs. */
	int alone = epoch % 3 == 2 ? (int)fixture_random_between(state, 0, MEMBERS - 1) : -1;
	int64_t counts[MEMBERS];
	int i;

	check_success(h2d_owner_begin(slot->owner, fixture_stream));
	for (i = 0; i < MEMBERS; i++) {
		counts[i] = (int64_t)fixture_random_between(state, 1, BYTES);
		if (alone >= 0 && i != alone)
			counts[i] = OMITTED;
		fixture_random_bytes(state, h2d_buffer_host(slot->members[i]), BYTES);
		if (counts[i] != OMITTED)
			memcpy(slot->model[i], h2d_buffer_host(slot->members[i]),
			       (size_t)counts[i]);
	}
	check_success(h2d_group_publish(slot->group, fixture_stream, counts, NULL));
	dispatch_consumer(slot, epoch, careless);
	check_success(h2d_owner_finish(slot->owner, fixture_stream));
}

static void run_epochs(h2d_backend_t backend, bool careless)
{
	static struct slot slots[2];
	static uint8_t expected[EPOCHS][MEMBERS][BYTES];
	uint64_t state = fixture_seed();
	int epoch;

	slot_make(&slots[0], "slot 0", backend, !careless);
	slot_make(&slots[1], "slot 1", backend, !careless);
	for (epoch = 0; epoch < EPOCHS; epoch++) {
		/* One slot twice in a row, then the other: reuse at once and after a rotation. */
		struct slot *slot = &slots[epoch / 2 % 2];

		publish_random(slot, &state, epoch, careless);
		memcpy(expected[epoch], slot->model, sizeof(slot->model));
	}
	for (epoch = 0; epoch < EPOCHS; epoch++)
		expect_bytes(slots[epoch / 2 % 2].copies + (size_t)epoch * MEMBERS * BYTES,
			     expected[epoch], sizeof(expected[epoch]));
}

START_TEST(consumers_need_no_order_of_their_own)
{
	run_epochs((h2d_backend_t)_i, true);
}
END_TEST

START_TEST(consumers_with_a_fence_of_their_own_need_none_at_the_end)
{
	run_epochs((h2d_backend_t)_i, false);
}
END_TEST

static Suite *hostile_suite(void)
{
	Suite *suite = suite_create("publication in hostile surroundings");
	TCase *tcase = tcase_create("hostile");

	tcase_add_checked_fixture(tcase, hostile_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, consumers_need_no_order_of_their_own, 0, BACKENDS);
	tcase_add_loop_test(tcase, consumers_with_a_fence_of_their_own_need_none_at_the_end, 0,
			    BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(hostile_suite());
}
