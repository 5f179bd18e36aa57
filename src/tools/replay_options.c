/* SPDX-License-Identifier: MIT */
/* Parsing of the command line. */
#include "config.h"

#include "replay_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define GENERATED_REQUESTS 100

#define DEFAULT_PREFILL_TOKENS 2048

/* Longer requests of a trace are clipped or rejected unless --max-model-len asks for more. */
#define LARGEST_DEFAULT_MODEL_LEN 32768

enum option_code {
	OPTION_TRACE = 256, /* above every character, so that no short option exists */
	OPTION_BACKEND,
	OPTION_ATTENTION,
	OPTION_MROPE,
	OPTION_TBO,
	OPTION_PREFILL,
	OPTION_NO_VERIFY,
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_NUMBER /* + place in number_options */
};

/* The options that take a whole number. */
static const struct number_option {
	const char *name;
	size_t offset;
	uint64_t minimum;
	uint64_t maximum;
} number_options[] = {
	{"requests", offsetof(struct replay_options, requests), 1, 10000000},
	{"steps", offsetof(struct replay_options, steps), 1, UINT32_MAX},
	{"max-num-seqs", offsetof(struct replay_options, max_num_seqs), 1, 1024},
	{"block-size", offsetof(struct replay_options, block_size), 1, 1024},
	{"page-size", offsetof(struct replay_options, page_size), 1, 1024},
	{"num-pages", offsetof(struct replay_options, num_pages), 1, 1 << 24},
	{"max-model-len", offsetof(struct replay_options, max_model_len), 2, 1 << 20},
	{"step-time", offsetof(struct replay_options, step_ms), 1, 3600000},
	{"speculative", offsetof(struct replay_options, speculative), 0, 15},
	{"dcp-size", offsetof(struct replay_options, dcp_size), 1, 64},
	{"dcp-rank", offsetof(struct replay_options, dcp_rank), 0, 63},
	{"dcp-interleave", offsetof(struct replay_options, dcp_interleave), 1, 1024},
	/* for each token of the largest step, prefixes stay within int32 */
	{"sparse", offsetof(struct replay_options, index_topk), 0, 65536},
	{"ragged", offsetof(struct replay_options, qsa_ratio), 0, 1024},
	/* the same */
	{"prefill-tokens", offsetof(struct replay_options, prefill_tokens), 1, 16384},
	{"slots", offsetof(struct replay_options, slots), 1, 64},
	{"workers", offsetof(struct replay_options, workers), 1, 64},
	{"late-worker", offsetof(struct replay_options, late_step), 1, UINT32_MAX},
	{"seed", offsetof(struct replay_options, seed), 0, UINT64_MAX},
};

#define NUMBER_OPTIONS (sizeof(number_options) / sizeof(number_options[0]))

static const struct option other_options[] = {
	{"trace", required_argument, NULL, OPTION_TRACE},
	{"backend", required_argument, NULL, OPTION_BACKEND},
	{"attention", required_argument, NULL, OPTION_ATTENTION},
	{"mrope", no_argument, NULL, OPTION_MROPE},
	{"tbo", no_argument, NULL, OPTION_TBO},
	{"prefill", no_argument, NULL, OPTION_PREFILL},
	{"no-verify", no_argument, NULL, OPTION_NO_VERIFY},
	{"json", no_argument, NULL, OPTION_JSON},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
};

#define OTHER_OPTIONS (sizeof(other_options) / sizeof(other_options[0]))

void replay_options_print_help(FILE *file)
{
	fputs("Usage: h2dpub-replay [OPTION]...\n"
	      "Replays a request trace through a continuous-batching scheduler, publishes the\n"
	      "metadata of every decode step to the GPU and verifies what its consumer made of it.\n"
	      "\n"
	      "  --trace FILE        Azure CSV or Mooncake JSON lines, - for standard input\n"
	      "                      (default: built-in generator)\n"
	      "  --requests N        stop reading after N requests (default: the whole trace, or\n"
	      "                      100 generated requests)\n"
	      "  --steps N           stop after N decode steps (default: when all is done)\n"
	      "  --max-num-seqs N    requests that decode together (default 64)\n"
	      "  --block-size N      tokens of a block-table page (default 16)\n"
	      "  --page-size N       tokens of a physical KV page, divides the block size\n"
	      "                      (default: the block size)\n"
	      "  --num-pages N       block-table pages of the KV cache (default: a quarter of\n"
	      "                      what max-num-seqs requests of full length need)\n"
	      "  --max-model-len N   tokens of the longest context (default: the longest request,\n"
	      "                      at most 32768)\n"
	      "  --step-time MS      time in the trace that one step takes (default 100)\n"
	      "  --backend NAME      packed, direct or pull (default: $ATOM_H2D_BACKEND, else packed)\n"
	      "  --speculative K     decode K drafted tokens a request and step as well, and publish\n"
	      "                      the token inputs too (default 0: neither)\n"
	      "  --attention KIND    mha or mla, whose metadata is published (default mha)\n"
	      "  --dcp-size N        with mla: publish what one of N ranks holds of each context\n"
	      "                      (decode context parallelism, default 1: all)\n"
	      "  --dcp-rank R        that rank, or with --workers that of the first (default 0)\n"
	      "  --dcp-interleave N  tokens in a row that a rank gets, divides the block size\n"
	      "                      (default 1)\n"
	      "  --sparse TOPK       with mla: publish what sparse attention to so many tokens\n"
	      "                      reads, too (default 0: dense)\n"
	      "  --mrope             publish positions on three axes instead of one\n"
	      "  --tbo               publish the two halves of each step for two-batch overlap, too\n"
	      "  --ragged RATIO      publish what QSA and PLE read, too, so many tokens to a\n"
	      "                      compressed one (default 0: neither)\n"
	      "  --prefill           publish the prefill of requests before they decode, too\n"
	      "  --prefill-tokens N  tokens of one prefill step; a longer prompt takes several\n"
	      "                      (default 2048)\n"
	      "  --slots N           publication slots, used in turn (default 2)\n"
	      "  --workers N         publish from N processes with a GPU each, which get the block\n"
	      "                      tables as delta messages (default: from this process)\n"
	      "  --late-worker STEP  start the last worker only after this step\n"
	      "  --seed N            seed of the generator (default 1)\n"
	      "  --no-verify         do not read back and compare\n"
	      "  --json              print the summary as JSON\n"
	      "  --help              print this help and exit\n"
	      "  --version           print the version and exit\n"
	      "\n"
	      "Exit status: 0 all verified, 1 a mismatch, 2 a wrong option or trace, 3 the GPU or\n"
	      "its runtime failed.\n",
	      file);
}

static int parse_number(const struct number_option *option, const char *text, uint64_t *number,
			struct tool_error *error)
{
	char *end = NULL;

	errno = 0;
	/* strtoull alone would take spaces, signs and an empty text */
	if (isdigit((unsigned char)text[0]))
		*number = strtoull(text, &end, 10);
	if (end == NULL || *end != '\0' || errno == ERANGE || *number < option->minimum ||
	    *number > option->maximum) {
		tool_error_set(error,
			       "option --%s: %s is not a whole number from %" PRIu64 " to %" PRIu64,
			       option->name, tool_quote(text, strlen(text)).text, option->minimum,
			       option->maximum);
		return -1;
	}
	return 0;
}

static int parse_attention(const char *text, bool *mla, struct tool_error *error)
{
	*mla = strcmp(text, "mla") == 0;
	if (*mla || strcmp(text, "mha") == 0)
		return 0;
	tool_error_set(error, "option --attention: %s is not mha or mla",
		       tool_quote(text, strlen(text)).text);
	return -1;
}

static int check_divides_block(const struct replay_options *options, const char *name,
			       uint64_t tokens, struct tool_error *error)
{
	if (options->block_size % tokens == 0)
		return 0;
	tool_error_set(error, "option --%s: %" PRIu64 " does not divide the block size %" PRIu64,
		       name, tokens, options->block_size);
	return -1;
}

/* What only MLA has: contexts shared by ranks, sparse attention. */
static int complete_mla(struct replay_options *options, struct tool_error *error)
{
	if (!options->mla && (options->dcp_size > 1 || options->index_topk > 0)) {
		tool_error_set(error, "option --%s: %" PRIu64 " without --attention mla",
			       options->dcp_size > 1 ? "dcp-size" : "sparse",
			       options->dcp_size > 1 ? options->dcp_size : options->index_topk);
		return -1;
	}
	if (options->dcp_rank >= options->dcp_size) {
		tool_error_set(error,
			       "option --dcp-rank: %" PRIu64 " is not below --dcp-size %" PRIu64,
			       options->dcp_rank, options->dcp_size);
		return -1;
	}
	if (options->dcp_interleave != 0 && options->dcp_size == 1) {
		tool_error_set(error, "option --dcp-interleave: there is no --dcp-size above 1");
		return -1;
	}
	if (options->dcp_interleave == 0)
		options->dcp_interleave = 1;
	return check_divides_block(options, "dcp-interleave", options->dcp_interleave, error);
}

/* Workers get decode steps only. */
static int complete_prefill(struct replay_options *options, struct tool_error *error)
{
	if (!options->prefill && options->prefill_tokens > 0) {
		tool_error_set(error, "option --prefill-tokens: there is no --prefill");
		return -1;
	}
	if (options->prefill && options->workers > 0) {
		tool_error_set(error, "option --prefill: --workers get decode steps only");
		return -1;
	}
	if (options->prefill && options->prefill_tokens == 0)
		options->prefill_tokens = DEFAULT_PREFILL_TOKENS;
	return 0;
}

/* Rules between options, and the defaults that depend on other options. */
static int complete(struct replay_options *options, struct tool_error *error)
{
	if (options->page_size == 0)
		options->page_size = options->block_size;
	if (check_divides_block(options, "page-size", options->page_size, error) < 0 ||
	    complete_mla(options, error) < 0 || complete_prefill(options, error) < 0)
		return -1;
	if (options->tbo && options->max_num_seqs < 2) {
		tool_error_set(error, "option --tbo: a batch of --max-num-seqs 1 cannot be split");
		return -1;
	}
	if (options->late_step != 0 && options->workers == 0) {
		tool_error_set(error, "option --late-worker: there are no --workers");
		return -1;
	}
	if (options->trace_path == NULL && options->requests == 0)
		options->requests = GENERATED_REQUESTS;
	return 0;
}

static uint64_t default_model_len(const struct trace *trace)
{
	uint64_t longest = 2;

	for (size_t i = 0; i < trace->request_count; i++) {
		uint64_t tokens = (uint64_t)trace->requests[i].prompt_tokens +
				  trace->requests[i].output_tokens;

		if (tokens > longest)
			longest = tokens;
	}
	return longest < LARGEST_DEFAULT_MODEL_LEN ? longest : LARGEST_DEFAULT_MODEL_LEN;
}

int replay_options_fit(struct replay_options *options, const struct trace *trace,
		       struct tool_error *error)
{
	if (options->max_model_len == 0)
		options->max_model_len = default_model_len(trace);
	/* a page of the table is one of each rank */
	const uint64_t page_tokens = options->block_size * options->dcp_size;
	const uint64_t columns =
		(options->max_model_len + options->speculative + page_tokens - 1) / page_tokens;

	if (options->num_pages == 0) {
		options->num_pages = (options->max_num_seqs * columns + 3) / 4;
		if (options->num_pages < columns)
			options->num_pages = columns;
	}
	if (options->num_pages < columns) {
		tool_error_set(error,
			       "option --num-pages: %" PRIu64 " is too few, one request of %" PRIu64
			       " tokens (--max-model-len) needs %" PRIu64,
			       options->num_pages, options->max_model_len, columns);
		return -1;
	}
	return 0;
}

static int apply(struct replay_options *options, int code, const char *value,
		 struct tool_error *error)
{
	switch (code) {
	case OPTION_TRACE:
		options->trace_path = value;
		return 0;
	case OPTION_BACKEND:
		options->backend = value;
		return 0;
	case OPTION_ATTENTION:
		return parse_attention(value, &options->mla, error);
	case OPTION_MROPE:
		options->mrope = true;
		return 0;
	case OPTION_TBO:
		options->tbo = true;
		return 0;
	case OPTION_PREFILL:
		options->prefill = true;
		return 0;
	case OPTION_NO_VERIFY:
		options->verify = false;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	case OPTION_VERSION:
		options->version = true;
		return 0;
	default:
		break;
	}
	const struct number_option *option = &number_options[code - OPTION_NUMBER];
	uint64_t *number = (uint64_t *)((char *)options + option->offset);

	return parse_number(option, value, number, error);
}

int replay_options_parse(struct replay_options *options, int argc, char *argv[],
			 struct tool_error *error)
{
	struct option table[OTHER_OPTIONS + NUMBER_OPTIONS + 1] = {{0}};
	int code;

	*options = (struct replay_options){
		.max_num_seqs = 64,
		.block_size = 16,
		.step_ms = 100,
		.dcp_size = 1,
		.slots = 2,
		.seed = 1,
		.verify = true,
	};
	memcpy(table, other_options, sizeof(other_options));
	for (size_t i = 0; i < NUMBER_OPTIONS; i++)
		table[OTHER_OPTIONS + i] = (struct option){
			.name = number_options[i].name,
			.has_arg = required_argument,
			.val = OPTION_NUMBER + (int)i,
		};
	optind = 1;
	opterr = 0;
	/* the leading colon tells a missing value from an unknown option */
	while ((code = getopt_long(argc, argv, ":", table, NULL)) != -1) {
		if (code == ':') {
			tool_error_set(error, "option %s: no value", argv[optind - 1]);
			return -1;
		}
		if (code == '?') {
			tool_error_set(error, "option %s is unknown, ambiguous or takes no value",
				       tool_quote_refused_option(argv).text);
			return -1;
		}
		if (apply(options, code, optarg, error) < 0)
			return -1;
	}
	if (optind < argc) {
		tool_error_set(error, "argument %s is not an option",
			       tool_quote(argv[optind], strlen(argv[optind])).text);
		return -1;
	}
	return complete(options, error);
}
