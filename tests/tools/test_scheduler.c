/* SPDX-License-Identifier: MIT */
/* The scheduler: exact small schedules, and invariants over random traces. */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/generator.h"
#include "tools/scheduler.h"

static struct trace trace;
static struct tool_error error;

static void free_trace(void)
{
	trace_free(&trace);
}

static void add(int64_t arrival_us, uint32_t prompt_tokens, uint32_t output_tokens)
{
	ck_assert_int_eq(trace_append(&trace, arrival_us, prompt_tokens, output_tokens, &error), 0);
}

static void add_hashes(const int64_t *hash_ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(trace_append_hash(&trace, hash_ids[i], &error), 0);
}

static struct scheduler_settings settings(uint32_t seqs, uint32_t block_size, uint32_t pages,
					  uint32_t model_len)
{
	return (struct scheduler_settings){
		.max_num_seqs = seqs,
		.block_size = block_size,
		.num_pages = pages,
		.max_model_len = model_len,
		.step_us = 1000,
	};
}

static void assert_batch(const struct scheduler_batch *batch, uint32_t size, const uint64_t *ids,
			 const int32_t *lengths, const uint32_t *pages)
{
	ck_assert_uint_eq(batch->num_requests, size);
	for (uint32_t i = 0; i < size; i++) {
		ck_assert_uint_eq(batch->request_ids[i], ids[i]);
		ck_assert_int_eq(batch->context_lengths[i], lengths[i]);
		ck_assert_uint_eq(batch->block_table_lengths[i], pages[i]);
	}
}

/* One request of 3 + 4 tokens: the prefill makes the first token, three steps the others. */
START_TEST(one_request_step_by_step)
{
	struct scheduler_settings shape = settings(4, 2, 8, 16);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	add(0, 3, 4);
	scheduler = scheduler_create(&shape, &trace);
	for (int step = 0; step < 3; step++) {
		ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
		assert_batch(&batch, 1, (uint64_t[]){0}, (int32_t[]){4 + step},
			     (uint32_t[]){(uint32_t)(4 + step + 1) / 2});
		scheduler_advance(scheduler);
	}
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 0);
	ck_assert_uint_eq(scheduler_counts(scheduler)->generated_tokens, 4);
	ck_assert_uint_eq(scheduler_counts(scheduler)->prompt_tokens, 3);
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 1);
	ck_assert_uint_eq(scheduler_counts(scheduler)->decode_steps, 3);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 0);
	ck_assert_uint_eq(scheduler_counts(scheduler)->most_pages_in_use, 3);
	scheduler_destroy(scheduler);
}
END_TEST

/*
 * Two drafts a step: pages for all three tokens; then all, none and (the answer being complete) none
 * of the drafts come true.
 */
START_TEST(speculative_tokens_are_stored_ahead)
{
	static const int32_t contexts[] = {6, 9, 10};
	static const uint32_t pages[] = {3, 5, 5};
	struct scheduler_settings shape = settings(4, 2, 9, 16);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	shape.speculative_tokens = 2;
	add(0, 3, 6);
	scheduler = scheduler_create(&shape, &trace);
	for (int step = 0; step < 3; step++) {
		ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
		assert_batch(&batch, 1, (uint64_t[]){0}, &contexts[step], &pages[step]);
		scheduler_advance(scheduler);
	}
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 0);
	ck_assert_uint_eq(scheduler_counts(scheduler)->generated_tokens, 6);
	ck_assert_uint_eq(scheduler_counts(scheduler)->accepted_drafts, 2);
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 1);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 0);
	scheduler_destroy(scheduler);
}
END_TEST

/* A step takes 1000 us, and so does a prefill: the second request joins after it has arrived. */
START_TEST(arrivals_are_waited_for)
{
	struct scheduler_settings shape = settings(4, 4, 16, 32);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	add(0, 4, 5);
	add(2500, 4, 3);
	add(1000000, 4, 2); /* long after the others: time jumps */
	scheduler = scheduler_create(&shape, &trace);
	/* now 1000 after the prefill, 2000 after the first step, 3000 after the second */
	for (int step = 0; step < 2; step++) {
		ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
		assert_batch(&batch, 1, (uint64_t[]){0}, (int32_t[]){5 + step}, (uint32_t[]){2});
		scheduler_advance(scheduler);
	}
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	assert_batch(&batch, 2, (uint64_t[]){0, 1}, (int32_t[]){7, 5}, (uint32_t[]){2, 2});
	scheduler_advance(scheduler);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	assert_batch(&batch, 2, (uint64_t[]){0, 1}, (int32_t[]){8, 6}, (uint32_t[]){2, 2});
	scheduler_advance(scheduler);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	assert_batch(&batch, 1, (uint64_t[]){2}, (int32_t[]){5}, (uint32_t[]){2});
	scheduler_advance(scheduler);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 0);
	scheduler_destroy(scheduler);
}
END_TEST

/*
 * Five pages of two tokens, two requests of 3 + 6 tokens. Both hold two pages at length 4; at
 * length 5 the first takes the fifth page and the second one gives its two pages back.
 */
START_TEST(preempts_the_request_admitted_last)
{
	struct scheduler_settings shape = settings(2, 2, 5, 10);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	add(0, 3, 6);
	add(0, 3, 6);
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	assert_batch(&batch, 2, (uint64_t[]){0, 1}, (int32_t[]){4, 4}, (uint32_t[]){2, 2});
	scheduler_advance(scheduler);
	for (int length = 5; length <= 8; length++) {
		ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
		assert_batch(&batch, 1, (uint64_t[]){0}, (int32_t[]){length},
			     (uint32_t[]){(uint32_t)(length + 1) / 2});
		ck_assert_uint_eq(scheduler_counts(scheduler)->preemptions, 1);
		scheduler_advance(scheduler);
	}
	/* it kept two generated tokens, and its second prefill generates the third */
	for (int length = 6; length <= 8; length++) {
		ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
		assert_batch(&batch, 1, (uint64_t[]){1}, (int32_t[]){length},
			     (uint32_t[]){(uint32_t)(length + 1) / 2});
		scheduler_advance(scheduler);
	}
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 0);
	ck_assert_uint_eq(scheduler_counts(scheduler)->generated_tokens, 12);
	ck_assert_uint_eq(scheduler_counts(scheduler)->prefills, 3);
	ck_assert_uint_eq(scheduler_counts(scheduler)->admitted, 2);
	scheduler_destroy(scheduler);
}
END_TEST

START_TEST(too_long_is_rejected_and_a_long_answer_clipped)
{
	struct scheduler_settings shape = settings(2, 4, 8, 16);
	struct scheduler *scheduler;
	struct scheduler_batch batch;
	unsigned steps = 0;

	add(0, 16, 1);        /* no room for one token: rejected */
	add(0, 2147483647, 1); /* rejected */
	add(0, 14, 5);        /* clipped to 2 tokens: one decode step */
	add(0, 3, 0);         /* nothing to generate: no decode step */
	add(0, 3, 1);         /* generated by the prefill: no decode step */
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_uint_eq(scheduler_counts(scheduler)->expected_tokens, 3);
	while (scheduler_schedule(scheduler, &batch) == 1) {
		assert_batch(&batch, 1, (uint64_t[]){2}, (int32_t[]){15}, (uint32_t[]){4});
		scheduler_advance(scheduler);
		steps++;
	}
	ck_assert_uint_eq(steps, 1);
	ck_assert_uint_eq(scheduler_counts(scheduler)->rejected, 2);
	ck_assert_uint_eq(scheduler_counts(scheduler)->clipped, 1);
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 3);
	ck_assert_uint_eq(scheduler_counts(scheduler)->generated_tokens, 3);
	scheduler_destroy(scheduler);
}
END_TEST

/*
 * Prompts of 1100 tokens: two full hash blocks. Pages of 384 tokens do not divide 512: pages 0
 * (tokens 0..383, block 0) and 1 (384..767, block 1) can be shared, page 2 (768..1151) is not full.
 */
START_TEST(equal_prefixes_share_their_full_pages)
{
	struct scheduler_settings shape = settings(3, 384, 12, 2048);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	add(0, 1100, 3);
	add_hashes((int64_t[]){7, 8, 9}, 3);
	add(0, 1100, 3);
	add_hashes((int64_t[]){7, 8, 10}, 3);
	add(0, 1100, 3);
	add_hashes((int64_t[]){7, 11, 12}, 3);
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	ck_assert_uint_eq(batch.num_requests, 3);
	for (int page = 0; page < 3; page++) {
		int32_t first = batch.block_tables[0][page];

		ck_assert_uint_eq(batch.block_table_lengths[page], 3);
		ck_assert(page == 2 ? first != batch.block_tables[1][page]
				    : first == batch.block_tables[1][page]);
		ck_assert(page == 0 ? first == batch.block_tables[2][page]
				    : first != batch.block_tables[2][page]);
	}
	ck_assert_uint_eq(scheduler_counts(scheduler)->shared_pages, 3);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 6);
	scheduler_advance(scheduler);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	scheduler_advance(scheduler);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 0);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 0);
	scheduler_destroy(scheduler);
}
END_TEST

/* Four pages: two requests of three pages run together only because they share two. */
START_TEST(shared_pages_take_no_room)
{
	struct scheduler_settings shape = settings(2, 512, 4, 2048);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	for (int i = 0; i < 2; i++) {
		add(0, 1025, 2);
		add_hashes((int64_t[]){7, 8, 9 + i}, 3);
	}
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), 1);
	assert_batch(&batch, 2, (uint64_t[]){0, 1}, (int32_t[]){1026, 1026}, (uint32_t[]){3, 3});
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 4);
	scheduler_destroy(scheduler);
}
END_TEST

/*
 * Requests 0 and 2 agree in both blocks, request 1 only in the second, which says nothing without
 * the first. Its end must not make request 0's pages unknown.
 */
START_TEST(another_prefix_with_the_same_id_does_not_end_sharing)
{
	struct scheduler_settings shape = settings(3, 256, 32, 4096);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	for (int i = 0; i < 3; i++) {
		add(i < 2 ? 0 : 5000, 1024, i == 0 ? 20 : 2);
		add_hashes((int64_t[]){i % 2, 5}, 2);
	}
	scheduler = scheduler_create(&shape, &trace);
	while (scheduler_schedule(scheduler, &batch) == 1)
		scheduler_advance(scheduler);
	ck_assert_uint_eq(scheduler_counts(scheduler)->shared_pages, 4);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 0);
	scheduler_destroy(scheduler);
}
END_TEST

/* An id that stands for different prefixes must neither leak pages nor free one twice. */
START_TEST(contradicting_hash_ids_leak_nothing)
{
	struct scheduler_settings shape = settings(4, 256, 32, 4096);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	for (int i = 0; i < 8; i++) {
		add(0, 1536, 2 + (uint32_t)i % 3);
		add_hashes((int64_t[]){i, 5, i % 2}, 3);
	}
	scheduler = scheduler_create(&shape, &trace);
	while (scheduler_schedule(scheduler, &batch) == 1)
		scheduler_advance(scheduler);
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 8);
	ck_assert_uint_eq(scheduler_counts(scheduler)->pages_in_use, 0);
	scheduler_destroy(scheduler);
}
END_TEST

/* What a page of a request holds, as far as sharing is allowed: same hash id and same place. */
static bool may_share(uint64_t a, uint64_t b, uint32_t page, uint32_t block_size)
{
	const struct trace_request *left = &trace.requests[a], *right = &trace.requests[b];
	size_t block = ((size_t)(page + 1) * block_size - 1) / 512;
	size_t needed_tokens = (block + 1) * 512;

	return left->prompt_tokens >= needed_tokens && right->prompt_tokens >= needed_tokens &&
	       block < left->hash_count && block < right->hash_count &&
	       trace.hash_ids[left->first_hash + block] == trace.hash_ids[right->first_hash + block];
}

/* Every page is in range, and two rows hold the same page only where both may share it. */
static void check_pages(const struct scheduler_batch *batch, const struct scheduler_settings *shape,
			int32_t *owner_row, uint32_t *owner_page)
{
	memset(owner_row, -1, shape->num_pages * sizeof(*owner_row));
	for (uint32_t row = 0; row < batch->num_requests; row++) {
		uint32_t length = batch->block_table_lengths[row];
		uint32_t context = (uint32_t)batch->context_lengths[row];

		ck_assert_uint_eq(length, (context + shape->block_size - 1) / shape->block_size);
		ck_assert_uint_le(context, shape->max_model_len);
		for (uint32_t i = 0; i < length; i++) {
			int32_t page = batch->block_tables[row][i];

			/* ck_assert writes a mark even when it holds: too slow for every page */
			if (page < 0 || page >= (int32_t)shape->num_pages)
				ck_abort_msg("row %u: page %u is %d", row, i, page);
			if (owner_row[page] < 0) {
				owner_row[page] = (int32_t)row;
				owner_page[page] = i;
				continue;
			}
			uint64_t other = batch->request_ids[owner_row[page]];

			if (owner_page[page] != i ||
			    !may_share(other, batch->request_ids[row], i, shape->block_size))
				ck_abort_msg("rows %d and %u share page %d", owner_row[page], row,
					     page);
		}
	}
}

/*
 * Each request must be decoded at each of its lengths exactly once, except those that a prefill
 * generated; a preempted one skips one length for every further prefill.
 */
static void check_random_trace(const struct scheduler_settings *shape)
{
	struct scheduler *scheduler = scheduler_create(shape, &trace);
	const struct scheduler_counts *counts = scheduler_counts(scheduler);
	int32_t *last_length = calloc(trace.request_count, sizeof(*last_length));
	int32_t *owner_row = calloc(shape->num_pages, sizeof(*owner_row));
	uint32_t *owner_page = calloc(shape->num_pages, sizeof(*owner_page));
	uint64_t decoded = 0, expected = 0, rejected = 0, finished_early = 0, without_output = 0;
	struct scheduler_batch batch;
	int status;

	while ((status = scheduler_schedule(scheduler, &batch)) == 1) {
		ck_assert_uint_ge(batch.num_requests, 1);
		ck_assert_uint_le(batch.num_requests, shape->max_num_seqs);
		ck_assert_uint_le(counts->pages_in_use, shape->num_pages);
		check_pages(&batch, shape, owner_row, owner_page);
		for (uint32_t row = 0; row < batch.num_requests; row++) {
			uint64_t id = batch.request_ids[row];

			int32_t length = batch.context_lengths[row];

			/* growing by one, or by more only if it was preempted in between */
			if (length <= last_length[id] ||
			    (counts->preemptions == 0 && last_length[id] != 0 &&
			     length != last_length[id] + 1))
				ck_abort_msg("request %" PRIu64 " went from %d to %d tokens", id,
					     last_length[id], length);
			last_length[id] = length;
		}
		decoded += batch.num_requests;
		scheduler_advance(scheduler);
	}
	ck_assert_int_eq(status, 0);
	for (size_t i = 0; i < trace.request_count; i++) {
		const struct trace_request *request = &trace.requests[i];
		uint64_t total = (uint64_t)request->prompt_tokens + request->output_tokens;

		if (request->prompt_tokens >= shape->max_model_len) {
			rejected++;
			ck_assert_int_eq(last_length[i], 0);
			continue;
		}
		if (total > shape->max_model_len)
			total = shape->max_model_len;
		expected += total - request->prompt_tokens;
		without_output += total == request->prompt_tokens;
		/* the last token is generated, not stored; a prefill may have generated it */
		ck_assert_int_lt(last_length[i], (int32_t)total);
		finished_early += last_length[i] != (int32_t)total - 1 && last_length[i] != 0;
	}
	ck_assert_uint_le(finished_early, counts->preemptions);
	ck_assert_uint_eq(counts->rejected, rejected);
	ck_assert_uint_eq(counts->finished + rejected, trace.request_count);
	ck_assert_uint_eq(counts->admitted, counts->finished);
	ck_assert_uint_eq(counts->generated_tokens, expected);
	ck_assert_uint_eq(counts->expected_tokens, expected);
	ck_assert_uint_eq(counts->prefills, counts->admitted + counts->preemptions);
	/* each prefill and each row of a step generates one token */
	ck_assert_uint_eq(decoded + counts->prefills, expected + without_output);
	ck_assert_uint_eq(counts->pages_in_use, 0);
	free(last_length);
	free(owner_row);
	free(owner_page);
	scheduler_destroy(scheduler);
}

static const struct scheduler_settings random_shapes[] = {
	{.max_num_seqs = 64, .block_size = 16, .num_pages = 8192, .max_model_len = 16384,
	 .step_us = 100000},
	{.max_num_seqs = 64, .block_size = 16, .num_pages = 600, .max_model_len = 8192,
	 .step_us = 100000},
	{.max_num_seqs = 1, .block_size = 1, .num_pages = 2048, .max_model_len = 2048,
	 .step_us = 1},
	{.max_num_seqs = 17, .block_size = 100, .num_pages = 90, .max_model_len = 9000,
	 .step_us = 3600000000},
	{.max_num_seqs = 300, .block_size = 1024, .num_pages = 16, .max_model_len = 16384,
	 .step_us = 250000},
};

START_TEST(random_traces_keep_every_token_and_page)
{
	uint64_t seed = (uint64_t)_i + 1;

	printf("# seed %" PRIu64 "\n", seed);
	ck_assert_int_eq(generator_fill(&trace, 150, seed, &error), 0);
	check_random_trace(&random_shapes[_i % 5]);
}
END_TEST

/* A tree of prefixes: each block's id depends on its parent, as in real traces. */
START_TEST(random_shared_prefixes_keep_every_token_and_page)
{
	unsigned short state[3] = {(unsigned short)_i, 17, 99};

	printf("# seed %d\n", _i);
	for (int i = 0; i < 200; i++) {
		uint32_t prompt_tokens = 1 + (uint32_t)nrand48(state) % 6000;
		int64_t id = 0;

		add(i * 200000, prompt_tokens, (uint32_t)nrand48(state) % 60);
		for (uint32_t block = 0; block * 512 < prompt_tokens; block++) {
			id = id * 3 + 1 + nrand48(state) % 2;
			add_hashes(&id, 1);
		}
	}
	check_random_trace(&random_shapes[_i % 5]);
}
END_TEST

/*
 * Of four pages, request 0 needs two for its only token, after whose prefill they are free for the
 * others; request 2 shares the full one of request 1's.
 */
START_TEST(prefills_come_before_their_decode)
{
	struct scheduler_settings shape = settings(3, 512, 4, 2048);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	shape.prefills = true;
	shape.speculative_tokens = 1;
	for (int i = 0; i < 3; i++) {
		add(0, 600, i == 0 ? 1 : 3);
		add_hashes((int64_t[]){i == 0 ? 5 : 7, 8 + i}, 2);
	}
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), SCHEDULER_PREFILL);
	assert_batch(&batch, 1, (uint64_t[]){0}, (int32_t[]){600}, (uint32_t[]){2});
	ck_assert_int_eq(batch.cached_tokens[0], 0);
	ck_assert_ptr_eq(batch.block_tables[0], h2d_block_table_ids(batch.tables[0]));
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 0);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), SCHEDULER_PREFILL);
	ck_assert_uint_eq(scheduler_counts(scheduler)->finished, 1);
	assert_batch(&batch, 2, (uint64_t[]){1, 2}, (int32_t[]){600, 600}, (uint32_t[]){2, 2});
	ck_assert_int_eq(batch.cached_tokens[0], 0);
	ck_assert_int_eq(batch.cached_tokens[1], 512);
	ck_assert_int_eq(batch.block_tables[0][0], batch.block_tables[1][0]);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), SCHEDULER_DECODE);
	assert_batch(&batch, 2, (uint64_t[]){1, 2}, (int32_t[]){602, 602}, (uint32_t[]){2, 2});
	ck_assert_ptr_null(batch.cached_tokens);
	scheduler_destroy(scheduler);
}
END_TEST

/* All pages of the second prompt are known, but its last token is computed for its logits. */
START_TEST(the_last_token_is_never_cached)
{
	struct scheduler_settings shape = settings(2, 256, 8, 2048);
	struct scheduler *scheduler;
	struct scheduler_batch batch;

	shape.prefills = true;
	for (int i = 0; i < 2; i++) {
		add(0, 512, 2);
		add_hashes((int64_t[]){7}, 1);
	}
	scheduler = scheduler_create(&shape, &trace);
	ck_assert_int_eq(scheduler_schedule(scheduler, &batch), SCHEDULER_PREFILL);
	assert_batch(&batch, 2, (uint64_t[]){0, 1}, (int32_t[]){512, 512}, (uint32_t[]){2, 2});
	ck_assert_int_eq(batch.cached_tokens[1], 511);
	scheduler_destroy(scheduler);
}
END_TEST

static void assert_same_batch(const struct scheduler_batch *one,
			      const struct scheduler_batch *other)
{
	ck_assert_uint_eq(one->num_requests, other->num_requests);
	for (uint32_t i = 0; i < one->num_requests; i++) {
		const uint32_t pages = one->block_table_lengths[i];

		if (one->request_ids[i] != other->request_ids[i] ||
		    one->context_lengths[i] != other->context_lengths[i] ||
		    pages != other->block_table_lengths[i] ||
		    memcmp(one->block_tables[i], other->block_tables[i],
			   pages * sizeof(int32_t)) != 0)
			ck_abort_msg("row %u differs", i);
	}
}

/* What is decoded is the same; each admission is prefilled once, with all of its pages. */
START_TEST(prefills_do_not_change_the_schedule)
{
	const struct scheduler_settings *shape = &random_shapes[_i];
	struct scheduler_settings with_prefills = *shape;
	struct scheduler *plain, *prefilling;
	struct scheduler_batch expected, batch;
	enum scheduler_step step;
	uint64_t prefills = 0;

	with_prefills.prefills = true;
	printf("# seed %d\n", _i + 1);
	ck_assert_int_eq(generator_fill(&trace, 150, (uint64_t)_i + 1, &error), 0);
	plain = scheduler_create(shape, &trace);
	prefilling = scheduler_create(&with_prefills, &trace);
	while ((step = scheduler_schedule(prefilling, &batch)) > 0) {
		if (step == SCHEDULER_PREFILL) {
			prefills += batch.num_requests;
			for (uint32_t i = 0; i < batch.num_requests; i++)
				ck_assert_uint_eq(batch.block_table_lengths[i],
						  ((uint32_t)batch.context_lengths[i] +
						   shape->block_size - 1) /
							  shape->block_size);
			continue;
		}
		ck_assert_int_eq(scheduler_schedule(plain, &expected), SCHEDULER_DECODE);
		assert_same_batch(&expected, &batch);
		scheduler_advance(plain);
		scheduler_advance(prefilling);
	}
	ck_assert_int_eq(step, SCHEDULER_DONE);
	ck_assert_int_eq(scheduler_schedule(plain, &expected), SCHEDULER_DONE);
	ck_assert_uint_eq(prefills, scheduler_counts(prefilling)->prefills);
	ck_assert_mem_eq(scheduler_counts(plain), scheduler_counts(prefilling),
			 sizeof(struct scheduler_counts));
	scheduler_destroy(plain);
	scheduler_destroy(prefilling);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scheduler");
	TCase *cases = tcase_create("scheduler");

	tcase_add_checked_fixture(cases, NULL, free_trace);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, one_request_step_by_step);
	tcase_add_test(cases, speculative_tokens_are_stored_ahead);
	tcase_add_test(cases, arrivals_are_waited_for);
	tcase_add_test(cases, preempts_the_request_admitted_last);
	tcase_add_test(cases, too_long_is_rejected_and_a_long_answer_clipped);
	tcase_add_test(cases, equal_prefixes_share_their_full_pages);
	tcase_add_test(cases, shared_pages_take_no_room);
	tcase_add_test(cases, prefills_come_before_their_decode);
	tcase_add_test(cases, the_last_token_is_never_cached);
	tcase_add_loop_test(cases, prefills_do_not_change_the_schedule, 0, 5);
	tcase_add_test(cases, another_prefix_with_the_same_id_does_not_end_sharing);
	tcase_add_test(cases, contradicting_hash_ids_leak_nothing);
	tcase_add_loop_test(cases, random_traces_keep_every_token_and_page, 0, 10);
	tcase_add_loop_test(cases, random_shared_prefixes_keep_every_token_and_page, 0, 10);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
