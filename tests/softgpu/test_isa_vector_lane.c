/* SPDX-License-Identifier: MIT */
/*
 * Vector operations that are more than one lane's arithmetic: carries and selects by lane masks,
 * wide products, reading and writing single lanes, counting lanes, exchanging registers.
 */
#include "isa_vector.h"

#include <string.h>

static struct vector_registers before, after;

static uint64_t pair(const uint32_t *low)
{
	return (uint64_t)low[1] << 32 | low[0];
}

/* Sums and differences with carries; `order` is the sign of the first and second source. */
static const struct {
	const char *name;
	int first, second;
	bool carry_in;
} carries[] = {
	{"v_add_co_u32", 1, 1, false},	   {"v_sub_co_u32", 1, -1, false},
	{"v_subrev_co_u32", -1, 1, false}, {"v_addc_co_u32", 1, 1, true},
	{"v_subb_co_u32", 1, -1, true},	   {"v_subbrev_co_u32", -1, 1, true},
};

/* Checks one carry operation whose mask in is `mask`; returns the mask out. */
static uint64_t expect_carry(unsigned int which, unsigned int destination, uint64_t mask)
{
	uint64_t out = 0;

	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const int64_t carry = carries[which].carry_in && mask >> lane & 1;
		const bool adds = carries[which].first == carries[which].second;
		const int64_t sum = carries[which].first * (int64_t)before.vgpr[4][lane] +
				    carries[which].second * (int64_t)before.vgpr[6][lane] +
				    (adds ? carry : -carry);

		if (!(vector_wave->exec >> lane & 1))
			continue;
		after.vgpr[destination][lane] = (uint32_t)sum;
		if (sum < 0 || sum > UINT32_MAX)
			out |= UINT64_C(1) << lane;
	}
	return out;
}

START_TEST(carry)
{
	/* In VOP2 the masks are VCC; in VOP3 SGPR pairs, which may be the same. */
	for (unsigned int round = 0; round < 60; round++) {
		const unsigned int which = round % 6;
		const bool vop3 = round / 6 % 2;
		const unsigned int in = vop3 ? (round / 12 % 2 ? 20 : 30) : SOFTGPU_CODE_VCC;
		const unsigned int out = vop3 ? 30 : SOFTGPU_CODE_VCC;
		const struct isa_modifiers modifiers = {.scalar_destination = out};
		const unsigned int destination = 4 + isa_random() % 4;
		struct isa_program program = {.count = 0};
		uint64_t mask;

		vector_randomize();
		vector_save(&before);
		after = before;
		if (vop3)
			emit_vop3(&program, carries[which].name, destination, VGPR(4), VGPR(6),
				  carries[which].carry_in ? in : 0, &modifiers);
		else
			emit_vop2(&program, carries[which].name, destination, VGPR(4), 6);
		mask = expect_carry(which, destination, pair(&before.scalar[in]));
		memcpy(&after.scalar[out], &mask, sizeof(mask));
		vector_execute(&program);
		vector_compare(&after, carries[which].name);
	}
}
END_TEST

/* With clamp the lanes that carry hold the limit, the mask is the same. */
START_TEST(clamped_carry)
{
	static const struct isa_modifiers modifiers = {.clamp = 1, .scalar_destination = 30};

	for (unsigned int round = 0; round < 60; round++) {
		const unsigned int which = round % 6;
		struct isa_program program = {.count = 0};
		uint64_t mask;

		vector_randomize();
		vector_save(&before);
		after = before;
		emit_vop3(&program, carries[which].name, 5, VGPR(4), VGPR(6),
			  carries[which].carry_in ? 20 : 0, &modifiers);
		mask = expect_carry(which, 5, pair(&before.scalar[20]));
		memcpy(&after.scalar[30], &mask, sizeof(mask));
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
			if (mask >> lane & 1)
				after.vgpr[5][lane] = carries[which].first == carries[which].second
							      ? UINT32_MAX
							      : 0;
		vector_execute(&program);
		vector_compare(&after, carries[which].name);
	}
}
END_TEST

/* Numbers of 128 bits, added and subtracted in chains. */
START_TEST(carry_chain)
{
	struct isa_program program = {.count = 0};

	for (unsigned int i = 0; i < 4; i++)
		emit_vop2(&program, i ? "v_addc_co_u32" : "v_add_co_u32", i, VGPR(i), 4 + i);
	for (unsigned int i = 0; i < 4; i++)
		emit_vop2(&program, i ? "v_subb_co_u32" : "v_sub_co_u32", 4 + i, VGPR(8 + i),
			  4 + i);
	for (unsigned int round = 0; round < 20; round++) {
		vector_randomize();
		vector_save(&before);
		vector_execute(&program);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			unsigned __int128 number[3] = {0}, actual[2] = {0};

			for (unsigned int i = 4; i-- > 0;) {
				for (unsigned int n = 0; n < 3; n++)
					number[n] = number[n] << 32 | before.vgpr[4 * n + i][lane];
				for (unsigned int n = 0; n < 2; n++)
					actual[n] = actual[n] << 32 |
						    vector_wave->vgpr[4 * n + i][lane];
			}
			if (!(vector_wave->exec >> lane & 1))
				continue;
			ck_assert(actual[0] == number[0] + number[1]);
			ck_assert(actual[1] == number[2] - number[1]);
		}
	}
}
END_TEST

START_TEST(select_by_mask)
{
	for (unsigned int round = 0; round < 20; round++) {
		const bool vop3 = round % 2;
		/* neg and abs work on the floats that are selected from. */
		const struct isa_modifiers modifiers = {.neg = round % 4, .abs = round / 4 % 4};
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		after = before;
		if (vop3)
			emit_vop3(&program, "v_cndmask_b32", 4, VGPR(4), SGPR(7), SGPR(12),
				  &modifiers);
		else
			emit_vop2(&program, "v_cndmask_b32", 4, SGPR(7), 4);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint64_t mask = pair(&before.scalar[vop3 ? 12 : SOFTGPU_CODE_VCC]);
			const bool second = mask >> lane & 1;
			uint32_t value = second != vop3 ? before.vgpr[4][lane] : before.scalar[7];

			if (vop3 && modifiers.abs >> second & 1)
				value &= 0x7fffffff;
			if (vop3 && modifiers.neg >> second & 1)
				value ^= 0x80000000;
			if (vector_wave->exec >> lane & 1)
				after.vgpr[4][lane] = value;
		}
		vector_execute(&program);
		vector_compare(&after, "v_cndmask_b32");
	}
}
END_TEST

/* The same with parts of operands and moved lanes, where the masks are VCC. */
START_TEST(masks_of_other_forms)
{
	static const struct isa_modifiers parts = {
		.sdwa_source = {SOFTGPU_SDWA_WORD_1, SOFTGPU_SDWA_BYTE_3},
		.sdwa_destination = SOFTGPU_SDWA_DWORD};
	static const struct isa_modifiers mirror = {
		.dpp_control = 0x140, .dpp_row_mask = 15, .dpp_bank_mask = 15, .dpp_bound_ctrl = 1};

	for (unsigned int round = 0; round < 20; round++) {
		struct isa_program program = {.count = 0};
		uint64_t mask = 0;

		vector_randomize();
		vector_save(&before);
		after = before;
		/* The select reads the mask that the difference leaves. */
		emit_sdwa(&program, SOFTGPU_VOP2, "v_subb_co_u32", 8, VGPR(4), VGPR(5), &parts);
		emit_dpp(&program, SOFTGPU_VOP2, "v_cndmask_b32", 9, VGPR(6), 7, &mirror);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const unsigned int other = lane / 16 * 16 + 15 - lane % 16;
			const int64_t difference =
				(int64_t)(before.vgpr[4][lane] >> 16) -
				(int64_t)(before.vgpr[5][lane] >> 24) -
				(before.scalar[SOFTGPU_CODE_VCC + lane / 32] >> lane % 32 & 1);

			if (!(vector_wave->exec >> lane & 1))
				continue;
			if (difference < 0)
				mask |= UINT64_C(1) << lane;
			after.vgpr[8][lane] = (uint32_t)difference;
			after.vgpr[9][lane] = difference < 0 ? before.vgpr[7][lane]
					      : vector_wave->exec >> other & 1
						      ? before.vgpr[6][other]
						      : 0;
		}
		memcpy(&after.scalar[SOFTGPU_CODE_VCC], &mask, sizeof(mask));
		vector_execute(&program);
		vector_compare(&after, "masks of SDWA and DPP");
	}
}
END_TEST

START_TEST(wide_products)
{
	for (unsigned int round = 0; round < 40; round++) {
		const bool is_signed = round % 2;
		const struct isa_modifiers modifiers = {.scalar_destination = 14};
		/* The destination may hold any of the sources. */
		const unsigned int destination = isa_random() % 5 * 2;
		struct isa_program program = {.count = 0};
		uint64_t mask = 0;

		vector_randomize();
		vector_save(&before);
		after = before;
		emit_vop3(&program, is_signed ? "v_mad_i64_i32" : "v_mad_u64_u32", destination,
			  VGPR(5), VGPR(3), VGPR(6), &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			const uint64_t a = before.vgpr[5][lane], b = before.vgpr[3][lane];
			const uint64_t c =
				(uint64_t)before.vgpr[7][lane] << 32 | before.vgpr[6][lane];
			const __int128 sum =
				is_signed ? (__int128)(int32_t)a * (int32_t)b + (int64_t)c
					  : (__int128)((unsigned __int128)(a * b) + c);

			if (!(vector_wave->exec >> lane & 1))
				continue;
			after.vgpr[destination][lane] = (uint32_t)sum;
			after.vgpr[destination + 1][lane] = (uint32_t)(sum >> 32);
			if (is_signed ? sum < 0 : sum > UINT64_MAX)
				mask |= UINT64_C(1) << lane;
		}
		memcpy(&after.scalar[14], &mask, sizeof(mask));
		vector_execute(&program);
		vector_compare(&after, "wide product");
	}
}
END_TEST

START_TEST(single_lanes)
{
	for (unsigned int round = 0; round < 40; round++) {
		struct isa_program program = {.count = 0};
		unsigned int first = 0;

		vector_randomize();
		if (round % 8 == 0)
			vector_wave->exec = 0;
		vector_save(&before);
		after = before;
		while (vector_wave->exec && !(vector_wave->exec >> first & 1))
			first++;
		emit_vop1(&program, "v_readfirstlane_b32", 10, VGPR(4));
		emit_vop3(&program, "v_readlane_b32", 11, VGPR(5), SGPR(40), 0, NULL);
		emit_vop3(&program, "v_readlane_b32", 12, VGPR(5), SOFTGPU_CODE_ZERO + 63, 0, NULL);
		emit_vop3(&program, "v_writelane_b32", 6, SGPR(41), SOFTGPU_CODE_M0, 0, NULL);
		emit_vop3(&program, "v_writelane_b32", 7, SOFTGPU_CODE_MINUS_ONE,
			  SOFTGPU_CODE_ZERO + 5, 0, NULL);
		after.scalar[10] = before.vgpr[4][first];
		after.scalar[11] = before.vgpr[5][before.scalar[40] % 64];
		after.scalar[12] = before.vgpr[5][63];
		after.vgpr[6][before.scalar[SOFTGPU_CODE_M0] % 64] = before.scalar[41];
		after.vgpr[7][5] = 0xffffffff;
		vector_execute(&program);
		vector_compare(&after, "single lanes");
	}
}
END_TEST

/* Counts the bits of a mask that belong to lower lanes, in two steps. */
START_TEST(count_of_lower_lanes)
{
	struct isa_program program = {.count = 0};

	emit_vop3(&program, "v_mbcnt_lo_u32_b32", 4, SGPR(20), SOFTGPU_CODE_ZERO + 7, 0, NULL);
	emit_vop3(&program, "v_mbcnt_hi_u32_b32", 4, SGPR(21), VGPR(4), 0, NULL);
	for (unsigned int round = 0; round < 20; round++) {
		unsigned int count = 7;

		vector_randomize();
		vector_save(&after);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			if (vector_wave->exec >> lane & 1)
				after.vgpr[4][lane] = count;
			count += after.scalar[20 + lane / 32] >> lane % 32 & 1;
		}
		vector_execute(&program);
		vector_compare(&after, "v_mbcnt");
	}
}
END_TEST

START_TEST(exchange)
{
	struct isa_program program = {.count = 0};

	emit_vop1(&program, "v_swap_b32", 4, VGPR(5));
	emit_vop3p(&program, "v_accvgpr_write_b32", 64, VGPR(6), 0, 0, NULL);
	emit_vop3p(&program, "v_accvgpr_write_b32", 128, SOFTGPU_CODE_ZERO + 9, 0, 0, NULL);
	emit_vop1(&program, "v_accvgpr_mov_b32", 192, VGPR(64));
	emit_vop3p(&program, "v_accvgpr_read_b32", 7, VGPR(192), 0, 0, NULL);
	emit_vop1(&program, "v_nop", 0, 0);
	emit_vop1(&program, "v_clrexcp", 0, 0);
	for (unsigned int round = 0; round < 20; round++) {
		vector_randomize();
		vector_save(&before);
		after = before;
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			if (!(vector_wave->exec >> lane & 1))
				continue;
			after.vgpr[4][lane] = before.vgpr[5][lane];
			after.vgpr[5][lane] = before.vgpr[4][lane];
			after.vgpr[256 + 64][lane] = before.vgpr[6][lane];
			after.vgpr[256 + 128][lane] = 9;
			after.vgpr[256 + 192][lane] = before.vgpr[6][lane];
			after.vgpr[7][lane] = before.vgpr[6][lane];
		}
		vector_execute(&program);
		vector_compare(&after, "exchange");
	}
}
END_TEST

START_TEST(packed_move)
{
	for (unsigned int choice = 0; choice < 4; choice++) {
		const struct isa_modifiers modifiers = {.op_sel = choice, .op_sel_hi = 7};
		struct isa_program program = {.count = 0};

		vector_randomize();
		vector_save(&before);
		after = before;
		emit_vop3p(&program, "v_pk_mov_b32", 4, VGPR(6), VGPR(4), 0, &modifiers);
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
			if (!(vector_wave->exec >> lane & 1))
				continue;
			after.vgpr[4][lane] = before.vgpr[6 + choice % 2][lane];
			after.vgpr[5][lane] = before.vgpr[4 + choice / 2][lane];
		}
		vector_execute(&program);
		vector_compare(&after, "v_pk_mov_b32");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_vector_lane");
	TCase *tcase = tcase_create("lane");

	tcase_add_checked_fixture(tcase, vector_open, vector_close);
	tcase_add_test(tcase, carry);
	tcase_add_test(tcase, clamped_carry);
	tcase_add_test(tcase, carry_chain);
	tcase_add_test(tcase, select_by_mask);
	tcase_add_test(tcase, masks_of_other_forms);
	tcase_add_test(tcase, wide_products);
	tcase_add_test(tcase, single_lanes);
	tcase_add_test(tcase, count_of_lower_lanes);
	tcase_add_test(tcase, exchange);
	tcase_add_test(tcase, packed_move);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
