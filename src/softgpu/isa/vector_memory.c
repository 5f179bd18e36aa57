/* SPDX-License-Identifier: MIT */
/* Loads, stores and atomics of the vector memory families at given lane addresses. */
#include "vector_memory.h"

#include "lds.h"
#include "memory_access.h"

enum conversion {
	PLAIN, /* loads zero-extend */
	SIGNED,
	LOW_HALF, /* loads keep the other half of the register */
	SIGNED_LOW_HALF,
	HIGH_HALF, /* stores take the high half */
	SIGNED_HIGH_HALF,
};

struct kind {
	uint8_t bytes;
	uint8_t conversion;
	uint8_t atomic; /* enum softgpu_atomic_operation, opcodes from 64 */
};

static const struct kind kinds[128] = {
	[16] = {1, PLAIN, 0},
	[17] = {1, SIGNED, 0},
	[18] = {2, PLAIN, 0},
	[19] = {2, SIGNED, 0},
	[20] = {4, PLAIN, 0},
	[21] = {8, PLAIN, 0},
	[22] = {12, PLAIN, 0},
	[23] = {16, PLAIN, 0},
	[24] = {1, PLAIN, 0},
	[25] = {1, HIGH_HALF, 0},
	[26] = {2, PLAIN, 0},
	[27] = {2, HIGH_HALF, 0},
	[28] = {4, PLAIN, 0},
	[29] = {8, PLAIN, 0},
	[30] = {12, PLAIN, 0},
	[31] = {16, PLAIN, 0},
	[32] = {1, LOW_HALF, 0},
	[33] = {1, HIGH_HALF, 0},
	[34] = {1, SIGNED_LOW_HALF, 0},
	[35] = {1, SIGNED_HIGH_HALF, 0},
	[36] = {2, LOW_HALF, 0},
	[37] = {2, HIGH_HALF, 0},
	[64] = {4, PLAIN, SOFTGPU_ATOMIC_SWAP},
	[65] = {4, PLAIN, SOFTGPU_ATOMIC_COMPARE_SWAP},
	[66] = {4, PLAIN, SOFTGPU_ATOMIC_ADD},
	[67] = {4, PLAIN, SOFTGPU_ATOMIC_SUB},
	[68] = {4, PLAIN, SOFTGPU_ATOMIC_SMIN},
	[69] = {4, PLAIN, SOFTGPU_ATOMIC_UMIN},
	[70] = {4, PLAIN, SOFTGPU_ATOMIC_SMAX},
	[71] = {4, PLAIN, SOFTGPU_ATOMIC_UMAX},
	[72] = {4, PLAIN, SOFTGPU_ATOMIC_AND},
	[73] = {4, PLAIN, SOFTGPU_ATOMIC_OR},
	[74] = {4, PLAIN, SOFTGPU_ATOMIC_XOR},
	[75] = {4, PLAIN, SOFTGPU_ATOMIC_INC},
	[76] = {4, PLAIN, SOFTGPU_ATOMIC_DEC},
	[77] = {4, PLAIN, SOFTGPU_ATOMIC_ADD_FLOAT},
	[78] = {4, PLAIN, SOFTGPU_ATOMIC_PACKED_ADD_HALF},
	[79] = {8, PLAIN, SOFTGPU_ATOMIC_ADD_FLOAT},
	[80] = {8, PLAIN, SOFTGPU_ATOMIC_MIN_FLOAT},
	[81] = {8, PLAIN, SOFTGPU_ATOMIC_MAX_FLOAT},
	[96] = {8, PLAIN, SOFTGPU_ATOMIC_SWAP},
	[97] = {8, PLAIN, SOFTGPU_ATOMIC_COMPARE_SWAP},
	[98] = {8, PLAIN, SOFTGPU_ATOMIC_ADD},
	[99] = {8, PLAIN, SOFTGPU_ATOMIC_SUB},
	[100] = {8, PLAIN, SOFTGPU_ATOMIC_SMIN},
	[101] = {8, PLAIN, SOFTGPU_ATOMIC_UMIN},
	[102] = {8, PLAIN, SOFTGPU_ATOMIC_SMAX},
	[103] = {8, PLAIN, SOFTGPU_ATOMIC_UMAX},
	[104] = {8, PLAIN, SOFTGPU_ATOMIC_AND},
	[105] = {8, PLAIN, SOFTGPU_ATOMIC_OR},
	[106] = {8, PLAIN, SOFTGPU_ATOMIC_XOR},
	[107] = {8, PLAIN, SOFTGPU_ATOMIC_INC},
	[108] = {8, PLAIN, SOFTGPU_ATOMIC_DEC},
};

unsigned int softgpu_vector_memory_bytes(unsigned int opcode)
{
	return kinds[opcode].bytes;
}

static uint32_t (*registers(const struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction,
			    unsigned int number))[SOFTGPU_LANES]
{
	if (instruction->memory_flags & SOFTGPU_ACC)
		number += SOFTGPU_VGPRS;
	return &wave->vgpr[number];
}

static void swizzled_addresses(const struct softgpu_lane_access *access, unsigned int byte,
			       uint64_t out[SOFTGPU_LANES])
{
	softgpu_for_each_lane (lane, access->swizzled_mask) {
		uint32_t offset = access->offset[lane] + byte;

		out[lane] =
			access->address[lane] + (uint64_t)(offset / 4) * access->step + offset % 4;
	}
}

/* Whether no access of a swizzled lane crosses a dword other than at its end. */
static bool swizzled_aligned(const struct softgpu_lane_access *access, unsigned int bytes)
{
	uint32_t low = 0;

	softgpu_for_each_lane (lane, access->swizzled_mask)
		low |= access->offset[lane];
	return bytes == 1 || low % (bytes < 4 ? bytes : 4) == 0;
}

static bool load_swizzled(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			  const struct softgpu_lane_access *access, unsigned int bytes,
			  uint32_t (*out)[SOFTGPU_LANES])
{
	uint64_t mask = access->swizzled_mask;
	uint64_t address[SOFTGPU_LANES];
	uint32_t part[1][SOFTGPU_LANES];

	if (swizzled_aligned(access, bytes)) {
		for (unsigned int byte = 0; byte < bytes; byte += 4) {
			swizzled_addresses(access, byte, address);
			if (!softgpu_load_lanes(wave, instruction, address, mask,
						bytes < 4 ? bytes : 4, out + byte / 4))
				return false;
		}
		return true;
	}
	for (unsigned int byte = 0; byte < bytes; byte++) {
		swizzled_addresses(access, byte, address);
		if (!softgpu_load_lanes(wave, instruction, address, mask, 1, part))
			return false;
		softgpu_for_each_lane (lane, mask) {
			uint32_t before = byte % 4 == 0 ? 0 : out[byte / 4][lane];

			out[byte / 4][lane] = before | part[0][lane] << byte % 4 * 8;
		}
	}
	return true;
}

static bool store_swizzled(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			   const struct softgpu_lane_access *access, unsigned int bytes,
			   const uint32_t (*in)[SOFTGPU_LANES])
{
	uint64_t mask = access->swizzled_mask;
	uint64_t address[SOFTGPU_LANES];
	uint32_t part[1][SOFTGPU_LANES];

	if (swizzled_aligned(access, bytes)) {
		for (unsigned int byte = 0; byte < bytes; byte += 4) {
			swizzled_addresses(access, byte, address);
			if (!softgpu_store_lanes(wave, instruction, address, mask,
						 bytes < 4 ? bytes : 4, in + byte / 4))
				return false;
		}
		return true;
	}
	for (unsigned int byte = 0; byte < bytes; byte++) {
		swizzled_addresses(access, byte, address);
		softgpu_for_each_lane (lane, mask)
			part[0][lane] = in[byte / 4][lane] >> byte % 4 * 8;
		if (!softgpu_store_lanes(wave, instruction, address, mask, 1,
					 (const uint32_t(*)[SOFTGPU_LANES])part))
			return false;
	}
	return true;
}

static bool load(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		 const struct softgpu_lane_access *access, unsigned int bytes,
		 uint32_t (*out)[SOFTGPU_LANES])
{
	if (access->linear_mask != 0 && !softgpu_load_lanes(wave, instruction, access->address,
							    access->linear_mask, bytes, out))
		return false;
	if (access->swizzled_mask != 0 && !load_swizzled(wave, instruction, access, bytes, out))
		return false;
	if (access->lds_mask != 0)
		softgpu_lds_load_lanes(wave, access->offset, access->lds_mask, bytes, out);
	softgpu_for_each_lane (lane, access->outside_mask)
		for (unsigned int i = 0; i < (bytes + 3) / 4; i++)
			out[i][lane] = 0;
	return true;
}

static uint32_t converted(uint32_t before, uint32_t value, const struct kind *kind)
{
	uint32_t extended = kind->bytes == 1 ? (uint32_t)(int32_t)(int8_t)value
					     : (uint32_t)(int32_t)(int16_t)value;

	switch ((enum conversion)kind->conversion) {
	case SIGNED:
		return extended;
	case LOW_HALF:
		return (before & 0xffff0000) | value;
	case SIGNED_LOW_HALF:
		return (before & 0xffff0000) | (extended & 0xffff);
	case HIGH_HALF:
		return (before & 0xffff) | value << 16;
	case SIGNED_HIGH_HALF:
		return (before & 0xffff) | extended << 16;
	default:
		return value;
	}
}

static uint64_t all_lanes(const struct softgpu_lane_access *access)
{
	return access->linear_mask | access->swizzled_mask | access->lds_mask |
	       access->outside_mask;
}

static void load_registers(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			   const struct softgpu_lane_access *access, const struct kind *kind)
{
	uint32_t(*out)[SOFTGPU_LANES] = registers(wave, instruction, instruction->destination);
	uint32_t data[1][SOFTGPU_LANES];

	if (kind->conversion == PLAIN) {
		load(wave, instruction, access, kind->bytes, out);
		return;
	}
	if (!load(wave, instruction, access, kind->bytes, data))
		return;
	softgpu_for_each_lane (lane, all_lanes(access))
		out[0][lane] = converted(out[0][lane], data[0][lane], kind);
}

/* Load to LDS: each lane's dword at M0's base, the instruction's offset and four times the lane. */
static void load_to_lds(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			const struct softgpu_lane_access *access, const struct kind *kind)
{
	uint32_t data[4][SOFTGPU_LANES], offset[SOFTGPU_LANES];

	if (!load(wave, instruction, access, kind->bytes, data))
		return;
	softgpu_for_each_lane (lane, all_lanes(access)) {
		data[0][lane] = converted(0, data[0][lane], kind);
		offset[lane] =
			(wave->m0 & 0xffff) + (uint32_t)instruction->offset + (uint32_t)lane * 4;
	}
	softgpu_lds_store_lanes(wave, offset, all_lanes(access), 4,
				(const uint32_t(*)[SOFTGPU_LANES])data);
}

static void store_registers(struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction,
			    const struct softgpu_lane_access *access, const struct kind *kind)
{
	const uint32_t(*in)[SOFTGPU_LANES] = (const uint32_t(*)[SOFTGPU_LANES])registers(
		wave, instruction, instruction->data[0]);
	uint32_t high[1][SOFTGPU_LANES];

	if (kind->conversion == HIGH_HALF) {
		for (int lane = 0; lane < SOFTGPU_LANES; lane++)
			high[0][lane] = in[0][lane] >> 16;
		in = (const uint32_t(*)[SOFTGPU_LANES])high;
	}
	if (access->linear_mask != 0 && !softgpu_store_lanes(wave, instruction, access->address,
							     access->linear_mask, kind->bytes, in))
		return;
	if (access->swizzled_mask != 0 &&
	    !store_swizzled(wave, instruction, access, kind->bytes, in))
		return;
	if (access->lds_mask != 0)
		softgpu_lds_store_lanes(wave, access->offset, access->lds_mask, kind->bytes, in);
}

static uint64_t lane_value(uint32_t (*registers)[SOFTGPU_LANES], unsigned int bytes,
			   unsigned int lane)
{
	return bytes == 8 ? (uint64_t)registers[1][lane] << 32 | registers[0][lane]
			  : registers[0][lane];
}

static bool atomic_at(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		      const struct softgpu_lane_access *access, const struct kind *kind,
		      unsigned int lane, uint64_t data, uint64_t compare, uint64_t *old)
{
	uint64_t bit = (uint64_t)1 << lane;
	uint64_t address = access->address[lane];

	*old = 0;
	if (access->outside_mask & bit)
		return true;
	if (access->lds_mask & bit) {
		*old = softgpu_lds_atomic(wave, access->offset[lane], kind->atomic, kind->bytes,
					  data, compare);
		return true;
	}
	if (access->swizzled_mask & bit) {
		if (kind->bytes != 4 || access->offset[lane] % 4 != 0) {
			softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
					   "%s: not emulated in swizzled memory",
					   instruction->operation->name);
			return false;
		}
		address += (uint64_t)(access->offset[lane] / 4) * access->step;
	}
	return softgpu_atomic_lane(wave, instruction, address, kind->atomic, kind->bytes, data,
				   compare, old);
}

static void atomic_registers(struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction,
			     const struct softgpu_lane_access *access, const struct kind *kind)
{
	uint32_t(*in)[SOFTGPU_LANES] = registers(wave, instruction, instruction->data[0]);
	uint32_t(*out)[SOFTGPU_LANES] = registers(wave, instruction, instruction->destination);
	bool returns = instruction->memory_flags & SOFTGPU_GLC;
	bool compares = kind->atomic == SOFTGPU_ATOMIC_COMPARE_SWAP;

	softgpu_for_each_lane (lane, all_lanes(access)) {
		uint64_t data = lane_value(in, kind->bytes, lane);
		uint64_t compare =
			compares ? lane_value(in + kind->bytes / 4, kind->bytes, lane) : 0;
		uint64_t old;

		if (!atomic_at(wave, instruction, access, kind, lane, data, compare, &old))
			return;
		if (!returns)
			continue;
		out[0][lane] = (uint32_t)old;
		if (kind->bytes == 8)
			out[1][lane] = (uint32_t)(old >> 32);
	}
}

void softgpu_vector_memory(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			   struct softgpu_lane_access *access)
{
	const struct kind *kind = &kinds[instruction->opcode];
	uint32_t flags = instruction->operation->flags;

	if (flags & SOFTGPU_ATOMIC)
		atomic_registers(wave, instruction, access, kind);
	else if (flags & SOFTGPU_STORE)
		store_registers(wave, instruction, access, kind);
	else if (instruction->memory_flags & SOFTGPU_LDS)
		load_to_lds(wave, instruction, access, kind);
	else
		load_registers(wave, instruction, access, kind);
}
