/* SPDX-License-Identifier: MIT */
/*
 * The registers of one wave and the helpers by which execute functions read and write them.
 *
 * Vector registers are stored [register][lane], so that an operation is a loop over 64 lanes that
 * the compiler can vectorise; lanes outside EXEC keep their value. Code tests `wave->state` after
 * each instruction, so an execute function that fails just records the fault and returns.
 */
#ifndef SOFTGPU_WAVE_H
#define SOFTGPU_WAVE_H

#include "instruction.h"
#include "isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SOFTGPU_LANES 64
#define SOFTGPU_VGPRS 256 /* and as many AccVGPRs */

struct softgpu_workgroup;

enum softgpu_wave_state {
	SOFTGPU_WAVE_RUNNING,
	SOFTGPU_WAVE_YIELDED, /* s_sleep and the like: ends the time slice */
	SOFTGPU_WAVE_BARRIER, /* waits for the workgroup's other waves */
	SOFTGPU_WAVE_ENDED,
	SOFTGPU_WAVE_FAULTED, /* the workgroup's fault says why */
};

/* MODE register fields. */
enum {
	SOFTGPU_MODE_ROUND_32 = 0, /* 2 bits: nearest even, up, down, zero */
	SOFTGPU_MODE_ROUND_16_64 = 2,
	SOFTGPU_MODE_DENORM_32 = 4, /* 2 bits: bit 0 keep inputs, bit 1 keep outputs */
	SOFTGPU_MODE_DENORM_16_64 = 6,
	SOFTGPU_MODE_DX10_CLAMP = 8,
	SOFTGPU_MODE_IEEE = 9,
	SOFTGPU_MODE_FP16_OVERFLOW = 23,
	SOFTGPU_MODE_GPR_INDEX_EN = 27,
};

/* Recent translations of data addresses, see memory_access.c. */
#define SOFTGPU_TRANSLATIONS 4
struct softgpu_translation_cache {
	struct softgpu_translation entry[SOFTGPU_TRANSLATIONS];
	uint64_t generation;
	unsigned int next; /* entry replaced next */
};

struct softgpu_wave {
	/* All scalar registers by operand code 0..127; a 64-bit value is a pair, low half first. */
	union {
		uint32_t scalar[128];
		struct {
			uint32_t sgpr[102];
			uint64_t flat_scratch;
			uint64_t xnack_mask;
			uint64_t vcc;
			uint32_t ttmp[16];
			uint32_t m0;
			uint32_t reserved;
			uint64_t exec;
		};
	};
	bool scc;
	enum softgpu_wave_state state;
	uint64_t pc; /* while an instruction executes: of the next one */
	uint32_t mode;
	uint32_t trapsts;
	/* [register][lane]; AccVGPR n is vgpr[SOFTGPU_VGPRS + n]. */
	uint32_t (*vgpr)[SOFTGPU_LANES];
	struct softgpu_workgroup *workgroup;
	uint32_t index; /* within the workgroup */
	struct softgpu_translation_cache *translations;
};

_Static_assert(offsetof(struct softgpu_wave, flat_scratch) == 4 * SOFTGPU_CODE_FLAT_SCRATCH, "");
_Static_assert(offsetof(struct softgpu_wave, vcc) == 4 * SOFTGPU_CODE_VCC, "");
_Static_assert(offsetof(struct softgpu_wave, m0) == 4 * SOFTGPU_CODE_M0, "");
_Static_assert(offsetof(struct softgpu_wave, exec) == 4 * SOFTGPU_CODE_EXEC, "");

/*
 * Operands that are no register: constants, literal, apertures, VCCZ, EXECZ, SCC (operands.c).
 * A 32-bit float constant is its float, for 16-bit types its half in the low 16 bits (packed
 * types of VOP3P too: op_sel decides what the high half sees); 64-bit types get the double.
 */
uint32_t softgpu_constant32(const struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction, unsigned int code,
			    unsigned int type);
uint64_t softgpu_constant64(const struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction, unsigned int code,
			    unsigned int type);

/* Reads a scalar source operand (code 0..255) of at most 32 bits. */
static inline uint32_t softgpu_scalar32(const struct softgpu_wave *wave,
					const struct softgpu_instruction *instruction,
					unsigned int code, unsigned int type)
{
	if (code < 128)
		return wave->scalar[code];
	return softgpu_constant32(wave, instruction, code, type);
}

/* Reads a scalar source operand of 64 bits. */
static inline uint64_t softgpu_scalar64(const struct softgpu_wave *wave,
					const struct softgpu_instruction *instruction,
					unsigned int code, unsigned int type)
{
	uint64_t value;

	if (code >= 127)
		return softgpu_constant64(wave, instruction, code, type);
	memcpy(&value, &wave->scalar[code], sizeof(value));
	return value;
}

static inline void softgpu_write_scalar32(struct softgpu_wave *wave, unsigned int code,
					  uint32_t value)
{
	wave->scalar[code & 127] = value;
}

static inline void softgpu_write_scalar64(struct softgpu_wave *wave, unsigned int code,
					  uint64_t value)
{
	memcpy(&wave->scalar[code & 126], &value, sizeof(value));
}

static inline bool softgpu_lane_active(const struct softgpu_wave *wave, unsigned int lane)
{
	return wave->exec >> lane & 1;
}

/* Loops over the set bits of a lane mask, lowest lane first. */
#define softgpu_for_each_lane(lane, mask)                                                          \
	for (uint64_t lane##_left = (mask), lane;                                                  \
	     lane##_left && (lane = (uint64_t)__builtin_ctzll(lane##_left), true);                 \
	     lane##_left &= lane##_left - 1)

/* A 64-bit value of a lane in the register pair that starts at `vgpr`. */
static inline uint64_t softgpu_vgpr64(const struct softgpu_wave *wave, unsigned int vgpr,
				      unsigned int lane)
{
	return (uint64_t)wave->vgpr[vgpr + 1][lane] << 32 | wave->vgpr[vgpr][lane];
}

static inline void softgpu_write_vgpr64(struct softgpu_wave *wave, unsigned int vgpr,
					unsigned int lane, uint64_t value)
{
	wave->vgpr[vgpr][lane] = (uint32_t)value;
	wave->vgpr[vgpr + 1][lane] = (uint32_t)(value >> 32);
}

/*
 * Ends the wave and its workgroup with a fault. The message gets the kernel object, the pc and
 * the encoding of the instruction in front of the formatted text.
 */
void softgpu_wave_fault(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			enum softgpu_fault_kind kind, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Fetches, decodes and executes until the wave leaves the running state or `budget` is spent;
 * returns the instructions executed.
 */
uint64_t softgpu_wave_run(struct softgpu_wave *wave, struct softgpu_instruction_cache *cache,
			  uint64_t budget);

#endif
