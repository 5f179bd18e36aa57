/* SPDX-License-Identifier: MIT */
/*
 * Random decode batches, and a model of what a slot's device memory must hold after their steps,
 * worked out token by token and page by page, apart from the library's code.
 */
#ifndef H2DPUB_TESTS_DECODE_MODEL_H
#define H2DPUB_TESTS_DECODE_MODEL_H

#include <h2dpub/step.h>

/* A batch with the arrays it points to. */
typedef struct decode_case {
	h2d_batch_t batch;
	int32_t *context_lengths;
	int32_t *rejected_tokens;
	int32_t **block_tables;
	uint32_t *block_table_lengths;
	uint64_t *request_ids;
	uint32_t num_requests;
} decode_case_t;

/* A random batch that is valid for a runner of these options; state is the random state. */
decode_case_t decode_case_random(uint64_t *state, const h2d_runner_options_t *options,
				 uint32_t num_requests);
void decode_case_free(decode_case_t *decode_case);

typedef enum decode_array {
	DECODE_SLOT_MAPPING,
	DECODE_CONTEXT_LENS,
	DECODE_BLOCK_TABLES,
	DECODE_KV_INDPTR,
	DECODE_POSITIONS,
	DECODE_KV_INDICES,
	DECODE_ARRAYS
} decode_array_t;

/* The whole contents of one slot's arrays, as the device must hold them. */
typedef struct decode_image {
	h2d_runner_options_t options;
	uint32_t columns;
	void *arrays[DECODE_ARRAYS];
	size_t sizes[DECODE_ARRAYS]; /* bytes */
} decode_image_t;

/* An image full of poison, which differs from byte to byte. */
decode_image_t decode_image_create(const h2d_runner_options_t *options);
void decode_image_free(decode_image_t *image);

/* What publishing a batch, and then generating its KV indices, changes. */
void decode_image_publish(decode_image_t *image, const h2d_batch_t *batch,
			  uint32_t graph_requests);
void decode_image_generate_kv_indices(decode_image_t *image, uint32_t graph_requests);

/* Writes the image to a slot's device memory; fails the test where that differs from the image. */
void decode_image_upload(const decode_image_t *image, h2d_device_t *device,
			 const h2d_mha_decode_step_t *view);
void decode_image_check(const decode_image_t *image, h2d_device_t *device,
			const h2d_mha_decode_step_t *view, const char *what);

#endif
