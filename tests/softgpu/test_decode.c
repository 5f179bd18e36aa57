/* SPDX-License-Identifier: MIT */
/*
 * The decoder against llvm-mc: every opcode of every encoding family with random operands, and
 * plain random dwords.
 *
 * What llvm-mc disassembles must decode to the same text and length, or be one of the families
 * and operations that are named as not emulated. What it rejects must be unknown, or must differ
 * from an instruction only in bits that mean nothing: then our text assembles.
 */
#include "../run_suite.h"
#include "isa_harness.h"
#include "llvm_mc.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(value, low, bits) (((value) & ((1u << (bits)) - 1)) << (low))
#define MAX_CASES		40000
#define MAX_REPORTS		1000

struct family {
	const char *name;
	const struct softgpu_operation *table;
	unsigned int opcodes;
	uint32_t prefix;
	unsigned int opcode_shift;
	unsigned int tries; /* for each opcode */
	/* Zeroes fields that the operation does not use, so that most encodings are valid. */
	void (*clean)(const struct softgpu_operation *operation, uint32_t dwords[2]);
};

static bool is_float(unsigned int type)
{
	return type == SOFTGPU_F16 || type == SOFTGPU_F32 || type == SOFTGPU_F64 ||
	       type == SOFTGPU_PKF16 || type == SOFTGPU_PKF32;
}

static bool has_source(const struct softgpu_operation *operation, int index)
{
	return operation->source[index] != SOFTGPU_NONE;
}

static void clean_nothing(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	(void)operation;
	(void)dwords;
}

static void clean_sop1(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	if (operation->destination == SOFTGPU_NONE)
		dwords[0] &= ~FIELD(~0u, 16, 7);
	if (!has_source(operation, 0))
		dwords[0] &= ~0xffu;
}

/* Half of the operations need aligned registers everywhere; random ones would be too rare. */
static void clean_smem(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	if (operation->destination == SOFTGPU_NONE)
		dwords[0] &= ~FIELD(~0u, 6, 7);
	else
		dwords[0] &= ~(FIELD(1, 12, 1) | FIELD(3, 6, 2));
	dwords[0] &= ~FIELD(1, 15, 1); /* nv */
	dwords[0] &= ~FIELD(1, 5, 1);
	if (!has_source(operation, 0)) {
		dwords[0] &= 0xfffc1fc0;
		dwords[1] = 0;
		return;
	}
	if (dwords[0] >> 14 & 1) { /* SGPR offset */
		dwords[1] &= 0x7e1fffff;
		if (!(dwords[0] >> 17 & 1))
			dwords[1] &= 0xfe000000;
	} else {
		dwords[1] &= dwords[0] >> 17 & 1 ? 0x1fffff : 0x3f;
	}
}

/* VOP1, VOP2, VOPC: chooses the form and makes the second dword fit. */
static void clean_short(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	uint32_t choice = isa_random() % 8;
	bool second = has_source(operation, 1);
	bool compare = dwords[0] >> 25 == 0x3e;

	if (operation->flags & SOFTGPU_NO_DESTINATION)
		dwords[0] &= ~FIELD(0xff, 17, 8);
	if (!has_source(operation, 0))
		dwords[0] &= ~0x1ffu;
	else if (choice < 2)
		dwords[0] = (dwords[0] & ~0x1ffu) | SOFTGPU_CODE_SDWA;
	else if (choice < 4)
		dwords[0] = (dwords[0] & ~0x1ffu) | SOFTGPU_CODE_DPP;
	if (softgpu_operand_dwords(operation->destination) == 2 && dwords[0] >> 25 != 0x3e)
		dwords[0] &= ~FIELD(1, 17, 1);
	if (has_source(operation, 0) && (dwords[0] & 0x1ff) == SOFTGPU_CODE_SDWA) {
		bool floating = is_float(operation->source[0]);

		dwords[1] &= ~FIELD(3, 14, 2) & ~FIELD(1, 22, 1) & ~FIELD(1, 30, 1);
		if (compare && !(dwords[1] >> 15 & 1))
			dwords[1] &= ~FIELD(0x7f, 8, 7);
		dwords[1] &= floating ? ~FIELD(1, 19, 1) : ~FIELD(3, 20, 2);
		dwords[1] &= is_float(operation->source[1]) ? ~FIELD(1, 27, 1) : ~FIELD(3, 28, 2);
		if (!second)
			dwords[1] &= 0x00ffffff;
	}
	if (has_source(operation, 0) && (dwords[0] & 0x1ff) == SOFTGPU_CODE_DPP) {
		dwords[1] &= ~FIELD(3, 17, 2);
		if (!is_float(operation->source[0]))
			dwords[1] &= ~FIELD(3, 20, 2);
		if (!second || !is_float(operation->source[1]))
			dwords[1] &= ~FIELD(3, 22, 2);
		if (isa_random() & 1)
			dwords[1] &= ~FIELD(1, 16, 1); /* quad_perm, which is always valid */
	}
}

static void clean_vop3(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	bool floating = is_float(operation->destination);

	if (operation->flags & SOFTGPU_NO_DESTINATION)
		dwords[0] &= ~0xffu;
	else if (softgpu_operand_dwords(operation->destination) >= 2)
		dwords[0] &= ~1u;
	for (int i = 0; i < 3; i++) {
		if (!has_source(operation, i)) {
			dwords[1] &= ~FIELD(0x1ff, 9 * i, 9);
			dwords[0] &= ~FIELD(1, 11 + i, 1);
		} else if (softgpu_operand_dwords(operation->source[i]) >= 2) {
			dwords[1] &= ~FIELD(1, 9 * i, 1);
		}
		if (!is_float(operation->source[i])) {
			dwords[1] &= ~FIELD(1, 29 + i, 1);
			if (!(operation->flags & SOFTGPU_VOP3B))
				dwords[0] &= ~FIELD(1, 8 + i, 1);
		}
		if (operation->source[i] == SOFTGPU_MASK)
			dwords[1] &= ~FIELD(0x101, 9 * i, 9);
	}
	if (!floating)
		dwords[1] &= ~FIELD(3, 27, 2);
	if (!(operation->flags & (SOFTGPU_OP_SEL | SOFTGPU_VOP3B)))
		dwords[0] &= ~FIELD(0xf, 11, 4);
	if (isa_random() & 1) /* the rarely valid bits */
		dwords[0] &= ~FIELD(1, 15, 1);
	if (isa_random() & 1)
		dwords[1] &= ~FIELD(3, 27, 2);
}

static void clean_vop3p(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	if (softgpu_operand_dwords(operation->destination) >= 2)
		dwords[0] &= ~1u;
	for (int i = 0; i < 3; i++) {
		if (!has_source(operation, i)) {
			dwords[1] &= ~(FIELD(0x1ff, 9 * i, 9) | FIELD(1, 29 + i, 1));
			dwords[0] &= ~(FIELD(1, 8 + i, 1) | FIELD(1, 11 + i, 1));
		} else if (softgpu_operand_dwords(operation->source[i]) >= 2) {
			dwords[1] &= ~FIELD(1, 9 * i, 1);
		}
	}
	if (!has_source(operation, 2))
		dwords[0] |= FIELD(1, 14, 1);
	if (!has_source(operation, 1))
		dwords[1] |= FIELD(1, 28, 1);
}

static void clean_ds(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	dwords[0] &= ~FIELD(1, 16, 1); /* gds */
	if (operation->destination == SOFTGPU_NONE)
		dwords[1] &= 0x00ffffff;
	else if (operation->destination != SOFTGPU_B32)
		dwords[1] &= ~(1u << 24);
	for (int i = 0; i < 3; i++) {
		if (!has_source(operation, i))
			dwords[1] &= ~FIELD(0xff, 8 * i, 8);
		else if (operation->source[i] != SOFTGPU_B32)
			dwords[1] &= ~FIELD(1, 8 * i, 1);
	}
	if (operation->destination == SOFTGPU_NONE && !has_source(operation, 0) &&
	    !has_source(operation, 1))
		dwords[0] &= 0xffff0000;
}

static void clean_flat(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	uint32_t segment = dwords[0] >> 14 & 3;

	dwords[0] &= ~FIELD(1, 13, 1);
	if (segment == 0) {
		dwords[0] &= ~FIELD(1, 12, 1);
		dwords[1] &= ~FIELD(0x7f, 16, 7);
	} else if (isa_random() & 1) {
		dwords[1] |= FIELD(0x7f, 16, 7);
	} else {
		dwords[1] &= ~FIELD(0x41, 16, 7);
		if (segment == 1)
			dwords[1] &= ~0xffu;
	}
	dwords[1] &= ~(1u | 1u << 8 | 1u << 24);
	if (operation->flags & SOFTGPU_ATOMIC && !(dwords[0] >> 16 & 1))
		dwords[1] &= 0x00ffffff;
	if (operation->flags & SOFTGPU_STORE)
		dwords[1] &= 0x00ffffff;
	if (operation->flags & SOFTGPU_LOAD)
		dwords[1] &= ~FIELD(0xff, 8, 8);
}

static void clean_mubuf(const struct softgpu_operation *operation, uint32_t dwords[2])
{
	if (operation->destination == SOFTGPU_NONE && !has_source(operation, 1)) {
		dwords[0] &= 0xfffc0000;
		dwords[1] = 0;
		return;
	}
	dwords[0] &= ~FIELD(1, 16, 1);
	dwords[1] &= ~(FIELD(3, 21, 2) | FIELD(0x10, 16, 5) | FIELD(1, 8, 1) | 1u);
	if (!(dwords[0] >> 12 & 3))
		dwords[1] &= ~0xffu;
}

static const struct family families[] = {
	{"SOP1", softgpu_sop1_operations, 256, 0xbe800000, 8, 40, clean_sop1},
	{"SOP2", softgpu_sop2_operations, 96, 0x80000000, 23, 60, clean_nothing},
	{"SOPK", softgpu_sopk_operations, 32, 0xb0000000, 23, 60, clean_nothing},
	{"SOPC", softgpu_sopc_operations, 128, 0xbf000000, 16, 40, clean_nothing},
	{"SOPP", softgpu_sopp_operations, 128, 0xbf800000, 16, 20, clean_nothing},
	{"SMEM", softgpu_smem_operations, 256, 0xc0000000, 18, 30, clean_smem},
	{"VOP1", softgpu_vop1_operations, 256, 0x7e000000, 9, 60, clean_short},
	{"VOP2", softgpu_vop2_operations, 62, 0x00000000, 25, 120, clean_short},
	{"VOPC", softgpu_vopc_operations, 256, 0x7c000000, 17, 40, clean_short},
	{"VOP3", softgpu_vop3_operations, 896, 0xd0000000, 16, 40, clean_vop3},
	{"VOP3P", softgpu_vop3p_operations, 128, 0xd3800000, 16, 40, clean_vop3p},
	{"DS", softgpu_ds_operations, 256, 0xd8000000, 17, 20, clean_ds},
	{"FLAT", softgpu_flat_operations, 128, 0xdc000000, 18, 30, clean_flat},
	{"GLOBAL", softgpu_global_operations, 128, 0xdc008000, 18, 30, clean_flat},
	{"SCRATCH", softgpu_scratch_operations, 128, 0xdc004000, 18, 30, clean_flat},
	{"MUBUF", softgpu_mubuf_operations, 128, 0xe0000000, 18, 30, clean_mubuf},
};

#define FAMILIES ((int)(sizeof(families) / sizeof(families[0])))

/* Bits of the first dword below the opcode or beside it that the family leaves to operands. */
static uint32_t operand_bits(const struct family *family)
{
	switch (family->prefix >> 24) {
	case 0xbe:
		return 0x007f00ff;
	case 0x80:
	case 0xb0:
		return 0x007fffff;
	case 0xbf:
		return 0x0000ffff;
	case 0xc0:
		return 0x0003ffff;
	case 0x7e:
		return 0x01fe01ff;
	case 0x00:
		return 0x01ffffff;
	case 0x7c:
		return 0x0001ffff;
	case 0xd0:
		return 0x0000ffff;
	case 0xd3:
		return 0x0000ffff;
	case 0xd8:
		return 0x0201ffff;
	case 0xdc:
		return 0x02033fff;
	default:
		return 0x0003ffff;
	}
}

/* The operands that stay numbers in our text: compare only the mnemonic. */
static bool prints_numbers(const char *text)
{
	static const char *const names[] = {
		"s_waitcnt ",
		"s_sendmsg",
		"s_getreg_b32 ",
		"s_setreg_b32 ",
		"s_setreg_imm32",
		"s_set_gpr_idx_on",
		"s_set_gpr_idx_mode ",
		"ds_swizzle_b32 ",
		"s_call_b64 ",
		"s_cbranch_i_fork",
		"s_nop ",
		"s_sleep ",
		"s_atc_probe",
		"v_mfma",
		"v_accvgpr",
		"s_trap",
		"s_endpgm",
		"s_sethalt",
		"s_set",
		"s_incperf",
		"s_decperf",
		"v_cvt_pk_u8_f32 ",
		"v_ldexp_f16",
		"buffer_store_lds_",
		"s_mem",
		"v_mqsad_u32_u8",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool same_text(const char *ours, const char *theirs, bool operands)
{
	size_t mnemonic = strcspn(theirs, " ");

	/* The one operation without a VOP3 form that llvm-mc gives the suffix nevertheless. */
	if (strncmp(theirs, "v_pk_fmac_f16_e32 ", 18) == 0 && strncmp(ours, theirs, 13) == 0) {
		ours += 13;
		theirs += 17;
		mnemonic = 0;
	}
	if (!operands || prints_numbers(theirs) || strstr(ours, " gds") != NULL)
		return strcspn(ours, " ") == mnemonic && strncmp(ours, theirs, mnemonic) == 0;
	return strcmp(ours, theirs) == 0;
}

/* gfx90a wants registers of vector operands aligned; llvm-mc does not check all operations. */
static bool has_odd_tuple(const char *text)
{
	for (const char *at = strchr(text, '['); at != NULL; at = strchr(at + 1, '['))
		if (at > text && (at[-1] == 'v' || at[-1] == 'a') && atoi(at + 1) % 2 == 1)
			return true;
	return false;
}

/* The assembler takes 12 bits. */
static bool has_long_flat_offset(const char *text)
{
	const char *at = strstr(text, "offset:");

	return strncmp(text, "flat_", 5) == 0 && at != NULL && atoi(at + 7) > 4095;
}

/* Operands that llvm-mc prints, some of other targets, although they are none of gfx90a. */
static bool uses_foreign_operand(const char *text)
{
	return strstr(text, "null") != NULL || strstr(text, "src_lds_direct") != NULL ||
	       strstr(text, "src_flat_scratch_base") != NULL || strstr(text, "/*") != NULL ||
	       (strstr(text, "v_mqsad_u32_u8") != NULL && strstr(text, "src_") != NULL) ||
	       (strstr(text, "v_readlane_b32") != NULL && strstr(text, "src_") != NULL) ||
	       has_long_flat_offset(text) || strncmp(text + strcspn(text, " "), " src_", 5) == 0 ||
	       has_odd_tuple(text);
}

/* SDWA with a reserved selector kills llvm-mc. */
static void avoid_crash(uint32_t dwords[2])
{
	if (dwords[0] >> 31 != 0 || (dwords[0] & 0x1ff) != SOFTGPU_CODE_SDWA)
		return;
	for (int shift = 8; shift <= 24; shift += 8)
		if ((dwords[1] >> shift & 7) == 7)
			dwords[1] &= ~FIELD(1, shift, 1);
	if ((dwords[1] >> 11 & 3) == 3)
		dwords[1] &= ~FIELD(1, 11, 1);
}

struct comparison {
	uint32_t (*encodings)[2];
	struct llvm_answer *answers;
	unsigned int count, accepted, failures;
	/* What only we accept. */
	const char *extra[MAX_CASES];
	unsigned int extra_index[MAX_CASES];
	unsigned int extras;
	char reported[64]; /* the last mnemonic */
};

static void report(struct comparison *comparison, unsigned int index, const char *ours)
{
	size_t mnemonic = strcspn(ours, " ");
	bool again = strncmp(comparison->reported, ours, mnemonic + 1) == 0;

	/* One example of each operation is enough. */
	snprintf(comparison->reported, sizeof(comparison->reported), "%.63s", ours);
	comparison->failures++;
	if (!again && comparison->failures < MAX_REPORTS)
		printf("# %08x %08x: ours \"%s\", llvm-mc \"%s\" (%u dwords)\n",
		       comparison->encodings[index][0], comparison->encodings[index][1], ours,
		       comparison->answers[index].text, comparison->answers[index].dwords);
}

static void compare_one(struct comparison *comparison, unsigned int index, bool operands)
{
	const struct llvm_answer *answer = &comparison->answers[index];
	struct softgpu_instruction instruction;
	const char *what = NULL;
	char text[200] = "unknown";
	enum softgpu_decode_result result =
		softgpu_decode(comparison->encodings[index], &instruction, &what);

	if (result == SOFTGPU_DECODE_NOT_EMULATED)
		ck_assert_ptr_nonnull(what);
	if (result == SOFTGPU_DECODE_NOT_EMULATED && instruction.operation == NULL)
		return; /* a whole family, named in `what` */
	if (result != SOFTGPU_DECODE_UNKNOWN)
		softgpu_disassemble(&instruction, text, sizeof(text));
	if (answer->text[0] == '\0') {
		char *clamp = strstr(text, " clamp");

		/* Operations of integers do not look at the clamp bit unless they say so. */
		if (clamp != NULL && !is_float(instruction.operation->destination))
			*clamp = '\0';
		if (result == SOFTGPU_DECODED) {
			comparison->extra_index[comparison->extras] = index;
			comparison->extra[comparison->extras++] = strdup(text);
		}
		return;
	}
	if (strstr(answer->text, "/* ") != NULL && result == SOFTGPU_DECODED)
		report(comparison, index, text); /* a comment on what is wrong with the operand */
	if (uses_foreign_operand(answer->text))
		return;
	/* Older versions do not reject all that gfx90a has not. */
	if (!operands && result == SOFTGPU_DECODE_UNKNOWN)
		return;
	comparison->accepted++;
	if (result == SOFTGPU_DECODE_UNKNOWN || !same_text(text, answer->text, operands) ||
	    instruction.size != answer->dwords)
		report(comparison, index, text);
}

static void compare(struct comparison *comparison, const char *name)
{
	/* Older versions print operands otherwise and know less: only what both know counts. */
	bool operands = llvm_mc_version() >= 19;
	bool *accepted = calloc(MAX_CASES, sizeof(*accepted));

	ck_assert_ptr_nonnull(accepted);
	llvm_mc_disassemble((const uint32_t(*)[2])comparison->encodings, comparison->count,
			    comparison->answers);
	for (unsigned int i = 0; i < comparison->count; i++)
		compare_one(comparison, i, operands);
	llvm_mc_assemble(comparison->extra, comparison->extras, accepted);
	for (unsigned int i = 0; i < comparison->extras; i++) {
		/* The assembler knows neither the last quad of SGPRs nor sext of a number. */
		if (operands && !accepted[i] && !prints_numbers(comparison->extra[i]) &&
		    strstr(comparison->extra[i], "s[100:103]") == NULL &&
		    strstr(comparison->extra[i], "sext(0x") == NULL)
			report(comparison, comparison->extra_index[i], comparison->extra[i]);
		free((void *)comparison->extra[i]);
	}
	free(accepted);
	printf("# %s: %u encodings, %u valid, %u with meaningless bits set\n", name,
	       comparison->count, comparison->accepted, comparison->extras);
	fflush(stdout);
	ck_assert_msg(comparison->failures == 0, "%s: %u encodings decode otherwise", name,
		      comparison->failures);
}

static struct comparison *make_comparison(void)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));

	ck_assert_ptr_nonnull(comparison);
	comparison->encodings = calloc(MAX_CASES, sizeof(*comparison->encodings));
	comparison->answers = calloc(MAX_CASES, sizeof(*comparison->answers));
	ck_assert(comparison->encodings != NULL && comparison->answers != NULL);
	return comparison;
}

static void free_comparison(struct comparison *comparison)
{
	free(comparison->encodings);
	free(comparison->answers);
	free(comparison);
}

START_TEST(every_opcode_of_a_family)
{
	const struct family *family = &families[_i];
	struct comparison *comparison = make_comparison();

	for (unsigned int opcode = 0; opcode < family->opcodes; opcode++) {
		const struct softgpu_operation *operation = &family->table[opcode];
		unsigned int tries = operation->name != NULL ? family->tries : 3;

		for (unsigned int i = 0; i < tries; i++) {
			uint32_t *dwords = comparison->encodings[comparison->count++];

			ck_assert_uint_lt(comparison->count, MAX_CASES);
			dwords[0] = family->prefix | opcode << family->opcode_shift |
				    (isa_random() & operand_bits(family));
			dwords[1] = isa_random();
			if (i % 8 != 0 && operation->name != NULL)
				family->clean(operation, dwords);
			avoid_crash(dwords);
		}
	}
	compare(comparison, family->name);
	free_comparison(comparison);
}
END_TEST

START_TEST(random_dwords)
{
	struct comparison *comparison = make_comparison();

	while (comparison->count < 20000) {
		uint32_t *dwords = comparison->encodings[comparison->count++];

		dwords[0] = isa_random();
		dwords[1] = isa_random();
		avoid_crash(dwords);
	}
	compare(comparison, "random");
	free_comparison(comparison);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decode");
	TCase *test_case = tcase_create("llvm-mc");

	if (llvm_mc_path() == NULL) {
		printf("1..0 # SKIP there is no llvm-mc\n");
		return 0;
	}
	tcase_set_timeout(test_case, 120);
	tcase_add_loop_test(test_case, every_opcode_of_a_family, 0, FAMILIES);
	tcase_add_test(test_case, random_dwords);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
