/* SPDX-License-Identifier: MIT */
/* SOPP: program control. */
#include "memory_access.h"
#include "scalar.h"
#include "workgroup.h"

/*
 * Also the operations without a meaning here: wait counters (every instruction is complete before
 * the next one), priorities, performance counters, thread trace.
 */
SCALAR_OPERATION(nop)
{
	(void)wave;
	(void)instruction;
}

/* Waiting for memory is where a wave's accesses get ordered with those of others. */
SCALAR_OPERATION(waitcnt)
{
	(void)instruction;
	(void)wave;
	/* Keeps the compiler from moving accesses across; the host's hardware is ordered enough. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

SCALAR_OPERATION(endpgm)
{
	(void)instruction;
	wave->state = SOFTGPU_WAVE_ENDED;
}

static inline void jump(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	wave->pc += (uint64_t)(int64_t)(int32_t)instruction->literal * 4;
}

#define BRANCH(name, condition)                                                                    \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		if (condition)                                                                     \
			jump(wave, instruction);                                                   \
	}

BRANCH(branch, true)
BRANCH(cbranch_scc0, !wave->scc)
BRANCH(cbranch_scc1, wave->scc)
BRANCH(cbranch_vccz, wave->vcc == 0)
BRANCH(cbranch_vccnz, wave->vcc != 0)
BRANCH(cbranch_execz, wave->exec == 0)
BRANCH(cbranch_execnz, wave->exec != 0)

SCALAR_OPERATION(barrier)
{
	(void)instruction;
	if (wave->workgroup->wave_count > 1)
		wave->state = SOFTGPU_WAVE_BARRIER;
}

SCALAR_OPERATION(sleep)
{
	(void)instruction;
	wave->state = SOFTGPU_WAVE_YIELDED;
}

/* Trap 3 is for debuggers; without one its handler returns at once. */
SCALAR_OPERATION(trap)
{
	uint32_t number = instruction->literal & 0xff;

	if (number != 3)
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_TRAP, "s_trap %u", number);
}

/* Message 1 interrupts the host, after a device-side signal operation; M0 holds the event id. */
SCALAR_OPERATION(sendmsg)
{
	const struct softgpu_dispatch *dispatch = &wave->workgroup->kernel->dispatch;
	uint32_t message = instruction->literal & 0xffff;

	if (message != 1) {
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
				   "s_sendmsg: message 0x%x is not emulated", message);
		return;
	}
	if (dispatch->interrupt != NULL)
		dispatch->interrupt(dispatch->interrupt_context, wave->m0);
}

SCALAR_OPERATION(icache_inv)
{
	(void)instruction;
	wave->workgroup->code_epoch = softgpu_next_code_epoch();
}

SCALAR_OPERATION(set_gpr_idx_off)
{
	(void)instruction;
	wave->mode &= ~(1u << SOFTGPU_MODE_GPR_INDEX_EN);
}

SCALAR_OPERATION(set_gpr_idx_mode)
{
	wave->m0 = (wave->m0 & ~0xf000u) | (instruction->literal & 0xf) << 12;
}

/* With an immediate operand, and without. */
#define IMMEDIATE_ENTRY(name, function)                                                            \
	{                                                                                          \
		"s_" name, function, 0, SOFTGPU_NONE,                                              \
		{                                                                                  \
			SOFTGPU_B16                                                                \
		}                                                                                  \
	}
#define ENTRY(name, function)                                                                      \
	{                                                                                          \
		"s_" name, function, 0, SOFTGPU_NONE,                                              \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}
#define BRANCH_ENTRY(name, function)                                                               \
	{                                                                                          \
		"s_" name, function, SOFTGPU_BRANCH, SOFTGPU_NONE,                                 \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}

const struct softgpu_operation softgpu_sopp_operations[128] = {
	[0] = IMMEDIATE_ENTRY("nop", nop),
	[1] = IMMEDIATE_ENTRY("endpgm", endpgm),
	[2] = BRANCH_ENTRY("branch", branch),
	[3] = ENTRY("wakeup", nop),
	[4] = BRANCH_ENTRY("cbranch_scc0", cbranch_scc0),
	[5] = BRANCH_ENTRY("cbranch_scc1", cbranch_scc1),
	[6] = BRANCH_ENTRY("cbranch_vccz", cbranch_vccz),
	[7] = BRANCH_ENTRY("cbranch_vccnz", cbranch_vccnz),
	[8] = BRANCH_ENTRY("cbranch_execz", cbranch_execz),
	[9] = BRANCH_ENTRY("cbranch_execnz", cbranch_execnz),
	[10] = ENTRY("barrier", barrier),
	[11] = IMMEDIATE_ENTRY("setkill", NULL),
	[12] = IMMEDIATE_ENTRY("waitcnt", waitcnt),
	[13] = IMMEDIATE_ENTRY("sethalt", NULL),
	[14] = IMMEDIATE_ENTRY("sleep", sleep),
	[15] = IMMEDIATE_ENTRY("setprio", nop),
	[16] = IMMEDIATE_ENTRY("sendmsg", sendmsg),
	[17] = IMMEDIATE_ENTRY("sendmsghalt", NULL),
	[18] = IMMEDIATE_ENTRY("trap", trap),
	[19] = ENTRY("icache_inv", icache_inv),
	[20] = IMMEDIATE_ENTRY("incperflevel", nop),
	[21] = IMMEDIATE_ENTRY("decperflevel", nop),
	[22] = ENTRY("ttracedata", nop),
	/* No debugger ever sets the conditions of these branches. */
	[23] = BRANCH_ENTRY("cbranch_cdbgsys", nop),
	[24] = BRANCH_ENTRY("cbranch_cdbguser", nop),
	[25] = BRANCH_ENTRY("cbranch_cdbgsys_or_user", nop),
	[26] = BRANCH_ENTRY("cbranch_cdbgsys_and_user", nop),
	[27] = ENTRY("endpgm_saved", endpgm),
	[28] = ENTRY("set_gpr_idx_off", set_gpr_idx_off),
	[29] = IMMEDIATE_ENTRY("set_gpr_idx_mode", set_gpr_idx_mode),
	[30] = ENTRY("endpgm_ordered_ps_done", NULL),
};
