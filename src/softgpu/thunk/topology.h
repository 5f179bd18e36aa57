/* SPDX-License-Identifier: MIT */
/* The shape of the GPUs: about that of an AMD Instinct MI210. */
#ifndef SOFTGPU_THUNK_TOPOLOGY_H
#define SOFTGPU_THUNK_TOPOLOGY_H

#include <stdint.h>

#define SOFTGPU_SHADER_ENGINES	 8
#define SOFTGPU_UNITS_PER_ENGINE 13
#define SOFTGPU_COMPUTE_UNITS	 (SOFTGPU_SHADER_ENGINES * SOFTGPU_UNITS_PER_ENGINE)
#define SOFTGPU_SIMDS_PER_UNIT	 4
#define SOFTGPU_WAVES_PER_SIMD	 8
#define SOFTGPU_PRODUCT_NAME	 "softgpu"

/* Where flat addresses mean LDS and private memory: no process has memory there. */
#define SOFTGPU_SHARED_APERTURE	 (UINT64_C(1) << 48)
#define SOFTGPU_PRIVATE_APERTURE (UINT64_C(2) << 48)
#define SOFTGPU_APERTURE_SIZE	 (UINT64_C(1) << 32)

#endif
