/* SPDX-License-Identifier: MIT */
/*
 * Sequences that compilers emit for division, which rest on the vector ALU's approximations and
 * scaling steps, must give the exact quotient; then the steps of angle reduction and cube maps.
 */
#include "isa_vector.h"

#include <math.h>
#include <stdlib.h>

/* v4 = v0 / v1 and v5 = v0 % v1 of unsigned numbers, by an estimate of 1 / v1. */
static void emit_divide_u32(struct isa_program *p)
{
	emit_vop1(p, "v_cvt_f32_u32", 2, VGPR(1));
	emit_vop1(p, "v_rcp_iflag_f32", 2, VGPR(2));
	emit_vop2(p, "v_mul_f32", 2, SOFTGPU_CODE_LITERAL, 2);
	emit(p, 0x4f7ffffe); /* 2^32 less enough to stay below it */
	emit_vop1(p, "v_cvt_u32_f32", 2, VGPR(2));
	emit_vop2(p, "v_sub_u32", 3, SOFTGPU_CODE_ZERO, 1);
	emit_vop3(p, "v_mul_lo_u32", 3, VGPR(3), VGPR(2), 0, NULL);
	emit_vop3(p, "v_mul_hi_u32", 3, VGPR(2), VGPR(3), 0, NULL);
	emit_vop2(p, "v_add_u32", 2, VGPR(2), 3);
	emit_vop3(p, "v_mul_hi_u32", 4, VGPR(0), VGPR(2), 0, NULL);
	emit_vop3(p, "v_mul_lo_u32", 5, VGPR(4), VGPR(1), 0, NULL);
	emit_vop2(p, "v_sub_u32", 5, VGPR(0), 5);
	for (int correction = 0; correction < 2; correction++) {
		emit_vop2(p, "v_add_u32", 6, SOFTGPU_CODE_ZERO + 1, 4);
		emit_vop2(p, "v_sub_u32", 7, VGPR(5), 1);
		emit_vopc(p, "v_cmp_ge_u32", VGPR(5), 1);
		emit_vop2(p, "v_cndmask_b32", 4, VGPR(4), 6);
		emit_vop2(p, "v_cndmask_b32", 5, VGPR(5), 7);
	}
}

static void check_u32(const struct isa_program *program)
{
	vector_wave->exec = UINT64_MAX;
	vector_execute(program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const uint32_t a = vector_wave->vgpr[0][lane], b = vector_wave->vgpr[1][lane];

		if (vector_wave->vgpr[4][lane] != a / b || vector_wave->vgpr[5][lane] != a % b)
			ck_abort_msg("%u / %u is %u rest %u", a, b, vector_wave->vgpr[4][lane],
				     vector_wave->vgpr[5][lane]);
	}
}

/* Every small divisor, and divisors of all sizes, around their multiples. */
START_TEST(unsigned_integers)
{
	struct isa_program program = {.count = 0};
	uint32_t divisor = 1;

	emit_divide_u32(&program);
	for (unsigned int group = 0; group < 8192; group++) {
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const unsigned int kind = lane % 8;
			uint32_t b = divisor + lane / 8;
			uint32_t multiple;

			if (group >= 5000) {
				b = isa_random() >> isa_random() % 32;
				b = b ? b : 1;
			}
			multiple = UINT32_MAX / b * b;
			vector_wave->vgpr[1][lane] = b;
			vector_wave->vgpr[0][lane] = kind == 0	 ? UINT32_MAX
						     : kind == 1 ? multiple
						     : kind == 2 ? multiple - 1
						     : kind == 3 ? b
						     : kind == 4 ? b - 1
						     : kind == 5 ? isa_random() / b * b
						     : kind == 6 ? isa_random() / b * b - 1
								 : isa_random();
		}
		check_u32(&program);
		divisor += 8;
	}
}
END_TEST

/* v[20:21] or v20 = v[0:1] / v[2:3] or v0 / v2, correctly rounded. */
static void emit_divide(struct isa_program *p, bool is64)
{
	static const struct isa_modifiers to_sgpr = {.scalar_destination = 10};
	static const struct isa_modifiers to_vcc = {.scalar_destination = SOFTGPU_CODE_VCC};
	static const struct isa_modifiers negated = {.neg = 1};
	const char *scale = is64 ? "v_div_scale_f64" : "v_div_scale_f32";
	const char *multiply_add = is64 ? "v_fma_f64" : "v_fma_f32";
	const unsigned int one = SOFTGPU_CODE_HALF + 2;

	emit_vop3(p, scale, 4, VGPR(2), VGPR(2), VGPR(0), &to_sgpr);
	emit_vop3(p, scale, 6, VGPR(0), VGPR(2), VGPR(0), &to_vcc);
	emit_vop1(p, is64 ? "v_rcp_f64" : "v_rcp_f32", 8, VGPR(4));
	for (int step = 0; step < (is64 ? 2 : 1); step++) {
		emit_vop3(p, multiply_add, 10, VGPR(4), VGPR(8), one, &negated);
		emit_vop3(p, multiply_add, 8, VGPR(10), VGPR(8), VGPR(8), NULL);
	}
	emit_vop3(p, is64 ? "v_mul_f64" : "v_mul_f32", 12, VGPR(6), VGPR(8), 0, NULL);
	if (!is64) {
		emit_vop3(p, multiply_add, 10, VGPR(4), VGPR(12), VGPR(6), &negated);
		emit_vop3(p, multiply_add, 12, VGPR(10), VGPR(8), VGPR(12), NULL);
	}
	emit_vop3(p, multiply_add, 10, VGPR(4), VGPR(12), VGPR(6), &negated);
	emit_vop3(p, is64 ? "v_div_fmas_f64" : "v_div_fmas_f32", 14, VGPR(10), VGPR(8), VGPR(12),
		  NULL);
	emit_vop3(p, is64 ? "v_div_fixup_f64" : "v_div_fixup_f32", 20, VGPR(14), VGPR(2), VGPR(0),
		  NULL);
}

START_TEST(floats)
{
	struct isa_program program = {.count = 0};

	emit_divide(&program, false);
	for (unsigned int round = 0; round < 4000; round++) {
		vector_wave->exec = UINT64_MAX;
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			vector_wave->vgpr[0][lane] = lane % 2 ? isa_random() : isa_random_operand();
			vector_wave->vgpr[2][lane] =
			    lane % 4 < 2 ? isa_random() : isa_random_operand();
		}
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const float a = as_float(vector_wave->vgpr[0][lane]);
			const float b = as_float(vector_wave->vgpr[2][lane]);

			if (!vector_equal(SOFTGPU_F32, vector_wave->vgpr[20][lane],
					  float_bits(a / b), 0))
				ck_abort_msg("%a / %a is %a, not %a", a, b,
					     as_float(vector_wave->vgpr[20][lane]), a / b);
		}
	}
}
END_TEST

START_TEST(doubles)
{
	struct isa_program program = {.count = 0};

	emit_divide(&program, true);
	for (unsigned int round = 0; round < 2000; round++) {
		vector_wave->exec = UINT64_MAX;
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint64_t a = lane % 2 ? isa_random64() : isa_random_operand64();
			const uint64_t b = lane % 4 < 2 ? isa_random64() : isa_random_operand64();

			softgpu_write_vgpr64(vector_wave, 0, lane, a);
			softgpu_write_vgpr64(vector_wave, 2, lane, b);
		}
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const double a = as_double(softgpu_vgpr64(vector_wave, 0, lane));
			const double b = as_double(softgpu_vgpr64(vector_wave, 2, lane));
			const uint64_t quotient = softgpu_vgpr64(vector_wave, 20, lane);

			if (!vector_equal(SOFTGPU_F64, quotient, double_bits(a / b), 0))
				ck_abort_msg("%a / %a is %a, not %a", a, b, as_double(quotient),
					     a / b);
		}
	}
}
END_TEST

/* Halves divide as floats and are fixed up. */
START_TEST(halves)
{
	for (unsigned int round = 0; round < 400; round++) {
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_wave->exec = UINT64_MAX;
		emit_vop1(&program, "v_cvt_f32_f16", 20, VGPR(4));
		emit_vop1(&program, "v_cvt_f32_f16", 21, VGPR(5));
		emit_vop1(&program, "v_rcp_f32", 22, VGPR(21));
		emit_vop2(&program, "v_mul_f32", 20, VGPR(20), 22);
		emit_vop1(&program, "v_cvt_f16_f32", 20, VGPR(20));
		emit_vop3(&program, round % 2 ? "v_div_fixup_f16" : "v_div_fixup_legacy_f16", 20,
			  VGPR(20), VGPR(5), VGPR(4), NULL);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const double a = half_value(vector_wave->vgpr[4][lane] & 0xffff);
			const double b = half_value(vector_wave->vgpr[5][lane] & 0xffff);

			ck_assert(vector_equal(SOFTGPU_F16, vector_wave->vgpr[20][lane] & 0xffff,
					       half_bits((long double)a / b), 1));
		}
	}
}
END_TEST

static double preop(double angle, unsigned int segment)
{
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		softgpu_write_vgpr64(vector_wave, 0, lane, double_bits(angle));
	emit_vop3(&program, "v_trig_preop_f64", 2, VGPR(0), SOFTGPU_CODE_ZERO + segment, 0, NULL);
	vector_execute(&program);
	return as_double(softgpu_vgpr64(vector_wave, 2, 5));
}

/* Segments of 53 bits of 2 / pi; larger angles start further behind its point. */
START_TEST(angle_reduction)
{
	/* 2 / pi is 0xa2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163ab... / 2^... */
	static const uint64_t bits[4] = {0x145f306dc9c882, 0x14a7f09d5f47d4, 0x1a6ee06db14acc,
					 0x13c439041fe516};

	for (unsigned int segment = 0; segment < 4; segment++)
		ck_assert(preop(1.0, segment) ==
			  ldexp((double)bits[segment], -53 * (int)(segment + 1)));
	for (unsigned int segment = 0; segment < 10; segment++) {
		ck_assert(preop(-1e10, segment) == preop(1.0, segment));
		/* Exponent 53 above the limit: one segment further. */
		ck_assert(preop(0x1p107, segment) == preop(1.0, segment + 1));
	}
	/* The bits of larger angles are so far behind the point that they are scaled up. */
	ck_assert(preop(0x1p944, 1) * 0x1p128 < 0x1p-760);
	ck_assert(preop(0x1p945, 1) == ldexp(preop(0x1p892, 2), 128));
	ck_assert(preop(0x1p944, 1) == preop(0x1p891, 2));
}
END_TEST

/* Face, coordinates and doubled major axis of directions on each face. */
START_TEST(cube_maps)
{
	static const float direction[6][3] = {{4, 1, 2},  {-4, 1, 2}, {1, 4, 2},
					      {1, -4, 2}, {1, 2, 4},  {1, 2, -4}};
	static const float expected[6][4] = {{0, -2, -1, 8}, {1, 2, -1, -8}, {2, 1, 2, 8},
					     {3, 1, -2, -8}, {4, 1, -2, 8},  {5, -1, -2, -8}};
	static const char *const names[4] = {"v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32",
					     "v_cubema_f32"};
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int i = 0; i < 4; i++)
		emit_vop3(&program, names[i], 4 + i, VGPR(0), VGPR(1), VGPR(2), NULL);
	for (unsigned int face = 0; face < 6; face++) {
		for (unsigned int i = 0; i < 3; i++)
			for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
				vector_wave->vgpr[i][lane] =
				    (uint32_t)float_bits(direction[face][i]);
		vector_execute(&program);
		for (unsigned int i = 0; i < 4; i++)
			ck_assert(as_float(vector_wave->vgpr[4 + i][face]) == expected[face][i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_division");
	TCase *tcase = tcase_create("division");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, unsigned_integers);
	tcase_add_test(tcase, floats);
	tcase_add_test(tcase, doubles);
	tcase_add_test(tcase, halves);
	tcase_add_test(tcase, angle_reduction);
	tcase_add_test(tcase, cube_maps);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
