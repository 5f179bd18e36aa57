/* SPDX-License-Identifier: MIT */
/*
 * A runner under test, with an image of everything that the device memory of each slot must hold:
 * what a step publishes is entered into the image, all else must stay as it was.
 */
#ifndef H2DPUB_TESTS_STEP_WORLD_H
#define H2DPUB_TESTS_STEP_WORLD_H

#include "publication_case.h"
#include "step/runner.h"

enum { STEP_MAX_ARRAYS = 128, STEP_MAX_SLOTS = 3, STEP_MAX_OBSERVATIONS = 64 };

/* Loop tests run in each mode, and again in each for every further variant of theirs. */
enum { STEP_MODES = BACKENDS * 2 };
#define STEP_BACKEND(i) ((h2d_backend_t)((i) % BACKENDS))
#define STEP_SLOTS(i)	((uint32_t)(1 + (i) % STEP_MODES / BACKENDS))

/* Captured batch sizes in an initialiser of options. */
#define CAPTURED(...)                                                                              \
	.captured_batch_sizes = (const uint32_t[]){__VA_ARGS__},                                   \
	.num_captured_batch_sizes = sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

typedef struct step_array {
	const char *name;
	const void *device;
	size_t size;
	uint8_t *expected;
} step_array_t;

/* What a consumer copied of a slot's arrays, one after the other. */
typedef struct step_observation {
	const uint8_t *copy; /* device */
	uint8_t *expected;   /* the slot's image when it was enqueued */
	uint32_t slot;
	char what[96];
} step_observation_t;

typedef struct step_world {
	h2d_runner_t *runner;
	step_array_t arrays[STEP_MAX_SLOTS][STEP_MAX_ARRAYS];
	uint32_t num_arrays;
	step_array_t draft_ids; /* the runner's, of all slots; size 0: it has none */
	step_observation_t observations[STEP_MAX_OBSERVATIONS];
	uint32_t num_observations;
} step_world_t;

/* The smallest captured size that holds so many requests; their number if none does. */
uint32_t step_padded_size(const h2d_runner_options_t *options, uint32_t requests);

/* All device memory of the runner starts poisoned, from byte to byte differently. */
step_world_t *step_world_create(const h2d_runner_options_t *options, h2d_backend_t backend,
				uint32_t slots);

/* Checks everything first; discard does not, for cases that enter a part of what they publish. */
void step_world_destroy(step_world_t *world);
void step_world_discard(step_world_t *world);

/* Adds device memory that no buffer has: `device` of each slot, poisoned too. */
void step_world_add(step_world_t *world, const char *name, const void *const device[], size_t size);

/* Adds the kv_indices of a decode. */
void step_world_add_kv_indices(step_world_t *world);

/* A forward: its epoch begins; it is finished and recorded. */
void step_begin(step_world_t *world);
void step_finish(step_world_t *world);

/* Enters what the first bytes of an array of the slot in use must be. */
void step_expect(step_world_t *world, const char *name, const void *bytes, size_t size);

/* The expected contents: of the slot in use, to be changed by a model, and of any slot. */
void *step_image(step_world_t *world, const char *name);
const void *step_expected(const step_world_t *world, uint32_t slot, const char *name);

/*
 * Enqueues a consumer that copies all arrays of the slot in use, in the stream's order; what it has
 * seen is compared at the next check. what and step name the moment.
 */
void step_observe(step_world_t *world, const char *what, int step);

/* Waits for the stream, then compares the observations and every byte of every slot. */
void step_world_check(step_world_t *world, const char *what);

/* A buffer of the slot in use. */
h2d_buffer_t *step_buffer(const step_world_t *world, const char *name);

/* The buffer of the slot in use was published in this epoch, or was not. */
void step_check_published(const step_world_t *world, const char *name, bool published);

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

/* Device memory with these bytes, which case_teardown() frees. */
void *step_upload(const void *bytes, size_t size);

/* A checked fixture: case_setup() on a hostile software GPU. */
void step_hostile_setup(void);

#endif
