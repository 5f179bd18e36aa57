/* SPDX-License-Identifier: MIT */
/* SOPK: scalar operations with a 16-bit immediate; hardware registers. */
#include "scalar.h"
#include "workgroup.h"

/* The immediate, sign-extended; compares of unsigned numbers want it zero-extended. */
#define IMMEDIATE     (instruction->literal)
#define IMMEDIATE_U16 (instruction->literal & 0xffff)

SCALAR_OPERATION(movk_i32)
{
	WRITE32(IMMEDIATE);
}

SCALAR_OPERATION(cmovk_i32)
{
	if (wave->scc)
		WRITE32(IMMEDIATE);
}

#define COMPARE(name, type, operator, immediate)                                                   \
	SCALAR_OPERATION(name)                                                                     \
	{                                                                                          \
		wave->scc = (type)SOURCE32(0) operator(type)(immediate);                           \
	}

COMPARE(cmpk_eq_i32, int32_t, ==, IMMEDIATE)
COMPARE(cmpk_lg_i32, int32_t, !=, IMMEDIATE)
COMPARE(cmpk_gt_i32, int32_t, >, IMMEDIATE)
COMPARE(cmpk_ge_i32, int32_t, >=, IMMEDIATE)
COMPARE(cmpk_lt_i32, int32_t, <, IMMEDIATE)
COMPARE(cmpk_le_i32, int32_t, <=, IMMEDIATE)
COMPARE(cmpk_eq_u32, uint32_t, ==, IMMEDIATE_U16)
COMPARE(cmpk_lg_u32, uint32_t, !=, IMMEDIATE_U16)
COMPARE(cmpk_gt_u32, uint32_t, >, IMMEDIATE_U16)
COMPARE(cmpk_ge_u32, uint32_t, >=, IMMEDIATE_U16)
COMPARE(cmpk_lt_u32, uint32_t, <, IMMEDIATE_U16)
COMPARE(cmpk_le_u32, uint32_t, <=, IMMEDIATE_U16)

SCALAR_OPERATION(addk_i32)
{
	int32_t result;

	wave->scc = __builtin_add_overflow((int32_t)SOURCE32(0), (int32_t)IMMEDIATE, &result);
	WRITE32((uint32_t)result);
}

SCALAR_OPERATION(mulk_i32)
{
	WRITE32(SOURCE32(0) * IMMEDIATE);
}

SCALAR_OPERATION(call_b64)
{
	WRITE64(wave->pc);
	wave->pc += (uint64_t)(int64_t)(int32_t)IMMEDIATE * 4;
}

/* Hardware register numbers. */
enum {
	REGISTER_MODE = 1,
	REGISTER_STATUS = 2,
	REGISTER_TRAPSTS = 3,
	REGISTER_HW_ID = 4,
	REGISTER_GPR_ALLOC = 5,
	REGISTER_LDS_ALLOC = 6,
	REGISTER_IB_STS = 7,
	REGISTER_SH_MEM_BASES = 15,
};

static uint32_t status(const struct softgpu_wave *wave)
{
	return (uint32_t)wave->scc | (uint32_t)(wave->exec == 0) << 9 |
	       (uint32_t)(wave->vcc == 0) << 10 |
	       (uint32_t)(wave->workgroup->wave_count > 1) << 11 | 1u << 16;
}

static uint32_t hardware_id(const struct softgpu_wave *wave)
{
	const struct softgpu_placement *placement = &wave->workgroup->placement;

	return (wave->index / 4 & 0xf) | (wave->index & 3) << 4 | (placement->pipe & 3) << 6 |
	       (placement->compute_unit & 0xf) << 8 | (placement->shader_array & 1) << 12 |
	       (placement->shader_engine & 7) << 13 | (placement->queue & 7) << 24;
}

/* False if softgpu does not have this register. */
static bool read_register(const struct softgpu_wave *wave, unsigned int number, uint32_t *value)
{
	const struct softgpu_kernel *kernel = wave->workgroup->kernel;
	uint32_t granules =
		(kernel->vgpr_count + kernel->acc_vgpr_count) / kernel->target->vgpr_granule;

	switch (number) {
	case REGISTER_MODE:
		*value = wave->mode;
		return true;
	case REGISTER_STATUS:
		*value = status(wave);
		return true;
	case REGISTER_TRAPSTS:
		*value = wave->trapsts;
		return true;
	case REGISTER_HW_ID:
		*value = hardware_id(wave);
		return true;
	case REGISTER_GPR_ALLOC: /* sizes in granules - 1; SGPRs come in granules of 16 */
		*value = (granules - 1) << 8 | (kernel->target->sgpr_count / 16) << 24;
		return true;
	case REGISTER_LDS_ALLOC: /* size in units of 128 dwords */
		*value = (wave->workgroup->lds_size + 511) / 512 << 12;
		return true;
	case REGISTER_IB_STS: /* memory counters: nothing is ever outstanding */
		*value = 0;
		return true;
	case REGISTER_SH_MEM_BASES:
		*value = (uint32_t)(kernel->dispatch.private_aperture_base >> 48) |
			 (uint32_t)(kernel->dispatch.shared_aperture_base >> 48) << 16;
		return true;
	default:
		return false;
	}
}

struct register_field {
	unsigned int number, offset, width;
	uint32_t mask; /* in place */
};

static struct register_field register_field(const struct softgpu_instruction *instruction)
{
	uint32_t immediate = instruction->encoding[0] & 0xffff;
	struct register_field field = {
		.number = immediate & 0x3f,
		.offset = immediate >> 6 & 0x1f,
		.width = (immediate >> 11) + 1,
	};

	field.mask = (uint32_t)((((uint64_t)1 << field.width) - 1) << field.offset);
	return field;
}

SCALAR_OPERATION(getreg_b32)
{
	struct register_field field = register_field(instruction);
	uint32_t value;

	if (!read_register(wave, field.number, &value)) {
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
				   "s_getreg_b32: hardware register %u is not emulated",
				   field.number);
		return;
	}
	WRITE32((value & field.mask) >> field.offset);
}

static void set_register(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint32_t value)
{
	struct register_field field = register_field(instruction);
	uint32_t bits = value << field.offset & field.mask;

	switch (field.number) {
	case REGISTER_MODE:
		wave->mode = (wave->mode & ~field.mask) | bits;
		return;
	case REGISTER_TRAPSTS:
		wave->trapsts = (wave->trapsts & ~field.mask) | bits;
		return;
	case REGISTER_STATUS: /* only privileged code may write it: ignored */
		return;
	default:
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION,
				   "%s: hardware register %u is not emulated",
				   instruction->operation->name, field.number);
	}
}

SCALAR_OPERATION(setreg_b32)
{
	set_register(wave, instruction, SOURCE32(0));
}

SCALAR_OPERATION(setreg_imm32_b32)
{
	set_register(wave, instruction, instruction->literal);
}

const struct softgpu_operation softgpu_sopk_operations[32] = {
	[0] = SCALAR_ENTRY(movk_i32, B32, NONE, NONE),
	[1] = SCALAR_ENTRY(cmovk_i32, B32, NONE, NONE),
	[2] = SCALAR_ENTRY(cmpk_eq_i32, NONE, B32, NONE),
	[3] = SCALAR_ENTRY(cmpk_lg_i32, NONE, B32, NONE),
	[4] = SCALAR_ENTRY(cmpk_gt_i32, NONE, B32, NONE),
	[5] = SCALAR_ENTRY(cmpk_ge_i32, NONE, B32, NONE),
	[6] = SCALAR_ENTRY(cmpk_lt_i32, NONE, B32, NONE),
	[7] = SCALAR_ENTRY(cmpk_le_i32, NONE, B32, NONE),
	[8] = SCALAR_ENTRY(cmpk_eq_u32, NONE, B32, NONE),
	[9] = SCALAR_ENTRY(cmpk_lg_u32, NONE, B32, NONE),
	[10] = SCALAR_ENTRY(cmpk_gt_u32, NONE, B32, NONE),
	[11] = SCALAR_ENTRY(cmpk_ge_u32, NONE, B32, NONE),
	[12] = SCALAR_ENTRY(cmpk_lt_u32, NONE, B32, NONE),
	[13] = SCALAR_ENTRY(cmpk_le_u32, NONE, B32, NONE),
	[14] = SCALAR_ENTRY(addk_i32, B32, B32, NONE),
	[15] = SCALAR_ENTRY(mulk_i32, B32, B32, NONE),
	[16] = SCALAR_NOT_EMULATED(cbranch_i_fork, NONE, B64, NONE),
	[17] = SCALAR_ENTRY(getreg_b32, B32, NONE, NONE),
	[18] = SCALAR_ENTRY(setreg_b32, NONE, B32, NONE),
	[20] = SCALAR_ENTRY(setreg_imm32_b32, NONE, NONE, B32),
	[21] = SCALAR_ENTRY(call_b64, B64, NONE, NONE),
};
