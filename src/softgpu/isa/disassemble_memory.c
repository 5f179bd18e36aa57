/* SPDX-License-Identifier: MIT */
/* Prints vector memory instructions. */
#include "disassemble.h"

#include <string.h>

static void print_vgpr(struct softgpu_text *text, const struct softgpu_instruction *instruction,
		       unsigned int number, unsigned int type)
{
	softgpu_append_separator(text);
	softgpu_append_vgpr(text, number, type, instruction->memory_flags & SOFTGPU_ACC);
}

static void print_flags(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	unsigned int flags = instruction->memory_flags;

	softgpu_append(text, "%s%s%s%s", flags & SOFTGPU_GLC ? " glc" : "",
		       flags & SOFTGPU_SLC ? " slc" : "", flags & SOFTGPU_SCC ? " scc" : "",
		       flags & SOFTGPU_LDS ? " lds" : "");
}

static void print_ds(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;

	softgpu_append(text, "%s", operation->name);
	if (operation->destination != SOFTGPU_NONE)
		print_vgpr(text, instruction, instruction->destination, operation->destination);
	if (operation->source[0] != SOFTGPU_NONE) {
		softgpu_append_separator(text);
		softgpu_append_vgpr(text, instruction->address, operation->source[0], false);
	}
	for (int i = 0; i < 2; i++)
		if (operation->source[i + 1] != SOFTGPU_NONE)
			print_vgpr(text, instruction, instruction->data[i],
				   operation->source[i + 1]);
	if (operation->flags & SOFTGPU_TWO_ADDRESS) {
		for (int i = 0; i < 2; i++)
			if (instruction->offset >> 8 * i & 0xff)
				softgpu_append(text, " offset%d:%d", i,
					       instruction->offset >> 8 * i & 0xff);
	} else if (instruction->offset != 0 && strcmp(operation->name, "ds_nop") != 0) {
		softgpu_append(text, " offset:%d", instruction->offset);
	}
	if (instruction->memory_flags & SOFTGPU_GDS)
		softgpu_append(text, " gds");
}

static bool returns(const struct softgpu_instruction *instruction)
{
	if (instruction->operation->flags & SOFTGPU_ATOMIC)
		return instruction->memory_flags & SOFTGPU_GLC;
	return instruction->operation->destination != SOFTGPU_NONE &&
	       !(instruction->memory_flags & SOFTGPU_LDS);
}

static void print_flat(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;
	bool scalar = instruction->scalar_offset != 0x7f;
	bool is_scratch = instruction->family == SOFTGPU_SCRATCH;

	softgpu_append(text, "%s", operation->name);
	if (returns(instruction))
		print_vgpr(text, instruction, instruction->destination, operation->destination);
	softgpu_append_separator(text);
	if (is_scratch && scalar)
		softgpu_append(text, "off");
	else if (is_scratch || (scalar && instruction->family == SOFTGPU_GLOBAL))
		softgpu_append_vgpr(text, instruction->address, SOFTGPU_B32, false);
	else
		softgpu_append_vgpr(text, instruction->address, SOFTGPU_B64, false);
	if (operation->source[1] != SOFTGPU_NONE)
		print_vgpr(text, instruction, instruction->data[0], operation->source[1]);
	if (instruction->family != SOFTGPU_FLAT) {
		softgpu_append_separator(text);
		if (scalar)
			softgpu_append_scalar(text, instruction->scalar_offset,
					      is_scratch ? SOFTGPU_B32 : SOFTGPU_B64);
		else
			softgpu_append(text, "off");
	}
	if (instruction->offset != 0)
		softgpu_append(text, " offset:%d", instruction->offset);
	print_flags(text, instruction);
}

static void print_mubuf(struct softgpu_text *text, const struct softgpu_instruction *instruction)
{
	const struct softgpu_operation *operation = instruction->operation;
	bool index = instruction->memory_flags & SOFTGPU_IDXEN;
	bool offset = instruction->memory_flags & SOFTGPU_OFFEN;

	softgpu_append(text, "%s", operation->name);
	if (operation->destination == SOFTGPU_NONE && operation->source[1] == SOFTGPU_NONE)
		return; /* cache control */
	if (operation->source[1] != SOFTGPU_NONE)
		print_vgpr(text, instruction, instruction->data[0], operation->source[1]);
	else if (!(instruction->memory_flags & SOFTGPU_LDS))
		print_vgpr(text, instruction, instruction->destination, operation->destination);
	softgpu_append_separator(text);
	if (index || offset)
		softgpu_append_vgpr(text, instruction->address,
				    index && offset ? SOFTGPU_B64 : SOFTGPU_B32, false);
	else
		softgpu_append(text, "off");
	softgpu_append_separator(text);
	softgpu_append_scalar(text, instruction->resource, SOFTGPU_B128);
	softgpu_append_separator(text);
	softgpu_append_scalar(text, instruction->scalar_offset, SOFTGPU_B32);
	softgpu_append(text, "%s%s", index ? " idxen" : "", offset ? " offen" : "");
	if (instruction->offset != 0)
		softgpu_append(text, " offset:%d", instruction->offset);
	print_flags(text, instruction);
}

void softgpu_print_vector_memory(struct softgpu_text *text,
				 const struct softgpu_instruction *instruction)
{
	switch (instruction->family) {
	case SOFTGPU_DS:
		print_ds(text, instruction);
		break;
	case SOFTGPU_MUBUF:
		print_mubuf(text, instruction);
		break;
	default:
		print_flat(text, instruction);
	}
}
