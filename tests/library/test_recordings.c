/* SPDX-License-Identifier: MIT */
/* Recordings and the buffers they use, and which groups get memory of their own. */
#include <dlfcn.h>

#include <hsa/hsa_ext_amd.h>

#include "copy_spy.h"
#include "publication_case.h"

/* ---- recordings ------------------------------------------------------------------------------ */

static bool fail_signals;

/* A definition in the program comes before the runtime's own: here, to make captures fail. */
__attribute__((visibility("default"))) hsa_status_t
hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
		      const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	hsa_status_t (*real)(hsa_signal_value_t, uint32_t, const hsa_agent_t *, uint64_t,
			     hsa_signal_t *);

	*(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_signal_create");
	if (fail_signals)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	return real(initial_value, num_consumers, consumers, attributes, signal);
}

/* A consumer of the buffer, recorded; *copy is where it copies to. */
static h2d_graph_t *record(h2d_buffer_t *buffer, void **copy)
{
	h2d_graph_t *graph = NULL;

	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(h2d_buffer_use_in_recording(buffer, fixture_stream));
	/* Once more in one recording changes nothing. */
	check_success(h2d_buffer_use_in_recording(buffer, fixture_stream));
	*copy = consume(fixture_stream, h2d_buffer_device(buffer), buffer_size(buffer));
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	return graph;
}

START_TEST(recordings_keep_buffers_and_their_owner)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graphs[2];
	void *copies[2];

	check_success(h2d_group_destroy(pair.group));
	for (int i = 0; i < 2; i++)
		graphs[i] = record(pair.a, &copies[i]);
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE,
		    "buffer 'a' of owner 'slot' is used by 2 recordings");
	check_fails(h2d_owner_destroy(pair.owner), H2D_STATUS_INVALID_STATE,
		    "buffer 'a' of owner 'slot' is used by 2 recordings");
	check_success(h2d_buffer_destroy(pair.b));
	check_success(h2d_graph_destroy(graphs[0]));
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE, "used by 1 recordings");
	check_success(h2d_graph_destroy(graphs[1]));
	check_success(h2d_buffer_destroy(pair.a));
}
END_TEST

/* A recording does not mind a rebuild that keeps its buffer: the address is the same. */
START_TEST(graphs_replay_across_a_rebuild)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graph;
	void *copy;
	int epoch;

	graph = record(pair.a, &copy);
	for (epoch = 1; epoch <= 3; epoch++) {
		check_success(h2d_owner_begin(pair.owner, fixture_stream));
		fill_source(pair.a, epoch);
		check_success(publish_two(pair.group, fixture_stream, 17 - 4 * epoch, 1));
		check_success(h2d_owner_finish(pair.owner, fixture_stream));
		check_success(h2d_graph_launch(graph, fixture_stream));
		check_success(h2d_owner_rebuild(pair.owner));
		check_success(h2d_group_destroy(pair.group));
		check_success(h2d_group_create(pair.owner, "pair",
					       (h2d_buffer_t *[]){pair.a, pair.b}, 2, &pair.group));
		check_success(h2d_owner_select_transports(pair.owner));
	}
	expect_values(copy, 0, 5, 3);
	expect_values((int32_t *)copy + 5, 0, 4, 2);
	expect_values((int32_t *)copy + 9, 0, 4, 1);
	expect_values((int32_t *)copy + 13, 0, 3, 0);
	check_success(h2d_graph_destroy(graph));
}
END_TEST

START_TEST(failed_owner_is_kept_by_a_recording_too)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graph;
	void *copy;

	graph = record(pair.b, &copy);
	check_success(h2d_owner_fail(pair.owner));
	check_success(h2d_owner_drain(pair.owner));
	check_fails(h2d_owner_destroy(pair.owner), H2D_STATUS_INVALID_STATE,
		    "buffer 'b' of owner 'slot' is used by 1 recordings");
	check_success(h2d_graph_destroy(graph));
}
END_TEST

START_TEST(failed_captures_and_streams_without_one_keep_nothing)
{
	struct pair pair = pair_make("slot", H2D_BACKEND_PACKED);
	h2d_graph_t *graph = NULL;

	check_success(h2d_group_destroy(pair.group));
	check_fails(h2d_buffer_use_in_recording(pair.a, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "is not recording");
	check_fails(h2d_buffer_use_in_recording(NULL, fixture_stream), H2D_STATUS_INVALID_ARGUMENT,
		    "NULL");
	check_fails(h2d_buffer_use_in_recording(pair.a, NULL), H2D_STATUS_INVALID_ARGUMENT, "NULL");
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(h2d_buffer_use_in_recording(pair.a, fixture_stream));
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE, "used by 1 recordings");
	fail_signals = true;
	check_fails(h2d_graph_end_capture(fixture_stream, &graph), H2D_STATUS_OUT_OF_MEMORY,
		    "hsa_amd_signal_create");
	fail_signals = false;
	check_success(h2d_buffer_destroy(pair.a));
}
END_TEST

/* ---- which groups get memory ----------------------------------------------------------------- */

/* Three buffers, the group of all, and the pair of the first two. */
struct nest {
	h2d_owner_t *owner;
	h2d_buffer_t *buffers[3];
	h2d_group_t *all, *pair;
};

static struct nest nest_make(h2d_backend_t backend)
{
	struct nest nest = {.owner = case_owner_of("slot", backend)};

	nest.buffers[0] = case_buffer(nest.owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	nest.buffers[1] = case_buffer(nest.owner, "b", 4, 16, 0, H2D_COUNT_ROWS);
	nest.buffers[2] = case_buffer(nest.owner, "c", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(nest.owner, "all", nest.buffers, 3, &nest.all));
	check_success(h2d_group_create(nest.owner, "pair", nest.buffers, 2, &nest.pair));
	return nest;
}

/* A group that names members which are published one by one neither packs nor covers others. */
START_TEST(selection_leaves_chosen_transports_alone)
{
	struct nest nest = nest_make((h2d_backend_t)_i);

	check_success(h2d_group_use_transport(nest.all, H2D_BACKEND_DIRECT, NULL));
	check_success(h2d_owner_select_transports(nest.owner));
	ck_assert_int_eq(h2d_group_transport(nest.all), H2D_BACKEND_DIRECT);
	ck_assert_ptr_null(h2d_group_fallback_reason(nest.all));
	ck_assert_int_eq(h2d_group_transport(nest.pair), _i);

	check_success(h2d_owner_begin(nest.owner, fixture_stream));
	for (int i = 0; i < 3; i++)
		fill_source(nest.buffers[i], 71 + i);
	copy_spy.calls = 0;
	check_success(h2d_group_publish(nest.all, fixture_stream, (int64_t[]){16, 5, 1}, NULL));
	ck_assert_uint_eq(copy_spy.calls, 3);
	check_success(h2d_owner_finish(nest.owner, fixture_stream));
	for (int i = 0; i < 3; i++) {
		static const size_t counts[] = {16, 5, 1};
		int32_t *values = h2d_buffer_device(nest.buffers[i]);

		expect_values(values, 0, counts[i], 71 + i);
		expect_values(values + counts[i], 0, 16 - counts[i], 0);
	}
}
END_TEST

START_TEST(selection_keeps_a_transport_that_the_backend_would_not_give)
{
	struct nest nest = nest_make(H2D_BACKEND_DIRECT);

	check_success(h2d_group_use_transport(nest.all, (h2d_backend_t)_i, NULL));
	check_success(h2d_owner_select_transports(nest.owner));
	ck_assert_int_eq(h2d_group_transport(nest.all), _i);
	ck_assert_int_eq(h2d_group_transport(nest.pair), H2D_BACKEND_DIRECT);
}
END_TEST

/* What selection gives does not depend on what it gave before a rebuild. */
START_TEST(covered_groups_lose_their_arena)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);
	h2d_buffer_t *c;
	h2d_group_t *all = NULL;
	void *arena;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	arena = (void *)(uintptr_t)copy_spy.source;
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_rebuild(pair.owner));
	c = case_buffer(pair.owner, "c", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(pair.owner, "all", (h2d_buffer_t *[]){c, pair.b, pair.a}, 3,
				       &all));
	check_success(h2d_owner_select_transports(pair.owner));
	ck_assert_int_eq(h2d_group_transport(all), H2D_BACKEND_PACKED);
	ck_assert_int_eq(h2d_group_transport(pair.group), H2D_BACKEND_DIRECT);
	check_fails(h2d_device_free(fixture_device, arena), H2D_STATUS_INVALID_ARGUMENT,
		    "was not allocated");
}
END_TEST

static Suite *recordings_suite(void)
{
	Suite *suite = suite_create("recordings and arenas");
	TCase *tcase = tcase_create("recordings");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, recordings_keep_buffers_and_their_owner, 0, BACKENDS);
	tcase_add_loop_test(tcase, graphs_replay_across_a_rebuild, 0, BACKENDS);
	tcase_add_loop_test(tcase, failed_owner_is_kept_by_a_recording_too, 0, BACKENDS);
	tcase_add_test(tcase, failed_captures_and_streams_without_one_keep_nothing);
	tcase_add_loop_test(tcase, selection_leaves_chosen_transports_alone, 0, BACKENDS);
	tcase_add_loop_test(tcase, selection_keeps_a_transport_that_the_backend_would_not_give, 0,
			    BACKENDS);
	tcase_add_test(tcase, covered_groups_lose_their_arena);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(recordings_suite());
}
