/* SPDX-License-Identifier: MIT */
/* Requests of one size and the calls of the delta codec that h2dpub-bench table measures. */
#include "config.h"

#include "bench_codec.h"

#include <stdlib.h>
#include <string.h>

struct bench_codec {
	uint32_t requests;
	h2d_delta_encoder_t *encoder;
	h2d_delta_decoder_t *decoder;
	h2d_block_table_t **rows;
	uint64_t *request_ids;
	int32_t *copy;
	/* The message to decode: the encoder's, which it keeps until the next one. */
	const void *bytes;
	size_t size;
	struct bench_codec_sizes sizes;
	char failure[256];
};

static void check(struct bench_codec *codec, h2d_status_t status)
{
	if (status != H2D_STATUS_SUCCESS && codec->failure[0] == '\0')
		strncpy(codec->failure, h2d_error_message(), sizeof(codec->failure) - 1);
}

static void encode(void *context)
{
	struct bench_codec *codec = context;

	check(codec, h2d_delta_encoder_encode(codec->encoder, codec->requests, codec->request_ids,
					      (const h2d_block_table_t *const *)codec->rows,
					      &codec->bytes, &codec->size));
}

static void decode(void *context)
{
	struct bench_codec *codec = context;
	h2d_decoded_batch_t batch;

	check(codec, h2d_delta_decoder_decode(codec->decoder, codec->bytes, codec->size, &batch));
}

static void ask_for_whole(void *context)
{
	struct bench_codec *codec = context;

	h2d_delta_encoder_request_whole(codec->encoder);
}

/* The decoder has seen what was encoded last, whichever cases had their turns before. */
static void catch_up(struct bench_codec *codec)
{
	ask_for_whole(codec);
	encode(codec);
	decode(codec);
}

static void append(void *context)
{
	struct bench_codec *codec = context;

	for (uint32_t i = 0; i < codec->requests; i++)
		check(codec, h2d_block_table_append(codec->rows[i], (int32_t)i));
}

static void prepare_decode_whole(void *context)
{
	ask_for_whole(context);
	encode(context);
}

/* Rows that have grown once have room for more, as those of a running decode have. */
static void prepare_decode_delta(void *context)
{
	struct bench_codec *codec = context;

	catch_up(codec);
	append(codec);
	encode(codec);
	decode(codec);
	append(codec);
	encode(codec);
	codec->sizes.delta_bytes = codec->size;
}

static void copy_whole(void *context)
{
	struct bench_codec *codec = context;
	int32_t *next = codec->copy;

	for (uint32_t i = 0; i < codec->requests; i++) {
		uint32_t length = h2d_block_table_length(codec->rows[i]);

		memcpy(next, h2d_block_table_ids(codec->rows[i]), length * sizeof(*next));
		next += length;
	}
}

void bench_codec_cases(struct bench_case cases[BENCH_CODEC_CASES])
{
	static const struct bench_case all[BENCH_CODEC_CASES] = {
		[BENCH_ENCODE_WHOLE] = {.name = "encode-whole", .prepare = ask_for_whole,
					.call = encode, .calls = 2},
		[BENCH_ENCODE_DELTA] = {.name = "encode-delta", .prepare = append, .call = encode,
					.calls = 2},
		[BENCH_DECODE_WHOLE] = {.name = "decode-whole", .prepare = prepare_decode_whole,
					.call = decode, .calls = 2},
		[BENCH_DECODE_DELTA] = {.name = "decode-delta", .prepare = prepare_decode_delta,
					.call = decode, .calls = 2},
		[BENCH_COPY_WHOLE] = {.name = "copy-whole", .call = copy_whole},
	};

	memcpy(cases, all, sizeof(all));
}

static bool create_rows(struct bench_codec *codec, uint32_t ids)
{
	int32_t *values = malloc(ids * sizeof(*values));
	bool made = values != NULL;

	for (uint32_t i = 0; made && i < codec->requests; i++) {
		for (uint32_t j = 0; j < ids; j++)
			values[j] = (int32_t)(i * 7919u + j);
		codec->request_ids[i] = i;
		made = h2d_block_table_create(values, ids, &codec->rows[i]) == H2D_STATUS_SUCCESS;
	}
	free(values);
	return made;
}

struct bench_codec *bench_codec_create(uint32_t requests, uint32_t ids)
{
	struct bench_codec *codec = calloc(1, sizeof(*codec));

	if (codec == NULL)
		return NULL;
	codec->requests = requests;
	codec->rows = calloc(requests, sizeof(*codec->rows));
	codec->request_ids = calloc(requests, sizeof(*codec->request_ids));
	/* Rows grow by a few ids a round. */
	codec->copy = malloc((size_t)requests * (ids + 65536) * sizeof(*codec->copy));
	if (codec->rows == NULL || codec->request_ids == NULL || codec->copy == NULL ||
	    h2d_delta_encoder_create(1, &codec->encoder) != H2D_STATUS_SUCCESS ||
	    h2d_delta_decoder_create(&codec->decoder) != H2D_STATUS_SUCCESS ||
	    !create_rows(codec, ids)) {
		bench_codec_destroy(codec);
		return NULL;
	}
	catch_up(codec);
	codec->sizes.whole_bytes = codec->size;
	return codec;
}

void bench_codec_destroy(struct bench_codec *codec)
{
	if (codec == NULL)
		return;
	for (uint32_t i = 0; codec->rows != NULL && i < codec->requests; i++)
		h2d_block_table_release(codec->rows[i]);
	h2d_delta_encoder_destroy(codec->encoder);
	h2d_delta_decoder_destroy(codec->decoder);
	free(codec->rows);
	free(codec->request_ids);
	free(codec->copy);
	free(codec);
}

struct bench_codec_sizes bench_codec_get_sizes(const struct bench_codec *codec)
{
	return codec->sizes;
}

const char *bench_codec_failure(const struct bench_codec *codec)
{
	return codec->failure[0] == '\0' ? NULL : codec->failure;
}
