/* SPDX-License-Identifier: MIT */
/* The machine on which instruction tests run their programs. */
#include "isa_harness.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_WAVES 16
#define MAX_SLICES    10000

struct isa_machine {
	struct softgpu_memory memory;
	_Atomic uint64_t generation;
	struct softgpu_kernel *kernel;
	struct softgpu_workgroup *workgroup;
	struct softgpu_instruction_cache *cache;
	struct softgpu_fault fault;
	/* Everything the GPU sees, one block: data, descriptor, code, then scratch. */
	struct image {
		uint8_t data[ISA_MEMORY_SIZE];
		uint32_t descriptor[64]; /* the code must be aligned to 256 */
		uint32_t code[ISA_PROGRAM_DWORDS];
	} * image;
	uint8_t *scratch;
	size_t scratch_size;
};

static bool translate(void *context, uint64_t address, struct softgpu_translation *out)
{
	struct isa_machine *machine = context;
	uint64_t image = (uintptr_t)machine->image;
	uint64_t scratch = (uintptr_t)machine->scratch;

	*out = (struct softgpu_translation){.readable = true, .writable = true, .executable = true};
	if (address - image < sizeof(*machine->image)) {
		out->begin = image;
		out->end = image + sizeof(*machine->image);
		return true;
	}
	if (address - scratch < machine->scratch_size) {
		out->begin = scratch;
		out->end = scratch + machine->scratch_size;
		return true;
	}
	return false;
}

/* The 64-byte descriptor at the head of `words`, with all registers granted. */
static void write_descriptor(struct image *image)
{
	uint32_t *words = image->descriptor;
	int64_t entry = (int64_t)((uintptr_t)image->code - (uintptr_t)image->descriptor);

	memcpy(&words[4], &entry, sizeof(entry));
	words[11] = 63;						/* 256 VGPRs, then AccVGPRs */
	words[12] = 63 | 3 << 16 | 3 << 18 | 1 << 21 | 1 << 23; /* denormals, DX10 clamp, IEEE */
	words[13] = 16 << 1 | 1 << 7 | 1; /* s16: workgroup id x, s17: scratch wave offset */
	/* s[0:3] scratch descriptor, s[4:5] dispatch, s[6:7] kernarg, s[8:9] flat scratch init. */
	words[14] = 1 | 1 << 1 | 1 << 3 | 1 << 5;
}

struct isa_machine *isa_setup(const struct isa_program *program, const struct isa_options *options)
{
	static const struct isa_options defaults;
	const struct isa_options *o = options != NULL ? options : &defaults;
	struct isa_machine *machine = calloc(1, sizeof(*machine));
	uint32_t size = o->workgroup_size != 0 ? o->workgroup_size : 64;
	uint64_t lane_size = o->private_segment_size;
	struct softgpu_dispatch dispatch = {0};
	struct softgpu_placement placement = {0};
	const uint32_t id[3] = {0, 0, 0};

	ck_assert_ptr_nonnull(machine);
	machine->scratch_size = (lane_size * 64 + 1023) / 1024 * 1024 * SCRATCH_WAVES;
	machine->image = aligned_alloc(4096, (sizeof(struct image) + 4095) / 4096 * 4096);
	machine->scratch = aligned_alloc(4096, machine->scratch_size / 4096 * 4096 + 4096);
	machine->cache = softgpu_instruction_cache_create();
	ck_assert(machine->image != NULL && machine->scratch != NULL && machine->cache != NULL);
	memset(machine->image, 0, sizeof(*machine->image));
	memset(machine->scratch, 0, machine->scratch_size);
	memcpy(machine->image->code, program->code, 4 * program->count);
	write_descriptor(machine->image);
	machine->memory.context = machine;
	machine->memory.translate = translate;
	machine->memory.generation = &machine->generation;

	dispatch.kernel_object = (uintptr_t)machine->image->descriptor;
	dispatch.kernarg_address = (uintptr_t)machine->image->data;
	dispatch.packet_address = (uintptr_t)machine->image->data;
	dispatch.grid_size[0] = dispatch.workgroup_size[0] = size;
	for (int i = 1; i < 3; i++)
		dispatch.grid_size[i] = dispatch.workgroup_size[i] = 1;
	dispatch.group_segment_size = o->group_segment_size;
	dispatch.private_segment_size = o->private_segment_size;
	dispatch.scratch.base = (uintptr_t)machine->scratch;
	dispatch.scratch.byte_size = machine->scratch_size;
	/* As ROCr writes it for gfx9: swizzled, index stride 64, element size 4, lane id added. */
	dispatch.scratch.descriptor[0] = (uint32_t)dispatch.scratch.base;
	dispatch.scratch.descriptor[1] = (uint32_t)(dispatch.scratch.base >> 32) | 1u << 31;
	dispatch.scratch.descriptor[2] = (uint32_t)machine->scratch_size;
	dispatch.scratch.descriptor[3] = 1 << 19 | 3 << 21 | 1 << 23 | 4 << 15 | 7 << 12;
	dispatch.private_aperture_base = (uint64_t)1 << 48;
	dispatch.shared_aperture_base = (uint64_t)2 << 48;
	if (!softgpu_kernel_create(&softgpu_target_gfx90a, &machine->memory, &dispatch,
				   &machine->kernel, &machine->fault) ||
	    !softgpu_workgroup_create(machine->kernel, id, &placement, &machine->workgroup,
				      &machine->fault))
		ck_abort_msg("%s", machine->fault.message);
	return machine;
}

struct softgpu_wave *isa_wave(struct isa_machine *machine, unsigned int index)
{
	ck_assert_uint_lt(index, machine->workgroup->wave_count);
	return &machine->workgroup->waves[index];
}

struct softgpu_workgroup *isa_workgroup(struct isa_machine *machine)
{
	return machine->workgroup;
}

uint8_t *isa_memory(struct isa_machine *machine)
{
	return machine->image->data;
}

uint8_t *isa_scratch(struct isa_machine *machine)
{
	return machine->scratch;
}

static enum softgpu_run_result run(struct isa_machine *machine)
{
	enum softgpu_run_result result = SOFTGPU_RUN_YIELDED;

	for (int i = 0; i < MAX_SLICES && result == SOFTGPU_RUN_YIELDED; i++)
		result = softgpu_workgroup_run(machine->workgroup, machine->cache, 1000,
					       &machine->fault);
	return result;
}

void isa_run(struct isa_machine *machine)
{
	enum softgpu_run_result result = run(machine);

	if (result == SOFTGPU_RUN_FAULTED)
		ck_abort_msg("%s", machine->fault.message);
	ck_assert_int_eq(result, SOFTGPU_RUN_DONE);
}

const struct softgpu_fault *isa_run_to_fault(struct isa_machine *machine)
{
	ck_assert_int_eq(run(machine), SOFTGPU_RUN_FAULTED);
	return &machine->fault;
}

void isa_teardown(struct isa_machine *machine)
{
	softgpu_workgroup_destroy(machine->workgroup);
	softgpu_kernel_destroy(machine->kernel);
	softgpu_instruction_cache_destroy(machine->cache);
	free(machine->scratch);
	free(machine->image);
	free(machine);
}

/* xorshift64*: its state must not be zero. */
static uint64_t random_state;

uint64_t isa_random64(void)
{
	if (random_state == 0) {
		const char *text = getenv("ISA_TEST_SEED");

		random_state = text != NULL ? strtoull(text, NULL, 0) : 0x5eed90a;
		if (random_state == 0)
			random_state = 1;
		printf("# ISA_TEST_SEED=0x%llx\n", (unsigned long long)random_state);
		fflush(stdout);
	}
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d;
}

uint32_t isa_random(void)
{
	return (uint32_t)(isa_random64() >> 32);
}

uint32_t isa_random_operand(void)
{
	static const uint32_t edges[] = {
		0,	    1,		2,	    31,		32,	    33,		63,
		64,	    0xffff,	0x7fff,	    0x8000,	0x10000,    0x7fffffff, 0x80000000,
		0xffffffff, 0xfffffffe, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
		0x7f800001, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x80000001,
		0x807fffff, 0x3f000000, 0x4f000000, 0x4f800000, 0xcf000000, 0x3c003c00, 0x7c00fc00,
		0x7e007e01, 0x00010001, 0x7bff7bff, 0x03ff0400, 0x80008000,
	};
	uint32_t choice = isa_random();

	if (choice & 1)
		return edges[(choice >> 1) % (sizeof(edges) / sizeof(edges[0]))];
	return isa_random();
}

uint64_t isa_random_operand64(void)
{
	static const uint64_t edges[] = {
		0,
		1,
		0xffffffffffffffff,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xffffffff,
		0x100000000,
		0x3ff0000000000000,
		0xbff0000000000000,
		0x7ff0000000000000,
		0xfff0000000000000,
		0x7ff8000000000000,
		0x7ff0000000000001,
		0x000fffffffffffff,
		0x0010000000000000,
		0x7fefffffffffffff,
		0x43e0000000000000,
		0x41f0000000000000,
	};
	uint32_t choice = isa_random();

	if (choice & 1)
		return edges[(choice >> 1) % (sizeof(edges) / sizeof(edges[0]))];
	return isa_random64();
}
