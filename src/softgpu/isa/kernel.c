/* SPDX-License-Identifier: MIT */
/* Kernel descriptors: what a dispatch asks of the hardware before its first instruction. */
#include "kernel.h"

#include "memory_access.h"
#include "wave.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields that the old amd_kernel_code_t and the 64-byte descriptor keep at the same place. */
struct kernel_descriptor {
	uint32_t words[4];
	int64_t entry_offset;
	uint8_t unused[20];
	uint32_t resource3;
	uint32_t resource1;
	uint32_t resource2;
	uint32_t properties;
	uint32_t tail;
};

_Static_assert(sizeof(struct kernel_descriptor) == 64, "size of the kernel descriptor");

/* Bits of `properties`. */
enum {
	PRIVATE_SEGMENT_BUFFER = 1 << 0,
	DISPATCH_POINTER = 1 << 1,
	QUEUE_POINTER = 1 << 2,
	KERNARG_POINTER = 1 << 3,
	DISPATCH_ID = 1 << 4,
	FLAT_SCRATCH_INIT = 1 << 5,
	PRIVATE_SEGMENT_SIZE = 1 << 6,
	GRID_COUNT_X = 1 << 7, /* amd_kernel_code_t only, as the next two */
	WAVE32 = 1 << 10,
};

static uint64_t code_epoch;

uint64_t softgpu_next_code_epoch(void)
{
	/* Pairs with nothing: only the uniqueness of the number matters. */
	return __atomic_add_fetch(&code_epoch, 1, __ATOMIC_RELAXED);
}

void softgpu_fault_set(struct softgpu_fault *fault, enum softgpu_fault_kind kind,
		       const char *format, ...)
{
	va_list arguments;

	memset(fault, 0, sizeof(*fault));
	fault->kind = kind;
	va_start(arguments, format);
	vsnprintf(fault->message, sizeof(fault->message), format, arguments);
	va_end(arguments);
}

/*
 * amd_kernel_code_t starts with its version 1.x, machine kind 1 and a machine major version; a
 * 64-byte descriptor with these words would have an impossible kernarg size.
 */
static bool is_old_descriptor(const struct kernel_descriptor *descriptor)
{
	uint32_t machine_major = descriptor->words[2] >> 16;

	return descriptor->words[0] == 1 && (descriptor->words[2] & 0xffff) == 1 &&
	       machine_major >= 6 && machine_major <= 9;
}

static void push(struct softgpu_kernel *kernel, uint32_t value)
{
	kernel->user_sgpr[kernel->user_sgpr_count++] = value;
}

static void push64(struct softgpu_kernel *kernel, uint64_t value)
{
	push(kernel, (uint32_t)value);
	push(kernel, (uint32_t)(value >> 32));
}

static void set_user_sgprs(struct softgpu_kernel *kernel, uint32_t properties, bool old)
{
	const struct softgpu_dispatch *dispatch = &kernel->dispatch;

	if (properties & PRIVATE_SEGMENT_BUFFER)
		for (int i = 0; i < 4; i++)
			push(kernel, dispatch->scratch.descriptor[i]);
	if (properties & DISPATCH_POINTER)
		push64(kernel, dispatch->packet_address);
	if (properties & QUEUE_POINTER)
		push64(kernel, dispatch->queue_address);
	if (properties & KERNARG_POINTER)
		push64(kernel, dispatch->kernarg_address);
	if (properties & DISPATCH_ID)
		push64(kernel, dispatch->dispatch_id);
	if (properties & FLAT_SCRATCH_INIT)
		push64(kernel, dispatch->scratch.base);
	if (properties & PRIVATE_SEGMENT_SIZE)
		push(kernel, dispatch->private_segment_size);
	for (int i = 0; old && i < 3; i++)
		if (properties & GRID_COUNT_X << i)
			push(kernel, kernel->workgroup_count[i]);
}

/* MODE starts with the descriptor's float modes. */
static uint32_t initial_mode(uint32_t resource1)
{
	return (resource1 >> 12 & 0xff) | (resource1 >> 21 & 1) << 8 | (resource1 >> 23 & 1) << 9 |
	       (resource1 >> 26 & 1) << 23;
}

static bool set_sizes(struct softgpu_kernel *kernel, struct softgpu_fault *fault)
{
	const struct softgpu_target *target = kernel->target;
	const struct softgpu_dispatch *dispatch = &kernel->dispatch;
	uint64_t work_items = 1;

	for (int i = 0; i < 3; i++) {
		uint64_t size = dispatch->workgroup_size[i];

		if (size == 0 || size > target->max_workgroup_size) {
			softgpu_fault_set(fault, SOFTGPU_FAULT_WORKGROUP_SIZE,
					  "kernel 0x%" PRIx64 ": workgroup size %" PRIu64
					  " in dimension %d is not in 1..%u",
					  dispatch->kernel_object, size, i,
					  target->max_workgroup_size);
			return false;
		}
		work_items *= size;
		kernel->workgroup_count[i] = (uint32_t)((dispatch->grid_size[i] + size - 1) / size);
	}
	if (work_items > target->max_workgroup_size) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_WORKGROUP_SIZE,
				  "kernel 0x%" PRIx64 ": %" PRIu64
				  " work-items in a workgroup, %s has at most %u",
				  dispatch->kernel_object, work_items, target->name,
				  target->max_workgroup_size);
		return false;
	}
	if (dispatch->group_segment_size > target->group_memory_size) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_GROUP_MEMORY,
				  "kernel 0x%" PRIx64 ": %u bytes of LDS, %s has %u",
				  dispatch->kernel_object, dispatch->group_segment_size,
				  target->name, target->group_memory_size);
		return false;
	}
	kernel->wave_count = (uint32_t)((work_items + SOFTGPU_LANES - 1) / SOFTGPU_LANES);
	return true;
}

static bool set_scratch(struct softgpu_kernel *kernel, struct softgpu_fault *fault)
{
	const struct softgpu_dispatch *dispatch = &kernel->dispatch;
	/* Hardware hands out scratch in units of 256 dwords a wave. */
	uint64_t size =
		((uint64_t)dispatch->private_segment_size * SOFTGPU_LANES + 1023) & ~(uint64_t)1023;

	if (size * kernel->wave_count > dispatch->scratch.byte_size) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_SCRATCH,
				  "kernel 0x%" PRIx64 ": a workgroup needs %u waves of %" PRIu64
				  " bytes of scratch, the queue has %" PRIu64 " bytes",
				  dispatch->kernel_object, kernel->wave_count, size,
				  dispatch->scratch.byte_size);
		return false;
	}
	kernel->scratch_wave_size = (uint32_t)size;
	return true;
}

static bool parse_descriptor(struct softgpu_kernel *kernel, struct softgpu_fault *fault)
{
	const struct softgpu_target *target = kernel->target;
	uint64_t address = kernel->dispatch.kernel_object;
	struct kernel_descriptor descriptor;
	uint32_t vgprs;
	bool old;

	if (!softgpu_memory_copy_from(kernel->memory, address, &descriptor, sizeof(descriptor))) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_KERNEL_OBJECT,
				  "kernel object 0x%" PRIx64 " is not in GPU-readable memory",
				  address);
		return false;
	}
	old = is_old_descriptor(&descriptor);
	if (!old && descriptor.properties & WAVE32) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_KERNEL_OBJECT,
				  "kernel 0x%" PRIx64 ": wave32 code, %s runs wave64 only", address,
				  target->name);
		return false;
	}
	kernel->entry = address + (uint64_t)descriptor.entry_offset;
	kernel->mode = initial_mode(descriptor.resource1);
	vgprs = ((descriptor.resource1 & 0x3f) + 1) * target->vgpr_granule;
	if (target->unified_vgprs && !old) {
		uint32_t accum_offset = ((descriptor.resource3 & 0x3f) + 1) * 4;

		kernel->vgpr_count = accum_offset < vgprs ? accum_offset : vgprs;
		kernel->acc_vgpr_count = vgprs - kernel->vgpr_count;
	} else {
		kernel->vgpr_count = vgprs;
	}
	if (kernel->vgpr_count > 256)
		kernel->vgpr_count = 256;
	if (kernel->acc_vgpr_count > 256)
		kernel->acc_vgpr_count = 256;

	set_user_sgprs(kernel, descriptor.properties, old);
	if (kernel->user_sgpr_count > 16) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_KERNEL_OBJECT,
				  "kernel 0x%" PRIx64 ": %u user SGPRs, hardware has 16", address,
				  kernel->user_sgpr_count);
		return false;
	}
	/* The count field decides where the system SGPRs start. */
	kernel->user_sgpr_count = descriptor.resource2 >> 1 & 0x1f;
	for (int i = 0; i < 3; i++)
		kernel->workgroup_id_sgpr[i] = descriptor.resource2 >> (7 + i) & 1;
	kernel->workgroup_info_sgpr = descriptor.resource2 >> 10 & 1;
	kernel->scratch_offset_sgpr = descriptor.resource2 & 1;
	kernel->packed_workitem_ids = target->packed_workitem_ids && !old;
	kernel->workitem_id_count = (descriptor.resource2 >> 11 & 3) + 1;
	if (kernel->workitem_id_count > 3)
		kernel->workitem_id_count = 3;
	return true;
}

bool softgpu_kernel_create(const struct softgpu_target *target, const struct softgpu_memory *memory,
			   const struct softgpu_dispatch *dispatch, struct softgpu_kernel **out,
			   struct softgpu_fault *fault)
{
	struct softgpu_kernel *kernel = calloc(1, sizeof(*kernel));

	*out = NULL;
	if (kernel == NULL) {
		softgpu_fault_set(fault, SOFTGPU_FAULT_OUT_OF_MEMORY,
				  "no host memory for kernel 0x%" PRIx64, dispatch->kernel_object);
		return false;
	}
	kernel->target = target;
	kernel->memory = memory;
	kernel->dispatch = *dispatch;
	kernel->code_epoch = softgpu_next_code_epoch();
	if (!set_sizes(kernel, fault) || !set_scratch(kernel, fault) ||
	    !parse_descriptor(kernel, fault)) {
		free(kernel);
		return false;
	}
	*out = kernel;
	return true;
}

void softgpu_kernel_destroy(struct softgpu_kernel *kernel)
{
	free(kernel);
}

void softgpu_kernel_workgroup_counts(const struct softgpu_kernel *kernel, uint32_t counts[3])
{
	memcpy(counts, kernel->workgroup_count, sizeof(kernel->workgroup_count));
}

uint32_t softgpu_kernel_wave_count(const struct softgpu_kernel *kernel)
{
	return kernel->wave_count;
}

uint32_t softgpu_kernel_scratch_wave_size(const struct softgpu_kernel *kernel)
{
	return kernel->scratch_wave_size;
}

uint32_t softgpu_kernel_scratch_wave_slots(const struct softgpu_kernel *kernel)
{
	if (kernel->scratch_wave_size == 0)
		return UINT32_MAX;
	return (uint32_t)(kernel->dispatch.scratch.byte_size / kernel->scratch_wave_size);
}
