/* SPDX-License-Identifier: MIT */
/* DS: atomics on LDS. */
#include "ds.h"
#include "lds.h"

/* Opcode bits: 0..4 the operation, 5 returns the former value, 6 is of 64 bits. */
enum {
	RETURNS = 32,
	WIDE = 64,
};

static const uint8_t operations[32] = {
	[0] = SOFTGPU_ATOMIC_ADD,	    [1] = SOFTGPU_ATOMIC_SUB,
	[2] = SOFTGPU_ATOMIC_REVERSE_SUB,   [3] = SOFTGPU_ATOMIC_INC,
	[4] = SOFTGPU_ATOMIC_DEC,	    [5] = SOFTGPU_ATOMIC_SMIN,
	[6] = SOFTGPU_ATOMIC_SMAX,	    [7] = SOFTGPU_ATOMIC_UMIN,
	[8] = SOFTGPU_ATOMIC_UMAX,	    [9] = SOFTGPU_ATOMIC_AND,
	[10] = SOFTGPU_ATOMIC_OR,	    [11] = SOFTGPU_ATOMIC_XOR,
	[12] = SOFTGPU_ATOMIC_MASKED_OR,    [13] = SOFTGPU_ATOMIC_SWAP,
	[16] = SOFTGPU_ATOMIC_COMPARE_SWAP, [17] = SOFTGPU_ATOMIC_COMPARE_SWAP_FLOAT,
	[18] = SOFTGPU_ATOMIC_MIN_FLOAT,    [19] = SOFTGPU_ATOMIC_MAX_FLOAT,
	[21] = SOFTGPU_ATOMIC_ADD_FLOAT,    [28] = SOFTGPU_ATOMIC_ADD_FLOAT, /* f64 */
};

static uint64_t lane_value(uint32_t (*registers)[SOFTGPU_LANES], bool wide, unsigned int lane)
{
	return wide ? (uint64_t)registers[1][lane] << 32 | registers[0][lane] : registers[0][lane];
}

static void write_lane(uint32_t (*registers)[SOFTGPU_LANES], bool wide, unsigned int lane,
		       uint64_t value)
{
	registers[0][lane] = (uint32_t)value;
	if (wide)
		registers[1][lane] = (uint32_t)(value >> 32);
}

void softgpu_ds_atomic(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	enum softgpu_atomic_operation operation = operations[instruction->opcode & 31];
	bool wide = instruction->opcode & WIDE;
	bool two_operands = instruction->operation->source[2] != SOFTGPU_NONE;
	const uint32_t *address = wave->vgpr[instruction->address];
	uint32_t(*in)[SOFTGPU_LANES] =
		softgpu_ds_registers(wave, instruction, instruction->data[0]);
	uint32_t(*second)[SOFTGPU_LANES] =
		softgpu_ds_registers(wave, instruction, instruction->data[1]);
	uint32_t(*out)[SOFTGPU_LANES] =
		softgpu_ds_registers(wave, instruction, instruction->destination);

	softgpu_for_each_lane (lane, wave->exec) {
		uint64_t data = lane_value(in, wide, lane), compare = 0, old;

		/* With two operands the first is what to compare with, or the mask. */
		if (two_operands) {
			compare = data;
			data = lane_value(second, wide, lane);
		}
		old = softgpu_lds_atomic(wave, address[lane] + (uint32_t)instruction->offset,
					 operation, wide ? 8 : 4, data, compare);
		if (instruction->opcode & RETURNS)
			write_lane(out, wide, lane, old);
	}
}

void softgpu_ds_exchange2(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	bool wide = instruction->opcode & WIDE;
	unsigned int bytes = wide ? 8 : 4;
	unsigned int unit = instruction->opcode & 1 ? 64 * bytes : bytes; /* odd: st64 */
	uint32_t(*out)[SOFTGPU_LANES] =
		softgpu_ds_registers(wave, instruction, instruction->destination);

	softgpu_for_each_lane (lane, wave->exec) {
		uint32_t address = wave->vgpr[instruction->address][lane];
		uint64_t old[2];

		for (int i = 0; i < 2; i++) {
			uint64_t data = lane_value(
				softgpu_ds_registers(wave, instruction, instruction->data[i]), wide,
				lane);

			old[i] = softgpu_lds_atomic(
				wave, address + softgpu_ds_offset(instruction, i, unit),
				SOFTGPU_ATOMIC_SWAP, bytes, data, 0);
		}
		write_lane(out, wide, lane, old[0]);
		write_lane(out + bytes / 4, wide, lane, old[1]);
	}
}

/* memory >= data ? memory - data : memory + data2 */
void softgpu_ds_wrap(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	uint32_t *first = *softgpu_ds_registers(wave, instruction, instruction->data[0]);
	uint32_t *second = *softgpu_ds_registers(wave, instruction, instruction->data[1]);
	uint32_t *out = *softgpu_ds_registers(wave, instruction, instruction->destination);

	softgpu_for_each_lane (lane, wave->exec) {
		uint32_t offset[SOFTGPU_LANES], memory[1][SOFTGPU_LANES], value[1][SOFTGPU_LANES];
		uint64_t bit = (uint64_t)1 << lane;

		offset[lane] =
			wave->vgpr[instruction->address][lane] + (uint32_t)instruction->offset;
		softgpu_lds_load_lanes(wave, offset, bit, 4, memory);
		value[0][lane] = memory[0][lane] >= first[lane] ? memory[0][lane] - first[lane]
								: memory[0][lane] + second[lane];
		softgpu_lds_store_lanes(wave, offset, bit, 4,
					(const uint32_t(*)[SOFTGPU_LANES])value);
		out[lane] = memory[0][lane];
	}
}
