/* SPDX-License-Identifier: MIT */
/*
 * What FLAT, GLOBAL, SCRATCH and MUBUF share: once an instruction's lane addresses are known, its
 * opcode says what to do there, by the same numbers in all four families.
 */
#ifndef SOFTGPU_VECTOR_MEMORY_H
#define SOFTGPU_VECTOR_MEMORY_H

#include "wave.h"

/* Where the active lanes access memory. The masks are disjoint. */
struct softgpu_lane_access {
	/* Lanes of memory at `address`. */
	uint64_t linear_mask;
	uint64_t address[SOFTGPU_LANES];
	/* Lanes of LDS at `offset`. */
	uint64_t lds_mask;
	/*
	 * Lanes of memory in which consecutive dwords of a lane lie `step` bytes apart: dword n
	 * at address + n * step, where byte `offset` of the lane is in dword offset / 4.
	 */
	uint64_t swizzled_mask;
	uint32_t step;
	uint32_t offset[SOFTGPU_LANES];
	/* Lanes outside their buffer: loads give 0, stores do nothing. */
	uint64_t outside_mask;
};

/* Bytes of the access of a FLAT or MUBUF opcode. */
unsigned int softgpu_vector_memory_bytes(unsigned int opcode);

/* Executes the load, store or atomic. */
void softgpu_vector_memory(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			   struct softgpu_lane_access *access);

#endif
