/* SPDX-License-Identifier: MIT */
/* Making and taking down what the random sequences run on. */
#include "sequence_world.h"

const uint32_t capacities[MEMBERS] = {200, 3001, 70007, 64, ROWS};
const uint32_t sizes[MEMBERS] = {200, 3001, 70007, 64, (ROWS - 1) * DEVICE_PITCH + ROW_BYTES};
const uint32_t source_sizes[MEMBERS] = {200, 3001, 70007, 64,
					(ROWS - 1) * SOURCE_PITCH + ROW_BYTES};
const uint32_t offsets[MEMBERS] = {0, 256, 3328, 73344, 73408};
const uint32_t group_sizes[GROUPS] = {4, 2, 2};
const uint32_t group_members[GROUPS][4] = {{0, 1, 2, 3}, {0, 1}, {WRAPPED, STRIDED}};
const char *const group_names[GROUPS] = {"all", "pair", "strided"};

struct sequence_world world;

static struct h2d_pull_arguments *new_arguments(uint32_t members)
{
	void *memory = NULL;
	struct h2d_pull_arguments *arguments;

	check_success(h2d_device_allocate_host(
		fixture_device, sizeof(*arguments) + members * sizeof(arguments->member[0]),
		&memory));
	arguments = memory;
	arguments->members = members;
	return arguments;
}

h2d_status_t enqueue_copy(const struct h2d_pull_arguments *arguments)
{
	h2d_dispatch_t dispatch = {
		.grid_size = {0, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size =
			sizeof(*arguments) + arguments->members * sizeof(arguments->member[0]),
	};

	for (uint32_t i = 0; i < arguments->members; i++)
		dispatch.grid_size[0] += (uint32_t)h2d_chunk_count(arguments->member[i].bytes) *
					 H2D_CHUNK_WORKGROUP_SIZE;
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	return h2d_stream_dispatch(fixture_stream, &dispatch);
}

static void record_consumer(uint32_t slot)
{
	struct h2d_pull_arguments *arguments = new_arguments(MEMBERS);

	for (uint32_t i = 0; i < MEMBERS; i++)
		arguments->member[i] = (struct h2d_pull_member){
			.source = (uintptr_t)h2d_buffer_device(world.buffer[slot][i]),
			.destination = (uintptr_t)world.seen + offsets[i],
			.bytes = sizes[i],
		};
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(enqueue_copy(arguments));
	check_success(h2d_graph_end_capture(fixture_stream, &world.graph[slot]));
	check_success(h2d_device_free(fixture_device, arguments));
}

/* A buffer of the library's memory, or around the caller's. */
static void make_buffer(uint32_t slot, uint32_t i)
{
	static const char *const names[SLOTS][MEMBERS] = {{"a0", "a1", "a2", "a3", "a4"},
							  {"b0", "b1", "b2", "b3", "b4"}};
	h2d_buffer_description_t description = {.name = names[slot][i],
						.element_size = 1,
						.dimensions = 1,
						.shape = {capacities[i]},
						.unit = H2D_COUNT_BYTES};
	void **memory = world.wrapped[slot][i == STRIDED];

	if (i < WRAPPED) {
		check_success(h2d_buffer_allocate(world.owner[slot], &description,
						  &world.buffer[slot][i]));
		return;
	}
	if (i == STRIDED)
		description = (h2d_buffer_description_t){
			.name = names[slot][i],
			.element_size = 2,
			.dimensions = 2,
			.shape = {ROWS, ROW_BYTES / 2},
			.host_strides = {SOURCE_PITCH / 2, 1},
			.device_strides = {DEVICE_PITCH / 2, 1},
			.unit = H2D_COUNT_ROWS,
		};
	check_success(h2d_device_allocate_host(fixture_device, source_sizes[i], &memory[0]));
	check_success(h2d_device_allocate(fixture_device, sizes[i], &memory[1]));
	check_success(h2d_buffer_wrap(world.owner[slot], &description, memory[0], memory[1],
				      &world.buffer[slot][i]));
}

static void make_groups(uint32_t slot)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		h2d_buffer_t *members[4];

		for (uint32_t i = 0; i < group_sizes[g]; i++)
			members[i] = world.buffer[slot][group_members[g][i]];
		check_success(h2d_group_create(world.owner[slot], group_names[g], members,
					       group_sizes[g], &world.group[slot][g]));
	}
}

void make_world(h2d_backend_t backend)
{
	void *memory = NULL;

	check_success(h2d_registry_create(&world.registry));
	check_success(h2d_device_allocate(fixture_device, SNAPSHOT, &memory));
	world.seen = memory;
	check_success(h2d_device_allocate(fixture_device, REPLAYS * SNAPSHOT, &memory));
	world.snapshots = memory;
	check_success(h2d_device_allocate(fixture_device, 70007 + 256, &memory));
	world.constants = memory;
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		h2d_owner_options_t options = {.name = slot ? "slot 1" : "slot 0",
					       .backend = backend,
					       .timeout_ns = TIMEOUT_NS,
					       .omit_end_fence = slot == 1};

		check_success(h2d_owner_create(fixture_device, world.registry, &options,
					       &world.owner[slot]));
		for (uint32_t i = 0; i < MEMBERS; i++)
			make_buffer(slot, i);
		make_groups(slot);
		check_success(h2d_owner_select_transports(world.owner[slot]));
		record_consumer(slot);
	}
	for (uint32_t i = 0; i < COPIES; i++)
		world.arguments[i] = new_arguments(1);
}

void destroy_world(void)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		if (h2d_owner_state(world.owner[slot]) == H2D_OWNER_ACTIVE)
			check_success(h2d_owner_fail(world.owner[slot]));
		if (h2d_owner_state(world.owner[slot]) == H2D_OWNER_FAILED)
			check_success(h2d_owner_drain(world.owner[slot]));
		check_success(h2d_graph_destroy(world.graph[slot]));
		check_success(h2d_owner_destroy(world.owner[slot]));
		for (uint32_t i = 0; i < 4; i++)
			check_success(
				h2d_device_free(fixture_device, world.wrapped[slot][i / 2][i % 2]));
	}
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t i = 0; i < COPIES; i++)
		check_success(h2d_device_free(fixture_device, world.arguments[i]));
	check_success(h2d_device_free(fixture_device, world.seen));
	check_success(h2d_device_free(fixture_device, world.snapshots));
	check_success(h2d_device_free(fixture_device, world.constants));
	check_success(h2d_registry_destroy(world.registry));
}
