/* SPDX-License-Identifier: MIT */
/* Prints vector ALU instructions. */
#include "disassemble.h"

/* Operations that have both a short and a VOP3 encoding tell them apart by a suffix. */
static const char *suffix(const struct softgpu_instruction *instruction)
{
	unsigned int opcode = instruction->opcode;

	if (instruction->form == SOFTGPU_FORM_SDWA)
		return "_sdwa";
	if (instruction->form == SOFTGPU_FORM_DPP)
		return "_dpp";
	switch (instruction->family) {
	case SOFTGPU_VOP1:
		opcode += 0x140;
		break;
	case SOFTGPU_VOP2:
		opcode += 0x100;
		break;
	case SOFTGPU_VOPC:
		break;
	case SOFTGPU_VOP3:
		return opcode < 0x1c0 && !(instruction->operation->flags & SOFTGPU_NO_DESTINATION)
			       ? "_e64"
			       : "";
	default:
		return "";
	}
	if (instruction->operation->flags & SOFTGPU_NO_DESTINATION)
		return "";
	return softgpu_vop3_operations[opcode].name != NULL ? "_e32" : "";
}

/* v_fma_mix* and v_mad_mix*: the neg_lo and neg_hi bits mean neg and abs. */
static bool is_mix(const struct softgpu_instruction *instruction)
{
	return instruction->family == SOFTGPU_VOP3P && instruction->opcode >= 32 &&
	       instruction->opcode <= 34;
}

static void print_source(struct softgpu_text *text, const struct softgpu_instruction *instruction,
			 int index)
{
	unsigned int code = instruction->source[index];
	uint32_t flags = instruction->operation->flags;
	/* The constant of madmk and madak prints as it is encoded. */
	bool constant = (index == 1 && flags & SOFTGPU_LITERAL_SECOND) ||
			(index == 2 && flags & SOFTGPU_LITERAL_THIRD);
	unsigned int type = constant ? SOFTGPU_B32 : instruction->operation->source[index];
	bool packed = instruction->family == SOFTGPU_VOP3P && !is_mix(instruction);
	bool negate = !packed && instruction->neg >> index & 1;
	bool absolute = (is_mix(instruction) ? instruction->neg_hi : instruction->abs) >> index & 1;
	bool extend = instruction->sdwa_sext >> index & 1;
	bool acc = flags & SOFTGPU_MATRIX && instruction->acc >> index & 1;
	bool number = code >= SOFTGPU_CODE_ZERO && code <= SOFTGPU_CODE_HALF + 8 &&
		      !(code >= SOFTGPU_CODE_SHARED_BASE && code < SOFTGPU_CODE_HALF);
	bool parentheses = negate && number && !absolute;

	softgpu_append_separator(text);
	softgpu_append(text, "%s%s%s",
		       parentheses ? "neg("
		       : negate	   ? "-"
				   : "",
		       extend ? "sext(" : "", absolute ? "|" : "");
	if (acc && code >= SOFTGPU_CODE_VGPR0)
		softgpu_append_vgpr(text, code - SOFTGPU_CODE_VGPR0, type, true);
	else
		softgpu_append_source(text, instruction, code, type);
	softgpu_append(text, "%s%s%s", absolute ? "|" : "", extend ? ")" : "",
		       parentheses ? ")" : "");
}

static int source_count(const struct softgpu_instruction *instruction)
{
	int count = 0;

	while (count < 3 && instruction->operation->source[count] != SOFTGPU_NONE)
		count++;
	return count;
}

static void print_bits(struct softgpu_text *text, const char *name, unsigned int bits, int count)
{
	softgpu_append(text, " %s:[", name);
	for (int i = 0; i < count; i++)
		softgpu_append(text, "%s%u", i == 0 ? "" : ",", bits >> i & 1);
	softgpu_append(text, "]");
}

static void print_output_modifiers(struct softgpu_text *text,
				   const struct softgpu_instruction *instruction)
{
	static const char *const omod[] = {"", " mul:2", " mul:4", " div:2"};

	softgpu_append(text, "%s%s", instruction->clamp ? " clamp" : "", omod[instruction->omod]);
}

static void print_vop3_modifiers(struct softgpu_text *text,
				 const struct softgpu_instruction *instruction)
{
	int sources = source_count(instruction);

	if (instruction->op_sel != 0 && instruction->operation->flags & SOFTGPU_OP_SEL) {
		unsigned int bits = (instruction->op_sel & ((1u << sources) - 1)) |
				    (instruction->op_sel >> 3 & 1u) << sources;

		print_bits(text, "op_sel", bits, sources + 1);
	}
	print_output_modifiers(text, instruction);
}

static void print_vop3p_modifiers(struct softgpu_text *text,
				  const struct softgpu_instruction *instruction)
{
	int sources = source_count(instruction);
	unsigned int all = (1u << sources) - 1;

	if (instruction->operation->flags & SOFTGPU_MATRIX)
		return;
	if ((instruction->op_sel & all) != 0)
		print_bits(text, "op_sel", instruction->op_sel, sources);
	if ((instruction->op_sel_hi & all) != (is_mix(instruction) ? 0 : all))
		print_bits(text, "op_sel_hi", instruction->op_sel_hi, sources);
	if ((instruction->neg & all) != 0 && !is_mix(instruction))
		print_bits(text, "neg_lo", instruction->neg, sources);
	if ((instruction->neg_hi & all) != 0 && !is_mix(instruction))
		print_bits(text, "neg_hi", instruction->neg_hi, sources);
	if (instruction->clamp)
		softgpu_append(text, " clamp");
}

static void print_sdwa(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	static const char *const selectors[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
						"WORD_0", "WORD_1", "DWORD"};
	static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
	int sources = source_count(instruction);

	print_output_modifiers(text, instruction);
	if (instruction->family != SOFTGPU_VOPC)
		softgpu_append(text, " dst_sel:%s dst_unused:%s",
			       selectors[instruction->sdwa_destination],
			       unused[instruction->sdwa_unused]);
	for (int i = 0; i < 2 && i < sources; i++)
		softgpu_append(text, " src%d_sel:%s", i, selectors[instruction->sdwa_source[i]]);
}

static void print_dpp(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	unsigned int control = instruction->dpp_control;

	if (control <= 0xff)
		softgpu_append(text, " quad_perm:[%u,%u,%u,%u]", control & 3, control >> 2 & 3,
			       control >> 4 & 3, control >> 6 & 3);
	else if (control < 0x110)
		softgpu_append(text, " row_shl:%u", control & 15);
	else if (control < 0x120)
		softgpu_append(text, " row_shr:%u", control & 15);
	else if (control < 0x130)
		softgpu_append(text, " row_ror:%u", control & 15);
	else if (control < 0x140)
		softgpu_append(text, " wave_%s:1",
			       control == 0x130	  ? "shl"
			       : control == 0x134 ? "rol"
			       : control == 0x138 ? "shr"
						  : "ror");
	else if (control < 0x142)
		softgpu_append(text, control == 0x140 ? " row_mirror" : " row_half_mirror");
	else if (control < 0x150)
		softgpu_append(text, " row_bcast:%u", control == 0x142 ? 15 : 31);
	else
		softgpu_append(text, " row_newbcast:%u", control & 15);
	softgpu_append(text, " row_mask:0x%x bank_mask:0x%x", instruction->dpp_row_mask,
		       instruction->dpp_bank_mask);
	if (instruction->dpp_bound_ctrl)
		softgpu_append(text, " bound_ctrl:1");
}

static void print_destinations(struct softgpu_text *text,
			       const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;

	if (operation->flags & SOFTGPU_SCALAR_DESTINATION) {
		softgpu_append_separator(text);
		softgpu_append_scalar(text, instruction->scalar_destination,
				      operation->destination);
		return;
	}
	softgpu_append_separator(text);
	softgpu_append_vgpr(text, instruction->destination, operation->destination,
			    operation->flags & SOFTGPU_MATRIX && instruction->acc >> 3 & 1);
	if (operation->flags & SOFTGPU_CARRY_OUT) {
		softgpu_append_separator(text);
		softgpu_append_scalar(text, instruction->scalar_destination, SOFTGPU_MASK);
	}
}

void softgpu_print_vector_alu(struct softgpu_text *text,
			      const struct softgpu_instruction *instruction)
{
	int sources = source_count(instruction);

	softgpu_append(text, "%s%s", instruction->operation->name, suffix(instruction));
	if (!(instruction->operation->flags & SOFTGPU_NO_DESTINATION))
		print_destinations(text, instruction);
	for (int i = 0; i < sources; i++)
		print_source(text, instruction, i);
	if (instruction->form == SOFTGPU_FORM_SDWA)
		print_sdwa(text, instruction);
	else if (instruction->form == SOFTGPU_FORM_DPP)
		print_dpp(text, instruction);
	else if (instruction->family == SOFTGPU_VOP3P)
		print_vop3p_modifiers(text, instruction);
	else if (instruction->family == SOFTGPU_VOP3)
		print_vop3_modifiers(text, instruction);
}
