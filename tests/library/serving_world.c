/* SPDX-License-Identifier: MIT */
/* A runner under test, with the image of what every buffer of every slot must hold. */
#include "serving_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa/kernel_arguments.h"

h2d_backend_t serving_backend(int mode)
{
	return (h2d_backend_t)(mode / 2);
}

static size_t size_of(const h2d_buffer_t *buffer)
{
	return h2d_buffer_capacity(buffer) * h2d_buffer_bytes_per_count(buffer);
}

static void *allocate(serving_world_t *world, size_t size)
{
	void *memory = NULL;

	check_success(h2d_device_allocate(fixture_device, size, &memory));
	ck_assert_uint_lt(world->num_blocks, sizeof(world->blocks) / sizeof(world->blocks[0]));
	world->blocks[world->num_blocks++] = memory;
	return memory;
}

/* Poison that differs from byte to byte, and between slots and buffers. */
static uint8_t *poison(void *device_memory, size_t size, uint32_t seed)
{
	uint8_t *bytes = malloc(size + 1);

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(0xa5 ^ (i * 37 + seed * 101));
	check_success(h2d_device_write(fixture_device, device_memory, bytes, size,
				       H2D_DEFAULT_TIMEOUT_NS));
	return bytes;
}

void serving_world_create(serving_world_t *world, const h2d_runner_options_t *options, int mode)
{
	h2d_runner_options_t with_mode = *options;

	*world = (serving_world_t){0};
	with_mode.slots = (uint32_t)mode % 2 + 1;
	with_mode.backend = h2d_backend_name(serving_backend(mode));
	check_success(h2d_runner_create(fixture_device, &with_mode, &world->runner));
	world->num_buffers = world->runner->slots[0].num_buffers;
	ck_assert_uint_le(world->num_buffers, SERVING_MAX_BUFFERS);
	for (uint32_t slot = 0; slot < with_mode.slots; slot++) {
		world->slot_size = 0;
		for (uint32_t i = 0; i < world->num_buffers; i++) {
			h2d_buffer_t *buffer = world->runner->slots[slot].buffers[i];

			world->images[slot][i] =
				poison(h2d_buffer_device(buffer), size_of(buffer), slot * 64 + i);
			world->slot_size += size_of(buffer);
		}
	}
	world->draft_ids_size = (size_t)options->max_requests * (options->query_length - 1) * 4;
	if (world->draft_ids_size > 0)
		world->draft_ids_image =
			poison(world->runner->draft_ids, world->draft_ids_size, 999);
}

static uint32_t index_of(const serving_world_t *world, const char *name)
{
	const h2d_runner_slot_t *slot = &world->runner->slots[0];

	for (uint32_t i = 0; i < world->num_buffers; i++) {
		if (strcmp(h2d_buffer_name(slot->buffers[i]), name) == 0)
			return i;
	}
	ck_abort_msg("no buffer is named %s", name);
}

void *serving_image(serving_world_t *world, const char *buffer)
{
	return world->images[world->runner->slot][index_of(world, buffer)];
}

h2d_buffer_t *serving_buffer(const serving_world_t *world, const char *name)
{
	h2d_buffer_t *buffer = NULL;

	check_success(h2d_runner_buffer(world->runner, name, &buffer));
	return buffer;
}

bool serving_was_published(const serving_world_t *world, const char *name)
{
	return h2d_buffer_published_epoch(serving_buffer(world, name)) != 0;
}

void serving_observe(serving_world_t *world, const char *what, int step)
{
	const h2d_runner_slot_t *slot = &world->runner->slots[world->runner->slot];
	serving_observation_t *observation = &world->observations[world->num_observations];
	const size_t size = sizeof(struct h2d_pull_arguments) +
			    world->num_buffers * sizeof(struct h2d_pull_member);
	struct h2d_pull_arguments *arguments;
	h2d_dispatch_t dispatch = {.grid_size = {0, 1, 1},
				   .workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
				   .kernel_arguments_size = size};
	uint8_t *expected = malloc(world->slot_size);
	void *memory = NULL;
	size_t offset = 0;

	ck_assert_ptr_nonnull(expected);
	ck_assert_uint_lt(world->num_observations, SERVING_MAX_OBSERVATIONS);
	world->num_observations++;
	*observation = (serving_observation_t){
		.copy = allocate(world, world->slot_size),
		.expected = expected,
		.slot = world->runner->slot,
	};
	snprintf(observation->what, sizeof(observation->what), "%s, step %d", what, step);
	check_success(h2d_device_allocate_host(fixture_device, size, &memory));
	ck_assert_uint_lt(world->num_blocks, sizeof(world->blocks) / sizeof(world->blocks[0]));
	world->blocks[world->num_blocks++] = memory;
	arguments = memory;
	arguments->members = world->num_buffers;
	for (uint32_t i = 0; i < world->num_buffers; i++) {
		const size_t bytes = size_of(slot->buffers[i]);

		arguments->member[i] = (struct h2d_pull_member){
			.source = (uintptr_t)h2d_buffer_device(slot->buffers[i]),
			.destination = (uintptr_t)observation->copy + offset,
			.bytes = bytes,
		};
		memcpy(expected + offset, world->images[observation->slot][i], bytes);
		offset += bytes;
		dispatch.grid_size[0] +=
			(uint32_t)h2d_chunk_count(bytes) * H2D_CHUNK_WORKGROUP_SIZE;
	}
	dispatch.kernel_arguments = arguments;
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
}

static void compare(const void *device_memory, const uint8_t *expected, size_t size,
		    const char *what, const char *name, uint32_t slot)
{
	uint8_t *actual = malloc(size + 1);

	ck_assert_ptr_nonnull(actual);
	check_success(h2d_device_read(fixture_device, actual, device_memory, size,
				      H2D_DEFAULT_TIMEOUT_NS));
	for (size_t i = 0; i < size; i++)
		ck_assert_msg(actual[i] == expected[i],
			      "%s: slot %u: byte %zu of %s is 0x%02x instead of 0x%02x", what, slot,
			      i, name, actual[i], expected[i]);
	free(actual);
}

static void check_observation(const serving_world_t *world, serving_observation_t *observation)
{
	size_t offset = 0;

	for (uint32_t i = 0; i < world->num_buffers; i++) {
		const h2d_buffer_t *buffer = world->runner->slots[0].buffers[i];

		compare(observation->copy + offset, observation->expected + offset, size_of(buffer),
			observation->what, h2d_buffer_name(buffer), observation->slot);
		offset += size_of(buffer);
	}
	free(observation->expected);
}

void serving_check(serving_world_t *world)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t i = 0; i < world->num_observations; i++)
		check_observation(world, &world->observations[i]);
	world->num_observations = 0;
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_buffers; i++) {
			const h2d_buffer_t *buffer = world->runner->slots[slot].buffers[i];

			compare(h2d_buffer_device(buffer), world->images[slot][i], size_of(buffer),
				"at the end", h2d_buffer_name(buffer), slot);
		}
	}
	if (world->draft_ids_size > 0)
		compare(world->runner->draft_ids, world->draft_ids_image, world->draft_ids_size,
			"at the end", "draft_ids", 0);
}

void serving_world_destroy(serving_world_t *world)
{
	serving_check(world);
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_buffers; i++)
			free(world->images[slot][i]);
	}
	free(world->draft_ids_image);
	check_success(h2d_runner_destroy(world->runner));
	for (uint32_t i = 0; i < world->num_blocks; i++)
		check_success(h2d_device_free(fixture_device, world->blocks[i]));
}

void *serving_upload(serving_world_t *world, const void *bytes, size_t size)
{
	void *memory = allocate(world, size);

	check_success(
		h2d_device_write(fixture_device, memory, bytes, size, H2D_DEFAULT_TIMEOUT_NS));
	return memory;
}

uint8_t *serving_copy_sources(const serving_world_t *world)
{
	const h2d_runner_slot_t *slot = &world->runner->slots[world->runner->slot];
	uint8_t *copies = malloc(world->slot_size);
	size_t offset = 0;

	ck_assert_ptr_nonnull(copies);
	for (uint32_t i = 0; i < world->num_buffers; i++) {
		memcpy(copies + offset, h2d_buffer_host(slot->buffers[i]),
		       size_of(slot->buffers[i]));
		offset += size_of(slot->buffers[i]);
	}
	return copies;
}

void serving_check_sources(const serving_world_t *world, uint8_t *copies)
{
	const h2d_runner_slot_t *slot = &world->runner->slots[world->runner->slot];
	size_t offset = 0;

	for (uint32_t i = 0; i < world->num_buffers; i++) {
		fixture_check_bytes(h2d_buffer_name(slot->buffers[i]),
				    h2d_buffer_host(slot->buffers[i]), copies + offset,
				    size_of(slot->buffers[i]));
		offset += size_of(slot->buffers[i]);
	}
	free(copies);
}

void serving_be_hostile(void)
{
	setenv("SOFTGPU_L2S", "3", 0);
	setenv("SOFTGPU_DELAY", "60", 0);
	setenv("SOFTGPU_REORDER", "1", 0);
}
