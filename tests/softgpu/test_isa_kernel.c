/* SPDX-License-Identifier: MIT */
/* Kernel descriptors: the registers that waves start with, sizes, and what is refused. */
#include "../run_suite.h"
#include "softgpu/isa/workgroup.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A descriptor in front of s_endpgm, in memory that the GPU sees at its own address. */
static struct {
	_Alignas(256) uint32_t descriptor[64];
	uint32_t code[64];
} object;

static _Atomic uint64_t generation;

static bool translate(void *context, uint64_t address, struct softgpu_translation *out)
{
	uint64_t begin = (uintptr_t)&object;

	(void)context;
	if (address - begin >= sizeof(object))
		return false;
	*out = (struct softgpu_translation){.begin = begin,
					    .end = begin + sizeof(object),
					    .readable = true,
					    .writable = true,
					    .executable = true};
	return true;
}

static const struct softgpu_memory memory = {.translate = translate, .generation = &generation};

static struct softgpu_dispatch dispatch;

static void prepare(void)
{
	int64_t entry = sizeof(object.descriptor);

	memset(&object, 0, sizeof(object));
	memset(&dispatch, 0, sizeof(dispatch));
	memcpy(&object.descriptor[4], &entry, sizeof(entry));
	object.code[0] = 0xbf810000;
	object.descriptor[11] = 7; /* 32 VGPRs in front of the AccVGPRs */
	object.descriptor[12] = 7 | 0xc0u << 12 | 1 << 21;
	dispatch.kernel_object = (uintptr_t)object.descriptor;
	for (int i = 0; i < 3; i++)
		dispatch.grid_size[i] = dispatch.workgroup_size[i] = 1;
	dispatch.workgroup_size[0] = dispatch.grid_size[0] = 64;
	dispatch.packet_address = 0x1111222233334444;
	dispatch.queue_address = 0x5555666677778888;
	dispatch.kernarg_address = 0x9999aaaabbbbcccc;
	dispatch.dispatch_id = 0xddddeeeeffff0000;
	dispatch.scratch.base = 0x123456789abcdef0;
	dispatch.scratch.byte_size = 1 << 20;
	for (uint32_t i = 0; i < 4; i++)
		dispatch.scratch.descriptor[i] = 0xd0 + i;
}

static struct softgpu_kernel *make_kernel(void)
{
	struct softgpu_kernel *kernel;
	struct softgpu_fault fault;

	if (!softgpu_kernel_create(&softgpu_target_gfx90a, &memory, &dispatch, &kernel, &fault))
		ck_abort_msg("%s", fault.message);
	return kernel;
}

static struct softgpu_workgroup *make_workgroup(struct softgpu_kernel *kernel, uint32_t x,
						uint32_t y, uint32_t z)
{
	const uint32_t id[3] = {x, y, z};
	struct softgpu_placement placement = {.scratch_wave_slot = 5};
	struct softgpu_workgroup *workgroup;
	struct softgpu_fault fault;

	ck_assert(softgpu_workgroup_create(kernel, id, &placement, &workgroup, &fault));
	return workgroup;
}

START_TEST(initial_sgprs)
{
	struct softgpu_kernel *kernel;
	struct softgpu_workgroup *workgroup;
	const uint32_t *sgpr;
	static const uint32_t user[] = {0xd0,	    0xd1,	0xd2,	    0xd3,	0x33334444,
					0x11112222, 0x77778888, 0x55556666, 0xbbbbcccc, 0x9999aaaa,
					0xffff0000, 0xddddeeee, 0x9abcdef0, 0x12345678, 300};

	prepare();
	object.descriptor[14] = 0x7f;
	object.descriptor[13] = 1 | 15 << 1 | 7 << 7 | 1 << 10;
	dispatch.private_segment_size = 300;
	dispatch.grid_size[0] = 200;
	dispatch.grid_size[1] = 7;
	kernel = make_kernel();
	ck_assert_uint_eq(softgpu_kernel_scratch_wave_size(kernel), 19456);
	ck_assert_uint_eq(softgpu_kernel_scratch_wave_slots(kernel), (1 << 20) / 19456);
	workgroup = make_workgroup(kernel, 2, 6, 0);
	sgpr = workgroup->waves[0].sgpr;
	for (int i = 0; i < 15; i++)
		ck_assert_uint_eq(sgpr[i], user[i]);
	ck_assert_uint_eq(sgpr[15], 2);
	ck_assert_uint_eq(sgpr[16], 6);
	ck_assert_uint_eq(sgpr[17], 0);
	ck_assert_uint_eq(sgpr[18], 0x80000001);
	ck_assert_uint_eq(sgpr[19], 5 * 19456);
	ck_assert_uint_eq(workgroup->waves[0].mode, 0x1c0);
	ck_assert_uint_eq(workgroup->waves[0].pc, (uintptr_t)object.code);
	softgpu_workgroup_destroy(workgroup);
	softgpu_kernel_destroy(kernel);
}
END_TEST

START_TEST(packed_ids_of_a_partial_workgroup)
{
	struct softgpu_kernel *kernel;
	struct softgpu_workgroup *workgroup;
	uint32_t counts[3];

	prepare();
	dispatch.workgroup_size[0] = 10;
	dispatch.workgroup_size[1] = 5;
	dispatch.workgroup_size[2] = 3;
	dispatch.grid_size[0] = 26; /* the last group has 6 */
	dispatch.grid_size[1] = 5;
	dispatch.grid_size[2] = 5; /* the last group has 2 */
	kernel = make_kernel();
	softgpu_kernel_workgroup_counts(kernel, counts);
	ck_assert_uint_eq(counts[0], 3);
	ck_assert_uint_eq(counts[1], 1);
	ck_assert_uint_eq(counts[2], 2);
	ck_assert_uint_eq(softgpu_kernel_wave_count(kernel), 3);
	workgroup = make_workgroup(kernel, 2, 0, 1);
	ck_assert_uint_eq(workgroup->wave_count, 1);
	ck_assert_uint_eq(workgroup->waves[0].exec, ((uint64_t)1 << 60) - 1);
	for (uint32_t lane = 0; lane < 60; lane++)
		ck_assert_uint_eq(workgroup->waves[0].vgpr[0][lane],
				  lane % 6 | lane / 6 % 5 << 10 | lane / 30 << 20);
	softgpu_workgroup_destroy(workgroup);
	workgroup = make_workgroup(kernel, 0, 0, 0);
	ck_assert_uint_eq(workgroup->wave_count, 3);
	ck_assert_uint_eq(workgroup->waves[2].exec, ((uint64_t)1 << 22) - 1);
	ck_assert_uint_eq(workgroup->waves[2].vgpr[0][21], 9 | 4 << 10 | 2 << 20);
	softgpu_workgroup_destroy(workgroup);
	softgpu_kernel_destroy(kernel);
}
END_TEST

/* amd_kernel_code_t: version 1.2, machine kind 1, gfx 8.0.3. */
START_TEST(old_descriptor)
{
	struct softgpu_kernel *kernel;
	struct softgpu_workgroup *workgroup;

	prepare();
	object.descriptor[0] = 1;
	object.descriptor[1] = 2;
	object.descriptor[2] = 1 | 8 << 16;
	object.descriptor[3] = 3u << 16;
	object.descriptor[11] = 0xffffffff; /* reserved there */
	object.descriptor[13] = 5 << 1 | 1 << 7 | 2 << 11;
	object.descriptor[14] = 1 << 3 | 7 << 7; /* kernarg pointer, workgroup counts */
	dispatch.workgroup_size[0] = 8;
	dispatch.workgroup_size[1] = 4;
	dispatch.workgroup_size[2] = 2;
	dispatch.grid_size[0] = 24;
	dispatch.grid_size[1] = 4;
	dispatch.grid_size[2] = 4;
	kernel = make_kernel();
	workgroup = make_workgroup(kernel, 1, 0, 1);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[0], 0xbbbbcccc);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[1], 0x9999aaaa);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[2], 3);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[3], 1);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[4], 2);
	ck_assert_uint_eq(workgroup->waves[0].sgpr[5], 1);
	for (uint32_t lane = 0; lane < 64; lane++) {
		ck_assert_uint_eq(workgroup->waves[0].vgpr[0][lane], lane % 8);
		ck_assert_uint_eq(workgroup->waves[0].vgpr[1][lane], lane / 8 % 4);
		ck_assert_uint_eq(workgroup->waves[0].vgpr[2][lane], lane / 32);
	}
	softgpu_workgroup_destroy(workgroup);
	softgpu_kernel_destroy(kernel);
}
END_TEST

static enum softgpu_fault_kind refusal(void)
{
	struct softgpu_kernel *kernel;
	struct softgpu_fault fault;

	ck_assert(!softgpu_kernel_create(&softgpu_target_gfx90a, &memory, &dispatch, &kernel,
					 &fault));
	ck_assert_ptr_null(kernel);
	ck_assert_str_ne(fault.message, "");
	return fault.kind;
}

START_TEST(refused)
{
	prepare();
	dispatch.workgroup_size[1] = 0;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_WORKGROUP_SIZE);
	prepare();
	dispatch.workgroup_size[0] = 1025;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_WORKGROUP_SIZE);
	prepare();
	dispatch.workgroup_size[0] = dispatch.workgroup_size[1] = 33;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_WORKGROUP_SIZE);
	prepare();
	dispatch.group_segment_size = 65537;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_GROUP_MEMORY);
	prepare();
	dispatch.private_segment_size = 16385;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_SCRATCH);
	prepare();
	dispatch.kernel_object = 0x1000;
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_KERNEL_OBJECT);
	prepare();
	object.descriptor[14] = 1 << 10; /* wave32 */
	ck_assert_int_eq(refusal(), SOFTGPU_FAULT_KERNEL_OBJECT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_kernel");
	TCase *test_case = tcase_create("kernel");

	tcase_add_test(test_case, initial_sgprs);
	tcase_add_test(test_case, packed_ids_of_a_partial_workgroup);
	tcase_add_test(test_case, old_descriptor);
	tcase_add_test(test_case, refused);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
