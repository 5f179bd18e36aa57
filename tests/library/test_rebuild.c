/* SPDX-License-Identifier: MIT */
/* Rebuilding an owner: buffers and groups destroyed and made again between two epochs. */
#include <stdio.h>

#include "copy_spy.h"
#include "publication_case.h"
#include "publish/owner.h"

/* ---- the owner ------------------------------------------------------------------------------- */

START_TEST(rebuilt_owner_publishes_old_and_new_buffers)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_buffer_t *bytes, *rows;
	h2d_group_t *group = NULL;
	int32_t expected_rows[6 * 3] = {0};
	uint8_t expected_bytes[100] = {0};

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 12);
	check_success(publish_two(pair.group, fixture_stream, 16, 9));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_rebuild(pair.owner));
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_IDLE);
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 1);
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair.a), 0);

	check_success(h2d_group_destroy(pair.group));
	check_success(h2d_buffer_destroy(pair.b));
	bytes = case_buffer(pair.owner, "b", 1, 100, 0, H2D_COUNT_BYTES);
	rows = case_buffer(pair.owner, "rows", 4, 6, 3, H2D_COUNT_ROWS);
	check_success(h2d_group_create(pair.owner, "three", (h2d_buffer_t *[]){rows, pair.a, bytes},
				       3, &group));
	check_success(h2d_owner_select_transports(pair.owner));
	ck_assert_int_eq(h2d_group_transport(group), _i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 2);
	fill_source(pair.a, 21);
	fill_source_bytes(bytes, 22);
	fill_source(rows, 23);
	check_success(h2d_group_publish(group, fixture_stream, (int64_t[]){4, 5, 99}, NULL));
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair.a), 2);
	check_fails(h2d_buffer_publish(bytes, fixture_stream, 1, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "'b'");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 5, 21);
	expect_values(h2d_buffer_device(pair.a), 5, 16, 11);
	memset(expected_bytes, 22, 99);
	expect_bytes(h2d_buffer_device(bytes), expected_bytes, 100);
	for (int i = 0; i < 4 * 3; i++)
		expected_rows[i] = 23;
	expect_bytes(h2d_buffer_device(rows), expected_rows, sizeof(expected_rows));
}
END_TEST

static void publish_with(const struct pair *pair, h2d_backend_t transport, int32_t value)
{
	h2d_backend_t chosen;

	check_success(h2d_group_use_transport(pair->group, transport, &chosen));
	ck_assert_int_eq(chosen, transport);
	check_success(h2d_owner_begin(pair->owner, fixture_stream));
	fill_source(pair->a, value);
	fill_source(pair->b, value + 1);
	check_success(publish_two(pair->group, fixture_stream, 16, 9));
	check_success(h2d_owner_finish(pair->owner, fixture_stream));
	expect_values(h2d_buffer_device(pair->a), 0, 16, value);
	expect_values(h2d_buffer_device(pair->b), 0, 9, value + 1);
	check_success(h2d_owner_rebuild(pair->owner));
}

/* From each transport to each and back: counts that stay the same are not taken for described. */
START_TEST(changed_transport_publishes_unchanged_counts)
{
	const h2d_backend_t from = (h2d_backend_t)(_i / BACKENDS);
	const h2d_backend_t to = (h2d_backend_t)(_i % BACKENDS);
	struct pair pair = pair_open("slot", from);

	publish_with(&pair, from, 11);
	publish_with(&pair, to, 21);
	publish_with(&pair, to, 31);
	publish_with(&pair, from, 41);
	publish_with(&pair, to, 51);
	expect_values(h2d_buffer_device(pair.b), 9, 16, 0);
}
END_TEST

/* The same where a selection takes the transport away, for a larger group, and gives it back. */
START_TEST(selected_again_publishes_unchanged_counts)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);
	h2d_buffer_t *third;
	h2d_group_t *larger = NULL;

	for (int32_t value = 11; value < 41; value += 10) {
		ck_assert_int_eq(h2d_group_transport(pair.group),
				 larger ? H2D_BACKEND_DIRECT : H2D_BACKEND_PACKED);
		check_success(h2d_owner_begin(pair.owner, fixture_stream));
		fill_source(pair.a, value);
		fill_source(pair.b, value + 1);
		check_success(publish_two(pair.group, fixture_stream, 16, 16));
		check_success(h2d_owner_finish(pair.owner, fixture_stream));
		expect_values(h2d_buffer_device(pair.a), 0, 16, value);
		expect_values(h2d_buffer_device(pair.b), 0, 16, value + 1);
		check_success(h2d_owner_rebuild(pair.owner));
		if (larger) {
			check_success(h2d_group_destroy(larger));
			larger = NULL;
		} else if (value == 11) {
			third = case_buffer(pair.owner, "c", 4, 16, 0, H2D_COUNT_ROWS);
			check_success(h2d_group_create(pair.owner, "larger",
						       (h2d_buffer_t *[]){pair.a, pair.b, third}, 3,
						       &larger));
		}
		check_success(h2d_owner_select_transports(pair.owner));
	}
}
END_TEST

/* The consumer was enqueued after finish: its sources are freed right after the rebuild. */
START_TEST(rebuild_waits_for_all_work_on_the_stream)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	int32_t values[16];
	void *copy;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 31);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	delay(fixture_stream, 20);
	copy = consume(fixture_stream, h2d_buffer_device(pair.a), sizeof(values));
	check_success(h2d_owner_rebuild(pair.owner));
	check_success(h2d_group_destroy(pair.group));
	check_success(h2d_buffer_destroy(pair.a));
	/* Not in the order of the stream: whatever is there now. */
	check_success(h2d_device_read(fixture_device, values, copy, sizeof(values),
				      H2D_DEFAULT_TIMEOUT_NS));
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(values[i], 31);
}
END_TEST

START_TEST(rebuild_that_times_out_fails_the_owner)
{
	h2d_owner_t *owner = case_owner(&(h2d_owner_options_t){
		.name = "slot", .backend = (h2d_backend_t)_i, .timeout_ns = 50000000});
	h2d_buffer_t *buffer = case_buffer(owner, "a", 4, 16, 0, H2D_COUNT_ROWS);

	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	gate_close(fixture_stream);
	check_success(h2d_buffer_publish(buffer, fixture_stream, 16, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	check_fails(h2d_owner_rebuild(owner), H2D_STATUS_TIMEOUT, "rebuild, owner 'slot', epoch 1");
	ck_assert_int_eq(h2d_owner_state(owner), H2D_OWNER_FAILED);
	check_fails(h2d_owner_rebuild(owner), H2D_STATUS_INVALID_STATE, "cannot rebuild");
	check_fails(h2d_buffer_destroy(buffer), H2D_STATUS_INVALID_STATE, "failed");
	check_fails(h2d_owner_destroy(owner), H2D_STATUS_INVALID_STATE, "drain it first");
	gate_open();
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success_in_time(h2d_owner_drain(owner));
}
END_TEST

START_TEST(states_and_captures_refuse_a_rebuild)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_graph_t *graph = NULL;

	check_fails(h2d_owner_rebuild(NULL), H2D_STATUS_INVALID_ARGUMENT, "NULL");
	check_success(h2d_owner_rebuild(pair.owner));
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 0);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_fails(h2d_owner_rebuild(pair.owner), H2D_STATUS_INVALID_STATE,
		    "cannot rebuild: owner 'slot' is active");
	check_fails(h2d_group_destroy(pair.group), H2D_STATUS_INVALID_STATE, "active");
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE, "active");
	fill_source(pair.a, 41);
	check_success(publish_two(pair.group, fixture_stream, 16, 0));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_group_destroy(pair.group), H2D_STATUS_INVALID_STATE, "sealed");
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE, "sealed");

	check_success(h2d_graph_begin_capture(fixture_stream));
	check_fails(h2d_owner_rebuild(pair.owner), H2D_STATUS_CAPTURE_ACTIVE, "capture");
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_SEALED);
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_graph_destroy(graph));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 41);
	check_success(h2d_owner_rebuild(pair.owner));

	check_success(h2d_owner_fail(pair.owner));
	check_fails(h2d_owner_rebuild(pair.owner), H2D_STATUS_INVALID_STATE,
		    "cannot rebuild: owner 'slot' is failed");
	check_success(h2d_owner_drain(pair.owner));
}
END_TEST

/* An idle owner holds no stream, and its next epoch may be on another. */
START_TEST(rebuilt_owner_may_change_its_stream)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_stream_t *stream = NULL;

	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	check_success(h2d_owner_begin(pair.owner, stream));
	fill_source(pair.a, 51);
	check_success(publish_two(pair.group, stream, 3, 0));
	check_success(h2d_owner_finish(pair.owner, stream));
	check_fails(h2d_stream_destroy(stream), H2D_STATUS_INVALID_STATE, "1 owners");
	check_success(h2d_owner_rebuild(pair.owner));
	check_success(h2d_stream_destroy(stream));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 52);
	check_success(publish_two(pair.group, fixture_stream, 2, 0));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 2, 52);
	expect_values((int32_t *)h2d_buffer_device(pair.a) + 2, 0, 1, 51);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* Of memory that is still allocated, this would be a success. */
static void expect_freed(void *memory)
{
	check_fails(h2d_device_free(fixture_device, memory), H2D_STATUS_INVALID_ARGUMENT,
		    "was not allocated");
}

START_TEST(destroyed_objects_free_their_memory)
{
	struct pair pair = pair_open("slot", H2D_BACKEND_PACKED);
	void *host = h2d_buffer_host(pair.a), *device = h2d_buffer_device(pair.a);
	void *arena;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	arena = (void *)(uintptr_t)copy_spy.source;
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_rebuild(pair.owner));
	check_fails(h2d_buffer_destroy(pair.a), H2D_STATUS_INVALID_STATE,
		    "buffer 'a' of owner 'slot' is in group 'pair'");
	check_success(h2d_group_destroy(pair.group));
	expect_freed(arena);
	check_success(h2d_buffer_destroy(pair.a));
	expect_freed(host);
	expect_freed(device);
	check_success(h2d_buffer_destroy(NULL));
	check_success(h2d_group_destroy(NULL));
}
END_TEST

static h2d_status_t wrap(h2d_owner_t *owner, void *host, void *device, h2d_buffer_t **buffer)
{
	h2d_buffer_description_t description = {
		.name = "wrapped", .element_size = 4, .dimensions = 1, .shape = {16}};

	return h2d_buffer_wrap(owner, &description, host, device, buffer);
}

START_TEST(wrapped_memory_can_be_registered_again)
{
	h2d_owner_t *first = case_owner_of("first", (h2d_backend_t)_i);
	h2d_owner_t *second = case_owner_of("second", (h2d_backend_t)_i);
	int32_t *host = case_host_memory(64), *device = case_device_memory(64);
	h2d_buffer_t *buffer = NULL;

	check_success(wrap(first, host, device, &buffer));
	check_fails(wrap(second, host, device, &buffer), H2D_STATUS_OVERLAP, "first");
	check_success(h2d_owner_begin(first, fixture_stream));
	fill_source(buffer, 61);
	check_success(h2d_buffer_publish(buffer, fixture_stream, 16, NULL));
	check_success(h2d_owner_finish(first, fixture_stream));
	check_success(h2d_owner_rebuild(first));
	check_success(h2d_buffer_destroy(buffer));
	ck_assert_int_eq(host[15], 61);
	expect_values(device, 0, 16, 61);

	check_success(wrap(second, host, device, &buffer));
	check_fails(wrap(first, host, device, &buffer), H2D_STATUS_OVERLAP, "second");
	check_success(h2d_owner_begin(second, fixture_stream));
	fill_source(buffer, 62);
	check_success(h2d_buffer_publish(buffer, fixture_stream, 15, NULL));
	check_success(h2d_owner_finish(second, fixture_stream));
	expect_values(device, 0, 15, 62);
	expect_values(device + 15, 0, 1, 61);
}
END_TEST

/* ---- many rebuilds --------------------------------------------------------------------------- */

#define MODEL_BUFFERS 150 /* of which about 90 exist: two words of the ledger */
#define MODEL_BYTES   300
#define MODEL_ROUNDS  12

struct model {
	uint64_t random;
	h2d_owner_t *owner;
	h2d_buffer_t *buffers[MODEL_BUFFERS]; /* NULL: does not exist */
	uint8_t expected[MODEL_BUFFERS][MODEL_BYTES];
	unsigned int created;
};

static uint64_t model_random(struct model *model, uint64_t low, uint64_t high)
{
	return fixture_random_between(&model->random, low, high);
}

/* Destroys about a third of the buffers, and makes about half of those that do not exist. */
static void model_exchange_buffers(struct model *model)
{
	for (int i = 0; i < MODEL_BUFFERS; i++) {
		char name[24];

		if (model->buffers[i] && model_random(model, 0, 2) == 0) {
			check_success(h2d_buffer_destroy(model->buffers[i]));
			model->buffers[i] = NULL;
		} else if (!model->buffers[i] && model_random(model, 0, 1) == 0) {
			snprintf(name, sizeof(name), "%d", i);
			model->buffers[i] = case_buffer(model->owner, name, 1,
							model_random(model, 1, MODEL_BYTES), 0,
							H2D_COUNT_BYTES);
			memset(model->expected[i], 0, MODEL_BYTES);
			model->created++;
		}
	}
}

/* Writes a random source and count, and what the destination will hold. */
static int64_t model_write(struct model *model, int index)
{
	h2d_buffer_t *buffer = model->buffers[index];
	uint64_t count = model_random(model, 0, h2d_buffer_capacity(buffer));

	fixture_random_bytes(&model->random, h2d_buffer_host(buffer), h2d_buffer_capacity(buffer));
	memcpy(model->expected[index], h2d_buffer_host(buffer), count);
	return (int64_t)count;
}

/* One group of a random half of the buffers; the others are published alone or not at all. */
static void model_epoch(struct model *model)
{
	h2d_buffer_t *members[MODEL_BUFFERS];
	int64_t counts[MODEL_BUFFERS];
	int indices[MODEL_BUFFERS];
	h2d_group_t *group = NULL;
	uint32_t size = 0;

	for (int i = 0; i < MODEL_BUFFERS; i++) {
		if (!model->buffers[i] || model_random(model, 0, 1) == 0)
			continue;
		indices[size] = i;
		members[size++] = model->buffers[i];
	}
	check_success(h2d_group_create(model->owner, "some", members, size, &group));
	check_success(h2d_owner_select_transports(model->owner));
	check_success(h2d_owner_begin(model->owner, fixture_stream));
	for (int i = 0; i < MODEL_BUFFERS; i++) {
		int64_t count;

		if (!model->buffers[i] || model_random(model, 0, 3) != 0 ||
		    h2d_group_set_count(group, model->buffers[i], 0) == H2D_STATUS_SUCCESS)
			continue;
		count = model_write(model, i);
		check_success(h2d_buffer_publish(model->buffers[i], fixture_stream, count, NULL));
	}
	for (uint32_t i = 0; i < size; i++)
		counts[i] = model_write(model, indices[i]);
	check_success(h2d_group_publish(group, fixture_stream, counts, NULL));
	check_success(h2d_owner_finish(model->owner, fixture_stream));
	check_success(h2d_owner_rebuild(model->owner));
	check_success(h2d_group_destroy(group));
}

START_TEST(random_rebuilds_keep_every_byte)
{
	struct model model = {.random = fixture_seed() + (uint64_t)_i};

	model.owner = case_owner_of("slot", (h2d_backend_t)_i);
	for (int round = 0; round < MODEL_ROUNDS; round++) {
		model_exchange_buffers(&model);
		model_epoch(&model);
		ck_assert_uint_eq(h2d_owner_epoch(model.owner), (uint64_t)round + 1);
		for (int i = 0; i < MODEL_BUFFERS; i++)
			if (model.buffers[i])
				expect_bytes(h2d_buffer_device(model.buffers[i]), model.expected[i],
					     buffer_size(model.buffers[i]));
	}
	ck_assert_uint_gt(model.created, 2 * MODEL_BUFFERS);
	/* The bits of destroyed buffers are used again. */
	ck_assert_uint_eq(model.owner->ledger_words, 2);
}
END_TEST

static Suite *rebuild_suite(void)
{
	Suite *suite = suite_create("rebuilt owners");
	TCase *tcase = tcase_create("rebuild");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, rebuilt_owner_publishes_old_and_new_buffers, 0, BACKENDS);
	tcase_add_loop_test(tcase, changed_transport_publishes_unchanged_counts, 0,
			    BACKENDS * BACKENDS);
	tcase_add_test(tcase, selected_again_publishes_unchanged_counts);
	tcase_add_loop_test(tcase, rebuild_waits_for_all_work_on_the_stream, 0, BACKENDS);
	tcase_add_loop_test(tcase, rebuild_that_times_out_fails_the_owner, 0, BACKENDS);
	tcase_add_loop_test(tcase, states_and_captures_refuse_a_rebuild, 0, BACKENDS);
	tcase_add_loop_test(tcase, rebuilt_owner_may_change_its_stream, 0, BACKENDS);
	tcase_add_test(tcase, destroyed_objects_free_their_memory);
	tcase_add_loop_test(tcase, wrapped_memory_can_be_registered_again, 0, BACKENDS);
	tcase_add_loop_test(tcase, random_rebuilds_keep_every_byte, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(rebuild_suite());
}
