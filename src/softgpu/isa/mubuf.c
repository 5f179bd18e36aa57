/* SPDX-License-Identifier: MIT */
/* MUBUF: memory through a buffer resource; cache control. */
#include "memory_access.h"
#include "vector_memory.h"

struct resource {
	uint64_t base;
	uint32_t stride;
	uint32_t records;
	bool swizzle;
	bool add_lane; /* the lane number is part of the index */
	uint32_t index_stride;
};

static struct resource read_resource(const uint32_t words[4])
{
	struct resource resource = {
		.base = words[0] | (uint64_t)(words[1] & 0xffff) << 32,
		.stride = words[1] >> 16 & 0x3fff,
		.swizzle = words[1] >> 31,
		.records = words[2],
		.add_lane = words[3] >> 23 & 1,
		.index_stride = 8u << (words[3] >> 21 & 3),
	};

	return resource;
}

/*
 * Swizzled buffers with a stride are checked by their index, all others by the offset of each
 * access from the base.
 */
static bool inside(const struct resource *resource, uint64_t index, uint64_t offset,
		   uint32_t scalar_offset, unsigned int bytes)
{
	if (resource->stride != 0 && resource->swizzle)
		return index < resource->records;
	if (resource->stride != 0)
		return offset + bytes + scalar_offset <=
		       (uint64_t)resource->records * resource->stride;
	return offset + bytes + scalar_offset <= resource->records;
}

static void buffer(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	struct resource resource = read_resource(&wave->scalar[instruction->resource]);
	uint32_t scalar_offset =
		softgpu_scalar32(wave, instruction, instruction->scalar_offset, SOFTGPU_B32);
	unsigned int bytes = softgpu_vector_memory_bytes(instruction->opcode);
	bool has_index = instruction->memory_flags & SOFTGPU_IDXEN;
	bool has_offset = instruction->memory_flags & SOFTGPU_OFFEN;
	const uint32_t *index_lanes = wave->vgpr[instruction->address];
	const uint32_t *offset_lanes = wave->vgpr[instruction->address + (has_index ? 1 : 0)];
	struct softgpu_lane_access access;

	access.linear_mask = access.lds_mask = access.swizzled_mask = access.outside_mask = 0;
	access.step = 4 * resource.index_stride;
	softgpu_for_each_lane (lane, wave->exec) {
		uint64_t bit = (uint64_t)1 << lane;
		uint64_t index =
			(has_index ? index_lanes[lane] : 0) + (resource.add_lane ? lane : 0);
		uint64_t offset = (uint64_t)(uint32_t)instruction->offset +
				  (has_offset ? offset_lanes[lane] : 0);
		uint64_t row, last;

		if (!resource.swizzle) {
			offset += index * resource.stride;
			access.address[lane] = resource.base + scalar_offset + offset;
			if (inside(&resource, index, offset, scalar_offset, bytes))
				access.linear_mask |= bit;
			else
				access.outside_mask |= bit;
			continue;
		}
		/* Elements are 4 bytes; those of index_stride consecutive indices interleave. */
		row = index / resource.index_stride * resource.stride * resource.index_stride +
		      index % resource.index_stride * 4;
		last = row + (offset + bytes - 1) / 4 * access.step;
		access.address[lane] = resource.base + scalar_offset + row;
		access.offset[lane] = (uint32_t)offset;
		if (inside(&resource, index, last, scalar_offset, 1))
			access.swizzled_mask |= bit;
		else
			access.outside_mask |= bit;
	}
	softgpu_vector_memory(wave, instruction, &access);
}

static void cache_control(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)
{
	const char *name = instruction->operation->name;

	/* buffer_wbinvl1 and its variants are about the L1 caches, which there are none of. */
	softgpu_memory_fence(wave, strcmp(name, "buffer_wbl2") == 0,
			     strcmp(name, "buffer_invl2") == 0);
}

#define LOAD(name, type)                                                                           \
	{                                                                                          \
		"buffer_load_" name, buffer, SOFTGPU_LOAD, SOFTGPU_##type,                         \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}
#define LOAD_HALF(name)                                                                            \
	{                                                                                          \
		"buffer_load_" name, buffer, SOFTGPU_LOAD | SOFTGPU_DESTINATION_IS_SOURCE,         \
			SOFTGPU_B32,                                                               \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}
#define STORE(name, type)                                                                          \
	{                                                                                          \
		"buffer_store_" name, buffer, SOFTGPU_STORE, SOFTGPU_NONE,                         \
		{                                                                                  \
			SOFTGPU_NONE, SOFTGPU_##type                                               \
		}                                                                                  \
	}
#define ATOMIC(name, type, data)                                                                   \
	{                                                                                          \
		"buffer_atomic_" name, buffer, SOFTGPU_ATOMIC, SOFTGPU_##type,                     \
		{                                                                                  \
			SOFTGPU_NONE, SOFTGPU_##data                                               \
		}                                                                                  \
	}
/* Typed by the resource's format; graphics only, not emulated. */
#define LOAD_FORMAT(name, type)                                                                    \
	{                                                                                          \
		"buffer_load_format_" name, NULL, SOFTGPU_LOAD, SOFTGPU_##type,                    \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}
#define STORE_FORMAT(name, type)                                                                   \
	{                                                                                          \
		"buffer_store_format_" name, NULL, SOFTGPU_STORE, SOFTGPU_NONE,                    \
		{                                                                                  \
			SOFTGPU_NONE, SOFTGPU_##type                                               \
		}                                                                                  \
	}
#define CONTROL(name)                                                                              \
	{                                                                                          \
		name, cache_control, 0, SOFTGPU_NONE,                                              \
		{                                                                                  \
			SOFTGPU_NONE                                                               \
		}                                                                                  \
	}

const struct softgpu_operation softgpu_mubuf_operations[128] = {
	[0] = LOAD_FORMAT("x", B32),
	[1] = LOAD_FORMAT("xy", B64),
	[2] = LOAD_FORMAT("xyz", B96),
	[3] = LOAD_FORMAT("xyzw", B128),
	[4] = STORE_FORMAT("x", B32),
	[5] = STORE_FORMAT("xy", B64),
	[6] = STORE_FORMAT("xyz", B96),
	[7] = STORE_FORMAT("xyzw", B128),
	[8] = LOAD_FORMAT("d16_x", B32),
	[9] = LOAD_FORMAT("d16_xy", B32),
	[10] = LOAD_FORMAT("d16_xyz", B64),
	[11] = LOAD_FORMAT("d16_xyzw", B64),
	[12] = STORE_FORMAT("d16_x", B32),
	[13] = STORE_FORMAT("d16_xy", B32),
	[14] = STORE_FORMAT("d16_xyz", B64),
	[15] = STORE_FORMAT("d16_xyzw", B64),
	[16] = LOAD("ubyte", B32),
	[17] = LOAD("sbyte", B32),
	[18] = LOAD("ushort", B32),
	[19] = LOAD("sshort", B32),
	[20] = LOAD("dword", B32),
	[21] = LOAD("dwordx2", B64),
	[22] = LOAD("dwordx3", B96),
	[23] = LOAD("dwordx4", B128),
	[24] = STORE("byte", B32),
	[25] = STORE("byte_d16_hi", B32),
	[26] = STORE("short", B32),
	[27] = STORE("short_d16_hi", B32),
	[28] = STORE("dword", B32),
	[29] = STORE("dwordx2", B64),
	[30] = STORE("dwordx3", B96),
	[31] = STORE("dwordx4", B128),
	[32] = LOAD_HALF("ubyte_d16"),
	[33] = LOAD_HALF("ubyte_d16_hi"),
	[34] = LOAD_HALF("sbyte_d16"),
	[35] = LOAD_HALF("sbyte_d16_hi"),
	[36] = LOAD_HALF("short_d16"),
	[37] = LOAD_HALF("short_d16_hi"),
	[38] = LOAD_FORMAT("d16_hi_x", B32),
	[39] = STORE_FORMAT("d16_hi_x", B32),
	[40] = CONTROL("buffer_wbl2"),
	[41] = CONTROL("buffer_invl2"),
	[61] = {"buffer_store_lds_dword", NULL, SOFTGPU_STORE, SOFTGPU_NONE, {SOFTGPU_NONE}},
	[62] = CONTROL("buffer_wbinvl1"),
	[63] = CONTROL("buffer_wbinvl1_vol"),
	[64] = ATOMIC("swap", B32, B32),
	[65] = ATOMIC("cmpswap", B32, B64),
	[66] = ATOMIC("add", B32, B32),
	[67] = ATOMIC("sub", B32, B32),
	[68] = ATOMIC("smin", B32, B32),
	[69] = ATOMIC("umin", B32, B32),
	[70] = ATOMIC("smax", B32, B32),
	[71] = ATOMIC("umax", B32, B32),
	[72] = ATOMIC("and", B32, B32),
	[73] = ATOMIC("or", B32, B32),
	[74] = ATOMIC("xor", B32, B32),
	[75] = ATOMIC("inc", B32, B32),
	[76] = ATOMIC("dec", B32, B32),
	[77] = ATOMIC("add_f32", B32, B32),
	[78] = ATOMIC("pk_add_f16", B32, B32),
	[79] = ATOMIC("add_f64", B64, B64),
	[80] = ATOMIC("min_f64", B64, B64),
	[81] = ATOMIC("max_f64", B64, B64),
	[96] = ATOMIC("swap_x2", B64, B64),
	[97] = ATOMIC("cmpswap_x2", B64, B128),
	[98] = ATOMIC("add_x2", B64, B64),
	[99] = ATOMIC("sub_x2", B64, B64),
	[100] = ATOMIC("smin_x2", B64, B64),
	[101] = ATOMIC("umin_x2", B64, B64),
	[102] = ATOMIC("smax_x2", B64, B64),
	[103] = ATOMIC("umax_x2", B64, B64),
	[104] = ATOMIC("and_x2", B64, B64),
	[105] = ATOMIC("or_x2", B64, B64),
	[106] = ATOMIC("xor_x2", B64, B64),
	[107] = ATOMIC("inc_x2", B64, B64),
	[108] = ATOMIC("dec_x2", B64, B64),
};
