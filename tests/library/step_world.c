/* SPDX-License-Identifier: MIT */
/* A runner under test, with an image of what the device memory of each slot must hold. */
#include "step_world.h"

#include <stdio.h>

#include "hsa/kernel_arguments.h"

static void *allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	ck_assert_ptr_nonnull(memory);
	return memory;
}

/* ---- the world ------------------------------------------------------------------------------- */

uint32_t step_padded_size(const h2d_runner_options_t *options, uint32_t requests)
{
	for (uint32_t i = 0; i < options->num_captured_batch_sizes; i++) {
		if (options->captured_batch_sizes[i] >= requests)
			return options->captured_batch_sizes[i];
	}
	return requests;
}

/* The poison differs between slots and arrays too. */
static step_array_t poisoned_array(const char *name, const void *device, size_t size, uint32_t seed)
{
	uint8_t *expected = allocate(size);

	for (size_t i = 0; i < size; i++)
		expected[i] = (uint8_t)(0x91 + 7 * i + seed);
	check_success(h2d_device_write(fixture_device, (void *)(uintptr_t)device, expected, size,
				       H2D_DEFAULT_TIMEOUT_NS));
	return (step_array_t){name, device, size, expected};
}

static void add_array(step_world_t *world, uint32_t slot, uint32_t index, const char *name,
		      const void *device, size_t size)
{
	ck_assert_uint_lt(index, STEP_MAX_ARRAYS);
	world->arrays[slot][index] = poisoned_array(name, device, size, 13 * index + slot);
}

step_world_t *step_world_create(const h2d_runner_options_t *options, h2d_backend_t backend,
				uint32_t slots)
{
	const size_t drafts = (size_t)options->max_requests * (options->query_length - 1);
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
	if (drafts > 0)
		world->draft_ids = poisoned_array("draft_ids", world->runner->draft_ids,
						  drafts * sizeof(int32_t), 0);
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
	step_world_check(world, "at the end");
	step_world_discard(world);
}

void step_world_discard(step_world_t *world)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_arrays; i++)
			free(world->arrays[slot][i].expected);
	}
	free(world->draft_ids.expected);
	check_success(h2d_runner_destroy(world->runner));
	free(world);
}

void step_world_add_kv_indices(step_world_t *world)
{
	const h2d_runner_options_t *options = &world->runner->options;
	const bool mla = options->attention == H2D_ATTENTION_MLA;
	const size_t pages = (options->max_model_length - 1) / options->page_size + 1;
	const void *device[STEP_MAX_SLOTS];

	for (uint32_t slot = 0; slot < options->slots; slot++) {
		h2d_mha_decode_step_t mha_view = {0};
		h2d_mla_decode_step_t mla_view = {0};

		check_success(mla ? h2d_mla_decode_view(world->runner, slot, &mla_view)
				  : h2d_mha_decode_view(world->runner, slot, &mha_view));
		device[slot] = mla ? mla_view.kv_indices : mha_view.kv_indices;
	}
	step_world_add(world, "kv_indices", device,
		       options->max_requests * pages * sizeof(int32_t));
}

void step_begin(step_world_t *world)
{
	check_success(h2d_runner_begin(world->runner, fixture_stream));
}

void step_finish(step_world_t *world)
{
	check_success(h2d_runner_finish(world->runner, fixture_stream));
	check_success(h2d_runner_record(world->runner, fixture_stream));
}

/* ---- the image ------------------------------------------------------------------------------- */

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

void *step_image(step_world_t *world, const char *name)
{
	return find(world, h2d_runner_slot(world->runner), name)->expected;
}

const void *step_expected(const step_world_t *world, uint32_t slot, const char *name)
{
	return find(world, slot, name)->expected;
}

/* ---- observations, and the device at rest ---------------------------------------------------- */

static size_t slot_size(const step_world_t *world)
{
	size_t size = 0;

	for (uint32_t i = 0; i < world->num_arrays; i++)
		size += world->arrays[0][i].size;
	return size;
}

void step_observe(step_world_t *world, const char *what, int step)
{
	const uint32_t slot = h2d_runner_slot(world->runner);
	const size_t arguments_size = sizeof(struct h2d_pull_arguments) +
				      world->num_arrays * sizeof(struct h2d_pull_member);
	struct h2d_pull_arguments *arguments = case_host_memory(arguments_size);
	uint8_t *copy = case_device_memory(slot_size(world));
	uint8_t *expected = allocate(slot_size(world));
	step_observation_t *observation = &world->observations[world->num_observations++];
	h2d_dispatch_t dispatch = {
		.grid_size = {0, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size = arguments_size,
	};

	ck_assert_uint_le(world->num_observations, STEP_MAX_OBSERVATIONS);
	*observation = (step_observation_t){.copy = copy, .expected = expected, .slot = slot};
	snprintf(observation->what, sizeof(observation->what), "%s, step %d", what, step);
	arguments->members = world->num_arrays;
	for (uint32_t i = 0; i < world->num_arrays; i++) {
		const step_array_t *array = &world->arrays[slot][i];

		arguments->member[i] = (struct h2d_pull_member){
			.source = (uintptr_t)array->device,
			.destination = (uintptr_t)copy,
			.bytes = array->size,
		};
		memcpy(expected, array->expected, array->size);
		copy += array->size;
		expected += array->size;
		dispatch.grid_size[0] +=
			(uint32_t)h2d_chunk_count(array->size) * H2D_CHUNK_WORKGROUP_SIZE;
	}
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
}

static void check_bytes(const char *what, uint32_t slot, const step_array_t *array,
			const void *device, const uint8_t *expected)
{
	void *actual = allocate(array->size);
	char name[256];

	check_success(h2d_device_read(fixture_device, actual, device, array->size,
				      H2D_DEFAULT_TIMEOUT_NS));
	snprintf(name, sizeof(name), "%s: slot %u, %s", what, slot, array->name);
	fixture_check_bytes(name, actual, expected, array->size);
	free(actual);
}

static void check_observation(const step_world_t *world, const step_observation_t *observation)
{
	size_t offset = 0;

	for (uint32_t i = 0; i < world->num_arrays; i++) {
		const step_array_t *array = &world->arrays[observation->slot][i];

		check_bytes(observation->what, observation->slot, array, observation->copy + offset,
			    observation->expected + offset);
		offset += array->size;
	}
}

void step_world_check(step_world_t *world, const char *what)
{
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t i = 0; i < world->num_observations; i++) {
		check_observation(world, &world->observations[i]);
		free(world->observations[i].expected);
	}
	world->num_observations = 0;
	for (uint32_t slot = 0; slot < world->runner->options.slots; slot++) {
		for (uint32_t i = 0; i < world->num_arrays; i++) {
			const step_array_t *array = &world->arrays[slot][i];

			check_bytes(what, slot, array, array->device, array->expected);
		}
	}
	if (world->draft_ids.size > 0)
		check_bytes(what, 0, &world->draft_ids, world->draft_ids.device,
			    world->draft_ids.expected);
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

h2d_buffer_t *step_buffer(const step_world_t *world, const char *name)
{
	h2d_buffer_t *buffer = NULL;

	check_success(h2d_runner_buffer(world->runner, name, &buffer));
	return buffer;
}

void step_check_published(const step_world_t *world, const char *name, bool published)
{
	const uint64_t epoch = h2d_owner_epoch(slot_in_use(world)->owner);

	ck_assert_msg((h2d_buffer_published_epoch(step_buffer(world, name)) == epoch) == published,
		      "%s was %spublished", name, published ? "not " : "");
}

void *step_upload(const void *bytes, size_t size)
{
	void *memory = case_device_memory(size);

	check_success(
		h2d_device_write(fixture_device, memory, bytes, size, H2D_DEFAULT_TIMEOUT_NS));
	return memory;
}

void step_hostile_setup(void)
{
	/* Unless the environment says otherwise; a real GPU does not read these. */
	setenv("SOFTGPU_L2S", "3", 0);
	setenv("SOFTGPU_DELAY", "60", 0);
	setenv("SOFTGPU_REORDER", "1", 0);
	case_setup();
}
