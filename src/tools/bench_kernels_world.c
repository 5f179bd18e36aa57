/* SPDX-License-Identifier: MIT */
/* Kernels, signals and memory of the ways that h2dpub-bench kernels measures. */
#include "config.h"

#include "bench_kernels.h"

#include <stddef.h>

#include "hsa/device.h"
#include "hsa/hsa_error.h"

/* Behind what a copy in one piece writes, less than behind the last member. */
#define PLAIN_GUARD 64

/* Where the arguments of each dispatch start, none in a cache line with another's. */
enum { NO_ARGUMENTS = 0, PACKED_ARGUMENTS = 64, FULL_ARGUMENTS = 128, PULL_ARGUMENTS = 192 };
#define ARGUMENTS_SIZE                                                                             \
	(PULL_ARGUMENTS + sizeof(struct h2d_pull_arguments) +                                      \
	 BENCH_MAX_MEMBERS * sizeof(struct h2d_pull_member))

static int check(struct kernels_world *world, h2d_status_t status, const char *what)
{
	return status == H2D_STATUS_SUCCESS ? 0 : publication_failed(&world->publication, what);
}

/* ---- all groups ---------------------------------------------------------------------------- */

static int create_signals(struct kernels_world *world)
{
	hsa_signal_t *signals[] = {&world->gate, &world->copied, &world->consumed,
				   &world->kernel_done};
	const size_t count = sizeof(signals) / sizeof(signals[0]);

	for (size_t i = 0; i < count + BENCH_MAX_MEMBERS; i++) {
		hsa_signal_t *signal = i < count ? signals[i] : &world->copy_done[i - count];

		if (check(world, h2d_device_create_signal(world->publication.device, 0, signal),
			  "cannot make a signal") < 0)
			return -1;
	}
	return 0;
}

static int get_timestamp_frequency(struct kernels_world *world)
{
	hsa_status_t status = hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY,
						  &world->timestamp_frequency);

	if (status == HSA_STATUS_SUCCESS)
		return 0;
	h2d_hsa_error(status, "hsa_system_get_info");
	return publication_failed(&world->publication, "no frequency of timestamps");
}

int kernels_open(struct kernels_world *world, struct tool_error *error)
{
	*world = (struct kernels_world){0};
	if (publication_open(&world->publication, error) < 0)
		return -1;
	if (check(world,
		  h2d_device_get_kernel(world->publication.device, "h2d_scatter", &world->scatter),
		  "cannot get a kernel") < 0 ||
	    check(world, h2d_device_get_kernel(world->publication.device, "h2d_pull", &world->pull),
		  "cannot get a kernel") < 0 ||
	    get_timestamp_frequency(world) < 0 || create_signals(world) < 0) {
		kernels_close(world);
		return -1;
	}
	return 0;
}

void kernels_close(struct kernels_world *world)
{
	h2d_device_destroy_signal(world->gate);
	h2d_device_destroy_signal(world->copied);
	h2d_device_destroy_signal(world->consumed);
	h2d_device_destroy_signal(world->kernel_done);
	for (uint32_t i = 0; i < BENCH_MAX_MEMBERS; i++)
		h2d_device_destroy_signal(world->copy_done[i]);
	publication_close(&world->publication);
}

/* ---- one group ----------------------------------------------------------------------------- */

static int allocate(struct kernels_world *world)
{
	h2d_device_t *device = world->publication.device;
	const struct bench_layout *layout = &world->publication.layout;
	struct {
		uint8_t **memory;
		size_t size;
	} of_device[] = {
		{&world->device_arena, world->arena_size},
		{&world->full_arena, world->arena_size},
		{&world->table, layout->members * sizeof(struct h2d_scatter_member)},
		{&world->plain, world->plain_size},
	};

	for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
		if (check(world,
			  h2d_device_allocate(device, of_device[i].size,
					      (void **)of_device[i].memory),
			  "cannot allocate device memory") < 0)
			return -1;
	}
	if (check(world,
		  h2d_device_allocate_host(device, world->arena_size, (void **)&world->arena),
		  "cannot allocate the arena") < 0)
		return -1;
	return check(world,
		     h2d_device_allocate_kernel_arguments(device, ARGUMENTS_SIZE,
							  (void **)&world->arguments),
		     "cannot allocate kernel arguments");
}

static int describe(struct kernels_world *world)
{
	const struct publication_world *group = &world->publication;
	struct h2d_scatter_member table[BENCH_MAX_MEMBERS];
	struct h2d_scatter_arguments scatter = {
		.table = (uint64_t)(uintptr_t)world->table,
		.members = group->layout.members,
	};

	world->no_arguments = (struct h2d_pull_arguments *)(world->arguments + NO_ARGUMENTS);
	world->pull_arguments = (struct h2d_pull_arguments *)(world->arguments + PULL_ARGUMENTS);
	world->packed_arguments =
		(struct h2d_scatter_arguments *)(world->arguments + PACKED_ARGUMENTS);
	world->full_arguments = (struct h2d_scatter_arguments *)(world->arguments + FULL_ARGUMENTS);
	scatter.arena = (uint64_t)(uintptr_t)world->device_arena;
	*world->packed_arguments = scatter;
	scatter.arena = (uint64_t)(uintptr_t)world->full_arena;
	*world->full_arguments = scatter;
	world->pull_arguments->members = group->layout.members;
	for (uint32_t i = 0; i < group->layout.members; i++) {
		uint64_t source = (uint64_t)(uintptr_t)group->source[i];
		uint64_t destination = (uint64_t)(uintptr_t)group->destination[i];

		table[i] = (struct h2d_scatter_member){destination, source};
		world->pull_arguments->member[i] =
			(struct h2d_pull_member){source, destination, group->size[i]};
	}
	return check(world,
		     h2d_device_write(group->device, world->table, table,
				      group->layout.members * sizeof(table[0]),
				      H2D_DEFAULT_TIMEOUT_NS),
		     "cannot write the table of members");
}

/* The rest of a group whose members have their places. */
static int complete(struct kernels_world *world)
{
	const struct bench_layout *layout = &world->publication.layout;

	world->chunks = 0;
	for (uint32_t i = 0; i < layout->members; i++)
		world->chunks += (uint32_t)h2d_chunk_count(world->publication.size[i]);
	world->arena_size = layout->members * sizeof(struct h2d_scatter_header) + layout->bytes;
	world->plain_size = layout->bytes + PLAIN_GUARD;
	publication_fill(&world->publication, 0);
	if (allocate(world) < 0 || describe(world) < 0 || kernels_upload(world) < 0) {
		kernels_clear(world);
		return -1;
	}
	return 0;
}

int kernels_lay_out(struct kernels_world *world, const struct bench_layout *layout)
{
	return publication_lay_out(&world->publication, layout) < 0 ? -1 : complete(world);
}

int kernels_lay_out_misaligned(struct kernels_world *world, const uint64_t sizes[],
			       uint32_t members, unsigned short seed[3])
{
	if (publication_lay_out_misaligned(&world->publication, sizes, members, seed) < 0)
		return -1;
	return complete(world);
}

void kernels_clear(struct kernels_world *world)
{
	uint8_t **memory[] = {&world->device_arena, &world->full_arena, &world->table,
			      &world->plain,	    &world->arena,	&world->arguments};

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		h2d_device_free(world->publication.device, *memory[i]);
		*memory[i] = NULL;
	}
	publication_clear(&world->publication);
}

int kernels_upload(struct kernels_world *world)
{
	size_t used = publication_pack(&world->publication, world->arena, UINT64_MAX);

	return check(world,
		     h2d_device_write(world->publication.device, world->full_arena, world->arena,
				      used, H2D_DEFAULT_TIMEOUT_NS),
		     "cannot write the arena");
}
