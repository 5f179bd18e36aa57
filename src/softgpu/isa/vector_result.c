/* SPDX-License-Identifier: MIT */
/* Results of vector ALU operations: output modifiers, NaNs, lane masks, writing registers. */
#include "vector.h"

#include <fenv.h>

void softgpu_vector_copy(uint32_t *to, const uint32_t *from, uint64_t mask)
{
	for (unsigned int first = 0; first < SOFTGPU_LANES; first += 8, mask >>= 8) {
		if ((mask & 0xff) == 0xff)
			memcpy(to + first, from + first, 8 * sizeof(*to));
		else
			softgpu_for_each_lane (lane, mask & 0xff)
				to[first + lane] = from[first + lane];
	}
}

static uint32_t sdwa_merge(uint32_t old, uint32_t value, const struct softgpu_instruction *i)
{
	const bool byte = i->sdwa_destination <= SOFTGPU_SDWA_BYTE_3;
	const unsigned int shift =
		byte ? 8 * i->sdwa_destination : 16 * (i->sdwa_destination - SOFTGPU_SDWA_WORD_0);
	const uint32_t mask = (byte ? 0xffu : 0xffffu) << shift;
	const uint32_t selected = value << shift & mask;
	const bool negative = byte ? value >> 7 & 1 : value >> 15 & 1;

	switch (i->sdwa_unused) {
	case SOFTGPU_SDWA_PRESERVE:
		return (old & ~mask) | selected;
	case SOFTGPU_SDWA_SEXT:
		return negative ? selected | ~(mask | (mask - 1)) : selected;
	default:
		return selected;
	}
}

/* Puts a partial result into the place that SDWA or op_sel names. */
static void place_result(struct softgpu_vector *vector)
{
	const struct softgpu_instruction *instruction = vector->instruction;
	const uint32_t *old = vector->wave->vgpr[vector->destination];
	const bool high = instruction->op_sel >> 3 & 1;
	const unsigned int type = instruction->operation->destination;
	uint32_t *result = vector->result[0];

	if (instruction->form == SOFTGPU_FORM_SDWA &&
	    instruction->sdwa_destination != SOFTGPU_SDWA_DWORD) {
		SOFTGPU_FOR_LANES (lane)
			result[lane] = sdwa_merge(old[lane], result[lane], instruction);
	} else if (instruction->operation->flags & SOFTGPU_OP_SEL &&
		   (type == SOFTGPU_B16 || type == SOFTGPU_F16)) {
		SOFTGPU_FOR_LANES (lane)
			result[lane] = high ? (old[lane] & 0xffff) | result[lane] << 16
					    : (old[lane] & ~0xffffu) | (result[lane] & 0xffff);
	}
}

void softgpu_vector_end(struct softgpu_vector *vector)
{
	const struct softgpu_operation *operation = vector->instruction->operation;
	const unsigned int dwords = softgpu_operand_dwords(operation->destination);

	if (vector->instruction->form == SOFTGPU_FORM_SDWA || operation->flags & SOFTGPU_OP_SEL)
		place_result(vector);
	for (unsigned int dword = 0; dword < dwords; dword++)
		softgpu_vector_copy(vector->wave->vgpr[vector->destination + dword],
				    vector->result[dword], vector->active);
}

uint64_t softgpu_vector_gather_mask(const uint8_t flags[SOFTGPU_LANES])
{
	uint64_t mask = 0;

	for (unsigned int first = 0; first < SOFTGPU_LANES; first += 8) {
		uint64_t bytes;

		/* The product's top byte holds bit 0 of every byte, the first one lowest. */
		memcpy(&bytes, flags + first, sizeof(bytes));
		mask |= (bytes * UINT64_C(0x0102040810204080)) >> 56 << first;
	}
	return mask;
}

void softgpu_vector_spread_mask(uint64_t mask, uint8_t flags[SOFTGPU_LANES])
{
	for (unsigned int first = 0; first < SOFTGPU_LANES; first += 8, mask >>= 8) {
		const uint64_t bytes = ((mask & 0xff) * UINT64_C(0x0101010101010101)) &
				       UINT64_C(0x8040201008040201);

		memcpy(flags + first, &bytes, sizeof(bytes));
	}
}

void softgpu_vector_write_mask(struct softgpu_vector *vector, uint64_t mask)
{
	softgpu_write_scalar64(vector->wave, vector->instruction->scalar_destination,
			       mask & vector->active);
}

uint64_t softgpu_vector_carry_in(const struct softgpu_vector *vector)
{
	return softgpu_scalar64(vector->wave, vector->instruction, vector->instruction->source[2],
				SOFTGPU_MASK);
}

static bool has_result_type(const struct softgpu_operation *operation, unsigned int index)
{
	if (index == 2 && operation->flags & SOFTGPU_DESTINATION_IS_SOURCE)
		return true;
	return operation->source[index] == operation->destination;
}

/*
 * The NaN of an arithmetic result is the first NaN among the operands of its type, made quiet; a
 * new NaN is positive, where the host makes it negative. A conversion keeps the NaN it made.
 */
#define FIX_NAN(width, load, store, default_nan, quiet_bit)                                        \
	static void fix_nan##width(struct softgpu_vector *vector, const uint32_t *const low[3],    \
				   uint32_t *result, uint32_t *result_high)                        \
	{                                                                                          \
		const struct softgpu_operation *operation = vector->instruction->operation;        \
		const bool converts = !has_result_type(operation, 0);                              \
                                                                                                   \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			const uint##width##_t value = load(result, result_high, lane);             \
			uint##width##_t nan = converts ? value | (quiet_bit) : (default_nan);      \
                                                                                                   \
			if (!softgpu_is_nan##width(value))                                         \
				continue;                                                          \
			for (unsigned int index = 3; index-- > 0;) {                               \
				const uint##width##_t operand =                                    \
					load(low[index], vector->source_high[index], lane);        \
                                                                                                   \
				if (has_result_type(operation, index) &&                           \
				    softgpu_is_nan##width(operand))                                \
					nan = operand | (quiet_bit);                               \
			}                                                                          \
			store(result, result_high, lane, nan);                                     \
		}                                                                                  \
	}

FIX_NAN(16, softgpu_load_u16, softgpu_store_u16, 0x7e00, 0x200)
FIX_NAN(32, softgpu_load_u32, softgpu_store_u32, 0x7fc00000, 0x400000)
FIX_NAN(64, softgpu_load_u64, softgpu_store_u64, 0x7ff8000000000000, 0x8000000000000)

/* The usual case of 32-bit floats, in a loop that compilers vectorise. */
static bool has_nan32(const uint32_t *result)
{
	uint32_t found = 0;

	SOFTGPU_FOR_LANES (lane)
		found |= softgpu_is_nan32(result[lane]);
	return found;
}

static void fix_nans(struct softgpu_vector *vector)
{
	const struct softgpu_operation *operation = vector->instruction->operation;
	uint32_t *low = vector->result[0];
	uint32_t *high = vector->result[1];

	switch (operation->destination) {
	case SOFTGPU_F16:
		fix_nan16(vector, vector->source, low, high);
		break;
	case SOFTGPU_PKF32:
		fix_nan32(vector, vector->source_high, high, high);
		fix_nan32(vector, vector->source, low, high);
		break;
	case SOFTGPU_F32:
		if (has_nan32(low))
			fix_nan32(vector, vector->source, low, high);
		break;
	case SOFTGPU_F64:
		fix_nan64(vector, vector->source, low, high);
		break;
	default:
		break;
	}
}

/* omod and clamp of one value; a zero that omod leaves is positive. */
static double modify(double value, unsigned int omod, bool clamp, bool dx10_clamp)
{
	static const double factor[4] = {1.0, 2.0, 4.0, 0.5};

	if (omod)
		value = value * factor[omod] + 0.0;
	if (clamp && value != value)
		return dx10_clamp ? 0.0 : value;
	if (clamp)
		return value > 1.0 ? 1.0 : value > 0.0 ? value : 0.0;
	return value;
}

static uint16_t modify_half(uint32_t bits, unsigned int omod, bool clamp, bool dx10_clamp)
{
	const double value = softgpu_half_to_double((uint16_t)bits);

	return softgpu_half_from_double(modify(value, omod, clamp, dx10_clamp));
}

static uint32_t modify_float(uint32_t bits, unsigned int omod, bool clamp, bool dx10_clamp)
{
	return softgpu_float_bits((float)modify(softgpu_float(bits), omod, clamp, dx10_clamp));
}

/* omod only works where denormal results are flushed and IEEE mode is off. */
static void modify_results(struct softgpu_vector *vector)
{
	const uint32_t mode = vector->wave->mode;
	const bool ieee = mode >> SOFTGPU_MODE_IEEE & 1;
	const bool dx10 = mode >> SOFTGPU_MODE_DX10_CLAMP & 1;
	const bool clamp = vector->instruction->clamp;
	const unsigned int omod =
		ieee || vector->keep_denormals_out ? 0 : vector->instruction->omod;
	uint32_t *low = vector->result[0];
	uint32_t *high = vector->result[1];

	if (!omod && !clamp)
		return;
	SOFTGPU_FOR_LANES (lane) {
		switch (vector->instruction->operation->destination) {
		case SOFTGPU_F16:
			low[lane] = modify_half(low[lane], omod, clamp, dx10);
			break;
		case SOFTGPU_PKF16:
			low[lane] = modify_half(low[lane], 0, clamp, dx10) |
				    (uint32_t)modify_half(low[lane] >> 16, 0, clamp, dx10) << 16;
			break;
		case SOFTGPU_F32:
			low[lane] = modify_float(low[lane], omod, clamp, dx10);
			break;
		case SOFTGPU_PKF32:
			low[lane] = modify_float(low[lane], 0, clamp, dx10);
			high[lane] = modify_float(high[lane], 0, clamp, dx10);
			break;
		case SOFTGPU_F64:
			softgpu_store_f64(
				low, high, lane,
				modify(softgpu_load_f64(low, high, lane), omod, clamp, dx10));
			break;
		default:
			return;
		}
	}
}

void softgpu_vector_modify_float(struct softgpu_vector *vector)
{
	const unsigned int type = vector->instruction->operation->destination;

	if (vector->rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
	if (!vector->keep_denormals_out)
		softgpu_vector_flush(vector->result[0], vector->result[1], vector->result[0],
				     vector->result[1], type);
	if (vector->instruction->omod || vector->instruction->clamp)
		modify_results(vector);
}

void softgpu_vector_end_float(struct softgpu_vector *vector)
{
	softgpu_vector_modify_float(vector);
	softgpu_vector_end(vector);
}

void softgpu_vector_end_arithmetic(struct softgpu_vector *vector)
{
	fix_nans(vector);
	softgpu_vector_end_float(vector);
}
