/* SPDX-License-Identifier: MIT */
/* Integer operations of the vector ALU, 32 and 64 bits, against models that count bits. */
#include "isa_vector.h"

#include <stdlib.h>

typedef __int128 wide;

static int64_t sign_extend(uint64_t value, unsigned int bits)
{
	const uint64_t half = UINT64_C(1) << (bits - 1);

	value &= 2 * half - 1;
	return value < half ? (int64_t)value : (int64_t)(value - half) - (int64_t)half;
}

static int64_t i32(uint64_t value)
{
	return sign_extend(value, 32);
}

/* a * 2^n or a / 2^n, rounded down, without shifting by a variable. */
static wide scale_up(wide value, uint64_t n)
{
	while (n--)
		value *= 2;
	return value;
}

static wide scale_down(wide value, uint64_t n)
{
	while (n--)
		value = (value - (value % 2 != 0 && value < 0)) / 2;
	return value;
}

/* Applies a truth table of three bits to every bit of three numbers; bit 4a + 2b + c. */
static uint64_t bitwise(uint64_t a, uint64_t b, uint64_t c, unsigned int table)
{
	uint64_t result = 0, bit = 1;

	for (int i = 0; i < 32; i++, bit *= 2)
		if (table & 1u << (4 * !!(a & bit) + 2 * !!(b & bit) + !!(c & bit)))
			result += bit;
	return result;
}

static int compare(const void *x, const void *y)
{
	const wide a = *(const wide *)x, b = *(const wide *)y;

	return a < b ? -1 : a > b;
}

/* The smallest, middle or largest of three. */
static uint64_t ranked(wide a, wide b, wide c, int rank)
{
	wide sorted[3] = {a, b, c};

	qsort(sorted, 3, sizeof(sorted[0]), compare);
	return (uint64_t)sorted[rank];
}

/* Schoolbook multiplication of magnitudes, then the sign. */
static wide product(wide a, wide b)
{
	const bool negative = (a < 0) != (b < 0);
	unsigned __int128 x = (unsigned __int128)(a < 0 ? -a : a),
			  y = (unsigned __int128)(b < 0 ? -b : b), sum = 0;

	for (; y; y /= 2, x *= 2)
		if (y % 2)
			sum += x;
	return negative ? -(wide)sum : (wide)sum;
}

MODEL(v_mov_b32, return a;)
MODEL(v_not_b32, return UINT32_MAX - a;)
MODEL(v_and_b32, return bitwise(a, b, 0, 0xc0);)
MODEL(v_or_b32, return bitwise(a, b, 0, 0xfc);)
MODEL(v_xor_b32, return bitwise(a, b, 0, 0x3c);)
MODEL(v_xnor_b32, return bitwise(a, b, 0, 0xc3);)
MODEL(v_and_or_b32, return bitwise(a, b, c, 0xea);)
MODEL(v_or3_b32, return bitwise(a, b, c, 0xfe);)
MODEL(v_bfi_b32, return bitwise(a, b, c, 0xca);)
MODEL(v_xad_u32, return bitwise(a, b, 0, 0x3c) + c;)

MODEL(v_lshlrev_b32, return (uint64_t)scale_up((wide)b, a % 32);)
MODEL(v_lshrrev_b32, return (uint64_t)scale_down((wide)b, a % 32);)
MODEL(v_ashrrev_i32, return (uint64_t)scale_down(i32(b), a % 32);)
MODEL(v_lshlrev_b64, return (uint64_t)scale_up((wide)b, a % 64);)
MODEL(v_lshrrev_b64, return (uint64_t)scale_down((wide)b, a % 64);)
MODEL(v_ashrrev_i64, return (uint64_t)scale_down((int64_t)b, a % 64);)
MODEL(v_lshl_add_u32, return (uint64_t)scale_up((wide)a, b % 32) + c;)
MODEL(v_add_lshl_u32, return (uint64_t)scale_up((wide)(a + b), c % 32);)
MODEL(v_lshl_or_b32, return bitwise((uint64_t)scale_up((wide)a, b % 32), c, 0, 0xfc);)

MODEL(v_add_u32, return a - (UINT64_MAX - b) - 1;)
MODEL(v_sub_u32, return a + (UINT64_MAX - b) + 1;)
MODEL(v_subrev_u32, return b + (UINT64_MAX - a) + 1;)
MODEL(v_add_i32, return (uint64_t)(i32(a) + i32(b));)
MODEL(v_sub_i32, return (uint64_t)(i32(a) - i32(b));)
MODEL(v_add3_u32, return (uint64_t)(i32(a) + i32(b) + i32(c));)

MODEL(v_min_i32, return ranked(i32(a), i32(a), i32(b), i32(b) < i32(a) ? 0 : 1);)
MODEL(v_max_i32, return ranked(i32(a), i32(a), i32(b), i32(b) > i32(a) ? 2 : 1);)
MODEL(v_min_u32, return ranked((wide)a, (wide)b, (wide)b, 0);)
MODEL(v_max_u32, return ranked((wide)a, (wide)b, (wide)b, 2);)
MODEL(v_min3_i32, return ranked(i32(a), i32(b), i32(c), 0);)
MODEL(v_med3_i32, return ranked(i32(a), i32(b), i32(c), 1);)
MODEL(v_max3_i32, return ranked(i32(a), i32(b), i32(c), 2);)
MODEL(v_min3_u32, return ranked((wide)a, (wide)b, (wide)c, 0);)
MODEL(v_med3_u32, return ranked((wide)a, (wide)b, (wide)c, 1);)
MODEL(v_max3_u32, return ranked((wide)a, (wide)b, (wide)c, 2);)

MODEL(v_mul_lo_u32, return (uint64_t)product((wide)a, (wide)b);)
MODEL(v_mul_hi_u32, return (uint64_t)scale_down(product((wide)a, (wide)b), 32);)
MODEL(v_mul_hi_i32, return (uint64_t)scale_down(product(i32(a), i32(b)), 32);)

static wide u24(uint64_t value)
{
	return value % (1 << 24);
}

static wide i24(uint64_t value)
{
	return sign_extend(value, 24);
}

MODEL(v_mul_u32_u24, return (uint64_t)product(u24(a), u24(b));)
MODEL(v_mul_i32_i24, return (uint64_t)product(i24(a), i24(b));)
MODEL(v_mul_hi_u32_u24, return (uint64_t)scale_down(product(u24(a), u24(b)), 32);)
MODEL(v_mul_hi_i32_i24, return (uint64_t)scale_down(product(i24(a), i24(b)), 32);)
MODEL(v_mad_u32_u24, return (uint64_t)product(u24(a), u24(b)) + c;)
MODEL(v_mad_i32_i24, return (uint64_t)product(i24(a), i24(b)) + c;)

/* Bits `offset` to `offset` + `width` - 1 of a number that goes on above bit 31. */
static uint64_t field(wide value, uint64_t offset, uint64_t width)
{
	return (uint64_t)scale_down(value, offset % 32) & (uint64_t)(scale_up(1, width % 32) - 1);
}

MODEL(v_bfe_u32, return field((wide)a, b, c);)
MODEL(v_bfe_i32, return c % 32 ? (uint64_t)sign_extend(field(i32(a), b, c), c % 32) : 0;)
MODEL(v_bfm_b32, return (uint64_t)scale_up(scale_up(1, a % 32) - 1, b % 32);)
MODEL(v_alignbit_b32, return (uint64_t)scale_down(scale_up((wide)a, 32) + (wide)b, c % 32);)
MODEL(v_alignbyte_b32, return (uint64_t)scale_down(scale_up((wide)a, 32) + (wide)b, c % 4 * 8);)

MODEL(v_bfrev_b32, uint64_t result = 0;
      for (int i = 0; i < 32; i++, a /= 2) result = 2 * result + a % 2; return result;)
MODEL(v_ffbh_u32, uint64_t zeros = 0; if (!a) return UINT32_MAX;
      for (; a < 0x80000000; a *= 2) zeros++; return zeros;)
MODEL(v_ffbl_b32, uint64_t zeros = 0; if (!a) return UINT32_MAX; for (; a % 2 == 0; a /= 2) zeros++;
      return zeros;)
MODEL(v_ffbh_i32, uint64_t same = 0;
      for (int i = 31; i >= 0 && (a >> i & 1) == a >> 31; i--) same++;
      return same == 32 ? UINT32_MAX : same;)
MODEL(v_bcnt_u32_b32, for (; a; a /= 2) b += a % 2; return b;)

static const struct vector_case vop1[] = {
    CASE(v_mov_b32),  CASE(v_not_b32),	CASE(v_bfrev_b32),
    CASE(v_ffbh_u32), CASE(v_ffbl_b32), CASE(v_ffbh_i32),
};

static const struct vector_case vop2[] = {
    CASE(v_and_b32),	    CASE(v_or_b32),	    CASE(v_xor_b32),	 CASE(v_xnor_b32),
    CASE(v_lshlrev_b32),    CASE(v_lshrrev_b32),    CASE(v_ashrrev_i32), CASE(v_add_u32),
    CASE(v_sub_u32),	    CASE(v_subrev_u32),	    CASE(v_min_i32),	 CASE(v_max_i32),
    CASE(v_min_u32),	    CASE(v_max_u32),	    CASE(v_mul_u32_u24), CASE(v_mul_i32_i24),
    CASE(v_mul_hi_u32_u24), CASE(v_mul_hi_i32_i24),
};

static const struct vector_case vop3[] = {
    CASE(v_and_or_b32),	   CASE(v_or3_b32),	 CASE(v_bfi_b32),     CASE(v_xad_u32),
    CASE(v_lshlrev_b64),   CASE(v_lshrrev_b64),	 CASE(v_ashrrev_i64), CASE(v_lshl_add_u32),
    CASE(v_add_lshl_u32),  CASE(v_lshl_or_b32),	 CASE(v_add_i32),     CASE(v_sub_i32),
    CASE(v_add3_u32),	   CASE(v_min3_i32),	 CASE(v_med3_i32),    CASE(v_max3_i32),
    CASE(v_min3_u32),	   CASE(v_med3_u32),	 CASE(v_max3_u32),    CASE(v_mul_lo_u32),
    CASE(v_mul_hi_u32),	   CASE(v_mul_hi_i32),	 CASE(v_mad_u32_u24), CASE(v_mad_i32_i24),
    CASE(v_bfe_u32),	   CASE(v_bfe_i32),	 CASE(v_bfm_b32),     CASE(v_alignbit_b32),
    CASE(v_alignbyte_b32), CASE(v_bcnt_u32_b32),
};

START_TEST(one_operand)
{
	VECTOR_CHECK(SOFTGPU_VOP1, vop1);
}
END_TEST

START_TEST(two_operands)
{
	VECTOR_CHECK(SOFTGPU_VOP2, vop2);
}
END_TEST

START_TEST(three_operands)
{
	VECTOR_CHECK(SOFTGPU_VOP3, vop3);
}
END_TEST

/* With clamp, sums and products with sums stop at the limits of the type. */
static int64_t limited(wide value, bool is_signed)
{
	const wide minimum = is_signed ? INT32_MIN : 0;
	const wide maximum = is_signed ? INT32_MAX : UINT32_MAX;

	return (int64_t)(value < minimum ? minimum : value > maximum ? maximum : value);
}

START_TEST(clamped_sums)
{
	static const char *const names[] = {"v_add_u32",    "v_sub_u32", "v_subrev_u32",
					    "v_add_i32",    "v_sub_i32", "v_mad_u32_u24",
					    "v_mad_i32_i24"};
	static const struct isa_modifiers clamp = {.clamp = 1};

	for (unsigned int i = 0; i < 7; i++) {
		struct isa_program program = {.count = 0};

		vector_randomize();
		emit_vop3(&program, names[i], 20, VGPR(2), VGPR(4), i < 5 ? 0 : VGPR(6), &clamp);
		vector_wave->exec = UINT64_MAX;
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const wide a = vector_wave->vgpr[2][lane], b = vector_wave->vgpr[4][lane];
			const wide c = vector_wave->vgpr[6][lane];
			const int64_t expected[] = {
			    limited(a + b, false),
			    limited(a - b, false),
			    limited(b - a, false),
			    limited(i32((uint64_t)a) + i32((uint64_t)b), true),
			    limited(i32((uint64_t)a) - i32((uint64_t)b), true),
			    limited(u24((uint64_t)a) * u24((uint64_t)b) + c, false),
			    limited(i24((uint64_t)a) * i24((uint64_t)b) + i32((uint64_t)c), true),
			};

			ck_assert_msg(vector_wave->vgpr[20][lane] == (uint32_t)expected[i],
				      "%s clamp lane %u", names[i], lane);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_integer");
	TCase *tcase = tcase_create("integer");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, one_operand);
	tcase_add_test(tcase, two_operands);
	tcase_add_test(tcase, three_operands);
	tcase_add_test(tcase, clamped_sums);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
