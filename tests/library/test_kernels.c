/* SPDX-License-Identifier: MIT */
/* The scatter and pull kernels against a model in C: every byte of and around every destination. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "hsa/device.h"
#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"

/* Bytes between destinations, which must keep their values. */
#define GUARD 48

struct member {
	size_t bytes;
	size_t destination; /* offset in the device memory */
	size_t source;	    /* offset in the pinned memory */
	bool packed;	    /* scatter: the payload lies in the arena, at a random gap */
	int64_t offset;
};

/* One dispatch's worth of members with the memory on both sides and what it must become. */
struct world {
	uint32_t members;
	struct member *member;
	size_t host_size;
	size_t device_size;
	uint8_t *host;	   /* pinned sources */
	uint8_t *device;   /* destinations */
	uint8_t *expected; /* the model of device */
	uint8_t *arena;	   /* pinned; read by the kernel where it lies */
	size_t arena_size;
	uint64_t chunks;
	uint64_t random;
};

static h2d_kernel_t kernel(const char *name)
{
	h2d_kernel_t found;

	check_success(h2d_device_get_kernel(fixture_device, name, &found));
	return found;
}

/* Lays out members of these sizes at random or, from 0 to 255, the given alignments. */
static struct world make_world(uint64_t random, const size_t sizes[], uint32_t members,
			       int alignments)
{
	struct world world = {.members = members, .random = random};

	world.member = calloc(members + 1, sizeof(*world.member));
	world.host_size = GUARD;
	world.device_size = GUARD;
	world.arena_size = 16 * (size_t)members;
	for (uint32_t i = 0; i < members; i++) {
		struct member *member = &world.member[i];
		uint64_t bits = fixture_random(&world.random);
		size_t to = alignments >= 0 ? (size_t)alignments % 16 : bits % 16;
		size_t from = alignments >= 0 ? (size_t)alignments / 16 % 16 : bits / 16 % 16;

		member->bytes = sizes[i];
		member->destination = ((world.device_size + 15) & ~(size_t)15) + to;
		member->source = ((world.host_size + 15) & ~(size_t)15) + from;
		member->packed = (bits >> 20) % 4 != 0;
		world.device_size = member->destination + member->bytes + GUARD;
		world.host_size = member->source + member->bytes + GUARD;
		world.chunks += h2d_chunk_count(member->bytes);
		if (member->packed) {
			member->offset = (int64_t)world.arena_size + (int64_t)((bits >> 30) % 16);
			world.arena_size = (size_t)member->offset + member->bytes;
		} else {
			member->offset = -1 - (int64_t)((bits >> 30) % 3);
		}
	}
	check_success(
	    h2d_device_allocate_host(fixture_device, world.host_size, (void **)&world.host));
	check_success(
	    h2d_device_allocate_host(fixture_device, world.arena_size + 16, (void **)&world.arena));
	check_success(
	    h2d_device_allocate(fixture_device, world.device_size, (void **)&world.device));
	world.expected = malloc(world.device_size);
	fixture_random_bytes(&world.random, world.expected, world.device_size);
	check_success(h2d_device_write(fixture_device, world.device, world.expected,
				       world.device_size, H2D_DEFAULT_TIMEOUT_NS));
	fixture_random_bytes(&world.random, world.host, world.host_size);
	fixture_random_bytes(&world.random, world.arena, world.arena_size);
	return world;
}

static void free_world(struct world *world)
{
	check_success(h2d_device_free(fixture_device, world->host));
	check_success(h2d_device_free(fixture_device, world->arena));
	check_success(h2d_device_free(fixture_device, world->device));
	free(world->expected);
	free(world->member);
}

/* Dispatches some workgroups more than the members have chunks: they have nothing to do. */
static void run(const char *name, const struct world *world, const void *arguments)
{
	const h2d_kernel_t found = kernel(name);
	h2d_packet_t packet;

	h2d_packet_dispatch(
	    &packet, &found, (uint32_t)world->chunks + 1 + (uint32_t)(world->random % 3),
	    H2D_CHUNK_WORKGROUP_SIZE, arguments, H2D_FENCE_SYSTEM, H2D_FENCE_SYSTEM);
	check_success(h2d_stream_submit(fixture_stream, &packet, 1));
	check_success(h2d_stream_synchronize(fixture_stream));
}

static void check_world(const char *what, const struct world *world)
{
	uint8_t *actual = malloc(world->device_size);

	check_success(h2d_device_read(fixture_device, actual, world->device, world->device_size,
				      H2D_DEFAULT_TIMEOUT_NS));
	fixture_check_bytes(what, actual, world->expected, world->device_size);
	free(actual);
}

static void pull(struct world *world)
{
	struct h2d_pull_arguments *arguments;

	check_success(h2d_device_allocate_kernel_arguments(
	    fixture_device, sizeof(*arguments) + world->members * sizeof(arguments->member[0]),
	    (void **)&arguments));
	arguments->members = world->members;
	for (uint32_t i = 0; i < world->members; i++) {
		const struct member *member = &world->member[i];
		arguments->member[i] = (struct h2d_pull_member){
		    .source = (uintptr_t)world->host + member->source,
		    .destination = (uintptr_t)world->device + member->destination,
		    .bytes = member->bytes,
		};
		memcpy(world->expected + member->destination, world->host + member->source,
		       member->bytes);
	}
	run("h2d_pull", world, arguments);
	check_world("pull", world);
	check_success(h2d_device_free(fixture_device, arguments));
}

static void scatter(struct world *world)
{
	struct h2d_scatter_header *header = (struct h2d_scatter_header *)world->arena;
	struct h2d_scatter_member *table;
	struct h2d_scatter_arguments *arguments;

	check_success(h2d_device_allocate_host(
	    fixture_device, (world->members + 1) * sizeof(*table), (void **)&table));
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	arguments->arena = (uintptr_t)world->arena;
	arguments->table = (uintptr_t)table;
	arguments->members = world->members;
	for (uint32_t i = 0; i < world->members; i++) {
		const struct member *member = &world->member[i];
		header[i].offset = member->offset;
		header[i].count = (int64_t)member->bytes;
		table[i].destination = (uintptr_t)world->device + member->destination;
		table[i].source = (uintptr_t)world->host + member->source;
		memcpy(world->expected + member->destination,
		       member->packed ? world->arena + member->offset
				      : world->host + member->source,
		       member->bytes);
	}
	run("h2d_scatter", world, arguments);
	check_world("scatter", world);
	check_success(h2d_device_free(fixture_device, table));
	check_success(h2d_device_free(fixture_device, arguments));
}

static void check_both(uint64_t random, const size_t sizes[], uint32_t members, int alignments)
{
	struct world world = make_world(random, sizes, members, alignments);

	scatter(&world);
	fixture_random_bytes(&world.random, world.host, world.host_size);
	pull(&world);
	free_world(&world);
}

START_TEST(every_pair_of_alignments_at_the_sizes_where_paths_change)
{
	static const size_t sizes[] = {1,  2,  7,  8,	 15,   16,   17,   31,	 32,
				       33, 47, 48, 4080, 4095, 4096, 4097, 4111, 8193};
	uint64_t random = fixture_seed();

	for (int alignments = _i * 16; alignments < _i * 16 + 16; alignments++)
		check_both(random + (uint64_t)alignments, sizes, sizeof(sizes) / sizeof(sizes[0]),
			   alignments);
}
END_TEST

/* Around the waves' sizes, where a workgroup's search goes on with the next members. */
START_TEST(any_number_of_members)
{
	static const uint32_t counts[] = {0,  1,  2,  15, 16,  17,  31,	 32,  33,  47,	48,
					  49, 63, 64, 65, 127, 128, 129, 200, 256, 300, 1000};
	static size_t sizes[1000];
	uint64_t random = fixture_seed();

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (uint32_t j = 0; j < counts[i]; j++)
			sizes[j] = fixture_random_between(&random, 0, 99);
		check_both(random, sizes, counts[i], -1);
	}
}
END_TEST

START_TEST(members_without_bytes_between_others)
{
	static size_t sizes[130];
	uint64_t random = fixture_seed();

	/* All empty, then one of them not, wherever it is. */
	check_both(random, sizes, 130, -1);
	for (uint32_t i = 0; i < 130; i += 7) {
		sizes[i] = 5000;
		check_both(random + i, sizes, 130, -1);
		sizes[i] = 0;
	}
}
END_TEST

START_TEST(members_of_up_to_several_megabytes)
{
	static const size_t sizes[] = {1, (3 << 20) + 5, 0, 17, 1 << 20, 4096, 65536 + 1, 3};
	uint64_t random = fixture_seed();

	check_both(random, sizes, sizeof(sizes) / sizeof(sizes[0]), -1);
}
END_TEST

START_TEST(random_members)
{
	static size_t sizes[150];
	uint64_t random = fixture_seed() + (uint64_t)_i;
	uint32_t members = (uint32_t)fixture_random_between(&random, 1, 150);

	for (uint32_t i = 0; i < members; i++) {
		/* Sizes of all magnitudes up to 64 KiB. */
		uint64_t bits = fixture_random_between(&random, 0, 16);
		sizes[i] = fixture_random(&random) & ((1u << bits) - 1);
	}
	check_both(random, sizes, members, -1);
}
END_TEST

/* A negative count is taken for none, as is one beside a used one. */
START_TEST(negative_counts_write_nothing)
{
	static const size_t sizes[] = {100, 5000, 200};
	struct world world = make_world(fixture_seed(), sizes, 3, -1);
	struct h2d_scatter_header *header = (struct h2d_scatter_header *)world.arena;
	struct h2d_scatter_member *table;
	struct h2d_scatter_arguments *arguments;

	check_success(
	    h2d_device_allocate_host(fixture_device, 3 * sizeof(*table), (void **)&table));
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, sizeof(*arguments),
							   (void **)&arguments));
	arguments->arena = (uintptr_t)world.arena;
	arguments->table = (uintptr_t)table;
	arguments->members = 3;
	for (uint32_t i = 0; i < 3; i++) {
		header[i].offset = -1;
		header[i].count = i == 1 ? INT64_MIN : 0;
		table[i].destination = (uintptr_t)world.device + world.member[i].destination;
		table[i].source = (uintptr_t)world.host + world.member[i].source;
	}
	header[2].count = 200;
	memcpy(world.expected + world.member[2].destination, world.host + world.member[2].source,
	       200);
	run("h2d_scatter", &world, arguments);
	check_world("scatter", &world);
	check_success(h2d_device_free(fixture_device, table));
	check_success(h2d_device_free(fixture_device, arguments));
	free_world(&world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels");
	TCase *cases = tcase_create("kernels");

	tcase_set_timeout(cases, 120);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_add_loop_test(cases, every_pair_of_alignments_at_the_sizes_where_paths_change, 0, 16);
	tcase_add_test(cases, any_number_of_members);
	tcase_add_test(cases, members_without_bytes_between_others);
	tcase_add_test(cases, members_of_up_to_several_megabytes);
	tcase_add_loop_test(cases, random_members, 0, 8);
	tcase_add_test(cases, negative_counts_write_nothing);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
