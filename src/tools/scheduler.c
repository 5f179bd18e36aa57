/* SPDX-License-Identifier: MIT */
/* Continuous batching in simulated time: admission, growth, preemption, completion. */
#include "config.h"

#include "scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "page_pool.h"

struct sequence {
	uint32_t request;
	uint32_t prompt_tokens;
	uint32_t output_tokens; /* after clipping */
	uint32_t generated_tokens;
	uint32_t cached_tokens; /* that its pages held when it was admitted */
	h2d_block_table_t *pages;
};

struct scheduler {
	struct scheduler_settings settings;
	const struct trace *trace;
	struct page_pool *pool;
	struct scheduler_counts counts;
	int64_t now_us;
	size_t next_request; /* of the trace */
	uint32_t columns;    /* pages of a request of full model length */

	struct sequence *sequences;
	int32_t *found_pages; /* [columns], while a request is admitted */
	/* Each sequence is in exactly one of these. */
	struct sequence **idle;
	uint32_t idle_count;
	struct sequence **running; /* in the order of admission */
	uint32_t running_count;
	struct sequence **preempted; /* a stack: the one on top was admitted before those below */
	uint32_t preempted_count;
	struct sequence **admitted; /* whose prefill comes next */
	uint32_t admitted_count;
	bool prefilled; /* since the last decode step */

	/* The arrays of struct scheduler_batch. */
	uint64_t *request_ids;
	int32_t *context_lengths;
	int32_t *cached_tokens;
	const h2d_block_table_t **tables;
	const int32_t **block_tables;
	uint32_t *block_table_lengths;
};

static uint32_t pages_for(const struct scheduler *scheduler, uint32_t tokens)
{
	return tokens / scheduler->settings.block_size +
	       (tokens % scheduler->settings.block_size != 0);
}

/* The answer's length within the model length; 0 also for a request that asks for none. */
static uint32_t clipped_output(const struct scheduler *scheduler,
			       const struct trace_request *request)
{
	uint32_t room = scheduler->settings.max_model_len - request->prompt_tokens;

	return request->output_tokens < room ? request->output_tokens : room;
}

static bool too_long(const struct scheduler *scheduler, const struct trace_request *request)
{
	return request->prompt_tokens >= scheduler->settings.max_model_len;
}

static void count_expected(struct scheduler *scheduler)
{
	for (size_t i = 0; i < scheduler->trace->request_count; i++) {
		const struct trace_request *request = &scheduler->trace->requests[i];

		if (!too_long(scheduler, request))
			scheduler->counts.expected_tokens += clipped_output(scheduler, request);
	}
}

struct scheduler *scheduler_create(const struct scheduler_settings *settings,
				   const struct trace *trace)
{
	struct scheduler *scheduler = calloc(1, sizeof(*scheduler));
	uint32_t sequences = settings->max_num_seqs;

	if (scheduler == NULL)
		return NULL;
	scheduler->settings = *settings;
	scheduler->trace = trace;
	scheduler->columns =
		pages_for(scheduler, settings->max_model_len + settings->speculative_tokens);
	scheduler->pool = page_pool_create(settings->num_pages);
	scheduler->sequences = calloc(sequences, sizeof(*scheduler->sequences));
	scheduler->found_pages = calloc(scheduler->columns, sizeof(*scheduler->found_pages));
	scheduler->idle = calloc(sequences, sizeof(*scheduler->idle));
	scheduler->running = calloc(sequences, sizeof(*scheduler->running));
	scheduler->preempted = calloc(sequences, sizeof(*scheduler->preempted));
	scheduler->admitted = calloc(sequences, sizeof(*scheduler->admitted));
	scheduler->request_ids = calloc(sequences, sizeof(*scheduler->request_ids));
	scheduler->context_lengths = calloc(sequences, sizeof(*scheduler->context_lengths));
	scheduler->cached_tokens = calloc(sequences, sizeof(*scheduler->cached_tokens));
	scheduler->tables = calloc(sequences, sizeof(*scheduler->tables));
	scheduler->block_tables = calloc(sequences, sizeof(*scheduler->block_tables));
	scheduler->block_table_lengths = calloc(sequences, sizeof(*scheduler->block_table_lengths));
	if (scheduler->pool == NULL || scheduler->sequences == NULL ||
	    scheduler->found_pages == NULL || scheduler->idle == NULL ||
	    scheduler->running == NULL || scheduler->preempted == NULL ||
	    scheduler->admitted == NULL || scheduler->request_ids == NULL ||
	    scheduler->context_lengths == NULL || scheduler->cached_tokens == NULL ||
	    scheduler->tables == NULL || scheduler->block_tables == NULL ||
	    scheduler->block_table_lengths == NULL) {
		scheduler_destroy(scheduler);
		return NULL;
	}
	for (uint32_t i = 0; i < sequences; i++) {
		if (h2d_block_table_create(NULL, 0, &scheduler->sequences[i].pages) !=
		    H2D_STATUS_SUCCESS) {
			scheduler_destroy(scheduler);
			return NULL;
		}
		scheduler->idle[scheduler->idle_count++] = &scheduler->sequences[i];
	}
	count_expected(scheduler);
	return scheduler;
}

void scheduler_destroy(struct scheduler *scheduler)
{
	if (scheduler == NULL)
		return;
	page_pool_destroy(scheduler->pool);
	for (uint32_t i = 0; scheduler->sequences && i < scheduler->settings.max_num_seqs; i++)
		h2d_block_table_release(scheduler->sequences[i].pages);
	free(scheduler->sequences);
	free(scheduler->found_pages);
	free(scheduler->idle);
	free(scheduler->running);
	free(scheduler->preempted);
	free(scheduler->admitted);
	free(scheduler->request_ids);
	free(scheduler->context_lengths);
	free(scheduler->cached_tokens);
	free(scheduler->tables);
	free(scheduler->block_tables);
	free(scheduler->block_table_lengths);
	free(scheduler);
}

static void update_pages_in_use(struct scheduler *scheduler)
{
	struct scheduler_counts *counts = &scheduler->counts;

	counts->pages_in_use =
		scheduler->settings.num_pages - page_pool_free_count(scheduler->pool);
	if (counts->pages_in_use > counts->most_pages_in_use)
		counts->most_pages_in_use = counts->pages_in_use;
}

static void release_pages(struct scheduler *scheduler, struct sequence *sequence)
{
	const int32_t *pages = h2d_block_table_ids(sequence->pages);

	for (uint32_t i = h2d_block_table_length(sequence->pages); i > 0; i--)
		page_pool_release(scheduler->pool, pages[i - 1]);
	h2d_block_table_clear(sequence->pages);
	update_pages_in_use(scheduler);
}

/* The pages at the front of a prompt that other requests with the same prefix may use. */
static uint32_t shareable_pages(const struct scheduler *scheduler,
				const struct trace_request *request)
{
	uint64_t full_blocks = request->prompt_tokens / TRACE_HASH_BLOCK_TOKENS;

	if (full_blocks > request->hash_count)
		full_blocks = request->hash_count;
	return (uint32_t)(full_blocks * TRACE_HASH_BLOCK_TOKENS / scheduler->settings.block_size);
}

/* The hash id of the block that holds the page's last token covers the page and all before it. */
static struct page_key page_key(const struct scheduler *scheduler,
				const struct trace_request *request, uint32_t position)
{
	uint64_t last_token = (uint64_t)(position + 1) * scheduler->settings.block_size - 1;
	size_t block = last_token / TRACE_HASH_BLOCK_TOKENS;

	return (struct page_key){
		.hash_id = scheduler->trace->hash_ids[request->first_hash + block],
		.position = position,
	};
}

enum admission { ADMITTED, NO_ROOM, NO_MEMORY };

/*
 * Takes the pages of all known tokens. Shared pages come first in a prompt and a hash id covers
 * everything before it, so the search ends at the first page that nobody holds.
 */
static enum admission take_prefill_pages(struct scheduler *scheduler, struct sequence *sequence)
{
	const struct trace_request *request = &scheduler->trace->requests[sequence->request];
	uint32_t tokens = sequence->prompt_tokens + sequence->generated_tokens;
	uint32_t needed = pages_for(scheduler, tokens);
	uint32_t shareable = shareable_pages(scheduler, request);
	uint32_t found = 0;

	while (found < shareable) {
		int32_t page = page_pool_find(scheduler->pool, page_key(scheduler, request, found));

		if (page < 0)
			break;
		scheduler->found_pages[found++] = page;
	}
	if (needed - found > page_pool_free_count(scheduler->pool))
		return NO_ROOM;
	if (h2d_block_table_extend(sequence->pages, scheduler->found_pages, found) !=
	    H2D_STATUS_SUCCESS)
		return NO_MEMORY;
	for (uint32_t i = 0; i < found; i++)
		page_pool_reference(scheduler->pool, scheduler->found_pages[i]);
	for (uint32_t position = found; position < needed; position++) {
		int32_t page = page_pool_take(scheduler->pool);

		if (h2d_block_table_append(sequence->pages, page) != H2D_STATUS_SUCCESS ||
		    (position < shareable &&
		     page_pool_share(scheduler->pool, page,
				     page_key(scheduler, request, position)) < 0))
			return NO_MEMORY;
	}
	scheduler->counts.shared_pages += found;
	/* the last token is computed in any case: its logits give the next one */
	sequence->cached_tokens = found * scheduler->settings.block_size;
	if (sequence->cached_tokens >= tokens)
		sequence->cached_tokens = tokens - 1;
	update_pages_in_use(scheduler);
	return ADMITTED;
}

/* Skips requests that can never run; false when the next one has not arrived or none is left. */
static bool next_arrived(struct scheduler *scheduler)
{
	const struct trace *trace = scheduler->trace;

	while (scheduler->next_request < trace->request_count) {
		const struct trace_request *request = &trace->requests[scheduler->next_request];

		if (request->arrival_us > scheduler->now_us)
			return false;
		if (!too_long(scheduler, request))
			return true;
		scheduler->counts.rejected++;
		scheduler->next_request++;
	}
	return false;
}

/* The next request to admit: a preempted one first, else the next of the trace. */
static struct sequence *next_candidate(struct scheduler *scheduler)
{
	if (scheduler->preempted_count > 0)
		return scheduler->preempted[scheduler->preempted_count - 1];
	if (scheduler->idle_count == 0 || !next_arrived(scheduler))
		return NULL;
	const struct trace_request *request = &scheduler->trace->requests[scheduler->next_request];
	struct sequence *sequence = scheduler->idle[scheduler->idle_count - 1];

	sequence->request = (uint32_t)scheduler->next_request;
	sequence->prompt_tokens = request->prompt_tokens;
	sequence->output_tokens = clipped_output(scheduler, request);
	sequence->generated_tokens = 0;
	return sequence;
}

static void count_first_admission(struct scheduler *scheduler, const struct sequence *sequence)
{
	const struct trace_request *request = &scheduler->trace->requests[sequence->request];

	scheduler->counts.admitted++;
	scheduler->counts.prompt_tokens += sequence->prompt_tokens;
	scheduler->counts.clipped += sequence->output_tokens < request->output_tokens;
}

static void finish(struct scheduler *scheduler, struct sequence *sequence)
{
	release_pages(scheduler, sequence);
	scheduler->idle[scheduler->idle_count++] = sequence;
	scheduler->counts.finished++;
}

/* The prefill generates the last token of the answer, or there is none. */
static bool ends_with_prefill(const struct sequence *sequence)
{
	return sequence->generated_tokens + 1 >= sequence->output_tokens;
}

/*
 * Admits the requests that have arrived and fit: all, or those up to one that ends with its
 * prefill, whose pages are free for the next ones only after it.
 */
static int admit(struct scheduler *scheduler)
{
	struct sequence *sequence;

	while ((sequence = next_candidate(scheduler)) != NULL) {
		enum admission admission = take_prefill_pages(scheduler, sequence);

		if (admission == NO_MEMORY)
			return -1;
		if (admission == NO_ROOM)
			break;
		if (scheduler->preempted_count > 0) {
			scheduler->preempted_count--;
		} else {
			scheduler->idle_count--;
			scheduler->next_request++;
			count_first_admission(scheduler, sequence);
		}
		scheduler->counts.prefills++;
		scheduler->admitted[scheduler->admitted_count++] = sequence;
		if (ends_with_prefill(sequence))
			break;
	}
	return 0;
}

/* The prefill of the admitted requests has run: each has one token more. */
static void complete_prefill(struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->admitted_count; i++) {
		struct sequence *sequence = scheduler->admitted[i];

		if (sequence->generated_tokens < sequence->output_tokens) {
			sequence->generated_tokens++;
			scheduler->counts.generated_tokens++;
		}
		if (sequence->generated_tokens == sequence->output_tokens)
			finish(scheduler, sequence);
		else
			scheduler->running[scheduler->running_count++] = sequence;
		scheduler->prefilled = true;
	}
	scheduler->admitted_count = 0;
}

static void preempt_last(struct scheduler *scheduler)
{
	struct sequence *sequence = scheduler->running[--scheduler->running_count];

	release_pages(scheduler, sequence);
	scheduler->preempted[scheduler->preempted_count++] = sequence;
	scheduler->counts.preemptions++;
}

/* The tokens in the KV cache after the next step, should all drafts come true. */
static uint32_t context_length(const struct scheduler *scheduler, const struct sequence *sequence)
{
	return sequence->prompt_tokens + sequence->generated_tokens +
	       scheduler->settings.speculative_tokens;
}

/*
 * Gives every running request the pages of its next tokens. The requests are served in the order of
 * admission and the last one loses its pages first, so the oldest always goes on.
 */
static int grow(struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->running_count; i++) {
		struct sequence *sequence = scheduler->running[i];
		uint32_t needed = pages_for(scheduler, context_length(scheduler, sequence));

		while (i < scheduler->running_count &&
		       needed > h2d_block_table_length(sequence->pages)) {
			if (page_pool_free_count(scheduler->pool) == 0)
				preempt_last(scheduler);
			else if (h2d_block_table_append(sequence->pages,
							page_pool_take(scheduler->pool)) !=
				 H2D_STATUS_SUCCESS)
				return -1;
		}
	}
	update_pages_in_use(scheduler);
	return 0;
}

static void describe(struct scheduler *scheduler, struct sequence *const sequences[],
		     uint32_t count, struct scheduler_batch *batch)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sequence *sequence = sequences[i];

		scheduler->request_ids[i] = sequence->request;
		scheduler->context_lengths[i] = (int32_t)context_length(scheduler, sequence);
		scheduler->tables[i] = sequence->pages;
		scheduler->block_tables[i] = h2d_block_table_ids(sequence->pages);
		scheduler->block_table_lengths[i] = h2d_block_table_length(sequence->pages);
	}
	*batch = (struct scheduler_batch){
		.num_requests = count,
		.request_ids = scheduler->request_ids,
		.context_lengths = scheduler->context_lengths,
		.tables = scheduler->tables,
		.block_tables = scheduler->block_tables,
		.block_table_lengths = scheduler->block_table_lengths,
	};
}

/* A prefill stores all tokens that are known, and no drafts. */
static void describe_prefill(struct scheduler *scheduler, struct scheduler_batch *batch)
{
	describe(scheduler, scheduler->admitted, scheduler->admitted_count, batch);
	for (uint32_t i = 0; i < scheduler->admitted_count; i++) {
		scheduler->context_lengths[i] -= (int32_t)scheduler->settings.speculative_tokens;
		scheduler->cached_tokens[i] = (int32_t)scheduler->admitted[i]->cached_tokens;
	}
	batch->cached_tokens = scheduler->cached_tokens;
}

/* The next arrival when nothing runs; false: there is none. */
static bool jump_to_arrival(struct scheduler *scheduler)
{
	const struct trace *trace = scheduler->trace;

	if (scheduler->next_request == trace->request_count)
		return false;
	if (trace->requests[scheduler->next_request].arrival_us > scheduler->now_us)
		scheduler->now_us = trace->requests[scheduler->next_request].arrival_us;
	return true;
}

enum scheduler_step scheduler_schedule(struct scheduler *scheduler, struct scheduler_batch *batch)
{
	for (;;) {
		complete_prefill(scheduler);
		if (admit(scheduler) < 0)
			return SCHEDULER_NO_MEMORY;
		if (scheduler->admitted_count > 0) {
			if (!scheduler->settings.prefills)
				continue;
			describe_prefill(scheduler, batch);
			return SCHEDULER_PREFILL;
		}
		if (scheduler->prefilled)
			scheduler->now_us += scheduler->settings.step_us;
		scheduler->prefilled = false;
		if (grow(scheduler) < 0)
			return SCHEDULER_NO_MEMORY;
		if (scheduler->running_count > 0)
			break;
		if (scheduler->preempted_count == 0 && !jump_to_arrival(scheduler))
			return SCHEDULER_DONE;
	}
	describe(scheduler, scheduler->running, scheduler->running_count, batch);
	return SCHEDULER_DECODE;
}

/* How many drafts of a request come true in this step; its answer may end before. */
static uint32_t accepted_drafts(const struct scheduler *scheduler, const struct sequence *sequence)
{
	const uint32_t left = sequence->output_tokens - sequence->generated_tokens - 1;
	uint32_t accepted = (sequence->request * 7 + sequence->generated_tokens * 5) % 11 %
			    (scheduler->settings.speculative_tokens + 1);

	return accepted < left ? accepted : left;
}

void scheduler_advance(struct scheduler *scheduler)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < scheduler->running_count; i++) {
		struct sequence *sequence = scheduler->running[i];

		const uint32_t accepted = accepted_drafts(scheduler, sequence);

		sequence->generated_tokens += 1 + accepted;
		scheduler->counts.accepted_drafts += accepted;
		scheduler->counts.generated_tokens += 1 + accepted;
		if (sequence->generated_tokens == sequence->output_tokens)
			finish(scheduler, sequence);
		else
			scheduler->running[kept++] = sequence;
	}
	scheduler->running_count = kept;
	scheduler->counts.decode_steps++;
	scheduler->now_us += scheduler->settings.step_us;
}

const struct scheduler_counts *scheduler_counts(const struct scheduler *scheduler)
{
	return &scheduler->counts;
}
