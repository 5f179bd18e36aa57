/* SPDX-License-Identifier: MIT */
/* Scalar operands that are no register: constants, literals, apertures and condition bits. */
#include "workgroup.h"

static bool is_half(unsigned int type)
{
	return type == SOFTGPU_B16 || type == SOFTGPU_F16 || type == SOFTGPU_PK16 ||
	       type == SOFTGPU_PKF16;
}

/* 0.5 -0.5 1 -1 2 -2 4 -4 1/(2*pi) in each width. */
const uint16_t softgpu_half_constants[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
					    0xc000, 0x4400, 0xc400, 0x3118};
static const uint32_t float_constants[] = {0x3f000000, 0xbf000000, 0x3f800000,
					   0xbf800000, 0x40000000, 0xc0000000,
					   0x40800000, 0xc0800000, 0x3e22f983};
static const uint64_t double_constants[] = {
	0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
	0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

/* Everything whose 64-bit value has a meaning of its own. */
static uint64_t special(const struct softgpu_wave *wave, unsigned int code)
{
	const struct softgpu_dispatch *dispatch = &wave->workgroup->kernel->dispatch;

	switch (code) {
	case SOFTGPU_CODE_SHARED_BASE:
		return dispatch->shared_aperture_base;
	case SOFTGPU_CODE_SHARED_LIMIT:
		return dispatch->shared_aperture_base | 0xffffffff;
	case SOFTGPU_CODE_PRIVATE_BASE:
		return dispatch->private_aperture_base;
	case SOFTGPU_CODE_PRIVATE_LIMIT:
		return dispatch->private_aperture_base | 0xffffffff;
	case SOFTGPU_CODE_VCCZ:
		return wave->vcc == 0;
	case SOFTGPU_CODE_EXECZ:
		return wave->exec == 0;
	case SOFTGPU_CODE_SCC:
		return wave->scc;
	default: /* POPS_EXITING_WAVE_ID: graphics only */
		return 0;
	}
}

static bool is_integer(unsigned int code, int64_t *value)
{
	if (code < SOFTGPU_CODE_ZERO || code > 208)
		return false;
	*value = code <= 192 ? (int64_t)code - 128 : 192 - (int64_t)code;
	return true;
}

uint32_t softgpu_constant32(const struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction, unsigned int code,
			    unsigned int type)
{
	int64_t value;

	if (is_integer(code, &value))
		return (uint32_t)value;
	if (code == SOFTGPU_CODE_LITERAL)
		return instruction->literal;
	if (code >= SOFTGPU_CODE_HALF && code <= SOFTGPU_CODE_HALF + 8)
		return is_half(type) ? softgpu_half_constants[code - SOFTGPU_CODE_HALF]
				     : float_constants[code - SOFTGPU_CODE_HALF];
	return (uint32_t)special(wave, code);
}

uint64_t softgpu_constant64(const struct softgpu_wave *wave,
			    const struct softgpu_instruction *instruction, unsigned int code,
			    unsigned int type)
{
	int64_t value;

	if (is_integer(code, &value))
		return (uint64_t)value;
	if (code == SOFTGPU_CODE_LITERAL) {
		if (type == SOFTGPU_F64)
			return (uint64_t)instruction->literal << 32;
		if (type == SOFTGPU_I64)
			return (uint64_t)(int64_t)(int32_t)instruction->literal;
		return instruction->literal;
	}
	if (code >= SOFTGPU_CODE_HALF && code <= SOFTGPU_CODE_HALF + 8)
		return type == SOFTGPU_PKF32 || type == SOFTGPU_PK32
			       ? float_constants[code - SOFTGPU_CODE_HALF] /* the low half */
			       : double_constants[code - SOFTGPU_CODE_HALF];
	return special(wave, code);
}
