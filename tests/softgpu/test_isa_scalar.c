/* SPDX-License-Identifier: MIT */
/* The scalar ALU against the same arithmetic in C, on random and edge operands. */
#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 300

/* Sources in s[20:21] and s[22:23], result in s[24:25]; SCC is stored by s_cselect in s26. */
struct result {
	uint64_t value;
	bool scc;
};

enum width {
	W32,
	W64,
};

static uint64_t trim(uint64_t value, enum width width)
{
	return width == W32 ? (uint32_t)value : value;
}

/* Runs the program on the operands; the destination starts as `before`. */
static struct result run_program(const struct isa_program *program, uint64_t a, uint64_t b,
				 uint64_t before, bool scc)
{
	struct isa_machine *machine = isa_setup(program, NULL);
	struct softgpu_wave *wave = isa_wave(machine, 0);
	struct result result;

	softgpu_write_scalar64(wave, 20, a);
	softgpu_write_scalar64(wave, 22, b);
	softgpu_write_scalar64(wave, 24, before);
	wave->scc = scc;
	isa_run(machine);
	memcpy(&result.value, &wave->scalar[24], sizeof(result.value));
	result.scc = wave->scc;
	isa_teardown(machine);
	return result;
}

#define I32(x) ((int32_t)(x))
#define I64(x) ((int64_t)(x))
#define U32(x) ((uint32_t)(x))

static uint64_t field(uint64_t value, unsigned int offset, unsigned int width, unsigned int bits,
		      bool is_signed)
{
	uint64_t result = 0;

	/* Bit by bit, beyond the source: zero or the sign. */
	for (unsigned int i = 0; i < width && i < bits; i++) {
		unsigned int at = offset + i;
		uint64_t bit = at < bits   ? value >> at & 1
			       : is_signed ? value >> (bits - 1) & 1
					   : 0;

		result |= bit << i;
	}
	if (is_signed && width > 0 && width < bits && result >> (width - 1) & 1)
		result |= ~(uint64_t)0 << width;
	return bits == 32 ? U32(result) : result;
}

/* Whether the operation changes SCC, and to what. */
enum scc_rule {
	KEEP,
	NONZERO,
	GIVEN, /* by the model */
};

struct model2 {
	const char *name;
	enum width destination, first, second;
	enum scc_rule rule;
	struct result (*compute)(uint64_t a, uint64_t b, bool scc);
};

#define MODEL(name, expression, carry)                                                             \
	static struct result model_##name(uint64_t a, uint64_t b, bool scc)                        \
	{                                                                                          \
		(void)a;                                                                           \
		(void)b;                                                                           \
		(void)scc;                                                                         \
		return (struct result){(uint64_t)(expression), (carry)};                           \
	}

static bool overflows(int64_t value)
{
	return value != I32(value);
}

MODEL(add_u32, a + b, (a + b) >> 32 != 0)
MODEL(sub_u32, a - b, a < b)
MODEL(add_i32, a + b, overflows((int64_t)I32(a) + I32(b)))
MODEL(sub_i32, a - b, overflows((int64_t)I32(a) - I32(b)))
MODEL(addc_u32, a + b + scc, (a + b + scc) >> 32 != 0)
MODEL(subb_u32, a - b - scc, a < b + scc)
MODEL(min_i32, I32(a) < I32(b) ? a : b, I32(a) < I32(b))
MODEL(min_u32, a < b ? a : b, a < b)
MODEL(max_i32, I32(a) > I32(b) ? a : b, I32(a) > I32(b))
MODEL(max_u32, a > b ? a : b, a > b)
MODEL(cselect, scc ? a : b, scc)
MODEL(and, a &b, 0)
MODEL(or, a | b, 0)
MODEL(xor, a ^ b, 0)
MODEL(andn2, a & ~b, 0)
MODEL(orn2, a | ~b, 0)
MODEL(nand, ~(a &b), 0)
MODEL(nor, ~(a | b), 0)
MODEL(xnor, ~(a ^ b), 0)
MODEL(lshl_b32, a << (b & 31), 0)
MODEL(lshl_b64, a << (b & 63), 0)
MODEL(lshr_b32, a >> (b & 31), 0)
MODEL(lshr_b64, a >> (b & 63), 0)
MODEL(ashr_i32, I32(a) >> (b & 31), 0)
MODEL(ashr_i64, I64(a) >> (b & 63), 0)
MODEL(bfm_b32, ((1ull << (a & 31)) - 1) << (b & 31), 0)
MODEL(bfm_b64, ((1ull << (a & 63)) - 1) << (b & 63), 0)
MODEL(mul_i32, a *b, 0)
MODEL(mul_hi_u32, a *b >> 32, 0)
MODEL(mul_hi_i32, (int64_t)I32(a) * I32(b) >> 32, 0)
MODEL(bfe_u32, field(a, b & 31, b >> 16 & 127, 32, false), 0)
MODEL(bfe_i32, field(a, b & 31, b >> 16 & 127, 32, true), 0)
MODEL(bfe_u64, field(a, b & 63, b >> 16 & 127, 64, false), 0)
MODEL(bfe_i64, field(a, b & 63, b >> 16 & 127, 64, true), 0)
MODEL(absdiff_i32, I32(a) > I32(b) ? a - b : b - a, 0)
MODEL(lshl1_add_u32, 2 * a + b, (2 * a + b) >> 32 != 0)
MODEL(lshl4_add_u32, 16 * a + b, (16 * a + b) >> 32 != 0)
MODEL(pack_ll, (a & 0xffff) + (b & 0xffff) * 65536, 0)
MODEL(pack_lh, (a & 0xffff) + (b >> 16) * 65536, 0)
MODEL(pack_hh, (a >> 16) + (b >> 16) * 65536, 0)

static const struct model2 models2[] = {
	{"s_add_u32", W32, W32, W32, GIVEN, model_add_u32},
	{"s_sub_u32", W32, W32, W32, GIVEN, model_sub_u32},
	{"s_add_i32", W32, W32, W32, GIVEN, model_add_i32},
	{"s_sub_i32", W32, W32, W32, GIVEN, model_sub_i32},
	{"s_addc_u32", W32, W32, W32, GIVEN, model_addc_u32},
	{"s_subb_u32", W32, W32, W32, GIVEN, model_subb_u32},
	{"s_min_i32", W32, W32, W32, GIVEN, model_min_i32},
	{"s_min_u32", W32, W32, W32, GIVEN, model_min_u32},
	{"s_max_i32", W32, W32, W32, GIVEN, model_max_i32},
	{"s_max_u32", W32, W32, W32, GIVEN, model_max_u32},
	{"s_cselect_b32", W32, W32, W32, KEEP, model_cselect},
	{"s_cselect_b64", W64, W64, W64, KEEP, model_cselect},
	{"s_and_b32", W32, W32, W32, NONZERO, model_and},
	{"s_and_b64", W64, W64, W64, NONZERO, model_and},
	{"s_or_b32", W32, W32, W32, NONZERO, model_or},
	{"s_or_b64", W64, W64, W64, NONZERO, model_or},
	{"s_xor_b32", W32, W32, W32, NONZERO, model_xor},
	{"s_xor_b64", W64, W64, W64, NONZERO, model_xor},
	{"s_andn2_b32", W32, W32, W32, NONZERO, model_andn2},
	{"s_andn2_b64", W64, W64, W64, NONZERO, model_andn2},
	{"s_orn2_b32", W32, W32, W32, NONZERO, model_orn2},
	{"s_orn2_b64", W64, W64, W64, NONZERO, model_orn2},
	{"s_nand_b32", W32, W32, W32, NONZERO, model_nand},
	{"s_nand_b64", W64, W64, W64, NONZERO, model_nand},
	{"s_nor_b32", W32, W32, W32, NONZERO, model_nor},
	{"s_nor_b64", W64, W64, W64, NONZERO, model_nor},
	{"s_xnor_b32", W32, W32, W32, NONZERO, model_xnor},
	{"s_xnor_b64", W64, W64, W64, NONZERO, model_xnor},
	{"s_lshl_b32", W32, W32, W32, NONZERO, model_lshl_b32},
	{"s_lshl_b64", W64, W64, W32, NONZERO, model_lshl_b64},
	{"s_lshr_b32", W32, W32, W32, NONZERO, model_lshr_b32},
	{"s_lshr_b64", W64, W64, W32, NONZERO, model_lshr_b64},
	{"s_ashr_i32", W32, W32, W32, NONZERO, model_ashr_i32},
	{"s_ashr_i64", W64, W64, W32, NONZERO, model_ashr_i64},
	{"s_bfm_b32", W32, W32, W32, KEEP, model_bfm_b32},
	{"s_bfm_b64", W64, W32, W32, KEEP, model_bfm_b64},
	{"s_mul_i32", W32, W32, W32, KEEP, model_mul_i32},
	{"s_mul_hi_u32", W32, W32, W32, KEEP, model_mul_hi_u32},
	{"s_mul_hi_i32", W32, W32, W32, KEEP, model_mul_hi_i32},
	{"s_bfe_u32", W32, W32, W32, NONZERO, model_bfe_u32},
	{"s_bfe_i32", W32, W32, W32, NONZERO, model_bfe_i32},
	{"s_bfe_u64", W64, W64, W32, NONZERO, model_bfe_u64},
	{"s_bfe_i64", W64, W64, W32, NONZERO, model_bfe_i64},
	{"s_absdiff_i32", W32, W32, W32, NONZERO, model_absdiff_i32},
	{"s_lshl1_add_u32", W32, W32, W32, GIVEN, model_lshl1_add_u32},
	{"s_lshl4_add_u32", W32, W32, W32, GIVEN, model_lshl4_add_u32},
	{"s_pack_ll_b32_b16", W32, W32, W32, KEEP, model_pack_ll},
	{"s_pack_lh_b32_b16", W32, W32, W32, KEEP, model_pack_lh},
	{"s_pack_hh_b32_b16", W32, W32, W32, KEEP, model_pack_hh},
};

static void check_result(const char *name, enum width destination, enum scc_rule rule,
			 struct result expected, struct result got, uint64_t before, bool scc,
			 uint64_t a, uint64_t b)
{
	uint64_t value = trim(expected.value, destination);
	bool expected_scc = rule == KEEP ? scc : rule == NONZERO ? value != 0 : expected.scc;

	/* A 32-bit operation leaves the next register alone. */
	if (destination == W32)
		value |= before & 0xffffffff00000000;
	ck_assert_msg(got.value == value && got.scc == expected_scc,
		      "%s(0x%llx, 0x%llx, scc %d) = 0x%llx scc %d, expected 0x%llx scc %d", name,
		      (unsigned long long)a, (unsigned long long)b, scc,
		      (unsigned long long)got.value, got.scc, (unsigned long long)value,
		      expected_scc);
}

START_TEST(two_sources)
{
	const struct model2 *model = &models2[_i];
	struct isa_program program = {0};

	emit_sop2(&program, model->name, 24, 20, 22);
	emit_end(&program);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = isa_random_operand64(), b = isa_random_operand64();
		uint64_t before = isa_random64();
		bool scc = isa_random() & 1;
		struct result got = run_program(&program, a, b, before, scc);

		check_result(model->name, model->destination, model->rule,
			     model->compute(trim(a, model->first), trim(b, model->second), scc),
			     got, before, scc, a, b);
	}
}
END_TEST

static uint64_t reversed(uint64_t value, int bits)
{
	uint64_t result = 0;

	for (int i = 0; i < bits; i++)
		if (value >> i & 1)
			result |= 1ull << (bits - 1 - i);
	return result;
}

static uint64_t count(uint64_t value, int bits, int what)
{
	uint64_t result = 0;

	for (int i = 0; i < bits; i++)
		result += (int)(value >> i & 1) == what;
	return result;
}

static uint64_t first_low(uint64_t value, int bits, int what)
{
	for (int i = 0; i < bits; i++)
		if ((int)(value >> i & 1) == what)
			return (uint64_t)i;
	return 0xffffffff;
}

static uint64_t first_high(uint64_t value, int bits, int what)
{
	for (int i = 0; i < bits; i++)
		if ((int)(value >> (bits - 1 - i) & 1) == what)
			return (uint64_t)i;
	return 0xffffffff;
}

static uint64_t quads(uint64_t value, int bits, int each)
{
	uint64_t result = 0;

	for (int i = 0; i < bits; i += 4)
		if (value >> i & 15)
			result |= ((1ull << each) - 1) << (each == 1 ? i / 4 : i);
	return result;
}

static uint64_t replicated(uint64_t value)
{
	uint64_t result = 0;

	for (int i = 0; i < 64; i++)
		result |= (value >> i / 2 & 1) << i;
	return result;
}

MODEL(mov, a, 0)
MODEL(cmov, scc ? a : b, 0)
MODEL(not, ~a, 0)
MODEL(wqm_b32, quads(a, 32, 4), 0)
MODEL(wqm_b64, quads(a, 64, 4), 0)
MODEL(quadmask_b32, quads(a, 32, 1), 0)
MODEL(quadmask_b64, quads(a, 64, 1), 0)
MODEL(brev_b32, reversed(a, 32), 0)
MODEL(brev_b64, reversed(a, 64), 0)
MODEL(bcnt0_b32, count(a, 32, 0), 0)
MODEL(bcnt0_b64, count(a, 64, 0), 0)
MODEL(bcnt1_b32, count(a, 32, 1), 0)
MODEL(bcnt1_b64, count(a, 64, 1), 0)
MODEL(ff0_b32, first_low(a, 32, 0), 0)
MODEL(ff0_b64, first_low(a, 64, 0), 0)
MODEL(ff1_b32, first_low(a, 32, 1), 0)
MODEL(ff1_b64, first_low(a, 64, 1), 0)
MODEL(flbit_b32, first_high(a, 32, 1), 0)
MODEL(flbit_b64, first_high(a, 64, 1), 0)
MODEL(flbit_i32, first_high(a, 32, !(a >> 31 & 1)), 0)
MODEL(flbit_i64, first_high(a, 64, !(a >> 63 & 1)), 0)
MODEL(sext_i8, (int8_t)a, 0)
MODEL(sext_i16, (int16_t)a, 0)
MODEL(bitset0_b32, b & ~(1ull << (a & 31)), 0)
MODEL(bitset0_b64, b & ~(1ull << (a & 63)), 0)
MODEL(bitset1_b32, b | 1ull << (a & 31), 0)
MODEL(bitset1_b64, b | 1ull << (a & 63), 0)
MODEL(abs_i32, I32(a) < 0 ? 0 - a : a, 0)
MODEL(bitreplicate, replicated(a), 0)

/* `second` is not used; the model's b is the destination's value before. */
static const struct model2 models1[] = {
	{"s_mov_b32", W32, W32, W32, KEEP, model_mov},
	{"s_mov_b64", W64, W64, W64, KEEP, model_mov},
	{"s_cmov_b32", W32, W32, W32, KEEP, model_cmov},
	{"s_cmov_b64", W64, W64, W64, KEEP, model_cmov},
	{"s_not_b32", W32, W32, W32, NONZERO, model_not},
	{"s_not_b64", W64, W64, W64, NONZERO, model_not},
	{"s_wqm_b32", W32, W32, W32, NONZERO, model_wqm_b32},
	{"s_wqm_b64", W64, W64, W64, NONZERO, model_wqm_b64},
	{"s_quadmask_b32", W32, W32, W32, NONZERO, model_quadmask_b32},
	{"s_quadmask_b64", W64, W64, W64, NONZERO, model_quadmask_b64},
	{"s_brev_b32", W32, W32, W32, KEEP, model_brev_b32},
	{"s_brev_b64", W64, W64, W64, KEEP, model_brev_b64},
	{"s_bcnt0_i32_b32", W32, W32, W32, NONZERO, model_bcnt0_b32},
	{"s_bcnt0_i32_b64", W32, W64, W32, NONZERO, model_bcnt0_b64},
	{"s_bcnt1_i32_b32", W32, W32, W32, NONZERO, model_bcnt1_b32},
	{"s_bcnt1_i32_b64", W32, W64, W32, NONZERO, model_bcnt1_b64},
	{"s_ff0_i32_b32", W32, W32, W32, KEEP, model_ff0_b32},
	{"s_ff0_i32_b64", W32, W64, W32, KEEP, model_ff0_b64},
	{"s_ff1_i32_b32", W32, W32, W32, KEEP, model_ff1_b32},
	{"s_ff1_i32_b64", W32, W64, W32, KEEP, model_ff1_b64},
	{"s_flbit_i32_b32", W32, W32, W32, KEEP, model_flbit_b32},
	{"s_flbit_i32_b64", W32, W64, W32, KEEP, model_flbit_b64},
	{"s_flbit_i32", W32, W32, W32, KEEP, model_flbit_i32},
	{"s_flbit_i32_i64", W32, W64, W32, KEEP, model_flbit_i64},
	{"s_sext_i32_i8", W32, W32, W32, KEEP, model_sext_i8},
	{"s_sext_i32_i16", W32, W32, W32, KEEP, model_sext_i16},
	{"s_bitset0_b32", W32, W32, W32, KEEP, model_bitset0_b32},
	{"s_bitset0_b64", W64, W32, W64, KEEP, model_bitset0_b64},
	{"s_bitset1_b32", W32, W32, W32, KEEP, model_bitset1_b32},
	{"s_bitset1_b64", W64, W32, W64, KEEP, model_bitset1_b64},
	{"s_abs_i32", W32, W32, W32, NONZERO, model_abs_i32},
	{"s_bitreplicate_b64_b32", W64, W32, W64, KEEP, model_bitreplicate},
};

START_TEST(one_source)
{
	const struct model2 *model = &models1[_i];
	struct isa_program program = {0};

	emit_sop1(&program, model->name, 24, 20);
	emit_end(&program);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = isa_random_operand64(), before = isa_random64();
		bool scc = isa_random() & 1;
		struct result got = run_program(&program, a, 0, before, scc);

		check_result(
			model->name, model->destination, model->rule,
			model->compute(trim(a, model->first), trim(before, model->second), scc),
			got, before, scc, a, before);
	}
}
END_TEST

struct compare {
	const char *name;
	bool (*compute)(uint64_t a, uint64_t b);
};

#define COMPARE(name, expression)                                                                  \
	static bool compare_##name(uint64_t a, uint64_t b)                                         \
	{                                                                                          \
		return (expression);                                                               \
	}

COMPARE(eq, U32(a) == U32(b))
COMPARE(lg, U32(a) != U32(b))
COMPARE(gt_i32, I32(a) > I32(b))
COMPARE(ge_i32, I32(a) >= I32(b))
COMPARE(lt_i32, I32(a) < I32(b))
COMPARE(le_i32, I32(a) <= I32(b))
COMPARE(gt_u32, U32(a) > U32(b))
COMPARE(ge_u32, U32(a) >= U32(b))
COMPARE(lt_u32, U32(a) < U32(b))
COMPARE(le_u32, U32(a) <= U32(b))
COMPARE(bit0_b32, !(U32(a) & 1u << (b & 31)))
COMPARE(bit1_b32, U32(a) & 1u << (b & 31))
COMPARE(bit0_b64, !(a & 1ull << (b & 63)))
COMPARE(bit1_b64, (a & 1ull << (b & 63)) != 0)
COMPARE(eq_u64, a == b)
COMPARE(lg_u64, a != b)

static const struct compare compares[] = {
	{"s_cmp_eq_i32", compare_eq},	     {"s_cmp_lg_i32", compare_lg},
	{"s_cmp_gt_i32", compare_gt_i32},    {"s_cmp_ge_i32", compare_ge_i32},
	{"s_cmp_lt_i32", compare_lt_i32},    {"s_cmp_le_i32", compare_le_i32},
	{"s_cmp_eq_u32", compare_eq},	     {"s_cmp_lg_u32", compare_lg},
	{"s_cmp_gt_u32", compare_gt_u32},    {"s_cmp_ge_u32", compare_ge_u32},
	{"s_cmp_lt_u32", compare_lt_u32},    {"s_cmp_le_u32", compare_le_u32},
	{"s_bitcmp0_b32", compare_bit0_b32}, {"s_bitcmp1_b32", compare_bit1_b32},
	{"s_bitcmp0_b64", compare_bit0_b64}, {"s_bitcmp1_b64", compare_bit1_b64},
	{"s_cmp_eq_u64", compare_eq_u64},    {"s_cmp_lg_u64", compare_lg_u64},
};

START_TEST(compare)
{
	const struct compare *model = &compares[_i];
	struct isa_program program = {0};

	emit_sopc(&program, model->name, 20, 22);
	emit_end(&program);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = isa_random_operand64();
		uint64_t b = isa_random() % 4 == 0 ? a : isa_random_operand64();
		struct result got = run_program(&program, a, b, 0, isa_random() & 1);

		ck_assert_msg(got.scc == model->compute(a, b), "%s(0x%llx, 0x%llx) = %d",
			      model->name, (unsigned long long)a, (unsigned long long)b, got.scc);
	}
}
END_TEST

/* s_cmpk_* by the names of the full compares. */
static const struct compare compares_immediate[] = {
	{"s_cmpk_eq_i32", compare_eq},	   {"s_cmpk_lg_i32", compare_lg},
	{"s_cmpk_gt_i32", compare_gt_i32}, {"s_cmpk_ge_i32", compare_ge_i32},
	{"s_cmpk_lt_i32", compare_lt_i32}, {"s_cmpk_le_i32", compare_le_i32},
	{"s_cmpk_eq_u32", compare_eq},	   {"s_cmpk_lg_u32", compare_lg},
	{"s_cmpk_gt_u32", compare_gt_u32}, {"s_cmpk_ge_u32", compare_ge_u32},
	{"s_cmpk_lt_u32", compare_lt_u32}, {"s_cmpk_le_u32", compare_le_u32},
};

START_TEST(compare_immediate)
{
	const struct compare *model = &compares_immediate[_i];
	bool is_unsigned = strstr(model->name, "u32") != NULL;

	for (int i = 0; i < ROUNDS; i++) {
		struct isa_program program = {0};
		uint16_t immediate = (uint16_t)isa_random_operand();
		uint64_t b = is_unsigned ? immediate : U32((int16_t)immediate);
		uint64_t a = isa_random() % 4 == 0 ? b : isa_random_operand();
		struct result got;

		emit_sopk(&program, model->name, 20, immediate);
		emit_end(&program);
		got = run_program(&program, a, 0, 0, isa_random() & 1);
		ck_assert_msg(got.scc == model->compute(a, b), "%s(0x%llx, 0x%x) = %d", model->name,
			      (unsigned long long)a, immediate, got.scc);
	}
}
END_TEST

START_TEST(immediate_arithmetic)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint16_t immediate = (uint16_t)isa_random_operand();
		int32_t extended = (int16_t)immediate;
		uint32_t a = isa_random_operand();
		bool scc = isa_random() & 1;
		struct isa_program program = {0};
		struct isa_machine *machine;
		struct softgpu_wave *wave;

		/* s30.. keep the results, s40 and s41 SCC after the additions. */
		emit_sopk(&program, "s_cmovk_i32", 33, immediate);
		emit_sopk(&program, "s_movk_i32", 30, immediate);
		emit_sopk(&program, "s_mulk_i32", 32, immediate);
		emit_sopk(&program, "s_addk_i32", 31, immediate);
		emit_sop2(&program, "s_cselect_b32", 40, INLINE_INT(1), INLINE_INT(0));
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		wave = isa_wave(machine, 0);
		wave->sgpr[31] = wave->sgpr[32] = a;
		wave->sgpr[33] = 0x55;
		wave->scc = scc;
		isa_run(machine);
		ck_assert_uint_eq(wave->sgpr[30], U32(extended));
		ck_assert_uint_eq(wave->sgpr[31], a + U32(extended));
		ck_assert_uint_eq(wave->sgpr[40], overflows((int64_t)I32(a) + extended));
		ck_assert_uint_eq(wave->sgpr[32], a * U32(extended));
		ck_assert_uint_eq(wave->sgpr[33], scc ? U32(extended) : 0x55);
		isa_teardown(machine);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_scalar");
	TCase *test_case = tcase_create("scalar");

	tcase_set_timeout(test_case, 60);
	tcase_add_loop_test(test_case, two_sources, 0, sizeof(models2) / sizeof(models2[0]));
	tcase_add_loop_test(test_case, one_source, 0, sizeof(models1) / sizeof(models1[0]));
	tcase_add_loop_test(test_case, compare, 0, sizeof(compares) / sizeof(compares[0]));
	tcase_add_loop_test(test_case, compare_immediate, 0,
			    sizeof(compares_immediate) / sizeof(compares_immediate[0]));
	tcase_add_test(test_case, immediate_arithmetic);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
