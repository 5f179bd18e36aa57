/* SPDX-License-Identifier: MIT */
/*
 * The pull transport: one dispatch whose kernel arguments describe the members and which reads the
 * pinned sources itself.
 *
 * Addresses never change, so the descriptors are written once and a publication only sets their
 * byte counts, 0 for members that take no part. The kernel reads them until it ends: the group's
 * in-flight rule protects them. A single active member has a descriptor of its own, which is as
 * free as its source is.
 */
#include <stdlib.h>

#include "error.h"
#include "hsa/kernel_arguments.h"
#include "publish/transport.h"

enum { PULL_PACKET, PULL_FENCE_PACKET, PULL_PACKETS };

/* Kernel arguments of different dispatches do not share a cache line. */
#define ARGUMENTS_ALIGNMENT 64

struct h2d_pull {
	h2d_device_t *device;
	void *memory; /* kernel arguments: the group's, then each member's */
	struct h2d_pull_arguments *arguments; /* all members */
	uint8_t *single;                      /* member i alone, at i * single_size */
	size_t single_size;
	uint32_t packet_count;
	h2d_packet_t packets[PULL_PACKETS];
};

static size_t arguments_size(uint32_t members)
{
	size_t size = sizeof(struct h2d_pull_arguments) + members * sizeof(struct h2d_pull_member);

	return (size + ARGUMENTS_ALIGNMENT - 1) / ARGUMENTS_ALIGNMENT * ARGUMENTS_ALIGNMENT;
}

static struct h2d_pull_arguments *single_arguments(const h2d_pull_t *pull, uint32_t member)
{
	return (struct h2d_pull_arguments *)(pull->single + member * pull->single_size);
}

static void describe(const h2d_group_t *group, uint32_t member, struct h2d_pull_member *descriptor)
{
	descriptor->source = (uint64_t)(uintptr_t)group->source[member];
	descriptor->destination = (uint64_t)(uintptr_t)group->destination[member];
	descriptor->bytes = 0;
}

h2d_status_t h2d_pull_create(h2d_group_t *group)
{
	h2d_owner_t *owner = group->owner;
	h2d_pull_t *pull = calloc(1, sizeof(*pull));
	h2d_kernel_t kernel;
	h2d_status_t status;
	uint32_t i;

	if (!pull)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for group '%s'", group->name);
	pull->device = owner->device;
	pull->single_size = arguments_size(1);
	status = h2d_device_get_kernel(owner->device, "h2d_pull", &kernel);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate_kernel_arguments(
			owner->device,
			arguments_size(group->size) + group->size * pull->single_size,
			&pull->memory);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_pull_destroy(pull);
		return status;
	}
	pull->arguments = pull->memory;
	pull->single = (uint8_t *)pull->memory + arguments_size(group->size);
	pull->arguments->members = group->size;
	for (i = 0; i < group->size; i++) {
		single_arguments(pull, i)->members = 1;
		describe(group, i, &single_arguments(pull, i)->member[0]);
		describe(group, i, &pull->arguments->member[i]);
	}
	h2d_packet_dispatch(&pull->packets[PULL_PACKET], &kernel, 1, H2D_CHUNK_WORKGROUP_SIZE,
			    pull->arguments, H2D_FENCE_SYSTEM, H2D_FENCE_AGENT);
	h2d_packet_barrier(&pull->packets[PULL_FENCE_PACKET], true, H2D_FENCE_AGENT,
			   H2D_FENCE_AGENT, (hsa_signal_t){0}, (hsa_signal_t){0});
	pull->packet_count = owner->omit_end_fence ? PULL_FENCE_PACKET : PULL_PACKETS;
	group->pull = pull;
	return H2D_STATUS_SUCCESS;
}

void h2d_pull_destroy(h2d_pull_t *pull)
{
	if (!pull)
		return;
	h2d_device_free(pull->device, pull->memory);
	free(pull);
}

static struct h2d_pull_arguments *describe_group(h2d_group_t *group)
{
	struct h2d_pull_arguments *arguments = group->pull->arguments;
	uint32_t i;

	if (!group->described)
		for (i = 0; i < group->size; i++)
			arguments->member[i].bytes = group->bytes[i];
	group->described = true;
	return arguments;
}

static struct h2d_pull_arguments *describe_single(const h2d_group_t *group)
{
	struct h2d_pull_arguments *arguments;
	uint32_t i;

	for (i = 0; group->bytes[i] == 0; i++)
		;
	arguments = single_arguments(group->pull, i);
	arguments->member[0].bytes = group->bytes[i];
	return arguments;
}

h2d_status_t h2d_pull_submit(h2d_group_t *group, h2d_stream_t *stream)
{
	h2d_publication_totals_t *totals = &group->owner->totals;
	h2d_pull_t *pull = group->pull;
	h2d_status_t status;

	pull->packets[PULL_PACKET].dispatch.kernarg_address =
		group->active > 1 ? describe_group(group) : describe_single(group);
	pull->packets[PULL_PACKET].dispatch.grid_size_x =
		(uint32_t)group->chunks * H2D_CHUNK_WORKGROUP_SIZE;
	status = h2d_stream_submit(stream, pull->packets, pull->packet_count);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	totals->dispatches++;
	totals->barrier_packets += pull->packet_count - 1;
	return H2D_STATUS_SUCCESS;
}
