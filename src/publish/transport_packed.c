/* SPDX-License-Identifier: MIT */
/*
 * The packed transport: the CPU packs the members behind a header in a pinned arena, one DMA copy
 * moves the used part to the device's arena, and one scatter dispatch writes the destinations.
 *
 * The copy touches nothing but the device's arena, which earlier packets of the queue do not read
 * (the group's in-flight rule), so it starts at once. The scatter waits for it by a barrier-AND,
 * and for earlier consumers of the destinations by its barrier bit.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/kernel_arguments.h"
#include "publish/pack.h"
#include "publish/transport.h"

enum { WAIT_PACKET, SCATTER_PACKET, FENCE_PACKET, PACKED_PACKETS };

struct h2d_packed {
	h2d_device_t *device;
	uint8_t *arena;	     /* pinned: headers, then payload */
	void *device_memory; /* the table of members, then: */
	uint8_t *device_arena;
	struct h2d_scatter_arguments *arguments;
	hsa_signal_t copied;
	uint64_t limit; /* members of more bytes stay in their pinned source */
	/* Of the members that have bytes to pack, as the headers describe them. */
	struct h2d_pack_copy *copies;
	uint32_t copy_count;
	h2d_pack_function_t *pack;
	uint32_t packet_count;
	h2d_packet_t packets[PACKED_PACKETS];
};

static h2d_status_t write_table(const h2d_group_t *group, const h2d_packed_t *packed)
{
	struct h2d_scatter_member *table = calloc(group->size, sizeof(*table));
	h2d_status_t status;
	uint32_t i;

	if (!table)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for the table of group '%s'",
				 group->name);
	for (i = 0; i < group->size; i++) {
		table[i].destination = (uint64_t)(uintptr_t)group->destination[i];
		table[i].source = (uint64_t)(uintptr_t)group->source[i];
	}
	status = h2d_device_write(packed->device, packed->device_memory, table,
				  group->size * sizeof(*table), group->owner->timeout_ns);
	free(table);
	return status;
}

static void prepare_packets(h2d_packed_t *packed, const h2d_kernel_t *kernel, bool omit_end_fence)
{
	const hsa_signal_t none = {0};

	/* The scatter's own acquire, after this wait, makes the arena visible: no fence here. */
	h2d_packet_barrier(&packed->packets[WAIT_PACKET], false, H2D_FENCE_NONE, H2D_FENCE_NONE,
			   packed->copied, none);
	h2d_packet_dispatch(&packed->packets[SCATTER_PACKET], kernel, 1, H2D_CHUNK_WORKGROUP_SIZE,
			    packed->arguments, H2D_FENCE_SYSTEM, H2D_FENCE_AGENT);
	h2d_packet_barrier(&packed->packets[FENCE_PACKET], true, H2D_FENCE_AGENT, H2D_FENCE_AGENT,
			   none, none);
	packed->packet_count = omit_end_fence ? FENCE_PACKET : PACKED_PACKETS;
}

h2d_status_t h2d_packed_create(h2d_group_t *group)
{
	h2d_owner_t *owner = group->owner;
	size_t header_size = group->size * sizeof(struct h2d_scatter_header);
	size_t table_size = group->size * sizeof(struct h2d_scatter_member);
	size_t arena_size = header_size;
	h2d_packed_t *packed = calloc(1, sizeof(*packed));
	void *arena = NULL, *arguments = NULL;
	h2d_kernel_t kernel;
	h2d_status_t status;
	uint32_t i;

	if (packed)
		packed->copies = calloc(group->size, sizeof(*packed->copies));
	if (!packed || !packed->copies) {
		free(packed);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for group '%s'", group->name);
	}
	packed->device = owner->device;
	packed->limit = owner->pack_limit_bytes;
	packed->pack = h2d_pack_with(H2D_PACK_LARGEST_VECTOR);
	for (i = 0; i < group->size; i++) {
		uint64_t bytes = group->capacity[i] * group->bytes_per_count[i];

		arena_size += bytes < packed->limit ? bytes : packed->limit;
	}
	status = h2d_device_get_kernel(owner->device, "h2d_scatter", &kernel);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate_host(owner->device, arena_size, &arena);
	packed->arena = arena;
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate(owner->device, table_size + arena_size,
					     &packed->device_memory);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate_kernel_arguments(
			owner->device, sizeof(*packed->arguments), &arguments);
	packed->arguments = arguments;
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_create_signal(owner->device, 0, &packed->copied);
	if (status == H2D_STATUS_SUCCESS)
		status = write_table(group, packed);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_packed_destroy(packed);
		return status;
	}
	packed->device_arena = (uint8_t *)packed->device_memory + table_size;
	packed->arguments->arena = (uint64_t)(uintptr_t)packed->device_arena;
	packed->arguments->table = (uint64_t)(uintptr_t)packed->device_memory;
	packed->arguments->members = group->size;
	prepare_packets(packed, &kernel, owner->omit_end_fence);
	group->packed = packed;
	return H2D_STATUS_SUCCESS;
}

void h2d_packed_destroy(h2d_packed_t *packed)
{
	if (!packed)
		return;
	h2d_device_destroy_signal(packed->copied);
	h2d_device_free(packed->device, packed->arguments);
	h2d_device_free(packed->device, packed->device_memory);
	h2d_device_free(packed->device, packed->arena);
	free(packed->copies);
	free(packed);
}

hsa_signal_t h2d_packed_copied(const h2d_packed_t *packed)
{
	return packed->copied;
}

/* Headers and copies depend on the counts alone, and often are those of the last publication. */
static void describe(h2d_group_t *group)
{
	h2d_packed_t *packed = group->packed;
	struct h2d_scatter_header *header = (void *)packed->arena;
	size_t cursor = group->size * sizeof(*header);
	uint32_t copies = 0, i;

	for (i = 0; i < group->size; i++) {
		uint64_t bytes = group->bytes[i];

		header[i].count = (int64_t)bytes;
		header[i].offset = bytes <= packed->limit ? (int64_t)cursor : -1;
		if (bytes == 0 || bytes > packed->limit)
			continue;
		packed->copies[copies++] = (struct h2d_pack_copy){group->source[i], bytes};
		cursor += bytes;
	}
	packed->copy_count = copies;
	group->described = true;
}

/* Packs headers and payload; returns the bytes used of the arena. */
static size_t pack(h2d_group_t *group)
{
	const h2d_packed_t *packed = group->packed;
	uint8_t *payload = packed->arena + group->size * sizeof(struct h2d_scatter_header);

	if (!group->described)
		describe(group);
	return (size_t)(packed->pack(payload, packed->copies, packed->copy_count) - packed->arena);
}

h2d_status_t h2d_packed_submit(h2d_group_t *group, h2d_stream_t *stream)
{
	h2d_publication_totals_t *totals = &group->owner->totals;
	h2d_packed_t *packed = group->packed;
	h2d_status_t status;
	size_t used;

	status = h2d_stream_wait_for_space(stream, packed->packet_count);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	used = pack(group);
	h2d_device_store_signal(packed->copied, 1);
	status = h2d_device_copy_async(packed->device, packed->device_arena, packed->arena, used,
				       (hsa_signal_t){0}, packed->copied);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_device_store_signal(packed->copied, 0);
		return status;
	}
	totals->dma_copies++;
	totals->packed_bytes += used - group->size * sizeof(struct h2d_scatter_header);
	packed->packets[SCATTER_PACKET].dispatch.grid_size_x =
		(uint32_t)group->chunks * H2D_CHUNK_WORKGROUP_SIZE;
	status = h2d_stream_submit(stream, packed->packets, packed->packet_count);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	totals->dispatches++;
	totals->barrier_packets += packed->packet_count - 1;
	return H2D_STATUS_SUCCESS;
}
