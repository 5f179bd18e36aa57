/* SPDX-License-Identifier: MIT */
/* The publication contract: counts, the ledger, values and untouched bytes, under each backend. */
#include <stdio.h>

#include "publication_case.h"

#define OMITTED H2D_COUNT_OMITTED

/* ---- validation ------------------------------------------------------------------------------ */

static const int64_t bad_counts[] = {-1, 17, INT64_MAX, INT64_MIN + 1};
#define BAD_COUNTS ((int)(sizeof(bad_counts) / sizeof(bad_counts[0])))

START_TEST(P01_group_validation_is_atomic_and_retryable)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)(_i % BACKENDS));
	int64_t bad = bad_counts[_i / BACKENDS];
	char value[32];

	snprintf(value, sizeof(value), "count %lld", (long long)bad);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	fill_source(pair.b, 22);
	check_success(h2d_group_set_count(pair.group, pair.a, 8));
	check_success(h2d_group_set_count(pair.group, pair.b, bad));
	check_fails(h2d_group_publish(pair.group, fixture_stream, NULL, NULL),
		    H2D_STATUS_OUT_OF_RANGE, "'b' of group 'pair', owner 'slot'");
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), value));
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "16], its capacity"));
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 16, 0);
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair.a), 0);

	check_success(h2d_group_set_count(pair.group, pair.b, 8));
	check_success(h2d_group_publish(pair.group, fixture_stream, NULL, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 8, 11);
	expect_values(h2d_buffer_device(pair.a), 8, 16, 0);
	expect_values(h2d_buffer_device(pair.b), 0, 8, 22);
	expect_values(h2d_buffer_device(pair.b), 8, 16, 0);
	ck_assert_uint_eq(h2d_buffer_published_epoch(pair.a), 1);
}
END_TEST

START_TEST(P02_direct_and_groups_share_epoch_including_later_phases)
{
	struct pair pair = pair_make("slot", (h2d_backend_t)_i);
	h2d_group_t *other = NULL;

	check_success(h2d_group_create(pair.owner, "other", &pair.a, 1, &other));
	check_success(h2d_owner_select_transports(pair.owner));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_buffer_publish(pair.a, fixture_stream, 8, NULL));
	check_fails(publish_two(pair.group, fixture_stream, 8, 8), H2D_STATUS_ALREADY_PUBLISHED,
		    "republish_reason");
	check_success(h2d_buffer_publish(pair.b, fixture_stream, 8, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_resume(pair.owner, fixture_stream));
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 1);
	check_fails(h2d_group_publish(other, fixture_stream, (int64_t[]){8}, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "cannot begin");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
}
END_TEST

START_TEST(P04_omitted_members_differ_from_explicit_empty_publication)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_publication_totals_t before, after;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	h2d_owner_get_totals(pair.owner, &before);
	check_success(publish_two(pair.group, fixture_stream, OMITTED, OMITTED));
	check_success(publish_two(pair.group, fixture_stream, 0, OMITTED));
	h2d_owner_get_totals(pair.owner, &after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 0, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	fill_source(pair.b, 22);
	check_success(h2d_buffer_publish(pair.b, fixture_stream, 8, NULL));
	expect_values(h2d_buffer_device(pair.b), 0, 8, 22);
	fill_destination_bytes(pair.b, 0xa8);
	check_success(publish_two(pair.group, fixture_stream, OMITTED, OMITTED));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.b), 0, 16, (int32_t)0xa8a8a8a8);
	expect_values(h2d_buffer_device(pair.a), 0, 16, 0);
}
END_TEST

/* After an explicit zero the source stays writable, but a second publication needs its reason. */
START_TEST(P04_explicit_zero_keeps_the_source_writable)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(publish_two(pair.group, fixture_stream, 0, 16));
	check_success(h2d_buffer_acquire_write(pair.a, fixture_stream, "corrected"));
	fill_source(pair.a, 5);
	check_success(h2d_group_publish(pair.group, fixture_stream, (int64_t[]){3, OMITTED},
					(const char *[]){"corrected", NULL}));
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 3, "again"),
		    H2D_STATUS_SOURCE_IN_USE, "acquire_write");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 3, 5);
	expect_values(h2d_buffer_device(pair.a), 3, 16, 0);
}
END_TEST

START_TEST(P05_reason_does_not_release_source_and_reacquire_does_not_reset_ledger)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	void *first;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	check_success(h2d_buffer_publish_rows(pair.a, fixture_stream, -1, NULL));
	first = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 16, "corrected"),
		    H2D_STATUS_SOURCE_IN_USE, "acquire_write");
	check_fails(h2d_buffer_acquire_write(pair.a, fixture_stream, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_fails(h2d_buffer_acquire_write(pair.a, fixture_stream, " \t\n"),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_buffer_acquire_write(pair.a, fixture_stream, "corrected"));
	fill_source(pair.a, 22);
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 16, NULL),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_fails(h2d_buffer_publish(pair.a, fixture_stream, 16, "  "),
		    H2D_STATUS_ALREADY_PUBLISHED, "republish_reason");
	check_success(h2d_buffer_publish(pair.a, fixture_stream, 16, "corrected"));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(first, 0, 16, 11);
	expect_values(h2d_buffer_device(pair.a), 0, 16, 22);
}
END_TEST

START_TEST(check_writable_asks_for_every_member_and_grants_nothing)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	check_fails(h2d_group_check_writable(pair.group, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "idle");
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_group_check_writable(pair.group, fixture_stream));
	check_success(h2d_buffer_publish(pair.b, fixture_stream, 0, NULL));
	check_fails(h2d_group_check_writable(pair.group, fixture_stream),
		    H2D_STATUS_ALREADY_PUBLISHED, "'b' of group 'pair'");
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_group_check_writable(pair.group, fixture_stream), H2D_STATUS_INVALID_STATE,
		    "sealed");
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_group_check_writable(pair.group, fixture_stream));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
}
END_TEST

START_TEST(counts_persist_and_belong_to_members)
{
	struct pair pair = pair_make("slot", (h2d_backend_t)_i);
	h2d_buffer_t *stranger = case_buffer(pair.owner, "stranger", 4, 16, 0, H2D_COUNT_ROWS);

	check_success(h2d_owner_select_transports(pair.owner));
	check_fails(h2d_group_set_count(pair.group, stranger, 1), H2D_STATUS_NOT_FOUND,
		    "'stranger'");
	check_success(h2d_group_set_count(pair.group, pair.a, 2));
	fill_source(pair.a, 1);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(h2d_group_publish(pair.group, fixture_stream, NULL, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 2);
	check_success(h2d_group_publish(pair.group, fixture_stream, NULL, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 2, 2);
	expect_values(h2d_buffer_device(pair.a), 2, 16, 0);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	h2d_group_reset_counts(pair.group);
	fill_source(pair.a, 3);
	check_success(h2d_group_publish(pair.group, fixture_stream, NULL, NULL));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(h2d_buffer_device(pair.a), 0, 2, 2);
}
END_TEST

/* ---- representation -------------------------------------------------------------------------- */

static const size_t element_sizes[] = {4, 8, 4, 2, 1}; /* int32, int64, f32, bf16, bool */
#define ELEMENT_SIZES ((int)(sizeof(element_sizes) / sizeof(element_sizes[0])))

START_TEST(P09_mixed_representation_is_bitwise_and_tail_preserved)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)(_i % BACKENDS));
	size_t element_size = element_sizes[_i / BACKENDS], size = 7 * element_size, i;
	h2d_buffer_t *a = case_buffer(owner, "a", element_size, 7, 0, H2D_COUNT_BYTES);
	h2d_buffer_t *b = case_buffer(owner, "b", element_size, 7, 0, H2D_COUNT_BYTES);
	uint8_t expected[7 * 8], *source = h2d_buffer_host(a);
	h2d_group_t *group = NULL;

	check_success(h2d_group_create(owner, "pair", (h2d_buffer_t *[]){a, b}, 2, &group));
	check_success(h2d_owner_select_transports(owner));
	fill_destination_bytes(a, 197);
	fill_destination_bytes(b, 197);
	check_success(h2d_owner_begin(owner, fixture_stream));
	for (i = 0; i < size; i++)
		source[i] = expected[i] = (uint8_t)(i * 31);
	expected[size - 1] = 197;
	check_success(publish_two(group, fixture_stream, (int64_t)size - 1, OMITTED));
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_bytes(h2d_buffer_device(a), expected, size);
	memset(expected, 197, sizeof(expected));
	expect_bytes(h2d_buffer_device(b), expected, size);
}
END_TEST

START_TEST(P10_rows_and_flat_prefix_are_distinct_and_legacy_copy_keeps_rows)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *a = case_buffer(owner, "a", 4, 3, 16, H2D_COUNT_ELEMENTS);
	h2d_buffer_t *b = case_buffer(owner, "b", 4, 3, 16, H2D_COUNT_ELEMENTS);
	h2d_group_t *group = NULL;

	check_success(h2d_group_create(owner, "pair", (h2d_buffer_t *[]){a, b}, 2, &group));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	fill_source(a, 11);
	fill_source(b, 22);
	check_success(publish_two(group, fixture_stream, 15, OMITTED));
	check_fails(h2d_buffer_publish_rows(b, fixture_stream, 4, NULL), H2D_STATUS_OUT_OF_RANGE,
		    "4 rows, but its capacity is 3");
	check_success(h2d_buffer_publish_rows(b, fixture_stream, 1, NULL));
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_values(h2d_buffer_device(a), 0, 15, 11);
	expect_values(h2d_buffer_device(a), 15, 48, 0);
	expect_values(h2d_buffer_device(b), 0, 16, 22);
	expect_values(h2d_buffer_device(b), 16, 48, 0);
}
END_TEST

static const h2d_count_unit_t units[] = {H2D_COUNT_ROWS, H2D_COUNT_ELEMENTS, H2D_COUNT_BYTES};
static const int64_t counts_per_row[] = {1, 3, 12};
#define UNITS 3

START_TEST(P17_repeated_and_changing_prefixes_preserve_contents_and_tail)
{
	static const unsigned int rows[] = {1, 2, 3, 4, 5, 6, 2, 2, 0, 7};
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)(_i % BACKENDS));
	h2d_buffer_t *a = case_buffer(owner, "a", 4, 7, 3, units[_i / BACKENDS]);
	h2d_buffer_t *b = case_buffer(owner, "b", 4, 7, 3, units[_i / BACKENDS]);
	int32_t expected_a[21] = {0}, expected_b[21] = {0};
	h2d_group_t *group = NULL;
	unsigned int step, i;

	check_success(h2d_group_create(owner, "pair", (h2d_buffer_t *[]){a, b}, 2, &group));
	check_success(h2d_owner_select_transports(owner));
	for (step = 0; step < sizeof(rows) / sizeof(rows[0]); step++) {
		int64_t count = rows[step] * counts_per_row[_i / BACKENDS];

		check_success(h2d_owner_begin(owner, fixture_stream));
		fill_source(a, (int32_t)step + 1);
		fill_source(b, -(int32_t)step - 1);
		/* Alternately alone and together with b. */
		check_success(
			publish_two(group, fixture_stream, count, step % 2 ? count : OMITTED));
		check_success(h2d_owner_finish(owner, fixture_stream));
		for (i = 0; i < 3 * rows[step]; i++) {
			expected_a[i] = (int32_t)step + 1;
			if (step % 2)
				expected_b[i] = -(int32_t)step - 1;
		}
		expect_bytes(h2d_buffer_device(a), expected_a, sizeof(expected_a));
		expect_bytes(h2d_buffer_device(b), expected_b, sizeof(expected_b));
	}
}
END_TEST

/* A scalar, an empty buffer and an empty group take part like any other. */
START_TEST(degenerate_shapes_publish)
{
	h2d_owner_t *owner = case_owner_of("slot", (h2d_backend_t)_i);
	h2d_buffer_t *scalar = NULL, *empty = NULL;
	h2d_group_t *group = NULL, *nobody = NULL;
	const int64_t value = -5;

	check_success(h2d_buffer_allocate(
		owner, &(h2d_buffer_description_t){.name = "scalar", .element_size = 8}, &scalar));
	check_success(h2d_buffer_allocate(
		owner,
		&(h2d_buffer_description_t){
			.name = "empty", .element_size = 4, .dimensions = 2, .shape = {4, 0}},
		&empty));
	ck_assert_uint_eq(h2d_buffer_capacity(scalar), 1);
	ck_assert_uint_eq(h2d_buffer_capacity(empty), 4);
	ck_assert_uint_eq(h2d_buffer_bytes_per_count(empty), 0);
	check_success(
		h2d_group_create(owner, "both", (h2d_buffer_t *[]){scalar, empty}, 2, &group));
	check_success(h2d_group_create(owner, "nobody", NULL, 0, &nobody));
	check_success(h2d_owner_select_transports(owner));
	check_success(h2d_owner_begin(owner, fixture_stream));
	memcpy(h2d_buffer_host(scalar), &value, sizeof(value));
	check_success(h2d_group_publish(nobody, fixture_stream, NULL, NULL));
	check_success(publish_two(group, fixture_stream, 1, 4));
	ck_assert_uint_eq(h2d_buffer_published_epoch(empty), 1);
	check_success(h2d_owner_finish(owner, fixture_stream));
	expect_bytes(h2d_buffer_device(scalar), &value, sizeof(value));
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

START_TEST(P19_delayed_gpu_different_buffers_and_explicit_republication)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	void *first, *second;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	delay(fixture_stream, 20);
	fill_source(pair.a, 11);
	check_success(publish_two(pair.group, fixture_stream, 16, OMITTED));
	first = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	fill_source(pair.b, 22);
	check_success(publish_two(pair.group, fixture_stream, OMITTED, 16));
	second = consume(fixture_stream, h2d_buffer_device(pair.b), 64);
	check_success(h2d_buffer_acquire_write(pair.a, fixture_stream, "corrected"));
	fill_source(pair.a, 33);
	check_success(h2d_buffer_publish(pair.a, fixture_stream, 16, "corrected"));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	expect_values(first, 0, 16, 11);
	expect_values(second, 0, 16, 22);
	expect_values(h2d_buffer_device(pair.a), 0, 16, 33);
}
END_TEST

START_TEST(P20_slot_rotation_waits_before_payload_changes)
{
	struct pair slots[2];
	void *copies[8][2];
	int epoch;

	slots[0] = pair_open("slot 0", (h2d_backend_t)_i);
	slots[1] = pair_open("slot 1", (h2d_backend_t)_i);
	for (epoch = 0; epoch < 8; epoch++) {
		struct pair *pair = &slots[epoch % 2];

		check_success(h2d_owner_begin(pair->owner, fixture_stream));
		fill_source(pair->a, epoch);
		fill_source(pair->b, 100 + epoch);
		delay(fixture_stream, 3);
		/* Alone in one epoch, packed with the other in the next. */
		check_success(
			publish_two(pair->group, fixture_stream, 16, epoch % 4 < 2 ? OMITTED : 16));
		copies[epoch][0] = consume(fixture_stream, h2d_buffer_device(pair->a), 64);
		copies[epoch][1] = consume(fixture_stream, h2d_buffer_device(pair->b), 64);
		check_success(h2d_owner_finish(pair->owner, fixture_stream));
	}
	for (epoch = 0; epoch < 8; epoch++) {
		expect_values(copies[epoch][0], 0, 16, epoch);
		/* Alone, a leaves b as it was two epochs ago. */
		expect_values(copies[epoch][1], 0, 16,
			      epoch < 2 ? 0 : 100 + (epoch % 4 < 2 ? epoch - 2 : epoch));
	}
}
END_TEST

/* A consumer that is still to read the last values must not see the next ones. */
START_TEST(publication_waits_for_earlier_consumers_of_its_destinations)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)(_i / 2));
	int64_t other = _i % 2 ? 16 : OMITTED; /* together, or one member alone */
	void *first, *second;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	check_success(publish_two(pair.group, fixture_stream, 16, other));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_stream_synchronize(fixture_stream));

	gate_close(fixture_stream);
	first = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 22);
	check_success(publish_two(pair.group, fixture_stream, 16, other));
	second = consume(fixture_stream, h2d_buffer_device(pair.a), 64);
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	sleep_ms(20); /* for a copy that waits for nothing to land */
	gate_open();
	expect_values(first, 0, 16, 11);
	expect_values(second, 0, 16, 22);
}
END_TEST

/* A consumer that runs already but reads late: nothing but a barrier bit waits for it. */
struct late_reader {
	h2d_code_object_t *kernels;
	uint32_t *flag;
	void *copy;
};

/* Dispatches a reader of 16 elements. */
static struct late_reader start_reader(const void *source)
{
	struct late_reader reader = {
		.kernels = fixture_load_kernels(),
		.flag = case_host_memory(sizeof(*reader.flag)),
		.copy = case_device_memory(64),
	};
	struct {
		const void *flag, *destination, *source;
		uint32_t count;
	} *arguments = case_host_memory(sizeof(*arguments));
	h2d_dispatch_t dispatch = {
		.kernel = fixture_kernel(reader.kernels, "copy_after_flag"),
		.grid_size = {1, 1, 1},
		.workgroup_size = {1, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size = sizeof(*arguments),
	};

	arguments->flag = reader.flag;
	arguments->destination = reader.copy;
	arguments->source = source;
	arguments->count = 16;
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
	return reader;
}

static void let_read(struct late_reader *reader)
{
	/* Release pairs with the kernel's load. */
	__atomic_store_n(reader->flag, 1, __ATOMIC_RELEASE);
	check_success(h2d_stream_synchronize(fixture_stream));
	check_success(h2d_code_object_unload(reader->kernels));
}

START_TEST(publication_waits_for_running_consumers_of_its_destinations)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)(_i / 2));
	int64_t other = _i % 2 ? 16 : OMITTED; /* together, or one member alone */
	struct late_reader reader;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	check_success(publish_two(pair.group, fixture_stream, 16, other));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	reader = start_reader(h2d_buffer_device(pair.a));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 22);
	check_success(publish_two(pair.group, fixture_stream, 16, other));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	sleep_ms(20); /* for a dispatch or copy that waits for nothing to land */
	let_read(&reader);
	expect_values(reader.copy, 0, 16, 11);
	expect_values(h2d_buffer_device(pair.a), 0, 16, 22);
}
END_TEST

/* record() makes the next begin wait for what was enqueued since finish(). */
START_TEST(record_covers_the_work_of_the_forward)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	h2d_owner_t *hasty = case_owner(&(h2d_owner_options_t){
		.name = "hasty", .backend = (h2d_backend_t)_i, .timeout_ns = 20000000});
	struct late_reader reader;

	check_fails(h2d_owner_record(hasty, fixture_stream), H2D_STATUS_INVALID_STATE, "idle");
	check_success(h2d_owner_begin(hasty, fixture_stream));
	check_success(h2d_owner_finish(hasty, fixture_stream));
	reader = start_reader(h2d_buffer_device(pair.a));
	check_success(h2d_owner_record(hasty, fixture_stream)); /* finish() was before the reader */
	check_fails(h2d_owner_begin(hasty, fixture_stream), H2D_STATUS_TIMEOUT, "'hasty'");
	ck_assert_int_eq(h2d_owner_state(hasty), H2D_OWNER_FAILED);
	let_read(&reader);
	check_success_in_time(h2d_owner_drain(hasty));
}
END_TEST

START_TEST(P21_publish_before_graph_replay_and_reject_actual_capture)
{
	static const int32_t values[] = {11, 22, 33};
	static const int64_t counts[] = {16, 8, 0};
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);
	void *address = h2d_buffer_device(pair.a), *output;
	h2d_graph_t *graph = NULL;
	int epoch;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 1);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	check_success(h2d_graph_begin_capture(fixture_stream));
	output = consume(fixture_stream, address, 64);
	check_fails(publish_two(pair.group, fixture_stream, OMITTED, OMITTED),
		    H2D_STATUS_CAPTURE_ACTIVE, "actual graph capture");
	check_fails(h2d_owner_finish(pair.owner, fixture_stream), H2D_STATUS_CAPTURE_ACTIVE,
		    "actual graph capture");
	check_success(h2d_graph_end_capture(fixture_stream, &graph));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	for (epoch = 0; epoch < 3; epoch++) {
		check_success(h2d_owner_begin(pair.owner, fixture_stream));
		fill_source(pair.a, values[epoch]);
		check_success(publish_two(pair.group, fixture_stream, counts[epoch], 16));
		check_success(h2d_owner_finish(pair.owner, fixture_stream));
		check_success(h2d_graph_launch(graph, fixture_stream));
		ck_assert_ptr_eq(h2d_buffer_device(pair.a), address);
		if (counts[epoch] > 0)
			expect_values(output, 0, (size_t)counts[epoch], values[epoch]);
	}
	expect_values(output, 0, 8, 22);
	expect_values(output, 8, 16, 11);
	check_success(h2d_graph_destroy(graph));
}
END_TEST

/* What a publication enqueues, by backend. */
START_TEST(totals_count_what_was_enqueued)
{
	/* Waiting for the DMA and the fence; gate, waiting, fence; the fence. */
	static const uint64_t barrier_packets[] = {2, 3, 1};
	h2d_backend_t backend = (h2d_backend_t)_i;
	struct pair pair = pair_open("slot", backend);
	h2d_publication_totals_t both, single;

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(publish_two(pair.group, fixture_stream, 16, 3));
	h2d_owner_get_totals(pair.owner, &both);
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	check_success(publish_two(pair.group, fixture_stream, OMITTED, 5));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	h2d_owner_get_totals(pair.owner, &single);

	ck_assert_uint_eq(both.publications, 1);
	ck_assert_uint_eq(both.barrier_packets, barrier_packets[backend]);
	ck_assert_uint_eq(both.bytes, 76);
	ck_assert_uint_eq(both.packed_bytes, backend == H2D_BACKEND_PACKED ? 76 : 0);
	ck_assert_uint_eq(both.dma_copies, backend == H2D_BACKEND_PACKED   ? 1
					   : backend == H2D_BACKEND_DIRECT ? 2
									   : 0);
	ck_assert_uint_eq(both.dispatches, backend == H2D_BACKEND_DIRECT ? 0 : 1);
	ck_assert_uint_eq(single.publications, 2);
	ck_assert_uint_eq(single.bytes, 96);
	ck_assert_uint_eq(single.packed_bytes, both.packed_bytes);
	ck_assert_uint_eq(single.dma_copies,
			  both.dma_copies + (backend == H2D_BACKEND_PULL ? 0 : 1));
	ck_assert_uint_eq(single.dispatches,
			  both.dispatches + (backend == H2D_BACKEND_PULL ? 1 : 0));
}
END_TEST

static Suite *publication_suite(void)
{
	Suite *suite = suite_create("publication");
	TCase *tcase = tcase_create("contract");

	tcase_add_checked_fixture(tcase, case_setup, case_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, P01_group_validation_is_atomic_and_retryable, 0,
			    BACKENDS * BAD_COUNTS);
	tcase_add_loop_test(tcase, P02_direct_and_groups_share_epoch_including_later_phases, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, P04_omitted_members_differ_from_explicit_empty_publication, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, P04_explicit_zero_keeps_the_source_writable, 0, BACKENDS);
	tcase_add_loop_test(tcase,
			    P05_reason_does_not_release_source_and_reacquire_does_not_reset_ledger,
			    0, BACKENDS);
	tcase_add_loop_test(tcase, check_writable_asks_for_every_member_and_grants_nothing, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, counts_persist_and_belong_to_members, 0, BACKENDS);
	tcase_add_loop_test(tcase, P09_mixed_representation_is_bitwise_and_tail_preserved, 0,
			    BACKENDS * ELEMENT_SIZES);
	tcase_add_loop_test(tcase, P10_rows_and_flat_prefix_are_distinct_and_legacy_copy_keeps_rows,
			    0, BACKENDS);
	tcase_add_loop_test(tcase, P17_repeated_and_changing_prefixes_preserve_contents_and_tail, 0,
			    BACKENDS * UNITS);
	tcase_add_loop_test(tcase, degenerate_shapes_publish, 0, BACKENDS);
	tcase_add_loop_test(tcase, P19_delayed_gpu_different_buffers_and_explicit_republication, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, P20_slot_rotation_waits_before_payload_changes, 0, BACKENDS);
	tcase_add_loop_test(tcase, publication_waits_for_earlier_consumers_of_its_destinations, 0,
			    2 * BACKENDS);
	tcase_add_loop_test(tcase, publication_waits_for_running_consumers_of_its_destinations, 0,
			    2 * BACKENDS);
	tcase_add_loop_test(tcase, record_covers_the_work_of_the_forward, 0, BACKENDS);
	tcase_add_loop_test(tcase, P21_publish_before_graph_replay_and_reject_actual_capture, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, totals_count_what_was_enqueued, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(publication_suite());
}
