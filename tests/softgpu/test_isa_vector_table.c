/* SPDX-License-Identifier: MIT */
/*
 * The vector ALU's operation tables against LLVM: every opcode of every family that llvm-mc knows
 * on gfx90a has its mnemonic in the table and the other way round, and so for the SDWA and DPP
 * forms. Needs llvm-mc, named by LLVM_MC.
 */
#include "isa_vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE  64
#define MAX_OPCODE 1024
/* The opcodes behind are those of VOPC and VOP1, and of VOP3P. */
#define VOP2_COUNT 62
#define VOP3_COUNT 896

/* Operand fields to try: what is no valid operand of an operation hides it from LLVM. */
struct operands {
	uint32_t destination;
	uint32_t source0, source1, source2;
};

static const struct operands vop3_operands[] = {
    {2, VGPR(4), VGPR(6), VGPR(8)},
    {2, VGPR(4), VGPR(6), SGPR(8)},
    {2, VGPR(4), VGPR(6), 0},
    {2, VGPR(4), 0, 0},
    {2, SGPR(4), VGPR(6), 0},
    {2, SGPR(4), SGPR(4), 0},
    {0, 0, 0, 0},
};

static const struct operands short_operands[] = {
    {2, VGPR(4), 6, 0}, {2, SGPR(4), 6, 0}, {0, 0, 0, 0}};

typedef unsigned int encoder(unsigned int opcode, const struct operands *operands,
			     uint32_t dwords[2]);

static unsigned int encode_vop1(unsigned int opcode, const struct operands *o, uint32_t dwords[2])
{
	dwords[0] = 0x7e000000 | o->destination << 17 | opcode << 9 | o->source0;
	return 1;
}

static unsigned int encode_vop1_sdwa(unsigned int opcode, const struct operands *o,
				     uint32_t dwords[2])
{
	dwords[0] = 0x7e000000 | o->destination << 17 | opcode << 9 | SOFTGPU_CODE_SDWA;
	dwords[1] = 0x00060600 | (o->source0 & 0xff);
	return 2;
}

static unsigned int encode_vop1_dpp(unsigned int opcode, const struct operands *o,
				    uint32_t dwords[2])
{
	dwords[0] = 0x7e000000 | o->destination << 17 | opcode << 9 | SOFTGPU_CODE_DPP;
	dwords[1] = 0xff00e400 | (o->source0 & 0xff);
	return 2;
}

/* madmk and madak have a literal behind them. */
static unsigned int encode_vop2(unsigned int opcode, const struct operands *o, uint32_t dwords[2])
{
	const bool literal = opcode == 23 || opcode == 24 || opcode == 36 || opcode == 37;

	dwords[0] = opcode << 25 | o->destination << 17 | o->source1 << 9 | o->source0;
	dwords[1] = 0x12345678;
	return literal ? 2 : 1;
}

static unsigned int encode_vop2_sdwa(unsigned int opcode, const struct operands *o,
				     uint32_t dwords[2])
{
	dwords[0] = opcode << 25 | o->destination << 17 | o->source1 << 9 | SOFTGPU_CODE_SDWA;
	dwords[1] = 0x06060600 | (o->source0 & 0xff);
	return 2;
}

static unsigned int encode_vop2_dpp(unsigned int opcode, const struct operands *o,
				    uint32_t dwords[2])
{
	dwords[0] = opcode << 25 | o->destination << 17 | o->source1 << 9 | SOFTGPU_CODE_DPP;
	dwords[1] = 0xff00e400 | (o->source0 & 0xff);
	return 2;
}

static unsigned int encode_vopc(unsigned int opcode, const struct operands *o, uint32_t dwords[2])
{
	dwords[0] = 0x7c000000 | opcode << 17 | o->source1 << 9 | o->source0;
	return 1;
}

static unsigned int encode_vopc_sdwa(unsigned int opcode, const struct operands *o,
				     uint32_t dwords[2])
{
	dwords[0] = 0x7c000000 | opcode << 17 | o->source1 << 9 | SOFTGPU_CODE_SDWA;
	dwords[1] = 0x06060000 | (o->source0 & 0xff);
	return 2;
}

static unsigned int encode_vopc_dpp(unsigned int opcode, const struct operands *o,
				    uint32_t dwords[2])
{
	dwords[0] = 0x7c000000 | opcode << 17 | o->source1 << 9 | SOFTGPU_CODE_DPP;
	dwords[1] = 0xff00e400 | (o->source0 & 0xff);
	return 2;
}

static unsigned int encode_vop3(unsigned int opcode, const struct operands *o, uint32_t dwords[2])
{
	dwords[0] = 0xd0000000 | opcode << 16 | o->destination;
	dwords[1] = o->source0 | o->source1 << 9 | o->source2 << 18;
	return 2;
}

static unsigned int encode_vop3p(unsigned int opcode, const struct operands *o, uint32_t dwords[2])
{
	dwords[0] = 0xd3804000 | opcode << 16 | o->destination;
	dwords[1] = 0x18000000 | o->source0 | o->source1 << 9 | o->source2 << 18;
	return 2;
}

static char names[MAX_OPCODE][NAME_SIZE];

static void remove_suffix(char *name)
{
	static const char *const suffixes[] = {"_e32", "_e64", "_sdwa", "_dpp"};

	for (unsigned int i = 0; i < 4; i++) {
		const size_t length = strlen(name), suffix = strlen(suffixes[i]);

		if (length > suffix && strcmp(name + length - suffix, suffixes[i]) == 0)
			name[length - suffix] = '\0';
	}
}

/* Commas between the bytes that LLVM says an instruction is encoded in. */
static unsigned int encoded_size(const char *line)
{
	const char *encoding = strstr(line, "encoding: [");
	unsigned int size = 1;

	for (; encoding && *encoding && *encoding != ']'; encoding++)
		size += *encoding == ',';
	return size;
}

/* An s_nop with a number in front of each instruction tells which one an output line is for. */
static void read_names(FILE *output, const unsigned int *opcode_of, const unsigned int *size_of)
{
	char line[512], mnemonic[NAME_SIZE];
	unsigned int marker = 0;
	bool first = false;

	while (fgets(line, sizeof(line), output)) {
		if (sscanf(line, " s_nop %i", &marker) == 1) {
			first = true;
			continue;
		}
		if (!first || sscanf(line, " %63s", mnemonic) != 1 || mnemonic[0] == '.')
			continue;
		first = false;
		if (strstr(line, "nvalid") || encoded_size(line) != 4 * size_of[marker])
			continue;
		remove_suffix(mnemonic);
		if (!names[opcode_of[marker]][0])
			strcpy(names[opcode_of[marker]], mnemonic);
	}
}

/* Lets LLVM name all opcodes below `count`; names stay empty where there is none. */
static void ask_llvm(encoder *encode, unsigned int count, const struct operands *operands,
		     unsigned int operand_count)
{
	static unsigned int opcode_of[MAX_OPCODE * 8], size_of[MAX_OPCODE * 8];
	char path[] = "/tmp/isa_vector_table.XXXXXX";
	char command[256];
	const int descriptor = mkstemp(path);
	FILE *input = fdopen(descriptor, "w");
	FILE *output;
	unsigned int marker = 0;

	ck_assert_ptr_nonnull(input);
	memset(names, 0, sizeof(names));
	for (unsigned int opcode = 0; opcode < count; opcode++) {
		for (unsigned int i = 0; i < operand_count; i++, marker++) {
			uint32_t dwords[2] = {0, 0};

			opcode_of[marker] = opcode;
			size_of[marker] = encode(opcode, &operands[i], dwords);
			fprintf(input, "0x%02x 0x%02x 0x80 0xbf\n", marker & 0xff, marker >> 8);
			for (unsigned int byte = 0; byte < 4 * size_of[marker]; byte++)
				fprintf(input, "0x%02x ",
					dwords[byte / 4] >> 8 * (byte % 4) & 0xff);
			fprintf(input, "\n");
		}
	}
	fclose(input);
	snprintf(command, sizeof(command),
		 "%s --disassemble --show-encoding --triple=amdgcn--amdhsa --mcpu=gfx90a %s "
		 "2>/dev/null",
		 getenv("LLVM_MC"), path);
	output = popen(command, "r");
	ck_assert_ptr_nonnull(output);
	read_names(output, opcode_of, size_of);
	pclose(output);
	unlink(path);
}

/* Operations of which LLVM's versions know different forms, or forms without a use. */
static bool has_disputed_forms(const struct softgpu_operation *operation, const char *name)
{
	return operation->flags & SOFTGPU_NO_DESTINATION || strcmp(name, "v_pk_fmac_f16") == 0 ||
	       (operation->name && strncmp(operation->name, "v_dot", 5) == 0 && !*name);
}

/* The mnemonics in `names` and the table must be the same, without the entries with `lacking`. */
static void compare(const struct softgpu_operation *table, unsigned int count, uint32_t lacking)
{
	const bool other_form = lacking || table == softgpu_vop3_operations;
	unsigned int found = 0;

	for (unsigned int opcode = 0; opcode < count; opcode++) {
		const char *own = table[opcode].name;

		if (other_form && has_disputed_forms(&table[opcode], names[opcode]))
			continue;
		if (!own || table[opcode].flags & lacking)
			own = "";
		found += names[opcode][0] != '\0';
		ck_assert_msg(strcmp(own, names[opcode]) == 0, "opcode %u is '%s', not '%s'",
			      opcode, names[opcode], own);
	}
	ck_assert_uint_ge(found, lacking ? 0 : 50);
}

#define ASK(encode, table, count, operands, lacking)                                               \
	do {                                                                                       \
		ask_llvm(encode, count, operands, sizeof(operands) / sizeof((operands)[0]));       \
		compare(table, count, lacking);                                                    \
	} while (0)

START_TEST(vop1)
{
	ASK(encode_vop1, softgpu_vop1_operations, 256, short_operands, 0);
	ASK(encode_vop1_sdwa, softgpu_vop1_operations, 256, short_operands, SOFTGPU_NO_SDWA);
	ASK(encode_vop1_dpp, softgpu_vop1_operations, 256, short_operands, SOFTGPU_NO_DPP);
}
END_TEST

START_TEST(vop2)
{
	ASK(encode_vop2, softgpu_vop2_operations, VOP2_COUNT, short_operands, 0);
	ASK(encode_vop2_sdwa, softgpu_vop2_operations, VOP2_COUNT, short_operands, SOFTGPU_NO_SDWA);
	ASK(encode_vop2_dpp, softgpu_vop2_operations, VOP2_COUNT, short_operands, SOFTGPU_NO_DPP);
}
END_TEST

START_TEST(vopc)
{
	ASK(encode_vopc, softgpu_vopc_operations, 256, short_operands, 0);
	ASK(encode_vopc_sdwa, softgpu_vopc_operations, 256, short_operands, SOFTGPU_NO_SDWA);
	ASK(encode_vopc_dpp, softgpu_vopc_operations, 256, short_operands, SOFTGPU_NO_DPP);
}
END_TEST

START_TEST(vop3)
{
	ASK(encode_vop3, softgpu_vop3_operations, VOP3_COUNT, vop3_operands, 0);
}
END_TEST

START_TEST(vop3p)
{
	ASK(encode_vop3p, softgpu_vop3p_operations, 128, vop3_operands, 0);
}
END_TEST

/* What is named and not emulated: a fault with a name, and nothing else of the families. */
START_TEST(not_emulated)
{
	for (unsigned int opcode = 0; opcode < 128; opcode++) {
		const struct softgpu_operation *operation = &softgpu_vop3p_operations[opcode];

		if (operation->name)
			ck_assert_int_eq(operation->execute == NULL,
					 strncmp(operation->name, "v_mfma_", 7) == 0);
	}
	for (unsigned int opcode = 0; opcode < 1024; opcode++) {
		const struct softgpu_operation *operation = &softgpu_vop3_operations[opcode];

		if (operation->name)
			ck_assert_int_eq(operation->execute == NULL,
					 strcmp(operation->name, "v_screen_partition_4se_b32") ==
					     0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_table");
	TCase *llvm = tcase_create("against LLVM");
	TCase *own = tcase_create("not emulated");

	tcase_set_timeout(llvm, 30);
	if (getenv("LLVM_MC") && *getenv("LLVM_MC")) {
		tcase_add_test(llvm, vop1);
		tcase_add_test(llvm, vop2);
		tcase_add_test(llvm, vopc);
		tcase_add_test(llvm, vop3);
		tcase_add_test(llvm, vop3p);
	}
	suite_add_tcase(suite, llvm);
	tcase_add_test(own, not_emulated);
	suite_add_tcase(suite, own);
	return run_suite(suite);
}
