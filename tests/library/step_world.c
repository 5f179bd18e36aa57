/* SPDX-License-Identifier: MIT */
/* A runner under test, with an image of what the device memory of each slot must hold. */
#include "step_world.h"

#include <stdio.h>

static void *allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	ck_assert_ptr_nonnull(memory);
	return memory;
}

static void add_array(step_world_t *world, uint32_t slot, uint32_t index, const char *name,
		      const void *device, size_t size)
{
	uint8_t *expected = allocate(size);

	ck_assert_uint_lt(index, STEP_MAX_ARRAYS);
	for (size_t i = 0; i < size; i++)
		expected[i] = (uint8_t)(0x91 + 7 * i + 13 * index + slot);
	check_success(h2d_device_write(fixture_device, (void *)(uintptr_t)device, expected, size,
				       H2D_DEFAULT_TIMEOUT_NS));
	world->arrays[slot][index] = (step_array_t){name, device, size, expected};
}

step_world_t *step_world_create(const h2d_runner_options_t *options, h2d_backend_t backend,
				uint32_t slots)
{
	h2d_runner_options_t chosen = *options;
	step_world_t *world = allocate(sizeof(*world));

	ck_assert_uint_le(slots, STEP_MAX_SLOTS);
	chosen.slots = slots;
	chosen.backend = h2d_backend_name(backend);
	check_success(h2d_runner_create(fixture_device, &chosen, &world->runner));
	world->num_arrays = world->runner->slots[0].num_buffers;
	for (uint32_t slot = 0; slot < slots; slot++) {
		for (uint32_t i = 0; i < world->num_arrays; i++) {
			const h2d_buffer_t *buffer = world->runner->slots[slot].buffers[i];

			add_array(world, slot, i, h2d_buffer_name(buffer),
				  h2d_buffer_device(buffer), buffer_size(buffer));
		}
	}
	return world;
}

void step_world_add(step_world_t *world, const char *name, const void *const device[], size_t size)
{
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++)
		add_array(world, slot, world->num_arrays, name, device[slot], size);
	world->num_arrays++;
}

void step_world_destroy(step_world_t *world)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_arrays; i++)
			free(world->arrays[slot][i].expected);
	}
	check_success(h2d_runner_destroy(world->runner));
	free(world);
}

static const step_array_t *find(const step_world_t *world, uint32_t slot, const char *name)
{
	for (uint32_t i = 0; i < world->num_arrays; i++) {
		if (strcmp(world->arrays[slot][i].name, name) == 0)
			return &world->arrays[slot][i];
	}
	ck_abort_msg("the runner has no array %s", name);
	return NULL;
}

void step_expect(step_world_t *world, const char *name, const void *bytes, size_t size)
{
	const step_array_t *array = find(world, h2d_runner_slot(world->runner), name);

	ck_assert_uint_le(size, array->size);
	if (size > 0)
		memcpy(array->expected, bytes, size);
}

const void *step_expected(const step_world_t *world, uint32_t slot, const char *name)
{
	return find(world, slot, name)->expected;
}

void step_world_check(const step_world_t *world, const char *what)
{
	char name[256];

	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_arrays; i++) {
			const step_array_t *array = &world->arrays[slot][i];
			void *actual = allocate(array->size);

			check_success(h2d_device_read(fixture_device, actual, array->device,
						      array->size, H2D_DEFAULT_TIMEOUT_NS));
			snprintf(name, sizeof(name), "%s: slot %u, %s", what, slot, array->name);
			fixture_check_bytes(name, actual, array->expected, array->size);
			free(actual);
		}
	}
}

/* ---- sources --------------------------------------------------------------------------------- */

static const h2d_runner_slot_t *slot_in_use(const step_world_t *world)
{
	return &world->runner->slots[world->runner->slot];
}

step_sources_t step_sources_take(const step_world_t *world)
{
	const h2d_runner_slot_t *slot = slot_in_use(world);
	step_sources_t sources = {{NULL}};

	for (uint32_t i = 0; i < slot->num_buffers; i++) {
		sources.bytes[i] = allocate(buffer_size(slot->buffers[i]));
		memcpy(sources.bytes[i], h2d_buffer_host(slot->buffers[i]),
		       buffer_size(slot->buffers[i]));
	}
	return sources;
}

void step_sources_check(const step_world_t *world, step_sources_t *sources, const char *what)
{
	const h2d_runner_slot_t *slot = slot_in_use(world);
	char name[256];

	for (uint32_t i = 0; i < slot->num_buffers; i++) {
		snprintf(name, sizeof(name), "%s: source of %s", what,
			 h2d_buffer_name(slot->buffers[i]));
		fixture_check_bytes(name, h2d_buffer_host(slot->buffers[i]), sources->bytes[i],
				    buffer_size(slot->buffers[i]));
		free(sources->bytes[i]);
	}
}

void step_check_published(const step_world_t *world, const char *name, bool published)
{
	const h2d_runner_slot_t *slot = slot_in_use(world);
	const h2d_buffer_t *buffer = h2d_slot_find_buffer(slot, name);

	ck_assert_msg(buffer, "no buffer %s", name);
	ck_assert_msg((h2d_buffer_published_epoch(buffer) == h2d_owner_epoch(slot->owner)) ==
			      published,
		      "%s was %spublished", name, published ? "not " : "");
}

void step_hostile_setup(void)
{
	/* Unless the environment says otherwise; a real GPU does not read these. */
	setenv("SOFTGPU_L2S", "3", 0);
	setenv("SOFTGPU_DELAY", "60", 0);
	setenv("SOFTGPU_REORDER", "1", 0);
	case_setup();
}
