/* SPDX-License-Identifier: MIT */
/*
 * A small continuous-batching scheduler in simulated time. It decides, as a serving engine does,
 * which requests prefill and decode together and which KV-cache pages each of them holds.
 *
 * - Every step takes the same simulated time. When nothing runs, time jumps to the next arrival.
 * - Requests are admitted in the order of arrival while sequences and pages are free. Admission is
 *   the prefill: the pages of all known tokens are taken and one token is generated.
 * - A decode step generates one token for every running request; a page is taken when the context
 *   grows into it. When none is free, the request admitted last gives its pages back and waits; it
 *   keeps its generated tokens, and its next admission computes their KV entries again.
 * - With speculative tokens a step stores so many more for each request, and one to all of them come
 *   true, as follows from request and place alone; pages are taken for all of them.
 * - A request whose prompt does not leave room for one token in the model length is rejected; one
 *   whose answer does not fit is clipped.
 * - Full pages of equal prompt prefixes (equal hash ids) are shared while a running request holds
 *   them. A page is shared only if the hash block that contains its last token is full, so any
 *   page size works.
 */
#ifndef H2DPUB_TOOLS_SCHEDULER_H
#define H2DPUB_TOOLS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include <h2dpub/block_table.h>

#include "trace.h"

struct scheduler_settings {
	uint32_t max_num_seqs;
	uint32_t block_size; /* tokens a page */
	uint32_t num_pages;  /* num_pages * block_size >= max_model_len + speculative_tokens */
	uint32_t max_model_len;
	uint32_t speculative_tokens;
	int64_t step_us; /* simulated time of one step */
	bool prefills;   /* describe the prefills, too; the schedule is the same */
};

/*
 * One decode step, or the prefill of the requests that were admitted together. The arrays belong to
 * the scheduler and hold until scheduler_advance(), or until scheduler_schedule() after a prefill.
 */
struct scheduler_batch {
	uint32_t num_requests;
	const uint64_t *request_ids;         /* place of each request in the trace, from 0 */
	const int32_t *context_lengths;      /* tokens, with those that this step stores */
	const int32_t *cached_tokens;        /* of a prefill: that shared pages hold; else NULL */
	const h2d_block_table_t *const *tables; /* the pages of each request, and their ids: */
	const int32_t *const *block_tables;
	const uint32_t *block_table_lengths; /* pages of each request */
};

struct scheduler_counts {
	uint64_t admitted; /* requests, each once */
	uint64_t finished;
	uint64_t rejected;
	uint64_t clipped;
	uint64_t preemptions;
	uint64_t prefills; /* admissions, those after a preemption too */
	uint64_t prompt_tokens;
	uint64_t generated_tokens;
	uint64_t expected_tokens; /* what generated_tokens will be at the end */
	uint64_t accepted_drafts; /* of generated_tokens */
	uint64_t shared_pages;    /* pages that an admission found instead of taking a free one */
	uint64_t decode_steps;
	uint32_t pages_in_use;
	uint32_t most_pages_in_use;
};

struct scheduler;

/* The trace must outlive the scheduler. NULL: out of memory. */
struct scheduler *scheduler_create(const struct scheduler_settings *settings,
				   const struct trace *trace);
void scheduler_destroy(struct scheduler *scheduler);

enum scheduler_step {
	SCHEDULER_NO_MEMORY = -1,
	SCHEDULER_DONE = 0,   /* all requests are */
	SCHEDULER_DECODE = 1, /* to be followed by scheduler_advance() */
	SCHEDULER_PREFILL = 2 /* if the settings ask for them; one or more before a decode step */
};

/* Describes the next step. */
enum scheduler_step scheduler_schedule(struct scheduler *scheduler, struct scheduler_batch *batch);
void scheduler_advance(struct scheduler *scheduler);

const struct scheduler_counts *scheduler_counts(const struct scheduler *scheduler);

#endif
