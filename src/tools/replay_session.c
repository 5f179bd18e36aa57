/* SPDX-License-Identifier: MIT */
/*
 * One process's share of a replay: it publishes steps on its GPU, verifies them and collects
 * figures.
 */
#include "config.h"

#include "replay_session.h"

#include <inttypes.h>

/* Mismatches after these are only counted. */
#define SHOWN_MISMATCHES 10

/* In one of so many steps the replay waits for the GPU, to measure when the consumer is done. */
#define STEPS_A_MEASUREMENT 16

static void collect_verdict(struct replay_session *session,
			    const struct replay_gpu_verdict *verdict)
{
	const struct verify_mismatch *mismatch = &verdict->mismatch;
	struct report *report = session->report;

	if (verdict->prefill)
		report->prefill.verified_steps++;
	else
		report->verified_steps++;
	report->verified_bytes += verdict->bytes;
	if (mismatch->elements == 0)
		return;
	report->mismatched_elements += mismatch->elements;
	report->mismatched_steps++;
	if (report->mismatched_steps > SHOWN_MISMATCHES)
		return;
	progress_end(session->progress);
	fprintf(stderr,
		"h2dpub-replay: %sstep %" PRIu64 ": %s[%zu] is %" PRId64 ", expected %" PRId64
		" (%" PRIu64 " elements of the step differ)\n",
		verdict->prefill ? "prefill " : "", verdict->step,
		verify_array_name(mismatch->array), mismatch->index, mismatch->found,
		mismatch->expected, mismatch->elements);
}

static int collect_step(struct report *report, const struct scheduler_batch *batch,
			const struct replay_gpu_step *step, struct tool_error *error)
{
	int status = samples_add(&report->batch_sizes, batch->num_requests);

	report->batch_rows += batch->num_requests;
	report->graph_rows += step->graph_requests;
	status |= samples_add(&report->publication_ns, step->publication_ns);
	if (step->consumer_ns != 0)
		status |= samples_add(&report->consumer_ns, step->consumer_ns);
	if (status < 0)
		tool_error_set(error, "out of memory for the statistics");
	return status;
}

/* Waits for the GPU and verifies what all slots hold. */
static int verify_slots(struct replay_session *session, struct tool_error *error)
{
	struct replay_gpu_verdict verdict;
	int status = replay_gpu_wait(session->gpu, error);

	if (status < 0)
		return -1;
	while ((status = replay_gpu_verify(session->gpu, &verdict, error)) > 0)
		collect_verdict(session, &verdict);
	return status;
}

/* The forwards of all slots run without a wait in between; then their turn comes again. */
static int take_slot(struct replay_session *session, struct tool_error *error)
{
	const struct report *report = session->report;
	const bool all_used = session->forwards++ % report->slots == 0;

	return report->verified && all_used ? verify_slots(session, error) : 0;
}

int replay_session_step(struct replay_session *session, const struct scheduler_batch *batch,
			struct tool_error *error)
{
	bool measure = session->steps % STEPS_A_MEASUREMENT == 0;
	struct report *report = session->report;
	struct replay_gpu_step result;

	if (take_slot(session, error) < 0)
		return -1;
	if (replay_gpu_run_step(session->gpu, batch, measure, &result, error) < 0)
		return -1;
	session->steps++;
	return collect_step(report, batch, &result, error);
}

static int collect_prefill(struct report *report, const struct scheduler_batch *forward,
			   const struct replay_gpu_prefill *result, struct tool_error *error)
{
	struct replay_prefill *prefill = &report->prefill;

	prefill->steps++;
	prefill->cached_steps += result->has_cached;
	prefill->requests += forward->num_requests;
	prefill->tokens += result->tokens;
	prefill->dispatches += result->dispatches;
	if (samples_add(&prefill->publication_ns, result->publication_ns) == 0)
		return 0;
	tool_error_set(error, "out of memory for the statistics");
	return -1;
}

int replay_session_prefill(struct replay_session *session, struct prefill_chunks *chunks,
			   struct tool_error *error)
{
	struct scheduler_batch forward;
	struct replay_gpu_prefill result;

	while (prefill_chunks_next(chunks, &forward)) {
		if (take_slot(session, error) < 0 ||
		    replay_gpu_run_prefill(session->gpu, &forward, &result, error) < 0 ||
		    collect_prefill(session->report, &forward, &result, error) < 0)
			return -1;
	}
	return 0;
}

int replay_session_finish(struct replay_session *session, struct tool_error *error)
{
	struct report *report = session->report;
	h2d_publication_totals_t totals;

	if (verify_slots(session, error) < 0)
		return -1;
	replay_gpu_totals(session->gpu, &totals);
	report->publications = totals.publications;
	report->dma_copies = totals.dma_copies;
	report->publication_dispatches = totals.dispatches;
	report->barrier_packets = totals.barrier_packets;
	report->bytes = totals.bytes;
	report->packed_bytes = totals.packed_bytes;
	replay_gpu_groups(session->gpu, report->groups);
	replay_gpu_tables(session->gpu, &report->tables);
	replay_gpu_launches(session->gpu, &report->graph_launches, &report->consumer_dispatches);
	return 0;
}
