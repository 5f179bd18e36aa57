/* SPDX-License-Identifier: MIT */
/* Conversions between IEEE half and single precision. */
#ifndef SOFTGPU_HALF_H
#define SOFTGPU_HALF_H

#include <stdint.h>

/* Exact; NaN payloads and quietness are kept. */
float softgpu_half_to_float(uint16_t half);
/* Rounds to nearest even, keeps denormals; NaNs become quiet. */
uint16_t softgpu_float_to_half(float value);

#endif
