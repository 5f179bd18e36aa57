/* SPDX-License-Identifier: MIT */
/* 16-bit integers of the vector ALU, single and packed, and conversions that pack integers. */
#include "isa_vector.h"

/* Two's complement by arithmetic. */
static int64_t s16(uint64_t value)
{
	value %= 65536;
	return value >= 32768 ? (int64_t)value - 65536 : (int64_t)value;
}

static int64_t u16(uint64_t value)
{
	return (int64_t)(value % 65536);
}

static uint64_t power(uint64_t n)
{
	uint64_t result = 1;

	while (n--)
		result += result;
	return result;
}

static int64_t divide_down(int64_t value, int64_t divisor)
{
	int64_t quotient = value / divisor;

	return quotient * divisor > value ? quotient - 1 : quotient;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a - b > 0 ? b : a;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a - b > 0 ? a : b;
}

static uint64_t median(int64_t a, int64_t b, int64_t c)
{
	return (uint64_t)larger(smaller(a, b), smaller(larger(a, b), c));
}

MODEL(v_add_u16, return a + b;)
MODEL(v_sub_u16, return a + 65536 - b;)
MODEL(v_subrev_u16, return b + 65536 - a;)
MODEL(v_add_i16, return (uint64_t)(s16(a) + s16(b));)
MODEL(v_sub_i16, return (uint64_t)(s16(a) - s16(b));)
MODEL(v_mul_lo_u16, return (uint64_t)(s16(a) * s16(b));)
MODEL(v_lshlrev_b16, return b * power(a % 16);)
MODEL(v_lshrrev_b16, return b / power(a % 16);)
MODEL(v_ashrrev_i16, return (uint64_t)divide_down(s16(b), (int64_t)power(a % 16));)
MODEL(v_min_u16, return (uint64_t)smaller(u16(a), u16(b));)
MODEL(v_max_u16, return (uint64_t)larger(u16(a), u16(b));)
MODEL(v_min_i16, return (uint64_t)smaller(s16(a), s16(b));)
MODEL(v_max_i16, return (uint64_t)larger(s16(a), s16(b));)
MODEL(v_min3_u16, return (uint64_t)smaller(smaller(u16(a), u16(b)), u16(c));)
MODEL(v_max3_u16, return (uint64_t)larger(larger(u16(a), u16(b)), u16(c));)
MODEL(v_med3_u16, return median(u16(a), u16(b), u16(c));)
MODEL(v_min3_i16, return (uint64_t)smaller(smaller(s16(a), s16(b)), s16(c));)
MODEL(v_max3_i16, return (uint64_t)larger(larger(s16(a), s16(b)), s16(c));)
MODEL(v_med3_i16, return median(s16(a), s16(b), s16(c));)
MODEL(v_mad_u16, return (uint64_t)(s16(a) * s16(b) + s16(c));)
MODEL(v_mad_i16, return a * b + c;)
MODEL(v_mad_legacy_u16, return (uint64_t)(s16(a) * s16(b) + s16(c));)
MODEL(v_mad_legacy_i16, return a * b + c;)
MODEL(v_mad_u32_u16, return a * b + c;)
MODEL(v_mad_i32_i16, return (uint64_t)(s16(a) * s16(b) + (int32_t)c);)

/* Both halves by the model of one. */
#define PACKED_MODEL(packed, single)                                                               \
	MODEL(packed, return (single##_model(a % 65536, b % 65536, c % 65536, 0) & 0xffff) |       \
			     (single##_model(a >> 16, b >> 16, c >> 16, 0) & 0xffff) << 16;)

PACKED_MODEL(v_pk_add_u16, v_add_u16)
PACKED_MODEL(v_pk_add_i16, v_add_i16)
PACKED_MODEL(v_pk_sub_u16, v_sub_u16)
PACKED_MODEL(v_pk_sub_i16, v_sub_i16)
PACKED_MODEL(v_pk_mul_lo_u16, v_mul_lo_u16)
PACKED_MODEL(v_pk_mad_u16, v_mad_u16)
PACKED_MODEL(v_pk_mad_i16, v_mad_i16)
PACKED_MODEL(v_pk_min_u16, v_min_u16)
PACKED_MODEL(v_pk_max_u16, v_max_u16)
PACKED_MODEL(v_pk_min_i16, v_min_i16)
PACKED_MODEL(v_pk_max_i16, v_max_i16)
PACKED_MODEL(v_pk_lshlrev_b16, v_lshlrev_b16)
PACKED_MODEL(v_pk_lshrrev_b16, v_lshrrev_b16)
PACKED_MODEL(v_pk_ashrrev_i16, v_ashrrev_i16)

static int64_t between(int64_t value, int64_t minimum, int64_t maximum)
{
	return larger(minimum, smaller(value, maximum));
}

MODEL(v_cvt_pk_u16_u32,
      return (uint64_t)(between((int64_t)a, 0, 65535) + 65536 * between((int64_t)b, 0, 65535));)
MODEL(v_cvt_pk_i16_i32, return ((uint64_t)between((int32_t)a, -32768, 32767) & 0xffff) |
			       ((uint64_t)between((int32_t)b, -32768, 32767) & 0xffff) << 16;)
MODEL(v_sat_pk_u8_i16,
      return (uint64_t)(between(s16(a), 0, 255) + 256 * between(s16(a >> 16), 0, 255));)

static const struct vector_case vop1[] = {CASE(v_sat_pk_u8_i16)};

static const struct vector_case vop2[] = {
    CASE(v_add_u16),	 CASE(v_sub_u16),     CASE(v_subrev_u16),  CASE(v_mul_lo_u16),
    CASE(v_lshlrev_b16), CASE(v_lshrrev_b16), CASE(v_ashrrev_i16), CASE(v_min_u16),
    CASE(v_max_u16),	 CASE(v_min_i16),     CASE(v_max_i16),
};

static const struct vector_case vop3[] = {
    CASE(v_add_i16),	 CASE(v_sub_i16),     CASE(v_min3_u16),	      CASE(v_max3_u16),
    CASE(v_med3_u16),	 CASE(v_min3_i16),    CASE(v_max3_i16),	      CASE(v_med3_i16),
    CASE(v_mad_u16),	 CASE(v_mad_i16),     CASE(v_mad_legacy_u16), CASE(v_mad_legacy_i16),
    CASE(v_mad_u32_u16), CASE(v_mad_i32_i16), CASE(v_cvt_pk_u16_u32), CASE(v_cvt_pk_i16_i32),
};

static const struct vector_case vop3p[] = {
    CASE(v_pk_add_u16),	    CASE(v_pk_add_i16),	    CASE(v_pk_sub_u16), CASE(v_pk_sub_i16),
    CASE(v_pk_mul_lo_u16),  CASE(v_pk_mad_u16),	    CASE(v_pk_mad_i16), CASE(v_pk_min_u16),
    CASE(v_pk_max_u16),	    CASE(v_pk_min_i16),	    CASE(v_pk_max_i16), CASE(v_pk_lshlrev_b16),
    CASE(v_pk_lshrrev_b16), CASE(v_pk_ashrrev_i16),
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

/* Each half of each operand may come from either half of its register. */
START_TEST(packed_op_sel)
{
	for (unsigned int choice = 0; choice < 64; choice++) {
		const struct isa_modifiers modifiers = {.op_sel = choice & 7,
							.op_sel_hi = choice >> 3};
		static struct vector_registers after;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&after);
		emit_vop3p(&program, "v_pk_mad_u16", 3, VGPR(4), VGPR(6), VGPR(3), &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t source[3] = {vector_wave->vgpr[4][lane],
						    vector_wave->vgpr[6][lane],
						    vector_wave->vgpr[3][lane]};
			uint32_t half[2][3];

			for (unsigned int i = 0; i < 3; i++) {
				half[0][i] = choice >> i & 1 ? source[i] >> 16 : source[i] & 0xffff;
				half[1][i] =
				    choice >> (i + 3) & 1 ? source[i] >> 16 : source[i] & 0xffff;
			}
			if (vector_wave->exec >> lane & 1)
				after.vgpr[3][lane] =
				    ((half[0][0] * half[0][1] + half[0][2]) & 0xffff) |
				    (half[1][0] * half[1][1] + half[1][2]) << 16;
		}
		vector_execute(&program);
		vector_compare(&after, "v_pk_mad_u16 op_sel");
	}
}
END_TEST

/* op_sel of VOP3: halves of sources, and which half is written while the other is kept. */
START_TEST(single_op_sel)
{
	for (unsigned int choice = 0; choice < 16; choice++) {
		const struct isa_modifiers modifiers = {.op_sel = choice};
		static struct vector_registers after;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&after);
		emit_vop3(&program, "v_mad_i16", 4, VGPR(4), VGPR(6), VGPR(3), &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t old = vector_wave->vgpr[4][lane];
			const uint32_t result =
			    (old >> 16 * (choice & 1) & 0xffff) *
				(vector_wave->vgpr[6][lane] >> 16 * (choice >> 1 & 1) & 0xffff) +
			    (vector_wave->vgpr[3][lane] >> 16 * (choice >> 2 & 1) & 0xffff);

			if (vector_wave->exec >> lane & 1)
				after.vgpr[4][lane] = choice & 8
							  ? (old & 0xffff) | result << 16
							  : (old & 0xffff0000) | (result & 0xffff);
		}
		vector_execute(&program);
		vector_compare(&after, "v_mad_i16 op_sel");
	}
}
END_TEST

START_TEST(clamped)
{
	static const struct isa_modifiers halves = {.clamp = 1};
	static const struct isa_modifiers both = {.clamp = 1, .op_sel_hi = 7};

	for (unsigned int round = 0; round < 40; round++) {
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_wave->exec = UINT64_MAX;
		emit_vop3(&program, "v_add_u16", 20, VGPR(2), VGPR(3), 0, &halves);
		emit_vop3(&program, "v_sub_u16", 21, VGPR(2), VGPR(3), 0, &halves);
		emit_vop3(&program, "v_sub_i16", 22, VGPR(2), VGPR(3), 0, &halves);
		emit_vop3p(&program, "v_pk_add_i16", 23, VGPR(2), VGPR(3), 0, &both);
		emit_vop3p(&program, "v_pk_sub_u16", 24, VGPR(2), VGPR(3), 0, &both);
		emit_vop3p(&program, "v_pk_mad_i16", 25, VGPR(2), VGPR(3), VGPR(5), &both);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t a = vector_wave->vgpr[2][lane];
			const uint32_t b = vector_wave->vgpr[3][lane];
			const uint32_t c = vector_wave->vgpr[5][lane];
			uint32_t(*result)[SOFTGPU_LANES] = vector_wave->vgpr + 20;

			ck_assert_uint_eq(result[0][lane],
					  (uint64_t)between(u16(a) + u16(b), 0, 65535));
			ck_assert_uint_eq(result[1][lane],
					  (uint64_t)between(u16(a) - u16(b), 0, 65535));
			ck_assert_int_eq(s16(result[2][lane]),
					 between(s16(a) - s16(b), -32768, 32767));
			for (unsigned int shift = 0; shift < 32; shift += 16) {
				const uint32_t x = a >> shift, y = b >> shift;

				ck_assert_int_eq(s16(result[3][lane] >> shift),
						 between(s16(x) + s16(y), -32768, 32767));
				ck_assert_int_eq(u16(result[4][lane] >> shift),
						 between(u16(x) - u16(y), 0, 65535));
				ck_assert_int_eq(
				    s16(result[5][lane] >> shift),
				    between(s16(x) * s16(y) + s16(c >> shift), -32768, 32767));
			}
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_integer16");
	TCase *tcase = tcase_create("integer16");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, single);
	tcase_add_test(tcase, packed);
	tcase_add_test(tcase, packed_op_sel);
	tcase_add_test(tcase, single_op_sel);
	tcase_add_test(tcase, clamped);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
