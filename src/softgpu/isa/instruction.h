/* SPDX-License-Identifier: MIT */
/*
 * The decoded instruction and the operation tables.
 *
 * Every encoding family has one dense table indexed by opcode, in the file of its execute
 * functions. An entry without a name is an encoding the hardware does not have; an entry with a
 * name and no execute function is one that softgpu recognises but does not emulate. The decoder
 * rejects the first and names the second, so an execute function never sees either.
 */
#ifndef SOFTGPU_INSTRUCTION_H
#define SOFTGPU_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softgpu_wave;
struct softgpu_instruction;

enum softgpu_family {
	SOFTGPU_SOP1,
	SOFTGPU_SOP2,
	SOFTGPU_SOPK,
	SOFTGPU_SOPC,
	SOFTGPU_SOPP,
	SOFTGPU_SMEM,
	SOFTGPU_VOP1,
	SOFTGPU_VOP2,
	SOFTGPU_VOP3,
	SOFTGPU_VOP3P,
	SOFTGPU_VOPC,
	SOFTGPU_DS,
	SOFTGPU_FLAT,
	SOFTGPU_GLOBAL,
	SOFTGPU_SCRATCH,
	SOFTGPU_MUBUF,
};

/*
 * Source operand codes as in the encodings: 0..101 SGPRs, 102.. special scalar registers,
 * 128..254 constants, 255 literal, 256..511 VGPRs. Destinations are VGPR numbers 0..255 in
 * `destination` or scalar codes 0..127 in `scalar_destination`.
 */
enum softgpu_operand_code {
	SOFTGPU_CODE_FLAT_SCRATCH = 102,
	SOFTGPU_CODE_XNACK_MASK = 104,
	SOFTGPU_CODE_VCC = 106,
	SOFTGPU_CODE_TTMP0 = 108,
	SOFTGPU_CODE_M0 = 124,
	SOFTGPU_CODE_EXEC = 126,
	SOFTGPU_CODE_ZERO = 128, /* 128 + n = n up to 64, then 192 + n = -n up to 16 */
	SOFTGPU_CODE_MINUS_ONE = 193,
	SOFTGPU_CODE_SHARED_BASE = 235,
	SOFTGPU_CODE_SHARED_LIMIT = 236,
	SOFTGPU_CODE_PRIVATE_BASE = 237,
	SOFTGPU_CODE_PRIVATE_LIMIT = 238,
	SOFTGPU_CODE_POPS_EXITING_WAVE_ID = 239,
	SOFTGPU_CODE_HALF = 240, /* 0.5 -0.5 1 -1 2 -2 4 -4 1/(2*pi) */
	SOFTGPU_CODE_SDWA = 249, /* only in the source 0 field: a second dword follows */
	SOFTGPU_CODE_DPP = 250,
	SOFTGPU_CODE_VCCZ = 251,
	SOFTGPU_CODE_EXECZ = 252,
	SOFTGPU_CODE_SCC = 253,
	SOFTGPU_CODE_LDS_DIRECT = 254,
	SOFTGPU_CODE_LITERAL = 255,
	SOFTGPU_CODE_VGPR0 = 256,
};

/* What an operand is; it decides its width and the meaning of inline constants and literals. */
enum softgpu_operand_type {
	SOFTGPU_NONE, /* the operation has no such operand */
	SOFTGPU_B16,  /* integer or bits */
	SOFTGPU_F16,
	SOFTGPU_PK16, /* two integers of 16 bits */
	SOFTGPU_PKF16,
	SOFTGPU_B32,
	SOFTGPU_F32,
	SOFTGPU_B64,   /* unsigned or bits: a literal is zero-extended */
	SOFTGPU_I64,   /* signed: a literal is sign-extended */
	SOFTGPU_F64,   /* a literal is the high half */
	SOFTGPU_PKF32, /* two floats in a register pair */
	SOFTGPU_PK32,  /* two integers of 32 bits in a register pair */
	SOFTGPU_B96,
	SOFTGPU_B128,
	SOFTGPU_B256,
	SOFTGPU_B512,
	SOFTGPU_B1024,
	SOFTGPU_MASK, /* one bit a lane, an SGPR pair */
};

/* Operation flags. */
enum {
	/*
	 * The result goes to scalar_destination: readlane, readfirstlane and, as a lane mask,
	 * compares. VOP1/VOP2 and VOP3 copy their vdst field there, compares without a field
	 * name VCC.
	 */
	SOFTGPU_SCALAR_DESTINATION = 1 << 0,
	/* Also writes a lane mask to scalar_destination (VCC or, in VOP3, its sdst field). */
	SOFTGPU_CARRY_OUT = 1 << 1,
	/* Reads a lane mask in source[2] (VCC or, in VOP3, its third source field). */
	SOFTGPU_CARRY_IN = 1 << 2,
	/* VOP2 with a literal behind it: the operands are source 0, literal, VGPR. */
	SOFTGPU_LITERAL_SECOND = 1 << 3,
	/* VOP2 with a literal behind it: the operands are source 0, VGPR, literal. */
	SOFTGPU_LITERAL_THIRD = 1 << 4,
	SOFTGPU_NO_SDWA = 1 << 5, /* VOP1/2/C that has no SDWA encoding */
	SOFTGPU_NO_DPP = 1 << 6,  /* VOP1/2/C that has no DPP encoding */
	/* The VOP3 table's entry uses the encoding with a scalar destination and no abs (VOP3B). */
	SOFTGPU_VOP3B = 1 << 7,
	/* VOP3 that honours op_sel (16-bit operations of gfx9). */
	SOFTGPU_OP_SEL = 1 << 8,
	SOFTGPU_COMPARE_EXEC = 1 << 9, /* v_cmpx: writes EXEC as well */
	/* Destination and sources may be AccVGPRs, by bits of the encoding (matrix operations). */
	SOFTGPU_MATRIX = 1 << 10,
	/* DS, FLAT and MUBUF. */
	SOFTGPU_LOAD = 1 << 11,
	SOFTGPU_STORE = 1 << 12,
	SOFTGPU_ATOMIC = 1 << 13,
	SOFTGPU_TWO_ADDRESS = 1 << 14,		 /* DS with two 8-bit offsets */
	SOFTGPU_DESTINATION_IS_SOURCE = 1 << 15, /* mac, fmac, s_cmov...: also reads destination */
	/* SOPK or SOPP whose immediate is a branch offset in dwords. */
	SOFTGPU_BRANCH = 1 << 16,
	/* VOP1/2/3 whose vdst field names no register (v_nop, v_clrexcp). */
	SOFTGPU_NO_DESTINATION = 1 << 17,
	/* VOP1/2/C without a VOP3 encoding and the like are simply absent from the VOP3 table. */
};

typedef void softgpu_execute(struct softgpu_wave *wave,
			     const struct softgpu_instruction *instruction);

struct softgpu_operation {
	const char *name; /* llvm-mc's mnemonic without _e32, _e64, _sdwa, _dpp */
	softgpu_execute *execute;
	uint32_t flags;
	uint8_t destination; /* enum softgpu_operand_type */
	uint8_t source[3];   /* enum softgpu_operand_type, SOFTGPU_NONE behind the last */
};

/* How a VOP1, VOP2 or VOPC instruction is encoded. */
enum softgpu_form {
	SOFTGPU_FORM_PLAIN,
	SOFTGPU_FORM_SDWA,
	SOFTGPU_FORM_DPP,
};

/* SDWA selectors. */
enum {
	SOFTGPU_SDWA_BYTE_0,
	SOFTGPU_SDWA_BYTE_1,
	SOFTGPU_SDWA_BYTE_2,
	SOFTGPU_SDWA_BYTE_3,
	SOFTGPU_SDWA_WORD_0,
	SOFTGPU_SDWA_WORD_1,
	SOFTGPU_SDWA_DWORD,
};

/* What SDWA does with the bits of the destination it does not select. */
enum {
	SOFTGPU_SDWA_PAD,
	SOFTGPU_SDWA_SEXT,
	SOFTGPU_SDWA_PRESERVE,
};

struct softgpu_instruction {
	const struct softgpu_operation *operation;
	uint8_t family; /* enum softgpu_family */
	uint8_t size;	/* dwords: 1 or 2 */
	uint8_t form;	/* enum softgpu_form */
	uint16_t opcode;
	uint16_t destination;	     /* VGPR number */
	uint16_t scalar_destination; /* scalar code */
	uint16_t source[3];	     /* operand codes 0..511 */
	uint32_t literal;	     /* literal, or SOPK's and SOPP's simm16 sign-extended */
	uint32_t encoding[2];

	/* VOP3, VOP3P, SDWA, DPP: bit n belongs to source n. */
	uint8_t abs;
	uint8_t neg;	   /* VOP3P: neg_lo */
	uint8_t neg_hi;	   /* VOP3P */
	uint8_t op_sel;	   /* bit 3: destination */
	uint8_t op_sel_hi; /* VOP3P */
	uint8_t omod;	   /* 0, 1: *2, 2: *4, 3: /2 */
	uint8_t clamp;	   /* bool */
	uint8_t acc; /* matrix operations: bit n: source n is an AccVGPR, bit 3: the destination */

	/* SDWA. */
	uint8_t sdwa_destination;
	uint8_t sdwa_unused;
	uint8_t sdwa_source[2];
	uint8_t sdwa_sext; /* bit n: sign-extend source n */

	/* DPP. */
	uint8_t dpp_bound_ctrl; /* bool: lanes without a source read 0 */
	uint8_t dpp_bank_mask;
	uint8_t dpp_row_mask;
	uint16_t dpp_control;

	/*
	 * SMEM, DS, FLAT, MUBUF. `destination` is the VGPR (SMEM: scalar_destination) loaded.
	 */
	uint16_t address;	/* VGPR number; SMEM: scalar code of the base pair */
	uint16_t data[2];	/* VGPR numbers; SMEM: scalar code stored */
	uint16_t resource;	/* MUBUF: scalar code of the descriptor's first SGPR */
	uint16_t scalar_offset; /* MUBUF, SMEM: operand code; FLAT: saddr, 0x7f none */
	int32_t offset;
	uint16_t memory_flags; /* SOFTGPU_GLC and the like */
};

/* Memory instruction flags. */
enum {
	SOFTGPU_GLC = 1 << 0,
	SOFTGPU_SLC = 1 << 1,
	SOFTGPU_TFE = 1 << 2,
	SOFTGPU_LDS = 1 << 3, /* load to LDS */
	SOFTGPU_OFFEN = 1 << 4,
	SOFTGPU_IDXEN = 1 << 5,
	SOFTGPU_NV = 1 << 6,
	SOFTGPU_GDS = 1 << 7,
	SOFTGPU_ACC = 1 << 8,	      /* data and destination are AccVGPRs */
	SOFTGPU_SCC = 1 << 9,	      /* system coherent (MUBUF and FLAT of gfx90a) */
	SOFTGPU_IMM = 1 << 10,	      /* SMEM: the offset is an immediate */
	SOFTGPU_SOFFSET_EN = 1 << 11, /* SMEM: an SGPR offset as well */
};

extern const struct softgpu_operation softgpu_sop1_operations[256];
extern const struct softgpu_operation softgpu_sop2_operations[128];
extern const struct softgpu_operation softgpu_sopk_operations[32];
extern const struct softgpu_operation softgpu_sopc_operations[128];
extern const struct softgpu_operation softgpu_sopp_operations[128];
extern const struct softgpu_operation softgpu_smem_operations[256];
extern const struct softgpu_operation softgpu_vop1_operations[256];
extern const struct softgpu_operation softgpu_vop2_operations[64];
/* 0..255 compares, 0x100 + VOP2 opcode, 0x140 + VOP1 opcode, then operations of its own. */
extern const struct softgpu_operation softgpu_vop3_operations[1024];
extern const struct softgpu_operation softgpu_vop3p_operations[128];
extern const struct softgpu_operation softgpu_vopc_operations[256];
extern const struct softgpu_operation softgpu_ds_operations[256];
extern const struct softgpu_operation softgpu_flat_operations[128];
extern const struct softgpu_operation softgpu_global_operations[128];
extern const struct softgpu_operation softgpu_scratch_operations[128];
extern const struct softgpu_operation softgpu_mubuf_operations[128];

enum softgpu_decode_result {
	SOFTGPU_DECODED,
	SOFTGPU_DECODE_UNKNOWN,	     /* no such instruction */
	SOFTGPU_DECODE_NOT_EMULATED, /* a known encoding family or operation; `what` names it */
};

/*
 * Decodes one instruction. `dwords` holds two dwords; the second is only looked at where the
 * first asks for it. `what` (may be NULL) receives the name of what is not emulated.
 */
enum softgpu_decode_result softgpu_decode(const uint32_t dwords[2], struct softgpu_instruction *out,
					  const char **what);

/*
 * Prints an instruction in llvm-mc's syntax, except that branch offsets, wait counters, messages,
 * hardware registers and swizzle patterns stay plain numbers.
 */
void softgpu_disassemble(const struct softgpu_instruction *instruction, char *out, size_t size);

/* The inline float constants (SOFTGPU_CODE_HALF and up) as halves. */
extern const uint16_t softgpu_half_constants[9];

extern const uint8_t softgpu_operand_dword_counts[SOFTGPU_MASK + 1];

/* Dwords of an operand of this type; 0 for SOFTGPU_NONE. */
static inline unsigned int softgpu_operand_dwords(unsigned int type)
{
	return softgpu_operand_dword_counts[type];
}

#endif
