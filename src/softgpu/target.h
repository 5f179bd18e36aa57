/* SPDX-License-Identifier: MIT */
/* The facts in which the GPU targets that softgpu can present differ. */
#ifndef SOFTGPU_TARGET_H
#define SOFTGPU_TARGET_H

#include <stdbool.h>
#include <stdint.h>

enum softgpu_scratch_scheme {
	/* Private memory by MUBUF with a swizzled resource descriptor, wave offset in an SGPR. */
	SOFTGPU_SCRATCH_BUFFER,
	/* Private memory by scratch_* instructions; hardware initialises FLAT_SCRATCH itself. */
	SOFTGPU_SCRATCH_ARCHITECTED,
};

struct softgpu_target {
	const char *name;		 /* as in -mcpu= */
	uint32_t major, minor, stepping; /* of the gfx version: 9, 0, 10 for gfx90a */
	uint32_t elf_machine;		 /* EF_AMDGPU_MACH value in the ELF header's e_flags */
	uint32_t wave_size;
	uint32_t vgpr_granule; /* of the descriptor's granulated work-item VGPR count */
	uint32_t sgpr_count;   /* every wave owns this many SGPRs, VCC and the like not counted */
	uint32_t group_memory_size; /* bytes of LDS a workgroup may use */
	uint32_t max_workgroup_size;
	bool unified_vgprs;	  /* AccVGPRs lie behind the VGPRs in one register file */
	bool packed_workitem_ids; /* v0 = x | y << 10 | z << 20 */
	enum softgpu_scratch_scheme scratch_scheme;
};

extern const struct softgpu_target softgpu_target_gfx90a;

/* The target of this name, NULL if softgpu does not know it. */
const struct softgpu_target *softgpu_target_find(const char *name);

#endif
