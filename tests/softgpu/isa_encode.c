/* SPDX-License-Identifier: MIT */
/* Instruction encoders of the instruction tests: field layouts of gfx9 and gfx90a. */
#include "isa_harness.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static unsigned int opcode_of(const struct softgpu_operation *table, unsigned int count,
			      const char *name)
{
	for (unsigned int i = 0; i < count; i++)
		if (table[i].name != NULL && strcmp(table[i].name, name) == 0)
			return i;
	ck_abort_msg("no operation %s in this family", name);
	return 0;
}

#define OPCODE(table, name) opcode_of(table, sizeof(table) / sizeof((table)[0]), name)

void emit(struct isa_program *program, uint32_t dword)
{
	ck_assert_uint_lt(program->count, ISA_PROGRAM_DWORDS);
	program->code[program->count++] = dword;
}

void emit_end(struct isa_program *program)
{
	emit(program, 0xbf810000);
}

void emit_sop1(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source)
{
	emit(program,
	     0xbe800000 | destination << 16 | OPCODE(softgpu_sop1_operations, name) << 8 | source);
}

void emit_sop2(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1)
{
	emit(program, 0x80000000 | OPCODE(softgpu_sop2_operations, name) << 23 | destination << 16 |
			      source1 << 8 | source0);
}

void emit_sopk(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int immediate)
{
	emit(program, 0xb0000000 | OPCODE(softgpu_sopk_operations, name) << 23 | destination << 16 |
			      (immediate & 0xffff));
}

void emit_sopc(struct isa_program *program, const char *name, unsigned int source0,
	       unsigned int source1)
{
	emit(program,
	     0xbf000000 | OPCODE(softgpu_sopc_operations, name) << 16 | source1 << 8 | source0);
}

void emit_sopp(struct isa_program *program, const char *name, unsigned int immediate)
{
	emit(program,
	     0xbf800000 | OPCODE(softgpu_sopp_operations, name) << 16 | (immediate & 0xffff));
}

void emit_smem(struct isa_program *program, const char *name, unsigned int data, unsigned int base,
	       int offset)
{
	emit(program,
	     0xc0020000 | OPCODE(softgpu_smem_operations, name) << 18 | data << 6 | base >> 1);
	emit(program, (uint32_t)offset & 0x1fffff);
}

void emit_vop1(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source)
{
	emit(program,
	     0x7e000000 | destination << 17 | OPCODE(softgpu_vop1_operations, name) << 9 | source);
}

void emit_vop2(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1)
{
	emit(program, OPCODE(softgpu_vop2_operations, name) << 25 | destination << 17 |
			      (source1 & 0xff) << 9 | source0);
}

void emit_vopc(struct isa_program *program, const char *name, unsigned int source0,
	       unsigned int source1)
{
	emit(program, 0x7c000000 | OPCODE(softgpu_vopc_operations, name) << 17 |
			      (source1 & 0xff) << 9 | source0);
}

static const struct isa_modifiers no_modifiers;

void emit_vop3(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1, unsigned int source2,
	       const struct isa_modifiers *modifiers)
{
	const struct isa_modifiers *m = modifiers != NULL ? modifiers : &no_modifiers;
	unsigned int opcode = OPCODE(softgpu_vop3_operations, name);
	uint32_t dword = 0xd0000000 | opcode << 16 | m->clamp << 15 | (destination & 0xff);

	if (softgpu_vop3_operations[opcode].flags & SOFTGPU_VOP3B)
		dword |= m->scalar_destination << 8;
	else
		dword |= m->op_sel << 11 | m->abs << 8;
	emit(program, dword);
	emit(program, source0 | source1 << 9 | source2 << 18 | m->omod << 27 | m->neg << 29);
}

void emit_vop3p(struct isa_program *program, const char *name, unsigned int destination,
		unsigned int source0, unsigned int source1, unsigned int source2,
		const struct isa_modifiers *modifiers)
{
	static const struct isa_modifiers usual = {.op_sel_hi = 7};
	const struct isa_modifiers *m = modifiers != NULL ? modifiers : &usual;

	emit(program, 0xd3800000 | OPCODE(softgpu_vop3p_operations, name) << 16 | m->clamp << 15 |
			      m->op_sel_hi >> 2 << 14 | m->op_sel << 11 | m->neg_hi << 8 |
			      (destination & 0xff));
	emit(program,
	     source0 | source1 << 9 | source2 << 18 | (m->op_sel_hi & 3) << 27 | m->neg << 29);
}

/* The first dword of a VOP1, VOP2 or VOPC instruction whose source 0 field says `escape`. */
static void emit_escaped(struct isa_program *program, enum softgpu_family family, const char *name,
			 unsigned int destination, unsigned int source1, unsigned int escape)
{
	switch (family) {
	case SOFTGPU_VOP1:
		emit_vop1(program, name, destination, escape);
		return;
	case SOFTGPU_VOP2:
		emit_vop2(program, name, destination, escape, source1);
		return;
	case SOFTGPU_VOPC:
		emit_vopc(program, name, escape, source1);
		return;
	default:
		ck_abort_msg("family %d has no SDWA or DPP form", family);
	}
}

void emit_sdwa(struct isa_program *program, enum softgpu_family family, const char *name,
	       unsigned int destination, unsigned int source0, unsigned int source1,
	       const struct isa_modifiers *m)
{
	uint32_t dword = (source0 & 0xff) | m->sdwa_source[0] << 16 | (m->sdwa_sext & 1) << 19 |
			 (m->neg & 1) << 20 | (m->abs & 1) << 21 | (uint32_t)(source0 < 256) << 23 |
			 m->sdwa_source[1] << 24 | (m->sdwa_sext >> 1 & 1) << 27 |
			 (m->neg >> 1 & 1) << 28 | (m->abs >> 1 & 1) << 29 |
			 (uint32_t)(family != SOFTGPU_VOP1 && source1 < 256) << 31;

	if (family == SOFTGPU_VOPC)
		dword |= m->scalar_destination << 8 | (uint32_t)m->has_scalar_destination << 15;
	else
		dword |= m->sdwa_destination << 8 | m->sdwa_unused << 11 | m->clamp << 13 |
			 m->omod << 14;
	emit_escaped(program, family, name, destination, source1, SOFTGPU_CODE_SDWA);
	emit(program, dword);
}

void emit_dpp(struct isa_program *program, enum softgpu_family family, const char *name,
	      unsigned int destination, unsigned int source0, unsigned int source1,
	      const struct isa_modifiers *m)
{
	emit_escaped(program, family, name, destination, source1, SOFTGPU_CODE_DPP);
	emit(program, (source0 & 0xff) | m->dpp_control << 8 | m->dpp_bound_ctrl << 19 |
			      (m->neg & 1) << 20 | (m->abs & 1) << 21 | (m->neg >> 1 & 1) << 22 |
			      (m->abs >> 1 & 1) << 23 | m->dpp_bank_mask << 24 |
			      m->dpp_row_mask << 28);
}

void emit_ds(struct isa_program *program, const char *name, unsigned int destination,
	     unsigned int address, unsigned int data0, unsigned int data1, unsigned int offset)
{
	emit(program, 0xd8000000 | OPCODE(softgpu_ds_operations, name) << 17 | (offset & 0xffff));
	emit(program, address | data0 << 8 | data1 << 16 | destination << 24);
}

void emit_flat(struct isa_program *program, enum softgpu_family family, const char *name,
	       unsigned int destination, unsigned int address, unsigned int data,
	       unsigned int saddr, int offset, unsigned int flags)
{
	unsigned int segment = 0, opcode;

	switch (family) {
	case SOFTGPU_GLOBAL:
		segment = 2;
		opcode = OPCODE(softgpu_global_operations, name);
		break;
	case SOFTGPU_SCRATCH:
		segment = 1;
		opcode = OPCODE(softgpu_scratch_operations, name);
		break;
	default:
		opcode = OPCODE(softgpu_flat_operations, name);
	}
	emit(program, 0xdc000000 | opcode << 18 | (uint32_t) !!(flags & SOFTGPU_SLC) << 17 |
			      (uint32_t) !!(flags & SOFTGPU_GLC) << 16 | segment << 14 |
			      ((uint32_t)offset & 0x1fff));
	emit(program, address | data << 8 | saddr << 16 | (uint32_t) !!(flags & SOFTGPU_ACC) << 23 |
			      destination << 24);
}

void emit_mubuf(struct isa_program *program, const char *name, unsigned int data,
		unsigned int address, unsigned int resource, unsigned int scalar_offset,
		unsigned int offset, unsigned int flags)
{
	emit(program, 0xe0000000 | OPCODE(softgpu_mubuf_operations, name) << 18 |
			      (uint32_t) !!(flags & SOFTGPU_SLC) << 17 |
			      (uint32_t) !!(flags & SOFTGPU_LDS) << 16 |
			      (uint32_t) !!(flags & SOFTGPU_GLC) << 14 |
			      (uint32_t) !!(flags & SOFTGPU_IDXEN) << 13 |
			      (uint32_t) !!(flags & SOFTGPU_OFFEN) << 12 | (offset & 0xfff));
	emit(program, address | data << 8 | resource / 4 << 16 |
			      (uint32_t) !!(flags & SOFTGPU_ACC) << 23 | scalar_offset << 24);
}
