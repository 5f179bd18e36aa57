/* SPDX-License-Identifier: MIT */
/*
 * How a vector ALU operation is written.
 *
 * An operation is a loop over all 64 lanes between a begin and an end. Begin turns every source
 * operand into an array of 64 values, with SDWA, DPP, op_sel, abs and neg already applied; end
 * applies the output modifiers and writes the lanes that are active. So the loop itself is plain
 * arithmetic from arrays to an array that overlaps none of them, which the compiler vectorises.
 */
#ifndef SOFTGPU_VECTOR_H
#define SOFTGPU_VECTOR_H

#include "vector_float.h"
#include "wave.h"

struct softgpu_vector {
	struct softgpu_wave *wave;
	const struct softgpu_instruction *instruction;
	const uint32_t *source[3]; /* the low dword of each lane */
	const uint32_t *source_high[3]; /* the high dword of 64-bit operands */
	uint64_t active; /* lanes to write: EXEC without those that DPP disables */
	uint32_t destination; /* number of the first VGPR written */
	int rounding; /* of the host while the operation runs: FE_TONEAREST and the like */
	bool keep_denormals_in; /* for begin_mixed, which flushes no source itself */
	bool keep_denormals_out;
	uint32_t result[4][SOFTGPU_LANES];
	uint32_t storage[3][2][SOFTGPU_LANES]; /* of sources that are not simply registers */
};

/* For integers, bits and everything that MODE does not touch. */
void softgpu_vector_begin(struct softgpu_vector *vector, struct softgpu_wave *wave,
			  const struct softgpu_instruction *instruction);
void softgpu_vector_end(struct softgpu_vector *vector);

/* As above, but the sources are registers as they are, without op_sel, abs and neg. */
void softgpu_vector_begin_raw(struct softgpu_vector *vector, struct softgpu_wave *wave,
			      const struct softgpu_instruction *instruction);

/* For floats: sets up rounding and denormals as MODE says. */
void softgpu_vector_begin_float(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction);
/* For operations that flush denormals whatever MODE says. */
void softgpu_vector_begin_flush(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction);
/* For floats of mixed widths: as begin_raw, but sets up rounding and denormals. */
void softgpu_vector_begin_mixed(struct softgpu_vector *vector, struct softgpu_wave *wave,
				const struct softgpu_instruction *instruction);
/* Applies denormals, omod and clamp to the results. */
void softgpu_vector_modify_float(struct softgpu_vector *vector);
/* The same, then writes them. */
void softgpu_vector_end_float(struct softgpu_vector *vector);
/* For arithmetic: also makes NaN results those of the hardware instead of the host's. */
void softgpu_vector_end_arithmetic(struct softgpu_vector *vector);

/* Copies floats, replacing denormals by zeros of the same sign; other types stay unwritten. */
void softgpu_vector_flush(uint32_t *low_to, uint32_t *high_to, const uint32_t *low,
			  const uint32_t *high, unsigned int type);

/* Writes the active lanes' bits to a lane mask in scalar_destination; inactive lanes get 0. */
void softgpu_vector_write_mask(struct softgpu_vector *vector, uint64_t mask);

static inline bool softgpu_ieee_mode(const struct softgpu_wave *wave)
{
	return wave->mode >> SOFTGPU_MODE_IEEE & 1;
}

/* The lane mask operand of a select or of a carry. */
uint64_t softgpu_vector_carry_in(const struct softgpu_vector *vector);

/* Copies the lanes in `mask`. */
void softgpu_vector_copy(uint32_t *to, const uint32_t *from, uint64_t mask);

/* 64 bytes of 0 or 1 as a lane mask, and a lane mask as bytes of zero or not. */
uint64_t softgpu_vector_gather_mask(const uint8_t flags[SOFTGPU_LANES]);
void softgpu_vector_spread_mask(uint64_t mask, uint8_t flags[SOFTGPU_LANES]);

/* The C types of a lane's value and how it lies in the arrays. */
typedef uint32_t softgpu_lane_u32;
typedef int32_t softgpu_lane_i32;
typedef uint16_t softgpu_lane_u16;
typedef int16_t softgpu_lane_i16;
typedef uint64_t softgpu_lane_u64;
typedef int64_t softgpu_lane_i64;
typedef float softgpu_lane_f32;
typedef double softgpu_lane_f16; /* exact, and so are sums and products of two */
typedef double softgpu_lane_f64;
typedef struct {
	uint16_t low, high;
} softgpu_lane_pk16;
typedef struct {
	float low, high;
} softgpu_lane_pkf32;
typedef uint32_t softgpu_lane_none;

static inline uint32_t softgpu_load_u32(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return low[lane];
}

static inline int32_t softgpu_load_i32(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return (int32_t)low[lane];
}

static inline uint16_t softgpu_load_u16(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return (uint16_t)low[lane];
}

static inline int16_t softgpu_load_i16(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return (int16_t)low[lane];
}

static inline uint64_t softgpu_load_u64(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	return (uint64_t)high[lane] << 32 | low[lane];
}

static inline int64_t softgpu_load_i64(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	return (int64_t)softgpu_load_u64(low, high, lane);
}

static inline float softgpu_load_f32(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return softgpu_float(low[lane]);
}

static inline double softgpu_load_f16(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)high;
	return softgpu_half_to_double((uint16_t)low[lane]);
}

static inline double softgpu_load_f64(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	return softgpu_double(softgpu_load_u64(low, high, lane));
}

static inline softgpu_lane_pk16 softgpu_load_pk16(const uint32_t *low, const uint32_t *high,
						  unsigned lane)
{
	(void)high;
	return (softgpu_lane_pk16){(uint16_t)low[lane], (uint16_t)(low[lane] >> 16)};
}

static inline softgpu_lane_pkf32 softgpu_load_pkf32(const uint32_t *low, const uint32_t *high,
						    unsigned lane)
{
	return (softgpu_lane_pkf32){softgpu_float(low[lane]), softgpu_float(high[lane])};
}

static inline uint32_t softgpu_load_none(const uint32_t *low, const uint32_t *high, unsigned lane)
{
	(void)low;
	(void)high;
	(void)lane;
	return 0;
}

static inline void softgpu_store_u32(uint32_t *low, uint32_t *high, unsigned lane, uint32_t value)
{
	(void)high;
	low[lane] = value;
}

/* 16-bit results clear the other half unless the operation has op_sel. */
static inline void softgpu_store_u16(uint32_t *low, uint32_t *high, unsigned lane, uint32_t value)
{
	(void)high;
	low[lane] = value & 0xffff;
}

static inline void softgpu_store_u64(uint32_t *low, uint32_t *high, unsigned lane, uint64_t value)
{
	low[lane] = (uint32_t)value;
	high[lane] = (uint32_t)(value >> 32);
}

static inline void softgpu_store_f32(uint32_t *low, uint32_t *high, unsigned lane, float value)
{
	(void)high;
	low[lane] = softgpu_float_bits(value);
}

static inline void softgpu_store_f16(uint32_t *low, uint32_t *high, unsigned lane, double value)
{
	(void)high;
	low[lane] = softgpu_half_from_double(value);
}

static inline void softgpu_store_f64(uint32_t *low, uint32_t *high, unsigned lane, double value)
{
	softgpu_store_u64(low, high, lane, softgpu_double_bits(value));
}

static inline void softgpu_store_pk16(uint32_t *low, uint32_t *high, unsigned lane, uint32_t value)
{
	softgpu_store_u32(low, high, lane, value);
}

static inline void softgpu_store_pkf32(uint32_t *low, uint32_t *high, unsigned lane,
				       softgpu_lane_pkf32 value)
{
	low[lane] = softgpu_float_bits(value.low);
	high[lane] = softgpu_float_bits(value.high);
}

#define SOFTGPU_FOR_LANES(lane) for (unsigned lane = 0; lane < SOFTGPU_LANES; lane++)

/*
 * Defines an execute function. D, A, B, C are the lane types of the result and of the sources, which
 * the expression sees as a, b and c.
 */
#define SOFTGPU_VECTOR_LOOP(function, begin, end, D, A, B, C, expression)                          \
	function(struct softgpu_wave *wave, const struct softgpu_instruction *instruction)         \
	{                                                                                          \
		struct softgpu_vector vector;                                                      \
                                                                                                   \
		begin(&vector, wave, instruction);                                                 \
		const uint32_t *restrict low0 = vector.source[0];                                  \
		const uint32_t *restrict low1 = vector.source[1];                                  \
		const uint32_t *restrict low2 = vector.source[2];                                  \
		const uint32_t *restrict high0 = vector.source_high[0];                            \
		const uint32_t *restrict high1 = vector.source_high[1];                            \
		const uint32_t *restrict high2 = vector.source_high[2];                            \
		uint32_t *restrict low = vector.result[0];                                         \
		uint32_t *restrict high = vector.result[1];                                        \
		SOFTGPU_FOR_LANES (lane) {                                                         \
			const softgpu_lane_##A a = softgpu_load_##A(low0, high0, lane);            \
			const softgpu_lane_##B b = softgpu_load_##B(low1, high1, lane);            \
			const softgpu_lane_##C c = softgpu_load_##C(low2, high2, lane);            \
                                                                                                   \
			(void)a, (void)b, (void)c;                                                 \
			softgpu_store_##D(low, high, lane, expression);                            \
		}                                                                                  \
		end(&vector);                                                                      \
	}

/* Integers and bits. */
#define VECTOR(name, D, A, B, C, expression)                                                       \
	SOFTGPU_VECTOR_LOOP(void softgpu_##name, softgpu_vector_begin, softgpu_vector_end, D, A,   \
			    B, C, expression)

/* Floats whose NaN results the expression chooses itself. */
#define VECTOR_FLOAT(name, D, A, B, C, expression)                                                 \
	SOFTGPU_VECTOR_LOOP(void softgpu_##name, softgpu_vector_begin_float,                       \
			    softgpu_vector_end_float, D, A, B, C, expression)

/* Arithmetic on floats. */
#define VECTOR_ARITHMETIC(name, D, A, B, C, expression)                                            \
	SOFTGPU_VECTOR_LOOP(void softgpu_##name, softgpu_vector_begin_float,                       \
			    softgpu_vector_end_arithmetic, D, A, B, C, expression)

/* The same for operations that know no denormals. */
#define VECTOR_FLUSH(name, D, A, B, C, expression)                                                 \
	SOFTGPU_VECTOR_LOOP(void softgpu_##name, softgpu_vector_begin_flush,                       \
			    softgpu_vector_end_arithmetic, D, A, B, C, expression)

static inline int64_t softgpu_limit(int64_t value, int64_t minimum, int64_t maximum)
{
	return value < minimum ? minimum : value > maximum ? maximum : value;
}

/*
 * Integers that saturate if the instruction says clamp: `expression` is exact in 64 bits, and the
 * result is limited to what `type` holds. Without clamp, the usual case, it just wraps.
 */
#define VECTOR_SATURATE(name, D, A, B, C, type, minimum, maximum, expression)                      \
	static SOFTGPU_VECTOR_LOOP(void name##_wraps, softgpu_vector_begin, softgpu_vector_end, D, \
				   A, B, C, (uint32_t)(type)(expression))                          \
	static SOFTGPU_VECTOR_LOOP(                                                                \
		void name##_saturates, softgpu_vector_begin, softgpu_vector_end, D, A, B, C,       \
		(uint32_t)(type)softgpu_limit((int64_t)(expression), minimum, maximum))            \
	void softgpu_##name(struct softgpu_wave *wave,                                             \
			    const struct softgpu_instruction *instruction)                         \
	{                                                                                          \
		if (instruction->clamp)                                                            \
			name##_saturates(wave, instruction);                                       \
		else                                                                               \
			name##_wraps(wave, instruction);                                           \
	}

#define VECTOR_SATURATE_U32(name, A, B, C, expression)                                             \
	VECTOR_SATURATE(name, u32, A, B, C, uint32_t, 0, UINT32_MAX, expression)
#define VECTOR_SATURATE_I32(name, A, B, C, expression)                                             \
	VECTOR_SATURATE(name, u32, A, B, C, int32_t, INT32_MIN, INT32_MAX, expression)
#define VECTOR_SATURATE_U16(name, A, B, C, expression)                                             \
	VECTOR_SATURATE(name, u16, A, B, C, uint16_t, 0, UINT16_MAX, expression)
#define VECTOR_SATURATE_I16(name, A, B, C, expression)                                             \
	VECTOR_SATURATE(name, u16, A, B, C, int16_t, INT16_MIN, INT16_MAX, expression)

#endif
