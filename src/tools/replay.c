/* SPDX-License-Identifier: MIT */
/*
 * h2dpub-replay: replays a request trace, publishes the metadata of every decode step and verifies
 * what the GPU's first consumer made of it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "generator.h"
#include "progress.h"
#include "replay_options.h"
#include "replay_session.h"
#include "standard_descriptors.h"
#include "trace.h"
#include "workers.h"

enum exit_status { ALL_VERIFIED = 0, MISMATCH = 1, WRONG_USE = 2, FAILURE = 3 };

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

static double fraction_done(const struct scheduler_counts *counts, uint64_t step_limit)
{
	double by_tokens = (double)counts->generated_tokens / (double)counts->expected_tokens;
	double by_steps = step_limit ? (double)counts->decode_steps / (double)step_limit : 0;

	return by_tokens > by_steps ? by_tokens : by_steps;
}

/* Where the steps go: this process's GPU, or workers with one each. */
struct target {
	struct replay_session session;
	struct prefill_chunks chunks; /* for a session with prefills */
	struct workers *workers;      /* NULL: none */
};

static int run_step(struct target *target, const struct scheduler_batch *batch, uint64_t step,
		    struct report *report, uint32_t max_num_seqs, struct tool_error *error)
{
	if (target->workers == NULL)
		return replay_session_step(&target->session, batch, error);
	report->batch_rows += batch->num_requests;
	report->graph_rows += replay_gpu_padded(max_num_seqs, batch->num_requests);
	if (samples_add(&report->batch_sizes, batch->num_requests) < 0) {
		tool_error_set(error, "out of memory for the statistics");
		return -1;
	}
	return workers_step(target->workers, batch, step, error);
}

static int run_prefill(struct target *target, const struct scheduler_batch *batch,
		       struct tool_error *error)
{
	prefill_chunks_begin(&target->chunks, batch);
	return replay_session_prefill(&target->session, &target->chunks, error);
}

static int run_steps(struct target *target, struct scheduler *scheduler,
		     const struct replay_options *options, struct report *report,
		     struct progress *progress, struct tool_error *error)
{
	const struct scheduler_counts *counts = scheduler_counts(scheduler);
	struct scheduler_batch batch;
	enum scheduler_step status;

	while ((status = scheduler_schedule(scheduler, &batch)) > 0) {
		if (options->steps != 0 && counts->decode_steps == options->steps) {
			report->stopped_early = true;
			break;
		}
		if (status == SCHEDULER_PREFILL) {
			if (run_prefill(target, &batch, error) < 0)
				return -1;
			continue;
		}
		if (run_step(target, &batch, counts->decode_steps + 1, report,
			     (uint32_t)options->max_num_seqs, error) < 0)
			return -1;
		scheduler_advance(scheduler);
		progress_update(progress, fraction_done(counts, options->steps),
				counts->decode_steps);
	}
	report->scheduled = *counts;
	if (status == SCHEDULER_NO_MEMORY) {
		tool_error_set(error, "out of memory for the scheduler");
		return -1;
	}
	return target->workers != NULL ? workers_finish(target->workers, report, error)
				       : replay_session_finish(&target->session, error);
}

static int run(struct target *target, struct scheduler *scheduler,
	       const struct replay_options *options, struct report *report,
	       struct tool_error *error)
{
	struct progress progress;
	int status;

	progress_start(&progress);
	target->session.progress = &progress;
	status = run_steps(target, scheduler, options, report, &progress, error);
	progress_end(&progress);
	report->seconds = (double)(progress_now_ns() - progress.started_ns) / 1e9;
	return status;
}

static int open_target(struct target *target, const struct replay_options *options,
		       struct report *report, struct tool_error *error)
{
	const struct workers_settings settings = {
		.count = (uint32_t)options->workers,
		.late_step = options->late_step,
		.gpu = {
			.backend = options->backend,
			.slots = (uint32_t)options->slots,
			.max_num_seqs = (uint32_t)options->max_num_seqs,
			.block_size = (uint32_t)options->block_size,
			.page_size = (uint32_t)options->page_size,
			.num_pages = (uint32_t)options->num_pages,
			.max_model_len = (uint32_t)options->max_model_len,
			.speculative_tokens = (uint32_t)options->speculative,
			.prefill_tokens = (uint32_t)options->prefill_tokens,
			.attention = {
				.mla = options->mla,
				.dcp_size = (uint32_t)options->dcp_size,
				.dcp_rank = (uint32_t)options->dcp_rank,
				.dcp_interleave = (uint32_t)options->dcp_interleave,
				.index_topk = (uint32_t)options->index_topk,
				.mrope = options->mrope,
				.tbo = options->tbo,
				.qsa_ratio = (uint32_t)options->qsa_ratio,
			},
			.verify = options->verify,
		},
	};

	*target = (struct target){.session.report = report};
	if (options->workers > 0) {
		target->workers = workers_start(&settings, error);
		return target->workers == NULL ? -1 : 0;
	}
	if (options->prefill &&
	    !prefill_chunks_create(&target->chunks, (uint32_t)options->max_num_seqs,
				   (uint32_t)options->prefill_tokens)) {
		tool_error_set(error, "out of memory for the prefills");
		return -1;
	}
	target->session.gpu = replay_gpu_create(&settings.gpu, error);
	if (target->session.gpu == NULL)
		return -1;
	report->device = replay_gpu_device(target->session.gpu);
	report->backend = h2d_backend_name(replay_gpu_backend(target->session.gpu));
	return 0;
}

static void close_target(struct target *target)
{
	workers_destroy(target->workers);
	replay_gpu_destroy(target->session.gpu);
	prefill_chunks_destroy(&target->chunks);
}

static int finish_output(const char *what, struct tool_error *error)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	tool_error_set(error, "cannot write the %s: %s", what, strerror(errno));
	return -1;
}

static int print_report(struct report *report, bool json, struct tool_error *error)
{
	if (json && report_print_json(report, stdout) < 0) {
		tool_error_set(error, "out of memory for the summary");
		return -1;
	}
	if (!json)
		report_print_table(report, stdout);
	return finish_output("summary", error);
}

static int replay(const struct replay_options *options, const struct trace *trace,
		  const char *source, struct tool_error *error)
{
	const struct scheduler_settings scheduler_settings = {
		.max_num_seqs = (uint32_t)options->max_num_seqs,
		/* a page of the table is one of each rank */
		.block_size = (uint32_t)(options->block_size * options->dcp_size),
		.num_pages = (uint32_t)options->num_pages,
		.max_model_len = (uint32_t)options->max_model_len,
		.speculative_tokens = (uint32_t)options->speculative,
		.step_us = (int64_t)options->step_ms * 1000,
		.prefills = options->prefill,
	};
	struct report report = {
		.source = source,
		.slots = options->slots,
		.requests = trace->request_count,
		.max_model_len = options->max_model_len,
		.block_size = options->block_size,
		.num_pages = options->num_pages,
		.speculative_tokens = options->speculative,
		.dcp_size = options->dcp_size,
		.dcp_rank = options->dcp_rank,
		.dcp_interleave = options->dcp_interleave,
		.index_topk = options->index_topk,
		.qsa_ratio = options->qsa_ratio,
		.prefill = {.published = options->prefill, .max_tokens = options->prefill_tokens},
		.verified = options->verify,
	};
	struct scheduler *scheduler = scheduler_create(&scheduler_settings, trace);
	struct target target = {0};
	int status = -1;

	if (scheduler == NULL)
		tool_error_set(error, "out of memory for the scheduler");
	else
		status = open_target(&target, options, &report, error);
	if (status == 0)
		status = run(&target, scheduler, options, &report, error);
	if (status == 0)
		status = print_report(&report, options->json, error);
	close_target(&target);
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
	char source[PATH_MAX + 64];
	int status;

	if (standard_descriptors_occupy(&error) < 0)
		return fail(FAILURE, &error);
	if (replay_options_parse(&options, argc, argv, &error) < 0)
		return fail(WRONG_USE, &error);
	if (options.help) {
		replay_options_print_help(stdout);
		return finish_output("help", &error) == 0 ? ALL_VERIFIED : fail(FAILURE, &error);
	}
	if (options.version) {
		printf("h2dpub-replay %s\n", PACKAGE_VERSION);
		return finish_output("version", &error) == 0 ? ALL_VERIFIED : fail(FAILURE, &error);
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
