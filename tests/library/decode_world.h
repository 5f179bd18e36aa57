/* SPDX-License-Identifier: MIT */
/* A runner under test whose decodes are prepared, checked and consumed, by recorded graphs too. */
#ifndef H2DPUB_TESTS_DECODE_WORLD_H
#define H2DPUB_TESTS_DECODE_WORLD_H

#include "decode_model.h"

enum { DECODE_MAX_REQUESTS = 16 };

typedef struct decode_world {
	step_world_t *step;
	h2d_runner_t *runner; /* its */
	h2d_graph_t *graphs[STEP_MAX_SLOTS][DECODE_MAX_REQUESTS + 1];
} decode_world_t;

decode_world_t decode_world_create(const h2d_runner_options_t *options, h2d_backend_t backend);

/* Checks everything first. */
void decode_world_destroy(decode_world_t *world);

/* Prepares a batch in the current epoch, checks the step that it returns, updates the image. */
void decode_world_prepare(decode_world_t *world, const decode_case_t *decode_case);

/* One whole forward with a random batch. Its KV indices are made by a graph, or by a dispatch. */
void decode_world_step(decode_world_t *world, uint64_t *state, uint32_t num_requests, bool dummy,
		       bool in_graph);

#endif
