/* SPDX-License-Identifier: MIT */
/* Requests of one size and the calls of the delta codec that h2dpub-bench table measures. */
#ifndef H2DPUB_TOOLS_BENCH_CODEC_H
#define H2DPUB_TOOLS_BENCH_CODEC_H

#include <stddef.h>

#include <h2dpub/delta_codec.h>

#include "bench_measure.h"

enum bench_codec_case {
	BENCH_ENCODE_WHOLE,
	BENCH_ENCODE_DELTA, /* one id more in every row */
	BENCH_DECODE_WHOLE,
	BENCH_DECODE_DELTA,
	BENCH_COPY_WHOLE, /* the ids of all rows behind each other, by memcpy */
	BENCH_CODEC_CASES
};

struct bench_codec_sizes {
	size_t whole_bytes;
	size_t delta_bytes;
};

struct bench_codec;

/* NULL: h2d_error_message() says why. */
struct bench_codec *bench_codec_create(uint32_t requests, uint32_t ids);
void bench_codec_destroy(struct bench_codec *codec);

void bench_codec_cases(struct bench_case cases[BENCH_CODEC_CASES]);
struct bench_codec_sizes bench_codec_get_sizes(const struct bench_codec *codec);

/* The library's message if a call has failed, else NULL. */
const char *bench_codec_failure(const struct bench_codec *codec);

#endif
