/* SPDX-License-Identifier: MIT */
/* Execution of the SDMA packets of gfx9: copies, fills, fences, atomics, polls, interrupts. */
#include "sdma.h"

#include "../message.h"
#include "clock.h"

#include <inttypes.h>
#include <string.h>

enum operation {
	OPERATION_NOP = 0,
	OPERATION_COPY = 1,
	OPERATION_FENCE = 5,
	OPERATION_TRAP = 6,
	OPERATION_POLL = 8,
	OPERATION_ATOMIC = 10,
	OPERATION_FILL = 11,
	OPERATION_TIMESTAMP = 13,
};

#define COPY_LINEAR	 0
#define COPY_RECTANGLE	 4
#define TIMESTAMP_GLOBAL 2
#define ATOMIC_ADD_64	 47

/* Bytes are copied in pieces: neither stop nor eviction of a queue waits for a long copy. */
#define PIECE (UINT64_C(1) << 20)

static uint64_t quad(const uint32_t *low)
{
	return (uint64_t)low[1] << 32 | low[0];
}

static enum softgpu_step fault(struct softgpu_sdma *sdma, uint64_t address, bool write)
{
	softgpu_message("SDMA queue %" PRIu32 ": memory fault: %s of 0x%" PRIx64,
			sdma->queue->parameters.number, write ? "write" : "read", address);
	softgpu_eviction_report(sdma->queue, address, write);
	return SOFTGPU_STEP_HALTED;
}

static enum softgpu_step unknown(struct softgpu_sdma *sdma, uint32_t header, const char *what)
{
	softgpu_message("SDMA queue %" PRIu32 ": packet 0x%08" PRIx32
			" with unknown %s; the queue stops",
			sdma->queue->parameters.number, header, what);
	return SOFTGPU_STEP_HALTED;
}

uint32_t softgpu_sdma_packet_length(uint32_t header)
{
	const uint32_t operation = header & 0xff, detail = header >> 8 & 0xff;

	switch (operation) {
	case OPERATION_NOP:
		return 1 + (header >> 16 & 0x3fff); /* dwords to be passed over */
	case OPERATION_COPY:
		return detail == COPY_LINEAR ? 7 : detail == COPY_RECTANGLE ? 13 : 0;
	case OPERATION_FENCE:
		return 4;
	case OPERATION_TRAP:
		return 2;
	case OPERATION_POLL:
		return 6;
	case OPERATION_ATOMIC:
		return 8;
	case OPERATION_FILL:
		return 5;
	case OPERATION_TIMESTAMP:
		return detail == TIMESTAMP_GLOBAL ? 3 : 0;
	default:
		return 0;
	}
}

static enum softgpu_step copy_bytes(struct softgpu_sdma *sdma, uint64_t to, uint64_t from,
				    uint64_t count)
{
	while (count != 0) {
		uint64_t source_length, target_length, piece = count < PIECE ? count : PIECE;
		const void *source = softgpu_access_span(sdma->access, from, false, &source_length);
		void *target = softgpu_access_span(sdma->access, to, true, &target_length);

		if (!source)
			return fault(sdma, from, false);
		if (!target)
			return fault(sdma, to, true);
		if (atomic_load_explicit(&sdma->queue->stop, memory_order_relaxed) ||
		    softgpu_eviction_has_started(sdma->gpu->eviction))
			return SOFTGPU_STEP_HALTED;
		if (piece > source_length)
			piece = source_length;
		if (piece > target_length)
			piece = target_length;
		memmove(target, source, piece);
		from += piece;
		to += piece;
		count -= piece;
	}
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step copy_linear(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	return copy_bytes(sdma, quad(&packet[5]), quad(&packet[3]),
			  (uint64_t)(packet[1] & 0x3fffffff) + 1);
}

struct rectangle_side {
	uint64_t base;	       /* of the first element */
	uint64_t pitch, slice; /* bytes */
};

/* Address, offsets x and y, offset z and pitch, slice pitch; all but the first in elements. */
static struct rectangle_side read_side(const uint32_t *dword, unsigned int shift)
{
	struct rectangle_side side = {
		.pitch = (uint64_t)((dword[3] >> 13) + 1) << shift,
		.slice = (uint64_t)((dword[4] & 0xfffffff) + 1) << shift,
	};

	side.base = quad(dword) + ((uint64_t)(dword[2] & 0x3fff) << shift) +
		    (dword[2] >> 16 & 0x3fff) * side.pitch + (dword[3] & 0x7ff) * side.slice;
	return side;
}

static enum softgpu_step copy_rectangle(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const unsigned int shift = packet[0] >> 29;
	const struct rectangle_side source = read_side(&packet[1], shift);
	const struct rectangle_side target = read_side(&packet[6], shift);
	const uint64_t width = (uint64_t)((packet[11] & 0x3fff) + 1) << shift;
	const uint32_t height = (packet[11] >> 16 & 0x3fff) + 1, depth = (packet[12] & 0x7ff) + 1;

	for (uint32_t z = 0; z < depth; z++) {
		for (uint32_t y = 0; y < height; y++) {
			const enum softgpu_step result = copy_bytes(
				sdma, target.base + y * target.pitch + z * target.slice,
				source.base + y * source.pitch + z * source.slice, width);

			if (result != SOFTGPU_STEP_PROGRESS)
				return result;
		}
	}
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step fill(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const unsigned int unit = 1U << (packet[0] >> 30); /* bytes of one value */
	uint64_t address = quad(&packet[1]);
	uint64_t count = (uint64_t)(packet[4] & 0x3fffff) + 1;
	const uint8_t *value = (const uint8_t *)&packet[3];
	unsigned int phase = 0;

	if (unit == 8)
		return unknown(sdma, packet[0], "fill size");
	/* For whole values the count is that of the bytes before the last value, plus one. */
	count = (count + unit - 1) / unit * unit;
	while (count != 0) {
		uint64_t length;
		uint8_t *target = softgpu_access_span(sdma->access, address, true, &length);

		if (!target)
			return fault(sdma, address, true);
		if (length > count)
			length = count;
		for (uint64_t i = 0; i < length; i++, phase = (phase + 1) % unit)
			target[i] = value[phase];
		address += length;
		count -= length;
	}
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step write_fence(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	_Atomic uint32_t *target =
		softgpu_access_object(sdma->access, address, sizeof(*target), true);

	if (!target)
		return fault(sdma, address, true);
	/* Release: pairs with whoever waits for the value; all earlier copies are visible then. */
	atomic_store_explicit(target, packet[3], memory_order_release);
	softgpu_eventcount_notify(sdma->gpu->signal_activity);
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step run_atomic(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	_Atomic uint64_t *target =
		softgpu_access_object(sdma->access, address, sizeof(*target), true);

	if (packet[0] >> 25 != ATOMIC_ADD_64)
		return unknown(sdma, packet[0], "atomic operation");
	if (!target)
		return fault(sdma, address, true);
	/* Release: pairs with the acquire of whoever waits for the signal. */
	atomic_fetch_add_explicit(target, quad(&packet[3]), memory_order_acq_rel);
	softgpu_eventcount_notify(sdma->gpu->signal_activity);
	return SOFTGPU_STEP_PROGRESS;
}

static bool compare(unsigned int function, uint32_t value, uint32_t reference)
{
	switch (function) {
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	case 6:
		return value > reference;
	default:
		return true;
	}
}

static enum softgpu_step poll_memory(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	const unsigned int function = packet[0] >> 28 & 7;
	const _Atomic uint32_t *source;
	uint32_t value;

	/* Polling a register is the flush of the host data path, which has no cache here. */
	if (!(packet[0] >> 31))
		return SOFTGPU_STEP_PROGRESS;
	if (function == 7)
		return unknown(sdma, packet[0], "comparison");
	source = softgpu_access_object(sdma->access, address, sizeof(*source), false);
	if (!source)
		return fault(sdma, address, false);
	/* Acquire: pairs with the release of whoever completes what is waited for. */
	value = atomic_load_explicit(source, memory_order_acquire);
	return compare(function, value & packet[4], packet[3]) ? SOFTGPU_STEP_PROGRESS
							       : SOFTGPU_STEP_POLL;
}

static enum softgpu_step write_timestamp(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	_Atomic uint64_t *target =
		softgpu_access_object(sdma->access, address, sizeof(*target), true);

	if (!target)
		return fault(sdma, address, true);
	atomic_store_explicit(target, softgpu_clock_now(), memory_order_relaxed);
	return SOFTGPU_STEP_PROGRESS;
}

enum softgpu_step softgpu_sdma_execute(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	switch (packet[0] & 0xff) {
	case OPERATION_NOP:
		return SOFTGPU_STEP_PROGRESS;
	case OPERATION_COPY:
		return (packet[0] >> 8 & 0xff) == COPY_LINEAR ? copy_linear(sdma, packet)
							      : copy_rectangle(sdma, packet);
	case OPERATION_FENCE:
		return write_fence(sdma, packet);
	case OPERATION_TRAP:
		sdma->gpu->services->set_event(sdma->gpu->services_context, packet[1] & 0xfffffff);
		return SOFTGPU_STEP_PROGRESS;
	case OPERATION_POLL:
		return poll_memory(sdma, packet);
	case OPERATION_ATOMIC:
		return run_atomic(sdma, packet);
	case OPERATION_FILL:
		return fill(sdma, packet);
	case OPERATION_TIMESTAMP:
		return write_timestamp(sdma, packet);
	default:
		return unknown(sdma, packet[0], "operation");
	}
}
