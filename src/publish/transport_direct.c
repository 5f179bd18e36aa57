/* SPDX-License-Identifier: MIT */
/*
 * The direct transport: one DMA copy for each active member, one for each run of a strided one.
 *
 * DMA engines know nothing of the queue. So the copies wait for a gate that a barrier packet opens
 * once everything enqueued before has ended: earlier consumers may still be reading the
 * destinations. The gate releases at system scope: a destination that a kernel has written lies in
 * a write-back cache, and would overwrite what the DMA engine writes to memory when it leaves the
 * cache later. And the queue waits for the copies, by a barrier-AND on their common signal.
 */
#include "publish/transport.h"

/*
 * The packets of a publication whose first active member this is.
 *
 * The closing fence is not folded into the barrier-AND: a packet may acquire before it waits for
 * its dependency, and would then acquire nothing of what the copies write. It acquires at system
 * scope, since DMA engines may be outside the caches that an agent acquire invalidates; a consumer
 * that acquires at agent scope only could not do without it, so omit_end_fence does not apply.
 */
void h2d_direct_prepare(h2d_buffer_t *buffer)
{
	const hsa_signal_t none = {0};

	h2d_packet_barrier(&buffer->direct_packets[0], true, H2D_FENCE_NONE, H2D_FENCE_SYSTEM, none,
			   buffer->gate);
	h2d_packet_barrier(&buffer->direct_packets[1], true, H2D_FENCE_SYSTEM, H2D_FENCE_NONE,
			   buffer->copied, none);
	h2d_packet_barrier(&buffer->direct_packets[2], true, H2D_FENCE_SYSTEM, H2D_FENCE_AGENT,
			   none, none);
}

/* Copies rows of a strided buffer run by run; *left counts the copies that remain to be issued. */
static h2d_status_t copy_runs(const h2d_buffer_t *buffer, uint64_t rows, const h2d_buffer_t *first,
			      uint64_t *left)
{
	const h2d_runs_t *runs = &buffer->runs;
	h2d_status_t status;
	uint64_t row, run;

	for (row = 0; row < rows; row++) {
		const uint8_t *source = buffer->source + (ptrdiff_t)row * runs->source_pitch;
		uint8_t *destination =
			buffer->destination + (ptrdiff_t)row * runs->destination_pitch;

		for (run = 0; run < runs->count; run++) {
			status = h2d_device_copy_async(buffer->owner->device,
						       destination + runs->destination_offset[run],
						       source + runs->source_offset[run],
						       runs->bytes, first->gate, first->copied);
			if (status != H2D_STATUS_SUCCESS)
				return status;
			--*left;
		}
	}
	return H2D_STATUS_SUCCESS;
}

static uint64_t row_count(const h2d_group_t *group, uint32_t member)
{
	return group->bytes[member] / group->bytes_per_count[member];
}

/* Issues the copies of all members; *left counts the copies that remain to be issued. */
static h2d_status_t copy_members(h2d_group_t *group, const h2d_buffer_t *first, uint64_t *left)
{
	h2d_device_t *device = group->owner->device;
	h2d_status_t status = H2D_STATUS_SUCCESS;
	uint32_t i;

	for (i = 0; i < group->size && status == H2D_STATUS_SUCCESS; i++) {
		if (group->bytes[i] == 0)
			continue;
		if (group->buffers[i]->strided) {
			status = copy_runs(group->buffers[i], row_count(group, i), first, left);
			continue;
		}
		status = h2d_device_copy_async(device, group->destination[i], group->source[i],
					       group->bytes[i], first->gate, first->copied);
		if (status == H2D_STATUS_SUCCESS)
			--*left;
	}
	return status;
}

h2d_status_t h2d_direct_submit(h2d_group_t *group, h2d_stream_t *stream)
{
	h2d_publication_totals_t *totals = &group->owner->totals;
	const h2d_buffer_t *first = NULL;
	uint64_t copies = 0, left;
	h2d_status_t status;
	uint32_t i;

	for (i = 0; i < group->size; i++) {
		const h2d_buffer_t *buffer = group->buffers[i];

		if (group->bytes[i] == 0)
			continue;
		if (!first)
			first = buffer;
		copies += buffer->strided ? buffer->runs.count * row_count(group, i) : 1;
	}
	/*
	 * The packets go first: if the queue is full, nothing at all is enqueued. The copies find
	 * the gate closed or open, both are right.
	 */
	h2d_device_store_signal(first->gate, 1);
	h2d_device_store_signal(first->copied, (hsa_signal_value_t)copies);
	status = h2d_stream_submit(stream, first->direct_packets, H2D_DIRECT_PACKETS);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_device_store_signal(first->copied, 0);
		return status;
	}
	totals->barrier_packets += H2D_DIRECT_PACKETS;
	left = copies;
	status = copy_members(group, first, &left);
	totals->dma_copies += copies - left;
	/* The queue waits for the copies that were issued, and must not wait for the others. */
	if (left > 0)
		h2d_device_add_signal(first->copied, -(hsa_signal_value_t)left);
	return status;
}
