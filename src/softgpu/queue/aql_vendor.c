/* SPDX-License-Identifier: MIT */
/* AMD's vendor packets: barrier-value, and indirect buffers, which the runtime uses for fences. */
#include "aql.h"

#include "signal.h"

#include <inttypes.h>
#include <stdio.h>

#define FORMAT_INDIRECT_BUFFER 1
#define FORMAT_BARRIER_VALUE   2

/* PM4 type 3 packets: header bits 31-30 are 3, 29-16 the number of dwords behind it minus one. */
#define PM4_NOP		    0x10
#define PM4_INDIRECT_BUFFER 0x3f
#define PM4_ACQUIRE_MEM	    0x58

static enum softgpu_step unsupported(struct softgpu_aql *aql, const char *what, uint32_t value)
{
	char message[96];

	snprintf(message, sizeof(message), "packet %" PRIu64 ": %s 0x%08" PRIx32, aql->next, what,
		 value);
	return softgpu_aql_fail(aql, SOFTGPU_AQL_ERROR_VENDOR_PACKET, message);
}

/* Runs the commands of an indirect buffer; the one that is not known is returned in `unknown`. */
static bool run_commands(struct softgpu_cache *cache, const uint32_t *commands, uint32_t count,
			 uint32_t *unknown)
{
	for (uint32_t i = 0; i < count;) {
		const uint32_t header = commands[i];
		const uint32_t length = (header >> 16 & 0x3fff) + 2;
		const uint32_t operation = header >> 8 & 0xff;

		*unknown = header;
		if (header >> 30 != 3 || length > count - i)
			return false;
		if (operation == PM4_ACQUIRE_MEM) {
			/* Pairs with the release of whoever wrote the memory. */
			atomic_thread_fence(memory_order_seq_cst);
			if (cache) {
				softgpu_cache_release(cache, SOFTGPU_SCOPE_SYSTEM);
				softgpu_cache_acquire(cache, SOFTGPU_SCOPE_SYSTEM);
			}
		} else if (operation != PM4_NOP) {
			return false;
		}
		i += length;
	}
	return true;
}

static enum softgpu_step start_indirect_buffer(struct softgpu_aql *aql,
					       const union softgpu_aql_packet *packet)
{
	const uint32_t *jump = &packet->dword[1];
	const uint64_t address = (uint64_t)(jump[2] & 0xffff) << 32 | (jump[1] & ~UINT32_C(3));
	const uint32_t count = jump[3] & 0xfffff;
	const uint32_t *commands;
	uint32_t unknown;

	if (jump[0] >> 30 != 3 || (jump[0] >> 8 & 0xff) != PM4_INDIRECT_BUFFER)
		return unsupported(aql, "no jump to an indirect buffer but", jump[0]);
	commands = softgpu_access_object(&aql->queue->access, address,
					 (size_t)count * sizeof(*commands), false);
	if (!commands)
		return softgpu_aql_memory_fault(aql, address, false, "an indirect buffer");
	if (!run_commands(aql->gpu->memory.cache, commands, count, &unknown))
		return unsupported(aql, "the indirect buffer has command", unknown);
	softgpu_aql_complete(softgpu_aql_begin(aql, packet->barrier.completion_signal));
	return SOFTGPU_STEP_PROGRESS;
}

static enum softgpu_step start_barrier_value(struct softgpu_aql *aql,
					     const hsa_amd_barrier_value_packet_t *packet)
{
	uint64_t address;
	int64_t value;
	bool met = false;

	if (packet->signal.handle != 0) {
		if (!softgpu_signal_read(&aql->queue->access, packet->signal, &value, &address))
			return softgpu_aql_memory_fault(aql, address, false,
							"the signal of a barrier-value packet");
		value &= packet->mask;
		switch (packet->cond) {
		case HSA_SIGNAL_CONDITION_EQ:
			met = value == packet->value;
			break;
		case HSA_SIGNAL_CONDITION_NE:
			met = value != packet->value;
			break;
		case HSA_SIGNAL_CONDITION_LT:
			met = value < packet->value;
			break;
		case HSA_SIGNAL_CONDITION_GTE:
			met = value >= packet->value;
			break;
		default:
			return unsupported(aql, "a barrier-value packet has condition",
					   packet->cond);
		}
		if (!met)
			return SOFTGPU_STEP_POLL;
	}
	softgpu_aql_complete(softgpu_aql_begin(aql, packet->completion_signal));
	return SOFTGPU_STEP_PROGRESS;
}

enum softgpu_step softgpu_aql_start_vendor(struct softgpu_aql *aql,
					   const union softgpu_aql_packet *packet)
{
	const uint32_t format = packet->dword[0] >> 16 & 0xff;

	switch (format) {
	case FORMAT_INDIRECT_BUFFER:
		return start_indirect_buffer(aql, packet);
	case FORMAT_BARRIER_VALUE:
		return start_barrier_value(aql, &packet->barrier_value);
	default:
		return unsupported(aql, "unknown format", packet->dword[0]);
	}
}
