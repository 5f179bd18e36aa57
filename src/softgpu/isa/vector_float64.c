/* SPDX-License-Identifier: MIT */
/* Vector ALU: floats of 64 bits. */
#include "vector.h"
#include "vector_operations.h"

VECTOR_ARITHMETIC(v_add_f64, f64, f64, f64, none, a + b)
VECTOR_ARITHMETIC(v_mul_f64, f64, f64, f64, none, a * b)
VECTOR_ARITHMETIC(v_fma_f64, f64, f64, f64, f64, fma(a, b, c))
VECTOR_ARITHMETIC(v_fmac_f64, f64, f64, f64, f64, fma(a, b, c))
VECTOR_FLOAT(v_min_f64, u64, u64, u64, none, softgpu_min64(a, b, softgpu_ieee_mode(wave)))
VECTOR_FLOAT(v_max_f64, u64, u64, u64, none, softgpu_max64(a, b, softgpu_ieee_mode(wave)))

VECTOR_ARITHMETIC(v_trunc_f64, f64, f64, none, none, trunc(a))
VECTOR_ARITHMETIC(v_ceil_f64, f64, f64, none, none, ceil(a))
VECTOR_ARITHMETIC(v_floor_f64, f64, f64, none, none, floor(a))
VECTOR_ARITHMETIC(v_rndne_f64, f64, f64, none, none, softgpu_round_even(a))
VECTOR_ARITHMETIC(v_fract_f64, f64, f64, none, none, softgpu_fract(a, 0x1.fffffffffffffp-1))

/* The hardware approximates these to fewer bits; kernels refine them and accept exact ones. */
VECTOR_ARITHMETIC(v_rcp_f64, f64, f64, none, none, 1.0 / a)
VECTOR_ARITHMETIC(v_rsq_f64, f64, f64, none, none, 1.0 / sqrt(a))
VECTOR_ARITHMETIC(v_sqrt_f64, f64, f64, none, none, sqrt(a))

VECTOR_ARITHMETIC(v_ldexp_f64, f64, f64, i32, none, ldexp(a, b))
VECTOR_ARITHMETIC(v_frexp_mant_f64, f64, f64, none, none, softgpu_frexp_mantissa(a))
VECTOR_FLOAT(v_frexp_exp_i32_f64, u32, f64, none, none, (uint32_t)softgpu_frexp_exponent(a))
