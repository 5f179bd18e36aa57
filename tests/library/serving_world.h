/* SPDX-License-Identifier: MIT */
/*
 * A runner under test, with the image of what every buffer of every slot must hold on the device,
 * and observations: a consumer that copies all buffers of the slot in use, in the stream's order.
 */
#ifndef H2DPUB_TESTS_SERVING_WORLD_H
#define H2DPUB_TESTS_SERVING_WORLD_H

#include "fixture.h"
#include "step/runner.h"

/* Loop tests run in each mode: three backends, with one and with two slots. */
#define SERVING_MODES 6

enum { SERVING_MAX_SLOTS = 2, SERVING_MAX_BUFFERS = 64, SERVING_MAX_OBSERVATIONS = 64 };

typedef struct serving_observation {
	uint8_t *copy;     /* device */
	uint8_t *expected; /* the slot's images when it was made, one after the other */
	uint32_t slot;
	char what[96];
} serving_observation_t;

typedef struct serving_world {
	h2d_runner_t *runner;
	uint32_t num_buffers;
	uint8_t *images[SERVING_MAX_SLOTS][SERVING_MAX_BUFFERS];
	size_t slot_size; /* bytes of a slot's buffers */
	uint8_t *draft_ids_image;
	size_t draft_ids_size;
	serving_observation_t observations[SERVING_MAX_OBSERVATIONS];
	uint32_t num_observations;
	void *blocks[SERVING_MAX_OBSERVATIONS + 64]; /* of the device, freed at the end */
	uint32_t num_blocks;
} serving_world_t;

h2d_backend_t serving_backend(int mode);

/* The options' slots and backend are set by the mode. All device memory starts poisoned. */
void serving_world_create(serving_world_t *world, const h2d_runner_options_t *options, int mode);

/* Checks everything first. */
void serving_world_destroy(serving_world_t *world);

/* The expected contents of a buffer of the slot in use, to be changed by the test's model. */
void *serving_image(serving_world_t *world, const char *buffer);

/* Sources and destinations. */
h2d_buffer_t *serving_buffer(const serving_world_t *world, const char *name);
bool serving_was_published(const serving_world_t *world, const char *name);

/* Enqueues the consumer; what it copied is compared at the next check. */
void serving_observe(serving_world_t *world, const char *what, int step);

/* Waits, then compares all observations, and every byte of all buffers and of the draft ids. */
void serving_check(serving_world_t *world);

/* Device memory with these bytes, freed at the end. */
void *serving_upload(serving_world_t *world, const void *bytes, size_t size);

/* Copies of all sources of the slot in use; compared and freed by the second. */
uint8_t *serving_copy_sources(const serving_world_t *world);
void serving_check_sources(const serving_world_t *world, uint8_t *copies);

/* Sets the environment that makes a software GPU hostile, unless it is set already. */
void serving_be_hostile(void);

#endif
