/* SPDX-License-Identifier: MIT */
/* SMEM, FLAT, GLOBAL, SCRATCH and MUBUF: loads, stores, ranges and faults. Untouched bytes too. */
#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 20
#define AREA   8192 /* bytes of memory that a test uses */

struct access {
	const char *name; /* behind "global_load_" and the like */
	unsigned int bytes;
	bool is_signed;
	enum {
		WHOLE,
		LOW,
		HIGH,
	} half;
};

static const struct access loads[] = {
	{"ubyte", 1, false, WHOLE},    {"sbyte", 1, true, WHOLE},
	{"ushort", 2, false, WHOLE},   {"sshort", 2, true, WHOLE},
	{"dword", 4, false, WHOLE},    {"dwordx2", 8, false, WHOLE},
	{"dwordx3", 12, false, WHOLE}, {"dwordx4", 16, false, WHOLE},
	{"ubyte_d16", 1, false, LOW},  {"ubyte_d16_hi", 1, false, HIGH},
	{"sbyte_d16", 1, true, LOW},   {"sbyte_d16_hi", 1, true, HIGH},
	{"short_d16", 2, false, LOW},  {"short_d16_hi", 2, false, HIGH},
};

static const struct access stores[] = {
	{"byte", 1, false, WHOLE},     {"byte_d16_hi", 1, false, HIGH},
	{"short", 2, false, WHOLE},    {"short_d16_hi", 2, false, HIGH},
	{"dword", 4, false, WHOLE},    {"dwordx2", 8, false, WHOLE},
	{"dwordx3", 12, false, WHOLE}, {"dwordx4", 16, false, WHOLE},
};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* How a test forms addresses. */
enum mode {
	FLAT,
	FLAT_LDS,
	FLAT_PRIVATE,
	GLOBAL,
	GLOBAL_SADDR,
	SCRATCH,
	BUFFER_OFFEN,
	BUFFER_IDXEN,	/* stride 64, index and offset */
	BUFFER_SCRATCH, /* swizzled */
	MODES,
};

static const char *const prefixes[MODES] = {"flat_",	"flat_",   "flat_",   "global_", "global_",
					    "scratch_", "buffer_", "buffer_", "buffer_"};

struct test {
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	enum mode mode;
	int immediate;
	uint32_t position[64]; /* of each lane's access, in bytes of its space */
};

/*
 * Registers: v[2:3] address, v[8:11] data, v[16:19] result; s[40:41] base, s[44:47] resource.
 */
static void emit_access(struct isa_program *program, enum mode mode, const char *name,
			int immediate)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", prefixes[mode], name);
	switch (mode) {
	case FLAT:
	case FLAT_LDS:
	case FLAT_PRIVATE:
		emit_flat(program, SOFTGPU_FLAT, full, 16, 2, 8, 0, immediate, 0);
		break;
	case GLOBAL:
		emit_flat(program, SOFTGPU_GLOBAL, full, 16, 2, 8, 0x7f, immediate, 0);
		break;
	case GLOBAL_SADDR:
		emit_flat(program, SOFTGPU_GLOBAL, full, 16, 2, 8, 40, immediate, 0);
		break;
	case SCRATCH:
		emit_flat(program, SOFTGPU_SCRATCH, full, 16, 2, 8, 0x7f, immediate, 0);
		break;
	case BUFFER_OFFEN:
	case BUFFER_SCRATCH:
		emit_mubuf(program, full, strncmp(name, "load", 4) == 0 ? 16 : 8, 2, 44, 50,
			   (unsigned int)immediate, SOFTGPU_OFFEN);
		break;
	default:
		emit_mubuf(program, full, strncmp(name, "load", 4) == 0 ? 16 : 8, 2, 44, 50,
			   (unsigned int)immediate, SOFTGPU_OFFEN | SOFTGPU_IDXEN);
	}
	emit_end(program);
}

static bool is_private(enum mode mode)
{
	return mode == FLAT_PRIVATE || mode == SCRATCH || mode == BUFFER_SCRATCH;
}

static void set_lane(struct test *test, unsigned int lane, uint64_t address)
{
	test->wave->vgpr[2][lane] = (uint32_t)address;
	test->wave->vgpr[3][lane] = (uint32_t)(address >> 32);
}

static void setup(struct test *test, enum mode mode, const char *name, unsigned int bytes)
{
	static const int immediates[MODES] = {64, 32, 16, -128, 256, -8, 100, 12, 20};
	struct isa_program program = {0};
	struct isa_options options = {.group_segment_size = AREA, .private_segment_size = 128};
	uint64_t base;
	uint8_t *memory, *scratch;

	test->mode = mode;
	test->immediate = immediates[mode];
	emit_access(&program, mode, name, test->immediate);
	test->machine = isa_setup(&program, &options);
	test->wave = isa_wave(test->machine, 0);
	memory = isa_memory(test->machine);
	scratch = isa_scratch(test->machine);
	base = (uintptr_t)memory;
	for (int i = 0; i < AREA; i++) {
		memory[i] = (uint8_t)isa_random();
		scratch[i] = (uint8_t)isa_random();
		isa_workgroup(test->machine)->lds[i] = (uint8_t)isa_random();
	}
	test->wave->exec = isa_random64();
	test->wave->flat_scratch = (uintptr_t)scratch;
	for (int i = 8; i < 24; i++)
		for (int lane = 0; lane < 64; lane++)
			test->wave->vgpr[i][lane] = isa_random_operand();

	softgpu_write_scalar64(test->wave, 40, base + 1000);
	test->wave->sgpr[50] = mode == BUFFER_SCRATCH ? 0 : 64;
	test->wave->sgpr[44] = (uint32_t)base;
	test->wave->sgpr[45] = (uint32_t)(base >> 32) | (mode == BUFFER_IDXEN ? 64u << 16 : 0);
	test->wave->sgpr[46] = mode == BUFFER_IDXEN ? AREA / 64 : AREA;
	test->wave->sgpr[47] = 0x27000;
	if (mode == BUFFER_SCRATCH)
		memcpy(&test->wave->sgpr[44], &test->wave->sgpr[0], 16);

	for (unsigned int lane = 0; lane < 64; lane++) {
		/* Lanes must not overlap in stores; half of the rounds are unaligned. */
		uint32_t slack = 32 - bytes;
		uint32_t at = isa_random() % (slack + 1) & ~(isa_random() & 1 ? 3u : 0u);
		uint32_t position = is_private(mode) ? 32 + at : 2000 + lane * 32 + at;
		uint32_t immediate = (uint32_t)test->immediate;

		test->position[lane] = position;
		switch (mode) {
		case FLAT:
		case GLOBAL:
			set_lane(test, lane, base + position - (uint64_t)(int64_t)test->immediate);
			break;
		case FLAT_LDS:
			set_lane(test, lane, ((uint64_t)2 << 48) + position - immediate);
			break;
		case FLAT_PRIVATE:
			set_lane(test, lane, ((uint64_t)1 << 48) + position - immediate);
			break;
		case GLOBAL_SADDR:
			set_lane(test, lane, position - 1000 - immediate);
			break;
		case SCRATCH:
		case BUFFER_SCRATCH:
			set_lane(test, lane, position - immediate);
			break;
		case BUFFER_OFFEN:
			set_lane(test, lane, position - 64 - immediate);
			break;
		default:
			/* Index, then offset. */
			position -= 64 + immediate;
			test->wave->vgpr[2][lane] = position / 64;
			test->wave->vgpr[3][lane] = position % 64;
		}
	}
}

/* The byte at `offset` of a lane's access. */
static uint8_t *byte_of(struct test *test, unsigned int lane, unsigned int offset)
{
	uint32_t position = test->position[lane] + offset;

	if (is_private(test->mode))
		return isa_scratch(test->machine) + position / 4 * 256 + lane * 4 + position % 4;
	if (test->mode == FLAT_LDS)
		return isa_workgroup(test->machine)->lds + position;
	return isa_memory(test->machine) + position;
}

static uint32_t expected_load(struct test *test, const struct access *access, unsigned int lane,
			      unsigned int dword, uint32_t before)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < 4 && 4 * dword + i < access->bytes; i++)
		value |= (uint32_t)*byte_of(test, lane, 4 * dword + i) << 8 * i;
	if (access->is_signed && access->bytes == 1 && value & 0x80)
		value |= 0xffffff00;
	if (access->is_signed && access->bytes == 2 && value & 0x8000)
		value |= 0xffff0000;
	if (access->half == LOW)
		return (before & 0xffff0000) | (value & 0xffff);
	if (access->half == HIGH)
		return (before & 0xffff) | value << 16;
	return value;
}

START_TEST(load)
{
	const struct access *access = &loads[_i % COUNT(loads)];
	enum mode mode = (enum mode)(_i / COUNT(loads));
	char name[32];

	snprintf(name, sizeof(name), "load_%s", access->name);
	for (int round = 0; round < ROUNDS; round++) {
		struct test test;
		uint32_t before[8][64];
		unsigned int dwords = (access->bytes + 3) / 4;

		setup(&test, mode, name, access->bytes);
		memcpy(before, test.wave->vgpr[16], sizeof(before));
		isa_run(test.machine);
		for (unsigned int lane = 0; lane < 64; lane++) {
			bool active = test.wave->exec >> lane & 1;

			for (unsigned int i = 0; i < 8; i++) {
				uint32_t expected = before[i][lane];

				if (active && i < dwords)
					expected = expected_load(&test, access, lane, i, expected);
				ck_assert_msg(test.wave->vgpr[16 + i][lane] == expected,
					      "%s%s lane %u dword %u: 0x%x, expected 0x%x",
					      prefixes[mode], name, lane, i,
					      test.wave->vgpr[16 + i][lane], expected);
			}
		}
		isa_teardown(test.machine);
	}
}
END_TEST

START_TEST(store)
{
	const struct access *access = &stores[_i % COUNT(stores)];
	enum mode mode = (enum mode)(_i / COUNT(stores));
	static uint8_t before[3][AREA];
	char name[32];

	snprintf(name, sizeof(name), "store_%s", access->name);
	for (int round = 0; round < ROUNDS; round++) {
		uint8_t *spaces[3];
		struct test test;

		setup(&test, mode, name, access->bytes);
		spaces[0] = isa_memory(test.machine);
		spaces[1] = isa_scratch(test.machine);
		spaces[2] = isa_workgroup(test.machine)->lds;
		for (int i = 0; i < 3; i++)
			memcpy(before[i], spaces[i], AREA);
		isa_run(test.machine);
		/* What was stored, then put back: the rest must be as before. */
		for (unsigned int lane = 0; lane < 64; lane++) {
			if (!(test.wave->exec >> lane & 1))
				continue;
			for (unsigned int i = 0; i < access->bytes; i++) {
				uint8_t *byte = byte_of(&test, lane, i);
				uint32_t value = test.wave->vgpr[8 + i / 4][lane];

				if (access->half == HIGH)
					value >>= 16;
				ck_assert_msg(*byte == (uint8_t)(value >> i % 4 * 8),
					      "%s%s lane %u byte %u", prefixes[mode], name, lane,
					      i);
				for (int space = 0; space < 3; space++)
					if (byte >= spaces[space] && byte < spaces[space] + AREA)
						*byte = before[space][byte - spaces[space]];
			}
		}
		for (int i = 0; i < 3; i++)
			ck_assert_mem_eq(spaces[i], before[i], AREA);
		isa_teardown(test.machine);
	}
}
END_TEST

/* All lanes, neighbours without gaps: a copy. And once with a gap in the middle. */
START_TEST(contiguous)
{
	static const struct {
		const char *load, *store;
		unsigned int bytes;
	} cases[] = {
		{"load_ubyte", "store_byte", 1},       {"load_ushort", "store_short", 2},
		{"load_dword", "store_dword", 4},      {"load_dwordx2", "store_dwordx2", 8},
		{"load_dwordx3", "store_dwordx3", 12}, {"load_dwordx4", "store_dwordx4", 16},
	};

	for (int i = 0; i < 2 * COUNT(cases); i++) {
		unsigned int bytes = cases[i / 2].bytes;
		uint64_t gap = i % 2 ? 48 : 0;
		struct isa_program program = {0};
		struct isa_machine *machine;
		uint8_t *memory, expected[AREA];
		char name[64];

		snprintf(name, sizeof(name), "global_%s", cases[i / 2].load);
		emit_flat(&program, SOFTGPU_GLOBAL, name, 8, 2, 0, 0x7f, 0, 0);
		snprintf(name, sizeof(name), "global_%s", cases[i / 2].store);
		emit_flat(&program, SOFTGPU_GLOBAL, name, 0, 4, 8, 0x7f, 0, 0);
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		memory = isa_memory(machine);
		for (unsigned int n = 0; n < AREA; n++)
			memory[n] = expected[n] = (uint8_t)isa_random();
		for (unsigned int lane = 0; lane < 64; lane++) {
			uint64_t at = 101 + lane * bytes + (lane >= 30 ? gap : 0);

			softgpu_write_vgpr64(isa_wave(machine, 0), 2, lane, (uintptr_t)memory + at);
			softgpu_write_vgpr64(isa_wave(machine, 0), 4, lane,
					     (uintptr_t)memory + 4000 + at);
			memcpy(expected + 4000 + at, expected + at, bytes);
		}
		isa_run(machine);
		ck_assert_mem_eq(memory, expected, AREA);
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(scalar_loads)
{
	static const struct {
		const char *name;
		unsigned int dwords;
	} cases[] = {{"s_load_dword", 1},
		     {"s_load_dwordx2", 2},
		     {"s_load_dwordx4", 4},
		     {"s_load_dwordx8", 8},
		     {"s_load_dwordx16", 16}};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct isa_program program = {0};
		struct isa_machine *machine;
		struct softgpu_wave *wave;
		uint32_t *memory;

		/* An immediate, one that is negative, and an SGPR; the low address bits drop. */
		emit_smem(&program, cases[n].name, 48, 40, 64);
		emit_smem(&program, cases[n].name, 64, 40, -100);
		emit(&program, 0xc0000000 | (uint32_t)(n << 18 | 80 << 6 | 40 >> 1));
		emit(&program, 44);
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		wave = isa_wave(machine, 0);
		memory = (uint32_t *)isa_memory(machine);
		for (int i = 0; i < 256; i++)
			memory[i] = isa_random();
		softgpu_write_scalar64(wave, 40, (uintptr_t)&memory[100]);
		wave->sgpr[44] = 203;
		for (int i = 48; i < 96; i++)
			wave->sgpr[i] = 0x1000 + (uint32_t)i;
		isa_run(machine);
		for (unsigned int i = 0; i < 16; i++) {
			bool loaded = i < cases[n].dwords;

			ck_assert_uint_eq(wave->sgpr[48 + i],
					  loaded ? memory[116 + i] : 0x1030 + i);
			ck_assert_uint_eq(wave->sgpr[64 + i], loaded ? memory[75 + i] : 0x1040 + i);
			ck_assert_uint_eq(wave->sgpr[80 + i],
					  loaded ? memory[150 + i] : 0x1050 + i);
		}
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(scalar_stores_and_buffers)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint32_t *memory;

	emit_smem(&program, "s_store_dwordx2", 20, 40, 16);
	emit_smem(&program, "s_buffer_load_dwordx4", 24, 44, 24);  /* two of four inside */
	emit_smem(&program, "s_buffer_store_dwordx2", 20, 44, 28); /* one of two inside */
	emit_smem(&program, "s_dcache_wb", 0, 0, 0);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	memory = (uint32_t *)isa_memory(machine);
	for (uint32_t i = 0; i < 64; i++)
		memory[i] = i;
	softgpu_write_scalar64(wave, 40, (uintptr_t)memory);
	softgpu_write_scalar64(wave, 44, (uintptr_t)&memory[16]);
	wave->sgpr[46] = 32;
	wave->sgpr[47] = 0x27000;
	wave->sgpr[20] = 0xaaaa;
	wave->sgpr[21] = 0xbbbb;
	isa_run(machine);
	ck_assert_uint_eq(wave->sgpr[24], 22);
	ck_assert_uint_eq(wave->sgpr[25], 23);
	ck_assert_uint_eq(wave->sgpr[26], 0);
	ck_assert_uint_eq(wave->sgpr[27], 0);
	for (uint32_t i = 0; i < 64; i++)
		ck_assert_uint_eq(memory[i], i == 4 || i == 23 ? 0xaaaa : i == 5 ? 0xbbbb : i);
	isa_teardown(machine);
}
END_TEST

START_TEST(buffer_range)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint32_t *memory;

	/* 100 bytes of buffer: dwords 0..24; lanes beyond read 0 and write nothing. */
	emit_mubuf(&program, "buffer_load_dword", 16, 2, 44, INLINE_INT(0), 0, SOFTGPU_OFFEN);
	emit_mubuf(&program, "buffer_store_dword", 8, 2, 44, INLINE_INT(0), 0, SOFTGPU_OFFEN);
	emit_mubuf(&program, "buffer_atomic_add", 9, 2, 44, INLINE_INT(0), 0,
		   SOFTGPU_OFFEN | SOFTGPU_GLC);
	emit_mubuf(&program, "buffer_wbinvl1_vol", 0, 0, 0, 0, 0, 0);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	memory = (uint32_t *)isa_memory(machine);
	softgpu_write_scalar64(wave, 44, (uintptr_t)memory);
	wave->sgpr[46] = 100;
	wave->sgpr[47] = 0x27000;
	for (uint32_t i = 0; i < 64; i++) {
		memory[i] = 1000 + i;
		wave->vgpr[2][i] = 4 * i;
		wave->vgpr[8][i] = 500 + i;
		wave->vgpr[9][i] = 7;
		wave->vgpr[16][i] = 1;
	}
	isa_run(machine);
	for (uint32_t i = 0; i < 64; i++) {
		bool inside = i < 25;

		ck_assert_uint_eq(wave->vgpr[16][i], inside ? 1000 + i : 0);
		ck_assert_uint_eq(wave->vgpr[9][i], inside ? 500 + i : 0);
		ck_assert_uint_eq(memory[i], inside ? 507 + i : 1000 + i);
	}
	isa_teardown(machine);
}
END_TEST

START_TEST(load_to_lds)
{
	struct isa_program program = {0};
	struct isa_options options = {.group_segment_size = 1024};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint32_t *memory, *lds;

	emit_flat(&program, SOFTGPU_GLOBAL, "global_load_dword", 0, 2, 0, 0x7f, 8, 0);
	program.code[0] |= 1 << 13;
	emit_end(&program);
	machine = isa_setup(&program, &options);
	wave = isa_wave(machine, 0);
	memory = (uint32_t *)isa_memory(machine);
	lds = (uint32_t *)isa_workgroup(machine)->lds;
	wave->m0 = 256;
	wave->exec &= ~(uint64_t)4;
	for (uint32_t i = 0; i < 64; i++) {
		uint64_t address = (uintptr_t)&memory[3 * i];

		memory[3 * i + 2] = 7000 + i;
		wave->vgpr[2][i] = (uint32_t)address;
		wave->vgpr[3][i] = (uint32_t)(address >> 32);
	}
	isa_run(machine);
	for (uint32_t i = 0; i < 256; i++)
		ck_assert_uint_eq(lds[i], i < 66 || i >= 130 || i == 68 ? 0 : 7000 + i - 66);
	isa_teardown(machine);
}
END_TEST

START_TEST(faults_name_the_address)
{
	for (int write = 0; write < 2; write++) {
		struct isa_program program = {0};
		struct isa_machine *machine;
		struct softgpu_wave *wave;
		const struct softgpu_fault *fault;

		emit_flat(&program, SOFTGPU_GLOBAL,
			  write ? "global_store_dword" : "global_load_dword", 4, 2, 8, 0x7f, 0, 0);
		emit_end(&program);
		machine = isa_setup(&program, NULL);
		wave = isa_wave(machine, 0);
		wave->exec = (uint64_t)1 << 17;
		wave->vgpr[2][17] = 0x5678;
		wave->vgpr[3][17] = 0x1234;
		fault = isa_run_to_fault(machine);
		ck_assert_int_eq(fault->kind, SOFTGPU_FAULT_MEMORY);
		ck_assert_uint_eq(fault->address, 0x123400005678);
		ck_assert_int_eq(fault->write, write);
		ck_assert_ptr_nonnull(strstr(fault->message, "0x123400005678"));
		isa_teardown(machine);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_memory");
	TCase *test_case = tcase_create("memory");

	tcase_set_timeout(test_case, 30);
	tcase_add_loop_test(test_case, load, 0, MODES * COUNT(loads));
	tcase_add_loop_test(test_case, store, 0, MODES * COUNT(stores));
	tcase_add_test(test_case, contiguous);
	tcase_add_test(test_case, scalar_loads);
	tcase_add_test(test_case, scalar_stores_and_buffers);
	tcase_add_test(test_case, buffer_range);
	tcase_add_test(test_case, load_to_lds);
	tcase_add_test(test_case, faults_name_the_address);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
