/* SPDX-License-Identifier: MIT */
/*
 * h2dpub-replay: replays a request trace, publishes the metadata of every decode step and verifies
 * what the GPU's first consumer made of it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "generator.h"
#include "progress.h"
#include "replay_gpu.h"
#include "replay_options.h"
#include "report.h"
#include "trace.h"

enum exit_status { ALL_VERIFIED = 0, MISMATCH = 1, WRONG_USE = 2, FAILURE = 3 };

/* Mismatches after these are only counted. */
#define SHOWN_MISMATCHES 10

/* In one of so many steps the replay waits for the GPU, to measure when the consumer is done. */
#define STEPS_A_MEASUREMENT 16

static int fail(enum exit_status status, const struct tool_error *error)
{
	fprintf(stderr, "h2dpub-replay: %s\n", error->text);
	if (status == WRONG_USE)
		fputs("Try 'h2dpub-replay --help'.\n", stderr);
	return status;
}

static int load_requests(struct trace *trace, const struct replay_options *options, char *source,
			 size_t source_size, struct tool_error *error)
{
	if (options->trace_path != NULL) {
		snprintf(source, source_size, "trace %s",
			 strcmp(options->trace_path, "-") == 0 ? "on standard input"
							       : options->trace_path);
		return trace_read(trace, options->trace_path, options->requests, error);
	}
	snprintf(source, source_size, "the built-in generator (no trace given), seed %" PRIu64,
		 options->seed);
	return generator_fill(trace, options->requests, options->seed, error);
}

static void collect_verdict(struct report *report, const struct replay_gpu_verdict *verdict,
			    struct progress *progress)
{
	const struct verify_mismatch *mismatch = &verdict->mismatch;

	report->verified_steps++;
	report->verified_bytes += verdict->bytes;
	if (mismatch->elements == 0)
		return;
	report->mismatched_elements += mismatch->elements;
	report->mismatched_steps++;
	if (report->mismatched_steps > SHOWN_MISMATCHES)
		return;
	progress_end(progress);
	fprintf(stderr,
		"h2dpub-replay: step %" PRIu64 ": %s[%zu] is %" PRId64 ", expected %" PRId64
		" (%" PRIu64 " elements of the step differ)\n",
		verdict->step, verify_array_name(mismatch->array), mismatch->index, mismatch->found,
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

static double fraction_done(const struct scheduler_counts *counts, uint64_t step_limit)
{
	double by_tokens = (double)counts->generated_tokens / (double)counts->expected_tokens;
	double by_steps = step_limit ? (double)counts->decode_steps / (double)step_limit : 0;

	return by_tokens > by_steps ? by_tokens : by_steps;
}

/* Waits for the GPU and verifies what all slots hold. */
static int verify_slots(struct replay_gpu *gpu, struct report *report, struct progress *progress,
			struct tool_error *error)
{
	struct replay_gpu_verdict verdict;
	int status = replay_gpu_wait(gpu, error);

	if (status < 0)
		return -1;
	while ((status = replay_gpu_verify(gpu, &verdict, error)) > 0)
		collect_verdict(report, &verdict, progress);
	return status;
}

static int run_step(struct replay_gpu *gpu, const struct scheduler_batch *batch, uint64_t step,
		    struct report *report, struct progress *progress, struct tool_error *error)
{
	bool measure = step % STEPS_A_MEASUREMENT == 0;
	struct replay_gpu_step result;

	/* the steps of all slots run without a wait in between; then their turn comes again */
	if (report->verified && step % report->slots == 0 &&
	    verify_slots(gpu, report, progress, error) < 0)
		return -1;
	if (replay_gpu_run_step(gpu, batch, measure, &result, error) < 0)
		return -1;
	return collect_step(report, batch, &result, error);
}

static int run_steps(struct replay_gpu *gpu, struct scheduler *scheduler, uint64_t step_limit,
		     struct report *report, struct progress *progress, struct tool_error *error)
{
	const struct scheduler_counts *counts = scheduler_counts(scheduler);
	struct scheduler_batch batch;
	int status;

	while ((status = scheduler_schedule(scheduler, &batch)) > 0) {
		if (step_limit != 0 && counts->decode_steps == step_limit) {
			report->stopped_early = true;
			break;
		}
		if (run_step(gpu, &batch, counts->decode_steps, report, progress, error) < 0)
			return -1;
		scheduler_advance(scheduler);
		progress_update(progress, fraction_done(counts, step_limit), counts->decode_steps);
	}
	report->scheduled = *counts;
	if (status < 0) {
		tool_error_set(error, "out of memory for the scheduler");
		return -1;
	}
	return verify_slots(gpu, report, progress, error);
}

static int run(struct replay_gpu *gpu, struct scheduler *scheduler, uint64_t step_limit,
	       struct report *report, struct tool_error *error)
{
	struct progress progress;
	int status;

	progress_start(&progress);
	status = run_steps(gpu, scheduler, step_limit, report, &progress, error);
	progress_end(&progress);
	report->seconds = (double)(progress_now_ns() - progress.started_ns) / 1e9;
	return status;
}

static void collect_totals(struct report *report, const struct replay_gpu *gpu)
{
	h2d_publication_totals_t totals;

	replay_gpu_totals(gpu, &totals);
	report->publications = totals.publications;
	report->dma_copies = totals.dma_copies;
	report->publication_dispatches = totals.dispatches;
	report->barrier_packets = totals.barrier_packets;
	report->bytes = totals.bytes;
	report->packed_bytes = totals.packed_bytes;
	replay_gpu_launches(gpu, &report->graph_launches, &report->consumer_dispatches);
}

static int print_report(struct report *report, bool json, struct tool_error *error)
{
	if (json && report_print_json(report, stdout) < 0) {
		tool_error_set(error, "out of memory for the summary");
		return -1;
	}
	if (!json)
		report_print_table(report, stdout);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		tool_error_set(error, "cannot write the summary: %s", strerror(errno));
		return -1;
	}
	return 0;
}

static int replay(const struct replay_options *options, const struct trace *trace,
		  const char *source, struct tool_error *error)
{
	const struct replay_gpu_settings gpu_settings = {
		.backend = options->backend,
		.slots = (uint32_t)options->slots,
		.max_num_seqs = (uint32_t)options->max_num_seqs,
		.block_size = (uint32_t)options->block_size,
		.page_size = (uint32_t)options->page_size,
		.num_pages = (uint32_t)options->num_pages,
		.max_model_len = (uint32_t)options->max_model_len,
		.verify = options->verify,
	};
	const struct scheduler_settings scheduler_settings = {
		.max_num_seqs = (uint32_t)options->max_num_seqs,
		.block_size = (uint32_t)options->block_size,
		.num_pages = (uint32_t)options->num_pages,
		.max_model_len = (uint32_t)options->max_model_len,
		.step_us = (int64_t)options->step_ms * 1000,
	};
	struct report report = {
		.source = source,
		.slots = options->slots,
		.requests = trace->request_count,
		.max_model_len = options->max_model_len,
		.block_size = options->block_size,
		.num_pages = options->num_pages,
		.verified = options->verify,
	};
	struct scheduler *scheduler = scheduler_create(&scheduler_settings, trace);
	struct replay_gpu *gpu = NULL;
	int status = -1;

	if (scheduler == NULL)
		tool_error_set(error, "out of memory for the scheduler");
	else
		gpu = replay_gpu_create(&gpu_settings, error);
	if (gpu != NULL) {
		report.device = replay_gpu_device(gpu);
		report.backend = h2d_backend_name(replay_gpu_backend(gpu));
		status = run(gpu, scheduler, options->steps, &report, error);
	}
	if (status == 0) {
		collect_totals(&report, gpu);
		status = print_report(&report, options->json, error);
	}
	replay_gpu_destroy(gpu);
	scheduler_destroy(scheduler);
	report_free(&report);
	if (status < 0)
		return fail(FAILURE, error);
	return report.mismatched_steps > 0 ? MISMATCH : ALL_VERIFIED;
}

int main(int argc, char *argv[])
{
	struct replay_options options;
	struct tool_error error;
	struct trace trace;
	h2d_backend_t backend;
	char source[512];
	int status;

	if (replay_options_parse(&options, argc, argv, &error) < 0)
		return fail(WRONG_USE, &error);
	if (options.help) {
		replay_options_print_help(stdout);
		return fflush(stdout) == 0 ? ALL_VERIFIED : FAILURE;
	}
	if (options.version) {
		printf("h2dpub-replay %s\n", PACKAGE_VERSION);
		return fflush(stdout) == 0 ? ALL_VERIFIED : FAILURE;
	}
	if (h2d_backend_from_name(options.backend, &backend) != H2D_STATUS_SUCCESS) {
		tool_error_set(&error, "%s: %s",
			       options.backend != NULL ? "option --backend"
						       : "environment variable ATOM_H2D_BACKEND",
			       h2d_error_message());
		return fail(WRONG_USE, &error);
	}
	if (load_requests(&trace, &options, source, sizeof(source), &error) < 0)
		return fail(WRONG_USE, &error);
	status = replay_options_fit(&options, &trace, &error) < 0
			 ? fail(WRONG_USE, &error)
			 : replay(&options, &trace, source, &error);
	trace_free(&trace);
	return status;
}
