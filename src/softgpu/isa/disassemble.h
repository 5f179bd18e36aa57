/* SPDX-License-Identifier: MIT */
/* What the parts of the disassembler share. */
#ifndef SOFTGPU_DISASSEMBLE_H
#define SOFTGPU_DISASSEMBLE_H

#include "instruction.h"

struct softgpu_text {
	char *start;
	size_t size;
	size_t used;
	unsigned int operands; /* printed so far */
};

void softgpu_append(struct softgpu_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void softgpu_append_separator(struct softgpu_text *text);
void softgpu_append_vgpr(struct softgpu_text *text, unsigned int number, unsigned int type,
			 bool acc);
void softgpu_append_scalar(struct softgpu_text *text, unsigned int code, unsigned int type);
void softgpu_append_source(struct softgpu_text *text, const struct softgpu_instruction *instruction,
			   unsigned int code, unsigned int type);

void softgpu_print_vector_alu(struct softgpu_text *text,
			      const struct softgpu_instruction *instruction);
void softgpu_print_vector_memory(struct softgpu_text *text,
				 const struct softgpu_instruction *instruction);

#endif
