/* SPDX-License-Identifier: MIT */
/* Printing of the summary. */
#include "config.h"

#include "report.h"

#include <inttypes.h>
#include <json-c/json.h>

#include "json_text.h"

void report_free(struct report *report)
{
	samples_free(&report->batch_sizes);
	samples_free(&report->publication_ns);
	samples_free(&report->consumer_ns);
	samples_free(&report->prefill.publication_ns);
}

static double mean_batch(const struct report *report)
{
	uint64_t steps = report->scheduled.decode_steps;

	return steps == 0 ? 0 : (double)report->batch_rows / (double)steps;
}

static double padding_percent(const struct report *report)
{
	uint64_t padding = report->graph_rows - report->batch_rows;

	return report->graph_rows == 0 ? 0 : 100.0 * (double)padding / (double)report->graph_rows;
}

static void print_text(FILE *file, const char *name, const char *value)
{
	fprintf(file, "  %-28s %s\n", name, value);
}

static void print_count(FILE *file, const char *name, uint64_t value)
{
	fprintf(file, "  %-28s %" PRIu64 "\n", name, value);
}

static void print_times(FILE *file, const char *name, struct samples *samples)
{
	if (samples->count == 0) {
		print_text(file, name, "not measured");
		return;
	}
	fprintf(file, "  %-28s median %.1f us, p99 %.1f us\n", name,
		(double)samples_percentile(samples, 50) / 1e3,
		(double)samples_percentile(samples, 99) / 1e3);
}

static void print_bytes(FILE *file, const char *name, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double scaled = (double)bytes;
	size_t unit = 0;

	while (scaled >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		scaled /= 1024;
		unit++;
	}
	fprintf(file, "  %-28s %.*f %s\n", name, unit == 0 ? 0 : 1, scaled, units[unit]);
}

static void print_attention(const struct report *report, FILE *file)
{
	const bool several = report->messages.workers > 1;

	if (report->dcp_size > 1)
		fprintf(file, "  %-28s %s %" PRIu64 " of %" PRIu64 "%s, interleave %" PRIu64 "\n",
			"context parallelism", several ? "from rank" : "rank", report->dcp_rank,
			report->dcp_size, several ? " on" : "", report->dcp_interleave);
	if (report->index_topk > 0)
		fprintf(file, "  %-28s at most %" PRIu64 " tokens selected\n", "sparse attention",
			report->index_topk);
	if (report->qsa_ratio > 0)
		fprintf(file, "  %-28s %" PRIu64 " to a compressed one\n", "QSA tokens",
			report->qsa_ratio);
}

static void print_workload(struct report *report, FILE *file)
{
	const struct scheduler_counts *scheduled = &report->scheduled;

	fputs("Workload\n", file);
	fprintf(file,
		"  %-28s %" PRIu64 ": %" PRIu64 " finished, %" PRIu64 " clipped, %" PRIu64
		" rejected (too long)\n",
		"requests", report->requests, scheduled->finished, scheduled->clipped,
		scheduled->rejected);
	fprintf(file, "  %-28s %" PRIu64 " prompt, %" PRIu64 " generated\n", "tokens",
		scheduled->prompt_tokens, scheduled->generated_tokens);
	fprintf(file, "  %-28s at most %" PRIu64 " tokens\n", "context", report->max_model_len);
	if (report->speculative_tokens > 0)
		fprintf(file, "  %-28s %" PRIu64 " a request and step, %" PRIu64 " accepted\n",
			"speculative tokens", report->speculative_tokens,
			scheduled->accepted_drafts);
	print_attention(report, file);
	fprintf(file, "  %-28s %" PRIu64 "%s\n", "decode steps", scheduled->decode_steps,
		report->stopped_early ? " (stopped before all requests were done)" : "");
	fprintf(file, "  %-28s min %" PRIu64 ", mean %.1f, max %" PRIu64 "\n", "batch size",
		samples_percentile(&report->batch_sizes, 0), mean_batch(report),
		samples_percentile(&report->batch_sizes, 100));
	fprintf(file, "  %-28s %" PRIu64 " rows, %.1f %% of the graphs' rows\n", "graph padding",
		report->graph_rows - report->batch_rows, padding_percent(report));
	print_count(file, "preemptions", scheduled->preemptions);
	fprintf(file,
		"  %-28s %" PRIu64 " of %" PRIu64 " tokens: at most %" PRIu32 " in use, %" PRIu64
		" shared by prefix\n",
		"KV pages", report->num_pages, report->block_size, scheduled->most_pages_in_use,
		scheduled->shared_pages);
}

static const char *const group_names[REPLAY_GROUPS] = {
	[REPLAY_TOKEN_INPUTS] = "token_inputs",
	[REPLAY_MHA_DECODE] = "mha_decode",
	[REPLAY_MLA_DECODE] = "mla_decode",
	[REPLAY_MROPE] = "mrope",
	[REPLAY_TBO] = "tbo",
	[REPLAY_QSA] = "qsa",
	[REPLAY_PLE] = "ple",
	[REPLAY_PREFILL_TOKEN_INPUTS] = "prefill_token_inputs",
	[REPLAY_PREFILL_INPUTS] = "prefill_inputs",
	[REPLAY_MLA_PREFILL] = "mla_prefill",
	[REPLAY_PREFILL_MROPE] = "prefill_mrope",
	[REPLAY_PREFILL_QSA] = "prefill_qsa",
	[REPLAY_PREFILL_PLE] = "prefill_ple",
};

static double per_step(uint64_t count, const struct replay_group *group)
{
	return (double)count / (double)group->steps;
}

static void print_groups(const struct report *report, FILE *file, int first, int end)
{
	for (int i = first; i < end; i++) {
		const struct replay_group *group = &report->groups[i];

		if (group->steps > 0)
			fprintf(file,
				"  %-28s %.2f DMA copies, %.2f dispatches, %.0f bytes a step\n",
				group_names[i], per_step(group->dma_copies, group),
				per_step(group->dispatches, group), per_step(group->bytes, group));
	}
}

/* A group alone needs no line of its own: the totals are its. */
static bool has_several_groups(const struct report *report)
{
	int published = 0;

	for (int i = 0; i < REPLAY_GROUPS; i++)
		published += report->groups[i].steps > 0;
	return published > 1;
}

static void print_publication(struct report *report, FILE *file)
{
	fputs("Publication\n", file);
	print_text(file, "backend", report->backend);
	print_count(file, "slots", report->slots);
	print_count(file, "publications", report->publications);
	print_count(file, "DMA copies", report->dma_copies);
	print_count(file, "scatter or pull dispatches", report->publication_dispatches);
	print_count(file, "barrier packets", report->barrier_packets);
	fprintf(file, "  %-28s %" PRIu64 " launches, %" PRIu64 " dispatches\n", "consumer graphs",
		report->graph_launches, report->consumer_dispatches);
	print_bytes(file, "published", report->bytes);
	print_bytes(file, "of which packed by the CPU", report->packed_bytes);
	if (has_several_groups(report))
		print_groups(report, file, 0, REPLAY_PREFILL_TOKEN_INPUTS);
}

static void print_prefill(const struct report *report, FILE *file)
{
	const struct replay_prefill *prefill = &report->prefill;

	if (!prefill->published)
		return;
	fputs("Prefill\n", file);
	fprintf(file, "  %-28s %" PRIu64 ", %" PRIu64 " of them with cached tokens\n",
		"prefill steps", prefill->steps, prefill->cached_steps);
	fprintf(file, "  %-28s %" PRIu64 ", at most %" PRIu64 " a step\n", "tokens",
		prefill->tokens, prefill->max_tokens);
	print_count(file, "consumer dispatches", prefill->dispatches);
	print_groups(report, file, REPLAY_PREFILL_TOKEN_INPUTS, REPLAY_GROUPS);
}

static void print_tables(struct report *report, FILE *file)
{
	const struct replay_tables *tables = &report->tables;

	fputs("Block tables\n", file);
	fprintf(file, "  %-28s %" PRIu64 " of %" PRIu64 " tables\n", "unchanged", tables->hits,
		tables->prepared);
	fprintf(file, "  %-28s %" PRIu64 " appended to, %" PRIu64 " rewritten, %" PRIu64 " ids\n",
		"rows", tables->rows_appended, tables->rows_written, tables->ids_written);
	print_count(file, "uploads omitted", tables->uploads_omitted);
	print_bytes(file, "which saved", tables->bytes_omitted);
}

static void print_messages(struct report *report, FILE *file)
{
	const struct replay_messages *messages = &report->messages;

	if (messages->workers == 0)
		return;
	fputs("Workers\n", file);
	print_count(file, "workers", messages->workers);
	fprintf(file, "  %-28s %" PRIu64 ", %" PRIu64 " of them with whole tables\n", "messages",
		messages->messages, messages->whole_messages);
	print_bytes(file, "sent to each worker", messages->bytes);
	print_bytes(file, "whole tables would take", messages->whole_bytes);
	print_count(file, "requests for whole tables", messages->whole_requests);
	print_count(file, "steps that workers missed", messages->skipped_steps);
}

void report_print_table(struct report *report, FILE *file)
{
	fprintf(file, "h2dpub-replay on %s\nRequests from %s\n", report->device, report->source);
	print_workload(report, file);
	print_publication(report, file);
	print_prefill(report, file);
	print_tables(report, file);
	print_messages(report, file);
	fputs("Time\n", file);
	fprintf(file, "  %-28s %.2f s, %.1f steps/s\n", "replay", report->seconds,
		report->seconds > 0 ? (double)report->scheduled.decode_steps / report->seconds : 0);
	print_times(file, "host, one publication", &report->publication_ns);
	if (report->prefill.published)
		print_times(file, "host, one prefill", &report->prefill.publication_ns);
	print_times(file, "preparation to consumer done", &report->consumer_ns);
	fputs("Verification\n", file);
	if (!report->verified) {
		print_text(file, "steps verified", "none (--no-verify)");
		return;
	}
	print_count(file, "steps verified", report->verified_steps);
	if (report->prefill.published)
		print_count(file, "prefill steps verified", report->prefill.verified_steps);
	print_bytes(file, "compared", report->verified_bytes);
	fprintf(file, "  %-28s %" PRIu64, "mismatches", report->mismatched_elements);
	if (report->mismatched_steps > 0)
		fprintf(file, " elements in %" PRIu64 " steps", report->mismatched_steps);
	fputc('\n', file);
}

static void add_count(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* Three decimals are what the figures are worth. */
static void add_decimal(struct json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void add_times(struct json_object *object, const char *key, struct samples *samples)
{
	struct json_object *times = NULL;

	if (samples->count > 0) {
		times = json_object_new_object();
		add_count(times, "median", samples_percentile(samples, 50));
		add_count(times, "p99", samples_percentile(samples, 99));
	}
	json_object_object_add(object, key, times);
}

static void add_workload(struct json_object *root, struct report *report)
{
	const struct scheduler_counts *scheduled = &report->scheduled;
	struct json_object *batch = json_object_new_object();

	add_count(root, "requests", report->requests);
	add_count(root, "requests_finished", scheduled->finished);
	add_count(root, "requests_clipped", scheduled->clipped);
	add_count(root, "requests_rejected", scheduled->rejected);
	add_count(root, "prompt_tokens", scheduled->prompt_tokens);
	add_count(root, "generated_tokens", scheduled->generated_tokens);
	add_count(root, "max_model_len", report->max_model_len);
	add_count(root, "block_size", report->block_size);
	add_count(root, "num_pages", report->num_pages);
	add_count(root, "speculative_tokens", report->speculative_tokens);
	add_count(root, "accepted_drafts", scheduled->accepted_drafts);
	add_count(root, "dcp_size", report->dcp_size);
	add_count(root, "dcp_rank", report->dcp_rank);
	add_count(root, "dcp_interleave", report->dcp_interleave);
	add_count(root, "index_topk", report->index_topk);
	add_count(root, "qsa_ratio", report->qsa_ratio);
	add_count(root, "decode_steps", scheduled->decode_steps);
	json_object_object_add(root, "stopped_early",
			       json_object_new_boolean(report->stopped_early));
	add_count(batch, "min", samples_percentile(&report->batch_sizes, 0));
	add_decimal(batch, "mean", mean_batch(report));
	add_count(batch, "max", samples_percentile(&report->batch_sizes, 100));
	json_object_object_add(root, "batch_size", batch);
	add_count(root, "padding_rows", report->graph_rows - report->batch_rows);
	add_decimal(root, "padding_percent", padding_percent(report));
	add_count(root, "preemptions", scheduled->preemptions);
	add_count(root, "most_pages_in_use", scheduled->most_pages_in_use);
	add_count(root, "shared_pages", scheduled->shared_pages);
}

static void add_group_count(struct json_object *root, int group, const char *what, uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s", group_names[group], what);
	add_count(root, key, value);
}

static void add_groups(struct json_object *root, const struct report *report)
{
	for (int i = 0; i < REPLAY_GROUPS; i++) {
		const struct replay_group *group = &report->groups[i];

		if (group->steps == 0)
			continue;
		add_group_count(root, i, "steps", group->steps);
		add_group_count(root, i, "dma_copies", group->dma_copies);
		add_group_count(root, i, "dispatches", group->dispatches);
		add_group_count(root, i, "bytes", group->bytes);
	}
}

static void add_publication(struct json_object *root, const struct report *report)
{
	json_object_object_add(root, "backend", json_object_new_string(report->backend));
	add_count(root, "slots", report->slots);
	add_count(root, "publications", report->publications);
	add_count(root, "dma_copies", report->dma_copies);
	add_count(root, "publication_dispatches", report->publication_dispatches);
	add_groups(root, report);
	add_count(root, "barrier_packets", report->barrier_packets);
	add_count(root, "graph_launches", report->graph_launches);
	add_count(root, "consumer_dispatches", report->consumer_dispatches);
	add_count(root, "bytes", report->bytes);
	add_count(root, "packed_bytes", report->packed_bytes);
}

static void add_prefill(struct json_object *root, struct replay_prefill *prefill)
{
	if (!prefill->published)
		return;
	add_count(root, "prefill_max_tokens", prefill->max_tokens);
	add_count(root, "prefill_steps", prefill->steps);
	add_count(root, "prefill_cached_steps", prefill->cached_steps);
	add_count(root, "prefill_requests", prefill->requests);
	add_count(root, "prefill_tokens", prefill->tokens);
	add_count(root, "prefill_consumer_dispatches", prefill->dispatches);
	add_count(root, "prefill_verified_steps", prefill->verified_steps);
	add_times(root, "prefill_publication_ns", &prefill->publication_ns);
}

static void add_tables(struct json_object *root, const struct replay_tables *tables)
{
	struct json_object *object = json_object_new_object();

	add_count(object, "prepared", tables->prepared);
	add_count(object, "hits", tables->hits);
	add_count(object, "rows_appended", tables->rows_appended);
	add_count(object, "rows_written", tables->rows_written);
	add_count(object, "ids_written", tables->ids_written);
	add_count(object, "uploads_omitted", tables->uploads_omitted);
	add_count(object, "bytes_omitted", tables->bytes_omitted);
	json_object_object_add(root, "block_tables", object);
}

static void add_messages(struct json_object *root, const struct replay_messages *messages)
{
	struct json_object *object;

	add_count(root, "workers", messages->workers);
	if (messages->workers == 0)
		return;
	object = json_object_new_object();
	add_count(object, "messages", messages->messages);
	add_count(object, "whole_messages", messages->whole_messages);
	add_count(object, "whole_requests", messages->whole_requests);
	add_count(object, "message_bytes", messages->bytes);
	add_count(object, "whole_table_bytes", messages->whole_bytes);
	add_count(object, "skipped_steps", messages->skipped_steps);
	json_object_object_add(root, "worker_messages", object);
}

int report_print_json(struct report *report, FILE *file)
{
	struct json_object *root = json_object_new_object();

	if (root == NULL)
		return -1;
	json_object_object_add(root, "source", json_text_new(report->source));
	json_object_object_add(root, "device", json_text_new(report->device));
	add_workload(root, report);
	add_publication(root, report);
	add_prefill(root, &report->prefill);
	add_tables(root, &report->tables);
	add_messages(root, &report->messages);
	add_decimal(root, "seconds", report->seconds);
	add_times(root, "publication_ns", &report->publication_ns);
	add_times(root, "preparation_to_consumer_done_ns", &report->consumer_ns);
	json_object_object_add(root, "verified", json_object_new_boolean(report->verified));
	add_count(root, "verified_steps", report->verified_steps);
	add_count(root, "verified_bytes", report->verified_bytes);
	add_count(root, "mismatched_steps", report->mismatched_steps);
	add_count(root, "mismatches", report->mismatched_elements);
	fprintf(file, "%s\n",
		json_object_to_json_string_ext(root,
					       JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	json_object_put(root);
	return 0;
}
