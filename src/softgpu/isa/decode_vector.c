/* SPDX-License-Identifier: MIT */
/* Decoding of the vector ALU families: VOP1, VOP2, VOPC with SDWA and DPP, VOP3, VOP3P. */
#include "decode.h"

#define FIELD(dword, low, bits) ((dword) >> (low) & ((1u << (bits)) - 1))

static bool check_destination(struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation = out->operation;

	if (operation->flags & SOFTGPU_NO_DESTINATION)
		return true;
	if (operation->flags & (SOFTGPU_SCALAR_DESTINATION | SOFTGPU_CARRY_OUT)) {
		unsigned int type = operation->flags & SOFTGPU_CARRY_OUT ? SOFTGPU_MASK
									 : operation->destination;

		if (!softgpu_check_scalar_register(&out->scalar_destination, type))
			return false;
	}
	if (operation->flags & SOFTGPU_SCALAR_DESTINATION)
		return true;
	return softgpu_check_vgpr(out->destination, operation->destination);
}

static bool check_sources(struct softgpu_instruction *out)
{
	for (int i = 0; i < 3; i++) {
		unsigned int type = out->operation->source[i];

		/* A constant may stand for a whole matrix. */
		if (out->operation->flags & SOFTGPU_MATRIX && out->source[i] < SOFTGPU_CODE_VGPR0 &&
		    out->source[i] >= SOFTGPU_CODE_ZERO)
			type = SOFTGPU_B32;
		if (type != SOFTGPU_NONE && !softgpu_check_source(&out->source[i], type))
			return false;
	}
	return true;
}

static bool is_float(unsigned int type)
{
	return type == SOFTGPU_F16 || type == SOFTGPU_F32 || type == SOFTGPU_F64 ||
	       type == SOFTGPU_PKF16;
}

/* Only floats have a sign to change or a scale, only integers can be sign-extended. */
static void drop_meaningless_modifiers(struct softgpu_instruction *out)
{
	if (!is_float(out->operation->destination))
		out->omod = 0;
	for (int i = 0; i < 3; i++) {
		if (is_float(out->operation->source[i])) {
			out->sdwa_sext &= (uint8_t) ~(1u << i);
		} else {
			out->abs &= (uint8_t) ~(1u << i);
			out->neg &= (uint8_t) ~(1u << i);
		}
	}
}

/* The dword behind an instruction whose source 0 is SOFTGPU_CODE_SDWA. */
static bool decode_sdwa(uint32_t dword, struct softgpu_instruction *out)
{
	if (out->operation->flags &
	    (SOFTGPU_NO_SDWA | SOFTGPU_LITERAL_SECOND | SOFTGPU_LITERAL_THIRD))
		return false;
	out->form = SOFTGPU_FORM_SDWA;
	out->source[0] = (uint16_t)FIELD(dword, 0, 8);
	if (!FIELD(dword, 23, 1))
		out->source[0] += SOFTGPU_CODE_VGPR0;
	if (FIELD(dword, 31, 1) && out->family != SOFTGPU_VOP1)
		out->source[1] -= SOFTGPU_CODE_VGPR0;
	if (out->family == SOFTGPU_VOPC) {
		if (FIELD(dword, 15, 1))
			out->scalar_destination = FIELD(dword, 8, 7);
	} else {
		out->sdwa_destination = FIELD(dword, 8, 3);
		out->sdwa_unused = FIELD(dword, 11, 2);
		out->clamp = FIELD(dword, 13, 1);
		out->omod = FIELD(dword, 14, 2);
	}
	out->sdwa_source[0] = FIELD(dword, 16, 3);
	out->sdwa_source[1] = FIELD(dword, 24, 3);
	out->sdwa_sext = (uint8_t)(FIELD(dword, 19, 1) | FIELD(dword, 27, 1) << 1);
	out->neg = (uint8_t)(FIELD(dword, 20, 1) | FIELD(dword, 28, 1) << 1);
	out->abs = (uint8_t)(FIELD(dword, 21, 1) | FIELD(dword, 29, 1) << 1);
	if (out->source[0] == SOFTGPU_CODE_LITERAL || out->source[1] == SOFTGPU_CODE_LITERAL)
		return false;
	return out->sdwa_destination != 7 && out->sdwa_unused != 3 && out->sdwa_source[0] != 7 &&
	       out->sdwa_source[1] != 7;
}

static bool is_wide(const struct softgpu_operation *operation)
{
	return softgpu_operand_dwords(operation->destination) == 2 ||
	       softgpu_operand_dwords(operation->source[0]) == 2;
}

static bool valid_dpp_control(const struct softgpu_operation *operation, unsigned int control)
{
	/* Lanes of 64 bits have only the broadcast within a row. */
	if (is_wide(operation))
		return control >= 0x150 && control <= 0x15f;
	return control <= 0xff || (control >= 0x101 && control <= 0x10f) ||
	       (control >= 0x111 && control <= 0x11f) || (control >= 0x121 && control <= 0x12f) ||
	       control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13c ||
	       (control >= 0x140 && control <= 0x143) || (control >= 0x150 && control <= 0x15f);
}

static bool decode_dpp(uint32_t dword, struct softgpu_instruction *out)
{
	if (out->operation->flags &
	    (SOFTGPU_NO_DPP | SOFTGPU_LITERAL_SECOND | SOFTGPU_LITERAL_THIRD))
		return false;
	out->form = SOFTGPU_FORM_DPP;
	out->source[0] = (uint16_t)(FIELD(dword, 0, 8) + SOFTGPU_CODE_VGPR0);
	out->dpp_control = FIELD(dword, 8, 9);
	out->dpp_bound_ctrl = FIELD(dword, 19, 1);
	out->neg = (uint8_t)(FIELD(dword, 20, 1) | FIELD(dword, 22, 1) << 1);
	out->abs = (uint8_t)(FIELD(dword, 21, 1) | FIELD(dword, 23, 1) << 1);
	out->dpp_bank_mask = FIELD(dword, 24, 4);
	out->dpp_row_mask = FIELD(dword, 28, 4);
	return valid_dpp_control(out->operation, out->dpp_control);
}

/* madmk and madak: a literal always follows; source 0 may name the same one. */
static void place_literal(const uint32_t dwords[2], struct softgpu_instruction *out)
{
	out->literal = dwords[1];
	out->size = 2;
	if (out->operation->flags & SOFTGPU_LITERAL_SECOND) {
		out->source[2] = out->source[1];
		out->source[1] = SOFTGPU_CODE_LITERAL;
	} else {
		out->source[2] = SOFTGPU_CODE_LITERAL;
	}
}

enum softgpu_decode_result softgpu_decode_vop12c(const uint32_t dwords[2],
						 struct softgpu_instruction *out)
{
	uint32_t dword = dwords[0];
	const struct softgpu_operation *operation;

	out->source[0] = FIELD(dword, 0, 9);
	out->source[1] = (uint16_t)(FIELD(dword, 9, 8) + SOFTGPU_CODE_VGPR0);
	out->destination = FIELD(dword, 17, 8);
	out->scalar_destination = SOFTGPU_CODE_VCC;
	switch (dword >> 25) {
	case 0x3f:
		out->family = SOFTGPU_VOP1;
		out->opcode = FIELD(dword, 9, 8);
		operation = &softgpu_vop1_operations[out->opcode];
		if (operation->flags & SOFTGPU_SCALAR_DESTINATION)
			out->scalar_destination = out->destination;
		break;
	case 0x3e:
		out->family = SOFTGPU_VOPC;
		out->opcode = FIELD(dword, 17, 8);
		operation = &softgpu_vopc_operations[out->opcode];
		break;
	default:
		out->family = SOFTGPU_VOP2;
		out->opcode = (uint16_t)(dword >> 25);
		operation = &softgpu_vop2_operations[out->opcode];
		if (operation->flags & SOFTGPU_CARRY_IN)
			out->source[2] = SOFTGPU_CODE_VCC;
	}
	out->operation = operation;
	if (operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;

	if (operation->flags & (SOFTGPU_LITERAL_SECOND | SOFTGPU_LITERAL_THIRD)) {
		place_literal(dwords, out);
	} else if (operation->source[0] != SOFTGPU_NONE) {
		switch (out->source[0]) {
		case SOFTGPU_CODE_LITERAL:
			out->literal = dwords[1];
			out->size = 2;
			break;
		case SOFTGPU_CODE_SDWA:
			out->size = 2;
			if (!decode_sdwa(dwords[1], out))
				return SOFTGPU_DECODE_UNKNOWN;
			break;
		case SOFTGPU_CODE_DPP:
			out->size = 2;
			if (!decode_dpp(dwords[1], out))
				return SOFTGPU_DECODE_UNKNOWN;
			break;
		default:
			break;
		}
	}
	drop_meaningless_modifiers(out);
	if (!check_destination(out) || !check_sources(out))
		return SOFTGPU_DECODE_UNKNOWN;
	return SOFTGPU_DECODED;
}

static void take_sources(uint32_t dword, struct softgpu_instruction *out)
{
	out->source[0] = FIELD(dword, 0, 9);
	out->source[1] = FIELD(dword, 9, 9);
	out->source[2] = FIELD(dword, 18, 9);
	out->neg = FIELD(dword, 29, 3);
}

/* VOP3 opcodes with operands that must be a VGPR or must be scalar. */
enum {
	READLANE = 0x289,
	WRITELANE = 0x28a,
};

static bool wrong_lane_operands(const struct softgpu_instruction *out)
{
	bool value_in_vgpr = out->source[0] >= SOFTGPU_CODE_VGPR0;

	if (out->opcode != READLANE && out->opcode != WRITELANE)
		return false;
	return out->source[1] >= SOFTGPU_CODE_VGPR0 || value_in_vgpr != (out->opcode == READLANE);
}

static bool has_literal(const struct softgpu_instruction *out)
{
	for (int i = 0; i < 3; i++)
		if (out->operation->source[i] != SOFTGPU_NONE &&
		    out->source[i] == SOFTGPU_CODE_LITERAL)
			return true;
	return false;
}

static enum softgpu_decode_result decode_vop3p(const uint32_t dwords[2],
					       struct softgpu_instruction *out)
{
	out->family = SOFTGPU_VOP3P;
	out->opcode = FIELD(dwords[0], 16, 7);
	out->operation = &softgpu_vop3p_operations[out->opcode];
	if (out->operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	out->destination = FIELD(dwords[0], 0, 8);
	take_sources(dwords[1], out);
	if (out->operation->flags & SOFTGPU_MATRIX) {
		/* These fields are cbsz, abid and blgp where a matrix operation has them. */
		out->neg_hi = FIELD(dwords[0], 8, 3);
		out->op_sel = FIELD(dwords[0], 11, 4);
		out->acc = (uint8_t)(FIELD(dwords[1], 27, 2) | FIELD(dwords[0], 15, 1) << 2 |
				     FIELD(dwords[0], 15, 1) << 3);
	} else {
		out->neg_hi = FIELD(dwords[0], 8, 3);
		out->op_sel = FIELD(dwords[0], 11, 3);
		out->op_sel_hi = (uint8_t)(FIELD(dwords[1], 27, 2) | FIELD(dwords[0], 14, 1) << 2);
		out->clamp = FIELD(dwords[0], 15, 1);
	}
	if (has_literal(out) || !check_destination(out) || !check_sources(out))
		return SOFTGPU_DECODE_UNKNOWN;
	return SOFTGPU_DECODED;
}

enum softgpu_decode_result softgpu_decode_vop3(const uint32_t dwords[2],
					       struct softgpu_instruction *out)
{
	const struct softgpu_operation *operation;

	if (FIELD(dwords[0], 23, 3) == 7)
		return decode_vop3p(dwords, out);
	out->family = SOFTGPU_VOP3;
	out->opcode = FIELD(dwords[0], 16, 10);
	out->operation = operation = &softgpu_vop3_operations[out->opcode];
	if (operation->name == NULL)
		return SOFTGPU_DECODE_UNKNOWN;
	out->destination = FIELD(dwords[0], 0, 8);
	out->scalar_destination = out->destination;
	take_sources(dwords[1], out);
	out->omod = FIELD(dwords[1], 27, 2);
	out->clamp = FIELD(dwords[0], 15, 1);
	if (operation->flags & SOFTGPU_VOP3B) {
		out->scalar_destination = FIELD(dwords[0], 8, 7);
	} else {
		out->abs = FIELD(dwords[0], 8, 3);
		out->op_sel = FIELD(dwords[0], 11, 4);
	}
	drop_meaningless_modifiers(out);
	if (has_literal(out) || wrong_lane_operands(out) || !check_destination(out) ||
	    !check_sources(out))
		return SOFTGPU_DECODE_UNKNOWN;
	return SOFTGPU_DECODED;
}
