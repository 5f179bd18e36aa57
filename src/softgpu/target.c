/* SPDX-License-Identifier: MIT */
/* The table of GPU targets. */
#include "target.h"

#include <stddef.h>
#include <string.h>

const struct softgpu_target softgpu_target_gfx90a = {
	.name = "gfx90a",
	.major = 9,
	.minor = 0,
	.stepping = 10,
	.elf_machine = 0x3f,
	.wave_size = 64,
	.vgpr_granule = 8,
	.sgpr_count = 102,
	.group_memory_size = 65536,
	.max_workgroup_size = 1024,
	.unified_vgprs = true,
	.packed_workitem_ids = true,
	.scratch_scheme = SOFTGPU_SCRATCH_BUFFER,
};

static const struct softgpu_target *const targets[] = {
	&softgpu_target_gfx90a,
};

const struct softgpu_target *softgpu_target_find(const char *name)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (strcmp(targets[i]->name, name) == 0)
			return targets[i];
	return NULL;
}
