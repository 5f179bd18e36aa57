/* SPDX-License-Identifier: MIT */
/*
 * Operands of vector ALU operations: turns sources of every form into arrays of lanes and writes
 * results back.
 */
#include "vector.h"

#include <fenv.h>

static const uint32_t zero_lanes[SOFTGPU_LANES];

static bool is_float(unsigned int type)
{
	return type == SOFTGPU_F16 || type == SOFTGPU_F32 || type == SOFTGPU_F64 ||
	       type == SOFTGPU_PKF16 || type == SOFTGPU_PKF32;
}

static bool is_packed16(unsigned int type)
{
	return type == SOFTGPU_PK16 || type == SOFTGPU_PKF16;
}

static void broadcast(uint32_t *lanes, uint32_t value)
{
	SOFTGPU_FOR_LANES (lane)
		lanes[lane] = value;
}

/* Registers and constants as they are. */
static void fetch(struct softgpu_vector *vector, unsigned int index, unsigned int code,
		  unsigned int type)
{
	const struct softgpu_wave *wave = vector->wave;
	const unsigned int dwords = softgpu_operand_dwords(type);
	uint64_t value;

	if (code >= SOFTGPU_CODE_VGPR0) {
		const unsigned int vgpr = code - SOFTGPU_CODE_VGPR0;

		vector->source[index] = wave->vgpr[vgpr];
		vector->source_high[index] = dwords > 1 ? wave->vgpr[vgpr + 1] : zero_lanes;
		return;
	}
	if (dwords > 1) {
		value = softgpu_scalar64(wave, vector->instruction, code, type);
		broadcast(vector->storage[index][1], (uint32_t)(value >> 32));
		vector->source_high[index] = vector->storage[index][1];
	} else {
		value = softgpu_scalar32(wave, vector->instruction, code, type);
		vector->source_high[index] = zero_lanes;
	}
	broadcast(vector->storage[index][0], (uint32_t)value);
	vector->source[index] = vector->storage[index][0];
}

/* The lane that lane reads under a DPP control, -1 if there is none. */
static int dpp_source_lane(unsigned int control, int lane)
{
	const int row = lane & ~15;
	const int column = lane & 15;
	const int amount = (int)(control & 15);

	if (control < 0x100)
		return (lane & ~3) | (int)(control >> 2 * (lane & 3) & 3);
	switch (control & 0x1f0) {
	case 0x100: /* row_shl */
		return column + amount < 16 ? lane + amount : -1;
	case 0x110: /* row_shr */
		return column >= amount ? lane - amount : -1;
	case 0x120: /* row_ror */
		return row | ((column - amount) & 15);
	case 0x150: /* row_newbcast */
		return row | amount;
	default:
		break;
	}
	switch (control) {
	case 0x130: /* wave_shl */
		return lane < 63 ? lane + 1 : -1;
	case 0x134: /* wave_rol */
		return (lane + 1) & 63;
	case 0x138: /* wave_shr */
		return lane - 1;
	case 0x13c: /* wave_ror */
		return (lane - 1) & 63;
	case 0x140: /* row_mirror */
		return row | (15 - column);
	case 0x141: /* row_half_mirror */
		return (lane & ~7) | (7 - (lane & 7));
	case 0x142: /* row_bcast15: the last lane of the row before */
		return row - 1;
	case 0x143: /* row_bcast31 */
		return lane < 32 ? -1 : 31;
	default:
		return -1;
	}
}

/*
 * Moves the lanes of source 0. A lane whose source lane does not exist or is inactive reads 0 with
 * bound_ctrl and is not written without.
 */
static void apply_dpp(struct softgpu_vector *vector)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const uint64_t exec = vector->wave->exec;
	uint32_t *low = vector->storage[0][0];
	uint32_t *high = vector->storage[0][1];

	for (int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const int from = dpp_source_lane(instruction->dpp_control, lane);
		const bool valid = from >= 0 && exec >> from & 1;
		const bool enabled = instruction->dpp_row_mask >> (lane >> 4) & 1 &&
				     instruction->dpp_bank_mask >> (lane >> 2 & 3) & 1;

		low[lane] = valid ? vector->source[0][from] : 0;
		high[lane] = valid ? vector->source_high[0][from] : 0;
		if (!enabled || (!valid && !instruction->dpp_bound_ctrl))
			vector->active &= ~(UINT64_C(1) << lane);
	}
	vector->source[0] = low;
	vector->source_high[0] = high;
}

static uint32_t sdwa_select(uint32_t value, unsigned int select, bool sign_extend)
{
	if (select <= SOFTGPU_SDWA_BYTE_3) {
		value = value >> 8 * select & 0xff;
		return sign_extend ? (uint32_t)(int32_t)(int8_t)value : value;
	}
	if (select <= SOFTGPU_SDWA_WORD_1) {
		value = value >> 16 * (select - SOFTGPU_SDWA_WORD_0) & 0xffff;
		return sign_extend ? (uint32_t)(int32_t)(int16_t)value : value;
	}
	return value;
}

static void apply_sdwa(struct softgpu_vector *vector, unsigned int index)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const unsigned int select = instruction->sdwa_source[index];
	uint32_t *lanes = vector->storage[index][0];

	if (select == SOFTGPU_SDWA_DWORD)
		return;
	SOFTGPU_FOR_LANES (lane)
		lanes[lane] = sdwa_select(vector->source[index][lane], select,
					  instruction->sdwa_sext >> index & 1);
	vector->source[index] = lanes;
}

/* op_sel of VOP3 and of VOP3P: which half of the source the operation sees. */
static void apply_op_sel(struct softgpu_vector *vector, unsigned int index, unsigned int type)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const bool low_from_high = instruction->op_sel >> index & 1;
	const bool high_from_high = instruction->op_sel_hi >> index & 1;
	const uint32_t *low = vector->source[index];
	const uint32_t *high = vector->source_high[index];
	uint32_t *lanes = vector->storage[index][0];

	if (type == SOFTGPU_PKF32 || type == SOFTGPU_PK32) {
		vector->source[index] = low_from_high ? high : low;
		vector->source_high[index] = high_from_high ? high : low;
	} else if (is_packed16(type)) {
		if (!low_from_high && high_from_high)
			return;
		SOFTGPU_FOR_LANES (lane)
			lanes[lane] = (low[lane] >> 16 * low_from_high & 0xffff) |
				      low[lane] >> 16 * high_from_high << 16;
		vector->source[index] = lanes;
	} else if (low_from_high && (type == SOFTGPU_B16 || type == SOFTGPU_F16)) {
		SOFTGPU_FOR_LANES (lane)
			lanes[lane] = low[lane] >> 16;
		vector->source[index] = lanes;
	}
}

static void flip_bits(struct softgpu_vector *vector, unsigned int index, unsigned int half,
		      uint32_t clear, uint32_t flip)
{
	const uint32_t *from = half ? vector->source_high[index] : vector->source[index];
	uint32_t *lanes = vector->storage[index][half];

	if (!clear && !flip)
		return;
	SOFTGPU_FOR_LANES (lane)
		lanes[lane] = (from[lane] & ~clear) ^ flip;
	if (half)
		vector->source_high[index] = lanes;
	else
		vector->source[index] = lanes;
}

static void apply_sign(struct softgpu_vector *vector, unsigned int index, unsigned int type)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const bool abs = instruction->abs >> index & 1;
	const bool neg = instruction->neg >> index & 1;
	const bool neg_hi = instruction->neg_hi >> index & 1;

	switch (type) {
	case SOFTGPU_F16:
		flip_bits(vector, index, 0, 0x8000u * abs, 0x8000u * neg);
		break;
	case SOFTGPU_F32:
		flip_bits(vector, index, 0, 0x80000000u * abs, 0x80000000u * neg);
		break;
	case SOFTGPU_F64:
		flip_bits(vector, index, 1, 0x80000000u * abs, 0x80000000u * neg);
		break;
	case SOFTGPU_PKF16:
		flip_bits(vector, index, 0, 0, 0x8000u * neg | 0x80000000u * neg_hi);
		break;
	case SOFTGPU_PKF32:
		flip_bits(vector, index, 0, 0, 0x80000000u * neg);
		flip_bits(vector, index, 1, 0, 0x80000000u * neg_hi);
		break;
	default:
		break;
	}
}

void softgpu_vector_begin_raw(struct softgpu_vector *vector, struct softgpu_wave *wave,
			      const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;

	vector->wave = wave;
	vector->instruction = instruction;
	vector->active = wave->exec;
	vector->destination = instruction->destination;
	vector->rounding = FE_TONEAREST;
	vector->keep_denormals_in = true;
	vector->keep_denormals_out = true;
	for (unsigned int index = 0; index < 3; index++) {
		if (operation->source[index] == SOFTGPU_NONE ||
		    operation->source[index] == SOFTGPU_MASK) {
			vector->source[index] = zero_lanes;
			vector->source_high[index] = zero_lanes;
		} else {
			fetch(vector, index, instruction->source[index], operation->source[index]);
		}
	}
	if (operation->flags & SOFTGPU_DESTINATION_IS_SOURCE) {
		vector->source[2] = wave->vgpr[vector->destination];
		vector->source_high[2] = wave->vgpr[vector->destination + 1];
	}
}

void softgpu_vector_begin(struct softgpu_vector *vector, struct softgpu_wave *wave,
			  const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;
	const bool selects =
		instruction->family == SOFTGPU_VOP3P || operation->flags & SOFTGPU_OP_SEL;

	softgpu_vector_begin_raw(vector, wave, instruction);
	if (instruction->form == SOFTGPU_FORM_DPP) {
		apply_dpp(vector);
	} else if (instruction->form == SOFTGPU_FORM_SDWA) {
		apply_sdwa(vector, 0);
		if (operation->source[1] != SOFTGPU_NONE)
			apply_sdwa(vector, 1);
	}
	if (!selects && !instruction->abs && !instruction->neg)
		return;
	for (unsigned int index = 0; index < 3; index++) {
		const unsigned int type = operation->source[index];

		if (selects)
			apply_op_sel(vector, index, type);
		if (is_float(type))
			apply_sign(vector, index, type);
	}
}

/* The position in MODE of what rules this type: 32-bit floats have fields of their own. */
static unsigned int mode_field(unsigned int type, unsigned int field32)
{
	return type == SOFTGPU_F32 || type == SOFTGPU_PKF32 ? field32 : field32 + 2;
}

static uint32_t flush32(uint32_t bits)
{
	return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint32_t flush16(uint32_t bits)
{
	return bits & 0x7c00 ? bits : bits & ~0x3ffu;
}

void softgpu_vector_flush(uint32_t *low_to, uint32_t *high_to, const uint32_t *low,
			  const uint32_t *high, unsigned int type)
{
	SOFTGPU_FOR_LANES (lane) {
		switch (type) {
		case SOFTGPU_F16:
			low_to[lane] = flush16(low[lane]);
			break;
		case SOFTGPU_PKF16:
			low_to[lane] = flush16(low[lane] & 0xffff) | flush16(low[lane] >> 16) << 16;
			break;
		case SOFTGPU_F32:
			low_to[lane] = flush32(low[lane]);
			break;
		case SOFTGPU_PKF32:
			low_to[lane] = flush32(low[lane]);
			high_to[lane] = flush32(high[lane]);
			break;
		case SOFTGPU_F64: {
			const bool flush = !(high[lane] & 0x7ff00000);

			low_to[lane] = flush ? 0 : low[lane];
			high_to[lane] = flush ? high[lane] & 0x80000000 : high[lane];
			break;
		}
		default:
			return;
		}
	}
}

static void flush_source(struct softgpu_vector *vector, unsigned int index, unsigned int type)
{
	uint32_t *low = vector->storage[index][0];
	uint32_t *high = vector->storage[index][1];

	softgpu_vector_flush(low, high, vector->source[index], vector->source_high[index], type);
	vector->source[index] = low;
	if (type == SOFTGPU_F64 || type == SOFTGPU_PKF32)
		vector->source_high[index] = high;
}

static void set_rounding(struct softgpu_vector *vector, unsigned int type)
{
	static const int host_rounding[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
	const unsigned int field = mode_field(type, SOFTGPU_MODE_ROUND_32);
	const int wanted = host_rounding[vector->wave->mode >> field & 3];

	if (wanted == FE_TONEAREST)
		return;
	vector->rounding = wanted;
	fesetround(wanted);
}

static void begin_float(struct softgpu_vector *vector, struct softgpu_wave *wave,
			const struct softgpu_instruction *instruction, bool flush_always)
{
	const struct softgpu_operation *operation = instruction->operation;
	const unsigned int result = operation->destination;
	const uint32_t denormals =
		flush_always ? 0 : wave->mode >> mode_field(result, SOFTGPU_MODE_DENORM_32);

	softgpu_vector_begin(vector, wave, instruction);
	vector->keep_denormals_out = denormals >> 1 & 1;
	for (unsigned int index = 0; index < 3; index++) {
		const unsigned int type =
			operation->flags & SOFTGPU_DESTINATION_IS_SOURCE && index == 2
				? result
				: operation->source[index];
		const unsigned int field = mode_field(type, SOFTGPU_MODE_DENORM_32);

		if (is_float(type) && (flush_always || !(wave->mode >> field & 1)))
			flush_source(vector, index, type);
	}
	if (is_float(result))
		set_rounding(vector, result);
	if (wave->mode >> SOFTGPU_MODE_FP16_OVERFLOW & 1 &&
	    (result == SOFTGPU_F16 || result == SOFTGPU_PKF16))
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
				   "%s with MODE.fp16_ovfl is not emulated", operation->name);
}

void softgpu_vector_begin_mixed(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction)
{
	const unsigned int result = instruction->operation->destination;

	softgpu_vector_begin_raw(vector, wave, instruction);
	vector->keep_denormals_in = wave->mode >> SOFTGPU_MODE_DENORM_32 & 1;
	vector->keep_denormals_out =
		wave->mode >> mode_field(result, SOFTGPU_MODE_DENORM_32) >> 1 & 1;
	set_rounding(vector, result);
}

void softgpu_vector_begin_float(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction)
{
	begin_float(vector, wave, instruction, false);
}

void softgpu_vector_begin_flush(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction)
{
	begin_float(vector, wave, instruction, true);
}
