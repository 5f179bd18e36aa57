/* SPDX-License-Identifier: MIT */
/* Decoding of the scalar families: SOP1, SOP2, SOPK, SOPC, SOPP and SMEM. */
#include "decode.h"

/* Fills the literal if a source asks for it. */
static void take_literal(const uint32_t dwords[2], struct softgpu_instruction *out)
{
	for (int i = 0; i < 2; i++)
		if (out->operation->source[i] != SOFTGPU_NONE &&
		    out->source[i] == SOFTGPU_CODE_LITERAL) {
			out->literal = dwords[1];
			out->size = 2;
		}
}

static bool check_operands(struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation = out->operation;

	if (operation->destination != SOFTGPU_NONE &&
	    !softgpu_check_scalar_register(&out->scalar_destination, operation->destination))
		return false;
	for (int i = 0; i < 2; i++)
		if (operation->source[i] != SOFTGPU_NONE &&
		    !softgpu_check_scalar_source(&out->source[i], operation->source[i]))
			return false;
	return true;
}

static bool decode_sopk(const uint32_t dwords[2], struct softgpu_instruction *out)
{
	uint32_t dword = dwords[0];

	out->family = SOFTGPU_SOPK;
	out->opcode = dword >> 23 & 0x1f;
	out->operation = &softgpu_sopk_operations[out->opcode];
	out->scalar_destination = dword >> 16 & 0x7f;
	/* The operations that do not write this register read it. */
	out->source[0] = out->scalar_destination;
	out->literal = (uint32_t)(int32_t)(int16_t)dword;
	if (out->operation->source[1] != SOFTGPU_NONE) {
		/* s_setreg_imm32_b32: the value follows, simm16 is in the encoding. */
		out->source[1] = SOFTGPU_CODE_LITERAL;
		take_literal(dwords, out);
	}
	return out->operation->name != NULL;
}

enum softgpu_decode_result softgpu_decode_scalar(const uint32_t dwords[2],
						 struct softgpu_instruction *out)
{
	uint32_t dword = dwords[0];
	bool known;

	out->scalar_destination = dword >> 16 & 0x7f;
	out->source[0] = dword & 0xff;
	out->source[1] = dword >> 8 & 0xff;
	switch (dword >> 23) {
	case 0x17d:
		out->family = SOFTGPU_SOP1;
		out->opcode = dword >> 8 & 0xff;
		out->operation = &softgpu_sop1_operations[out->opcode];
		known = out->operation->name != NULL;
		break;
	case 0x17e:
		out->family = SOFTGPU_SOPC;
		out->opcode = dword >> 16 & 0x7f;
		out->operation = &softgpu_sopc_operations[out->opcode];
		known = out->operation->name != NULL;
		break;
	case 0x17f:
		out->family = SOFTGPU_SOPP;
		out->opcode = dword >> 16 & 0x7f;
		out->operation = &softgpu_sopp_operations[out->opcode];
		out->literal = (uint32_t)(int32_t)(int16_t)dword;
		return out->operation->name != NULL ? SOFTGPU_DECODED : SOFTGPU_DECODE_UNKNOWN;
	default:
		if (dword >> 28 == 0xb) {
			known = decode_sopk(dwords, out);
			break;
		}
		out->family = SOFTGPU_SOP2;
		out->opcode = dword >> 23 & 0x7f;
		out->operation = &softgpu_sop2_operations[out->opcode];
		known = out->operation->name != NULL;
	}
	if (!known)
		return SOFTGPU_DECODE_UNKNOWN;
	if (out->family != SOFTGPU_SOPK)
		take_literal(dwords, out);
	return check_operands(out) ? SOFTGPU_DECODED : SOFTGPU_DECODE_UNKNOWN;
}

enum softgpu_decode_result softgpu_decode_scalar_memory(const uint32_t dwords[2],
							struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation;
	bool immediate = dwords[0] >> 17 & 1;
	bool scalar_offset = dwords[0] >> 14 & 1;

	out->family = SOFTGPU_SMEM;
	out->opcode = dwords[0] >> 18 & 0xff;
	out->operation = operation = &softgpu_smem_operations[out->opcode];
	if (operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	out->scalar_destination = dwords[0] >> 6 & 0x7f;
	out->address = (uint16_t)((dwords[0] & 0x3f) * 2);
	if (dwords[0] >> 16 & 1)
		out->memory_flags |= SOFTGPU_GLC;
	if (dwords[0] >> 15 & 1)
		out->memory_flags |= SOFTGPU_NV;
	if (operation->destination != SOFTGPU_NONE &&
	    !softgpu_check_scalar_register(&out->scalar_destination, operation->destination))
		return SOFTGPU_DECODE_UNKNOWN;
	if (operation->source[0] == SOFTGPU_NONE) /* no address */
		return SOFTGPU_DECODED;
	if (!softgpu_check_scalar_register(&out->address, operation->source[0]))
		return SOFTGPU_DECODE_UNKNOWN;
	if (immediate) {
		out->memory_flags |= SOFTGPU_IMM;
		out->offset = (int32_t)(dwords[1] << 11) >> 11;
	}
	/* Without an immediate the SGPR number is in the offset field. */
	if (scalar_offset || !immediate) {
		out->memory_flags |= SOFTGPU_SOFFSET_EN;
		out->scalar_offset = scalar_offset ? dwords[1] >> 25 : dwords[1] & 0x7f;
		if (!softgpu_check_scalar_register(&out->scalar_offset, SOFTGPU_B32))
			return SOFTGPU_DECODE_UNKNOWN;
	}
	return SOFTGPU_DECODED;
}
