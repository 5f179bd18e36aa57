/* SPDX-License-Identifier: MIT */
/*
 * Runs hand-encoded programs on the interpreter.
 *
 * A program is a list of dwords, written with the encoders below, which take llvm-mc's mnemonics.
 * isa_setup() puts it behind a kernel descriptor and makes one workgroup of one or more waves;
 * the test then sets registers and memory, runs it and looks at registers and memory:
 *
 *	struct isa_program program = {0};
 *	emit_vop2(&program, "v_add_u32", 2, VGPR(0), 1);
 *	emit_end(&program);
 *	struct isa_machine *machine = isa_setup(&program, NULL);
 *	isa_wave(machine, 0)->vgpr[0][5] = 7;
 *	isa_run(machine);
 *	... isa_wave(machine, 0)->vgpr[2][5] ...
 *	isa_teardown(machine);
 */
#ifndef ISA_HARNESS_H
#define ISA_HARNESS_H

#include "softgpu/isa/instruction.h"
#include "softgpu/isa/isa.h"
#include "softgpu/isa/wave.h"
#include "softgpu/isa/workgroup.h"

#include <stdbool.h>
#include <stdint.h>

/* Operand codes for the `source` arguments of the encoders. */
#define VGPR(n) (256 + (n))
#define SGPR(n) (n)
/* Inline integer -16..64. */
#define INLINE_INT(n) ((n) >= 0 ? 128 + (n) : 192 - (n))

#define ISA_MEMORY_SIZE	   65536
#define ISA_PROGRAM_DWORDS 4096

struct isa_program {
	uint32_t code[ISA_PROGRAM_DWORDS];
	unsigned int count;
};

/* What isa_setup() makes; all zero (or NULL) is 64 work-items, no LDS, no scratch. */
struct isa_options {
	uint32_t workgroup_size; /* work-items in x; 0: 64 */
	uint32_t group_segment_size;
	uint32_t private_segment_size; /* scratch memory is provided for 16 waves */
};

struct isa_machine;

/* Plain dwords. */
void emit(struct isa_program *program, uint32_t dword);
/* s_endpgm */
void emit_end(struct isa_program *program);

/* A literal is emitted with emit() behind an instruction with a source SOFTGPU_CODE_LITERAL. */
void emit_sop1(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source);
void emit_sop2(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1);
void emit_sopk(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int immediate);
void emit_sopc(struct isa_program *program, const char *name, unsigned int source0,
	       unsigned int source1);
void emit_sopp(struct isa_program *program, const char *name, unsigned int immediate);
/* Immediate offset form. */
void emit_smem(struct isa_program *program, const char *name, unsigned int data, unsigned int base,
	       int offset);
void emit_vop1(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source);
/* source1 and destination are VGPR numbers. */
void emit_vop2(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1);
/* source1 is a VGPR number. */
void emit_vopc(struct isa_program *program, const char *name, unsigned int source0,
	       unsigned int source1);

/* The modifiers of VOP3, VOP3P, SDWA and DPP, named as in struct softgpu_instruction. */
struct isa_modifiers {
	unsigned int abs, neg, neg_hi, omod, clamp, op_sel, op_sel_hi;
	unsigned int scalar_destination; /* VOP3B and SDWA compares */
	bool has_scalar_destination;
	unsigned int sdwa_destination, sdwa_unused, sdwa_source[2], sdwa_sext;
	unsigned int dpp_control, dpp_bank_mask, dpp_row_mask, dpp_bound_ctrl;
};

/*
 * VOP3 form of any operation in the VOP3 table; operations with a scalar destination take its code
 * in `destination`. Unused sources are 0. `modifiers` may be NULL.
 */
void emit_vop3(struct isa_program *program, const char *name, unsigned int destination,
	       unsigned int source0, unsigned int source1, unsigned int source2,
	       const struct isa_modifiers *modifiers);
/* A NULL `modifiers` means op_sel 0 and op_sel_hi 7. */
void emit_vop3p(struct isa_program *program, const char *name, unsigned int destination,
		unsigned int source0, unsigned int source1, unsigned int source2,
		const struct isa_modifiers *modifiers);
/*
 * SDWA and DPP forms of VOP1 (source1 0), VOP2 and VOPC (destination 0): operation's family first.
 * source0 is an operand code (VGPR or, with SDWA, SGPR), source1 for DPP a VGPR number, for SDWA
 * an operand code.
 */
void emit_sdwa(struct isa_program *program, enum softgpu_family family, const char *name,
	       unsigned int destination, unsigned int source0, unsigned int source1,
	       const struct isa_modifiers *modifiers);
void emit_dpp(struct isa_program *program, enum softgpu_family family, const char *name,
	      unsigned int destination, unsigned int source0, unsigned int source1,
	      const struct isa_modifiers *modifiers);

/* `flags` are SOFTGPU_GLC and the like. */
void emit_ds(struct isa_program *program, const char *name, unsigned int destination,
	     unsigned int address, unsigned int data0, unsigned int data1, unsigned int offset);
/* family FLAT, GLOBAL or SCRATCH; saddr 0x7f: none. */
void emit_flat(struct isa_program *program, enum softgpu_family family, const char *name,
	       unsigned int destination, unsigned int address, unsigned int data,
	       unsigned int saddr, int offset, unsigned int flags);
/* `resource` is the first of four SGPRs, a multiple of 4. */
void emit_mubuf(struct isa_program *program, const char *name, unsigned int data,
		unsigned int address, unsigned int resource, unsigned int scalar_offset,
		unsigned int offset, unsigned int flags);

/* Makes the workgroup; options may be NULL. */
struct isa_machine *isa_setup(const struct isa_program *program, const struct isa_options *options);
struct softgpu_wave *isa_wave(struct isa_machine *machine, unsigned int index);
struct softgpu_workgroup *isa_workgroup(struct isa_machine *machine);
/* ISA_MEMORY_SIZE bytes of host and GPU visible memory; its host and GPU addresses are equal. */
uint8_t *isa_memory(struct isa_machine *machine);
/* Host view of the scratch backing memory. */
uint8_t *isa_scratch(struct isa_machine *machine);
/* Runs to the end; fails the test on a fault or if it does not end. */
void isa_run(struct isa_machine *machine);
/* Runs until it faults; fails the test if it ends or does not. */
const struct softgpu_fault *isa_run_to_fault(struct isa_machine *machine);
void isa_teardown(struct isa_machine *machine);

/* Seeded random numbers (seed printed once; ISA_TEST_SEED in the environment overrides it). */
uint32_t isa_random(void);
uint64_t isa_random64(void);
/* Random or, half of the time, an edge value: 0, 1, -1, sign bits, float specials, ... */
uint32_t isa_random_operand(void);
uint64_t isa_random_operand64(void);

#endif
