/* SPDX-License-Identifier: MIT */
/* 16-bit floats of the vector ALU, single, packed and mixed with 32 bits. */
#include "isa_vector.h"

#include <math.h>

#define A ((long double)half_value(a))
#define B ((long double)half_value(b))
#define C ((long double)half_value(c))
#define D ((long double)half_value(old))

/* In long double sums and products of halves, and fused ones, are exact. */
MODEL(v_add_f16, return half_bits(A + B);)
MODEL(v_sub_f16, return half_bits(A - B);)
MODEL(v_subrev_f16, return half_bits(B - A);)
MODEL(v_mul_f16, return half_bits(A * B);)
MODEL(v_fma_f16, return half_bits(A * B + C);)
MODEL(v_fma_legacy_f16, return half_bits(A * B + C);)

static long double without_denormal(long double value)
{
	return fabsl(value) < 0x1p-14L ? copysignl(0, value) : value;
}

static uint64_t unfused(long double a, long double b, long double c)
{
	const double product = half_value(half_bits(without_denormal(a) * without_denormal(b)));

	return half_bits(without_denormal(half_value(half_bits(product + without_denormal(c)))));
}

MODEL(v_mad_f16, return unfused(A, B, C);)
MODEL(v_mad_legacy_f16, return unfused(A, B, C);)
MODEL(v_mac_f16, return unfused(A, B, D);)

static bool signalling(uint64_t bits)
{
	return isnan(half_value(bits)) && !(bits & 0x200);
}

/* IEEE mode is on: a signalling NaN is the result. */
static uint64_t chosen(uint64_t a, uint64_t b, int sign)
{
	const double x = half_value(a), y = half_value(b);

	if (signalling(a) || (isnan(x) && isnan(y)))
		return a | 0x200;
	if (signalling(b))
		return b | 0x200;
	if (isnan(x) || isnan(y))
		return isnan(x) ? b : a;
	return (x < y) == (sign > 0) ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	if (half_value(a) == 0 && half_value(b) == 0)
		return (a | b) & 0x8000;
	return chosen(a, b, 1);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	if (half_value(a) == 0 && half_value(b) == 0)
		return a & b & 0x8000;
	return chosen(a, b, -1);
}

MODEL(v_min_f16, return smaller(a, b);)
MODEL(v_max_f16, return larger(a, b);)
MODEL(v_min3_f16, return smaller(smaller(a, b), c);)
MODEL(v_max3_f16, return larger(larger(a, b), c);)
MODEL(v_med3_f16, if (isnan(half_value(a)) || isnan(half_value(b)) ||
		      isnan(half_value(c))) return smaller(smaller(a, b), c);
      return larger(smaller(a, b), smaller(larger(a, b), c));)

MODEL(v_trunc_f16, return half_bits(truncl(A));)
MODEL(v_ceil_f16, return half_bits(ceill(A));)
MODEL(v_floor_f16, return half_bits(floorl(A));)
MODEL(v_rndne_f16, return half_bits(nearbyintl(A));)
MODEL(v_fract_f16, long double rest = A - floorl(A);
      return half_bits(isfinite(A) ? fminl(rest, 1 - 0x1p-11L) : NAN);)
MODEL(v_rcp_f16, return half_bits(1 / A);)
MODEL(v_rsq_f16, return half_bits(1 / sqrtl(A));)
MODEL(v_sqrt_f16, return half_bits(sqrtl(A));)
MODEL(v_exp_f16, return half_bits(powl(2, A));)
MODEL(v_log_f16, return half_bits(logl(A) / logl(2));)

#define TWO_PI 6.283185307179586476925286766559L
MODEL(v_sin_f16, long double x = remainderl(A, 1); if (isinf(A)) return 0x7e00;
      return half_bits(fabsl(A) > 256	  ? 0
		       : fabsl(x) == 0.5L ? copysignl(0, A)
					  : sinl(TWO_PI * x));)
MODEL(v_cos_f16, long double x = remainderl(A, 1); if (isinf(A)) return 0x7e00;
      return half_bits(fabsl(A) > 256	   ? 1
		       : fabsl(x) == 0.25L ? 0
					   : cosl(TWO_PI * x));)

static int16_t exponent_of(long double value)
{
	return isfinite(value) && value != 0 ? (int16_t)(ilogbl(value) + 1) : 0;
}

MODEL(v_ldexp_f16, return half_bits(scalbnl(A, (int16_t)b));)
MODEL(v_frexp_exp_i16_f16, return (uint16_t)exponent_of(A);)
MODEL(v_frexp_mant_f16, return half_bits(scalbnl(A, -exponent_of(A)));)
MODEL(v_pack_b32_f16, return a + 65536 * b;)

#define PACKED_MODEL(packed, single)                                                               \
	MODEL(packed, return single##_model(a % 65536, b % 65536, c % 65536, old % 65536) |        \
			     single##_model(a >> 16, b >> 16, c >> 16, old >> 16) << 16;)

MODEL(fused_to_old, return half_bits(A * B + D);)
PACKED_MODEL(v_pk_add_f16, v_add_f16)
PACKED_MODEL(v_pk_mul_f16, v_mul_f16)
PACKED_MODEL(v_pk_fma_f16, v_fma_f16)
PACKED_MODEL(v_pk_fmac_f16, fused_to_old)
PACKED_MODEL(v_pk_min_f16, v_min_f16)
PACKED_MODEL(v_pk_max_f16, v_max_f16)

static uint64_t dot(uint64_t a, uint64_t b, long double sum)
{
	sum += (long double)half_value(a % 65536) * half_value(b % 65536);
	sum += (long double)half_value(a >> 16) * half_value(b >> 16);
	return float_bits((float)sum);
}

MODEL(v_dot2_f32_f16, return dot(a, b, as_float(c));)
MODEL(v_dot2c_f32_f16, return dot(a, b, as_float(old));)

static const struct vector_case vop1[] = {
    CASE(v_trunc_f16),	       CASE(v_ceil_f16),	 CASE(v_floor_f16),
    CASE(v_rndne_f16),	       CASE(v_fract_f16),	 CASE_ULPS(v_rcp_f16, 1),
    CASE_ULPS(v_rsq_f16, 1),   CASE_ULPS(v_sqrt_f16, 1), CASE_ULPS(v_exp_f16, 1),
    CASE_ULPS(v_log_f16, 1),   CASE_ULPS(v_sin_f16, 1),	 CASE_ULPS(v_cos_f16, 1),
    CASE(v_frexp_exp_i16_f16), CASE(v_frexp_mant_f16),
};

static const struct vector_case vop2[] = {
    CASE(v_add_f16),	 CASE(v_sub_f16),
    CASE(v_subrev_f16),	 CASE(v_mul_f16),
    CASE(v_mac_f16),	 CASE(v_min_f16),
    CASE(v_max_f16),	 CASE(v_ldexp_f16),
    CASE(v_pk_fmac_f16), CASE_ULPS(v_dot2c_f32_f16, 1),
};

static const struct vector_case vop3[] = {
    CASE(v_fma_f16),  CASE(v_fma_legacy_f16), CASE(v_mad_f16),	CASE(v_mad_legacy_f16),
    CASE(v_min3_f16), CASE(v_max3_f16),	      CASE(v_med3_f16), CASE(v_pack_b32_f16),
};

static const struct vector_case vop3p[] = {
    CASE(v_pk_add_f16), CASE(v_pk_mul_f16), CASE(v_pk_fma_f16),
    CASE(v_pk_min_f16), CASE(v_pk_max_f16), CASE_ULPS(v_dot2_f32_f16, 1),
};

START_TEST(single)
{
	VECTOR_CHECK(SOFTGPU_VOP1, vop1);
	VECTOR_CHECK(SOFTGPU_VOP2, vop2);
	VECTOR_CHECK(SOFTGPU_VOP3, vop3);
}
END_TEST

START_TEST(packed)
{
	VECTOR_CHECK(SOFTGPU_VOP3P, vop3p);
}
END_TEST

/* neg_lo and neg_hi change the sign of the halves that the operation sees. */
START_TEST(packed_signs)
{
	for (unsigned int choice = 0; choice < 16; choice++) {
		const struct isa_modifiers modifiers = {
		    .neg = choice & 3, .neg_hi = choice >> 2, .op_sel = 1, .op_sel_hi = 2};
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_wave->exec = UINT64_MAX;
		emit_vop3p(&program, "v_pk_add_f16", 20, VGPR(4), VGPR(6), 0, &modifiers);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t a = vector_wave->vgpr[4][lane];
			const uint32_t b = vector_wave->vgpr[6][lane];
			const uint64_t low =
			    half_bits((choice & 1 ? -1.0 : 1.0) * half_value(a >> 16) +
				      (choice & 2 ? -1.0 : 1.0) * half_value(b & 0xffff));
			const uint64_t high =
			    half_bits((choice & 4 ? -1.0 : 1.0) * half_value(a & 0xffff) +
				      (choice & 8 ? -1.0 : 1.0) * half_value(b >> 16));

			ck_assert(vector_equal(SOFTGPU_PKF16, vector_wave->vgpr[20][lane],
					       low | high << 16, 0));
		}
	}
}
END_TEST

/* A source is a float, or the half that op_sel names where op_sel_hi says so. */
static float mixed(uint32_t bits, unsigned int index, const struct isa_modifiers *m)
{
	float value = m->op_sel_hi >> index & 1
			  ? (float)half_value(m->op_sel >> index & 1 ? bits >> 16 : bits & 0xffff)
			  : as_float(bits);

	if (m->neg_hi >> index & 1)
		value = copysignf(value, 1.0f);
	return m->neg >> index & 1 ? -value : value;
}

START_TEST(mixed_precision)
{
	static const char *const names[] = {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"};

	for (unsigned int round = 0; round < 300; round++) {
		const struct isa_modifiers modifiers = {.op_sel = isa_random() % 8,
							.op_sel_hi = isa_random() % 8,
							.neg = isa_random() % 8,
							.neg_hi = isa_random() % 8};
		const unsigned int which = round % 3;
		static struct vector_registers before;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		emit_vop3p(&program, names[which], 6, VGPR(4), VGPR(6), VGPR(3), &modifiers);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t old = before.vgpr[6][lane];
			const uint32_t actual = vector_wave->vgpr[6][lane];
			const float sum = fmaf(mixed(before.vgpr[4][lane], 0, &modifiers),
					       mixed(old, 1, &modifiers),
					       mixed(before.vgpr[3][lane], 2, &modifiers));

			if (!(vector_wave->exec >> lane & 1)) {
				ck_assert_uint_eq(actual, old);
			} else if (which == 0) {
				ck_assert(vector_equal(SOFTGPU_F32, actual, float_bits(sum), 0));
			} else {
				const unsigned int shift = which == 1 ? 0 : 16;

				ck_assert_uint_eq(actual >> (16 - shift) & 0xffff,
						  old >> (16 - shift) & 0xffff);
				ck_assert(vector_equal(SOFTGPU_F16, actual >> shift & 0xffff,
						       half_bits(sum), 0));
			}
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_float16");
	TCase *tcase = tcase_create("float16");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, single);
	tcase_add_test(tcase, packed);
	tcase_add_test(tcase, packed_signs);
	tcase_add_test(tcase, mixed_precision);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
