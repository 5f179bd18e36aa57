/* SPDX-License-Identifier: MIT */
/*
 * Float operations of the vector ALU, 32 and 64 bits, against long double, which is wide enough to
 * be rounded once more, and against the definitions of minimum, maximum and median.
 */
#include "isa_vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

_Static_assert(LDBL_MANT_DIG >= 64, "the models need more than double precision");

/* Sums and products of floats are exact in long double or lose only what cannot matter. */
static uint64_t f32(long double value)
{
	return float_bits((float)value);
}

static uint64_t f64(long double value)
{
	return double_bits((double)value);
}

#define A  as_float(a)
#define B  as_float(b)
#define C  as_float(c)
#define D  as_float(old)
#define DA as_double(a)
#define DB as_double(b)
#define DC as_double(c)
#define DD as_double(old)

MODEL(v_add_f32, return f32((long double)A + B);)
MODEL(v_sub_f32, return f32((long double)A - B);)
MODEL(v_subrev_f32, return f32((long double)B - A);)
MODEL(v_mul_f32, return f32((long double)A * B);)

/* A product of floats is exact in double; fma() rounds the sum to double only once, to odd here. */
static uint64_t fused(float a, float b, float c)
{
	const double exact = (double)a * b;
	const double sum = exact + c;
	const double rest = fabs(exact) > fabs((double)c) ? exact - sum + c : c - sum + exact;

	if (isfinite(sum) && rest != 0.0 && !(double_bits(sum) & 1))
		return float_bits((float)nextafter(sum, rest > 0 ? INFINITY : -INFINITY));
	return float_bits((float)sum);
}

MODEL(v_fma_f32, return fused(A, B, C);)
MODEL(v_fmac_f32, return fused(A, B, D);)

static float without_denormal(float value)
{
	return fabsf(value) < FLT_MIN ? copysignf(0, value) : value;
}

/* Two roundings, no denormals. */
static uint64_t unfused(float a, float b, float c)
{
	volatile float product = without_denormal(a) * without_denormal(b);
	volatile float sum = product + without_denormal(c);

	return float_bits(without_denormal(sum));
}

MODEL(v_mad_f32, return unfused(A, B, C);)
MODEL(v_mac_f32, return unfused(A, B, D);)

static float legacy(float a, float b)
{
	return fpclassify(a) == FP_ZERO || fpclassify(b) == FP_ZERO ? 0 : a * b;
}

MODEL(v_mul_legacy_f32, return float_bits(legacy(A, B));)
MODEL(v_mad_legacy_f32, volatile float product = legacy(A, B); return float_bits(product + C);)

/* IEEE mode is on: a signalling NaN is the result. */
static bool signalling(double value, uint64_t bits, uint64_t quiet)
{
	return isnan(value) && !(bits & quiet);
}

static int order(double a, double b)
{
	if (a == b)
		return signbit(b) - signbit(a);
	return a < b ? -1 : 1;
}

static uint64_t chosen(double x, double y, uint64_t a, uint64_t b, uint64_t quiet, int sign)
{
	if (signalling(x, a, quiet) || signalling(y, b, quiet) || (isnan(x) && isnan(y)))
		return isnan(x) ? a : b;
	if (isnan(x))
		return b;
	if (isnan(y))
		return a;
	return sign * order(x, y) < 0 ? a : b;
}

static uint64_t min32(uint64_t a, uint64_t b)
{
	return chosen(A, B, a, b, 0x400000, 1);
}

static uint64_t max32(uint64_t a, uint64_t b)
{
	return chosen(A, B, a, b, 0x400000, -1);
}

MODEL(v_min_f32, return min32(a, b);)
MODEL(v_max_f32, return max32(a, b);)
MODEL(v_min3_f32, return min32(min32(a, b) | (isnan(as_float(min32(a, b))) ? 0x400000 : 0), c);)
MODEL(v_max3_f32, return max32(max32(a, b) | (isnan(as_float(max32(a, b))) ? 0x400000 : 0), c);)
MODEL(v_med3_f32, if (isnan(A) || isnan(B) || isnan(C)) return v_min3_f32_model(a, b, c, old);
      if (order(A, B) * order(A, C) <= 0) return a; if (order(B, A) * order(B, C) <= 0) return b;
      return c;)
MODEL(v_min_f64, return chosen(DA, DB, a, b, 0x8000000000000, 1);)
MODEL(v_max_f64, return chosen(DA, DB, a, b, 0x8000000000000, -1);)

MODEL(v_trunc_f32, return f32(truncl(A));)
MODEL(v_ceil_f32, return f32(-floorl(-(long double)A));)
MODEL(v_floor_f32, return f32(-ceill(-(long double)A));)
MODEL(v_rndne_f32, return f32(nearbyintl(A));)
MODEL(v_trunc_f64, return f64(truncl(DA));)
MODEL(v_ceil_f64, return f64(-floorl(-(long double)DA));)
MODEL(v_floor_f64, return f64(-ceill(-(long double)DA));)
MODEL(v_rndne_f64, return f64(nearbyintl(DA));)
/* Wide enough to be rounded once; what would round to 1 stays below. */
static __float128 fraction(double value)
{
	return isfinite(value) ? (__float128)value - floor(value) : (__float128)NAN;
}

MODEL(v_fract_f32, float rest = (float)fraction(A);
      return float_bits(rest == 1.0f ? 1.0f - 0x1p-24f : rest);)
MODEL(v_fract_f64, double rest = (double)fraction(DA);
      return double_bits(rest == 1.0 ? 1.0 - 0x1p-53 : rest);)

/* These know no denormals. */
static uint64_t flushed(long double value)
{
	return float_bits(without_denormal((float)value));
}

#define FLUSHED_A ((long double)without_denormal(A))
MODEL(v_rcp_f32, return flushed(1.0L / FLUSHED_A);)
MODEL(v_rcp_iflag_f32, return flushed(1.0L / FLUSHED_A);)
MODEL(v_rsq_f32, return flushed(1.0L / sqrtl(FLUSHED_A));)
MODEL(v_sqrt_f32, return flushed(sqrtl(FLUSHED_A));)
MODEL(v_exp_f32, return flushed(powl(2.0L, FLUSHED_A));)
MODEL(v_exp_legacy_f32, return flushed(powl(2.0L, FLUSHED_A));)
MODEL(v_log_f32, return flushed(logl(FLUSHED_A) / logl(2.0L));)
MODEL(v_log_legacy_f32, return flushed(logl(FLUSHED_A) / logl(2.0L));)
MODEL(v_rcp_f64, return f64(1.0L / DA);)
MODEL(v_rsq_f64, return f64(1.0L / sqrtl(DA));)
MODEL(v_sqrt_f64, return f64(sqrtl(DA));)

MODEL(v_add_f64, return double_bits(DA + DB);)
MODEL(v_mul_f64, return double_bits(DA * DB);)
MODEL(v_fma_f64, return double_bits(__builtin_fma(DA, DB, DC));)
MODEL(v_fmac_f64, return double_bits(__builtin_fma(DA, DB, DD));)

/* Scaling by steps that cannot overflow by themselves. */
static long double scaled(long double value, int64_t exponent)
{
	return scalbnl(value, (int)(exponent < -6000 ? -6000 : exponent > 6000 ? 6000 : exponent));
}

MODEL(v_ldexp_f32, return f32(scaled(A, (int32_t)b));)
MODEL(v_ldexp_f64, return f64(scaled(DA, (int32_t)b));)

static int exponent_of(long double value)
{
	return isfinite(value) && value != 0 ? ilogbl(value) + 1 : 0;
}

MODEL(v_frexp_exp_i32_f32, return (uint32_t)exponent_of(A);)
MODEL(v_frexp_exp_i32_f64, return (uint32_t)exponent_of(DA);)
MODEL(v_frexp_mant_f32, return f32(scaled(A, -exponent_of(A)));)
MODEL(v_frexp_mant_f64, return f64(scaled(DA, -exponent_of(DA)));)

static const struct vector_case vop1_32[] = {
    CASE(v_trunc_f32),
    CASE(v_ceil_f32),
    CASE(v_floor_f32),
    CASE(v_rndne_f32),
    CASE(v_fract_f32),
    CASE_ULPS(v_rcp_f32, 1),
    CASE_ULPS(v_rcp_iflag_f32, 1),
    CASE_ULPS(v_rsq_f32, 1),
    CASE_ULPS(v_sqrt_f32, 1),
    CASE_ULPS(v_exp_f32, 1),
    CASE_ULPS(v_exp_legacy_f32, 1),
    CASE_ULPS(v_log_f32, 1),
    CASE_ULPS(v_log_legacy_f32, 1),
    CASE(v_frexp_exp_i32_f32),
    CASE(v_frexp_mant_f32),
};

static const struct vector_case vop1_64[] = {
    CASE(v_trunc_f64),	     CASE(v_ceil_f64),	       CASE(v_floor_f64),
    CASE(v_rndne_f64),	     CASE(v_fract_f64),	       CASE_ULPS(v_rcp_f64, 1),
    CASE_ULPS(v_rsq_f64, 1), CASE_ULPS(v_sqrt_f64, 1), CASE(v_frexp_exp_i32_f64),
    CASE(v_frexp_mant_f64),
};

static const struct vector_case vop2[] = {
    CASE(v_add_f32), CASE(v_sub_f32), CASE(v_subrev_f32), CASE(v_mul_f32),  CASE(v_min_f32),
    CASE(v_max_f32), CASE(v_mac_f32), CASE(v_fmac_f32),	  CASE(v_fmac_f64),
};

static const struct vector_case vop3_32[] = {
    CASE(v_fma_f32),  CASE(v_mad_f32),	CASE(v_mad_legacy_f32), CASE(v_mul_legacy_f32),
    CASE(v_min3_f32), CASE(v_max3_f32), CASE(v_med3_f32),	CASE(v_ldexp_f32),
};

static const struct vector_case vop3_64[] = {
    CASE(v_add_f64), CASE(v_mul_f64), CASE(v_fma_f64),
    CASE(v_min_f64), CASE(v_max_f64), CASE(v_ldexp_f64),
};

#define CHECK_TEST(name, family)                                                                   \
	START_TEST(check_##name)                                                                   \
	{                                                                                          \
		VECTOR_CHECK(family, name);                                                        \
	}                                                                                          \
	END_TEST

CHECK_TEST(vop1_32, SOFTGPU_VOP1)
CHECK_TEST(vop1_64, SOFTGPU_VOP1)
CHECK_TEST(vop2, SOFTGPU_VOP2)
CHECK_TEST(vop3_32, SOFTGPU_VOP3)
CHECK_TEST(vop3_64, SOFTGPU_VOP3)

/* Runs one operation on one value in every lane and returns lane 0. */
static uint32_t run1(const char *name, float value)
{
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		vector_wave->vgpr[0][lane] = (uint32_t)float_bits(value);
	emit_vop1(&program, name, 1, VGPR(0));
	vector_execute(&program);
	return vector_wave->vgpr[1][0];
}

/* Angles are in revolutions; the hardware's domain is 256 of them. */
START_TEST(sine_and_cosine)
{
	for (int i = -4096; i <= 4096; i++) {
		const float angle = (float)i / 16;
		const long double radians = 6.283185307179586476925286766559L * angle;

		ck_assert(fabsl(as_float(run1("v_sin_f32", angle)) - sinl(radians)) < 1e-7L);
		ck_assert(fabsl(as_float(run1("v_cos_f32", angle)) - cosl(radians)) < 1e-7L);
	}
	ck_assert_uint_eq(run1("v_sin_f32", 257.25f), 0);
	ck_assert_uint_eq(run1("v_cos_f32", 257.25f), 0x3f800000);
	ck_assert(isnan(as_float(run1("v_sin_f32", INFINITY))));
	ck_assert(isnan(as_float(run1("v_cos_f32", -INFINITY))));
}
END_TEST

/* NaN results: an operand's NaN made quiet, the first one; else the positive default NaN. */
START_TEST(nan_results)
{
	static const uint32_t table[][3] = {
	    {0x7f800001, 0x3f800000, 0x7fc00001},
	    {0x3f800000, 0xff812345, 0xffc12345},
	    {0x7fc00002, 0x7fc00003, 0x7fc00002},
	    {0x7f800000, 0xff800000, 0x7fc00000},
	};
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		for (unsigned int i = 0; i < 2; i++)
			vector_wave->vgpr[i][lane] = table[lane % 4][i];
	emit_vop2(&program, "v_add_f32", 2, VGPR(0), 1);
	vector_execute(&program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		ck_assert_uint_eq(vector_wave->vgpr[2][lane], table[lane % 4][2]);
}
END_TEST

START_TEST(rounding_modes)
{
	static const uint32_t expected[4] = {0x3f800000, 0x3f800001, 0x3f800000, 0x3f800000};
	static const uint32_t negative[4] = {0xbf800000, 0xbf800000, 0xbf800001, 0xbf800000};
	const uint32_t mode = vector_wave->mode;
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = lane % 2 ? 0xbf800000 : 0x3f800000;
		vector_wave->vgpr[1][lane] = lane % 2 ? 0xb0000000 : 0x30000000; /* tiny */
	}
	emit_vop2(&program, "v_add_f32", 2, VGPR(0), 1);
	for (unsigned int rounding = 0; rounding < 4; rounding++) {
		vector_wave->mode = (mode & ~3u) | rounding;
		vector_execute(&program);
		ck_assert_uint_eq(vector_wave->vgpr[2][0], expected[rounding]);
		ck_assert_uint_eq(vector_wave->vgpr[2][1], negative[rounding]);
	}
	/* The host's own rounding is as before. */
	ck_assert(1.0f + 0x1p-30f == 1.0f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_float");
	TCase *tcase = tcase_create("float");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, check_vop1_32);
	tcase_add_test(tcase, check_vop1_64);
	tcase_add_test(tcase, check_vop2);
	tcase_add_test(tcase, check_vop3_32);
	tcase_add_test(tcase, check_vop3_64);
	tcase_add_test(tcase, sine_and_cosine);
	tcase_add_test(tcase, nan_results);
	tcase_add_test(tcase, rounding_modes);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
