/* SPDX-License-Identifier: MIT */
/* The packets of an SDMA engine (gfx9) and their execution. */
#ifndef SOFTGPU_QUEUE_SDMA_H
#define SOFTGPU_QUEUE_SDMA_H

#include "engine.h"

#define SOFTGPU_SDMA_LONGEST_PACKET 13 /* dwords that mean something */

struct softgpu_sdma {
	struct softgpu_queue *queue;
	const struct softgpu_gpu *gpu;
	struct softgpu_access *access;
	uint32_t *ring;
	uint64_t size;	    /* bytes */
	uint64_t next;	    /* byte behind the last executed packet: the read index */
	uint64_t announced; /* the write index when the doorbell was rung */
	bool halted;
};

/* Dwords of a packet by its first dword; 0: the packet is not known. */
uint32_t softgpu_sdma_packet_length(uint32_t header);
/* COPY, FENCE, ... also of packets that are not known; "other" if there is no such operation. */
const char *softgpu_sdma_operation_name(uint32_t header);
/*
 * Executes one known packet. PROGRESS: done. POLL: its condition is not met, execute it again later.
 * HALTED: it failed, which has been reported.
 */
enum softgpu_step softgpu_sdma_execute(struct softgpu_sdma *sdma, const uint32_t *packet);

#endif
