/* SPDX-License-Identifier: MIT */
/* Conversions of the vector ALU, and its operations on bytes and smaller parts of a dword. */
#include "isa_vector.h"

#include <math.h>
#include <string.h>

#define A  as_float(a)
#define B  as_float(b)
#define DA as_double(a)
#define HA half_value(a)
#define HB half_value(b)

static uint64_t truncated(long double value, long double minimum, long double maximum)
{
	if (isnan(value))
		return 0;
	value = truncl(value);
	return (uint64_t)(int64_t)fmaxl(minimum, fminl(maximum, value));
}

static uint64_t to_i32(long double value)
{
	return truncated(value, -2147483648.0L, 2147483647.0L);
}

MODEL(v_cvt_f32_i32, return float_bits((float)(long double)(int32_t)a);)
MODEL(v_cvt_f32_u32, return float_bits((float)(long double)a);)
MODEL(v_cvt_f64_i32, return double_bits((int32_t)a);)
MODEL(v_cvt_f64_u32, return double_bits((double)a);)
MODEL(v_cvt_f16_i16, return half_bits((int16_t)a);)
MODEL(v_cvt_f16_u16, return half_bits(a);)
MODEL(v_cvt_f32_f16, return float_bits((float)HA);)
MODEL(v_cvt_f16_f32, return half_bits(A);)
MODEL(v_cvt_f32_f64, return float_bits((float)DA);)
MODEL(v_cvt_f64_f32, return double_bits(A);)
MODEL(v_cvt_i32_f32, return to_i32(A);)
MODEL(v_cvt_i32_f64, return to_i32(DA);)
MODEL(v_cvt_u32_f32, return truncated(A, 0, 4294967295.0L);)
MODEL(v_cvt_u32_f64, return truncated(DA, 0, 4294967295.0L);)
MODEL(v_cvt_i16_f16, return truncated(HA, -32768, 32767);)
MODEL(v_cvt_u16_f16, return truncated(HA, 0, 65535);)
MODEL(v_cvt_rpi_i32_f32, return to_i32(floorl(A + 0.5L));)
MODEL(v_cvt_flr_i32_f32, return to_i32(floorl(A));)
MODEL(v_cvt_f32_ubyte0, return float_bits((float)(a % 256));)
MODEL(v_cvt_f32_ubyte1, return float_bits((float)(a / 256 % 256));)
MODEL(v_cvt_f32_ubyte2, return float_bits((float)(a / 65536 % 256));)
MODEL(v_cvt_f32_ubyte3, return float_bits((float)(a / 16777216));)
MODEL(v_cvt_off_f32_i4,
      static const float sixteenths[16] = {0, 0.0625f, 0.125f, 0.1875f, 0.25f, 0.3125f, 0.375f,
					   0.4375f, -0.5f, -0.4375f, -0.375f, -0.3125f, -0.25f,
					   -0.1875f, -0.125f, -0.0625f};
      return float_bits(sixteenths[a % 16]);)

static uint64_t fraction(long double value, int minimum, int maximum)
{
	if (isnan(value))
		return 0;
	value = fmaxl(minimum ? -1 : 0, fminl(1, value));
	return (uint64_t)llrintl(value * maximum) & 0xffff;
}

MODEL(v_cvt_norm_i16_f16, return fraction(HA, -1, 32767);)
MODEL(v_cvt_norm_u16_f16, return fraction(HA, 0, 65535);)
MODEL(v_cvt_pknorm_i16_f32, return fraction(A, -1, 32767) + 65536 * fraction(B, -1, 32767);)
MODEL(v_cvt_pknorm_u16_f32, return fraction(A, 0, 65535) + 65536 * fraction(B, 0, 65535);)
MODEL(v_cvt_pknorm_i16_f16, return fraction(HA, -1, 32767) + 65536 * fraction(HB, -1, 32767);)
MODEL(v_cvt_pknorm_u16_f16, return fraction(HA, 0, 65535) + 65536 * fraction(HB, 0, 65535);)

/* The half with the largest magnitude not above the value's. */
static uint64_t half_towards_zero(float value)
{
	uint64_t bits = half_bits(fabsf(value));

	if (isnan(value) || isinf(value))
		return half_bits(value);
	while (half_value(bits) > fabsf(value))
		bits--;
	return bits | (signbit(value) ? 0x8000 : 0);
}

MODEL(v_cvt_pkrtz_f16_f32, return half_towards_zero(A) | half_towards_zero(B) << 16;)

static uint64_t with_byte(uint64_t bytes, unsigned int index, long double value)
{
	uint8_t byte[8];

	memcpy(byte, &bytes, sizeof(byte));
	byte[index % 4] = (uint8_t)truncated(value, 0, 255);
	memcpy(&bytes, byte, sizeof(byte));
	return bytes;
}

MODEL(v_cvt_pk_u8_f32, return with_byte(c, (unsigned int)b, A);)
MODEL(v_cvt_pkaccum_u8_f32, return with_byte(old, (unsigned int)b, A);)

/* Parts of `bits` bits, from the lowest on, as numbers. */
static int64_t part(uint64_t value, unsigned int index, unsigned int bits, bool is_signed)
{
	const int64_t range = INT64_C(1) << bits;
	int64_t number = (int64_t)(value >> bits * index) % range;

	return is_signed && number >= range / 2 ? number - range : number;
}

static uint64_t dot(uint64_t a, uint64_t b, uint64_t sum, unsigned int bits, bool is_signed)
{
	for (unsigned int index = 0; index < 32 / bits; index++)
		sum += (uint64_t)(part(a, index, bits, is_signed) *
				  part(b, index, bits, is_signed));
	return sum;
}

MODEL(v_dot2_i32_i16, return dot(a, b, c, 16, true);)
MODEL(v_dot2_u32_u16, return dot(a, b, c, 16, false);)
MODEL(v_dot4_i32_i8, return dot(a, b, c, 8, true);)
MODEL(v_dot4_u32_u8, return dot(a, b, c, 8, false);)
MODEL(v_dot8_i32_i4, return dot(a, b, c, 4, true);)
MODEL(v_dot8_u32_u4, return dot(a, b, c, 4, false);)
MODEL(v_dot2c_i32_i16, return dot(a, b, old, 16, true);)
MODEL(v_dot4c_i32_i8, return dot(a, b, old, 8, true);)
MODEL(v_dot8c_i32_i4, return dot(a, b, old, 4, true);)

static uint64_t differences(uint64_t a, uint64_t b, unsigned int bits, bool masked)
{
	uint64_t sum = 0;

	for (unsigned int index = 0; index < 32 / bits; index++) {
		const int64_t x = part(a, index, bits, false), y = part(b, index, bits, false);

		if (!masked || y != 0)
			sum += (uint64_t)(x < y ? y - x : x - y);
	}
	return sum;
}

MODEL(v_sad_u8, return c + differences(a, b, 8, false);)
MODEL(v_msad_u8, return c + differences(a, b, 8, true);)
MODEL(v_sad_hi_u8, return c + 65536 * differences(a, b, 8, false);)
MODEL(v_sad_u16, return c + differences(a, b, 16, false);)
MODEL(v_sad_u32, return c + differences(a, b, 32, false);)

static uint64_t four_differences(uint64_t a, uint64_t b, uint64_t c, bool masked)
{
	uint16_t sum[4];

	memcpy(sum, &c, sizeof(sum));
	for (unsigned int i = 0; i < 4; i++, a /= 256)
		sum[i] = (uint16_t)(sum[i] + differences(a % 4294967296, b, 8, masked));
	memcpy(&c, sum, sizeof(sum));
	return c;
}

MODEL(v_qsad_pk_u16_u8, return four_differences(a, b, c, false);)
MODEL(v_mqsad_pk_u16_u8, return four_differences(a, b, c, true);)

MODEL(v_lerp_u8, uint8_t x[8], y[8], r[8]; memcpy(x, &a, 8); memcpy(y, &b, 8); memcpy(r, &c, 8);
      for (int i = 0; i < 4; i++) r[i] = (uint8_t)((x[i] + y[i] + r[i] % 2) / 2); memcpy(&c, r, 8);
      return c;)

MODEL(
	v_perm_b32, uint8_t byte[8], sel[8], r[8] = {0}; memcpy(byte, &b, 4);
	memcpy(byte + 4, &a, 4); memcpy(sel, &c, 8); for (int i = 0; i < 4; i++) {
		static const int sign_of[4] = {1, 3, 5, 7};
		r[i] = sel[i] > 12    ? 255
		       : sel[i] == 12 ? 0
		       : sel[i] > 7   ? (byte[sign_of[sel[i] - 8]] > 127 ? 255 : 0)
				      : byte[sel[i]];
	} memcpy(&c, r, 8);
	return c;)

static const struct vector_case vop1[] = {
	CASE(v_cvt_f32_i32),	  CASE(v_cvt_f32_u32),	   CASE(v_cvt_f64_i32),
	CASE(v_cvt_f64_u32),	  CASE(v_cvt_f16_i16),	   CASE(v_cvt_f16_u16),
	CASE(v_cvt_f32_f16),	  CASE(v_cvt_f16_f32),	   CASE(v_cvt_f32_f64),
	CASE(v_cvt_f64_f32),	  CASE(v_cvt_i32_f32),	   CASE(v_cvt_i32_f64),
	CASE(v_cvt_u32_f32),	  CASE(v_cvt_u32_f64),	   CASE(v_cvt_i16_f16),
	CASE(v_cvt_u16_f16),	  CASE(v_cvt_rpi_i32_f32), CASE(v_cvt_flr_i32_f32),
	CASE(v_cvt_f32_ubyte0),	  CASE(v_cvt_f32_ubyte1),  CASE(v_cvt_f32_ubyte2),
	CASE(v_cvt_f32_ubyte3),	  CASE(v_cvt_off_f32_i4),  CASE(v_cvt_norm_i16_f16),
	CASE(v_cvt_norm_u16_f16),
};

static const struct vector_case vop2[] = {
	CASE(v_dot2c_i32_i16),
	CASE(v_dot4c_i32_i8),
	CASE(v_dot8c_i32_i4),
};

static const struct vector_case vop3[] = {
	CASE(v_cvt_pknorm_i16_f32),
	CASE(v_cvt_pknorm_u16_f32),
	CASE(v_cvt_pknorm_i16_f16),
	CASE(v_cvt_pknorm_u16_f16),
	CASE(v_cvt_pkrtz_f16_f32),
	CASE(v_cvt_pk_u8_f32),
	CASE(v_cvt_pkaccum_u8_f32),
	CASE(v_sad_u8),
	CASE(v_msad_u8),
	CASE(v_sad_hi_u8),
	CASE(v_sad_u16),
	CASE(v_sad_u32),
	CASE(v_qsad_pk_u16_u8),
	CASE(v_mqsad_pk_u16_u8),
	CASE(v_lerp_u8),
	CASE(v_perm_b32),
};

static const struct vector_case vop3p[] = {
	CASE(v_dot2_i32_i16), CASE(v_dot2_u32_u16), CASE(v_dot4_i32_i8),
	CASE(v_dot4_u32_u8),  CASE(v_dot8_i32_i4),  CASE(v_dot8_u32_u4),
};

START_TEST(conversions)
{
	VECTOR_CHECK(SOFTGPU_VOP1, vop1);
}
END_TEST

START_TEST(parts)
{
	VECTOR_CHECK(SOFTGPU_VOP2, vop2);
	VECTOR_CHECK(SOFTGPU_VOP3, vop3);
	VECTOR_CHECK(SOFTGPU_VOP3P, vop3p);
}
END_TEST

/* Every half there is, to float, and back from around it. */
START_TEST(every_half)
{
	struct isa_program program = {.count = 0};

	emit_vop1(&program, "v_cvt_f32_f16", 1, VGPR(0));
	emit_vop1(&program, "v_cvt_f16_f32", 2, VGPR(1));
	emit_vop1(&program, "v_cvt_f16_f32", 4, VGPR(3));
	vector_wave->exec = UINT64_MAX;
	for (unsigned int first = 0; first < 65536; first += SOFTGPU_LANES) {
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const double value = half_value(first + lane);
			const double next = half_value((first + lane + 1) & 0xffff);

			vector_wave->vgpr[0][lane] = first + lane;
			/* The middle between two halves, or next to it. */
			vector_wave->vgpr[3][lane] =
				(uint32_t)float_bits((float)((value + next) / 2)) + lane % 3 - 1;
		}
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t half = first + lane;
			const float around = as_float(vector_wave->vgpr[3][lane]);

			if (!vector_equal(SOFTGPU_F32, vector_wave->vgpr[1][lane],
					  float_bits((float)half_value(half)), 0) ||
			    !vector_equal(SOFTGPU_F16, vector_wave->vgpr[2][lane], half, 0) ||
			    !vector_equal(SOFTGPU_F16, vector_wave->vgpr[4][lane],
					  half_bits(around), 0))
				ck_abort_msg("half 0x%04x", half);
		}
	}
}
END_TEST

/* A NaN keeps its sign and the high bits of its payload and becomes quiet. */
START_TEST(nan_payloads)
{
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = 0xfd01;
		vector_wave->vgpr[1][lane] = 0x7f812345;
		vector_wave->vgpr[2][lane] = 0x20000000;
		vector_wave->vgpr[3][lane] = 0xfff12345;
	}
	emit_vop1(&program, "v_cvt_f32_f16", 4, VGPR(0));
	emit_vop1(&program, "v_cvt_f16_f32", 5, VGPR(1));
	emit_vop1(&program, "v_cvt_f64_f32", 6, VGPR(1));
	emit_vop1(&program, "v_cvt_f32_f64", 8, VGPR(2));
	vector_execute(&program);
	ck_assert_uint_eq(vector_wave->vgpr[4][0], 0xffe02000);
	ck_assert_uint_eq(vector_wave->vgpr[5][0], 0x7e09);
	ck_assert_uint_eq(vector_wave->vgpr[6][0], 0xa0000000);
	ck_assert_uint_eq(vector_wave->vgpr[7][0], 0x7ff82468);
	ck_assert_uint_eq(vector_wave->vgpr[8][0], 0xffc91a29);
}
END_TEST

/* Directed rounding to halves, where overflow gives infinity or the largest half. */
START_TEST(rounding_to_halves)
{
	static const float value[4] = {1.0f + 0x1p-12f, -1.0f - 0x1p-12f, 1e6f, -1e6f};
	static const uint32_t expected[4][4] = {
		{0x3c00, 0xbc00, 0x7c00, 0xfc00}, /* to nearest */
		{0x3c01, 0xbc00, 0x7c00, 0xfbff}, /* up */
		{0x3c00, 0xbc01, 0x7bff, 0xfc00}, /* down */
		{0x3c00, 0xbc00, 0x7bff, 0xfbff}, /* to zero */
	};
	const uint32_t mode = vector_wave->mode;
	struct isa_program program = {.count = 0};

	emit_vop1(&program, "v_cvt_f16_f32", 1, VGPR(0));
	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		vector_wave->vgpr[0][lane] = (uint32_t)float_bits(value[lane % 4]);
	for (unsigned int rounding = 0; rounding < 4; rounding++) {
		vector_wave->mode = (mode & ~0xcu) | rounding << SOFTGPU_MODE_ROUND_16_64;
		vector_execute(&program);
		for (unsigned int lane = 0; lane < 4; lane++)
			ck_assert_uint_eq(vector_wave->vgpr[1][lane], expected[rounding][lane]);
	}
}
END_TEST

/* Four sums of 32 bits in four registers, which overlap the bytes that are summed. */
START_TEST(wide_sums)
{
	for (unsigned int round = 0; round < 20; round++) {
		static struct vector_registers before;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		emit_vop3(&program, "v_mqsad_u32_u8", 4, VGPR(6), VGPR(5), VGPR(8), NULL);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint64_t bytes =
				(uint64_t)before.vgpr[7][lane] << 32 | before.vgpr[6][lane];

			for (unsigned int i = 0; i < 4; i++) {
				const uint64_t sum = differences(bytes >> 8 * i & UINT32_MAX,
								 before.vgpr[5][lane], 8, true) +
						     before.vgpr[8 + i][lane];

				ck_assert_uint_eq(vector_wave->vgpr[4 + i][lane],
						  vector_wave->exec >> lane & 1
							  ? (uint32_t)sum
							  : before.vgpr[4 + i][lane]);
			}
		}
	}
}
END_TEST

/* With clamp the sums stop at the limit of their 16 or 32 bits. */
START_TEST(clamped_differences)
{
	static const struct isa_modifiers clamp = {.clamp = 1};
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = 0xffffffff;
		vector_wave->vgpr[1][lane] = 0xffffffff;
		vector_wave->vgpr[2][lane] = 0x01010101;
		vector_wave->vgpr[4][lane] = 0xfffffc00;
		vector_wave->vgpr[5][lane] = 0xff000002;
	}
	/* Every sum of differences is 4 * 254 = 0x3f8. */
	emit_vop3(&program, "v_qsad_pk_u16_u8", 6, VGPR(0), VGPR(2), VGPR(4), &clamp);
	emit_vop3(&program, "v_mqsad_pk_u16_u8", 8, VGPR(0), VGPR(2), VGPR(4), &clamp);
	emit_vop3(&program, "v_qsad_pk_u16_u8", 10, VGPR(0), VGPR(2), VGPR(4), NULL);
	emit_vop3(&program, "v_sad_u8", 12, VGPR(0), VGPR(2), VGPR(4), &clamp);
	emit_vop3(&program, "v_sad_u32", 13, VGPR(0), VGPR(2), VGPR(4), &clamp);
	emit_vop3(&program, "v_sad_u32", 14, VGPR(0), VGPR(2), VGPR(4), NULL);
	vector_execute(&program);
	for (unsigned int i = 6; i <= 8; i += 2) {
		ck_assert_uint_eq(vector_wave->vgpr[i][0], 0xfffffff8);
		ck_assert_uint_eq(vector_wave->vgpr[i + 1][0], 0xffff03fa);
	}
	ck_assert_uint_eq(vector_wave->vgpr[11][0], 0x02f803fa);
	ck_assert_uint_eq(vector_wave->vgpr[12][0], 0xfffffff8);
	ck_assert_uint_eq(vector_wave->vgpr[13][0], 0xffffffff);
	ck_assert_uint_eq(vector_wave->vgpr[14][0], 0xfefefefe + 0xfffffc00);
}
END_TEST

START_TEST(clamped_dot_products)
{
	static const struct isa_modifiers modifiers = {.clamp = 1, .op_sel_hi = 7};
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = 0x7f7f7f7f;
		vector_wave->vgpr[1][lane] = lane % 2 ? 0x80808080 : 0x7f7f7f7f;
		vector_wave->vgpr[2][lane] = lane % 2 ? 0x80000010 : 0x7ffffff0;
	}
	emit_vop3p(&program, "v_dot4_i32_i8", 3, VGPR(0), VGPR(1), VGPR(2), &modifiers);
	emit_vop3p(&program, "v_dot4_u32_u8", 4, VGPR(0), VGPR(0), SOFTGPU_CODE_MINUS_ONE,
		   &modifiers);
	vector_execute(&program);
	ck_assert_uint_eq(vector_wave->vgpr[3][0], 0x7fffffff);
	ck_assert_uint_eq(vector_wave->vgpr[3][1], 0x80000000);
	ck_assert_uint_eq(vector_wave->vgpr[4][0], 0xffffffff);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_convert");
	TCase *tcase = tcase_create("convert");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, conversions);
	tcase_add_test(tcase, parts);
	tcase_add_test(tcase, every_half);
	tcase_add_test(tcase, nan_payloads);
	tcase_add_test(tcase, rounding_to_halves);
	tcase_add_test(tcase, wide_sums);
	tcase_add_test(tcase, clamped_differences);
	tcase_add_test(tcase, clamped_dot_products);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
