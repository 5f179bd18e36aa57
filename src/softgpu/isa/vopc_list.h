/* SPDX-License-Identifier: MIT */
/*
 * The compares, opcodes of VOPC and of VOP3 alike. The includer defines
 * COMPARE(opcode, name, function, flags, source 0, source 1): `name` without v_cmp_ and v_cmpx_,
 * both forms; the v_cmpx_ form has the opcode `opcode` + `distance`. Hence no include guard.
 */
#define COMPARE_CLASS(opcode, type, TYPE, flags)                                                   \
	COMPARE(opcode, opcode + 1, class_##type, flags, TYPE, B32)

#define COMPARE_FLOATS(opcode, type, TYPE, flags)                                                  \
	COMPARE(opcode + 0, opcode + 16, f_##type, flags, TYPE, TYPE)                              \
	COMPARE(opcode + 1, opcode + 17, lt_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 2, opcode + 18, eq_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 3, opcode + 19, le_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 4, opcode + 20, gt_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 5, opcode + 21, lg_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 6, opcode + 22, ge_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 7, opcode + 23, o_##type, flags, TYPE, TYPE)                              \
	COMPARE(opcode + 8, opcode + 24, u_##type, flags, TYPE, TYPE)                              \
	COMPARE(opcode + 9, opcode + 25, nge_##type, flags, TYPE, TYPE)                            \
	COMPARE(opcode + 10, opcode + 26, nlg_##type, flags, TYPE, TYPE)                           \
	COMPARE(opcode + 11, opcode + 27, ngt_##type, flags, TYPE, TYPE)                           \
	COMPARE(opcode + 12, opcode + 28, nle_##type, flags, TYPE, TYPE)                           \
	COMPARE(opcode + 13, opcode + 29, neq_##type, flags, TYPE, TYPE)                           \
	COMPARE(opcode + 14, opcode + 30, nlt_##type, flags, TYPE, TYPE)                           \
	COMPARE(opcode + 15, opcode + 31, tru_##type, flags, TYPE, TYPE)

#define COMPARE_INTEGERS(opcode, type, TYPE, flags)                                                \
	COMPARE(opcode + 0, opcode + 16, f_##type, flags, TYPE, TYPE)                              \
	COMPARE(opcode + 1, opcode + 17, lt_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 2, opcode + 18, eq_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 3, opcode + 19, le_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 4, opcode + 20, gt_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 5, opcode + 21, ne_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 6, opcode + 22, ge_##type, flags, TYPE, TYPE)                             \
	COMPARE(opcode + 7, opcode + 23, t_##type, flags, TYPE, TYPE)

COMPARE_CLASS(16, f32, F32, 0)
COMPARE_CLASS(18, f64, F64, SOFTGPU_NO_SDWA)
COMPARE_CLASS(20, f16, F16, 0)
COMPARE_FLOATS(32, f16, F16, 0)
COMPARE_FLOATS(64, f32, F32, 0)
COMPARE_FLOATS(96, f64, F64, SOFTGPU_NO_SDWA)
COMPARE_INTEGERS(160, i16, B16, 0)
COMPARE_INTEGERS(168, u16, B16, 0)
COMPARE_INTEGERS(192, i32, B32, 0)
COMPARE_INTEGERS(200, u32, B32, 0)
COMPARE_INTEGERS(224, i64, I64, SOFTGPU_NO_SDWA)
COMPARE_INTEGERS(232, u64, B64, SOFTGPU_NO_SDWA)

#undef COMPARE_CLASS
#undef COMPARE_FLOATS
#undef COMPARE_INTEGERS
