/* SPDX-License-Identifier: MIT */
/* DS: reads, writes, what lies outside LDS, and permutes between lanes. */
#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS	 30
#define LDS_SIZE 65536

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Registers: v2 address, v[8:11] and v[12:15] data, v[16:23] result. */
struct machine {
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint8_t *lds;
};

static struct machine setup(const char *name, unsigned int offset)
{
	struct isa_program program = {0};
	struct isa_options options = {.group_segment_size = LDS_SIZE};
	struct machine m;

	emit_ds(&program, name, 16, 2, 8, 12, offset);
	emit_end(&program);
	m.machine = isa_setup(&program, &options);
	m.wave = isa_wave(m.machine, 0);
	m.lds = isa_workgroup(m.machine)->lds;
	for (int i = 0; i < LDS_SIZE; i++)
		m.lds[i] = (uint8_t)(i * 7 + (i >> 8));
	for (int i = 8; i < 24; i++)
		for (int lane = 0; lane < 64; lane++)
			m.wave->vgpr[i][lane] = isa_random();
	m.wave->exec = isa_random64();
	return m;
}

static bool active(const struct machine *m, unsigned int lane)
{
	return m->wave->exec >> lane & 1;
}

struct access {
	const char *name;
	unsigned int bytes; /* of each part */
	unsigned int unit;  /* two-address forms: bytes that an offset counts; else 0 */
	bool is_signed;
	int half; /* 0: whole, 1: low, 2: high */
};

static const struct access reads[] = {
	{"ds_read_u8", 1, 0, false, 0},		{"ds_read_i8", 1, 0, true, 0},
	{"ds_read_u16", 2, 0, false, 0},	{"ds_read_i16", 2, 0, true, 0},
	{"ds_read_b32", 4, 0, false, 0},	{"ds_read_b64", 8, 0, false, 0},
	{"ds_read_b96", 12, 0, false, 0},	{"ds_read_b128", 16, 0, false, 0},
	{"ds_read_u8_d16", 1, 0, false, 1},	{"ds_read_u8_d16_hi", 1, 0, false, 2},
	{"ds_read_i8_d16", 1, 0, true, 1},	{"ds_read_i8_d16_hi", 1, 0, true, 2},
	{"ds_read_u16_d16", 2, 0, false, 1},	{"ds_read_u16_d16_hi", 2, 0, false, 2},
	{"ds_read2_b32", 4, 4, false, 0},	{"ds_read2_b64", 8, 8, false, 0},
	{"ds_read2st64_b32", 4, 256, false, 0}, {"ds_read2st64_b64", 8, 512, false, 0},
};

static const struct access writes[] = {
	{"ds_write_b8", 1, 0, false, 0},	 {"ds_write_b16", 2, 0, false, 0},
	{"ds_write_b32", 4, 0, false, 0},	 {"ds_write_b64", 8, 0, false, 0},
	{"ds_write_b96", 12, 0, false, 0},	 {"ds_write_b128", 16, 0, false, 0},
	{"ds_write_b8_d16_hi", 1, 0, false, 2},	 {"ds_write_b16_d16_hi", 2, 0, false, 2},
	{"ds_write2_b32", 4, 4, false, 0},	 {"ds_write2_b64", 8, 8, false, 0},
	{"ds_write2st64_b32", 4, 256, false, 0}, {"ds_write2st64_b64", 8, 512, false, 0},
};

static unsigned int make_offset(const struct access *access)
{
	/* Two bytes that count units, or one number. */
	return access->unit != 0 ? 5 | 9 << 8 : 1000;
}

static unsigned int part_offset(const struct access *access, unsigned int part)
{
	return access->unit != 0 ? (part == 0 ? 5 : 9) * access->unit : 1000;
}

static void set_addresses(struct machine *m, const struct access *access)
{
	/* Lanes 60 and up lie partly or wholly outside, the last wraps around 32 bits. */
	for (unsigned int lane = 0; lane < 64; lane++)
		m->wave->vgpr[2][lane] = 20000 + lane * 32 + isa_random() % (17 - access->bytes);
	m->wave->vgpr[2][60] = LDS_SIZE - part_offset(access, 0) - access->bytes;
	m->wave->vgpr[2][61] = LDS_SIZE - part_offset(access, 0) - access->bytes + 1;
	m->wave->vgpr[2][62] = LDS_SIZE;
	m->wave->vgpr[2][63] = 0u - part_offset(access, 0) + 16;
}

static bool part_inside(const struct machine *m, const struct access *access, unsigned int lane,
			unsigned int part, uint32_t *position)
{
	*position = m->wave->vgpr[2][lane] + part_offset(access, part);
	return *position < LDS_SIZE && *position + access->bytes <= LDS_SIZE;
}

static uint32_t expected_dword(const struct machine *m, const struct access *access,
			       unsigned int lane, unsigned int index, uint32_t before)
{
	unsigned int dwords = (access->bytes + 3) / 4;
	unsigned int part = index / dwords, byte = index % dwords * 4;
	uint32_t position, value = 0;

	if (part >= (access->unit != 0 ? 2u : 1u) || !active(m, lane))
		return before;
	if (part_inside(m, access, lane, part, &position))
		for (unsigned int i = 0; i < 4 && byte + i < access->bytes; i++)
			value |= (uint32_t)m->lds[position + byte + i] << 8 * i;
	if (access->is_signed)
		value = access->bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
	if (access->half == 1)
		return (before & 0xffff0000) | (value & 0xffff);
	if (access->half == 2)
		return (before & 0xffff) | value << 16;
	return value;
}

START_TEST(read)
{
	const struct access *access = &reads[_i];

	for (int round = 0; round < ROUNDS; round++) {
		struct machine m = setup(access->name, make_offset(access));
		uint32_t before[8][64];

		set_addresses(&m, access);
		memcpy(before, m.wave->vgpr[16], sizeof(before));
		isa_run(m.machine);
		for (unsigned int lane = 0; lane < 64; lane++)
			for (unsigned int i = 0; i < 8; i++)
				ck_assert_msg(m.wave->vgpr[16 + i][lane] ==
						      expected_dword(&m, access, lane, i,
								     before[i][lane]),
					      "%s lane %u dword %u", access->name, lane, i);
		isa_teardown(m.machine);
	}
}
END_TEST

START_TEST(write)
{
	const struct access *access = &writes[_i];
	static uint8_t expected[LDS_SIZE];

	for (int round = 0; round < ROUNDS; round++) {
		struct machine m = setup(access->name, make_offset(access));

		set_addresses(&m, access);
		memcpy(expected, m.lds, LDS_SIZE);
		for (unsigned int part = 0; part < (access->unit != 0 ? 2u : 1u); part++)
			for (unsigned int lane = 0; lane < 64; lane++) {
				uint32_t position;

				if (!active(&m, lane) ||
				    !part_inside(&m, access, lane, part, &position))
					continue;
				for (unsigned int i = 0; i < access->bytes; i++) {
					uint32_t dword = m.wave->vgpr[8 + 4 * part + i / 4][lane];

					if (access->half == 2)
						dword >>= 16;
					expected[position + i] = (uint8_t)(dword >> i % 4 * 8);
				}
			}
		isa_run(m.machine);
		ck_assert_msg(memcmp(m.lds, expected, LDS_SIZE) == 0, "%s", access->name);
		isa_teardown(m.machine);
	}
}
END_TEST

START_TEST(permutes)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct machine m = setup("ds_bpermute_b32", 8);
		uint32_t pushed[64] = {0};

		for (int lane = 0; lane < 64; lane++)
			m.wave->vgpr[2][lane] = isa_random();
		isa_run(m.machine);
		for (unsigned int lane = 0; lane < 64; lane++) {
			unsigned int from = (m.wave->vgpr[2][lane] + 8) / 4 % 64;

			if (active(&m, lane))
				ck_assert_uint_eq(m.wave->vgpr[16][lane],
						  active(&m, from) ? m.wave->vgpr[8][from] : 0);
		}
		isa_teardown(m.machine);

		m = setup("ds_permute_b32", 4);
		for (int lane = 0; lane < 64; lane++)
			m.wave->vgpr[2][lane] = isa_random();
		isa_run(m.machine);
		for (unsigned int lane = 0; lane < 64; lane++)
			if (active(&m, lane))
				pushed[(m.wave->vgpr[2][lane] + 4) / 4 % 64] =
					m.wave->vgpr[8][lane];
		for (unsigned int lane = 0; lane < 64; lane++)
			if (active(&m, lane))
				ck_assert_uint_eq(m.wave->vgpr[16][lane], pushed[lane]);
		isa_teardown(m.machine);
	}
}
END_TEST

START_TEST(swizzles)
{
	/* Lane 0..31 reads from `from`, written out by hand for each pattern. */
	static const struct {
		unsigned int pattern;
		uint8_t from[8]; /* of the first lanes */
		uint8_t last;	 /* of lane 31 */
	} cases[] = {
		{0x801b, {3, 2, 1, 0, 7, 6, 5, 4}, 28}, /* quads reversed */
		{0x80b1, {1, 0, 3, 2, 5, 4, 7, 6}, 30}, /* neighbours swapped */
		{0x8000, {0, 0, 0, 0, 4, 4, 4, 4}, 28},
		{0x041f, {1, 0, 3, 2, 5, 4, 7, 6}, 30},	       /* xor 1 */
		{0x7c1f, {31, 30, 29, 28, 27, 26, 25, 24}, 0}, /* xor 31 */
		{0x0000, {0, 0, 0, 0, 0, 0, 0, 0}, 0},	       /* broadcast of lane 0 */
		{0x00a0, {5, 5, 5, 5, 5, 5, 5, 5}, 5},	       /* or 5 */
		{0xc060, {3, 4, 5, 6, 7, 8, 9, 10}, 2},	       /* rotate by 3 */
		{0xc460, {29, 30, 31, 0, 1, 2, 3, 4}, 28},     /* and back */
		{0xe01f, {0, 1, 2, 3, 4, 5, 6, 7}, 31},
		{0xe000, {0, 16, 8, 24, 4, 20, 12, 28}, 31}, /* bits reversed */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine m = setup("ds_swizzle_b32", cases[i].pattern);
		uint32_t *in = m.wave->vgpr[2], *out = m.wave->vgpr[16];

		m.wave->exec = ~((uint64_t)1 << 40);
		for (uint32_t lane = 0; lane < 64; lane++)
			in[lane] = 1000 + lane;
		isa_run(m.machine);
		for (uint32_t lane = 0; lane < 8; lane++) {
			uint32_t high = 32 + cases[i].from[lane];

			ck_assert_msg(out[lane] == 1000u + cases[i].from[lane],
				      "pattern 0x%x lane %u: %u", cases[i].pattern, lane,
				      out[lane]);
			/* Lane 40 is off. */
			ck_assert_uint_eq(out[32 + lane], high == 40 ? 0 : 1000 + high);
		}
		ck_assert_uint_eq(out[31], 1000u + cases[i].last);
		isa_teardown(m.machine);
	}
}
END_TEST

START_TEST(wave_counters_and_lane_addresses)
{
	struct isa_program program = {0};
	struct isa_options options = {.group_segment_size = 1024};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint32_t *lds;

	emit_ds(&program, "ds_append", 16, 0, 0, 0, 8);
	emit_ds(&program, "ds_consume", 17, 0, 0, 0, 8);
	emit_ds(&program, "ds_append", 18, 0, 0, 0, 8);
	emit_ds(&program, "ds_write_addtid_b32", 0, 0, 8, 0, 256);
	emit_ds(&program, "ds_read_addtid_b32", 19, 0, 0, 0, 256 + 4);
	emit_ds(&program, "ds_wrxchg2_rtn_b32", 20, 2, 8, 9, 0 | 1 << 8);
	emit_end(&program);
	machine = isa_setup(&program, &options);
	wave = isa_wave(machine, 0);
	lds = (uint32_t *)isa_workgroup(machine)->lds;
	wave->m0 = 16 << 16 | 32; /* counters at 16, lane addresses from 32 */
	wave->exec = 0x00ff00000000000f;
	lds[6] = 100;
	for (uint32_t i = 0; i < 64; i++) {
		wave->vgpr[8][i] = 800 + i;
		wave->vgpr[9][i] = 900 + i;
		wave->vgpr[2][i] = 512 + 8 * i;
		lds[128 + 2 * i] = 2 * i;
		lds[129 + 2 * i] = 2 * i + 1;
	}
	isa_run(machine);
	ck_assert_uint_eq(lds[6], 112);
	for (uint32_t i = 0; i < 64; i++) {
		bool on = wave->exec >> i & 1;

		ck_assert_uint_eq(wave->vgpr[16][i], on ? 100 : 0);
		ck_assert_uint_eq(wave->vgpr[17][i], on ? 112 : 0);
		ck_assert_uint_eq(wave->vgpr[18][i], on ? 100 : 0);
		/* 256 + 32 + 4 * lane, in dwords; beyond it the exchanges' area begins. */
		if (72 + i < 128)
			ck_assert_uint_eq(lds[72 + i], on ? 800 + i : 0);
		ck_assert_uint_eq(wave->vgpr[20][i], on ? 2 * i : 0);
	}
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(wave->vgpr[19][i], 801 + i);
	ck_assert_uint_eq(wave->vgpr[19][3], 0);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(wave->vgpr[21][i], 2 * i + 1);
		ck_assert_uint_eq(lds[128 + 2 * i], 800 + i);
		ck_assert_uint_eq(lds[129 + 2 * i], 900 + i);
	}
	isa_teardown(machine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_lds");
	TCase *test_case = tcase_create("lds");

	tcase_set_timeout(test_case, 30);
	tcase_add_loop_test(test_case, read, 0, COUNT(reads));
	tcase_add_loop_test(test_case, write, 0, COUNT(writes));
	tcase_add_test(test_case, permutes);
	tcase_add_test(test_case, swizzles);
	tcase_add_test(test_case, wave_counters_and_lane_addresses);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
