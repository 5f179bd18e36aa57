/* SPDX-License-Identifier: MIT */
/* Memory, contents and check of a group that is published in several ways. */
#include "config.h"

#include "bench_publication.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static size_t next_place(size_t end)
{
	return (end + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
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

int publication_lay_out(struct publication_world *world, const struct bench_layout *layout)
{
	size_t offset = 0, place[BENCH_MAX_MEMBERS];
	uint64_t bits = 1;

	world->layout = *layout;
	bench_layout_sizes(layout, world->size);
	for (uint32_t i = 0; i < layout->members; i++) {
		place[i] = next_place(offset);
		offset = place[i] + world->size[i];
	}
	world->host_size = world->device_size = next_place(offset);
	if (allocate(world) < 0) {
		publication_clear(world);
		return -1;
	}
	for (uint32_t i = 0; i < layout->members; i++) {
		world->source[i] = world->host + place[i];
		world->destination[i] = world->memory + place[i];
	}
	for (size_t i = 0; i < world->host_size + PAGE; i++) {
		bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
		world->contents[i] = (uint8_t)(bits >> 56);
	}
	return 0;
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

int publication_poison(struct publication_world *world)
{
	memset(world->expected, POISON, world->device_size);
	if (h2d_device_write(world->device, world->memory, world->expected, world->device_size,
			     H2D_DEFAULT_TIMEOUT_NS) != H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot overwrite the destinations");
	return 0;
}

int publication_verify(struct publication_world *world, const char *name)
{
	for (uint32_t i = 0; i < world->layout.members; i++)
		memcpy(world->expected + (world->destination[i] - world->memory), world->source[i],
		       world->size[i]);
	if (h2d_device_read(world->device, world->actual, world->memory, world->device_size,
			    H2D_DEFAULT_TIMEOUT_NS) != H2D_STATUS_SUCCESS)
		return publication_failed(world, "cannot read the destinations");
	for (size_t i = 0; i < world->device_size; i++) {
		if (world->actual[i] == world->expected[i])
			continue;
		tool_error_set(world->error, "%s: byte %zu of %zu is 0x%02x, not 0x%02x", name, i,
			       world->device_size, world->actual[i], world->expected[i]);
		return -1;
	}
	return 0;
}
