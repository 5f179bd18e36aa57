/* SPDX-License-Identifier: MIT */
/* The mha_decode group and its first consumer: every byte of every step. */
#include <check.h>
#include <stdio.h>

#include "decode_world.h"

/*
 * Block to page ratios 1, 2, 4, 16, one that is no power of two, those at and above the kernel's
 * workgroup; more pages a request than one workgroup writes; captured sizes that cover all batches,
 * some, none; members on either side of the packing limit.
 */
static const h2d_runner_options_t shapes[] = {
	{.slots = 1, .max_requests = 5, .query_length = 1, .block_size = 16, .page_size = 16,
	 .max_model_length = 200, .num_pages = 60},
	{.slots = 2, .max_requests = 8, .query_length = 2, .block_size = 16, .page_size = 8,
	 .max_model_length = 250, .num_pages = 1000, .omit_end_fence = true, CAPTURED(1, 2, 4, 8)},
	{.slots = 3, .max_requests = 6, .query_length = 3, .block_size = 16, .page_size = 4,
	 .max_model_length = 97, .num_pages = 64, .pack_limit_bytes = 40, CAPTURED(4)},
	{.slots = 2, .max_requests = 4, .query_length = 4, .block_size = 16, .page_size = 1,
	 .max_model_length = 2600, .num_pages = 700, CAPTURED(2, 4)},
	{.slots = 1, .max_requests = 3, .query_length = 2, .block_size = 48, .page_size = 16,
	 .max_model_length = 1001, .num_pages = 4096, .omit_end_fence = true, CAPTURED(3)},
	{.slots = 1, .max_requests = 3, .query_length = 4, .block_size = 256, .page_size = 1,
	 .max_model_length = 1500, .num_pages = 32, .pack_limit_bytes = UINT64_MAX},
	{.slots = 2, .max_requests = 2, .query_length = 1, .block_size = 1024, .page_size = 2,
	 .max_model_length = 4096, .num_pages = 9, CAPTURED(1, 2)},
	{.slots = 3, .max_requests = 16, .query_length = 1, .block_size = 1, .page_size = 1,
	 .max_model_length = 300, .num_pages = INT32_MAX, CAPTURED(8, 16)},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/*
 * Random steps over all slots, some back to back so that slots are reused behind running work, the
 * largest and the empty batch and a dummy one among them.
 */
START_TEST(A01_decode_csr_slot_reuse_every_byte)
{
	const h2d_runner_options_t *options = &shapes[_i / BACKENDS];
	const h2d_backend_t backend = STEP_BACKEND(_i);
	const uint64_t seed = fixture_seed() + (uint64_t)_i;
	uint64_t state = seed;
	decode_world_t world = decode_world_create(options, backend);
	char what[128];

	for (int i = 0; i < 14; i++) {
		uint32_t num_requests =
			(uint32_t)fixture_random_between(&state, 0, options->max_requests);

		if (i == 2)
			num_requests = options->max_requests;
		if (i == 5)
			num_requests = 0;
		snprintf(what, sizeof(what), "shape %d, %s, seed %llu, step %d of %u requests",
			 _i / BACKENDS, h2d_backend_name(backend), (unsigned long long)seed, i,
			 num_requests);
		decode_world_step(&world, &state, num_requests, i == 7,
			 fixture_random_between(&state, 0, 3) != 0);
		if (i < 3 || fixture_random_between(&state, 0, 1) == 0)
			step_world_check(world.step, what);
	}
	step_world_check(world.step, what);
	decode_world_destroy(&world);
}
END_TEST

/* Captured sizes are padded to even where nothing is scheduled: all of it is padding. */
START_TEST(A01_empty_batch_is_all_padding)
{
	decode_world_t world = decode_world_create(&shapes[1], STEP_BACKEND(_i));
	const decode_case_t nothing = {0};

	step_begin(world.step);
	decode_world_prepare(&world, &nothing);
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	decode_world_destroy(&world);
}
END_TEST

/* Contexts and ids at the ends of int32: slots need 64 bits, sums on the way there too. */
START_TEST(A01_largest_values_do_not_overflow)
{
	const h2d_runner_options_t options = {
		.slots = 1,
		.max_requests = 2,
		.query_length = 4,
		.block_size = 1u << 30,
		.page_size = 1u << 29,
		.max_model_length = INT32_MAX,
	};
	const int32_t contexts[] = {INT32_MAX, INT32_MAX};
	const int32_t rejected[] = {0, INT32_MAX - (1 << 30) - 2};
	const int32_t first[] = {0, (1 << 30) - 1};
	const int32_t second[] = {(1 << 30) - 1, 5};
	const h2d_batch_t batch = {
		.num_requests = 2,
		.context_lengths = contexts,
		.rejected_tokens = rejected,
		.block_tables = (const int32_t *const[]){first, second},
		.block_table_lengths = (const uint32_t[]){2, 2},
	};
	decode_world_t world = decode_world_create(&options, STEP_BACKEND(_i));
	const int64_t block = INT64_C(1) << 30;
	const int64_t last = (block - 1) * block;
	const int64_t slots[] = {
		last + block - 5, last + block - 4, last + block - 3, last + block - 2,
		last + block - 2, last + block - 1, 5 * block,        5 * block + 1,
	};
	int64_t slot_mapping[8];
	const int32_t indices[] = {0, 1, INT32_MAX - 1, INT32_MAX, INT32_MAX - 1, INT32_MAX, 10};
	int32_t kv_indices[7];
	h2d_mha_decode_step_t step;

	step_begin(world.step);
	check_success(h2d_mha_decode_prepare(world.runner, fixture_stream, &batch, &step));
	check_success(h2d_runner_finish(world.runner, fixture_stream));
	check_success(h2d_mha_decode_enqueue_kv_indices(world.runner, fixture_stream, 0, 2));
	decode_expect(world.step, &batch, 2);
	decode_expect_kv_indices(world.step, 2);
	step_world_check(world.step, "largest values");
	check_success(h2d_device_read(fixture_device, slot_mapping, step.slot_mapping,
				      sizeof(slots), H2D_DEFAULT_TIMEOUT_NS));
	ck_assert_mem_eq(slot_mapping, slots, sizeof(slots));
	check_success(h2d_device_read(fixture_device, kv_indices, step.kv_indices, sizeof(indices),
				      H2D_DEFAULT_TIMEOUT_NS));
	ck_assert_mem_eq(kv_indices, indices, sizeof(indices));
	decode_world_destroy(&world);
}
END_TEST

/* What each backend submits for one step whose members fit into the arena. */
START_TEST(A01_step_costs_one_dma_and_one_scatter)
{
	static const uint64_t dma_copies[] = {1, 5, 0};
	static const uint64_t dispatches[] = {1, 0, 1};
	decode_world_t world = decode_world_create(&shapes[0], STEP_BACKEND(_i));
	uint64_t state = 1;
	h2d_publication_totals_t totals;

	for (uint64_t step = 1; step <= 3; step++) {
		decode_world_step(&world, &state, 3, false, true);
		h2d_owner_get_totals(h2d_runner_owner(world.runner, 0), &totals);
		ck_assert_uint_eq(totals.publications, step);
		ck_assert_uint_eq(totals.dma_copies, step * dma_copies[_i]);
		ck_assert_uint_eq(totals.dispatches, step * dispatches[_i]);
		ck_assert_uint_eq(totals.bytes,
				  step * (3 * 8 + 3 * 4 + 3 * 13 * 4 + 4 * 4 + 3 * 8));
	}
	decode_world_destroy(&world);
}
END_TEST

/* Rows as they grow, change and swap places in a slot of its own; step by step, and what is sent. */
START_TEST(A01_unchanged_block_tables_are_not_sent_again)
{
	static const struct {
		uint32_t rows[3], count; /* of the pool */
		int appended;		 /* to this row before the step, or -1 */
		bool sent;
	} steps[] = {
		{{0, 1, 2}, 3, -1, true}, {{0, 1, 2}, 3, -1, false}, {{0, 1, 2}, 3, 1, true},
		{{0, 1, 2}, 3, -1, false}, {{2, 1, 0}, 3, -1, true}, {{2, 1}, 2, -1, true},
		{{2, 1}, 2, 0, false}, {{2, 1, 0}, 3, -1, true}, {{2, 1, 0}, 3, -1, false},
	};
	const h2d_runner_options_t options = {.slots = 2, .max_requests = 4, .query_length = 1,
					      .block_size = 4, .page_size = 2, .max_model_length = 40,
					      .num_pages = 50, CAPTURED(2, 4)};
	decode_world_t world = decode_world_create(&options, STEP_BACKEND(_i));
	h2d_block_table_t *pool[3];
	uint64_t sent[2] = {0}, omitted[2] = {0};

	for (int32_t i = 0; i < 3; i++)
		check_success(h2d_block_table_create((const int32_t[]){7 * i, 7 * i + 1}, 2, &pool[i]));
	/* Each step once in each slot. */
	for (size_t n = 0; n < 2 * sizeof(steps) / sizeof(steps[0]); n++) {
		const h2d_block_table_t *tables[3];
		const int32_t *ids[3];
		uint32_t lengths[3];
		int32_t contexts[3], rejected[3] = {0};
		h2d_batch_t batch = {.num_requests = steps[n / 2].count, .tables = tables,
					    .context_lengths = contexts};
		h2d_batch_t copied = {.num_requests = steps[n / 2].count,
					     .block_tables = ids, .block_table_lengths = lengths,
					     .context_lengths = contexts, .rejected_tokens = rejected};
		h2d_published_table_totals_t totals;
		h2d_mha_decode_step_t step;
		uint32_t slot;

		if (n % 2 == 0 && steps[n / 2].appended >= 0)
			check_success(h2d_block_table_append(pool[steps[n / 2].appended], (int32_t)n));
		for (uint32_t i = 0; i < batch.num_requests; i++) {
			tables[i] = pool[steps[n / 2].rows[i]];
			ids[i] = h2d_block_table_ids(tables[i]);
			lengths[i] = h2d_block_table_length(tables[i]);
			contexts[i] = 5 + (int32_t)(n % 3);
		}
		step_begin(world.step);
		slot = h2d_runner_slot(world.runner);
		check_success(h2d_mha_decode_prepare(world.runner, fixture_stream, &batch, &step));
		ck_assert_ptr_eq(step.block_tables,
				 h2d_buffer_device(step_buffer(world.step, "block_tables")));
		check_success(h2d_runner_finish(world.runner, fixture_stream));
		check_success(h2d_mha_decode_enqueue_kv_indices(world.runner, fixture_stream, slot,
								step.graph_requests));
		check_success(h2d_runner_record(world.runner, fixture_stream));
		decode_expect(world.step, &copied, step.graph_requests);
		decode_expect_kv_indices(world.step, step.graph_requests);
		step_world_check(world.step, "versioned rows");

		*(steps[n / 2].sent ? &sent[slot] : &omitted[slot]) += 1;
		h2d_published_table_get_totals(h2d_mha_decode_block_tables(world.runner, slot), &totals);
		ck_assert_uint_eq(totals.uploads, sent[slot]);
		ck_assert_uint_eq(totals.uploads_omitted, omitted[slot]);
	}
	ck_assert_ptr_null(h2d_mha_decode_block_tables(world.runner, 2));
	for (int i = 0; i < 3; i++)
		h2d_block_table_release(pool[i]);
	decode_world_destroy(&world);
}
END_TEST

static Suite *mha_decode_suite(void)
{
	Suite *suite = suite_create("mha_decode");
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, A01_decode_csr_slot_reuse_every_byte, 0, SHAPES * BACKENDS);
	tcase_add_loop_test(tcase, A01_empty_batch_is_all_padding, 0, BACKENDS);
	tcase_add_loop_test(tcase, A01_largest_values_do_not_overflow, 0, BACKENDS);
	tcase_add_loop_test(tcase, A01_step_costs_one_dma_and_one_scatter, 0, BACKENDS);
	tcase_add_loop_test(tcase, A01_unchanged_block_tables_are_not_sent_again, 0, BACKENDS);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return run_suite(mha_decode_suite());
}
