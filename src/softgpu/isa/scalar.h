/* SPDX-License-Identifier: MIT */
/* Shorthands of the scalar ALU's execute functions and tables. */
#ifndef SOFTGPU_SCALAR_H
#define SOFTGPU_SCALAR_H

#include "wave.h"

static inline uint32_t scalar_source32(const struct softgpu_wave *wave,
				       const struct softgpu_instruction *instruction, int index)
{
	return softgpu_scalar32(wave, instruction, instruction->source[index],
				instruction->operation->source[index]);
}

static inline uint64_t scalar_source64(const struct softgpu_wave *wave,
				       const struct softgpu_instruction *instruction, int index)
{
	return softgpu_scalar64(wave, instruction, instruction->source[index],
				instruction->operation->source[index]);
}

/* The start of an execute function. */
#define SCALAR_OPERATION(name)                                                                     \
	static void name(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)

#define SOURCE32(index) scalar_source32(wave, instruction, index)
#define SOURCE64(index) scalar_source64(wave, instruction, index)
#define WRITE32(value)	softgpu_write_scalar32(wave, instruction->scalar_destination, value)
#define WRITE64(value)	softgpu_write_scalar64(wave, instruction->scalar_destination, value)

/* Table entries: destination type, source types. */
#define SCALAR_ENTRY(name, d, a, b)                                                                \
	{                                                                                          \
		"s_" #name, name, 0, SOFTGPU_##d,                                                  \
		{                                                                                  \
			SOFTGPU_##a, SOFTGPU_##b                                                   \
		}                                                                                  \
	}
/* In the instruction set, but of no use to compute kernels. */
#define SCALAR_NOT_EMULATED(name, d, a, b)                                                         \
	{                                                                                          \
		"s_" #name, NULL, 0, SOFTGPU_##d,                                                  \
		{                                                                                  \
			SOFTGPU_##a, SOFTGPU_##b                                                   \
		}                                                                                  \
	}

#endif
