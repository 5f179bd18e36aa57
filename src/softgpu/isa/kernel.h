/* SPDX-License-Identifier: MIT */
/* One dispatch inside the interpreter: the parsed kernel descriptor. */
#ifndef SOFTGPU_KERNEL_H
#define SOFTGPU_KERNEL_H

#include "isa.h"

struct softgpu_kernel {
	const struct softgpu_target *target;
	const struct softgpu_memory *memory;
	struct softgpu_dispatch dispatch;
	uint64_t entry; /* address of the first instruction */
	/* Grows from kernel to kernel: older cached instructions are checked against memory. */
	uint64_t code_epoch;
	uint32_t vgpr_count; /* allocated VGPRs, AccVGPRs not counted */
	uint32_t acc_vgpr_count;
	uint32_t mode; /* initial MODE register */
	uint32_t workgroup_count[3];
	uint32_t wave_count;	    /* of a full workgroup */
	uint32_t scratch_wave_size; /* bytes */
	uint32_t user_sgpr[32];
	uint32_t user_sgpr_count;
	bool workgroup_id_sgpr[3];
	bool workgroup_info_sgpr;
	bool scratch_offset_sgpr;
	bool packed_workitem_ids;
	uint32_t workitem_id_count; /* VGPRs with a work-item id if they are not packed: 1..3 */
};

/* A number greater than all before it. */
uint64_t softgpu_next_code_epoch(void);

void softgpu_fault_set(struct softgpu_fault *fault, enum softgpu_fault_kind kind,
		       const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
