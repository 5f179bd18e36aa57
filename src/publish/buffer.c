/* SPDX-License-Identifier: MIT */
/* Buffers: a pinned source, a fixed destination, and the right to write the source. */
#include "publish/buffer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/graph.h"
#include "publish/group.h"
#include "publish/reason.h"
#include "publish/shape.h"
#include "publish/transport.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* Checks everything but the memory. */
static h2d_status_t check_new(const h2d_owner_t *owner, const h2d_buffer_description_t *description,
			      h2d_shape_t *shape)
{
	h2d_status_t status;
	uint32_t i;

	status = h2d_owner_check_idle(owner, "bind buffers before the first begin");
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_shape_parse(description, shape);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (i = 0; i < owner->buffer_count; i++)
		if (strcmp(owner->buffers[i]->name, description->name) == 0)
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "owner '%s' already has a buffer named '%s'", owner->name,
					 description->name);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t make_signals(h2d_buffer_t *buffer)
{
	h2d_device_t *device = buffer->owner->device;
	h2d_status_t status;

	status = h2d_device_create_signal(device, 0, &buffer->gate);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_create_signal(device, 0, &buffer->copied);
	if (status == H2D_STATUS_SUCCESS)
		h2d_direct_prepare(buffer);
	return status;
}

/*
 * Makes a buffer around memory and hands it to the owner. On error the memory is still the
 * caller's.
 */
static h2d_status_t make_buffer(h2d_owner_t *owner, const h2d_buffer_description_t *description,
				const h2d_shape_t *shape, void *host, void *device,
				h2d_buffer_t **made)
{
	h2d_buffer_t *buffer = calloc(1, sizeof(*buffer));
	h2d_status_t status;

	if (!buffer)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for buffer '%s'",
				 description->name);
	buffer->owner = owner;
	buffer->source = host;
	buffer->destination = device;
	buffer->element_size = description->element_size;
	buffer->dimensions = description->dimensions;
	memcpy(buffer->shape, description->shape, sizeof(buffer->shape));
	buffer->unit = description->unit;
	buffer->capacity = shape->capacity;
	buffer->row_capacity = shape->row_capacity;
	buffer->bytes_per_count = shape->bytes_per_count;
	buffer->strided = shape->strided;
	buffer->name = strdup(description->name);
	status = buffer->name ? H2D_STATUS_SUCCESS
			      : h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for buffer '%s'",
					  description->name);
	if (status == H2D_STATUS_SUCCESS && shape->strided)
		status = h2d_shape_make_runs(description, &buffer->runs);
	if (status == H2D_STATUS_SUCCESS)
		status = make_signals(buffer);
	if (status == H2D_STATUS_SUCCESS) {
		buffer->source_interval = (h2d_interval_t){
			.begin = (uintptr_t)host,
			.end = (uintptr_t)host + shape->source_span,
			.owner_name = owner->name,
			.buffer_name = buffer->name,
		};
		buffer->destination_interval = (h2d_interval_t){
			.begin = (uintptr_t)device,
			.end = (uintptr_t)device + shape->destination_span,
			.owner_name = owner->name,
			.buffer_name = buffer->name,
		};
		status = h2d_registry_insert(owner->registry, &buffer->destination_interval,
					     &buffer->source_interval);
	}
	if (status != H2D_STATUS_SUCCESS) {
		/* Not registered: its intervals must not take out the ones they overlap. */
		buffer->source_interval.end = buffer->source_interval.begin;
		buffer->destination_interval.end = buffer->destination_interval.begin;
		h2d_buffer_free(buffer);
		return status;
	}
	status = h2d_owner_add_buffer(owner, buffer);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_buffer_free(buffer);
		return status;
	}
	status = h2d_group_make(owner, buffer->name, &buffer, 1, &buffer->single);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_owner_remove_buffer(owner, buffer);
		h2d_buffer_free(buffer);
		return status;
	}
	*made = buffer;
	return H2D_STATUS_SUCCESS;
}

void h2d_buffer_free(h2d_buffer_t *buffer)
{
	h2d_device_t *device = buffer->owner->device;

	if (buffer->table_link)
		*buffer->table_link = NULL;
	h2d_registry_remove(buffer->owner->registry, &buffer->destination_interval,
			    &buffer->source_interval);
	h2d_device_destroy_signal(buffer->gate);
	h2d_device_destroy_signal(buffer->copied);
	if (buffer->owns_memory) {
		h2d_device_free(device, buffer->source);
		h2d_device_free(device, buffer->destination);
	}
	free(buffer->runs.source_offset);
	free(buffer->runs.destination_offset);
	free(buffer->name);
	free(buffer);
}

h2d_status_t h2d_buffer_allocate(h2d_owner_t *owner, const h2d_buffer_description_t *description,
				 h2d_buffer_t **buffer)
{
	void *host = NULL, *device = NULL;
	h2d_status_t status;
	h2d_shape_t shape;

	if (!owner || !description || !buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_buffer_allocate: an argument is NULL");
	status = check_new(owner, description, &shape);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (shape.strided)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "buffer '%s': only wrapped memory can be strided",
				 description->name);
	if (shape.bytes > 0) {
		status = h2d_device_allocate_host(owner->device, shape.bytes, &host);
		if (status == H2D_STATUS_SUCCESS)
			status = h2d_device_allocate(owner->device, shape.bytes, &device);
	}
	if (status == H2D_STATUS_SUCCESS)
		status = make_buffer(owner, description, &shape, host, device, buffer);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_device_free(owner->device, device);
		h2d_device_free(owner->device, host);
		return status;
	}
	(*buffer)->owns_memory = true;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_buffer_wrap(h2d_owner_t *owner, const h2d_buffer_description_t *description,
			     void *host, void *device, h2d_buffer_t **buffer)
{
	h2d_status_t status;
	h2d_shape_t shape;

	if (!owner || !description || !buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_buffer_wrap: an argument is NULL");
	status = check_new(owner, description, &shape);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (shape.bytes > 0) {
		if (!host || !device)
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "buffer '%s': %s memory is NULL", description->name,
					 host ? "device" : "host");
		status = h2d_device_check_host_memory(owner->device, description->name, host,
						      shape.source_span);
		if (status == H2D_STATUS_SUCCESS)
			status = h2d_device_check_device_memory(owner->device, description->name,
								device, shape.destination_span);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return make_buffer(owner, description, &shape, host, device, buffer);
}

/* ---- recordings and destroying --------------------------------------------------------------- */

static void end_use_in_recording(void *object)
{
	h2d_buffer_t *buffer = object;

	/* Release pairs with the acquire of h2d_buffer_check_unrecorded(): the replays are over. */
	atomic_fetch_sub_explicit(&buffer->recordings, 1, memory_order_release);
}

h2d_status_t h2d_buffer_use_in_recording(h2d_buffer_t *buffer, h2d_stream_t *stream)
{
	h2d_status_t status;
	bool first;

	if (!buffer || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_buffer_use_in_recording: an argument is NULL");
	if (h2d_stream_device(stream) != buffer->owner->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE,
				 "buffer '%s' of owner '%s': the recording is of another device",
				 buffer->name, buffer->owner->name);
	status = h2d_graph_hold(stream, buffer, end_use_in_recording, &first);
	if (status == H2D_STATUS_SUCCESS && first)
		atomic_fetch_add_explicit(&buffer->recordings, 1, memory_order_relaxed);
	return status;
}

h2d_status_t h2d_buffer_check_unrecorded(const h2d_buffer_t *buffer)
{
	/* Acquire pairs with the release of end_use_in_recording(). */
	uint32_t recordings = atomic_load_explicit(&buffer->recordings, memory_order_acquire);

	if (recordings == 0)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_INVALID_STATE,
			 "buffer '%s' of owner '%s' is used by %" PRIu32
			 " recordings: destroy their graphs first",
			 buffer->name, buffer->owner->name, recordings);
}

/* INVALID_STATE if a group other than the implicit one holds the buffer. */
static h2d_status_t check_ungrouped(const h2d_buffer_t *buffer)
{
	const h2d_owner_t *owner = buffer->owner;
	uint32_t i;

	for (i = 0; i < owner->group_count; i++) {
		const h2d_group_t *group = owner->groups[i];

		if (group != buffer->single && h2d_group_position(group, buffer) < group->size)
			return h2d_error(H2D_STATUS_INVALID_STATE,
					 "buffer '%s' of owner '%s' is in group '%s': destroy the "
					 "group first",
					 buffer->name, owner->name, group->name);
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_buffer_destroy(h2d_buffer_t *buffer)
{
	h2d_status_t status;

	if (!buffer)
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_check_idle(buffer->owner, "destroy buffers after h2d_owner_rebuild");
	if (status == H2D_STATUS_SUCCESS)
		status = check_ungrouped(buffer);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_buffer_check_unrecorded(buffer);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	h2d_owner_remove_group(buffer->owner, buffer->single);
	h2d_group_free(buffer->single);
	h2d_owner_remove_buffer(buffer->owner, buffer);
	h2d_buffer_free(buffer);
	return H2D_STATUS_SUCCESS;
}

/* ---- looking --------------------------------------------------------------------------------- */

void *h2d_buffer_host(const h2d_buffer_t *buffer)
{
	return buffer->source;
}

void *h2d_buffer_device(const h2d_buffer_t *buffer)
{
	return buffer->destination;
}

const char *h2d_buffer_name(const h2d_buffer_t *buffer)
{
	return buffer->name;
}

uint64_t h2d_buffer_capacity(const h2d_buffer_t *buffer)
{
	return buffer->capacity;
}

uint64_t h2d_buffer_bytes_per_count(const h2d_buffer_t *buffer)
{
	return buffer->bytes_per_count;
}

uint64_t h2d_buffer_published_epoch(const h2d_buffer_t *buffer)
{
	const h2d_owner_t *owner = buffer->owner;

	return h2d_ledger_holds(owner->published, buffer->index) ? owner->epoch : 0;
}

/* ---- publishing ------------------------------------------------------------------------------ */

h2d_status_t h2d_buffer_publish(h2d_buffer_t *buffer, h2d_stream_t *stream, int64_t count,
				const char *reason)
{
	if (!buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_buffer_publish: buffer is NULL");
	return h2d_group_publish(buffer->single, stream, &count, &reason);
}

h2d_status_t h2d_buffer_publish_rows(h2d_buffer_t *buffer, h2d_stream_t *stream, int64_t rows,
				     const char *reason)
{
	uint64_t count;

	if (!buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_buffer_publish_rows: buffer is NULL");
	if (rows < 0)
		count = buffer->capacity;
	else if ((uint64_t)rows > buffer->row_capacity)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "buffer '%s' of owner '%s': %" PRId64
				 " rows, but its capacity is %" PRIu64,
				 buffer->name, buffer->owner->name, rows, buffer->row_capacity);
	else if (buffer->row_capacity == 0)
		count = 0;
	else
		count = (uint64_t)rows * (buffer->capacity / buffer->row_capacity);
	return h2d_buffer_publish(buffer, stream, (int64_t)count, reason);
}

h2d_status_t h2d_buffer_acquire_write(h2d_buffer_t *buffer, h2d_stream_t *stream,
				      const char *reason)
{
	h2d_owner_t *owner;
	h2d_status_t status;
	uint32_t i;

	if (!buffer || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_buffer_acquire_write: an argument is NULL");
	owner = buffer->owner;
	status = h2d_owner_check_active(owner, stream, "buffer", buffer->name);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (h2d_ledger_holds(owner->published, buffer->index) && !h2d_reason_is_valid(reason))
		return h2d_error(H2D_STATUS_ALREADY_PUBLISHED,
				 "buffer '%s' of owner '%s': a repeated write in epoch %" PRIu64
				 " needs a republish_reason",
				 buffer->name, owner->name, owner->epoch);
	if (!h2d_ledger_holds(owner->in_use, buffer->index))
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_wait_for_sources(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(owner, status, "acquire_write of buffer '%s'",
					   buffer->name);
	/* The wait was for all of the queue, so no group's descriptors are read any more either. */
	for (i = 0; i < owner->group_count; i++)
		owner->groups[i]->in_flight_epoch = 0;
	h2d_ledger_put(owner->in_use, buffer->index, false);
	return H2D_STATUS_SUCCESS;
}
