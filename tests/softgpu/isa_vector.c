/* SPDX-License-Identifier: MIT */
/* Checks vector ALU operations against models in plain C. */
#include "isa_vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The registers that operands are chosen from; few, so that they often overlap. */
#define POOL   12
#define ROUNDS 40

struct softgpu_wave *vector_wave;
static struct isa_machine *machine;

float as_float(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

double half_value(uint64_t bits)
{
	int exponent = (int)(bits >> 10 & 31);
	int mantissa = (int)(bits & 1023);
	double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);

	if (exponent == 31)
		value = mantissa ? NAN : INFINITY;
	return bits & 0x8000 ? -value : value;
}

uint64_t half_bits(long double value)
{
	const uint64_t sign = signbit(value) ? 0x8000 : 0;
	const long double magnitude = fabsl(value);
	uint64_t low = 0, high = 0x7c00;
	long double below, above;

	if (isnan(value))
		return 0x7e00;
	if (magnitude >= 65520.0L)
		return sign | 0x7c00;
	while (high - low > 1) {
		const uint64_t middle = (low + high) / 2;

		if (half_value(middle) <= magnitude)
			low = middle;
		else
			high = middle;
	}
	below = magnitude - half_value(low);
	above = (high == 0x7c00 ? 65536.0L : half_value(high)) - magnitude;
	if (below < above || (below == above && low % 2 == 0))
		return sign | low;
	return sign | high;
}

void vector_open(void)
{
	static const struct isa_program empty;
	struct isa_program program = empty;

	emit_end(&program);
	machine = isa_setup(&program, NULL);
	vector_wave = isa_wave(machine, 0);
}

void vector_close(void)
{
	isa_teardown(machine);
}

void vector_execute(const struct isa_program *program)
{
	for (unsigned int at = 0; at < program->count;) {
		struct softgpu_instruction instruction = {0};
		const uint32_t dwords[2] = {
		    program->code[at],
		    at + 1 < program->count ? program->code[at + 1] : 0,
		};

		ck_assert_msg(softgpu_decode(dwords, &instruction, NULL) == SOFTGPU_DECODED,
			      "0x%08x 0x%08x is not decoded", dwords[0], dwords[1]);
		instruction.operation->execute(vector_wave, &instruction);
		ck_assert_int_eq(vector_wave->state, SOFTGPU_WAVE_RUNNING);
		at += instruction.size;
	}
}

/* Numbers near 1 cancel and round, and equal numbers compare as such. */
static uint32_t random_dword(void)
{
	switch (isa_random() % 6) {
	case 0:
		return (isa_random() & 0x81ffffff) | 0x3e000000;
	case 1:
		return (isa_random() & 0x8fff8fff) | 0x30003000;
	case 2:
		return isa_random() % 100;
	case 3:
		return isa_random();
	default:
		return isa_random_operand();
	}
}

static uint64_t random_exec(void)
{
	switch (isa_random() % 4) {
	case 0:
		return UINT64_MAX;
	case 1:
		return UINT64_C(1) << isa_random() % 64;
	case 2:
		return UINT64_C(0xff) << 8 * (isa_random() % 8);
	default:
		return isa_random64();
	}
}

void vector_randomize(void)
{
	for (unsigned int vgpr = 0; vgpr < 2 * SOFTGPU_VGPRS; vgpr++) {
		if (vgpr >= POOL + 4 && vgpr % 64)
			continue; /* a sample of the rest */
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
			vector_wave->vgpr[vgpr][lane] = random_dword();
		/* Pairs of registers hold 64-bit edge values in some lanes. */
		for (unsigned int lane = 0; lane < SOFTGPU_LANES && vgpr % 2; lane += 3) {
			const uint64_t value = isa_random_operand64();

			vector_wave->vgpr[vgpr - 1][lane] = (uint32_t)value;
			vector_wave->vgpr[vgpr][lane] = (uint32_t)(value >> 32);
		}
	}
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane += 5)
		vector_wave->vgpr[2][lane] = vector_wave->vgpr[4][lane];
	for (unsigned int sgpr = 0; sgpr < 102; sgpr++)
		vector_wave->scalar[sgpr] = random_dword();
	vector_wave->vcc = isa_random64();
	vector_wave->exec = random_exec();
}

void vector_save(struct vector_registers *registers)
{
	memcpy(registers->vgpr, vector_wave->vgpr, sizeof(registers->vgpr));
	memcpy(registers->scalar, vector_wave->scalar, sizeof(registers->scalar));
}

/* Asserting each register would take check most of the time. */
void vector_compare(const struct vector_registers *expected, const char *what)
{
	for (unsigned int vgpr = 0; vgpr < 2 * SOFTGPU_VGPRS; vgpr++)
		for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
			if (vector_wave->vgpr[vgpr][lane] != expected->vgpr[vgpr][lane])
				ck_abort_msg("%s: v%u lane %u is 0x%08x, not 0x%08x", what, vgpr,
					     lane, vector_wave->vgpr[vgpr][lane],
					     expected->vgpr[vgpr][lane]);
	for (unsigned int scalar = 0; scalar < 128; scalar++)
		if (vector_wave->scalar[scalar] != expected->scalar[scalar])
			ck_abort_msg("%s: scalar %u is 0x%08x, not 0x%08x", what, scalar,
				     vector_wave->scalar[scalar], expected->scalar[scalar]);
}

static unsigned int dwords_of(unsigned int type)
{
	switch (type) {
	case SOFTGPU_NONE:
		return 0;
	case SOFTGPU_B64:
	case SOFTGPU_I64:
	case SOFTGPU_F64:
	case SOFTGPU_PKF32:
	case SOFTGPU_PK32:
	case SOFTGPU_MASK:
		return 2;
	case SOFTGPU_B128:
		return 4;
	default:
		return 1;
	}
}

static bool is_16_bits(unsigned int type)
{
	return type == SOFTGPU_B16 || type == SOFTGPU_F16;
}

static unsigned int random_vgpr(unsigned int type)
{
	return dwords_of(type) > 1 ? isa_random() % (POOL / 2) * 2 : isa_random() % POOL;
}

/* A source operand code; `scalar` is the only SGPR that the instruction may name. */
static unsigned int random_source(unsigned int type, bool vgpr_only, unsigned int scalar)
{
	if (vgpr_only || isa_random() % 2)
		return VGPR(random_vgpr(type));
	if (isa_random() % 2)
		return SGPR(scalar);
	if (type == SOFTGPU_F16 || type == SOFTGPU_F32 || type == SOFTGPU_F64)
		return SOFTGPU_CODE_HALF + isa_random() % 8;
	return SOFTGPU_CODE_ZERO + isa_random() % 81; /* 0 to 64, then -1 to -16 */
}

static uint64_t inline_constant(unsigned int type, unsigned int code)
{
	static const double floats[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};

	if (code < SOFTGPU_CODE_HALF)
		return code <= 192 ? code - 128 : (uint64_t)192 - code;
	if (type == SOFTGPU_F64)
		return double_bits(floats[code - SOFTGPU_CODE_HALF]);
	if (is_16_bits(type))
		return half_bits(floats[code - SOFTGPU_CODE_HALF]);
	return float_bits((float)floats[code - SOFTGPU_CODE_HALF]);
}

static uint64_t narrow(unsigned int type, uint64_t value)
{
	if (is_16_bits(type))
		return value & 0xffff;
	return dwords_of(type) > 1 ? value : value & UINT32_MAX;
}

/* The value of a source in a lane, from the registers as they were. */
static uint64_t source_value(const struct vector_registers *before, unsigned int type,
			     unsigned int code, unsigned int lane)
{
	const uint32_t *low, *high;

	if (type == SOFTGPU_NONE)
		return 0;
	if (code >= 128 && code < 256)
		return narrow(type, inline_constant(type, code));
	low = code < 128 ? &before->scalar[code] : &before->vgpr[code - 256][lane];
	high = code < 128 ? low + 1 : low + SOFTGPU_LANES;
	return narrow(type, dwords_of(type) > 1 ? (uint64_t)*high << 32 | *low : *low);
}

static uint64_t destination_value(uint32_t (*vgpr)[SOFTGPU_LANES], unsigned int type,
				  unsigned int number, unsigned int lane)
{
	const uint64_t high = dwords_of(type) > 1 ? vgpr[number + 1][lane] : 0;

	return high << 32 | vgpr[number][lane];
}

static bool nearby(uint64_t actual, uint64_t expected, unsigned int ulps)
{
	return actual - expected + ulps <= 2 * (uint64_t)ulps;
}

bool vector_equal(unsigned int type, uint64_t actual, uint64_t expected, unsigned int ulps)
{
	switch (type) {
	case SOFTGPU_F16:
		if (isnan(half_value(expected)))
			return isnan(half_value(actual)) && actual & 0x200;
		break;
	case SOFTGPU_F32:
		if (isnan(as_float(expected)))
			return isnan(as_float(actual)) && actual & 0x400000;
		break;
	case SOFTGPU_F64:
		if (isnan(as_double(expected)))
			return isnan(as_double(actual)) && actual & 0x8000000000000;
		break;
	case SOFTGPU_PKF16:
		return vector_equal(SOFTGPU_F16, actual & 0xffff, expected & 0xffff, ulps) &&
		       vector_equal(SOFTGPU_F16, actual >> 16, expected >> 16, ulps);
	case SOFTGPU_PKF32:
		return vector_equal(SOFTGPU_F32, actual & UINT32_MAX, expected & UINT32_MAX,
				    ulps) &&
		       vector_equal(SOFTGPU_F32, actual >> 32, expected >> 32, ulps);
	default:
		break;
	}
	return nearby(actual, expected, ulps);
}

static const struct softgpu_operation *find(enum softgpu_family family, const char *name)
{
	const struct softgpu_operation *table = family == SOFTGPU_VOP1	  ? softgpu_vop1_operations
						: family == SOFTGPU_VOP2  ? softgpu_vop2_operations
						: family == SOFTGPU_VOP3P ? softgpu_vop3p_operations
									  : softgpu_vop3_operations;
	const unsigned int count = family == SOFTGPU_VOP1    ? 256
				   : family == SOFTGPU_VOP2  ? 64
				   : family == SOFTGPU_VOP3P ? 128
							     : 1024;

	for (unsigned int opcode = 0; opcode < count; opcode++)
		if (table[opcode].name && strcmp(table[opcode].name, name) == 0)
			return &table[opcode];
	return NULL;
}

/* One instruction with random operands. */
static void check_once(enum softgpu_family family, const struct vector_case *test,
		       const struct softgpu_operation *operation)
{
	static struct vector_registers before, after;
	struct isa_program program = {.count = 0};
	const unsigned int destination = random_vgpr(operation->destination);
	const unsigned int scalar = isa_random() % 25 * 4;
	unsigned int source[3] = {0, 0, 0};

	vector_randomize();
	for (unsigned int index = 0; index < 3; index++)
		if (operation->source[index] != SOFTGPU_NONE)
			source[index] = random_source(operation->source[index],
						      (family == SOFTGPU_VOP2 && index == 1) ||
							  family == SOFTGPU_VOP3P,
						      scalar);
	switch (family) {
	case SOFTGPU_VOP1:
		emit_vop1(&program, test->name, destination, source[0]);
		break;
	case SOFTGPU_VOP2:
		emit_vop2(&program, test->name, destination, source[0], source[1] - VGPR(0));
		break;
	case SOFTGPU_VOP3P:
		emit_vop3p(&program, test->name, destination, source[0], source[1], source[2],
			   NULL);
		break;
	default:
		emit_vop3(&program, test->name, destination, source[0], source[1], source[2], NULL);
	}
	vector_save(&before);
	vector_execute(&program);
	after = before;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++) {
		const bool active = vector_wave->exec >> lane & 1;
		const uint64_t old =
		    destination_value(before.vgpr, operation->destination, destination, lane);
		const uint64_t actual =
		    destination_value(vector_wave->vgpr, operation->destination, destination, lane);
		uint64_t value[3], expected = old, kept = 0;

		for (unsigned int index = 0; index < 3; index++)
			value[index] =
			    source_value(&before, operation->source[index], source[index], lane);
		if (active)
			expected = narrow(operation->destination,
					  test->model(value[0], value[1], value[2], old));
		/* Operations with op_sel keep the half that they do not write. */
		if (active && operation->flags & SOFTGPU_OP_SEL &&
		    is_16_bits(operation->destination))
			kept = old & 0xffff0000;
		if (active ? (actual & 0xffff0000) < kept ||
				 !vector_equal(operation->destination, actual - kept, expected,
					       test->ulps)
			   : actual != expected)
			ck_abort_msg(
			    "%s family %d lane %u of 0x%llx: (0x%llx, 0x%llx, 0x%llx, "
			    "0x%llx) gives 0x%llx, not 0x%llx",
			    test->name, family, lane, (unsigned long long)vector_wave->exec,
			    (unsigned long long)value[0], (unsigned long long)value[1],
			    (unsigned long long)value[2], (unsigned long long)old,
			    (unsigned long long)actual, (unsigned long long)(expected + kept));
	}
	/* Nothing else may change: neither other registers nor lanes that are not active. */
	for (unsigned int dword = 0; dword < dwords_of(operation->destination); dword++)
		memcpy(after.vgpr[destination + dword], vector_wave->vgpr[destination + dword],
		       sizeof(after.vgpr[0]));
	vector_compare(&after, test->name);
}

void vector_check(enum softgpu_family family, const struct vector_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct softgpu_operation *operation = find(family, cases[i].name);
		const bool has_vop3 = family != SOFTGPU_VOP3P && find(SOFTGPU_VOP3, cases[i].name);

		ck_assert_msg(operation != NULL, "no operation %s", cases[i].name);
		for (int round = 0; round < ROUNDS; round++) {
			check_once(family, &cases[i], operation);
			if (has_vop3)
				check_once(SOFTGPU_VOP3, &cases[i],
					   find(SOFTGPU_VOP3, cases[i].name));
		}
	}
}
