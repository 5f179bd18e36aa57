/* SPDX-License-Identifier: MIT */
/* Jumps, EXEC, hardware registers, barriers, faults and the instruction cache. */
#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 200

static void move_literal(struct isa_program *program, unsigned int destination, uint32_t value)
{
	emit_sop1(program, "s_mov_b32", destination, SOFTGPU_CODE_LITERAL);
	emit(program, value);
}

START_TEST(branches)
{
	static const struct {
		const char *name;
		bool scc;
		uint64_t vcc, exec;
		bool taken;
	} cases[] = {
		{"s_branch", false, 0, 1, true},
		{"s_cbranch_scc0", false, 0, 1, true},
		{"s_cbranch_scc0", true, 0, 1, false},
		{"s_cbranch_scc1", true, 0, 1, true},
		{"s_cbranch_scc1", false, 0, 1, false},
		{"s_cbranch_vccz", false, 0, 1, true},
		{"s_cbranch_vccz", false, 1ull << 63, 1, false},
		{"s_cbranch_vccnz", false, 1ull << 63, 1, true},
		{"s_cbranch_vccnz", false, 0, 1, false},
		{"s_cbranch_execz", false, 0, 0, true},
		{"s_cbranch_execz", false, 0, 1ull << 32, false},
		{"s_cbranch_execnz", false, 0, 1ull << 32, true},
		{"s_cbranch_execnz", false, 0, 0, false},
		{"s_cbranch_cdbgsys", true, 1, 1, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct isa_program program = {0};
		struct isa_machine *machine;
		struct softgpu_wave *wave;

		/* Forward over one instruction, then back over it by a branch that is taken once.
		 */
		emit_sopp(&program, cases[i].name, 1);
		emit_sop1(&program, "s_mov_b32", 20, INLINE_INT(1));
		emit_sop2(&program, "s_add_u32", 21, 21, INLINE_INT(1));
		emit_sopc(&program, "s_cmp_lg_u32", 21, INLINE_INT(3));
		emit_sopp(&program, "s_cbranch_scc1", 0xfffd);
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		wave = isa_wave(machine, 0);
		wave->scc = cases[i].scc;
		wave->vcc = cases[i].vcc;
		wave->exec = cases[i].exec;
		wave->sgpr[20] = wave->sgpr[21] = 0;
		isa_run(machine);
		ck_assert_msg(wave->sgpr[20] == !cases[i].taken, "%s %zu", cases[i].name, i);
		ck_assert_uint_eq(wave->sgpr[21], 3);
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(calls)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint64_t entry;

	emit_sop1(&program, "s_getpc_b64", 20, 0);		  /* entry + 4 */
	emit_sop2(&program, "s_add_u32", 22, 20, INLINE_INT(40)); /* the function */
	emit_sop2(&program, "s_addc_u32", 23, 21, INLINE_INT(0));
	emit_sop1(&program, "s_swappc_b64", 24, 22);
	emit_sopk(&program, "s_call_b64", 26, 6);
	emit_sop1(&program, "s_mov_b32", 31, INLINE_INT(7));
	emit_end(&program);
	while (program.count < 11)
		emit(&program, 0xbf8c0000);
	/* Function at entry + 44: counts and returns through s[24:25] the first time. */
	emit_sop2(&program, "s_add_u32", 30, 30, INLINE_INT(1));
	emit_sopc(&program, "s_cmp_lg_u32", 30, INLINE_INT(1));
	emit_sopp(&program, "s_cbranch_scc1", 1);
	emit_sop1(&program, "s_setpc_b64", 0, 24);
	emit_sop1(&program, "s_setpc_b64", 0, 26);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	entry = wave->pc;
	isa_run(machine);
	ck_assert_uint_eq(wave->sgpr[20] | (uint64_t)wave->sgpr[21] << 32, entry + 4);
	ck_assert_uint_eq(wave->sgpr[24] | (uint64_t)wave->sgpr[25] << 32, entry + 16);
	ck_assert_uint_eq(wave->sgpr[26] | (uint64_t)wave->sgpr[27] << 32, entry + 20);
	ck_assert_uint_eq(wave->sgpr[30], 2);
	ck_assert_uint_eq(wave->sgpr[31], 7);
	isa_teardown(machine);
}
END_TEST

START_TEST(exec_masks)
{
	static const char *const names[] = {
		"s_and_saveexec_b64",	"s_or_saveexec_b64",   "s_xor_saveexec_b64",
		"s_andn2_saveexec_b64", "s_orn2_saveexec_b64", "s_nand_saveexec_b64",
		"s_nor_saveexec_b64",	"s_xnor_saveexec_b64", "s_andn1_saveexec_b64",
		"s_orn1_saveexec_b64",	"s_andn1_wrexec_b64",  "s_andn2_wrexec_b64",
	};

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = isa_random_operand64(), e = isa_random_operand64();
		const uint64_t expected[] = {a & e,    a | e,	 a ^ e,	 a & ~e, a | ~e, ~(a & e),
					     ~(a | e), ~(a ^ e), ~a & e, ~a | e, ~a & e, a & ~e};

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			bool saves = strstr(names[n], "save") != NULL;
			struct isa_program program = {0};
			struct isa_machine *machine;
			struct softgpu_wave *wave;

			emit_sop1(&program, names[n], 22, 20);
			emit_end(&program);
			machine = isa_setup(&program, NULL);
			wave = isa_wave(machine, 0);
			softgpu_write_scalar64(wave, 20, a);
			wave->exec = e;
			isa_run(machine);
			ck_assert_msg(wave->exec == expected[n], "%s", names[n]);
			ck_assert_msg(wave->scc == (expected[n] != 0), "%s", names[n]);
			ck_assert_uint_eq(wave->sgpr[22] | (uint64_t)wave->sgpr[23] << 32,
					  saves ? e : expected[n]);
			isa_teardown(machine);
		}
	}
}
END_TEST

START_TEST(scalar_operands)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	static const uint64_t doubles[] = {
		0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
		0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
		0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
	static const uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000,
					  0xbf800000, 0x40000000, 0xc0000000,
					  0x40800000, 0xc0800000, 0x3e22f983};

	for (unsigned int i = 0; i < 9; i++) {
		emit_sop1(&program, "s_mov_b32", 20 + i, SOFTGPU_CODE_HALF + i);
		emit_sop1(&program, "s_mov_b64", 30 + 2 * i, SOFTGPU_CODE_HALF + i);
	}
	emit_sop1(&program, "s_mov_b64", 50, INLINE_INT(-16));
	emit_sop1(&program, "s_mov_b64", 52, INLINE_INT(64));
	emit_sop1(&program, "s_mov_b64", 54, SOFTGPU_CODE_SHARED_BASE);
	emit_sop1(&program, "s_mov_b64", 56, SOFTGPU_CODE_PRIVATE_BASE);
	emit_sop1(&program, "s_mov_b64", 58, SOFTGPU_CODE_LITERAL);
	emit(&program, 0x87654321);
	emit_sop2(&program, "s_ashr_i64", 60, SOFTGPU_CODE_LITERAL, INLINE_INT(4));
	emit(&program, 0x87654321);
	emit_sop1(&program, "s_mov_b32", 62, SOFTGPU_CODE_VCCZ);
	emit_sop1(&program, "s_mov_b32", 63, SOFTGPU_CODE_EXECZ);
	emit_sop1(&program, "s_mov_b32", 64, SOFTGPU_CODE_M0);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	wave->vcc = 0;
	wave->m0 = 0x1234;
	isa_run(machine);
	for (unsigned int i = 0; i < 9; i++) {
		ck_assert_uint_eq(wave->sgpr[20 + i], floats[i]);
		ck_assert_uint_eq(wave->sgpr[30 + 2 * i] | (uint64_t)wave->sgpr[31 + 2 * i] << 32,
				  doubles[i]);
	}
#define PAIR(n) (wave->sgpr[n] | (uint64_t)wave->sgpr[(n) + 1] << 32)
	ck_assert_uint_eq(PAIR(50), 0xfffffffffffffff0);
	ck_assert_uint_eq(PAIR(52), 64);
	ck_assert_uint_eq(PAIR(54), 0x0002000000000000);
	ck_assert_uint_eq(PAIR(56), 0x0001000000000000);
	ck_assert_uint_eq(PAIR(58), 0x87654321);
	ck_assert_uint_eq(PAIR(60), 0xfffffffff8765432);
	ck_assert_uint_eq(wave->sgpr[62], 1);
	ck_assert_uint_eq(wave->sgpr[63], 0);
	ck_assert_uint_eq(wave->sgpr[64], 0x1234);
	isa_teardown(machine);
}
END_TEST

#define HWREG(id, offset, width) ((id) | (offset) << 6 | ((width)-1) << 11)

START_TEST(hardware_registers)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;

	emit_sopk(&program, "s_getreg_b32", 20, HWREG(1, 0, 32)); /* MODE */
	move_literal(&program, 21, 0x5);
	emit_sopk(&program, "s_setreg_b32", 21, HWREG(1, 4, 3));
	emit_sopk(&program, "s_getreg_b32", 22, HWREG(1, 0, 32));
	emit_sopk(&program, "s_setreg_imm32_b32", 0, HWREG(1, 0, 2));
	emit(&program, 3);
	emit_sopk(&program, "s_getreg_b32", 23, HWREG(1, 0, 8));
	emit_sopk(&program, "s_getreg_b32", 24, HWREG(4, 8, 4));   /* HW_ID: CU */
	emit_sopk(&program, "s_getreg_b32", 25, HWREG(4, 13, 3));  /* SE */
	emit_sopk(&program, "s_getreg_b32", 26, HWREG(15, 0, 32)); /* SH_MEM_BASES */
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	isa_workgroup(machine)->placement.compute_unit = 11;
	isa_workgroup(machine)->placement.shader_engine = 6;
	wave = isa_wave(machine, 0);
	isa_run(machine);
	ck_assert_uint_eq(wave->sgpr[20], 0x3f0); /* denormals kept, DX10 clamp, IEEE */
	ck_assert_uint_eq(wave->sgpr[22], 0x3d0);
	ck_assert_uint_eq(wave->sgpr[23], 0xd3);
	ck_assert_uint_eq(wave->sgpr[24], 11);
	ck_assert_uint_eq(wave->sgpr[25], 6);
	ck_assert_uint_eq(wave->sgpr[26], 1 | 2 << 16);
	isa_teardown(machine);
}
END_TEST

START_TEST(clocks_advance)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;

	emit_smem(&program, "s_memtime", 20, 0, 0);
	emit_smem(&program, "s_memrealtime", 24, 0, 0);
	emit_sopp(&program, "s_sleep", 1);
	emit_smem(&program, "s_memtime", 22, 0, 0);
	emit_smem(&program, "s_memrealtime", 26, 0, 0);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	isa_run(machine);
	ck_assert_uint_gt(PAIR(22), PAIR(20));
	ck_assert_uint_ge(PAIR(26), PAIR(24));
	/* One clock counts nanoseconds, the other ten of them. */
	ck_assert_uint_ge(PAIR(24), PAIR(20) / 10);
	ck_assert_uint_le(PAIR(24), PAIR(22) / 10);
	isa_teardown(machine);
}
END_TEST

START_TEST(barrier_orders_waves)
{
	struct isa_program program = {0};
	struct isa_options options = {.workgroup_size = 200, .group_segment_size = 64};
	struct isa_machine *machine;

	/* Every wave adds 1 to a counter, waits, then must read the number of waves. */
	emit_vop1(&program, "v_mov_b32", 1, INLINE_INT(0));
	emit_sop1(&program, "s_mov_b64", 20, SOFTGPU_CODE_EXEC);
	emit_sop1(&program, "s_mov_b64", SOFTGPU_CODE_EXEC, INLINE_INT(1));
	emit_vop1(&program, "v_mov_b32", 2, INLINE_INT(1));
	emit_ds(&program, "ds_add_u32", 0, 1, 2, 0, 0);
	emit_sop1(&program, "s_mov_b64", SOFTGPU_CODE_EXEC, 20);
	emit_sopp(&program, "s_barrier", 0);
	emit_ds(&program, "ds_read_b32", 3, 1, 0, 0, 0);
	/* A second barrier that the last wave does not reach: it has ended. */
	emit_vop1(&program, "v_readfirstlane_b32", 22, VGPR(0));
	emit_sopc(&program, "s_cmp_eq_u32", 22, SOFTGPU_CODE_LITERAL);
	emit(&program, 192);
	emit_sopp(&program, "s_cbranch_scc1", 1);
	emit_sopp(&program, "s_barrier", 0);
	emit_end(&program);
	machine = isa_setup(&program, &options);
	isa_run(machine);
	ck_assert_uint_eq(isa_workgroup(machine)->wave_count, 4);
	for (unsigned int wave = 0; wave < 4; wave++)
		for (unsigned int lane = 0; lane < (wave < 3 ? 64 : 8); lane++)
			ck_assert_uint_eq(isa_wave(machine, wave)->vgpr[3][lane], 4);
	/* Lanes beyond the workgroup are off. */
	ck_assert_uint_eq(isa_wave(machine, 3)->exec, 0xff);
	isa_teardown(machine);
}
END_TEST

START_TEST(traps_and_unknown_instructions)
{
	static const struct {
		uint32_t encoding[2];
		enum softgpu_fault_kind kind;
		const char *text;
	} cases[] = {
		{{0xbf920002, 0}, SOFTGPU_FAULT_TRAP, "s_trap 2"},
		{{0xbfff0000, 0}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "bfff0000"},
		{{0xbe802f00, 0}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "unknown instruction"},
		{{0xf0000000, 0}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "MIMG"},
		{{0xd3c00000, 0x04020501}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "v_mfma"},
		{{0xbf900002, 0}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "message 0x2"},
		{{0xb8820012, 0}, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, "hardware register 18"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct isa_program program = {0};
		struct isa_machine *machine;
		const struct softgpu_fault *fault;
		uint64_t entry;
		char pc[32];

		emit_sopp(&program, "s_nop", 0);
		emit(&program, cases[i].encoding[0]);
		emit(&program, cases[i].encoding[1]);
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		entry = isa_wave(machine, 0)->pc;
		fault = isa_run_to_fault(machine);
		ck_assert_int_eq(fault->kind, cases[i].kind);
		ck_assert_uint_eq(fault->pc, entry + 4);
		ck_assert_msg(strstr(fault->message, cases[i].text) != NULL, "%s", fault->message);
		snprintf(pc, sizeof(pc), "pc 0x%llx", (unsigned long long)entry + 4);
		ck_assert_msg(strstr(fault->message, pc) != NULL, "%s", fault->message);
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(debug_trap_and_interrupt_continue)
{
	struct isa_program program = {0};
	struct isa_machine *machine;

	emit_sopp(&program, "s_trap", 3);
	emit_sopp(&program, "s_sendmsg", 1);
	emit_sop1(&program, "s_mov_b32", 20, INLINE_INT(9));
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	isa_run(machine);
	ck_assert_uint_eq(isa_wave(machine, 0)->sgpr[20], 9);
	isa_teardown(machine);
}
END_TEST

START_TEST(jump_outside_code_faults)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	const struct softgpu_fault *fault;

	move_literal(&program, 20, 0x1000);
	emit_sop1(&program, "s_mov_b32", 21, INLINE_INT(1));
	emit_sop1(&program, "s_setpc_b64", 0, 20);
	machine = isa_setup(&program, NULL);
	fault = isa_run_to_fault(machine);
	ck_assert_int_eq(fault->kind, SOFTGPU_FAULT_MEMORY);
	ck_assert_uint_eq(fault->address, 0x100001000);
	isa_teardown(machine);
}
END_TEST

START_TEST(new_code_at_the_same_address)
{
	struct softgpu_instruction_cache *cache = softgpu_instruction_cache_create();
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_fault fault;
	uint32_t *code;

	/* s20 = 1; jump back once after the code has been rewritten and invalidated. */
	emit_sop1(&program, "s_mov_b32", 20, INLINE_INT(1));
	emit_sopp(&program, "s_sleep", 0);
	emit_sopp(&program, "s_icache_inv", 0);
	emit_sopc(&program, "s_cmp_eq_u32", 20, INLINE_INT(1));
	emit_sopp(&program, "s_cbranch_scc1", 0xfffb);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	code = (uint32_t *)(uintptr_t)isa_wave(machine, 0)->pc;
	ck_assert_int_eq(softgpu_workgroup_run(isa_workgroup(machine), cache, 100, &fault),
			 SOFTGPU_RUN_YIELDED);
	code[0] = 0xbe940082; /* s_mov_b32 s20, 2 */
	ck_assert_int_eq(softgpu_workgroup_run(isa_workgroup(machine), cache, 100, &fault),
			 SOFTGPU_RUN_YIELDED);
	ck_assert_int_eq(softgpu_workgroup_run(isa_workgroup(machine), cache, 100, &fault),
			 SOFTGPU_RUN_DONE);
	ck_assert_uint_eq(isa_wave(machine, 0)->sgpr[20], 2);
	isa_teardown(machine);
	softgpu_instruction_cache_destroy(cache);
}
END_TEST

START_TEST(relative_registers)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;

	emit_sop1(&program, "s_mov_b32", SOFTGPU_CODE_M0, INLINE_INT(4));
	emit_sop1(&program, "s_movrels_b32", 20, 30);
	emit_sop1(&program, "s_movreld_b32", 40, 21);
	emit_sop1(&program, "s_movrels_b64", 22, 30);
	emit_sop1(&program, "s_movreld_b64", 42, 34);
	/* VGPR indexing: source 0 and destination by 3 and then by 5. */
	emit_sopc(&program, "s_set_gpr_idx_on", INLINE_INT(3), 9);
	emit_vop1(&program, "v_mov_b32", 10, VGPR(2));
	emit_sop1(&program, "s_set_gpr_idx_idx", 0, INLINE_INT(5));
	emit_vop2(&program, "v_add_u32", 10, VGPR(2), 2);
	emit_sopp(&program, "s_set_gpr_idx_mode", 8);
	emit_vop1(&program, "v_mov_b32", 20, VGPR(2));
	emit_sopp(&program, "s_set_gpr_idx_off", 0);
	emit_vop1(&program, "v_mov_b32", 30, VGPR(2));
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	wave->sgpr[34] = 0x3434;
	wave->sgpr[35] = 0x3535;
	wave->sgpr[21] = 0x2121;
	for (unsigned int i = 0; i < 40; i++)
		wave->vgpr[i][7] = 100 + i;
	isa_run(machine);
	ck_assert_uint_eq(wave->sgpr[20], 0x3434);
	ck_assert_uint_eq(wave->sgpr[44], 0x2121);
	ck_assert_uint_eq(PAIR(22), 0x353500003434);
	ck_assert_uint_eq(PAIR(46), 0x353500003434);
	ck_assert_uint_eq(wave->vgpr[13][7], 105);	 /* v10+3 = v2+3 */
	ck_assert_uint_eq(wave->vgpr[15][7], 107 + 102); /* v10+5 = v2+5 + v2 */
	ck_assert_uint_eq(wave->vgpr[25][7], 102);	 /* v20+5 = v2 */
	ck_assert_uint_eq(wave->vgpr[30][7], 102);
	ck_assert_uint_eq(wave->vgpr[10][7], 110);
	isa_teardown(machine);
}
END_TEST

START_TEST(budget_ends_a_slice)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_instruction_cache *cache = softgpu_instruction_cache_create();
	struct softgpu_fault fault;

	emit_sopp(&program, "s_branch", 0xffff); /* for ever */
	machine = isa_setup(&program, NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(softgpu_workgroup_run(isa_workgroup(machine), cache, 5000, &fault),
				 SOFTGPU_RUN_YIELDED);
	ck_assert_uint_ge(softgpu_workgroup_instructions(isa_workgroup(machine)), 15000);
	ck_assert_uint_le(softgpu_workgroup_instructions(isa_workgroup(machine)), 25000);
	isa_teardown(machine);
	softgpu_instruction_cache_destroy(cache);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_program");
	TCase *test_case = tcase_create("program");

	tcase_set_timeout(test_case, 30);
	tcase_add_test(test_case, branches);
	tcase_add_test(test_case, calls);
	tcase_add_test(test_case, exec_masks);
	tcase_add_test(test_case, scalar_operands);
	tcase_add_test(test_case, hardware_registers);
	tcase_add_test(test_case, clocks_advance);
	tcase_add_test(test_case, barrier_orders_waves);
	tcase_add_test(test_case, traps_and_unknown_instructions);
	tcase_add_test(test_case, debug_trap_and_interrupt_continue);
	tcase_add_test(test_case, jump_outside_code_faults);
	tcase_add_test(test_case, new_code_at_the_same_address);
	tcase_add_test(test_case, relative_registers);
	tcase_add_test(test_case, budget_ends_a_slice);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
