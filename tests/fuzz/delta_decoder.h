/* SPDX-License-Identifier: MIT */
/* The fuzzed decoder: what libFuzzer, and the replay of its corpus, call. */
#ifndef H2DPUB_TESTS_FUZZ_DELTA_DECODER_H
#define H2DPUB_TESTS_FUZZ_DELTA_DECODER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The input is a list of messages for one decoder, each behind a little-endian u16: its length, and
 * in the top bit whether its checksum is made right first, so that a mutated message gets beyond
 * it. Aborts if the decoder and the model of it do not agree. Returns 0.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
