/* SPDX-License-Identifier: MIT */
/* Figures and texts: percentiles, the generator, the progress bar, quoted values, the summary. */
#include "config.h"

#include <check.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../run_suite.h"
#include "tools/generator.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/statistics.h"

static struct samples samples;

static void free_samples(void)
{
	samples_free(&samples);
}

START_TEST(percentiles_are_nearest_ranks)
{
	/* 1..200 in an order that is not sorted: 77 and 200 have no common factor */
	for (uint64_t i = 0; i < 200; i++)
		ck_assert_int_eq(samples_add(&samples, i * 77 % 200 + 1), 0);
	ck_assert_uint_eq(samples_percentile(&samples, 0), 1);
	ck_assert_uint_eq(samples_percentile(&samples, 1), 2);
	ck_assert_uint_eq(samples_percentile(&samples, 50), 100);
	ck_assert_uint_eq(samples_percentile(&samples, 99), 198);
	ck_assert_uint_eq(samples_percentile(&samples, 100), 200);
}
END_TEST

START_TEST(percentiles_of_few_samples)
{
	ck_assert_uint_eq(samples_percentile(&samples, 50), 0);
	samples_add(&samples, UINT64_MAX);
	ck_assert_uint_eq(samples_percentile(&samples, 50), UINT64_MAX);
	ck_assert_uint_eq(samples_percentile(&samples, 99), UINT64_MAX);
	samples_add(&samples, 7);
	ck_assert_uint_eq(samples_percentile(&samples, 50), 7);
	ck_assert_uint_eq(samples_percentile(&samples, 51), UINT64_MAX);
}
END_TEST

/* Member by member: what is between them may be anything. */
static bool requests_are_equal(const struct trace *one, const struct trace *other)
{
	for (size_t i = 0; i < one->request_count; i++) {
		const struct trace_request *a = &one->requests[i], *b = &other->requests[i];

		if (a->arrival_us != b->arrival_us || a->prompt_tokens != b->prompt_tokens ||
		    a->output_tokens != b->output_tokens || a->first_hash != b->first_hash ||
		    a->hash_count != b->hash_count || a->position != b->position)
			return false;
	}
	return one->request_count == other->request_count;
}

START_TEST(generator_repeats_itself_for_a_seed)
{
	struct trace first, again, other;
	struct tool_error error;

	ck_assert_int_eq(generator_fill(&first, 1000, 42, &error), 0);
	ck_assert_int_eq(generator_fill(&again, 1000, 42, &error), 0);
	ck_assert_int_eq(generator_fill(&other, 1000, UINT64_C(42) << 48, &error), 0);
	ck_assert_uint_eq(first.request_count, 1000);
	ck_assert_uint_eq(again.request_count, 1000);
	ck_assert_uint_eq(other.request_count, 1000);
	ck_assert(requests_are_equal(&first, &again));
	ck_assert(!requests_are_equal(&first, &other));
	trace_free(&first);
	trace_free(&again);
	trace_free(&other);
}
END_TEST

/* Half of the answers have median 13, half 130; the chance of missing these wide bounds is nil. */
START_TEST(generator_resembles_two_kinds_of_traffic)
{
	struct trace trace;
	struct tool_error error;
	unsigned below_13 = 0, above_130 = 0, prompts_below_1000 = 0;

	ck_assert_int_eq(generator_fill(&trace, 10000, 1, &error), 0);
	for (size_t i = 0; i < 10000; i++) {
		const struct trace_request *request = &trace.requests[i];

		if (request->prompt_tokens < 1 || request->prompt_tokens > 16384 ||
		    request->output_tokens < 1 || request->output_tokens > 2048 ||
		    (i > 0 && request->arrival_us < trace.requests[i - 1].arrival_us))
			ck_abort_msg("request %zu is out of bounds", i);
		below_13 += request->output_tokens < 13;
		above_130 += request->output_tokens > 130;
		prompts_below_1000 += request->prompt_tokens < 1000;
	}
	ck_assert_uint_ge(below_13, 2200);
	ck_assert_uint_le(below_13, 2800);
	ck_assert_uint_ge(above_130, 2200);
	ck_assert_uint_le(above_130, 2800);
	ck_assert_uint_ge(prompts_below_1000, 4000);
	ck_assert_uint_le(prompts_below_1000, 4700);
	/* 10000 arrivals at 4 a second */
	ck_assert_int_ge(trace.requests[9999].arrival_us, INT64_C(2400000000));
	ck_assert_int_le(trace.requests[9999].arrival_us, INT64_C(2600000000));
	trace_free(&trace);
}
END_TEST

START_TEST(progress_lines)
{
	char line[160];

	progress_line(line, sizeof(line), 0.5, 120, 4.0);
	ck_assert_str_eq(line, "[###############---------------]  50%  120 steps  30.0 steps/s  "
			       "0:04 left");
	progress_line(line, sizeof(line), 0.0, 0, 0.0);
	ck_assert_str_eq(line, "[------------------------------]   0%  0 steps  0.0 steps/s  "
			       "0:00 left");
	progress_line(line, sizeof(line), 0.1, 7, 100.0);
	ck_assert_str_eq(line, "[###---------------------------]  10%  7 steps  0.1 steps/s  "
			       "15:00 left");
	progress_line(line, sizeof(line), 1.0, 9, 3.0);
	ck_assert_str_eq(line, "[##############################] 100%  9 steps  3.0 steps/s  "
			       "0:00 left");
}
END_TEST

START_TEST(quoted_values_are_short_and_printable)
{
	char zeros[100] = {0};

	ck_assert_str_eq(tool_quote("a\tb\0\xff'", 6).text, "'a\\x09b\\x00\\xff''");
	ck_assert_str_eq(tool_quote("", 0).text, "''");
	struct tool_quote quote = tool_quote(zeros, sizeof(zeros));

	ck_assert_uint_lt(strlen(quote.text), sizeof(quote.text));
	ck_assert_str_eq(quote.text + strlen(quote.text) - 8, "\\x00...'");
}
END_TEST

static void fill_report(struct report *report)
{
	*report = (struct report){
		.source = "trace \"x\"",
		.device = "gpu",
		.backend = "packed",
		.slots = 3,
		.requests = 10,
		.max_model_len = 4096,
		.block_size = 16,
		.num_pages = 512,
		.dcp_size = 4,
		.dcp_rank = 1,
		.dcp_interleave = 2,
		.index_topk = 64,
		.qsa_ratio = 8,
		.scheduled = {.admitted = 8,
			      .finished = 7,
			      .rejected = 2,
			      .clipped = 1,
			      .preemptions = 5,
			      .prompt_tokens = 1000,
			      .generated_tokens = 50,
			      .shared_pages = 6,
			      .decode_steps = 4,
			      .most_pages_in_use = 70},
		.seconds = 2,
		.batch_rows = 30,
		.graph_rows = 40,
		.publications = 11,
		.dma_copies = 12,
		.publication_dispatches = 13,
		.barrier_packets = 14,
		.bytes = 1536,
		.packed_bytes = 100,
		.tables = {.prepared = 4, .hits = 3, .rows_appended = 17, .rows_written = 18,
			   .ids_written = 19, .uploads_omitted = 2, .bytes_omitted = 2048},
		.messages = {.workers = 21, .messages = 22, .whole_messages = 23, .bytes = 24,
			     .whole_bytes = 25, .whole_requests = 26, .skipped_steps = 27},
		.graph_launches = 15,
		.consumer_dispatches = 16,
		.verified = true,
		.verified_steps = 4,
		.verified_bytes = 3 << 20,
		.mismatched_steps = 2,
		.mismatched_elements = 9,
	};
	for (uint64_t size = 6; size <= 9; size++) {
		samples_add(&report->batch_sizes, size);
		samples_add(&report->publication_ns, size * 1000);
	}
}

START_TEST(table)
{
	struct report report;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fill_report(&report);
	report_print_table(&report, file);
	fclose(file);
	ck_assert_str_eq(
		text,
		"h2dpub-replay on gpu\n"
		"Requests from trace \"x\"\n"
		"Workload\n"
		"  requests                     10: 7 finished, 1 clipped, 2 rejected (too long)\n"
		"  tokens                       1000 prompt, 50 generated\n"
		"  context                      at most 4096 tokens\n"
		"  context parallelism          from rank 1 of 4 on, interleave 2\n"
		"  sparse attention             at most 64 tokens selected\n"
		"  QSA tokens                   8 to a compressed one\n"
		"  decode steps                 4\n"
		"  batch size                   min 6, mean 7.5, max 9\n"
		"  graph padding                10 rows, 25.0 % of the graphs' rows\n"
		"  preemptions                  5\n"
		"  KV pages                     512 of 16 tokens: at most 70 in use, 6 shared by "
		"prefix\n"
		"Publication\n"
		"  backend                      packed\n"
		"  slots                        3\n"
		"  publications                 11\n"
		"  DMA copies                   12\n"
		"  scatter or pull dispatches   13\n"
		"  barrier packets              14\n"
		"  consumer graphs              15 launches, 16 dispatches\n"
		"  published                    1.5 KiB\n"
		"  of which packed by the CPU   100 B\n"
		"Block tables\n"
		"  unchanged                    3 of 4 tables\n"
		"  rows                         17 appended to, 18 rewritten, 19 ids\n"
		"  uploads omitted              2\n"
		"  which saved                  2.0 KiB\n"
		"Workers\n"
		"  workers                      21\n"
		"  messages                     22, 23 of them with whole tables\n"
		"  sent to each worker          24 B\n"
		"  whole tables would take      25 B\n"
		"  requests for whole tables    26\n"
		"  steps that workers missed    27\n"
		"Time\n"
		"  replay                       2.00 s, 2.0 steps/s\n"
		"  host, one publication        median 7.0 us, p99 9.0 us\n"
		"  preparation to consumer done not measured\n"
		"Verification\n"
		"  steps verified               4\n"
		"  compared                     3.0 MiB\n"
		"  mismatches                   9 elements in 2 steps\n");
	free(text);
	report_free(&report);
}
END_TEST

static int64_t json_number(struct json_object *root, const char *key)
{
	struct json_object *value = NULL;

	ck_assert_msg(json_object_object_get_ex(root, key, &value), "no %s", key);
	ck_assert_int_eq(json_object_get_type(value), json_type_int);
	return json_object_get_int64(value);
}

/* What is there with prefills only. */
static void add_prefill(struct report *report)
{
	report->prefill = (struct replay_prefill){
		.published = true,
		.max_tokens = 2048,
		.steps = 2,
		.cached_steps = 1,
		.requests = 5,
		.tokens = 3000,
		.dispatches = 7,
		.verified_steps = 2,
	};
	report->groups[REPLAY_MHA_DECODE] = (struct replay_group){4, 4, 4, 400};
	report->groups[REPLAY_PREFILL_INPUTS] = (struct replay_group){2, 3, 2, 2001};
	samples_add(&report->prefill.publication_ns, 5000);
}

START_TEST(table_with_prefills)
{
	struct report report;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fill_report(&report);
	add_prefill(&report);
	report_print_table(&report, file);
	fclose(file);
	ck_assert_ptr_nonnull(
		strstr(text,
		       "  of which packed by the CPU   100 B\n"
		       "  mha_decode                   1.00 DMA copies, 1.00 dispatches, 100 bytes a "
		       "step\n"
		       "Prefill\n"
		       "  prefill steps                2, 1 of them with cached tokens\n"
		       "  tokens                       3000, at most 2048 a step\n"
		       "  consumer dispatches          7\n"
		       "  prefill_inputs               1.50 DMA copies, 1.00 dispatches, 1000 bytes a "
		       "step\n"
		       "Block tables\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "  host, one prefill            median 5.0 us, p99 5.0 us\n"));
	ck_assert_ptr_nonnull(strstr(text, "  steps verified               4\n"
					   "  prefill steps verified       2\n"));
	free(text);
	report_free(&report);
}
END_TEST

START_TEST(json_with_prefills)
{
	static const struct {
		const char *key;
		int64_t value;
	} figures[] = {
		{"prefill_max_tokens", 2048},      {"prefill_steps", 2},
		{"prefill_cached_steps", 1},       {"prefill_requests", 5},
		{"prefill_tokens", 3000},	   {"prefill_consumer_dispatches", 7},
		{"prefill_verified_steps", 2},     {"verified_steps", 4},
		{"prefill_inputs_steps", 2},       {"prefill_inputs_dma_copies", 3},
		{"prefill_inputs_dispatches", 2},  {"prefill_inputs_bytes", 2001},
		{"mha_decode_steps", 4},
	};
	struct report report;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct json_object *root, *value;

	fill_report(&report);
	add_prefill(&report);
	ck_assert_int_eq(report_print_json(&report, file), 0);
	fclose(file);
	root = json_tokener_parse(text);
	ck_assert_ptr_nonnull(root);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		ck_assert_int_eq(json_number(root, figures[i].key), figures[i].value);
	ck_assert(json_object_object_get_ex(root, "prefill_publication_ns", &value));
	ck_assert_int_eq(json_number(value, "median"), 5000);
	json_object_put(root);
	free(text);
	report_free(&report);
}
END_TEST

START_TEST(json_has_the_same_figures)
{
	static const struct {
		const char *key;
		int64_t value;
	} figures[] = {
		{"requests", 10}, {"max_model_len", 4096}, {"block_size", 16},
		{"num_pages", 512}, {"requests_finished", 7}, {"requests_clipped", 1},
		{"requests_rejected", 2}, {"prompt_tokens", 1000}, {"generated_tokens", 50},
		{"decode_steps", 4}, {"padding_rows", 10}, {"preemptions", 5},
		{"dcp_size", 4}, {"dcp_rank", 1}, {"dcp_interleave", 2}, {"index_topk", 64},
		{"qsa_ratio", 8}, {"most_pages_in_use", 70}, {"shared_pages", 6}, {"slots", 3},
		{"publications", 11}, {"dma_copies", 12}, {"publication_dispatches", 13},
		{"barrier_packets", 14}, {"graph_launches", 15}, {"consumer_dispatches", 16},
		{"bytes", 1536}, {"packed_bytes", 100}, {"verified_steps", 4},
		{"workers", 21}, {"verified_bytes", 3 << 20}, {"mismatched_steps", 2}, {"mismatches", 9},
	};
	struct report report;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct json_object *root, *value;

	fill_report(&report);
	ck_assert_int_eq(report_print_json(&report, file), 0);
	fclose(file);
	root = json_tokener_parse(text);
	ck_assert_ptr_nonnull(root);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		ck_assert_int_eq(json_number(root, figures[i].key), figures[i].value);
	ck_assert(json_object_object_get_ex(root, "source", &value));
	ck_assert_str_eq(json_object_get_string(value), "trace \"x\"");
	ck_assert(json_object_object_get_ex(root, "block_tables", &value));
	ck_assert_int_eq(json_number(value, "prepared"), 4);
	ck_assert_int_eq(json_number(value, "hits"), 3);
	ck_assert_int_eq(json_number(value, "rows_appended"), 17);
	ck_assert_int_eq(json_number(value, "rows_written"), 18);
	ck_assert_int_eq(json_number(value, "ids_written"), 19);
	ck_assert_int_eq(json_number(value, "uploads_omitted"), 2);
	ck_assert_int_eq(json_number(value, "bytes_omitted"), 2048);
	ck_assert(json_object_object_get_ex(root, "worker_messages", &value));
	ck_assert_int_eq(json_number(value, "messages"), 22);
	ck_assert_int_eq(json_number(value, "whole_messages"), 23);
	ck_assert_int_eq(json_number(value, "message_bytes"), 24);
	ck_assert_int_eq(json_number(value, "whole_table_bytes"), 25);
	ck_assert_int_eq(json_number(value, "whole_requests"), 26);
	ck_assert_int_eq(json_number(value, "skipped_steps"), 27);
	ck_assert(json_object_object_get_ex(root, "batch_size", &value));
	ck_assert_int_eq(json_number(value, "min"), 6);
	ck_assert_ptr_nonnull(strstr(text, "\"mean\": 7.500,"));
	ck_assert_int_eq(json_number(value, "max"), 9);
	ck_assert(json_object_object_get_ex(root, "publication_ns", &value));
	ck_assert_int_eq(json_number(value, "median"), 7000);
	ck_assert_int_eq(json_number(value, "p99"), 9000);
	ck_assert(json_object_object_get_ex(root, "preparation_to_consumer_done_ns", &value));
	ck_assert_ptr_null(value);
	json_object_put(root);
	free(text);
	report_free(&report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *cases = tcase_create("report");

	tcase_add_checked_fixture(cases, NULL, free_samples);
	tcase_add_test(cases, percentiles_are_nearest_ranks);
	tcase_add_test(cases, percentiles_of_few_samples);
	tcase_add_test(cases, generator_repeats_itself_for_a_seed);
	tcase_add_test(cases, generator_resembles_two_kinds_of_traffic);
	tcase_add_test(cases, progress_lines);
	tcase_add_test(cases, quoted_values_are_short_and_printable);
	tcase_add_test(cases, table);
	tcase_add_test(cases, json_has_the_same_figures);
	tcase_add_test(cases, table_with_prefills);
	tcase_add_test(cases, json_with_prefills);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
