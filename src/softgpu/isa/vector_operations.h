/* SPDX-License-Identifier: MIT */
/* Declares the execute function of every vector ALU operation in the lists. */
#ifndef SOFTGPU_VECTOR_OPERATIONS_H
#define SOFTGPU_VECTOR_OPERATIONS_H

#include "instruction.h"

#define OPERATION(opcode, name, ...) softgpu_execute softgpu_##name;
#define OPERATION_SHORT_ONLY(opcode, name, ...) softgpu_execute softgpu_##name;
#define OPERATION_NOT_EMULATED(opcode, name, ...)
#define COMPARE(opcode, opcode_exec, name, ...) softgpu_execute softgpu_v_cmp_##name;
#include "vop1_list.h"
#include "vop2_list.h"
#include "vop3_list.h"
#include "vop3p_list.h"
#include "vopc_list.h"
#undef OPERATION
#undef OPERATION_SHORT_ONLY
#undef OPERATION_NOT_EMULATED
#undef COMPARE

#endif
