/* SPDX-License-Identifier: MIT */
/* Decoding of the vector memory families: DS, FLAT, GLOBAL, SCRATCH, MUBUF. */
#include "decode.h"

#define FIELD(dword, low, bits) ((dword) >> (low) & ((1u << (bits)) - 1))

/* Destination, address in source 0 and data in sources 1 and 2 of the operation's shape. */
static bool check_registers(const struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation = out->operation;

	return softgpu_check_vgpr(out->destination, operation->destination) &&
	       softgpu_check_vgpr(out->address, operation->source[0]) &&
	       softgpu_check_vgpr(out->data[0], operation->source[1]) &&
	       softgpu_check_vgpr(out->data[1], operation->source[2]);
}

enum softgpu_decode_result softgpu_decode_ds(const uint32_t dwords[2],
					     struct softgpu_instruction *out)
{
	out->family = SOFTGPU_DS;
	out->opcode = FIELD(dwords[0], 17, 8);
	out->operation = &softgpu_ds_operations[out->opcode];
	if (out->operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	out->offset = (int32_t)FIELD(dwords[0], 0, 16);
	if (FIELD(dwords[0], 16, 1))
		out->memory_flags |= SOFTGPU_GDS;
	if (FIELD(dwords[0], 25, 1))
		out->memory_flags |= SOFTGPU_ACC;
	out->address = FIELD(dwords[1], 0, 8);
	out->data[0] = FIELD(dwords[1], 8, 8);
	out->data[1] = FIELD(dwords[1], 16, 8);
	out->destination = FIELD(dwords[1], 24, 8);
	return check_registers(out) ? SOFTGPU_DECODED : SOFTGPU_DECODE_UNKNOWN;
}

/* The address operand depends on saddr, all else on the operation. */
static bool check_flat(struct softgpu_instruction *out)
{
	unsigned int address = SOFTGPU_B64;
	bool scalar = out->scalar_offset != 0x7f;

	if (out->family == SOFTGPU_SCRATCH) {
		address = scalar ? SOFTGPU_NONE : SOFTGPU_B32;
		if (scalar && !softgpu_check_scalar_register(&out->scalar_offset, SOFTGPU_B32))
			return false;
	} else if (out->family == SOFTGPU_GLOBAL && scalar) {
		address = SOFTGPU_B32;
		if (!softgpu_check_scalar_register(&out->scalar_offset, SOFTGPU_B64))
			return false;
	}
	return softgpu_check_vgpr(out->address, address) &&
	       softgpu_check_vgpr(out->data[0], out->operation->source[1]);
}

/* Loads of at most a dword, but none into register halves, can go to LDS. */
static bool loads_to_lds(const struct softgpu_instruction *out)
{
	if (out->operation->execute == NULL)
		return true; /* what softgpu does not emulate has exceptions */
	return out->operation->flags & SOFTGPU_LOAD &&
	       !(out->operation->flags & SOFTGPU_DESTINATION_IS_SOURCE) &&
	       out->operation->destination == SOFTGPU_B32;
}

enum softgpu_decode_result softgpu_decode_flat(const uint32_t dwords[2],
					       struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation;

	out->opcode = FIELD(dwords[0], 18, 7);
	switch (FIELD(dwords[0], 14, 2)) {
	case 0:
		out->family = SOFTGPU_FLAT;
		out->operation = &softgpu_flat_operations[out->opcode];
		/* Unsigned and of 12 bits, unlike the other two. */
		if (FIELD(dwords[0], 12, 1))
			return SOFTGPU_DECODE_UNKNOWN;
		out->offset = (int32_t)FIELD(dwords[0], 0, 12);
		break;
	case 1:
		out->family = SOFTGPU_SCRATCH;
		out->operation = &softgpu_scratch_operations[out->opcode];
		out->offset = (int32_t)(dwords[0] << 19) >> 19;
		break;
	case 2:
		out->family = SOFTGPU_GLOBAL;
		out->operation = &softgpu_global_operations[out->opcode];
		out->offset = (int32_t)(dwords[0] << 19) >> 19;
		break;
	default:
		return SOFTGPU_DECODE_UNKNOWN;
	}
	operation = out->operation;
	if (operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	if (FIELD(dwords[0], 13, 1)) {
		if (out->family == SOFTGPU_FLAT || !loads_to_lds(out))
			return SOFTGPU_DECODE_UNKNOWN;
		out->memory_flags |= SOFTGPU_LDS;
	}
	if (FIELD(dwords[0], 16, 1))
		out->memory_flags |= SOFTGPU_GLC;
	if (FIELD(dwords[0], 17, 1))
		out->memory_flags |= SOFTGPU_SLC;
	if (FIELD(dwords[0], 25, 1))
		out->memory_flags |= SOFTGPU_SCC;
	if (FIELD(dwords[1], 23, 1))
		out->memory_flags |= SOFTGPU_ACC;
	out->address = FIELD(dwords[1], 0, 8);
	out->data[0] = FIELD(dwords[1], 8, 8);
	out->scalar_offset = FIELD(dwords[1], 16, 7);
	out->destination = FIELD(dwords[1], 24, 8);
	if (!check_flat(out))
		return SOFTGPU_DECODE_UNKNOWN;
	/* Atomics return the former value only with GLC. */
	if (!(operation->flags & SOFTGPU_ATOMIC) || out->memory_flags & SOFTGPU_GLC)
		if (!softgpu_check_vgpr(out->destination, operation->destination))
			return SOFTGPU_DECODE_UNKNOWN;
	return SOFTGPU_DECODED;
}

enum softgpu_decode_result softgpu_decode_mubuf(const uint32_t dwords[2],
						struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation;
	unsigned int address = SOFTGPU_NONE;
	bool index, offset;

	out->family = SOFTGPU_MUBUF;
	out->opcode = FIELD(dwords[0], 18, 7);
	out->operation = operation = &softgpu_mubuf_operations[out->opcode];
	if (operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	offset = FIELD(dwords[0], 12, 1);
	index = FIELD(dwords[0], 13, 1);
	if (offset)
		out->memory_flags |= SOFTGPU_OFFEN;
	if (index)
		out->memory_flags |= SOFTGPU_IDXEN;
	if (FIELD(dwords[0], 14, 1))
		out->memory_flags |= SOFTGPU_GLC;
	if (FIELD(dwords[0], 15, 1))
		out->memory_flags |= SOFTGPU_SCC;
	if (FIELD(dwords[0], 16, 1)) {
		if (!loads_to_lds(out))
			return SOFTGPU_DECODE_UNKNOWN;
		out->memory_flags |= SOFTGPU_LDS;
	}
	if (FIELD(dwords[0], 17, 1))
		out->memory_flags |= SOFTGPU_SLC;
	if (FIELD(dwords[1], 23, 1))
		out->memory_flags |= SOFTGPU_ACC;
	out->offset = (int32_t)FIELD(dwords[0], 0, 12);
	if (operation->destination == SOFTGPU_NONE && operation->source[1] == SOFTGPU_NONE)
		return SOFTGPU_DECODED; /* cache control */
	if (offset || index)
		address = offset && index ? SOFTGPU_B64 : SOFTGPU_B32;
	out->address = FIELD(dwords[1], 0, 8);
	out->destination = out->data[0] = FIELD(dwords[1], 8, 8);
	out->resource = (uint16_t)(FIELD(dwords[1], 16, 5) * 4);
	out->scalar_offset = FIELD(dwords[1], 24, 8);
	if (!softgpu_check_scalar_register(&out->resource, SOFTGPU_B128) ||
	    out->scalar_offset == SOFTGPU_CODE_LITERAL ||
	    !softgpu_check_scalar_source(&out->scalar_offset, SOFTGPU_B32) ||
	    !softgpu_check_vgpr(out->address, address) ||
	    !softgpu_check_vgpr(out->data[0], operation->source[1]))
		return SOFTGPU_DECODE_UNKNOWN;
	if (!(operation->flags & SOFTGPU_ATOMIC) || out->memory_flags & SOFTGPU_GLC)
		if (!softgpu_check_vgpr(out->destination, operation->destination))
			return SOFTGPU_DECODE_UNKNOWN;
	return SOFTGPU_DECODED;
}
