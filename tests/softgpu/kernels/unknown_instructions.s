/* SPDX-License-Identifier: MIT */
/*
 * Kernels that store 1, meet an instruction that the software GPU does not emulate, and would then
 * store 2. Kernel argument: the address of the word.
 */
	.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
	.text

	.macro unknown_kernel name, instruction:vararg
	.globl \name
	.p2align 8
	.type \name,@function
\name:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_mov_b32_e32 v0, 0
	v_mov_b32_e32 v1, 1
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[2:3]
	buffer_wbl2
	s_waitcnt vmcnt(0)
	\instruction
	v_mov_b32_e32 v1, 2
	global_store_dword v0, v1, s[2:3]
	s_endpgm
.L\name\()_end:
	.size \name, .L\name\()_end-\name
	.rodata
	.p2align 6
	.amdhsa_kernel \name
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 32
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 32
	.end_amdhsa_kernel
	.text
	.endm

	/* No instruction at all: an encoding that the ISA leaves free. */
	unknown_kernel reserved_encoding, .long 0xbfffffff
	unknown_kernel matrix_instruction, v_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]

	.amdgpu_metadata
---
amdhsa.version: [ 1, 1 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: reserved_encoding
    .symbol: reserved_encoding.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
  - .name: matrix_instruction
    .symbol: matrix_instruction.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
...
	.end_amdgpu_metadata
