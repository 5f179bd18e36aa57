/* SPDX-License-Identifier: MIT */
/* The decoders of the single encoding families and the operand checks they share. */
#ifndef SOFTGPU_DECODE_H
#define SOFTGPU_DECODE_H

#include "instruction.h"

enum softgpu_decode_result softgpu_decode_scalar(const uint32_t dwords[2],
						 struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_scalar_memory(const uint32_t dwords[2],
							struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_vop12c(const uint32_t dwords[2],
						 struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_vop3(const uint32_t dwords[2],
					       struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_ds(const uint32_t dwords[2],
					     struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_flat(const uint32_t dwords[2],
					       struct softgpu_instruction *out);
enum softgpu_decode_result softgpu_decode_mubuf(const uint32_t dwords[2],
						struct softgpu_instruction *out);

/*
 * The checks return false for a code that names no operand of the type. Scalar registers of more
 * than one dword lose the low bits of their number, as in hardware.
 */
bool softgpu_check_scalar_register(uint16_t *code, unsigned int type);
/* Scalar register, constant or literal. */
bool softgpu_check_scalar_source(uint16_t *code, unsigned int type);
/* VGPR number 0..255; pairs and longer start at an even register on gfx90a. */
bool softgpu_check_vgpr(uint16_t number, unsigned int type);
/* Code 0..511. */
bool softgpu_check_source(uint16_t *code, unsigned int type);

#endif
