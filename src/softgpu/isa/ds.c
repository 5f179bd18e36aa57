/* SPDX-License-Identifier: MIT */
/* DS: reads, writes and lane permutes through LDS. Atomics are in ds_atomic.c. */
#include "ds.h"
#include "lds.h"
#include "workgroup.h"

/* The register rows of a DS operand. */
uint32_t (*softgpu_ds_registers(const struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction,
				unsigned int number))[SOFTGPU_LANES]
{
	if (instruction->memory_flags & SOFTGPU_ACC)
		number += SOFTGPU_VGPRS;
	return &wave->vgpr[number];
}

static const uint32_t (*data(const struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction,
			     int index))[SOFTGPU_LANES]
{
	return (const uint32_t(*)[SOFTGPU_LANES])softgpu_ds_registers(wave, instruction,
								      instruction->data[index]);
}

/* The address register plus a constant, of all lanes. */
static void addresses(const struct softgpu_wave *wave,
		      const struct softgpu_instruction *instruction, uint32_t constant,
		      uint32_t out[SOFTGPU_LANES])
{
	for (int lane = 0; lane < SOFTGPU_LANES; lane++)
		out[lane] = wave->vgpr[instruction->address][lane] + constant;
}

/* The two 8-bit offsets count elements, or 64 of them in the st64 forms. */
uint32_t softgpu_ds_offset(const struct softgpu_instruction *instruction, int index,
			   unsigned int unit)
{
	return ((uint32_t)instruction->offset >> 8 * index & 0xff) * unit;
}

static void read(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		 unsigned int bytes)
{
	uint32_t offset[SOFTGPU_LANES];

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	softgpu_lds_load_lanes(wave, offset, wave->exec, bytes,
			       softgpu_ds_registers(wave, instruction, instruction->destination));
}

static void write(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		  unsigned int bytes)
{
	uint32_t offset[SOFTGPU_LANES];

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	softgpu_lds_store_lanes(wave, offset, wave->exec, bytes, data(wave, instruction, 0));
}

/* Both elements are read before any register changes: the address may be overwritten. */
static void read2(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		  unsigned int bytes, unsigned int unit)
{
	uint32_t(*out)[SOFTGPU_LANES] =
		softgpu_ds_registers(wave, instruction, instruction->destination);
	uint32_t offset[2][SOFTGPU_LANES];

	for (int i = 0; i < 2; i++)
		addresses(wave, instruction, softgpu_ds_offset(instruction, i, unit), offset[i]);
	for (unsigned int i = 0; i < 2; i++)
		softgpu_lds_load_lanes(wave, offset[i], wave->exec, bytes, out + i * bytes / 4);
}

static void write2(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		   unsigned int bytes, unsigned int unit)
{
	for (int i = 0; i < 2; i++) {
		uint32_t offset[SOFTGPU_LANES];

		addresses(wave, instruction, softgpu_ds_offset(instruction, i, unit), offset);
		softgpu_lds_store_lanes(wave, offset, wave->exec, bytes,
					data(wave, instruction, i));
	}
}

/* A byte or short that is extended or merged into a register half. */
static void read_converted(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			   unsigned int bytes, uint32_t (*convert)(uint32_t before, uint32_t value))
{
	uint32_t *out = *softgpu_ds_registers(wave, instruction, instruction->destination);
	uint32_t offset[SOFTGPU_LANES], value[1][SOFTGPU_LANES];

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	softgpu_lds_load_lanes(wave, offset, wave->exec, bytes, value);
	softgpu_for_each_lane (lane, wave->exec)
		out[lane] = convert(out[lane], value[0][lane]);
}

static void write_high(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		       unsigned int bytes)
{
	const uint32_t(*in)[SOFTGPU_LANES] = data(wave, instruction, 0);
	uint32_t offset[SOFTGPU_LANES], high[1][SOFTGPU_LANES];

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	for (int lane = 0; lane < SOFTGPU_LANES; lane++)
		high[0][lane] = in[0][lane] >> 16;
	softgpu_lds_store_lanes(wave, offset, wave->exec, bytes,
				(const uint32_t(*)[SOFTGPU_LANES])high);
}

#define DS_OPERATION(name)                                                                         \
	void softgpu_ds_##name(struct softgpu_wave *wave,                                          \
			       const struct softgpu_instruction *instruction)

#define DEFINE(name, call)                                                                         \
	DS_OPERATION(name)                                                                         \
	{                                                                                          \
		call;                                                                              \
	}

#define CONVERSION(name, bytes, expression)                                                        \
	static uint32_t convert_##name(uint32_t before, uint32_t value)                            \
	{                                                                                          \
		(void)before;                                                                      \
		return (expression);                                                               \
	}                                                                                          \
	DEFINE(name, read_converted(wave, instruction, bytes, convert_##name))

DEFINE(read_u8, read(wave, instruction, 1))
DEFINE(read_u16, read(wave, instruction, 2))
DEFINE(read_b32, read(wave, instruction, 4))
DEFINE(read_b64, read(wave, instruction, 8))
DEFINE(read_b96, read(wave, instruction, 12))
DEFINE(read_b128, read(wave, instruction, 16))
DEFINE(read2_b32, read2(wave, instruction, 4, 4))
DEFINE(read2_b64, read2(wave, instruction, 8, 8))
DEFINE(read2st64_b32, read2(wave, instruction, 4, 256))
DEFINE(read2st64_b64, read2(wave, instruction, 8, 512))
DEFINE(write_b8, write(wave, instruction, 1))
DEFINE(write_b16, write(wave, instruction, 2))
DEFINE(write_b32, write(wave, instruction, 4))
DEFINE(write_b64, write(wave, instruction, 8))
DEFINE(write_b96, write(wave, instruction, 12))
DEFINE(write_b128, write(wave, instruction, 16))
DEFINE(write2_b32, write2(wave, instruction, 4, 4))
DEFINE(write2_b64, write2(wave, instruction, 8, 8))
DEFINE(write2st64_b32, write2(wave, instruction, 4, 256))
DEFINE(write2st64_b64, write2(wave, instruction, 8, 512))
DEFINE(write_b8_d16_hi, write_high(wave, instruction, 1))
DEFINE(write_b16_d16_hi, write_high(wave, instruction, 2))
CONVERSION(read_i8, 1, (uint32_t)(int32_t)(int8_t)value)
CONVERSION(read_i16, 2, (uint32_t)(int32_t)(int16_t)value)
CONVERSION(read_u8_d16, 1, (before & 0xffff0000) | value)
CONVERSION(read_u8_d16_hi, 1, (before & 0xffff) | value << 16)
CONVERSION(read_i8_d16, 1, (before & 0xffff0000) | (uint16_t)(int8_t)value)
CONVERSION(read_i8_d16_hi, 1, (before & 0xffff) | (uint32_t)(int32_t)(int8_t)value << 16)
CONVERSION(read_u16_d16, 2, (before & 0xffff0000) | value)
CONVERSION(read_u16_d16_hi, 2, (before & 0xffff) | value << 16)

DS_OPERATION(nop)
{
	(void)wave;
	(void)instruction;
}

/* The address of each lane is the offset, M0's low half and four times the lane. */
static void addtid_offsets(const struct softgpu_wave *wave,
			   const struct softgpu_instruction *instruction,
			   uint32_t out[SOFTGPU_LANES])
{
	for (uint32_t lane = 0; lane < SOFTGPU_LANES; lane++)
		out[lane] = (uint32_t)instruction->offset + (wave->m0 & 0xffff) + lane * 4;
}

DS_OPERATION(write_addtid_b32)
{
	uint32_t offset[SOFTGPU_LANES];

	addtid_offsets(wave, instruction, offset);
	softgpu_lds_store_lanes(wave, offset, wave->exec, 4, data(wave, instruction, 0));
}

DS_OPERATION(read_addtid_b32)
{
	uint32_t offset[SOFTGPU_LANES];

	addtid_offsets(wave, instruction, offset);
	softgpu_lds_load_lanes(wave, offset, wave->exec, 4,
			       softgpu_ds_registers(wave, instruction, instruction->destination));
}

/*
 * The permutes move registers between lanes without memory. A lane that reads an inactive one
 * gets 0.
 */
static void gather(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		   const uint32_t *in, const uint8_t from[SOFTGPU_LANES])
{
	uint32_t *out = *softgpu_ds_registers(wave, instruction, instruction->destination);
	uint32_t result[SOFTGPU_LANES];

	for (int lane = 0; lane < SOFTGPU_LANES; lane++)
		result[lane] = softgpu_lane_active(wave, from[lane]) ? in[from[lane]] : 0;
	softgpu_for_each_lane (lane, wave->exec)
		out[lane] = result[lane];
}

DS_OPERATION(bpermute_b32)
{
	uint8_t from[SOFTGPU_LANES];
	uint32_t offset[SOFTGPU_LANES];

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	for (int lane = 0; lane < SOFTGPU_LANES; lane++)
		from[lane] = offset[lane] / 4 % SOFTGPU_LANES;
	gather(wave, instruction, *data(wave, instruction, 0), from);
}

/* The inverse: lanes push; where several name one destination, the highest wins. */
DS_OPERATION(permute_b32)
{
	const uint32_t *in = *data(wave, instruction, 0);
	uint32_t *out = *softgpu_ds_registers(wave, instruction, instruction->destination);
	uint32_t offset[SOFTGPU_LANES], result[SOFTGPU_LANES] = {0};

	addresses(wave, instruction, (uint32_t)instruction->offset, offset);
	softgpu_for_each_lane (lane, wave->exec)
		result[offset[lane] / 4 % SOFTGPU_LANES] = in[lane];
	softgpu_for_each_lane (lane, wave->exec)
		out[lane] = result[lane];
}

static unsigned int reverse5(unsigned int value)
{
	unsigned int result = 0;

	for (int i = 0; i < 5; i++)
		result |= (value >> i & 1) << (4 - i);
	return result;
}

/* The lane that `lane` reads from; within groups of 32 lanes except where noted. */
static unsigned int swizzle_source(unsigned int pattern, unsigned int lane)
{
	unsigned int low = lane & 31, mask = pattern & 31, source;

	if (pattern >= 0xe000) { /* butterflies of a Fourier transform */
		source = reverse5(low) >> __builtin_popcount(mask);
		source |= low & mask;
	} else if (pattern >= 0xc000) { /* rotation among the bits outside the mask */
		unsigned int distance = pattern >> 5 & 31;

		source = pattern >> 10 & 1 ? low - distance : low + distance;
		source = (low & mask) | (source & ~mask & 31);
	} else if (pattern >= 0x8000) { /* any permutation within quads */
		source = (low & ~3u) | (pattern >> 2 * (low & 3) & 3);
	} else {
		source = ((low & mask) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
	}
	return (lane & 32) | source;
}

DS_OPERATION(swizzle_b32)
{
	uint8_t from[SOFTGPU_LANES];

	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		from[lane] = (uint8_t)swizzle_source((uint32_t)instruction->offset, lane);
	gather(wave, instruction, wave->vgpr[instruction->address], from);
}

/* Counters in LDS that the whole wave moves at once, at M0's high half plus the offset. */
static void wave_counter(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 enum softgpu_atomic_operation operation)
{
	uint32_t *out = *softgpu_ds_registers(wave, instruction, instruction->destination);
	uint32_t lanes = (uint32_t)__builtin_popcountll(wave->exec);
	uint64_t old;

	if (lanes == 0)
		return;
	old = softgpu_lds_atomic(wave, (wave->m0 >> 16) + (uint32_t)instruction->offset, operation,
				 4, lanes, 0);
	softgpu_for_each_lane (lane, wave->exec)
		out[lane] = (uint32_t)old;
}

DEFINE(append, wave_counter(wave, instruction, SOFTGPU_ATOMIC_ADD))
DEFINE(consume, wave_counter(wave, instruction, SOFTGPU_ATOMIC_SUB))
