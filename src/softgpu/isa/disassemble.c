/* SPDX-License-Identifier: MIT */
/* Prints decoded instructions in llvm-mc's syntax. */
#include "disassemble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void softgpu_append(struct softgpu_text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	if (text->used >= text->size)
		return;
	va_start(arguments, format);
	length = vsnprintf(text->start + text->used, text->size - text->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->used += (size_t)length;
}

/* The first operand follows a space, the others a comma. */
void softgpu_append_separator(struct softgpu_text *text)
{
	softgpu_append(text, text->operands++ == 0 ? " " : ", ");
}

static void append_registers(struct softgpu_text *text, const char *prefix, unsigned int number,
			     unsigned int dwords)
{
	if (dwords == 1)
		softgpu_append(text, "%s%u", prefix, number);
	else
		softgpu_append(text, "%s[%u:%u]", prefix, number, number + dwords - 1);
}

void softgpu_append_vgpr(struct softgpu_text *text, unsigned int number, unsigned int type,
			 bool acc)
{
	append_registers(text, acc ? "a" : "v", number, softgpu_operand_dwords(type));
}

static const char *special_name(unsigned int code, unsigned int dwords)
{
	switch (code) {
	case SOFTGPU_CODE_FLAT_SCRATCH:
		return dwords == 2 ? "flat_scratch" : "flat_scratch_lo";
	case SOFTGPU_CODE_FLAT_SCRATCH + 1:
		return "flat_scratch_hi";
	case SOFTGPU_CODE_XNACK_MASK:
		return dwords == 2 ? "xnack_mask" : "xnack_mask_lo";
	case SOFTGPU_CODE_XNACK_MASK + 1:
		return "xnack_mask_hi";
	case SOFTGPU_CODE_VCC:
		return dwords == 2 ? "vcc" : "vcc_lo";
	case SOFTGPU_CODE_VCC + 1:
		return "vcc_hi";
	case SOFTGPU_CODE_M0:
		return "m0";
	case SOFTGPU_CODE_EXEC:
		return dwords == 2 ? "exec" : "exec_lo";
	case SOFTGPU_CODE_EXEC + 1:
		return "exec_hi";
	case SOFTGPU_CODE_SHARED_BASE:
		return "src_shared_base";
	case SOFTGPU_CODE_SHARED_LIMIT:
		return "src_shared_limit";
	case SOFTGPU_CODE_PRIVATE_BASE:
		return "src_private_base";
	case SOFTGPU_CODE_PRIVATE_LIMIT:
		return "src_private_limit";
	case SOFTGPU_CODE_POPS_EXITING_WAVE_ID:
		return "src_pops_exiting_wave_id";
	case SOFTGPU_CODE_VCCZ:
		return "src_vccz";
	case SOFTGPU_CODE_EXECZ:
		return "src_execz";
	case SOFTGPU_CODE_SCC:
		return "src_scc";
	default:
		return "?";
	}
}

void softgpu_append_scalar(struct softgpu_text *text, unsigned int code, unsigned int type)
{
	static const char *const floats[] = {"0.5",  "-0.5", "1.0",  "-1.0",	  "2.0",
					     "-2.0", "4.0",  "-4.0", "0.15915494"};
	unsigned int dwords = softgpu_operand_dwords(type);

	if (code < SOFTGPU_CODE_FLAT_SCRATCH)
		append_registers(text, "s", code, dwords);
	else if (code >= SOFTGPU_CODE_TTMP0 && code < SOFTGPU_CODE_M0)
		append_registers(text, "ttmp", code - SOFTGPU_CODE_TTMP0, dwords);
	else if (code >= SOFTGPU_CODE_ZERO && code <= 192)
		softgpu_append(text, "%u", code - SOFTGPU_CODE_ZERO);
	else if (code >= SOFTGPU_CODE_MINUS_ONE && code <= 208)
		softgpu_append(text, "-%u", code - 192);
	else if (code == SOFTGPU_CODE_HALF + 8 && dwords == 2 && type != SOFTGPU_PKF32 &&
		 type != SOFTGPU_PK32)
		softgpu_append(text, "0.15915494309189532");
	else if (code >= SOFTGPU_CODE_HALF && code <= SOFTGPU_CODE_HALF + 8)
		softgpu_append(text, "%s", floats[code - SOFTGPU_CODE_HALF]);
	else
		softgpu_append(text, "%s", special_name(code, dwords));
}

void softgpu_append_source(struct softgpu_text *text, const struct softgpu_instruction *instruction,
			   unsigned int code, unsigned int type)
{
	if (code >= SOFTGPU_CODE_VGPR0)
		softgpu_append_vgpr(text, code - SOFTGPU_CODE_VGPR0, type, false);
	else if (code == SOFTGPU_CODE_LITERAL)
		softgpu_append(text, "0x%x",
			       type == SOFTGPU_B16 || type == SOFTGPU_F16
				       ? instruction->literal & 0xffff
				       : instruction->literal);
	else if (type == SOFTGPU_B16 && code >= SOFTGPU_CODE_HALF && code <= SOFTGPU_CODE_HALF + 8)
		softgpu_append(text, "0x%x", softgpu_half_constants[code - SOFTGPU_CODE_HALF]);
	else
		softgpu_append_scalar(text, code, type);
}

static void print_scalar_alu(struct softgpu_text *text,
			     const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;

	softgpu_append(text, "%s", operation->name);
	if (operation->destination != SOFTGPU_NONE) {
		softgpu_append_separator(text);
		softgpu_append_scalar(text, instruction->scalar_destination,
				      operation->destination);
	}
	if (instruction->family == SOFTGPU_SOPK) {
		uint32_t immediate = instruction->encoding[0] & 0xffff;

		if (operation->destination == SOFTGPU_NONE &&
		    operation->source[0] != SOFTGPU_NONE) {
			softgpu_append_separator(text);
			softgpu_append_scalar(text, instruction->source[0], operation->source[0]);
		}
		softgpu_append_separator(text);
		softgpu_append(text, "0x%x", immediate);
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (operation->source[i] == SOFTGPU_NONE)
			continue;
		softgpu_append_separator(text);
		softgpu_append_source(text, instruction, instruction->source[i],
				      operation->source[i]);
	}
}

static void print_sopp(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	uint32_t immediate = instruction->encoding[0] & 0xffff;

	softgpu_append(text, "%s", instruction->operation->name);
	if (instruction->operation->flags & SOFTGPU_BRANCH)
		softgpu_append(text, " %u", immediate);
	else if (instruction->operation->source[0] != SOFTGPU_NONE)
		softgpu_append(text, " 0x%x", immediate);
}

static void print_smem(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;
	bool scalar_offset = instruction->memory_flags & SOFTGPU_SOFFSET_EN;
	const char *sign = instruction->offset < 0 ? "-" : "";
	uint32_t magnitude = instruction->offset < 0 ? 0 - (uint32_t)instruction->offset
						     : (uint32_t)instruction->offset;

	softgpu_append(text, "%s", operation->name);
	if (operation->destination != SOFTGPU_NONE) {
		softgpu_append_separator(text);
		softgpu_append_scalar(text, instruction->scalar_destination,
				      operation->destination);
	}
	if (operation->source[0] == SOFTGPU_NONE)
		return;
	softgpu_append_separator(text);
	softgpu_append_scalar(text, instruction->address, operation->source[0]);
	softgpu_append_separator(text);
	if (scalar_offset)
		softgpu_append_scalar(text, instruction->scalar_offset, SOFTGPU_B32);
	if (instruction->memory_flags & SOFTGPU_IMM)
		softgpu_append(text, "%s%s0x%x", scalar_offset ? " offset:" : "", sign, magnitude);
	if (instruction->memory_flags & SOFTGPU_GLC && operation->destination != SOFTGPU_NONE)
		softgpu_append(text, " glc");
}

void softgpu_disassemble(const struct softgpu_instruction *instruction, char *out, size_t size)
{
	struct softgpu_text text = {.start = out, .size = size};

	if (size > 0)
		out[0] = '\0';
	switch (instruction->family) {
	case SOFTGPU_SOPP:
		print_sopp(&text, instruction);
		break;
	case SOFTGPU_SMEM:
		print_smem(&text, instruction);
		break;
	case SOFTGPU_VOP1:
	case SOFTGPU_VOP2:
	case SOFTGPU_VOPC:
	case SOFTGPU_VOP3:
	case SOFTGPU_VOP3P:
		softgpu_print_vector_alu(&text, instruction);
		break;
	case SOFTGPU_DS:
	case SOFTGPU_FLAT:
	case SOFTGPU_GLOBAL:
	case SOFTGPU_SCRATCH:
	case SOFTGPU_MUBUF:
		softgpu_print_vector_memory(&text, instruction);
		break;
	default:
		print_scalar_alu(&text, instruction);
	}
}
