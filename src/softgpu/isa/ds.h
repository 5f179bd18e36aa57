/* SPDX-License-Identifier: MIT */
/* The execute functions of DS, for its table. */
#ifndef SOFTGPU_DS_H
#define SOFTGPU_DS_H

#include "wave.h"

uint32_t (*softgpu_ds_registers(const struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction,
				unsigned int number))[SOFTGPU_LANES];
uint32_t softgpu_ds_offset(const struct softgpu_instruction *instruction, int index,
			   unsigned int unit);

softgpu_execute softgpu_ds_nop;
softgpu_execute softgpu_ds_read_u8, softgpu_ds_read_i8, softgpu_ds_read_u16, softgpu_ds_read_i16;
softgpu_execute softgpu_ds_read_b32, softgpu_ds_read_b64, softgpu_ds_read_b96, softgpu_ds_read_b128;
softgpu_execute softgpu_ds_read2_b32, softgpu_ds_read2_b64;
softgpu_execute softgpu_ds_read2st64_b32, softgpu_ds_read2st64_b64;
softgpu_execute softgpu_ds_read_u8_d16, softgpu_ds_read_u8_d16_hi;
softgpu_execute softgpu_ds_read_i8_d16, softgpu_ds_read_i8_d16_hi;
softgpu_execute softgpu_ds_read_u16_d16, softgpu_ds_read_u16_d16_hi;
softgpu_execute softgpu_ds_write_b8, softgpu_ds_write_b16, softgpu_ds_write_b32;
softgpu_execute softgpu_ds_write_b64, softgpu_ds_write_b96, softgpu_ds_write_b128;
softgpu_execute softgpu_ds_write2_b32, softgpu_ds_write2_b64;
softgpu_execute softgpu_ds_write2st64_b32, softgpu_ds_write2st64_b64;
softgpu_execute softgpu_ds_write_b8_d16_hi, softgpu_ds_write_b16_d16_hi;
softgpu_execute softgpu_ds_write_addtid_b32, softgpu_ds_read_addtid_b32;
softgpu_execute softgpu_ds_swizzle_b32, softgpu_ds_permute_b32, softgpu_ds_bpermute_b32;
softgpu_execute softgpu_ds_append, softgpu_ds_consume;
/* Atomics with one address, by opcode: with and without return, 32 and 64 bits. */
softgpu_execute softgpu_ds_atomic;
softgpu_execute softgpu_ds_exchange2; /* ds_wrxchg2_rtn and ds_wrxchg2st64_rtn */
softgpu_execute softgpu_ds_wrap;

#endif
