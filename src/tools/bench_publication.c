/* SPDX-License-Identifier: MIT */
/* Memory, contents and check of a group that is published in several ways. */
#include "config.h"

#include "bench_publication.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsa/kernel_arguments.h"

/* Members start at multiples of this, with at least the guard between them. */
#define ALIGNMENT 256
#define GUARD	  64
#define PAGE	  4096
#define POISON	  0xa5

const struct publication_peer *publication_peer(size_t index)
{
	if (index < publication_library_peer_count)
		return &publication_library_peers[index];
	index -= publication_library_peer_count;
	if (index < publication_hsa_peer_count)
		return &publication_hsa_peers[index];
#ifdef HAVE_HIP
	index -= publication_hsa_peer_count;
	if (index < publication_hip_peer_count)
		return &publication_hip_peers[index];
#endif
	return NULL;
}

int publication_failed(struct publication_world *world, const char *what)
{
	tool_error_set(world->error, "%s: %s", what, h2d_error_message());
	return -1;
}

/* A real GPU's runtime keeps the kernel driver's device open. */
static bool is_software(void)
{
	DIR *files = opendir("/proc/self/fd");
	const struct dirent *entry;
	bool found = false;

	while (files && !found && (entry = readdir(files)) != NULL) {
		char target[64] = "";

		found = readlinkat(dirfd(files), entry->d_name, target, sizeof(target) - 1) > 0 &&
			strcmp(target, "/dev/kfd") == 0;
	}
	if (files)
		closedir(files);
	return !found;
}

int publication_open(struct publication_world *world, struct tool_error *error)
{
	uint32_t devices = 0;

	*world = (struct publication_world){.error = error, .slots = 1};
#ifdef HAVE_HIP
	if (publication_hip_open(world) < 0)
		return -1;
#endif
	if (h2d_device_count(&devices) != H2D_STATUS_SUCCESS || devices == 0) {
		tool_error_set(error, "no GPU (without an AMD one, use softgpu)");
		return -1;
	}
	if (h2d_device_open(0, &world->device) != H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot open the GPU");
	if (h2d_device_get_info(world->device, &world->info) != H2D_STATUS_SUCCESS ||
	    h2d_stream_create(world->device, NULL, &world->stream) != H2D_STATUS_SUCCESS) {
		publication_failed(world, "cannot use the GPU");
		publication_close(world);
		return -1;
	}
	world->software = is_software();
	return 0;
}

void publication_close(struct publication_world *world)
{
	h2d_stream_destroy(world->stream);
	h2d_device_close(world->device);
}

/* seed NULL: aligned. */
static size_t next_place(size_t end, unsigned short seed[3])
{
	size_t place = (end + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	return seed ? place + (size_t)nrand48(seed) % 16 : place;
}

static int allocate(struct publication_world *world)
{
	world->contents = malloc(world->host_size + PAGE);
	world->expected = malloc(world->device_size);
	world->actual = malloc(world->device_size);
	if (!world->contents || !world->expected || !world->actual) {
		tool_error_set(world->error, "out of memory");
		return -1;
	}
#ifdef HAVE_HIP
	return publication_hip_allocate(world);
#else
	if (h2d_device_allocate_host(world->device, world->host_size, (void **)&world->host) !=
		    H2D_STATUS_SUCCESS ||
	    h2d_device_allocate(world->device, world->device_size, (void **)&world->memory) !=
		    H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot allocate the group");
	return 0;
#endif
}

/* The members of world->size. */
static int place_members(struct publication_world *world, unsigned short seed[3])
{
	size_t source[BENCH_MAX_MEMBERS], destination[BENCH_MAX_MEMBERS];
	size_t source_end = 0, destination_end = 0;
	uint64_t bits = 1;

	for (uint32_t i = 0; i < world->layout.members; i++) {
		source[i] = next_place(source_end, seed);
		destination[i] = next_place(destination_end, seed);
		source_end = source[i] + world->size[i];
		destination_end = destination[i] + world->size[i];
	}
	world->host_size = next_place(source_end, NULL);
	world->device_size = next_place(destination_end, NULL);
	if (allocate(world) < 0) {
		publication_clear(world);
		return -1;
	}
	for (uint32_t i = 0; i < world->layout.members; i++) {
		world->source[i] = world->host + source[i];
		world->destination[i] = world->memory + destination[i];
	}
	for (size_t i = 0; i < world->host_size + PAGE; i++) {
		bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
		world->contents[i] = (uint8_t)(bits >> 56);
	}
	return 0;
}

int publication_lay_out(struct publication_world *world, const struct bench_layout *layout)
{
	world->layout = *layout;
	bench_layout_sizes(layout, world->size);
	return place_members(world, NULL);
}

int publication_lay_out_misaligned(struct publication_world *world, const uint64_t sizes[],
				   uint32_t members, unsigned short seed[3])
{
	world->layout = (struct bench_layout){.members = members};
	for (uint32_t i = 0; i < members; i++) {
		world->size[i] = sizes[i];
		world->layout.bytes += sizes[i];
	}
	return place_members(world, seed);
}

void publication_clear(struct publication_world *world)
{
#ifdef HAVE_HIP
	publication_hip_free(world);
#else
	h2d_device_free(world->device, world->host);
	h2d_device_free(world->device, world->memory);
#endif
	free(world->contents);
	free(world->expected);
	free(world->actual);
	world->host = world->memory = world->contents = world->expected = world->actual = NULL;
}

void publication_fill(struct publication_world *world, uint32_t round)
{
	memcpy(world->host, world->contents + round * 64 % PAGE, world->host_size);
}

size_t publication_pack(const struct publication_world *world, uint8_t *arena, uint64_t limit)
{
	struct h2d_scatter_header *header = (struct h2d_scatter_header *)arena;
	size_t end = world->layout.members * sizeof(*header);

	for (uint32_t i = 0; i < world->layout.members; i++) {
		bool packed = world->size[i] <= limit;

		header[i].offset = packed ? (int64_t)end : -1;
		header[i].count = (int64_t)world->size[i];
		if (!packed)
			continue;
		memcpy(arena + end, world->source[i], world->size[i]);
		end += world->size[i];
	}
	return end;
}

int publication_poison(struct publication_world *world)
{
	memset(world->expected, POISON, world->device_size);
	if (h2d_device_write(world->device, world->memory, world->expected, world->device_size,
			     H2D_DEFAULT_TIMEOUT_NS) != H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot overwrite the destinations");
	return 0;
}

int publication_compare(struct publication_world *world, const uint8_t *memory, size_t size,
			const char *name)
{
	if (h2d_device_read(world->device, world->actual, memory, size, H2D_DEFAULT_TIMEOUT_NS) !=
	    H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot read the destinations");
	for (size_t i = 0; i < size; i++) {
		if (world->actual[i] == world->expected[i])
			continue;
		tool_error_set(world->error, "%s: byte %zu of %zu is 0x%02x, not 0x%02x", name, i,
			       size, world->actual[i], world->expected[i]);
		return -1;
	}
	return 0;
}

int publication_verify(struct publication_world *world, const char *name)
{
	for (uint32_t i = 0; i < world->layout.members; i++)
		memcpy(world->expected + (world->destination[i] - world->memory), world->source[i],
		       world->size[i]);
	return publication_compare(world, world->memory, world->device_size, name);
}
