/* SPDX-License-Identifier: MIT */
/* FLAT, GLOBAL and SCRATCH: memory by 64-bit addresses, apertures and private memory. */
#include "vector_memory.h"
#include "workgroup.h"

/* Private memory is interleaved: dword n of all 64 lanes lies in 256 consecutive bytes. */
static void private_lane(const struct softgpu_wave *wave, struct softgpu_lane_access *access,
			 unsigned int lane, uint32_t offset)
{
	access->address[lane] = wave->flat_scratch + 4 * (uint64_t)lane;
	access->offset[lane] = offset;
	access->swizzled_mask |= (uint64_t)1 << lane;
}

static void flat(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	const struct softgpu_dispatch *dispatch = &wave->workgroup->kernel->dispatch;
	uint32_t shared = (uint32_t)(dispatch->shared_aperture_base >> 32);
	uint32_t private = (uint32_t)(dispatch->private_aperture_base >> 32);
	struct softgpu_lane_access access;

	access.linear_mask = access.lds_mask = access.swizzled_mask = access.outside_mask = 0;
	access.step = 256;
	softgpu_for_each_lane (lane, wave->exec) {
		uint64_t address = softgpu_vgpr64(wave, instruction->address, lane) +
				   (uint64_t)(int64_t)instruction->offset;
		uint32_t high = (uint32_t)(address >> 32);

		if (high == shared) {
			access.offset[lane] = (uint32_t)address;
			access.lds_mask |= (uint64_t)1 << lane;
		} else if (high == private) {
			private_lane(wave, &access, lane, (uint32_t)address);
		} else {
			access.address[lane] = address;
			access.linear_mask |= (uint64_t)1 << lane;
		}
	}
	softgpu_vector_memory(wave, instruction, &access);
}

static void global(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	const uint32_t *low = wave->vgpr[instruction->address];
	struct softgpu_lane_access access;

	access.lds_mask = access.swizzled_mask = access.outside_mask = 0;
	access.linear_mask = wave->exec;
	if (instruction->scalar_offset == 0x7f) {
		const uint32_t *high = wave->vgpr[instruction->address + 1];

		for (int lane = 0; lane < SOFTGPU_LANES; lane++)
			access.address[lane] = ((uint64_t)high[lane] << 32 | low[lane]) +
					       (uint64_t)(int64_t)instruction->offset;
	} else {
		uint64_t base = softgpu_scalar64(wave, instruction, instruction->scalar_offset,
						 SOFTGPU_B64) +
				(uint64_t)(int64_t)instruction->offset;

		for (int lane = 0; lane < SOFTGPU_LANES; lane++)
			access.address[lane] = base + low[lane];
	}
	softgpu_vector_memory(wave, instruction, &access);
}

static void scratch(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct softgpu_lane_access access;
	bool scalar = instruction->scalar_offset != 0x7f;

	access.linear_mask = access.lds_mask = access.swizzled_mask = access.outside_mask = 0;
	access.step = 256;
	softgpu_for_each_lane (lane, wave->exec) {
		uint32_t base = scalar ? wave->scalar[instruction->scalar_offset]
				       : wave->vgpr[instruction->address][lane];

		private_lane(wave, &access, lane, base + (uint32_t)instruction->offset);
	}
	softgpu_vector_memory(wave, instruction, &access);
}

#define LOAD(name, function, type)                                                                 \
	{                                                                                          \
		name, function, SOFTGPU_LOAD, SOFTGPU_##type,                                      \
		{                                                                                  \
			SOFTGPU_B64                                                                \
		}                                                                                  \
	}
/* A load that keeps one half of its destination. */
#define LOAD_HALF(name, function)                                                                  \
	{                                                                                          \
		name, function, SOFTGPU_LOAD | SOFTGPU_DESTINATION_IS_SOURCE, SOFTGPU_B32,         \
		{                                                                                  \
			SOFTGPU_B64                                                                \
		}                                                                                  \
	}
#define STORE(name, function, type)                                                                \
	{                                                                                          \
		name, function, SOFTGPU_STORE, SOFTGPU_NONE,                                       \
		{                                                                                  \
			SOFTGPU_B64, SOFTGPU_##type                                                \
		}                                                                                  \
	}
#define ATOMIC(name, function, type, data)                                                         \
	{                                                                                          \
		name, function, SOFTGPU_ATOMIC, SOFTGPU_##type,                                    \
		{                                                                                  \
			SOFTGPU_B64, SOFTGPU_##data                                                \
		}                                                                                  \
	}

#define LOADS_AND_STORES(prefix, function)                                                         \
	[16] = LOAD(prefix "load_ubyte", function, B32),                                           \
	[17] = LOAD(prefix "load_sbyte", function, B32),                                           \
	[18] = LOAD(prefix "load_ushort", function, B32),                                          \
	[19] = LOAD(prefix "load_sshort", function, B32),                                          \
	[20] = LOAD(prefix "load_dword", function, B32),                                           \
	[21] = LOAD(prefix "load_dwordx2", function, B64),                                         \
	[22] = LOAD(prefix "load_dwordx3", function, B96),                                         \
	[23] = LOAD(prefix "load_dwordx4", function, B128),                                        \
	[24] = STORE(prefix "store_byte", function, B32),                                          \
	[25] = STORE(prefix "store_byte_d16_hi", function, B32),                                   \
	[26] = STORE(prefix "store_short", function, B32),                                         \
	[27] = STORE(prefix "store_short_d16_hi", function, B32),                                  \
	[28] = STORE(prefix "store_dword", function, B32),                                         \
	[29] = STORE(prefix "store_dwordx2", function, B64),                                       \
	[30] = STORE(prefix "store_dwordx3", function, B96),                                       \
	[31] = STORE(prefix "store_dwordx4", function, B128),                                      \
	[32] = LOAD_HALF(prefix "load_ubyte_d16", function),                                       \
	[33] = LOAD_HALF(prefix "load_ubyte_d16_hi", function),                                    \
	[34] = LOAD_HALF(prefix "load_sbyte_d16", function),                                       \
	[35] = LOAD_HALF(prefix "load_sbyte_d16_hi", function),                                    \
	[36] = LOAD_HALF(prefix "load_short_d16", function),                                       \
	[37] = LOAD_HALF(prefix "load_short_d16_hi", function)

#define ATOMICS(prefix, function)                                                                  \
	[64] = ATOMIC(prefix "swap", function, B32, B32),                                          \
	[65] = ATOMIC(prefix "cmpswap", function, B32, B64),                                       \
	[66] = ATOMIC(prefix "add", function, B32, B32),                                           \
	[67] = ATOMIC(prefix "sub", function, B32, B32),                                           \
	[68] = ATOMIC(prefix "smin", function, B32, B32),                                          \
	[69] = ATOMIC(prefix "umin", function, B32, B32),                                          \
	[70] = ATOMIC(prefix "smax", function, B32, B32),                                          \
	[71] = ATOMIC(prefix "umax", function, B32, B32),                                          \
	[72] = ATOMIC(prefix "and", function, B32, B32),                                           \
	[73] = ATOMIC(prefix "or", function, B32, B32),                                            \
	[74] = ATOMIC(prefix "xor", function, B32, B32),                                           \
	[75] = ATOMIC(prefix "inc", function, B32, B32),                                           \
	[76] = ATOMIC(prefix "dec", function, B32, B32),                                           \
	[79] = ATOMIC(prefix "add_f64", function, B64, B64),                                       \
	[80] = ATOMIC(prefix "min_f64", function, B64, B64),                                       \
	[81] = ATOMIC(prefix "max_f64", function, B64, B64),                                       \
	[96] = ATOMIC(prefix "swap_x2", function, B64, B64),                                       \
	[97] = ATOMIC(prefix "cmpswap_x2", function, B64, B128),                                   \
	[98] = ATOMIC(prefix "add_x2", function, B64, B64),                                        \
	[99] = ATOMIC(prefix "sub_x2", function, B64, B64),                                        \
	[100] = ATOMIC(prefix "smin_x2", function, B64, B64),                                      \
	[101] = ATOMIC(prefix "umin_x2", function, B64, B64),                                      \
	[102] = ATOMIC(prefix "smax_x2", function, B64, B64),                                      \
	[103] = ATOMIC(prefix "umax_x2", function, B64, B64),                                      \
	[104] = ATOMIC(prefix "and_x2", function, B64, B64),                                       \
	[105] = ATOMIC(prefix "or_x2", function, B64, B64),                                        \
	[106] = ATOMIC(prefix "xor_x2", function, B64, B64),                                       \
	[107] = ATOMIC(prefix "inc_x2", function, B64, B64),                                       \
	[108] = ATOMIC(prefix "dec_x2", function, B64, B64)

const struct softgpu_operation softgpu_flat_operations[128] = {
	LOADS_AND_STORES("flat_", flat),
	ATOMICS("flat_atomic_", flat),
};

const struct softgpu_operation softgpu_global_operations[128] = {
	LOADS_AND_STORES("global_", global),
	ATOMICS("global_atomic_", global),
	[77] = ATOMIC("global_atomic_add_f32", global, B32, B32),
	[78] = ATOMIC("global_atomic_pk_add_f16", global, B32, B32),
};

const struct softgpu_operation softgpu_scratch_operations[128] = {
	LOADS_AND_STORES("scratch_", scratch),
};
