/* SPDX-License-Identifier: MIT */
/*
 * Every compare of the vector ALU: its name says the type and which outcomes of comparing (less,
 * equal, greater, unordered) make it true.
 */
#include "isa_vector.h"

#include <math.h>
#include <string.h>

enum outcome { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static const struct {
	const char *name;
	unsigned int outcomes;
} predicates[] = {
    {"f", 0},
    {"lt", LESS},
    {"eq", EQUAL},
    {"le", LESS | EQUAL},
    {"gt", GREATER},
    {"lg", LESS | GREATER},
    {"ne", LESS | GREATER},
    {"ge", GREATER | EQUAL},
    {"o", LESS | EQUAL | GREATER},
    {"u", UNORDERED},
    {"nge", LESS | UNORDERED},
    {"nlg", EQUAL | UNORDERED},
    {"ngt", LESS | EQUAL | UNORDERED},
    {"nle", GREATER | UNORDERED},
    {"neq", LESS | GREATER | UNORDERED},
    {"nlt", EQUAL | GREATER | UNORDERED},
    {"tru", LESS | EQUAL | GREATER | UNORDERED},
    {"t", LESS | EQUAL | GREATER},
};

/* The number that bits of a type stand for; long double holds all of them. */
static long double number(const char *type, uint64_t bits)
{
	if (strcmp(type, "f16") == 0)
		return half_value(bits);
	if (strcmp(type, "f32") == 0)
		return as_float(bits);
	if (strcmp(type, "f64") == 0)
		return as_double(bits);
	if (strcmp(type, "i16") == 0)
		return (int16_t)bits;
	if (strcmp(type, "u16") == 0)
		return (uint16_t)bits;
	if (strcmp(type, "i32") == 0)
		return (int32_t)bits;
	if (strcmp(type, "u32") == 0)
		return (uint32_t)bits;
	if (strcmp(type, "i64") == 0)
		return (int64_t)bits;
	return (uint64_t)bits;
}

/* The bit of v_cmp_class that a float has, by the functions of the C library. */
static unsigned int class_of(const char *type, uint64_t bits)
{
	const long double value = number(type, bits);
	const bool is16 = strcmp(type, "f16") == 0, is32 = strcmp(type, "f32") == 0;
	const long double smallest = is16 ? 0x1p-14L : is32 ? 0x1p-126L : 0x1p-1022L;
	const uint64_t quiet = is16 ? 0x200 : is32 ? 0x400000 : 0x8000000000000;
	unsigned int bit;

	if (isnan(value))
		return bits & quiet ? 1 : 0;
	if (isinf(value))
		bit = 9;
	else if (value == 0)
		bit = 6;
	else
		bit = fabsl(value) < smallest ? 7 : 8;
	return signbit(value) ? 11 - bit : bit;
}

static enum outcome compare(const char *type, uint64_t a, uint64_t b)
{
	const long double x = number(type, a), y = number(type, b);

	if (isnan(x) || isnan(y))
		return UNORDERED;
	return x < y ? LESS : x > y ? GREATER : EQUAL;
}

static bool model(const char *predicate, const char *type, uint64_t a, uint64_t b)
{
	if (strcmp(predicate, "class") == 0)
		return b >> class_of(type, a) & 1;
	for (size_t i = 0; i < sizeof(predicates) / sizeof(predicates[0]); i++)
		if (strcmp(predicates[i].name, predicate) == 0)
			return predicates[i].outcomes & compare(type, a, b);
	ck_abort_msg("no predicate %s", predicate);
	return false;
}

static uint64_t lane_value(unsigned int vgpr, unsigned int lane, const char *type)
{
	const uint64_t low = vector_wave->vgpr[vgpr][lane];

	if (strcmp(type + 1, "16") == 0)
		return low & 0xffff;
	if (strcmp(type + 1, "64") == 0)
		return (uint64_t)vector_wave->vgpr[vgpr + 1][lane] << 32 | low;
	return low;
}

static uint64_t expected_mask(const char *predicate, const char *type, bool scalar_first)
{
	uint64_t mask = 0;

	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		uint64_t a = lane_value(4, lane, type);

		if (scalar_first)
			a = strcmp(type + 1, "16") == 0 ? vector_wave->sgpr[8] & 0xffff
			    : strcmp(type + 1, "64") == 0
				? (uint64_t)vector_wave->sgpr[9] << 32 | vector_wave->sgpr[8]
				: vector_wave->sgpr[8];
		if (vector_wave->exec >> lane & 1 &&
		    model(predicate, type, a, lane_value(2, lane, type)))
			mask |= UINT64_C(1) << lane;
	}
	return mask;
}

static void check(const struct softgpu_operation *operation, bool vop3, bool scalar_first)
{
	static struct vector_registers after;
	struct isa_program program = {.count = 0};
	const unsigned int first = scalar_first ? SGPR(8) : VGPR(4);
	const bool writes_exec = strncmp(operation->name, "v_cmpx_", 7) == 0;
	const char *predicate = operation->name + (writes_exec ? 7 : 6);
	const char *separator = strchr(predicate, '_');
	char word[8] = "";
	uint64_t mask;

	memcpy(word, predicate, (size_t)(separator - predicate));
	vector_randomize();
	if (vop3)
		emit_vop3(&program, operation->name, 20, first, VGPR(2), 0, NULL);
	else
		emit_vopc(&program, operation->name, first, 2);
	mask = expected_mask(word, separator + 1, scalar_first);
	vector_save(&after);
	memcpy(&after.scalar[vop3 ? 20 : SOFTGPU_CODE_VCC], &mask, sizeof(mask));
	if (writes_exec)
		memcpy(&after.scalar[SOFTGPU_CODE_EXEC], &mask, sizeof(mask));
	vector_execute(&program);
	vector_compare(&after, operation->name);
}

START_TEST(every_compare)
{
	const struct softgpu_operation *operation = &softgpu_vopc_operations[_i];

	if (!operation->name)
		return;
	for (int round = 0; round < 12; round++)
		check(operation, round & 1, round & 2);
}
END_TEST

/* Denormal inputs are zeros where MODE says so, but not for the class. */
START_TEST(flushed_denormals)
{
	struct isa_program program = {.count = 0};

	vector_wave->mode &= ~(15u << SOFTGPU_MODE_DENORM_32);
	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = 0x80000123;
		vector_wave->vgpr[1][lane] = 0;
		vector_wave->vgpr[2][lane] = 0x00000010; /* class: negative denormal */
	}
	emit_vop3(&program, "v_cmp_eq_f32", 10, VGPR(0), VGPR(1), 0, NULL);
	emit_vop3(&program, "v_cmp_class_f32", 12, VGPR(0), VGPR(2), 0, NULL);
	emit_vop3(&program, "v_cmp_eq_u32", 14, VGPR(0), VGPR(1), 0, NULL);
	vector_execute(&program);
	ck_assert_uint_eq(vector_wave->sgpr[10], 0xffffffff);
	ck_assert_uint_eq(vector_wave->sgpr[12], 0xffffffff);
	ck_assert_uint_eq(vector_wave->sgpr[14], 0);
	vector_wave->mode |= 3u << SOFTGPU_MODE_DENORM_32;
	vector_execute(&program);
	ck_assert_uint_eq(vector_wave->sgpr[10], 0);
}
END_TEST

START_TEST(operand_modifiers)
{
	const struct isa_modifiers modifiers = {.abs = 1, .neg = 2};
	struct isa_program program = {.count = 0};
	uint64_t mask = 0;

	vector_randomize();
	emit_vop3(&program, "v_cmp_gt_f32", 10, VGPR(4), VGPR(2), 0, &modifiers);
	vector_execute(&program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		if (vector_wave->exec >> lane & 1 && fabsf(as_float(vector_wave->vgpr[4][lane])) >
							 -as_float(vector_wave->vgpr[2][lane]))
			mask |= UINT64_C(1) << lane;
	ck_assert_uint_eq(vector_wave->sgpr[10], (uint32_t)mask);
	ck_assert_uint_eq(vector_wave->sgpr[11], mask >> 32);
}
END_TEST

/* SDWA selects parts of the operands and may name the destination. */
START_TEST(sdwa)
{
	for (unsigned int round = 0; round < 200; round++) {
		const struct isa_modifiers modifiers = {
		    .sdwa_source = {isa_random() % 7, isa_random() % 7},
		    .sdwa_sext = isa_random() % 4,
		    .scalar_destination = 30,
		    .has_scalar_destination = round % 2,
		};
		static struct vector_registers after;
		struct isa_program program = {.count = 0};
		uint64_t mask = 0;

		vector_randomize();
		vector_save(&after);
		emit_sdwa(&program, SOFTGPU_VOPC, "v_cmp_lt_i32", 0, VGPR(4), VGPR(2), &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			int64_t part[2];

			for (unsigned int i = 0; i < 2; i++) {
				const uint32_t value = vector_wave->vgpr[i ? 2 : 4][lane];
				const unsigned int select = modifiers.sdwa_source[i];
				const bool extend = modifiers.sdwa_sext >> i & 1;
				const unsigned int shift = select < 4	? 8 * select
							   : select < 6 ? 16 * (select - 4)
									: 0;

				part[i] = select < 4   ? (int64_t)(uint8_t)(value >> shift)
					  : select < 6 ? (int64_t)(uint16_t)(value >> shift)
						       : (int64_t)(int32_t)value;
				if (extend && select < 4)
					part[i] = (int8_t)part[i];
				else if (extend && select < 6)
					part[i] = (int16_t)part[i];
			}
			if (vector_wave->exec >> lane & 1 && part[0] < part[1])
				mask |= UINT64_C(1) << lane;
		}
		memcpy(&after.scalar[round % 2 ? 30 : SOFTGPU_CODE_VCC], &mask, sizeof(mask));
		vector_execute(&program);
		vector_compare(&after, "v_cmp_lt_i32_sdwa");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_compare");
	TCase *tcase = tcase_create("compare");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_loop_test(tcase, every_compare, 0, 256);
	tcase_add_test(tcase, flushed_denormals);
	tcase_add_test(tcase, operand_modifiers);
	tcase_add_test(tcase, sdwa);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
