/* SPDX-License-Identifier: MIT */
/* Memory, contents and check of one group of members. */
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa/kernel_arguments.h"

/* Bytes between members that nothing may touch. */
#define GUARD	  48
#define ALIGNMENT 256
#define PAGE	  4096
#define POISON	  0xa5

void check_cuda(CUresult result, const char *call)
{
	const char *name = "unknown error";

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &name);
	fprintf(stderr, "%s: %s\n", call, name);
	exit(3);
}

uint64_t group_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t next_place(size_t end, bool misaligned, uint64_t *seed)
{
	size_t place = (end + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	return misaligned ? place + group_random(seed) % 16 : place;
}

static void lay_out(struct group *group, const uint64_t sizes[], bool misaligned, uint64_t *seed)
{
	for (uint32_t i = 0; i < group->members; i++) {
		group->size[i] = sizes[i];
		group->source_offset[i] = next_place(group->host_size, misaligned, seed);
		group->destination_offset[i] = next_place(group->device_size, misaligned, seed);
		group->host_size = group->source_offset[i] + sizes[i];
		group->device_size = group->destination_offset[i] + sizes[i];
		group->bytes += sizes[i];
		group->chunks += h2d_chunk_count(sizes[i]);
	}
	group->host_size += GUARD;
	group->device_size += GUARD;
	group->arena_size = group->members * sizeof(struct h2d_scatter_header) + group->bytes + 16;
}

static void allocate(struct group *group)
{
	group->pull_arguments_size = sizeof(struct h2d_pull_arguments) +
				     GROUP_MAX_MEMBERS * sizeof(struct h2d_pull_member);
	group->expected = malloc(group->device_size);
	group->actual = malloc(group->device_size);
	group->random = malloc(group->host_size + PAGE);
	group->pull_arguments = calloc(1, group->pull_arguments_size);
	if (!group->expected || !group->actual || !group->random || !group->pull_arguments) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
	CHECK_CUDA(cuMemHostAlloc((void **)&group->host, group->host_size, 0));
	CHECK_CUDA(cuMemHostAlloc((void **)&group->arena, group->arena_size, 0));
	CHECK_CUDA(cuMemAlloc(&group->device, group->device_size));
	CHECK_CUDA(cuMemAlloc(&group->plain, group->bytes));
	CHECK_CUDA(cuMemAlloc(&group->device_arena, group->arena_size));
	CHECK_CUDA(cuMemAlloc(&group->full_arena, group->arena_size));
	CHECK_CUDA(cuMemAlloc(&group->table,
			      group->members * sizeof(struct h2d_scatter_member) + 16));
}

static void describe(struct group *group)
{
	struct h2d_scatter_member table[GROUP_MAX_MEMBERS] = {{0}};

	group->pull_arguments->members = group->members;
	for (uint32_t i = 0; i < group->members; i++) {
		group->sources[i] = (CUdeviceptr)(uintptr_t)(group->host + group->source_offset[i]);
		group->destinations[i] = group->device + group->destination_offset[i];
		group->sizes[i] = group->size[i];
		table[i] = (struct h2d_scatter_member){group->destinations[i], group->sources[i]};
		group->pull_arguments->member[i] = (struct h2d_pull_member){
			group->sources[i], group->destinations[i], group->size[i]};
	}
	CHECK_CUDA(cuMemcpyHtoD(group->table, table, group->members * sizeof(table[0])));
}

struct group *group_create(const uint64_t sizes[], uint32_t members, bool misaligned,
			   uint64_t *seed)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
	group->members = members;
	lay_out(group, sizes, misaligned, seed);
	allocate(group);
	describe(group);
	for (size_t i = 0; i + 8 <= group->host_size + PAGE; i += 8) {
		uint64_t bits = group_random(seed);

		memcpy(group->random + i, &bits, 8);
	}
	group_poison(group);
	return group;
}

void group_destroy(struct group *group)
{
	CHECK_CUDA(cuMemFreeHost(group->host));
	CHECK_CUDA(cuMemFreeHost(group->arena));
	CHECK_CUDA(cuMemFree(group->device));
	CHECK_CUDA(cuMemFree(group->plain));
	CHECK_CUDA(cuMemFree(group->device_arena));
	CHECK_CUDA(cuMemFree(group->full_arena));
	CHECK_CUDA(cuMemFree(group->table));
	free(group->expected);
	free(group->actual);
	free(group->random);
	free(group->pull_arguments);
	free(group);
}

void group_fill(struct group *group, uint32_t round)
{
	memcpy(group->host, group->random + round * 8 % PAGE, group->host_size);
}

void group_poison(struct group *group)
{
	memset(group->expected, POISON, group->device_size);
	CHECK_CUDA(cuMemsetD8(group->device, POISON, group->device_size));
	CHECK_CUDA(cuCtxSynchronize());
}

size_t group_verify(struct group *group, const char *what)
{
	size_t wrong = 0;

	for (uint32_t i = 0; i < group->members; i++)
		memcpy(group->expected + group->destination_offset[i],
		       group->host + group->source_offset[i], group->size[i]);
	CHECK_CUDA(cuMemcpyDtoH(group->actual, group->device, group->device_size));
	for (size_t i = 0; i < group->device_size; i++) {
		if (group->actual[i] == group->expected[i])
			continue;
		if (wrong++ == 0)
			fprintf(stderr, "%s: byte %zu of %zu is 0x%02x, not 0x%02x\n", what, i,
				group->device_size, group->actual[i], group->expected[i]);
	}
	return wrong;
}

size_t group_pack(struct group *group, uint64_t limit)
{
	struct h2d_scatter_header *header = (struct h2d_scatter_header *)group->arena;
	size_t end = group->members * sizeof(*header);

	for (uint32_t i = 0; i < group->members; i++) {
		bool packed = group->size[i] <= limit;

		header[i].offset = packed ? (int64_t)end : -1;
		header[i].count = (int64_t)group->size[i];
		if (!packed)
			continue;
		memcpy(group->arena + end, group->host + group->source_offset[i], group->size[i]);
		end += group->size[i];
	}
	return end;
}

void group_upload(struct group *group)
{
	CHECK_CUDA(cuMemcpyHtoD(group->full_arena, group->arena, group_pack(group, UINT64_MAX)));
}
