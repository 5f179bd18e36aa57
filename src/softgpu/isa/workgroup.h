/* SPDX-License-Identifier: MIT */
/* A running workgroup: its waves, LDS and barrier. */
#ifndef SOFTGPU_WORKGROUP_H
#define SOFTGPU_WORKGROUP_H

#include "kernel.h"
#include "wave.h"

struct softgpu_workgroup {
	const struct softgpu_kernel *kernel;
	uint32_t id[3];
	struct softgpu_placement placement;
	struct softgpu_wave *waves;
	uint32_t wave_count;
	uint32_t waves_ended;
	uint32_t running; /* the wave that runs, or has run last */
	uint8_t *lds;
	uint32_t lds_size;
	void *registers; /* vector registers of all waves */
	uint64_t code_epoch;
	uint64_t instructions;
	struct softgpu_translation_cache translations;
	struct softgpu_fault fault;
};

#endif
