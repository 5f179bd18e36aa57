/* SPDX-License-Identifier: MIT */
/* Whether every way of h2dpub-bench kernels lands all its bytes and no others. */
#include "config.h"

#include "bench_kernels.h"

#include <stdlib.h>
#include <string.h>

/* As in publication_poison(). */
static int poison(struct kernels_world *world)
{
	struct publication_world *group = &world->publication;

	if (publication_poison(group) < 0)
		return -1;
	/* It has left as many bytes of the pattern in expected. */
	if (h2d_device_write(group->device, world->plain, group->expected, world->plain_size,
			     H2D_DEFAULT_TIMEOUT_NS) != H2D_STATUS_SUCCESS)
		return publication_failed(group, "cannot overwrite the plain copy");
	return 0;
}

int kernels_verify(struct kernels_world *world, const struct kernels_way *way, uint32_t round)
{
	struct publication_world *group = &world->publication;

	publication_fill(group, round);
	if (poison(world) < 0 || (way->from_device && kernels_upload(world) < 0) ||
	    way->submit(world) < 0 || kernels_consume(world) < 0)
		return -1;
	if (way->lands == LANDS_AT_DESTINATIONS)
		return publication_verify(group, way->name);
	if (way->lands == LANDS_NOWHERE)
		return publication_compare(group, group->memory, group->device_size, way->name);
	memcpy(group->expected, way->from_device ? world->arena : group->host, group->layout.bytes);
	return publication_compare(group, world->plain, world->plain_size, way->name);
}

static int check_group(struct kernels_world *world)
{
	for (uint32_t i = 0; i < 2 * KERNELS_WAYS; i++) {
		if (kernels_verify(world, &kernels_ways[i % KERNELS_WAYS], i) < 0)
			return -1;
	}
	return 0;
}

/* Sizes around those where the kernels' paths change, and any others. */
static void choose_sizes(uint64_t sizes[], uint32_t members, unsigned short seed[3])
{
	static const uint64_t edges[] = {1,  2,	 15, 16,   17,	 31,   32,   33,    63,	   64,
					 65, 80, 95, 4080, 4095, 4096, 4097, 12288, 65536, 65537};
	const uint64_t count = sizeof(edges) / sizeof(edges[0]);

	for (uint32_t i = 0; i < members; i++) {
		bool edge = nrand48(seed) % 4 != 0;
		uint64_t bits = (uint64_t)nrand48(seed);

		sizes[i] = edge ? edges[bits % count] : bits % 20000 + 1;
	}
}

int kernels_check(struct kernels_world *world, uint32_t *groups)
{
	unsigned short seed[3] = {2026, 11, 30};
	uint64_t sizes[BENCH_MAX_MEMBERS];
	int result = 0;

	*groups = 0;
	for (uint32_t members = 1; members <= BENCH_MAX_MEMBERS && result == 0;
	     members += members < 70 ? 3 : 29) {
		choose_sizes(sizes, members, seed);
		if (kernels_lay_out_misaligned(world, sizes, members, seed) < 0)
			return -1;
		result = check_group(world);
		kernels_clear(world);
		++*groups;
	}
	for (size_t i = 0; i < bench_layout_count && result == 0; i++) {
		if (kernels_lay_out(world, &bench_layouts[i]) < 0)
			return -1;
		result = check_group(world);
		kernels_clear(world);
		++*groups;
	}
	return result;
}
