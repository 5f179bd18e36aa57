/* SPDX-License-Identifier: MIT */
/*
 * The forms in which vector operands come: SDWA parts, DPP lane moves, signs, output modifiers,
 * denormals as MODE says, and literals.
 */
#include "isa_vector.h"

#include <math.h>
#include <string.h>

static struct vector_registers before, after;

/* The part of a dword that an SDWA selector names. */
static uint32_t selected(uint32_t value, unsigned int select, bool extend)
{
	static const struct {
		unsigned int first, bits;
	} parts[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 16}, {16, 16}, {0, 32}};
	const unsigned int bits = parts[select].bits;
	uint64_t part = value / (UINT64_C(1) << parts[select].first) % (UINT64_C(1) << bits);

	if (extend && part >= UINT64_C(1) << (bits - 1))
		part -= UINT64_C(1) << bits;
	return (uint32_t)part;
}

/* Puts a result into the bytes that an SDWA destination names. */
static uint32_t placed(uint32_t old, uint32_t result, const struct isa_modifiers *m)
{
	const unsigned int size = m->sdwa_destination < 4 ? 1 : m->sdwa_destination < 6 ? 2 : 4;
	const unsigned int first = size == 1   ? m->sdwa_destination
				   : size == 2 ? 2 * (m->sdwa_destination - 4)
					       : 0;
	uint8_t byte[4], from[4];

	memcpy(byte, &old, 4);
	memcpy(from, &result, 4);
	for (unsigned int i = 0; i < 4; i++) {
		if (i >= first && i < first + size)
			byte[i] = from[i - first];
		else if (m->sdwa_unused == SOFTGPU_SDWA_PAD)
			byte[i] = 0;
		else if (m->sdwa_unused == SOFTGPU_SDWA_SEXT)
			byte[i] = i < first ? 0 : from[size - 1] >= 0x80 ? 0xff : 0;
	}
	memcpy(&result, byte, 4);
	return result;
}

/* Every selector of sources and destination, in place and with an SGPR source. */
START_TEST(sdwa)
{
	for (unsigned int round = 0; round < 7 * 7 * 7 * 3; round++) {
		const struct isa_modifiers modifiers = {
		    .sdwa_source = {round % 7, round / 7 % 7},
		    .sdwa_destination = round / 49 % 7,
		    .sdwa_unused = round / 343,
		    .sdwa_sext = isa_random() % 4,
		};
		const bool scalar = isa_random() % 2;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		after = before;
		emit_sdwa(&program, SOFTGPU_VOP2, "v_sub_u32", 6, scalar ? SGPR(9) : VGPR(6),
			  VGPR(7), &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint32_t a = scalar ? before.scalar[9] : before.vgpr[6][lane];
			const uint32_t difference =
			    selected(a, modifiers.sdwa_source[0], modifiers.sdwa_sext & 1) -
			    selected(before.vgpr[7][lane], modifiers.sdwa_source[1],
				     modifiers.sdwa_sext & 2);

			if (vector_wave->exec >> lane & 1)
				after.vgpr[6][lane] =
				    placed(before.vgpr[6][lane], difference, &modifiers);
		}
		vector_execute(&program);
		vector_compare(&after, "v_sub_u32_sdwa");
	}
}
END_TEST

START_TEST(sdwa_of_one_operand)
{
	const struct isa_modifiers modifiers = {.sdwa_source = {SOFTGPU_SDWA_BYTE_2},
						.sdwa_destination = SOFTGPU_SDWA_WORD_1,
						.sdwa_unused = SOFTGPU_SDWA_PRESERVE};
	struct isa_program program = {.count = 0};

	vector_randomize();
	vector_save(&after);
	emit_sdwa(&program, SOFTGPU_VOP1, "v_mov_b32", 3, VGPR(4), 0, &modifiers);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		if (vector_wave->exec >> lane & 1)
			after.vgpr[3][lane] = (after.vgpr[3][lane] & 0xffff) |
					      (after.vgpr[4][lane] >> 16 & 0xff) << 16;
	vector_execute(&program);
	vector_compare(&after, "v_mov_b32_sdwa");
}
END_TEST

/* SDWA halves of 16-bit floats, with signs and clamp. */
START_TEST(sdwa_floats)
{
	for (unsigned int round = 0; round < 64; round++) {
		const struct isa_modifiers modifiers = {
		    .sdwa_source = {SOFTGPU_SDWA_WORD_0 + round % 2,
				    SOFTGPU_SDWA_WORD_0 + round / 2 % 2},
		    .sdwa_destination = SOFTGPU_SDWA_WORD_1,
		    .sdwa_unused = SOFTGPU_SDWA_PRESERVE,
		    .neg = round / 4 % 4,
		    .abs = round / 16 % 4,
		};
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		emit_sdwa(&program, SOFTGPU_VOP2, "v_mul_f16", 3, VGPR(4), VGPR(5), &modifiers);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			double factor[2];

			for (unsigned int i = 0; i < 2; i++) {
				factor[i] = half_value(
				    before.vgpr[4 + i][lane] >>
					(modifiers.sdwa_source[i] == SOFTGPU_SDWA_WORD_1 ? 16 : 0) &
				    0xffff);
				if (modifiers.abs >> i & 1)
					factor[i] = fabs(factor[i]);
				if (modifiers.neg >> i & 1)
					factor[i] = -factor[i];
			}
			if (!(vector_wave->exec >> lane & 1))
				continue;
			ck_assert_uint_eq(vector_wave->vgpr[3][lane] & 0xffff,
					  before.vgpr[3][lane] & 0xffff);
			ck_assert(vector_equal(SOFTGPU_F16, vector_wave->vgpr[3][lane] >> 16,
					       half_bits((long double)factor[0] * factor[1]), 0));
		}
	}
}
END_TEST

/* Where DPP takes a lane from, written as the moves are described; -1: from nowhere. */
static int moved_from(unsigned int control, int lane)
{
	const int row = lane / 16, column = lane % 16, amount = (int)(control & 15);
	int from;

	if (control <= 0xff) {
		const int choice[4] = {control & 3, control >> 2 & 3, control >> 4 & 3,
				       control >> 6};

		return lane / 4 * 4 + choice[lane % 4];
	}
	switch (control) {
	case 0x130:
		return lane == 63 ? -1 : lane + 1;
	case 0x134:
		return lane == 63 ? 0 : lane + 1;
	case 0x138:
		return lane == 0 ? -1 : lane - 1;
	case 0x13c:
		return lane == 0 ? 63 : lane - 1;
	case 0x140:
		return row * 16 + 15 - column;
	case 0x141:
		return lane / 8 * 8 + 7 - lane % 8;
	case 0x142:
		return row == 0 ? -1 : row * 16 - 1;
	case 0x143:
		return row < 2 ? -1 : 31;
	default:
		break;
	}
	switch (control >> 4) {
	case 0x10:
		from = column + amount;
		return from > 15 ? -1 : row * 16 + from;
	case 0x11:
		from = column - amount;
		return from < 0 ? -1 : row * 16 + from;
	case 0x12:
		return row * 16 + (column - amount + 16) % 16;
	default:
		return row * 16 + amount;
	}
}

static const uint16_t other_controls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};

/* All moves, with and without bound_ctrl, with row and bank masks, in place. */
START_TEST(dpp)
{
	unsigned int moves = 0;

	for (unsigned int control = 0; control < 0x160; control++) {
		bool valid =
		    control <= 0xff || control >= 0x150 || (control < 0x130 && control % 16);

		for (unsigned int i = 0; i < 8; i++)
			valid |= control == other_controls[i];
		if (!valid)
			continue;
		for (unsigned int round = 0; round < 4; round++, moves++) {
			const bool masked = round >= 2;
			const struct isa_modifiers modifiers = {
			    .dpp_control = control,
			    .dpp_bound_ctrl = round % 2,
			    .dpp_row_mask = masked ? isa_random() % 16 : 15,
			    .dpp_bank_mask = masked ? isa_random() % 16 : 15,
			};
			struct isa_program program = {.count = 0};

			vector_randomize();
			vector_save(&before);
			after = before;
			emit_dpp(&program, SOFTGPU_VOP2, "v_sub_u32", 4, VGPR(4), 5, &modifiers);
			for (int lane = 0; lane < SOFTGPU_LANES; lane++) {
				const int from = moved_from(control, lane);
				const bool found = from >= 0 && vector_wave->exec >> from & 1;

				if (!(vector_wave->exec >> lane & 1) ||
				    !(modifiers.dpp_row_mask >> lane / 16 & 1) ||
				    !(modifiers.dpp_bank_mask >> lane % 16 / 4 & 1) ||
				    (!found && !modifiers.dpp_bound_ctrl))
					continue;
				after.vgpr[4][lane] =
				    (found ? before.vgpr[4][from] : 0) - before.vgpr[5][lane];
			}
			vector_execute(&program);
			vector_compare(&after, "v_sub_u32_dpp");
		}
	}
	ck_assert_uint_eq(moves, 4 * (256 + 3 * 15 + 8 + 16));
}
END_TEST

/* A scan over the wave, as compilers emit it, has every lane's sum of the lanes up to it. */
START_TEST(dpp_scan)
{
	static const struct {
		unsigned int control, rows;
	} steps[] = {{0x111, 15}, {0x112, 15}, {0x114, 15}, {0x118, 15}, {0x142, 10}, {0x143, 12}};
	struct isa_program program = {.count = 0};
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 6; i++) {
		const struct isa_modifiers modifiers = {.dpp_control = steps[i].control,
							.dpp_row_mask = steps[i].rows,
							.dpp_bank_mask = 15};

		emit_dpp(&program, SOFTGPU_VOP2, "v_add_u32", 4, VGPR(4), 4, &modifiers);
	}
	vector_randomize();
	vector_wave->exec = UINT64_MAX;
	vector_save(&before);
	vector_execute(&program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		sum += before.vgpr[4][lane];
		ck_assert_uint_eq(vector_wave->vgpr[4][lane], sum);
	}
}
END_TEST

START_TEST(dpp_of_floats)
{
	const struct isa_modifiers modifiers = {
	    .dpp_control = 0x150 + 7, .dpp_row_mask = 15, .dpp_bank_mask = 15, .neg = 1, .abs = 2};
	struct isa_program program = {.count = 0};

	vector_randomize();
	vector_wave->exec = UINT64_MAX;
	vector_save(&before);
	emit_dpp(&program, SOFTGPU_VOP2, "v_max_f32", 9, VGPR(4), 5, &modifiers);
	emit_dpp(&program, SOFTGPU_VOP1, "v_rndne_f64", 10, VGPR(6), 0, &modifiers);
	vector_execute(&program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const float a = -as_float(before.vgpr[4][lane / 16 * 16 + 7]);
		const float b = fabsf(as_float(before.vgpr[5][lane]));
		const uint64_t bits = (uint64_t)before.vgpr[7][lane / 16 * 16 + 7] << 32 |
				      before.vgpr[6][lane / 16 * 16 + 7];
		const uint64_t actual =
		    (uint64_t)vector_wave->vgpr[11][lane] << 32 | vector_wave->vgpr[10][lane];

		if (!isnan(a) && !isnan(b))
			ck_assert(as_float(vector_wave->vgpr[9][lane]) == (a > b ? a : b));
		ck_assert(
		    vector_equal(SOFTGPU_F64, actual, double_bits(nearbyint(-as_double(bits))), 0));
	}
}
END_TEST

/* abs, then neg, of each source in each width. */
START_TEST(signs)
{
	for (unsigned int choice = 0; choice < 64; choice++) {
		const struct isa_modifiers modifiers = {.abs = choice & 7, .neg = choice >> 3};
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_wave->exec = UINT64_MAX;
		vector_save(&before);
		emit_vop3(&program, "v_fma_f32", 20, VGPR(3), VGPR(4), VGPR(5), &modifiers);
		emit_vop3(&program, "v_fma_f64", 22, VGPR(4), VGPR(6), VGPR(8), &modifiers);
		emit_vop3(&program, "v_fma_f16", 24, VGPR(3), VGPR(4), VGPR(5), &modifiers);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			double value[3][3];
			const uint64_t actual = (uint64_t)vector_wave->vgpr[23][lane] << 32 |
						vector_wave->vgpr[22][lane];

			for (unsigned int i = 0; i < 3; i++) {
				const uint32_t *lanes = before.vgpr[4 + 2 * i];

				value[0][i] = as_float(before.vgpr[3 + i][lane]);
				value[1][i] = as_double(
				    (uint64_t)lanes[SOFTGPU_LANES + lane] << 32 | lanes[lane]);
				value[2][i] = half_value(before.vgpr[3 + i][lane] & 0xffff);
				for (unsigned int width = 0; width < 3; width++) {
					if (choice >> i & 1)
						value[width][i] = fabs(value[width][i]);
					if (choice >> (3 + i) & 1)
						value[width][i] = -value[width][i];
				}
			}
			ck_assert(
			    vector_equal(SOFTGPU_F32, vector_wave->vgpr[20][lane],
					 float_bits(fmaf((float)value[0][0], (float)value[0][1],
							 (float)value[0][2])),
					 0));
			ck_assert(vector_equal(
			    SOFTGPU_F64, actual,
			    double_bits(fma(value[1][0], value[1][1], value[1][2])), 0));
			ck_assert(vector_equal(
			    SOFTGPU_F16, vector_wave->vgpr[24][lane] & 0xffff,
			    half_bits((long double)value[2][0] * value[2][1] + value[2][2]), 0));
		}
	}
}
END_TEST

/* Runs v_mul_f32 on two values in every lane, with modifiers; returns lane 0. */
static uint32_t product(uint32_t a, uint32_t b, const struct isa_modifiers *modifiers)
{
	struct isa_program program = {.count = 0};

	vector_wave->exec = UINT64_MAX;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		vector_wave->vgpr[0][lane] = a;
		vector_wave->vgpr[1][lane] = b;
	}
	emit_vop3(&program, "v_mul_f32", 2, VGPR(0), VGPR(1), 0, modifiers);
	vector_execute(&program);
	return vector_wave->vgpr[2][0];
}

#define ONE   0x3f800000
#define THREE 0x40400000

START_TEST(output_modifiers)
{
	static const uint32_t expected[4] = {THREE, 0x40c00000, 0x41400000, 0x3fc00000};
	static const struct isa_modifiers clamp = {.clamp = 1};
	const uint32_t mode = vector_wave->mode;

	/* omod needs flushed denormals and no IEEE mode. */
	for (unsigned int omod = 0; omod < 4; omod++) {
		const struct isa_modifiers modifiers = {.omod = omod};

		vector_wave->mode = mode & ~(3u << SOFTGPU_MODE_DENORM_32);
		ck_assert_uint_eq(product(ONE, THREE, &modifiers), THREE);
		vector_wave->mode &= ~(1u << SOFTGPU_MODE_IEEE);
		ck_assert_uint_eq(product(ONE, THREE, &modifiers), expected[omod]);
		vector_wave->mode |= 3u << SOFTGPU_MODE_DENORM_32;
		ck_assert_uint_eq(product(ONE, THREE, &modifiers), THREE);
		vector_wave->mode = mode;
	}
	ck_assert_uint_eq(product(ONE, THREE, &clamp), ONE);
	ck_assert_uint_eq(product(ONE, 0xbf800000, &clamp), 0);
	ck_assert_uint_eq(product(ONE, 0x3f000000, &clamp), 0x3f000000);
	vector_wave->mode |= 1u << SOFTGPU_MODE_DX10_CLAMP;
	ck_assert_uint_eq(product(0x7fc00000, ONE, &clamp), 0);
	vector_wave->mode &= ~(1u << SOFTGPU_MODE_DX10_CLAMP);
	ck_assert_uint_eq(product(0x7fc00000, ONE, &clamp), 0x7fc00000);
}
END_TEST

/* Inputs and outputs are flushed separately, and each width by its own field. */
START_TEST(denormals)
{
	/* A denormal kept or flushed going in; a denormal made of normal numbers. */
	static const uint32_t input[4] = {0x80000000, 0x80800000, 0x80000000, 0x80800000};
	static const uint32_t output[4] = {0, 0, 0x00400000, 0x00400000};
	const uint32_t mode = vector_wave->mode & ~(15u << SOFTGPU_MODE_DENORM_32);

	for (unsigned int keep = 0; keep < 4; keep++) {
		vector_wave->mode =
		    mode | keep << SOFTGPU_MODE_DENORM_32 | (3 - keep) << SOFTGPU_MODE_DENORM_16_64;
		ck_assert_uint_eq(product(0x80400000, 0x40000000, NULL), input[keep]);
		ck_assert_uint_eq(product(0x00800000, 0x3f000000, NULL), output[keep]);
	}
}
END_TEST

START_TEST(literals)
{
	struct isa_program program = {.count = 0};

	vector_randomize();
	vector_wave->exec = UINT64_MAX;
	vector_save(&before);
	emit_vop2(&program, "v_add_u32", 20, SOFTGPU_CODE_LITERAL, 4);
	emit(&program, 0x12345678);
	emit_vop1(&program, "v_cvt_i32_f64", 21, SOFTGPU_CODE_LITERAL);
	emit(&program, 0x40590000); /* the high half of 100.0 */
	emit_vop2(&program, "v_madmk_f32", 22, VGPR(4), 5);
	emit(&program, 0x40000000); /* v4 * 2 + v5 */
	emit_vop2(&program, "v_madak_f32", 23, VGPR(4), 5);
	emit(&program, 0x40000000); /* v4 * v5 + 2 */
	emit_vop2(&program, "v_madmk_f16", 24, VGPR(6), 7);
	emit(&program, 0x4000); /* v6 * 2 + v7 */
	emit_vop2(&program, "v_madak_f16", 25, VGPR(6), 7);
	emit(&program, 0x4000); /* v6 * v7 + 2 */
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		/* Small integers: exact, and no denormals on the way. */
		vector_wave->vgpr[6][lane] = (uint32_t)half_bits(lane);
		vector_wave->vgpr[7][lane] = (uint32_t)half_bits(3.0 - lane);
	}
	vector_execute(&program);
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		ck_assert_uint_eq(vector_wave->vgpr[24][lane], half_bits(lane + 3.0));
		ck_assert_uint_eq(
		    vector_wave->vgpr[25][lane],
		    half_bits((double)half_value(half_bits(lane * (3.0 - lane))) + 2.0));
	}
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const float a = as_float(before.vgpr[4][lane]), b = as_float(before.vgpr[5][lane]);
		volatile float twice = 2.0f * a, times = a * b;

		ck_assert_uint_eq(vector_wave->vgpr[20][lane], before.vgpr[4][lane] + 0x12345678);
		ck_assert_uint_eq(vector_wave->vgpr[21][lane], 100);
		if (fpclassify(a) == FP_SUBNORMAL || fpclassify(b) == FP_SUBNORMAL ||
		    fpclassify(twice + b) == FP_SUBNORMAL)
			continue;
		ck_assert(vector_equal(SOFTGPU_F32, vector_wave->vgpr[22][lane],
				       float_bits(twice + b), 0));
		if (fpclassify(times) != FP_SUBNORMAL)
			ck_assert(vector_equal(SOFTGPU_F32, vector_wave->vgpr[23][lane],
					       float_bits(times + 2.0f), 0));
	}
}
END_TEST

/* The halves of packed floats are chosen and negated one by one. */
START_TEST(packed_floats)
{
	for (unsigned int choice = 0; choice < 256; choice++) {
		const struct isa_modifiers modifiers = {.op_sel = choice & 3,
							.op_sel_hi = choice >> 2 & 3,
							.neg = choice >> 4 & 3,
							.neg_hi = choice >> 6};
		static const char *const names[] = {"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32"};
		const unsigned int which = choice % 3;
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_wave->exec = UINT64_MAX;
		vector_save(&before);
		emit_vop3p(&program, names[which], 4, VGPR(4), VGPR(6), which == 2 ? VGPR(8) : 0,
			   &modifiers);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			for (unsigned int half = 0; half < 2; half++) {
				const unsigned int select =
				    half ? modifiers.op_sel_hi : modifiers.op_sel;
				const unsigned int sign = half ? modifiers.neg_hi : modifiers.neg;
				float value[2], result;

				for (unsigned int i = 0; i < 2; i++)
					value[i] =
					    (sign >> i & 1 ? -1.0f : 1.0f) *
					    as_float(
						before.vgpr[4 + 2 * i + (select >> i & 1)][lane]);
				/* op_sel_hi of the third source is 0 here: its low half twice. */
				result = which == 0   ? value[0] + value[1]
					 : which == 1 ? value[0] * value[1]
						      : fmaf(value[0], value[1],
							     as_float(before.vgpr[8][lane]));
				ck_assert(vector_equal(SOFTGPU_F32,
						       vector_wave->vgpr[4 + half][lane],
						       float_bits(result), 0));
			}
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_forms");
	TCase *tcase = tcase_create("forms");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, sdwa);
	tcase_add_test(tcase, sdwa_of_one_operand);
	tcase_add_test(tcase, sdwa_floats);
	tcase_add_test(tcase, dpp);
	tcase_add_test(tcase, dpp_scan);
	tcase_add_test(tcase, dpp_of_floats);
	tcase_add_test(tcase, signs);
	tcase_add_test(tcase, output_modifiers);
	tcase_add_test(tcase, denormals);
	tcase_add_test(tcase, literals);
	tcase_add_test(tcase, packed_floats);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
