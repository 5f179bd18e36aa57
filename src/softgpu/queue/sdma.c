/* SPDX-License-Identifier: MIT */
/* The SDMA engine: fetches packets from its ring in order, one at a time. */
#include "sdma.h"

#include "../message.h"

#include <inttypes.h>
#include <stdlib.h>

static enum softgpu_step fetch_and_execute(struct softgpu_sdma *sdma)
{
	const uint64_t mask = sdma->size / sizeof(uint32_t) - 1;
	const uint64_t first = sdma->next / sizeof(uint32_t);
	uint32_t packet[SOFTGPU_SDMA_LONGEST_PACKET];
	const uint32_t header = sdma->ring[first & mask];
	const uint32_t length = softgpu_sdma_packet_length(header);
	enum softgpu_step result;

	if (length == 0 || length * sizeof(uint32_t) > sdma->announced - sdma->next) {
		softgpu_message("SDMA queue %" PRIu32 ": %s packet 0x%08" PRIx32
				" (%s) at byte %" PRIu64 "; the queue stops",
				sdma->queue->parameters.number,
				length == 0 ? "unknown" : "incomplete", header,
				softgpu_sdma_operation_name(header), sdma->next);
		return SOFTGPU_STEP_HALTED;
	}
	/* A packet may begin at the end of the ring and go on at its start. */
	for (uint32_t i = 0; i < length && i < SOFTGPU_SDMA_LONGEST_PACKET; i++)
		packet[i] = sdma->ring[(first + i) & mask];
	result = softgpu_sdma_execute(sdma, packet);
	if (result != SOFTGPU_STEP_PROGRESS)
		return result;
	sdma->next += length * sizeof(uint32_t);
	/* Release: pairs with the acquire of the producer that reuses the ring. */
	atomic_store_explicit(sdma->queue->parameters.read_index, sdma->next, memory_order_release);
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step step(struct softgpu_queue *queue, void *state)
{
	struct softgpu_sdma *sdma = state;
	enum softgpu_step result;

	if (sdma->halted || !atomic_load_explicit(&queue->active, memory_order_acquire))
		return SOFTGPU_STEP_HALTED;
	if (softgpu_doorbell_take(&queue->doorbell)) {
		/* Acquire: pairs with the producer's release before the doorbell. */
		sdma->announced =
			atomic_load_explicit(queue->parameters.write_index, memory_order_acquire);
	}
	if (sdma->next == sdma->announced)
		return SOFTGPU_STEP_IDLE;
	if (softgpu_adversary_holds(&queue->adversary, sdma->next))
		return SOFTGPU_STEP_POLL;
	result = fetch_and_execute(sdma);
	sdma->halted = result == SOFTGPU_STEP_HALTED;
	return result;
}

static void *create(struct softgpu_queue *queue)
{
	struct softgpu_sdma *sdma = calloc(1, sizeof(*sdma));

	if (!sdma)
		return NULL;
	sdma->queue = queue;
	sdma->gpu = queue->gpu;
	sdma->access = &queue->access;
	sdma->ring = queue->parameters.ring;
	sdma->size = queue->parameters.ring_size;
	return sdma;
}

static void destroy(void *state)
{
	free(state);
}

/* Nothing runs on other threads, and between two steps nothing is half done. */
static void abort_all(struct softgpu_queue *queue, void *state)
{
	(void)queue;
	(void)state;
}

static bool has_work(void *state)
{
	(void)state;
	return false;
}

const struct softgpu_engine_operations softgpu_sdma_operations = {
	.create = create,
	.destroy = destroy,
	.step = step,
	.abort = abort_all,
	.has_work = has_work,
};
