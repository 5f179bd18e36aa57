/* SPDX-License-Identifier: MIT */
/* Seeded requests that resemble the traffic of a code-completion and a chat service. */
#ifndef H2DPUB_TOOLS_GENERATOR_H
#define H2DPUB_TOOLS_GENERATOR_H

#include "trace.h"

/*
 * Makes `count` requests, the same ones for the same seed. Arrivals are a Poisson process of 4
 * requests a second. Half of them are code completion: prompts log-normal with median 1500 and
 * sigma 1.1, answers with median 13 and sigma 0.8. The other half are chat: prompts with median
 * 1000 and sigma 0.9, answers with median 130 and sigma 0.8. Lengths are cut to 1..16384 (prompts)
 * and 1..2048 (answers).
 * 0, or -1 with a message when memory is short.
 */
int generator_fill(struct trace *trace, size_t count, uint64_t seed, struct tool_error *error);

#endif
