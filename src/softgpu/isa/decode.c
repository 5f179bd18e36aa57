/* SPDX-License-Identifier: MIT */
/* The decoder: picks the encoding family; operand checks. */
#include "decode.h"

#include <string.h>

const uint8_t softgpu_operand_dword_counts[] = {
	[SOFTGPU_NONE] = 0,   [SOFTGPU_B16] = 1,  [SOFTGPU_F16] = 1,   [SOFTGPU_PK16] = 1,
	[SOFTGPU_PKF16] = 1,  [SOFTGPU_B32] = 1,  [SOFTGPU_F32] = 1,   [SOFTGPU_B64] = 2,
	[SOFTGPU_I64] = 2,    [SOFTGPU_F64] = 2,  [SOFTGPU_PKF32] = 2, [SOFTGPU_PK32] = 2,
	[SOFTGPU_B96] = 3,    [SOFTGPU_B128] = 4, [SOFTGPU_B256] = 8,  [SOFTGPU_B512] = 16,
	[SOFTGPU_B1024] = 32, [SOFTGPU_MASK] = 2,
};

bool softgpu_check_scalar_register(uint16_t *code, unsigned int type)
{
	unsigned int dwords = softgpu_operand_dwords(type);
	unsigned int alignment = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
	bool is_sgpr = *code < SOFTGPU_CODE_FLAT_SCRATCH;
	bool is_ttmp = *code >= SOFTGPU_CODE_TTMP0 && *code < SOFTGPU_CODE_M0;

	if (is_sgpr || is_ttmp) {
		unsigned int end = is_sgpr ? SOFTGPU_CODE_FLAT_SCRATCH : SOFTGPU_CODE_M0;

		/* A quad may start at s100: it ends with FLAT_SCRATCH. */
		if (is_sgpr && dwords >= 4)
			end += 2;
		*code -= *code % alignment;
		return *code + dwords <= end;
	}
	if (dwords == 1)
		return *code < 128 && *code != SOFTGPU_CODE_M0 + 1;
	return dwords == 2 &&
	       (*code == SOFTGPU_CODE_FLAT_SCRATCH || *code == SOFTGPU_CODE_XNACK_MASK ||
		*code == SOFTGPU_CODE_VCC || *code == SOFTGPU_CODE_EXEC);
}

bool softgpu_check_scalar_source(uint16_t *code, unsigned int type)
{
	if (*code < 128)
		return softgpu_check_scalar_register(code, type);
	if (softgpu_operand_dwords(type) > 2)
		return false;
	return *code <= 208 || (*code >= SOFTGPU_CODE_SHARED_BASE && *code <= 248) ||
	       (*code >= SOFTGPU_CODE_VCCZ && *code <= SOFTGPU_CODE_SCC) ||
	       *code == SOFTGPU_CODE_LITERAL;
}

bool softgpu_check_vgpr(uint16_t number, unsigned int type)
{
	unsigned int dwords = softgpu_operand_dwords(type);

	return number + dwords <= 256 && (dwords < 2 || number % 2 == 0);
}

bool softgpu_check_source(uint16_t *code, unsigned int type)
{
	if (type == SOFTGPU_MASK && *code < SOFTGPU_CODE_SHARED_BASE)
		return softgpu_check_scalar_register(code, type);
	if (type == SOFTGPU_MASK)
		return *code <= SOFTGPU_CODE_POPS_EXITING_WAVE_ID ||
		       (*code >= SOFTGPU_CODE_VCCZ && *code <= SOFTGPU_CODE_SCC);
	if (*code >= SOFTGPU_CODE_VGPR0)
		return softgpu_check_vgpr((uint16_t)(*code - SOFTGPU_CODE_VGPR0), type);
	return softgpu_check_scalar_source(code, type);
}

enum softgpu_decode_result softgpu_decode(const uint32_t dwords[2], struct softgpu_instruction *out,
					  const char **what)
{
	const char *unused;
	uint32_t prefix = dwords[0] >> 26;
	enum softgpu_decode_result result = SOFTGPU_DECODE_UNKNOWN;

	if (what == NULL)
		what = &unused;
	memset(out, 0, sizeof(*out));
	out->encoding[0] = dwords[0];
	out->size = 1;
	if (prefix < 0x20) {
		result = softgpu_decode_vop12c(dwords, out);
	} else if (prefix < 0x30) {
		result = softgpu_decode_scalar(dwords, out);
	} else {
		out->size = 2;
		switch (prefix) {
		case 0x30:
			result = softgpu_decode_scalar_memory(dwords, out);
			break;
		case 0x34:
			result = softgpu_decode_vop3(dwords, out);
			break;
		case 0x36:
			result = softgpu_decode_ds(dwords, out);
			break;
		case 0x37:
			result = softgpu_decode_flat(dwords, out);
			break;
		case 0x38:
			result = softgpu_decode_mubuf(dwords, out);
			break;
		/* Graphics. */
		case 0x31:
			*what = "encoding family EXP (export)";
			return SOFTGPU_DECODE_NOT_EMULATED;
		case 0x35:
			*what = "encoding family VINTRP (interpolation)";
			return SOFTGPU_DECODE_NOT_EMULATED;
		case 0x3a:
			*what = "encoding family MTBUF (typed buffer access)";
			return SOFTGPU_DECODE_NOT_EMULATED;
		case 0x3c:
			*what = "encoding family MIMG (images)";
			return SOFTGPU_DECODE_NOT_EMULATED;
		default:
			return SOFTGPU_DECODE_UNKNOWN;
		}
	}
	if (out->size == 2)
		out->encoding[1] = dwords[1];
	if (result == SOFTGPU_DECODED && out->memory_flags & SOFTGPU_GDS) {
		*what = "global data share (GDS)";
		return SOFTGPU_DECODE_NOT_EMULATED;
	}
	if (result == SOFTGPU_DECODED && out->operation->execute == NULL) {
		*what = out->operation->name;
		return SOFTGPU_DECODE_NOT_EMULATED;
	}
	return result;
}
