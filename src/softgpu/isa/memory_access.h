/* SPDX-License-Identifier: MIT */
/*
 * All data memory access of waves (LDS is not memory in this sense).
 *
 * Functions return false after they recorded a memory fault in the wave.
 */
#ifndef SOFTGPU_MEMORY_ACCESS_H
#define SOFTGPU_MEMORY_ACCESS_H

#include "wave.h"

/* Read-modify-write operations; the `data` operand is src. */
enum softgpu_atomic_operation {
	SOFTGPU_ATOMIC_SWAP,
	SOFTGPU_ATOMIC_COMPARE_SWAP, /* memory = memory == compare ? data : memory */
	SOFTGPU_ATOMIC_ADD,
	SOFTGPU_ATOMIC_SUB,
	SOFTGPU_ATOMIC_REVERSE_SUB, /* data - memory */
	SOFTGPU_ATOMIC_SMIN,
	SOFTGPU_ATOMIC_UMIN,
	SOFTGPU_ATOMIC_SMAX,
	SOFTGPU_ATOMIC_UMAX,
	SOFTGPU_ATOMIC_AND,
	SOFTGPU_ATOMIC_OR,
	SOFTGPU_ATOMIC_XOR,
	SOFTGPU_ATOMIC_INC,	  /* memory >= data ? 0 : memory + 1 */
	SOFTGPU_ATOMIC_DEC,	  /* memory == 0 || memory > data ? data : memory - 1 */
	SOFTGPU_ATOMIC_MASKED_OR, /* memory & ~compare | data */
	SOFTGPU_ATOMIC_ADD_FLOAT, /* float or double by width */
	SOFTGPU_ATOMIC_MIN_FLOAT,
	SOFTGPU_ATOMIC_MAX_FLOAT,
	SOFTGPU_ATOMIC_COMPARE_SWAP_FLOAT,
	SOFTGPU_ATOMIC_PACKED_ADD_HALF,
};

/* The new memory value of an atomic of 4 or 8 `bytes`. */
uint64_t softgpu_atomic_result(enum softgpu_atomic_operation operation, unsigned int bytes,
			       uint64_t memory, uint64_t data, uint64_t compare);

/* Loads 1, 2, 4, 8, 12 or 16 bytes for each lane of `mask`; out[dword][lane], zero-extended. */
bool softgpu_load_lanes(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			const uint64_t address[SOFTGPU_LANES], uint64_t mask, unsigned int bytes,
			uint32_t (*out)[SOFTGPU_LANES]);

/* Stores 1, 2, 4, 8, 12 or 16 bytes of in[dword][lane] for each lane of `mask`. */
bool softgpu_store_lanes(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 const uint64_t address[SOFTGPU_LANES], uint64_t mask, unsigned int bytes,
			 const uint32_t (*in)[SOFTGPU_LANES]);

/* One lane's atomic of 4 or 8 bytes, naturally aligned; *old receives the former value. */
bool softgpu_atomic_lane(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint64_t address, enum softgpu_atomic_operation operation,
			 unsigned int bytes, uint64_t data, uint64_t compare, uint64_t *old);

/* Scalar memory: whole dwords. */
bool softgpu_load_scalar(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint64_t address, unsigned int dwords, uint32_t *out);
bool softgpu_store_scalar(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			  uint64_t address, unsigned int dwords, const uint32_t *in);

/* Instruction fetch of one dword from executable memory; no fault is recorded. */
bool softgpu_fetch_dword(struct softgpu_wave *wave, uint64_t address, uint32_t *out);

/* Reads memory outside a wave (descriptors). */
bool softgpu_memory_copy_from(const struct softgpu_memory *memory, uint64_t address, void *out,
			      size_t size);

/* Cache control: what a kernel itself writes back from, or invalidates in, the L2s. */
void softgpu_memory_fence(struct softgpu_wave *wave, bool write_back, bool invalidate);

#endif
