/* SPDX-License-Identifier: MIT */
/* Atomics of memory and LDS against the same arithmetic in C. */
#include "../run_suite.h"
#include "isa_harness.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 60

static float as_float(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* m: memory, d: data, c: the second operand. */
struct model {
	const char *name; /* without the family's prefix */
	unsigned int bytes;
	bool two_operands;
	uint64_t (*compute)(uint64_t m, uint64_t d, uint64_t c);
};

#define MODEL(name, expression)                                                                    \
	static uint64_t model_##name(uint64_t m, uint64_t d, uint64_t c)                           \
	{                                                                                          \
		(void)m;                                                                           \
		(void)d;                                                                           \
		(void)c;                                                                           \
		return (uint64_t)(expression);                                                     \
	}

MODEL(swap, d)
MODEL(cmpswap, m == c ? d : m)
MODEL(add, m + d)
MODEL(sub, m - d)
MODEL(rsub, d - m)
MODEL(smin32, (int32_t)d < (int32_t)m ? d : m)
MODEL(smin64, (int64_t)d < (int64_t)m ? d : m)
MODEL(umin, d < m ? d : m)
MODEL(smax32, (int32_t)d > (int32_t)m ? d : m)
MODEL(smax64, (int64_t)d > (int64_t)m ? d : m)
MODEL(umax, d > m ? d : m)
MODEL(and, m &d)
MODEL(or, m | d)
MODEL(xor, m ^ d)
MODEL(inc, m >= d ? 0 : m + 1)
MODEL(dec, m == 0 || m > d ? d : m - 1)
MODEL(add_f32, float_bits(as_float(m) + as_float(d)))
MODEL(add_f64, double_bits(as_double(m) + as_double(d)))
MODEL(min_f32, float_bits(fminf(as_float(m), as_float(d))))
MODEL(max_f32, float_bits(fmaxf(as_float(m), as_float(d))))
MODEL(min_f64, double_bits(fmin(as_double(m), as_double(d))))
MODEL(max_f64, double_bits(fmax(as_double(m), as_double(d))))
/* The LDS forms have the operand to compare with, or the mask, first. */
MODEL(ds_cmpst, m == d ? c : m)
MODEL(ds_cmpst_f32, as_float(m) == as_float(d) ? c : m)
MODEL(ds_mskor, (m & ~d) | c)
MODEL(ds_wrap, m >= d ? m - d : m + c)

static const struct model models[] = {
	{"swap", 4, false, model_swap},		{"cmpswap", 4, true, model_cmpswap},
	{"add", 4, false, model_add},		{"sub", 4, false, model_sub},
	{"smin", 4, false, model_smin32},	{"umin", 4, false, model_umin},
	{"smax", 4, false, model_smax32},	{"umax", 4, false, model_umax},
	{"and", 4, false, model_and},		{"or", 4, false, model_or},
	{"xor", 4, false, model_xor},		{"inc", 4, false, model_inc},
	{"dec", 4, false, model_dec},		{"add_f32", 4, false, model_add_f32},
	{"add_f64", 8, false, model_add_f64},	{"min_f64", 8, false, model_min_f64},
	{"max_f64", 8, false, model_max_f64},	{"swap_x2", 8, false, model_swap},
	{"cmpswap_x2", 8, true, model_cmpswap}, {"add_x2", 8, false, model_add},
	{"sub_x2", 8, false, model_sub},	{"smin_x2", 8, false, model_smin64},
	{"umin_x2", 8, false, model_umin},	{"smax_x2", 8, false, model_smax64},
	{"umax_x2", 8, false, model_umax},	{"and_x2", 8, false, model_and},
	{"or_x2", 8, false, model_or},		{"xor_x2", 8, false, model_xor},
	{"inc_x2", 8, false, model_inc},	{"dec_x2", 8, false, model_dec},
};

static const struct model ds_models[] = {
	{"add_@u32", 4, false, model_add},
	{"sub_@u32", 4, false, model_sub},
	{"rsub_@u32", 4, false, model_rsub},
	{"inc_@u32", 4, false, model_inc},
	{"dec_@u32", 4, false, model_dec},
	{"min_@i32", 4, false, model_smin32},
	{"max_@i32", 4, false, model_smax32},
	{"min_@u32", 4, false, model_umin},
	{"max_@u32", 4, false, model_umax},
	{"and_@b32", 4, false, model_and},
	{"or_@b32", 4, false, model_or},
	{"xor_@b32", 4, false, model_xor},
	{"mskor_@b32", 4, true, model_ds_mskor},
	{"cmpst_@b32", 4, true, model_ds_cmpst},
	{"cmpst_@f32", 4, true, model_ds_cmpst_f32},
	{"min_@f32", 4, false, model_min_f32},
	{"max_@f32", 4, false, model_max_f32},
	{"add_@f32", 4, false, model_add_f32},
	{"add_@u64", 8, false, model_add},
	{"sub_@u64", 8, false, model_sub},
	{"rsub_@u64", 8, false, model_rsub},
	{"inc_@u64", 8, false, model_inc},
	{"dec_@u64", 8, false, model_dec},
	{"min_@i64", 8, false, model_smin64},
	{"max_@i64", 8, false, model_smax64},
	{"min_@u64", 8, false, model_umin},
	{"max_@u64", 8, false, model_umax},
	{"and_@b64", 8, false, model_and},
	{"or_@b64", 8, false, model_or},
	{"xor_@b64", 8, false, model_xor},
	{"mskor_@b64", 8, true, model_ds_mskor},
	{"cmpst_@b64", 8, true, model_ds_cmpst},
	{"min_@f64", 8, false, model_min_f64},
	{"max_@f64", 8, false, model_max_f64},
	{"add_@f64", 8, false, model_add_f64},
	{"wrxchg_rtn_b32", 4, false, model_swap},
	{"wrxchg_rtn_b64", 8, false, model_swap},
	{"wrap_rtn_b32", 4, true, model_ds_wrap},
};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static uint64_t get(struct softgpu_wave *wave, unsigned int number, unsigned int lane,
		    unsigned int bytes)
{
	return bytes == 8 ? softgpu_vgpr64(wave, number, lane) : wave->vgpr[number][lane];
}

/* Operands that exercise comparison and do not depend on which NaN comes out. */
static uint64_t operand(const struct model *model, uint64_t sometimes)
{
	uint64_t value = model->bytes == 8 ? isa_random_operand64() : isa_random_operand();
	bool is_float = strstr(model->name, "f32") != NULL || strstr(model->name, "f64") != NULL;

	if (isa_random() % 4 == 0)
		return sometimes;
	if (is_float && model->bytes == 4 && isnan(as_float(value)))
		return float_bits(1.5f);
	if (is_float && model->bytes == 8 && isnan(as_double(value)))
		return double_bits(-2.5);
	return value;
}

struct values {
	uint64_t memory[64], data[64], second[64];
};

/* All lanes act on words of their own: results do not depend on their order. */
static void make_values(const struct model *model, struct softgpu_wave *wave, uint8_t *space,
			bool second_follows, struct values *values)
{
	unsigned int second = second_follows ? 8 + model->bytes / 4 : 12;

	for (unsigned int lane = 0; lane < 64; lane++) {
		values->memory[lane] = operand(model, 5);
		values->data[lane] = operand(model, values->memory[lane]);
		values->second[lane] = operand(model, values->memory[lane]);
		/* -0 and +0 compare equal: fmin may return either. */
		if (values->memory[lane] << (64 - 8 * model->bytes + 1) == 0)
			values->memory[lane] = 0;
		if (values->data[lane] << (64 - 8 * model->bytes + 1) == 0)
			values->data[lane] = 0;
		memcpy(space + 8 * lane, &values->memory[lane], 8);
		softgpu_write_vgpr64(wave, 8, lane, values->data[lane]);
		for (unsigned int i = 0; i < model->bytes / 4; i++)
			wave->vgpr[second + i][lane] = (uint32_t)(values->second[lane] >> 32 * i);
		wave->vgpr[16][lane] = wave->vgpr[17][lane] = 0x5a5a5a5a;
	}
}

static void check_values(const struct model *model, struct softgpu_wave *wave, const uint8_t *space,
			 bool returns, const struct values *values)
{
	for (unsigned int lane = 0; lane < 64; lane++) {
		bool active = wave->exec >> lane & 1;
		uint64_t mask = model->bytes == 8 ? UINT64_MAX : UINT32_MAX;
		uint64_t memory = values->memory[lane] & mask, after = 0;
		uint64_t expected = memory;
		uint64_t returned = model->bytes == 8 ? 0x5a5a5a5a5a5a5a5a : 0x5a5a5a5a;

		if (active)
			expected = model->compute(memory, values->data[lane] & mask,
						  values->second[lane] & mask) &
				   mask;
		if (active && returns)
			returned = memory;
		memcpy(&after, space + 8 * lane, model->bytes);
		ck_assert_msg(after == expected && get(wave, 16, lane, model->bytes) == returned,
			      "%s lane %u: memory 0x%llx data 0x%llx second 0x%llx -> 0x%llx "
			      "(expected 0x%llx), returned 0x%llx",
			      model->name, lane, (unsigned long long)memory,
			      (unsigned long long)values->data[lane],
			      (unsigned long long)values->second[lane], (unsigned long long)after,
			      (unsigned long long)expected,
			      (unsigned long long)get(wave, 16, lane, model->bytes));
	}
}

START_TEST(memory_atomic)
{
	const struct model *model = &models[_i];
	static const char *const prefixes[] = {"global_atomic_", "flat_atomic_", "flat_atomic_",
					       "buffer_atomic_"};

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int kind = i % 4; /* 2: flat address of LDS */
		bool returns = i / 4 % 2;
		unsigned int flags = returns ? SOFTGPU_GLC : 0;
		struct isa_program program = {0};
		struct isa_options options = {.group_segment_size = 512};
		struct isa_machine *machine;
		struct softgpu_wave *wave;
		struct values values;
		uint8_t *space;
		char name[64];

		if ((kind == 1 || kind == 2) && strcmp(model->name, "add_f32") == 0)
			continue; /* gfx90a has no such flat atomic */
		snprintf(name, sizeof(name), "%s%s", prefixes[kind], model->name);
		if (kind == 3) {
			emit_mubuf(&program, name, 8, 2, 44, INLINE_INT(0), 0,
				   SOFTGPU_OFFEN | flags);
			/* The result replaces the data: move it to where the others put it. */
			emit_vop1(&program, "v_mov_b32", 16, VGPR(returns ? 8 : 16));
			emit_vop1(&program, "v_mov_b32", 17,
				  VGPR(returns && model->bytes == 8 ? 9 : 17));
		} else {
			emit_flat(&program, kind == 0 ? SOFTGPU_GLOBAL : SOFTGPU_FLAT, name, 16, 2,
				  8, kind == 0 ? 0x7f : 0, 0, flags);
		}
		emit_end(&program);
		machine = isa_setup(&program, &options);
		wave = isa_wave(machine, 0);
		wave->exec = isa_random64();
		space = kind == 2 ? isa_workgroup(machine)->lds : isa_memory(machine) + 512;
		make_values(model, wave, space, true, &values);
		for (unsigned int lane = 0; lane < 64; lane++) {
			uint64_t base = kind == 2 ? (uint64_t)2 << 48 : (uintptr_t)space;

			softgpu_write_vgpr64(wave, 2, lane, (kind == 3 ? 0 : base) + 8 * lane);
		}
		softgpu_write_scalar64(wave, 44, (uintptr_t)space);
		wave->sgpr[46] = 512;
		wave->sgpr[47] = 0x27000;
		isa_run(machine);
		check_values(model, wave, space, returns, &values);
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(lds_atomic)
{
	const struct model *model = &ds_models[_i];
	const char *at = strchr(model->name, '@');

	for (int i = 0; i < ROUNDS; i++) {
		bool returns = at == NULL || i % 2;
		struct isa_program program = {0};
		struct isa_options options = {.group_segment_size = 1024};
		struct isa_machine *machine;
		struct softgpu_wave *wave;
		struct values values;
		uint8_t *space;
		char name[64];

		if (at == NULL)
			snprintf(name, sizeof(name), "ds_%s", model->name);
		else
			snprintf(name, sizeof(name), "ds_%.*s%s%s", (int)(at - model->name),
				 model->name, returns ? "rtn_" : "", at + 1);
		emit_ds(&program, name, 16, 2, 8, 12, 256);
		emit_end(&program);
		machine = isa_setup(&program, &options);
		wave = isa_wave(machine, 0);
		wave->exec = isa_random64();
		space = isa_workgroup(machine)->lds + 256;
		make_values(model, wave, space, false, &values);
		for (unsigned int lane = 0; lane < 64; lane++)
			wave->vgpr[2][lane] = 8 * lane;
		isa_run(machine);
		check_values(model, wave, space, returns, &values);
		isa_teardown(machine);
	}
}
END_TEST

START_TEST(lanes_add_up)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	struct softgpu_wave *wave;
	uint64_t seen = 0;
	uint32_t *memory;

	/* All lanes add 1 to one word: the returned values are all of 0..63. */
	emit_flat(&program, SOFTGPU_GLOBAL, "global_atomic_add", 16, 2, 8, 0x7f, 0, SOFTGPU_GLC);
	emit_flat(&program, SOFTGPU_GLOBAL, "global_atomic_pk_add_f16", 17, 2, 9, 0x7f, 8,
		  SOFTGPU_GLC);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	wave = isa_wave(machine, 0);
	memory = (uint32_t *)isa_memory(machine);
	memory[2] = 0x3c004000; /* 1.0, 2.0 */
	for (unsigned int lane = 0; lane < 64; lane++) {
		softgpu_write_vgpr64(wave, 2, lane, (uintptr_t)memory);
		wave->vgpr[8][lane] = 1;
		wave->vgpr[9][lane] = 0x38004200; /* 0.5, 3.0 */
	}
	isa_run(machine);
	for (unsigned int lane = 0; lane < 64; lane++)
		seen |= (uint64_t)1 << (wave->vgpr[16][lane] & 63);
	ck_assert_uint_eq(memory[0], 64);
	ck_assert_uint_eq(seen, UINT64_MAX);
	ck_assert_uint_eq(memory[2], 0x50205a10); /* 33.0, 194.0 */
	isa_teardown(machine);
}
END_TEST

START_TEST(unaligned_atomic_faults)
{
	struct isa_program program = {0};
	struct isa_machine *machine;
	const struct softgpu_fault *fault;

	emit_flat(&program, SOFTGPU_GLOBAL, "global_atomic_add", 16, 2, 8, 0x7f, 2, 0);
	emit_end(&program);
	machine = isa_setup(&program, NULL);
	softgpu_write_vgpr64(isa_wave(machine, 0), 2, 0, (uintptr_t)isa_memory(machine));
	isa_wave(machine, 0)->exec = 1;
	fault = isa_run_to_fault(machine);
	ck_assert_int_eq(fault->kind, SOFTGPU_FAULT_MEMORY);
	ck_assert_uint_eq(fault->address, (uintptr_t)isa_memory(machine) + 2);
	isa_teardown(machine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("isa_atomic");
	TCase *test_case = tcase_create("atomic");

	tcase_set_timeout(test_case, 30);
	tcase_add_loop_test(test_case, memory_atomic, 0, COUNT(models));
	tcase_add_loop_test(test_case, lds_atomic, 0, COUNT(ds_models));
	tcase_add_test(test_case, lanes_add_up);
	tcase_add_test(test_case, unaligned_atomic_faults);
	suite_add_tcase(suite, test_case);
	return run_suite(suite);
}
