/* SPDX-License-Identifier: MIT */
/* Streams: making and destroying them, their bounded waits, and dispatching kernels on them. */
#include <inttypes.h>
#include <stdlib.h>

#include "error.h"
#include "hsa/hsa_error.h"
#include "hsa/graph.h"
#include "hsa/stream_state.h"

#define DEFAULT_QUEUE_SIZE     1024
#define MAXIMUM_WORKGROUP_SIZE 1024

/* ---- making ---------------------------------------------------------------------------------- */

static void set_queue_error(struct h2d_stream_state *state, hsa_status_t status)
{
	uint32_t none = 0;

	/* The first error stays. Release pairs with the acquire of h2d_stream_failed(). */
	atomic_compare_exchange_strong_explicit(&state->queue_error, &none, (uint32_t)status,
						memory_order_release, memory_order_relaxed);
}

/* Called by the runtime on a thread of its own, after it has suspended the queue. */
static void handle_queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	(void)queue;
	set_queue_error(data, status);
}

static h2d_status_t create_queue(struct h2d_stream_state *state, uint32_t size)
{
	const h2d_device_t *device = state->device;

	if (size == 0)
		size = DEFAULT_QUEUE_SIZE;
	if ((size & (size - 1)) != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "a queue of %u packets: the size must be a power of two", size);
	if (size < device->queue_min_size || size > device->queue_max_size)
		return h2d_error(
		    H2D_STATUS_OUT_OF_RANGE, "a queue of %u packets: GPU %u allows %u to %u", size,
		    device->info.index, device->queue_min_size, device->queue_max_size);
	hsa_status_t hsa =
	    hsa_queue_create(device->agent, size, HSA_QUEUE_TYPE_MULTI, handle_queue_error, state,
			     UINT32_MAX, UINT32_MAX, &state->queue);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_queue_create");
	state->own_queue = true;
	return H2D_STATUS_SUCCESS;
}

static void destroy_state(struct h2d_stream_state *state)
{
	if (state->own_queue)
		hsa_queue_destroy(state->queue);
	h2d_device_destroy_signal(state->synchronize_signal);
	pthread_mutex_destroy(&state->synchronize_lock);
	free(state);
}

static h2d_status_t create_state(h2d_device_t *device, const h2d_stream_options_t *options,
				 struct h2d_stream_state **state)
{
	static _Atomic uint64_t last_identity;
	struct h2d_stream_state *created = calloc(1, sizeof(*created));

	if (created == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a stream");
	pthread_mutex_init(&created->synchronize_lock, NULL);
	created->device = device;
	created->timeout_ns =
	    options->timeout_ns != 0 ? options->timeout_ns : H2D_DEFAULT_TIMEOUT_NS;
	created->identity = 1 + atomic_fetch_add_explicit(&last_identity, 1, memory_order_relaxed);
	h2d_status_t status =
	    h2d_device_create_host_signal(device, 0, &created->synchronize_signal);
	if (status == H2D_STATUS_SUCCESS) {
		created->queue = options->queue;
		if (created->queue == NULL)
			status = create_queue(created, options->queue_size);
	}
	if (status != H2D_STATUS_SUCCESS) {
		destroy_state(created);
		return status;
	}
	created->single_producer = created->queue->type == HSA_QUEUE_TYPE_SINGLE;
	*state = created;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_stream_create(h2d_device_t *device, const h2d_stream_options_t *options,
			       h2d_stream_t **stream)
{
	static const h2d_stream_options_t defaults;

	if (device == NULL || stream == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_stream_create: %s is NULL",
				 device == NULL ? "device" : "stream");
	h2d_stream_t *created = calloc(1, sizeof(*created));
	if (created == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a stream");
	h2d_status_t status =
	    create_state(device, options != NULL ? options : &defaults, &created->state);
	if (status != H2D_STATUS_SUCCESS) {
		free(created);
		return status;
	}
	created->state->objects = 1;
	h2d_device_retain(device);
	*stream = created;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_stream_create_alias(h2d_stream_t *stream, h2d_stream_t **alias)
{
	if (stream == NULL || alias == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_stream_create_alias: %s is NULL",
				 stream == NULL ? "stream" : "alias");
	h2d_stream_t *created = calloc(1, sizeof(*created));
	if (created == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a stream");
	created->state = stream->state;
	atomic_fetch_add_explicit(&stream->state->objects, 1, memory_order_relaxed);
	*alias = created;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_stream_destroy(h2d_stream_t *stream)
{
	if (stream == NULL)
		return H2D_STATUS_SUCCESS;
	struct h2d_stream_state *state = stream->state;
	/* Acquire pairs with the release of h2d_stream_release(): its user is done. */
	uint32_t references = atomic_load_explicit(&stream->references, memory_order_acquire);
	if (references != 0)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "stream %" PRIu64 " is still used by %u owners or graphs",
				 state->identity, references);
	if (h2d_stream_is_capturing(stream))
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "stream %" PRIu64 " is recording a graph", state->identity);
	/* Acquire pairs with the release of the subtraction below: the other alias is done. */
	if (atomic_load_explicit(&state->objects, memory_order_acquire) == 1) {
		h2d_status_t status = h2d_stream_synchronize(stream);
		if (status != H2D_STATUS_SUCCESS && h2d_stream_failed(state))
			status = h2d_stream_stop(stream);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	if (atomic_fetch_sub_explicit(&state->objects, 1, memory_order_acq_rel) == 1) {
		h2d_device_t *device = state->device;
		destroy_state(state);
		h2d_device_release(device);
	}
	free(stream);
	return H2D_STATUS_SUCCESS;
}

/* ---- what it is ------------------------------------------------------------------------------ */

hsa_queue_t *h2d_stream_queue(const h2d_stream_t *stream)
{
	return stream->state->queue;
}

h2d_device_t *h2d_stream_device(const h2d_stream_t *stream)
{
	return stream->state->device;
}

uint64_t h2d_stream_identity(const h2d_stream_t *stream)
{
	return stream->state->identity;
}

bool h2d_stream_is_capturing(const h2d_stream_t *stream)
{
	/* Relaxed: capturing and using one stream in two threads at once is ordered by the caller.
	 */
	return atomic_load_explicit(&stream->state->recording, memory_order_relaxed) != NULL;
}

void h2d_stream_retain(h2d_stream_t *stream)
{
	atomic_fetch_add_explicit(&stream->references, 1, memory_order_relaxed);
}

void h2d_stream_release(h2d_stream_t *stream)
{
	/* Release pairs with the acquire of h2d_stream_destroy(). */
	atomic_fetch_sub_explicit(&stream->references, 1, memory_order_release);
}

/* ---- failures and waits ---------------------------------------------------------------------- */

void h2d_stream_notify_queue_error(h2d_stream_t *stream, hsa_status_t status)
{
	set_queue_error(stream->state, status);
}

static bool has_failed(const void *context)
{
	return h2d_stream_failed(context);
}

static h2d_status_t describe_failure(const struct h2d_stream_state *state)
{
	/* A memory fault also stops queues; it is the cause and names the address. */
	h2d_status_t status = h2d_device_check(state->device);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	hsa_status_t hsa =
	    (hsa_status_t)atomic_load_explicit(&state->queue_error, memory_order_relaxed);
	const char *words = NULL;
	if (hsa_status_string(hsa, &words) != HSA_STATUS_SUCCESS || words == NULL)
		words = "an unknown HSA status";
	return h2d_error(H2D_STATUS_QUEUE_ERROR,
			 "stream %" PRIu64 ": queue %" PRIu64 " reported error 0x%x: %s",
			 state->identity, state->queue->id, (unsigned)hsa, words);
}

h2d_status_t h2d_stream_check(const h2d_stream_t *stream)
{
	if (!h2d_stream_failed(stream->state))
		return H2D_STATUS_SUCCESS;
	return describe_failure(stream->state);
}

h2d_status_t h2d_stream_stop(h2d_stream_t *stream)
{
	struct h2d_stream_state *state = stream->state;

	/* The runtime has suspended a queue before it reports the queue's error. */
	if (atomic_load_explicit(&state->queue_error, memory_order_acquire) != 0)
		return H2D_STATUS_SUCCESS;
	/*
	 * Drivers stop all queues of a GPU that faults, but nothing promises it, and under a
	 * debugger they do not. That an inactive queue executes nothing more is promised.
	 */
	hsa_status_t hsa = hsa_queue_inactivate(state->queue);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_queue_inactivate");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_stream_wait_below(h2d_stream_t *stream, hsa_signal_t signal,
				   enum h2d_signal_kind kind, hsa_signal_value_t limit,
				   uint64_t timeout_ns, const char *what)
{
	const struct h2d_stream_state *state = stream->state;

	switch (h2d_signal_wait_below(state->device, signal, kind, limit, h2d_deadline(timeout_ns),
				      has_failed, state)) {
	case H2D_WAIT_DONE:
		return H2D_STATUS_SUCCESS;
	case H2D_WAIT_FAILED:
		return describe_failure(state);
	case H2D_WAIT_TIMEOUT:
		break;
	}
	return h2d_error(H2D_STATUS_TIMEOUT,
			 "%s did not end within %" PRIu64 " ns on stream %" PRIu64
			 ", queue %" PRIu64,
			 what, timeout_ns, state->identity, state->queue->id);
}

h2d_status_t h2d_stream_wait_signal(h2d_stream_t *stream, hsa_signal_t signal, uint64_t timeout_ns,
				    const char *what)
{
	return h2d_stream_wait_below(stream, signal, H2D_SIGNAL_HOST, 1, timeout_ns, what);
}

h2d_status_t h2d_stream_synchronize(h2d_stream_t *stream)
{
	if (stream == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_stream_synchronize: stream is NULL");
	struct h2d_stream_state *state = stream->state;
	if (h2d_stream_is_capturing(stream))
		return h2d_error(H2D_STATUS_CAPTURE_ACTIVE,
				 "stream %" PRIu64 " is recording a graph", state->identity);
	h2d_packet_t packet;
	h2d_packet_barrier(&packet, true, H2D_FENCE_SYSTEM, H2D_FENCE_SYSTEM, (hsa_signal_t){0},
			   state->synchronize_signal);
	/* Locked, so that barriers are counted in the order in which they stand in the queue. */
	pthread_mutex_lock(&state->synchronize_lock);
	h2d_status_t status = h2d_stream_submit(stream, &packet, 1);
	int64_t number = state->synchronize_barriers;
	if (status == H2D_STATUS_SUCCESS)
		number = ++state->synchronize_barriers;
	pthread_mutex_unlock(&state->synchronize_lock);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_stream_wait_below(stream, state->synchronize_signal, H2D_SIGNAL_HOST, 1 - number,
				     state->timeout_ns, "the work enqueued so far");
}

/* ---- dispatching ----------------------------------------------------------------------------- */

static h2d_status_t check_dispatch(const h2d_dispatch_t *dispatch)
{
	uint32_t workgroup = 1;

	if (dispatch->kernel.object == 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "a dispatch without a kernel");
	for (int i = 0; i < 3; i++) {
		if (dispatch->grid_size[i] == 0 || dispatch->workgroup_size[i] == 0)
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "a dispatch of grid size %u, workgroup size %u in "
					 "dimension %d",
					 dispatch->grid_size[i], dispatch->workgroup_size[i], i);
		if (dispatch->workgroup_size[i] > MAXIMUM_WORKGROUP_SIZE)
			workgroup = MAXIMUM_WORKGROUP_SIZE + 1;
		if (workgroup <= MAXIMUM_WORKGROUP_SIZE)
			workgroup *= dispatch->workgroup_size[i];
	}
	if (workgroup > MAXIMUM_WORKGROUP_SIZE)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "a workgroup of %u x %u x %u work-items: at most %d are allowed",
				 dispatch->workgroup_size[0], dispatch->workgroup_size[1],
				 dispatch->workgroup_size[2], MAXIMUM_WORKGROUP_SIZE);
	if (dispatch->kernel_arguments_size < dispatch->kernel.kernel_arguments_size)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%zu bytes of kernel arguments, the kernel reads %u",
				 dispatch->kernel_arguments_size,
				 dispatch->kernel.kernel_arguments_size);
	if (dispatch->kernel_arguments == NULL && dispatch->kernel_arguments_size != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "%zu bytes of kernel arguments at NULL",
				 dispatch->kernel_arguments_size);
	return H2D_STATUS_SUCCESS;
}

static void fill_dispatch(h2d_packet_t *packet, const h2d_dispatch_t *dispatch)
{
	h2d_packet_dispatch(packet, &dispatch->kernel, 1, 1, dispatch->kernel_arguments,
			    H2D_FENCE_AGENT, H2D_FENCE_AGENT);
	packet->dispatch.setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
	packet->dispatch.workgroup_size_x = dispatch->workgroup_size[0];
	packet->dispatch.workgroup_size_y = dispatch->workgroup_size[1];
	packet->dispatch.workgroup_size_z = dispatch->workgroup_size[2];
	packet->dispatch.grid_size_x = dispatch->grid_size[0];
	packet->dispatch.grid_size_y = dispatch->grid_size[1];
	packet->dispatch.grid_size_z = dispatch->grid_size[2];
	packet->dispatch.group_segment_size += dispatch->dynamic_group_segment_size;
}

h2d_status_t h2d_stream_dispatch(h2d_stream_t *stream, const h2d_dispatch_t *dispatch)
{
	if (stream == NULL || dispatch == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_stream_dispatch: %s is NULL",
				 stream == NULL ? "stream" : "dispatch");
	h2d_status_t status = check_dispatch(dispatch);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	h2d_packet_t packet;
	fill_dispatch(&packet, dispatch);
	if (h2d_stream_is_capturing(stream))
		return h2d_graph_record(stream, &packet, dispatch->kernel_arguments,
					dispatch->kernel_arguments_size);
	if ((uintptr_t)dispatch->kernel_arguments % 16 != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "kernel arguments at %p: the address must be a multiple of 16",
				 dispatch->kernel_arguments);
	return h2d_stream_submit(stream, &packet, 1);
}
