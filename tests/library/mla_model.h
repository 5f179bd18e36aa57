/* SPDX-License-Identifier: MIT */
/*
 * Random decode batches of MLA, or MHA, and what their steps must leave in device memory: worked
 * out by dealing out every token of every context to its rank, apart from the library's code.
 */
#ifndef H2DPUB_TESTS_MLA_MODEL_H
#define H2DPUB_TESTS_MLA_MODEL_H

#include "step_world.h"

enum { MLA_MAX_REQUESTS = 8, MLA_MAX_BLOCKS = 64, MLA_MAX_TOKENS = 64 };

/* A batch with the arrays that it points to. */
typedef struct mla_case {
	h2d_batch_t batch;
	int32_t contexts[MLA_MAX_REQUESTS];
	int32_t rejected[MLA_MAX_REQUESTS];
	int32_t cached[MLA_MAX_REQUESTS];
	int32_t ids[MLA_MAX_REQUESTS][MLA_MAX_BLOCKS];
	const int32_t *rows[MLA_MAX_REQUESTS];
	uint32_t lengths[MLA_MAX_REQUESTS];
} mla_case_t;

/*
 * The batch of the reference's tests: context 17 + 3 i + step, pages 5 + 8 i + j. It points into
 * itself: not to be copied.
 */
void mla_case_decode(mla_case_t *mla_case, const h2d_runner_options_t *options, uint32_t requests,
		     int32_t step);

/* A random one of the same kind, with rejected tokens and rows longer than needed. */
void mla_case_random(mla_case_t *mla_case, uint64_t *state, const h2d_runner_options_t *options,
		     uint32_t requests);

/* Tokens among the first `length` of a context that the options' rank holds. */
int32_t mla_local_length(const h2d_runner_options_t *options, int32_t length);

/* Enters what publishing a decode, and then generating its KV indices, must change. */
void mla_expect_decode(step_world_t *world, const mla_case_t *mla_case, uint32_t running);
void mla_expect_kv_indices(step_world_t *world, const mla_case_t *mla_case, const char *prefix,
			   uint32_t first, uint32_t width);

/* All of that for requests [first, first + width), whose arrays' names have this prefix. */
void mla_expect_sub_batch(step_world_t *world, const mla_case_t *mla_case, const char *prefix,
			  uint32_t first, uint32_t width);

#endif
