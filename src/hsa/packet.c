/* SPDX-License-Identifier: MIT */
/* AQL packets: filling them and writing them into a stream's queue. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "hsa/stream_state.h"

/* ---- filling --------------------------------------------------------------------------------- */

static uint16_t header(hsa_packet_type_t type, bool barrier_bit, h2d_fence_scope_t acquire,
		       h2d_fence_scope_t release)
{
	return (uint16_t)((unsigned)type << HSA_PACKET_HEADER_TYPE |
			  (unsigned)barrier_bit << HSA_PACKET_HEADER_BARRIER |
			  (unsigned)acquire << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  (unsigned)release << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

void h2d_packet_barrier(h2d_packet_t *packet, bool barrier_bit, h2d_fence_scope_t acquire,
			h2d_fence_scope_t release, hsa_signal_t dependency, hsa_signal_t completion)
{
	memset(packet, 0, sizeof(*packet));
	packet->barrier.header = header(HSA_PACKET_TYPE_BARRIER_AND, barrier_bit, acquire, release);
	packet->barrier.dep_signal[0] = dependency;
	packet->barrier.completion_signal = completion;
}

void h2d_packet_dispatch(h2d_packet_t *packet, const h2d_kernel_t *kernel, uint32_t workgroups,
			 uint16_t workgroup_size, const void *kernel_arguments,
			 h2d_fence_scope_t acquire, h2d_fence_scope_t release)
{
	memset(packet, 0, sizeof(*packet));
	packet->dispatch.header = header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true, acquire, release);
	packet->dispatch.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
	packet->dispatch.workgroup_size_x = workgroup_size;
	packet->dispatch.workgroup_size_y = 1;
	packet->dispatch.workgroup_size_z = 1;
	packet->dispatch.grid_size_x = workgroups * workgroup_size;
	packet->dispatch.grid_size_y = 1;
	packet->dispatch.grid_size_z = 1;
	packet->dispatch.private_segment_size = kernel->private_segment_size;
	packet->dispatch.group_segment_size = kernel->group_segment_size;
	packet->dispatch.kernel_object = kernel->object;
	packet->dispatch.kernarg_address = (void *)(uintptr_t)kernel_arguments;
}

/* ---- reserving ------------------------------------------------------------------------------- */

static uint64_t load_write_index(struct h2d_stream_state *state)
{
	uint64_t write = hsa_queue_load_write_index_relaxed(state->queue);

	atomic_store_explicit(&state->write_index, write, memory_order_relaxed);
	return write;
}

/* Whether count slots from index write on are free. */
static bool has_space(struct h2d_stream_state *state, uint64_t write, uint32_t count)
{
	uint64_t end = write + count;

	/* Acquire pairs with the release below, and so with what that thread acquired. */
	if (end <= atomic_load_explicit(&state->free_end, memory_order_acquire))
		return true;
	/*
	 * Acquire pairs with the packet processor's release of the read index: it has read the old
	 * packets of the slots that are free now.
	 */
	uint64_t free_end = hsa_queue_load_read_index_scacquire(state->queue) + state->queue->size;
	/* Release pairs with the acquire above. A thread that stores an older value does no harm.
	 */
	atomic_store_explicit(&state->free_end, free_end, memory_order_release);
	return end <= free_end;
}

/*
 * Takes count slots from *index on, if there is room. A multi-producer queue is reserved by
 * compare-and-swap, because an addition could not be undone when the queue is full.
 */
static bool reserve(struct h2d_stream_state *state, uint32_t count, uint64_t *index)
{
	/* Relaxed: a write index that is out of date makes the compare-and-swap fail. */
	uint64_t write = state->single_producer
			     ? hsa_queue_load_write_index_relaxed(state->queue)
			     : atomic_load_explicit(&state->write_index, memory_order_relaxed);

	while (has_space(state, write, count)) {
		*index = write;
		if (state->single_producer) {
			hsa_queue_store_write_index_relaxed(state->queue, write + count);
			return true;
		}
		/* Relaxed: what the slots hold is published by their headers. */
		write = hsa_queue_cas_write_index_relaxed(state->queue, write, write + count);
		if (write == *index) {
			atomic_store_explicit(&state->write_index, write + count,
					      memory_order_relaxed);
			return true;
		}
	}
	return false;
}

/* Waits until count packets fit, to be followed by another attempt to reserve. */
static h2d_status_t wait_for_space(const h2d_stream_t *stream, uint32_t count, uint64_t deadline)
{
	struct h2d_stream_state *state = stream->state;
	/* No signal tells of the read index. A packet takes microseconds, a nap about 60. */
	const struct timespec nap = {.tv_nsec = 10000};

	while (!has_space(state, load_write_index(state), count)) {
		h2d_status_t status = h2d_stream_check(stream);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		if (h2d_clock_ns() >= deadline)
			return h2d_error(H2D_STATUS_QUEUE_FULL,
					 "stream %" PRIu64 ": queue %" PRIu64
					 " of %u packets had no room for %u within %" PRIu64 " ns",
					 state->identity, state->queue->id, state->queue->size,
					 count, state->timeout_ns);
		nanosleep(&nap, NULL);
	}
	return H2D_STATUS_SUCCESS;
}

/* Whether count packets may be enqueued at all. */
static inline bool may_submit(const struct h2d_stream_state *state, uint32_t count)
{
	return count <= state->queue->size && !h2d_stream_failed(state);
}

/* Why they may not. */
static h2d_status_t explain_refusal(const h2d_stream_t *stream, uint32_t count)
{
	const struct h2d_stream_state *state = stream->state;

	if (count <= state->queue->size)
		return h2d_stream_check(stream);
	return h2d_error(H2D_STATUS_OUT_OF_RANGE,
			 "stream %" PRIu64 ": %u packets at once, queue %" PRIu64 " has %u",
			 state->identity, count, state->queue->id, state->queue->size);
}

h2d_status_t h2d_stream_wait_for_space(h2d_stream_t *stream, uint32_t count)
{
	struct h2d_stream_state *state = stream->state;

	if (!may_submit(state, count))
		return explain_refusal(stream, count);
	if (has_space(state, load_write_index(state), count))
		return H2D_STATUS_SUCCESS;
	return wait_for_space(stream, count, h2d_deadline(state->timeout_ns));
}

static h2d_status_t reserve_within_timeout(h2d_stream_t *stream, uint32_t count, uint64_t *index)
{
	uint64_t deadline = h2d_deadline(stream->state->timeout_ns);

	do {
		h2d_status_t status = wait_for_space(stream, count, deadline);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	} while (!reserve(stream->state, count, index)); /* lost the room to another producer */
	return H2D_STATUS_SUCCESS;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Orders stores to a ring in write-combined device memory, which x86 does not order by itself. */
static inline void fence_write_combined_stores(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#else
	atomic_thread_fence(memory_order_release);
#endif
}

h2d_status_t h2d_stream_submit(h2d_stream_t *stream, const h2d_packet_t packets[], uint32_t count)
{
	struct h2d_stream_state *state = stream->state;
	hsa_queue_t *queue = state->queue;
	h2d_packet_t *ring = queue->base_address;
	uint64_t mask = queue->size - 1;
	uint64_t index;

	if (!may_submit(state, count))
		return explain_refusal(stream, count);
	if (count == 0)
		return H2D_STATUS_SUCCESS;
	if (!reserve(state, count, &index)) {
		h2d_status_t status = reserve_within_timeout(stream, count, &index);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}

	/* The headers in the ring are INVALID since the packet processor consumed the slots. */
	for (uint32_t i = 0; i < count; i++) {
		h2d_packet_t *slot = &ring[(index + i) & mask];
		memcpy(slot->bytes + sizeof(uint32_t), packets[i].bytes + sizeof(uint32_t),
		       sizeof(*slot) - sizeof(uint32_t));
	}
	fence_write_combined_stores();
	/*
	 * From last to first, so that the packet processor meets all of them or none. Release pairs
	 * with its acquire of the header: it reads the body after that.
	 */
	for (uint32_t i = count; i-- > 0;) {
		h2d_packet_t *slot = &ring[(index + i) & mask];
		__atomic_store_n(&slot->header_and_setup, packets[i].header_and_setup,
				 __ATOMIC_RELEASE);
	}
	/*
	 * Through the runtime, because profilers replace the doorbell by a signal of their own.
	 * Release pairs with the packet processor's acquire of the doorbell.
	 */
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)(index + count - 1));
	return H2D_STATUS_SUCCESS;
}
