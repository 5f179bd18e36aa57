/* SPDX-License-Identifier: MIT */
/* Graphs: recording dispatches of a stream and replaying them with one doorbell. */
#include "hsa/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/stream_state.h"

/* Kernel arguments of each dispatch start on a cache line. */
#define KERNEL_ARGUMENT_ALIGNMENT 64

/* The objects that a recording uses, each once. */
struct holds {
	struct hold {
		void *object;
		void (*release)(void *object);
	} *entries;
	uint32_t count;
};

/* A graph in the making: its packets' kernarg_address are offsets into kernel_arguments. */
struct h2d_recording {
	struct holds holds;
	h2d_packet_t *packets;
	uint32_t count;
	uint32_t capacity;
	uint8_t *kernel_arguments;
	size_t kernel_arguments_size;
	size_t kernel_arguments_capacity;
};

/* The replays on one stream. */
struct replays {
	h2d_stream_t *stream;	 /* held; NULL: none */
	hsa_signal_t completion; /* replays that have not ended */
};

struct h2d_graph {
	h2d_device_t *device;
	struct holds holds;
	h2d_packet_t *packets;
	uint32_t count;
	void *kernel_arguments;
	uint64_t timeout_ns;
	/*
	 * An entry each for the streams whose replays may not have ended, since each of them may
	 * fail by itself, and for the last stream, at first the recording's.
	 */
	struct replays *replays;
	uint32_t replays_count;
};

/* ---- recording ------------------------------------------------------------------------------- */

static h2d_status_t not_recording(const h2d_stream_t *stream)
{
	return h2d_error(H2D_STATUS_INVALID_STATE, "stream %" PRIu64 " is not recording a graph",
			 stream->state->identity);
}

h2d_status_t h2d_graph_begin_capture(h2d_stream_t *stream)
{
	if (stream == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_graph_begin_capture: stream is NULL");
	if (h2d_stream_is_capturing(stream))
		return h2d_error(H2D_STATUS_CAPTURE_ACTIVE,
				 "stream %" PRIu64 " is recording a graph already",
				 stream->state->identity);
	struct h2d_recording *recording = calloc(1, sizeof(*recording));
	if (recording == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a recording");
	atomic_store_explicit(&stream->state->recording, recording, memory_order_relaxed);
	return H2D_STATUS_SUCCESS;
}

static bool reserve_packet(struct h2d_recording *recording)
{
	if (recording->count < recording->capacity)
		return true;
	uint32_t capacity = recording->capacity == 0 ? 16 : 2 * recording->capacity;
	h2d_packet_t *packets = realloc(recording->packets, capacity * sizeof(*packets));
	if (packets == NULL)
		return false;
	recording->packets = packets;
	recording->capacity = capacity;
	return true;
}

static bool reserve_kernel_arguments(struct h2d_recording *recording, size_t size)
{
	size_t needed = recording->kernel_arguments_size + size + KERNEL_ARGUMENT_ALIGNMENT;

	if (needed <= recording->kernel_arguments_capacity)
		return true;
	uint8_t *bytes = realloc(recording->kernel_arguments, 2 * needed);
	if (bytes == NULL)
		return false;
	recording->kernel_arguments = bytes;
	recording->kernel_arguments_capacity = 2 * needed;
	return true;
}

h2d_status_t h2d_graph_record(h2d_stream_t *stream, const h2d_packet_t *packet,
			      const void *kernel_arguments, size_t kernel_arguments_size)
{
	struct h2d_recording *recording =
	    atomic_load_explicit(&stream->state->recording, memory_order_relaxed);

	if (kernel_arguments_size > UINT32_MAX || recording->count == UINT32_MAX / 2)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "recording %zu bytes of kernel arguments as dispatch %u",
				 kernel_arguments_size, recording->count);
	if (!reserve_packet(recording) ||
	    !reserve_kernel_arguments(recording, kernel_arguments_size))
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory to record dispatch %u",
				 recording->count);
	size_t offset = recording->kernel_arguments_size;
	if (kernel_arguments_size != 0)
		memcpy(recording->kernel_arguments + offset, kernel_arguments,
		       kernel_arguments_size);
	recording->kernel_arguments_size =
	    (offset + kernel_arguments_size + KERNEL_ARGUMENT_ALIGNMENT - 1) &
	    ~(size_t)(KERNEL_ARGUMENT_ALIGNMENT - 1);
	recording->packets[recording->count] = *packet;
	recording->packets[recording->count].dispatch.kernarg_address = (void *)offset;
	recording->count++;
	return H2D_STATUS_SUCCESS;
}

static bool is_held(const struct holds *holds, const void *object)
{
	for (uint32_t i = 0; i < holds->count; i++)
		if (holds->entries[i].object == object)
			return true;
	return false;
}

h2d_status_t h2d_graph_hold(h2d_stream_t *stream, void *object, void (*release)(void *object),
			    bool *first)
{
	struct h2d_recording *recording =
	    atomic_load_explicit(&stream->state->recording, memory_order_relaxed);

	if (recording == NULL)
		return not_recording(stream);
	struct holds *holds = &recording->holds;
	*first = !is_held(holds, object);
	if (!*first)
		return H2D_STATUS_SUCCESS;
	struct hold *entries =
	    realloc(holds->entries, (holds->count + 1) * sizeof(holds->entries[0]));
	if (entries == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for what a recording uses");
	entries[holds->count++] = (struct hold){object, release};
	holds->entries = entries;
	return H2D_STATUS_SUCCESS;
}

static void release_holds(struct holds *holds)
{
	for (uint32_t i = 0; i < holds->count; i++)
		holds->entries[i].release(holds->entries[i].object);
	free(holds->entries);
}

static void free_recording(struct h2d_recording *recording)
{
	release_holds(&recording->holds);
	free(recording->packets);
	free(recording->kernel_arguments);
	free(recording);
}

/* Appends an entry without a stream. */
static h2d_status_t add_replays(h2d_graph_t *graph)
{
	uint32_t count = graph->replays_count;
	struct replays *replays = realloc(graph->replays, (count + 1) * sizeof(*replays));

	if (replays == NULL)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a graph's replays");
	graph->replays = replays;
	replays[count].stream = NULL;
	h2d_status_t status =
	    h2d_device_create_signal(graph->device, 0, &replays[count].completion);
	if (status == H2D_STATUS_SUCCESS)
		graph->replays_count = count + 1;
	return status;
}

/* Gives the graph its kernel arguments, and hands it the packets and the held objects. */
static h2d_status_t fill_graph(h2d_graph_t *graph, struct h2d_recording *recording)
{
	h2d_status_t status = add_replays(graph);

	if (status == H2D_STATUS_SUCCESS && recording->kernel_arguments_size != 0)
		status = h2d_device_allocate_kernel_arguments(
		    graph->device, recording->kernel_arguments_size, &graph->kernel_arguments);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (recording->kernel_arguments_size != 0)
		memcpy(graph->kernel_arguments, recording->kernel_arguments,
		       recording->kernel_arguments_size);
	graph->packets = recording->packets;
	graph->count = recording->count;
	recording->packets = NULL;
	graph->holds = recording->holds;
	recording->holds = (struct holds){0};
	for (uint32_t i = 0; i < graph->count; i++) {
		hsa_kernel_dispatch_packet_t *dispatch = &graph->packets[i].dispatch;
		size_t offset = (size_t)dispatch->kernarg_address;
		dispatch->kernarg_address = (uint8_t *)graph->kernel_arguments + offset;
	}
	return H2D_STATUS_SUCCESS;
}

static void free_graph(h2d_graph_t *graph)
{
	release_holds(&graph->holds);
	h2d_device_free(graph->device, graph->kernel_arguments);
	for (uint32_t i = 0; i < graph->replays_count; i++)
		h2d_device_destroy_signal(graph->replays[i].completion);
	free(graph->replays);
	free(graph->packets);
	free(graph);
}

/* Destroying the graph needs to know of a failure of the stream. NULL: no more. */
static void hold_stream(struct replays *replays, h2d_stream_t *stream)
{
	if (replays->stream == stream)
		return;
	if (stream != NULL)
		h2d_stream_retain(stream);
	if (replays->stream != NULL)
		h2d_stream_release(replays->stream);
	replays->stream = stream;
}

h2d_status_t h2d_graph_end_capture(h2d_stream_t *stream, h2d_graph_t **graph)
{
	if (stream == NULL || graph == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_graph_end_capture: %s is NULL",
				 stream == NULL ? "stream" : "graph");
	struct h2d_stream_state *state = stream->state;
	struct h2d_recording *recording =
	    atomic_load_explicit(&state->recording, memory_order_relaxed);
	if (recording == NULL)
		return not_recording(stream);
	atomic_store_explicit(&state->recording, NULL, memory_order_relaxed);

	h2d_graph_t *created = calloc(1, sizeof(*created));
	if (created == NULL) {
		free_recording(recording);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a graph");
	}
	created->device = state->device;
	created->timeout_ns = state->timeout_ns;
	h2d_status_t status = fill_graph(created, recording);
	free_recording(recording);
	if (status != H2D_STATUS_SUCCESS) {
		free_graph(created);
		return status;
	}
	h2d_device_retain(created->device);
	hold_stream(&created->replays[0], stream);
	*graph = created;
	return H2D_STATUS_SUCCESS;
}

/* ---- replaying ------------------------------------------------------------------------------- */

static h2d_status_t check_launch(const h2d_graph_t *graph, const h2d_stream_t *stream)
{
	if (graph == NULL || stream == NULL)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_graph_launch: %s is NULL",
				 graph == NULL ? "graph" : "stream");
	if (stream->state->device != graph->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE, "a graph of GPU %u on a stream of GPU %u",
				 graph->device->info.index, stream->state->device->info.index);
	if (h2d_stream_is_capturing(stream))
		return h2d_error(H2D_STATUS_CAPTURE_ACTIVE,
				 "stream %" PRIu64 " is recording a graph",
				 stream->state->identity);
	return H2D_STATUS_SUCCESS;
}

/* The entry for a replay on the stream. Those of other streams are given up when they are over. */
static h2d_status_t find_replays(h2d_graph_t *graph, h2d_stream_t *stream, struct replays **found)
{
	struct replays *spare = NULL;

	*found = NULL;
	for (uint32_t i = 0; i < graph->replays_count; i++) {
		struct replays *replays = &graph->replays[i];

		if (replays->stream == stream) {
			*found = replays;
		} else if (hsa_signal_load_scacquire(replays->completion) == 0) {
			/* Acquire pairs with the release of the packet that ended the last. */
			hold_stream(replays, NULL);
			spare = replays;
		}
	}
	if (*found == NULL)
		*found = spare;
	if (*found != NULL)
		return H2D_STATUS_SUCCESS;
	h2d_status_t status = add_replays(graph);
	*found = &graph->replays[graph->replays_count - 1];
	return status;
}

h2d_status_t h2d_graph_launch(h2d_graph_t *graph, h2d_stream_t *stream)
{
	h2d_status_t status = check_launch(graph, stream);

	if (status != H2D_STATUS_SUCCESS || graph->count == 0)
		return status;
	struct replays *replays;
	status = find_replays(graph, stream, &replays);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	graph->packets[graph->count - 1].dispatch.completion_signal = replays->completion;
	/* Relaxed: the last packet, which takes it off again, is published with release. */
	hsa_signal_add_relaxed(replays->completion, 1);
	status = h2d_stream_submit(stream, graph->packets, graph->count);
	if (status != H2D_STATUS_SUCCESS)
		hsa_signal_subtract_relaxed(replays->completion, 1);
	else
		hold_stream(replays, stream);
	return status;
}

uint32_t h2d_graph_dispatch_count(const h2d_graph_t *graph)
{
	return graph->count;
}

/* Waits until the stream executes no replay, or stops it if it has failed. */
static h2d_status_t end_replays(const h2d_graph_t *graph, const struct replays *replays)
{
	h2d_status_t status =
	    h2d_stream_wait_below(replays->stream, replays->completion, H2D_SIGNAL_GPU, 1,
				  graph->timeout_ns, "the replays of a graph");

	if (status != H2D_STATUS_SUCCESS && h2d_stream_failed(replays->stream->state))
		return h2d_stream_stop(replays->stream);
	return status;
}

h2d_status_t h2d_graph_destroy(h2d_graph_t *graph)
{
	if (graph == NULL)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < graph->replays_count; i++) {
		if (graph->replays[i].stream == NULL)
			continue;
		h2d_status_t status = end_replays(graph, &graph->replays[i]);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	h2d_device_t *device = graph->device;
	for (uint32_t i = 0; i < graph->replays_count; i++)
		hold_stream(&graph->replays[i], NULL);
	free_graph(graph);
	h2d_device_release(device);
	return H2D_STATUS_SUCCESS;
}
