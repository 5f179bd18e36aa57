/* SPDX-License-Identifier: MIT */
/* Workgroups: the initial state of their waves, barriers and time slices. */
#include "workgroup.h"

#include <inttypes.h>
#include <stdlib.h>

/*
 * Instructions a wave runs before the next one of its workgroup gets its turn. Waves of a
 * workgroup may wait for each other by LDS or memory without a barrier.
 */
#define WAVE_SLICE 2000

/* Rows of the wave's register file; operands of up to 32 dwords may start at the last one. */
#define REGISTER_ROWS (2 * SOFTGPU_VGPRS + 32)

typedef uint32_t vector_register[SOFTGPU_LANES];

static uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The last workgroup of a dimension is as small as the grid leaves it; its work-items still fill
 * the lanes without gaps.
 */
static void actual_size(const struct softgpu_kernel *kernel, const uint32_t id[3], uint32_t out[3])
{
	for (int i = 0; i < 3; i++) {
		uint32_t size = kernel->dispatch.workgroup_size[i];

		out[i] = minimum(size, kernel->dispatch.grid_size[i] - id[i] * size);
	}
}

static void set_workitem_ids(const struct softgpu_workgroup *workgroup, struct softgpu_wave *wave)
{
	const struct softgpu_kernel *kernel = workgroup->kernel;
	uint32_t size[3];

	actual_size(kernel, workgroup->id, size);
	for (uint32_t lane = 0; lane < SOFTGPU_LANES; lane++) {
		uint32_t flat = wave->index * SOFTGPU_LANES + lane;
		uint32_t id[3] = {flat % size[0], flat / size[0] % size[1],
				  flat / size[0] / size[1]};

		if (id[2] >= size[2])
			break;
		wave->exec |= (uint64_t)1 << lane;
		if (kernel->packed_workitem_ids)
			wave->vgpr[0][lane] = id[0] | id[1] << 10 | id[2] << 20;
		else
			for (uint32_t i = 0; i < kernel->workitem_id_count; i++)
				wave->vgpr[i][lane] = id[i];
	}
}

static void set_sgprs(const struct softgpu_workgroup *workgroup, struct softgpu_wave *wave)
{
	const struct softgpu_kernel *kernel = workgroup->kernel;
	uint32_t slot = workgroup->placement.scratch_wave_slot + wave->index;
	uint32_t next = kernel->user_sgpr_count;

	memcpy(wave->sgpr, kernel->user_sgpr, sizeof(uint32_t) * kernel->user_sgpr_count);
	for (int i = 0; i < 3; i++)
		if (kernel->workgroup_id_sgpr[i])
			wave->sgpr[next++] = workgroup->id[i];
	/* First wave of the group in bit 31, number of waves in bits 0 to 5. */
	if (kernel->workgroup_info_sgpr)
		wave->sgpr[next++] = (uint32_t)(wave->index == 0) << 31 | workgroup->wave_count;
	if (kernel->scratch_offset_sgpr)
		wave->sgpr[next++] = slot * kernel->scratch_wave_size;
	if (kernel->target->scratch_scheme == SOFTGPU_SCRATCH_ARCHITECTED)
		wave->flat_scratch =
			kernel->dispatch.scratch.base + (uint64_t)slot * kernel->scratch_wave_size;
}

static void start_wave(struct softgpu_workgroup *workgroup, uint32_t index)
{
	const struct softgpu_kernel *kernel = workgroup->kernel;
	struct softgpu_wave *wave = &workgroup->waves[index];

	wave->workgroup = workgroup;
	wave->translations = &workgroup->translations;
	wave->index = index;
	wave->pc = kernel->entry;
	wave->mode = kernel->mode;
	wave->vgpr = (vector_register *)workgroup->registers + (size_t)index * REGISTER_ROWS;
	/* The memory comes from malloc: clear what the kernel owns. */
	memset(wave->vgpr, 0, sizeof(vector_register) * kernel->vgpr_count);
	memset(wave->vgpr + SOFTGPU_VGPRS, 0, sizeof(vector_register) * kernel->acc_vgpr_count);
	set_sgprs(workgroup, wave);
	set_workitem_ids(workgroup, wave);
}

static uint32_t count_waves(const struct softgpu_kernel *kernel, const uint32_t id[3])
{
	uint32_t size[3];

	actual_size(kernel, id, size);
	return (size[0] * size[1] * size[2] + SOFTGPU_LANES - 1) / SOFTGPU_LANES;
}

bool softgpu_workgroup_create(const struct softgpu_kernel *kernel, const uint32_t id[3],
			      const struct softgpu_placement *placement,
			      struct softgpu_workgroup **out, struct softgpu_fault *fault)
{
	struct softgpu_workgroup *workgroup = calloc(1, sizeof(*workgroup));

	*out = NULL;
	if (workgroup != NULL) {
		workgroup->kernel = kernel;
		memcpy(workgroup->id, id, sizeof(workgroup->id));
		workgroup->placement = *placement;
		workgroup->code_epoch = kernel->code_epoch;
		workgroup->wave_count = count_waves(kernel, id);
		workgroup->lds_size = kernel->dispatch.group_segment_size;
		workgroup->waves = calloc(workgroup->wave_count, sizeof(*workgroup->waves));
		workgroup->lds = calloc(1, workgroup->lds_size + 16);
		workgroup->registers = aligned_alloc(64, sizeof(vector_register) * REGISTER_ROWS *
								 workgroup->wave_count);
	}
	if (workgroup == NULL || workgroup->waves == NULL || workgroup->lds == NULL ||
	    workgroup->registers == NULL) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_OUT_OF_MEMORY,
				  "kernel 0x%" PRIx64 ": no host memory for a workgroup",
				  kernel->dispatch.kernel_object);
		softgpu_workgroup_destroy(workgroup);
		return false;
	}
	for (uint32_t i = 0; i < workgroup->wave_count; i++)
		start_wave(workgroup, i);
	*out = workgroup;
	return true;
}

void softgpu_workgroup_destroy(struct softgpu_workgroup *workgroup)
{
	if (workgroup == NULL)
		return;
	free(workgroup->registers);
	free(workgroup->lds);
	free(workgroup->waves);
	free(workgroup);
}

uint64_t softgpu_workgroup_instructions(const struct softgpu_workgroup *workgroup)
{
	return workgroup->instructions;
}

/* Ended waves no longer take part in barriers. */
static void release_barrier(struct softgpu_workgroup *workgroup)
{
	uint32_t waiting = 0, ended = 0;

	for (uint32_t i = 0; i < workgroup->wave_count; i++) {
		waiting += workgroup->waves[i].state == SOFTGPU_WAVE_BARRIER;
		ended += workgroup->waves[i].state == SOFTGPU_WAVE_ENDED;
	}
	workgroup->waves_ended = ended;
	if (waiting == 0 || waiting + ended < workgroup->wave_count)
		return;
	for (uint32_t i = 0; i < workgroup->wave_count; i++)
		if (workgroup->waves[i].state == SOFTGPU_WAVE_BARRIER)
			workgroup->waves[i].state = SOFTGPU_WAVE_RUNNING;
}

enum softgpu_run_result softgpu_workgroup_run(struct softgpu_workgroup *workgroup,
					      struct softgpu_instruction_cache *cache,
					      uint64_t instruction_budget,
					      struct softgpu_fault *fault)
{
	uint64_t spent = 0;
	bool awake = true;

	while (awake && spent < instruction_budget) {
		awake = false;
		for (uint32_t i = 0; i < workgroup->wave_count; i++) {
			struct softgpu_wave *wave = &workgroup->waves[i];
			uint64_t ran;

			if (wave->state == SOFTGPU_WAVE_YIELDED)
				wave->state = SOFTGPU_WAVE_RUNNING;
			if (wave->state != SOFTGPU_WAVE_RUNNING)
				continue;
			workgroup->running = i;
			ran = softgpu_wave_run(wave, cache, WAVE_SLICE);
			spent += ran;
			workgroup->instructions += ran;
			if (wave->state == SOFTGPU_WAVE_FAULTED) {
				*fault = workgroup->fault;
				return SOFTGPU_RUN_FAULTED;
			}
			awake |= wave->state != SOFTGPU_WAVE_YIELDED;
		}
		release_barrier(workgroup);
		if (workgroup->waves_ended == workgroup->wave_count)
			return SOFTGPU_RUN_DONE;
	}
	return SOFTGPU_RUN_YIELDED;
}

void softgpu_workgroup_host_fault(const struct softgpu_workgroup *workgroup, uint64_t address,
				  struct softgpu_fault *fault)
{
	const uint64_t pc = workgroup->waves[workgroup->running].pc;

	softgpu_fault_set(fault, SOFTGPU_FAULT_MEMORY,
			  "kernel 0x%" PRIx64 ": before pc 0x%" PRIx64 ": host memory at 0x%" PRIx64
			  " is not there, or not accessible",
			  workgroup->kernel->dispatch.kernel_object, pc, address);
	fault->pc = pc;
	fault->address = address;
}
