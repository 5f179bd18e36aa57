/* SPDX-License-Identifier: MIT */
/* A runner under test, with the image of what the device memory of each slot must hold. */
#ifndef H2DPUB_TESTS_DECODE_WORLD_H
#define H2DPUB_TESTS_DECODE_WORLD_H

#include "decode_model.h"
#include "fixture.h"
#include "step/runner.h"

enum { DECODE_MAX_SLOTS = 3, DECODE_MAX_REQUESTS = 16, DECODE_BACKENDS = 3 };

/* Their names, in the order of h2d_backend_t. */
extern const char *const decode_backends[DECODE_BACKENDS];

/* Captured batch sizes in an initialiser of options. */
#define CAPTURED(...)                                                                              \
	.captured_batch_sizes = (const uint32_t[]){__VA_ARGS__},                                   \
	.num_captured_batch_sizes = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

typedef struct decode_world {
	h2d_runner_t *runner;
	h2d_mha_decode_step_t views[DECODE_MAX_SLOTS];
	decode_image_t images[DECODE_MAX_SLOTS];
	h2d_graph_t *graphs[DECODE_MAX_SLOTS][DECODE_MAX_REQUESTS + 1];
} decode_world_t;

/* All device memory starts poisoned. backend: NULL for the environment's. */
decode_world_t decode_world_create(const h2d_runner_options_t *options, const char *backend);
void decode_world_destroy(decode_world_t *world);

/* Waits for the stream, then compares every byte of every slot; what names the moment. */
void decode_world_check(const decode_world_t *world, const char *what);

/* Prepares a batch in the current epoch, checks the step that it returns, updates the image. */
void decode_world_prepare(decode_world_t *world, const decode_case_t *decode_case);

/* One whole forward with a random batch. Its KV indices are made by a graph, or by a dispatch. */
void decode_world_step(decode_world_t *world, uint64_t *state, uint32_t num_requests, bool dummy,
		       bool in_graph);

#endif
