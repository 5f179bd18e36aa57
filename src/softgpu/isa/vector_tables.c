/* SPDX-License-Identifier: MIT */
/* The operation tables of the vector ALU, made from the lists. */
#include "vector_operations.h"

#define SOURCES_1(A)       {SOFTGPU_##A}
#define SOURCES_2(A, B)    {SOFTGPU_##A, SOFTGPU_##B}
#define SOURCES_3(A, B, C) {SOFTGPU_##A, SOFTGPU_##B, SOFTGPU_##C}

#define ENTRY(opcode, mnemonic, function, flag_bits, D, sources)                                   \
	[opcode] = {.name = #mnemonic,                                                             \
		    .execute = (function),                                                         \
		    .flags = (flag_bits),                                                          \
		    .destination = SOFTGPU_##D,                                                    \
		    .source = sources},

/* A flag of the short encodings means nothing in VOP3; a carry out makes it VOP3B there. */
#define VOP3_FLAGS(flags)                                                                          \
	(((flags) & ~(uint32_t)(SOFTGPU_NO_SDWA | SOFTGPU_NO_DPP)) |                               \
	 ((flags) & SOFTGPU_CARRY_OUT ? SOFTGPU_VOP3B : 0))

#define COMPARE_ENTRIES(opcode, opcode_exec, name, flags, A, B)                                    \
	ENTRY(opcode, v_cmp_##name, softgpu_v_cmp_##name, SOFTGPU_SCALAR_DESTINATION | (flags),    \
	      MASK, SOURCES_2(A, B))                                                               \
	ENTRY(opcode_exec, v_cmpx_##name, softgpu_v_cmp_##name,                                    \
	      SOFTGPU_SCALAR_DESTINATION | SOFTGPU_COMPARE_EXEC | (flags), MASK, SOURCES_2(A, B))

#define MATRIX_ENTRY(opcode, name, D, A, B, C)                                                     \
	ENTRY(opcode, name, NULL, SOFTGPU_MATRIX, D, SOURCES_3(A, B, C))

const struct softgpu_operation softgpu_vop1_operations[256] = {
#define OPERATION(opcode, name, flags, D, A)                                                       \
	ENTRY(opcode, name, softgpu_##name, flags, D, SOURCES_1(A))
#define OPERATION_SHORT_ONLY OPERATION
#define OPERATION_NOT_EMULATED(opcode, name, flags, D, A)                                          \
	ENTRY(opcode, name, NULL, flags, D, SOURCES_1(A))
#include "vop1_list.h"
#undef OPERATION
#undef OPERATION_SHORT_ONLY
#undef OPERATION_NOT_EMULATED
};

const struct softgpu_operation softgpu_vop2_operations[64] = {
#define OPERATION(opcode, name, flags, D, A, B, C)                                                 \
	ENTRY(opcode, name, softgpu_##name, flags, D, SOURCES_3(A, B, C))
#define OPERATION_SHORT_ONLY OPERATION
#include "vop2_list.h"
#undef OPERATION
#undef OPERATION_SHORT_ONLY
};

const struct softgpu_operation softgpu_vopc_operations[256] = {
#define COMPARE(opcode, opcode_exec, name, flags, A, B)                                            \
	COMPARE_ENTRIES(opcode, opcode_exec, name, SOFTGPU_NO_DPP | (flags), A, B)
#include "vopc_list.h"
#undef COMPARE
};

const struct softgpu_operation softgpu_vop3_operations[1024] = {
#define COMPARE(opcode, opcode_exec, name, flags, A, B)                                            \
	COMPARE_ENTRIES(opcode, opcode_exec, name, VOP3_FLAGS(flags), A, B)
#include "vopc_list.h"
#undef COMPARE

#define OPERATION(opcode, name, flags, D, A, B, C)                                                 \
	ENTRY(0x100 + opcode, name, softgpu_##name, VOP3_FLAGS(flags), D, SOURCES_3(A, B, C))
#define OPERATION_SHORT_ONLY(...)
#include "vop2_list.h"
#undef OPERATION

#define OPERATION(opcode, name, flags, D, A)                                                       \
	ENTRY(0x140 + opcode, name, softgpu_##name, VOP3_FLAGS(flags), D, SOURCES_1(A))
#define OPERATION_NOT_EMULATED(opcode, name, flags, D, A)                                          \
	ENTRY(0x140 + opcode, name, NULL, VOP3_FLAGS(flags), D, SOURCES_1(A))
#include "vop1_list.h"
#undef OPERATION
#undef OPERATION_SHORT_ONLY
#undef OPERATION_NOT_EMULATED

#define OPERATION(opcode, name, flags, D, A, B, C)                                                 \
	ENTRY(opcode, name, softgpu_##name, VOP3_FLAGS(flags), D, SOURCES_3(A, B, C))
#include "vop3_list.h"
#undef OPERATION
};

const struct softgpu_operation softgpu_vop3p_operations[128] = {
#define OPERATION(opcode, name, flags, D, A, B, C)                                                 \
	ENTRY(opcode, name, softgpu_##name, flags, D, SOURCES_3(A, B, C))
#define OPERATION_NOT_EMULATED MATRIX_ENTRY
#include "vop3p_list.h"
#undef OPERATION
#undef OPERATION_NOT_EMULATED
};
