/* SPDX-License-Identifier: MIT */
/*
 * A runner under test, with an image of everything that the device memory of each slot must hold:
 * what a step publishes is entered into the image, all else must stay as it was.
 */
#ifndef H2DPUB_TESTS_STEP_WORLD_H
#define H2DPUB_TESTS_STEP_WORLD_H

#include "publication_case.h"
#include "step/runner.h"

enum { STEP_MAX_ARRAYS = 128, STEP_MAX_SLOTS = 2 };

typedef struct step_array {
	const char *name;
	const void *device;
	size_t size;
	uint8_t *expected;
} step_array_t;

typedef struct step_world {
	h2d_runner_t *runner;
	step_array_t arrays[STEP_MAX_SLOTS][STEP_MAX_ARRAYS];
	uint32_t num_arrays;
} step_world_t;

/* Captured batch sizes in an initialiser of options. */
#define CAPTURED(...)                                                                              \
	.captured_batch_sizes = (const uint32_t[]){__VA_ARGS__},                                   \
	.num_captured_batch_sizes = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

/* All buffers of all slots start poisoned, from byte to byte differently. */
step_world_t *step_world_create(const h2d_runner_options_t *options, h2d_backend_t backend,
				uint32_t slots);
void step_world_destroy(step_world_t *world);

/* Adds device memory that no buffer has: `device` of each slot, poisoned too. */
void step_world_add(step_world_t *world, const char *name, const void *const device[], size_t size);

/* Enters what the first bytes of an array of the slot in use must be. */
void step_expect(step_world_t *world, const char *name, const void *bytes, size_t size);

/* The expected contents, for models that read them. */
const void *step_expected(const step_world_t *world, uint32_t slot, const char *name);

/* Waits for the stream, then compares every byte of every slot; what names the moment. */
void step_world_check(const step_world_t *world, const char *what);

/* The sources of the slot in use, all of them, as they are now. */
typedef struct step_sources {
	uint8_t *bytes[STEP_MAX_ARRAYS];
} step_sources_t;

step_sources_t step_sources_take(const step_world_t *world);
/* Compares them and frees the copies. */
void step_sources_check(const step_world_t *world, step_sources_t *sources, const char *what);

/* The call must be refused with this status, and leave every source as it was. */
#define step_check_refused(world, call, status)                                                    \
	do {                                                                                       \
		step_sources_t step_before = step_sources_take(world);                             \
		check_status(call, status);                                                        \
		step_sources_check(world, &step_before, #call);                                    \
	} while (0)

/* The buffer of the slot in use was published in this epoch, or was not. */
void step_check_published(const step_world_t *world, const char *name, bool published);

/* A checked fixture: case_setup() on a hostile software GPU. */
void step_hostile_setup(void);

#endif
