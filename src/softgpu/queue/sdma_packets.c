/* SPDX-License-Identifier: MIT */
/* Execution of the SDMA packets of gfx9: copies, fills, fences, atomics, polls, interrupts. */
#include "sdma.h"

#include "../host_guard.h"
#include "../message.h"
#include "clock.h"

#include <inttypes.h>
#include <string.h>

/* Bytes are copied in pieces: neither stop nor eviction of a queue waits for a long copy. */
#define PIECE (UINT64_C(1) << 20)

#define NOP_COUNT_MASK 0x3fff0000
#define RETRY_FOREVER  0xfff

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

static enum softgpu_step host_fault(struct softgpu_sdma *sdma, uint64_t address)
{
	softgpu_message("SDMA queue %" PRIu32 ": memory fault: host memory at 0x%" PRIx64
			" is not there, or not accessible",
			sdma->queue->parameters.number, address);
	softgpu_eviction_report(sdma->queue, address, false);
	return SOFTGPU_STEP_HALTED;
}

static enum softgpu_step unknown(struct softgpu_sdma *sdma, uint32_t header, const char *what)
{
	softgpu_message("SDMA queue %" PRIu32 ": packet 0x%08" PRIx32
			" with unknown %s; the queue stops",
			sdma->queue->parameters.number, header, what);
	return SOFTGPU_STEP_HALTED;
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

static enum softgpu_step do_nothing(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	(void)sdma;
	(void)packet;
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step copy_linear(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	if (packet[1] >> 30 != 0 || packet[2] != 0)
		return unknown(sdma, packet[0], "parameters of a copy");
	return copy_bytes(sdma, quad(&packet[5]), quad(&packet[3]), (uint64_t)packet[1] + 1);
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

	if (shift > 4 || packet[12] >> 11 != 0)
		return unknown(sdma, packet[0], "parameters of a copy");
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
	const uint8_t *value = (const uint8_t *)&packet[3];
	uint64_t address = quad(&packet[1]);
	/* The packet has the number of bytes before the last value. */
	uint64_t count = (uint64_t)packet[4] + sizeof(packet[3]);
	unsigned int phase = 0;

	if (packet[4] >> 22 != 0 || packet[4] % sizeof(packet[3]) != 0)
		return unknown(sdma, packet[0], "count of a fill");
	while (count != 0) {
		uint64_t length;
		uint8_t *target = softgpu_access_span(sdma->access, address, true, &length);

		if (!target)
			return fault(sdma, address, true);
		if (length > count)
			length = count;
		for (uint64_t i = 0; i < length; i++, phase = (phase + 1) % sizeof(packet[3]))
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

static enum softgpu_step interrupt(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	sdma->gpu->services->set_event(sdma->gpu->services_context, packet[1] & 0xfffffff);
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step add_64(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	_Atomic uint64_t *target =
		softgpu_access_object(sdma->access, address, sizeof(*target), true);

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

/*
 * The runtime flushes the host data path, which has no cache here, by the poll of a register that
 * is none. No other one is polled.
 */
static enum softgpu_step flush_host_data(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	if (packet[1] != 0 || packet[2] != 0x80000000 || packet[3] != 0 || packet[4] != 0 ||
	    packet[5] != 0)
		return unknown(sdma, packet[0], "register");
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step poll_memory(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	const uint64_t address = quad(&packet[1]);
	const unsigned int function = packet[0] >> 28 & 7;
	const _Atomic uint32_t *source;
	uint32_t value;

	if (function == 7)
		return unknown(sdma, packet[0], "comparison");
	if ((packet[5] >> 16 & 0xfff) != RETRY_FOREVER)
		return unknown(sdma, packet[0], "number of retries");
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

/*
 * Operation, sub-operation and options of the headers that the runtime sends. Other options, as
 * copies backwards or to two targets and atomics that are repeated, are other packets.
 */
static const struct known_packet {
	const char *name;
	uint32_t variable; /* bits of the header that may be anything */
	uint32_t header;   /* the other bits */
	uint32_t length;   /* dwords */
	enum softgpu_step (*execute)(struct softgpu_sdma *sdma, const uint32_t *packet);
} known_packets[] = {
	{"NOP", NOP_COUNT_MASK, 0, 1, do_nothing},
	{"COPY", 0, 1 | 0 << 8, 7, copy_linear},
	{"COPY", 7U << 29, 1 | 4 << 8, 13, copy_rectangle},
	{"FENCE", 0, 5, 4, write_fence},
	{"TRAP", 0, 6, 2, interrupt},
	{"POLL", 0, 8, 6, flush_host_data},
	{"POLL", 7U << 28, 8 | 1U << 31, 6, poll_memory},
	{"ATOMIC", 0, 10 | 47U << 25, 8, add_64},
	{"FILL", 0, 11 | 2U << 30, 5, fill}, /* of dwords */
	{"TIMESTAMP", 0, 13 | 2 << 8, 3, write_timestamp},
};

#define KNOWN_PACKETS (sizeof(known_packets) / sizeof(known_packets[0]))

static const struct known_packet *find(uint32_t header)
{
	for (size_t i = 0; i < KNOWN_PACKETS; i++) {
		if ((header & ~known_packets[i].variable) == known_packets[i].header)
			return &known_packets[i];
	}
	return NULL;
}

uint32_t softgpu_sdma_packet_length(uint32_t header)
{
	const struct known_packet *known = find(header);

	if (!known)
		return 0;
	/* A NOP says how many dwords behind it are to be passed over. */
	return known->length + ((header & 0xff) == 0 ? header >> 16 : 0);
}

const char *softgpu_sdma_operation_name(uint32_t header)
{
	for (size_t i = 0; i < KNOWN_PACKETS; i++) {
		if ((header & 0xff) == (known_packets[i].header & 0xff))
			return known_packets[i].name;
	}
	return "other";
}

enum softgpu_step softgpu_sdma_execute(struct softgpu_sdma *sdma, const uint32_t *packet)
{
	enum softgpu_step result;
	sigjmp_buf landing;

	if (!softgpu_host_guard_enter(&landing))
		return host_fault(sdma, softgpu_host_guard_land());
	result = find(packet[0])->execute(sdma, packet);
	softgpu_host_guard_leave();
	return result;
}
