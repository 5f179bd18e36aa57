/* SPDX-License-Identifier: MIT */
/* SMEM: scalar memory. */
#include "memory_access.h"

#include <time.h>

/* Offset of the access to the base address; memory sees whole dwords. */
static uint64_t access_offset(const struct softgpu_wave *wave,
			      const struct softgpu_instruction *instruction)
{
	uint64_t offset = (uint64_t)(int64_t)instruction->offset;

	if (instruction->memory_flags & SOFTGPU_SOFFSET_EN)
		offset += wave->scalar[instruction->scalar_offset];
	return offset;
}

static unsigned int dword_count(const struct softgpu_instruction *instruction)
{
	return softgpu_operand_dwords(instruction->operation->destination);
}

static uint64_t linear_address(const struct softgpu_wave *wave,
			       const struct softgpu_instruction *instruction)
{
	uint64_t base;

	memcpy(&base, &wave->scalar[instruction->address], sizeof(base));
	return (base + access_offset(wave, instruction)) & ~(uint64_t)3;
}

static void load(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	uint32_t data[16];
	unsigned int dwords = dword_count(instruction);

	if (softgpu_load_scalar(wave, instruction, linear_address(wave, instruction), dwords, data))
		memcpy(&wave->scalar[instruction->scalar_destination], data, 4 * (size_t)dwords);
}

static void store(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	softgpu_store_scalar(wave, instruction, linear_address(wave, instruction),
			     dword_count(instruction),
			     &wave->scalar[instruction->scalar_destination]);
}

struct constant_buffer {
	uint64_t address;    /* of the first dword accessed */
	unsigned int dwords; /* of the access that lie inside the buffer */
};

/* Applies the buffer resource's bounds: num_records elements of stride bytes (0: of 1 byte). */
static struct constant_buffer constant_buffer(const struct softgpu_wave *wave,
					      const struct softgpu_instruction *instruction)
{
	const uint32_t *resource = &wave->scalar[instruction->address];
	uint64_t base = (resource[0] | (uint64_t)resource[1] << 32) & 0xffffffffffff;
	uint64_t stride = resource[1] >> 16 & 0x3fff;
	uint64_t size = resource[2] * (stride != 0 ? stride : 1);
	uint64_t offset = access_offset(wave, instruction) & ~(uint64_t)3;
	unsigned int dwords = dword_count(instruction);
	struct constant_buffer buffer = {.address = base + offset};

	while (buffer.dwords < dwords && offset + 4 * (buffer.dwords + 1) <= size)
		buffer.dwords++;
	if (offset > size)
		buffer.dwords = 0;
	return buffer;
}

static void buffer_load(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct constant_buffer buffer = constant_buffer(wave, instruction);
	uint32_t data[16] = {0};

	if (softgpu_load_scalar(wave, instruction, buffer.address, buffer.dwords, data))
		memcpy(&wave->scalar[instruction->scalar_destination], data,
		       4 * (size_t)dword_count(instruction));
}

static void buffer_store(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct constant_buffer buffer = constant_buffer(wave, instruction);

	softgpu_store_scalar(wave, instruction, buffer.address, buffer.dwords,
			     &wave->scalar[instruction->scalar_destination]);
}

static void cache_control(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	(void)instruction;
	softgpu_memory_fence(wave, false, false);
}

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The core clock: 1 GHz. */
static void memtime(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	softgpu_write_scalar64(wave, instruction->scalar_destination, nanoseconds());
}

/* The constant clock of 100 MHz. */
static void memrealtime(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	softgpu_write_scalar64(wave, instruction->scalar_destination, nanoseconds() / 10);
}

#define ENTRY(name, function, flags, data, base)                                                   \
	{                                                                                          \
		"s_" name, function, flags, SOFTGPU_##data,                                        \
		{                                                                                  \
			SOFTGPU_##base                                                             \
		}                                                                                  \
	}
#define LOAD(name, data)	 ENTRY(name, load, SOFTGPU_LOAD, data, B64)
#define BUFFER_LOAD(name, data)	 ENTRY(name, buffer_load, SOFTGPU_LOAD, data, B128)
#define STORE(name, data)	 ENTRY(name, store, SOFTGPU_STORE, data, B64)
#define BUFFER_STORE(name, data) ENTRY(name, buffer_store, SOFTGPU_STORE, data, B128)
/* Known but not emulated. */
#define ATOMIC(name, data)	  ENTRY(name, NULL, SOFTGPU_ATOMIC, data, B64)
#define BUFFER_ATOMIC(name, data) ENTRY(name, NULL, SOFTGPU_ATOMIC, data, B128)

const struct softgpu_operation softgpu_smem_operations[256] = {
	[0] = LOAD("load_dword", B32),
	[1] = LOAD("load_dwordx2", B64),
	[2] = LOAD("load_dwordx4", B128),
	[3] = LOAD("load_dwordx8", B256),
	[4] = LOAD("load_dwordx16", B512),
	[5] = ENTRY("scratch_load_dword", NULL, SOFTGPU_LOAD, B32, B64),
	[6] = ENTRY("scratch_load_dwordx2", NULL, SOFTGPU_LOAD, B64, B64),
	[7] = ENTRY("scratch_load_dwordx4", NULL, SOFTGPU_LOAD, B128, B64),
	[8] = BUFFER_LOAD("buffer_load_dword", B32),
	[9] = BUFFER_LOAD("buffer_load_dwordx2", B64),
	[10] = BUFFER_LOAD("buffer_load_dwordx4", B128),
	[11] = BUFFER_LOAD("buffer_load_dwordx8", B256),
	[12] = BUFFER_LOAD("buffer_load_dwordx16", B512),
	[16] = STORE("store_dword", B32),
	[17] = STORE("store_dwordx2", B64),
	[18] = STORE("store_dwordx4", B128),
	[21] = ENTRY("scratch_store_dword", NULL, SOFTGPU_STORE, B32, B64),
	[22] = ENTRY("scratch_store_dwordx2", NULL, SOFTGPU_STORE, B64, B64),
	[23] = ENTRY("scratch_store_dwordx4", NULL, SOFTGPU_STORE, B128, B64),
	[24] = BUFFER_STORE("buffer_store_dword", B32),
	[25] = BUFFER_STORE("buffer_store_dwordx2", B64),
	[26] = BUFFER_STORE("buffer_store_dwordx4", B128),
	[32] = ENTRY("dcache_inv", cache_control, 0, NONE, NONE),
	[33] = ENTRY("dcache_wb", cache_control, 0, NONE, NONE),
	[34] = ENTRY("dcache_inv_vol", cache_control, 0, NONE, NONE),
	[35] = ENTRY("dcache_wb_vol", cache_control, 0, NONE, NONE),
	[36] = ENTRY("memtime", memtime, SOFTGPU_LOAD, B64, NONE),
	[37] = ENTRY("memrealtime", memrealtime, SOFTGPU_LOAD, B64, NONE),
	/* Address translation probes and discards. */
	[38] = ENTRY("atc_probe", NULL, 0, NONE, B64),
	[39] = ENTRY("atc_probe_buffer", NULL, 0, NONE, B128),
	[40] = ENTRY("dcache_discard", NULL, 0, NONE, B64),
	[41] = ENTRY("dcache_discard_x2", NULL, 0, NONE, B64),
	[64] = BUFFER_ATOMIC("buffer_atomic_swap", B32),
	[65] = BUFFER_ATOMIC("buffer_atomic_cmpswap", B64),
	[66] = BUFFER_ATOMIC("buffer_atomic_add", B32),
	[67] = BUFFER_ATOMIC("buffer_atomic_sub", B32),
	[68] = BUFFER_ATOMIC("buffer_atomic_smin", B32),
	[69] = BUFFER_ATOMIC("buffer_atomic_umin", B32),
	[70] = BUFFER_ATOMIC("buffer_atomic_smax", B32),
	[71] = BUFFER_ATOMIC("buffer_atomic_umax", B32),
	[72] = BUFFER_ATOMIC("buffer_atomic_and", B32),
	[73] = BUFFER_ATOMIC("buffer_atomic_or", B32),
	[74] = BUFFER_ATOMIC("buffer_atomic_xor", B32),
	[75] = BUFFER_ATOMIC("buffer_atomic_inc", B32),
	[76] = BUFFER_ATOMIC("buffer_atomic_dec", B32),
	[96] = BUFFER_ATOMIC("buffer_atomic_swap_x2", B64),
	[97] = BUFFER_ATOMIC("buffer_atomic_cmpswap_x2", B128),
	[98] = BUFFER_ATOMIC("buffer_atomic_add_x2", B64),
	[99] = BUFFER_ATOMIC("buffer_atomic_sub_x2", B64),
	[100] = BUFFER_ATOMIC("buffer_atomic_smin_x2", B64),
	[101] = BUFFER_ATOMIC("buffer_atomic_umin_x2", B64),
	[102] = BUFFER_ATOMIC("buffer_atomic_smax_x2", B64),
	[103] = BUFFER_ATOMIC("buffer_atomic_umax_x2", B64),
	[104] = BUFFER_ATOMIC("buffer_atomic_and_x2", B64),
	[105] = BUFFER_ATOMIC("buffer_atomic_or_x2", B64),
	[106] = BUFFER_ATOMIC("buffer_atomic_xor_x2", B64),
	[107] = BUFFER_ATOMIC("buffer_atomic_inc_x2", B64),
	[108] = BUFFER_ATOMIC("buffer_atomic_dec_x2", B64),
	[128] = ATOMIC("atomic_swap", B32),
	[129] = ATOMIC("atomic_cmpswap", B64),
	[130] = ATOMIC("atomic_add", B32),
	[131] = ATOMIC("atomic_sub", B32),
	[132] = ATOMIC("atomic_smin", B32),
	[133] = ATOMIC("atomic_umin", B32),
	[134] = ATOMIC("atomic_smax", B32),
	[135] = ATOMIC("atomic_umax", B32),
	[136] = ATOMIC("atomic_and", B32),
	[137] = ATOMIC("atomic_or", B32),
	[138] = ATOMIC("atomic_xor", B32),
	[139] = ATOMIC("atomic_inc", B32),
	[140] = ATOMIC("atomic_dec", B32),
	[160] = ATOMIC("atomic_swap_x2", B64),
	[161] = ATOMIC("atomic_cmpswap_x2", B128),
	[162] = ATOMIC("atomic_add_x2", B64),
	[163] = ATOMIC("atomic_sub_x2", B64),
	[164] = ATOMIC("atomic_smin_x2", B64),
	[165] = ATOMIC("atomic_umin_x2", B64),
	[166] = ATOMIC("atomic_smax_x2", B64),
	[167] = ATOMIC("atomic_umax_x2", B64),
	[168] = ATOMIC("atomic_and_x2", B64),
	[169] = ATOMIC("atomic_or_x2", B64),
	[170] = ATOMIC("atomic_xor_x2", B64),
	[171] = ATOMIC("atomic_inc_x2", B64),
	[172] = ATOMIC("atomic_dec_x2", B64),
};
