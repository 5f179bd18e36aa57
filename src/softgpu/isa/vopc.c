/* SPDX-License-Identifier: MIT */
/* Vector ALU: compares. A float compare with a NaN is false, its negated forms are true. */
#include "vector.h"
#include "vector_operations.h"

static void write_result(struct softgpu_vector *vector, const uint8_t flags[SOFTGPU_LANES])
{
	const uint64_t mask = softgpu_vector_gather_mask(flags);

	softgpu_vector_write_mask(vector, mask);
	if (vector->instruction->operation->flags & SOFTGPU_COMPARE_EXEC)
		vector->wave->exec = mask & vector->active;
}

#define COMPARE_LOOP(begin, name, type, B, expression)                                             \
	void softgpu_v_cmp_##name(struct softgpu_wave *wave,                                       \
				  const struct softgpu_instruction *instruction)                   \
	{                                                                                          \
		struct softgpu_vector vector;                                                      \
		uint8_t flags[SOFTGPU_LANES];                                                      \
                                                                                                   \
		begin(&vector, wave, instruction);                                                 \
		const uint32_t *restrict low0 = vector.source[0];                                  \
		const uint32_t *restrict low1 = vector.source[1];                                  \
		const uint32_t *restrict high0 = vector.source_high[0];                            \
		const uint32_t *restrict high1 = vector.source_high[1];                            \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			const softgpu_lane_##type a = softgpu_load_##type(low0, high0, lane);      \
			const softgpu_lane_##B b = softgpu_load_##B(low1, high1, lane);            \
                                                                                                   \
			(void)a, (void)b;                                                          \
			flags[lane] = (expression);                                                \
		}                                                                                  \
		write_result(&vector, flags);                                                      \
	}

#define INTEGER(name, type, expression)                                                            \
	COMPARE_LOOP(softgpu_vector_begin, name##_##type, type, type, expression)

#define INTEGERS(type)                                                                             \
	INTEGER(f, type, false)                                                                    \
	INTEGER(lt, type, a < b)                                                                   \
	INTEGER(eq, type, a == b)                                                                  \
	INTEGER(le, type, a <= b)                                                                  \
	INTEGER(gt, type, a > b)                                                                   \
	INTEGER(ne, type, a != b)                                                                  \
	INTEGER(ge, type, a >= b)                                                                  \
	INTEGER(t, type, true)

#define FLOAT(name, type, expression)                                                              \
	COMPARE_LOOP(softgpu_vector_begin_float, name##_##type, type, type, expression)

#define FLOATS(type)                                                                               \
	FLOAT(f, type, false)                                                                      \
	FLOAT(lt, type, a < b)                                                                     \
	FLOAT(eq, type, a == b)                                                                    \
	FLOAT(le, type, a <= b)                                                                    \
	FLOAT(gt, type, a > b)                                                                     \
	FLOAT(lg, type, a < b || a > b)                                                            \
	FLOAT(ge, type, a >= b)                                                                    \
	FLOAT(o, type, a == a && b == b)                                                           \
	FLOAT(u, type, a != a || b != b)                                                           \
	FLOAT(nge, type, !(a >= b))                                                                \
	FLOAT(nlg, type, !(a < b || a > b))                                                        \
	FLOAT(ngt, type, !(a > b))                                                                 \
	FLOAT(nle, type, !(a <= b))                                                                \
	FLOAT(neq, type, a != b)                                                                   \
	FLOAT(nlt, type, !(a < b))                                                                 \
	FLOAT(tru, type, true)

INTEGERS(i16)
INTEGERS(u16)
INTEGERS(i32)
INTEGERS(u32)
INTEGERS(i64)
INTEGERS(u64)

FLOATS(f16)
FLOATS(f32)
FLOATS(f64)

/* Denormals keep their class whatever MODE says, hence the plain begin. */
COMPARE_LOOP(softgpu_vector_begin, class_f16, u16, u32, (softgpu_class16(a) & b) != 0)
COMPARE_LOOP(softgpu_vector_begin, class_f32, u32, u32, (softgpu_class32(a) & b) != 0)
COMPARE_LOOP(softgpu_vector_begin, class_f64, u64, u32, (softgpu_class64(a) & b) != 0)
