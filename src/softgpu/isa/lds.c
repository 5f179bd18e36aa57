/* SPDX-License-Identifier: MIT */
/* Access to the workgroup's LDS. */
#include "lds.h"

#include "lane_bytes.h"
#include "workgroup.h"

static bool inside(const struct softgpu_workgroup *workgroup, uint32_t offset, unsigned int bytes)
{
	return (uint64_t)offset + bytes <= workgroup->lds_size;
}

static inline __attribute__((always_inline)) void load_loop(struct softgpu_wave *wave,
							    const uint32_t *offset, uint64_t mask,
							    unsigned int bytes,
							    uint32_t (*out)[SOFTGPU_LANES])
{
	const struct softgpu_workgroup *workgroup = wave->workgroup;

	softgpu_for_each_lane (lane, mask) {
		if (inside(workgroup, offset[lane], bytes)) {
			softgpu_read_lane(workgroup->lds + offset[lane], bytes, out,
					  (unsigned int)lane);
			continue;
		}
		for (unsigned int i = 0; i < (bytes + 3) / 4; i++)
			out[i][lane] = 0;
	}
}

void softgpu_lds_load_lanes(struct softgpu_wave *wave, const uint32_t offset[SOFTGPU_LANES],
			    uint64_t mask, unsigned int bytes, uint32_t (*out)[SOFTGPU_LANES])
{
	switch (bytes) {
	case 1:
		load_loop(wave, offset, mask, 1, out);
		return;
	case 2:
		load_loop(wave, offset, mask, 2, out);
		return;
	case 4:
		load_loop(wave, offset, mask, 4, out);
		return;
	case 8:
		load_loop(wave, offset, mask, 8, out);
		return;
	case 12:
		load_loop(wave, offset, mask, 12, out);
		return;
	default:
		load_loop(wave, offset, mask, 16, out);
	}
}

static inline __attribute__((always_inline)) void store_loop(struct softgpu_wave *wave,
							     const uint32_t *offset, uint64_t mask,
							     unsigned int bytes,
							     const uint32_t (*in)[SOFTGPU_LANES])
{
	const struct softgpu_workgroup *workgroup = wave->workgroup;

	softgpu_for_each_lane (lane, mask)
		if (inside(workgroup, offset[lane], bytes))
			softgpu_write_lane(workgroup->lds + offset[lane], bytes, in,
					   (unsigned int)lane);
}

void softgpu_lds_store_lanes(struct softgpu_wave *wave, const uint32_t offset[SOFTGPU_LANES],
			     uint64_t mask, unsigned int bytes, const uint32_t (*in)[SOFTGPU_LANES])
{
	switch (bytes) {
	case 1:
		store_loop(wave, offset, mask, 1, in);
		return;
	case 2:
		store_loop(wave, offset, mask, 2, in);
		return;
	case 4:
		store_loop(wave, offset, mask, 4, in);
		return;
	case 8:
		store_loop(wave, offset, mask, 8, in);
		return;
	case 12:
		store_loop(wave, offset, mask, 12, in);
		return;
	default:
		store_loop(wave, offset, mask, 16, in);
	}
}

uint64_t softgpu_lds_atomic(struct softgpu_wave *wave, uint32_t offset,
			    enum softgpu_atomic_operation operation, unsigned int bytes,
			    uint64_t data, uint64_t compare)
{
	uint64_t old = 0, new;

	if (!inside(wave->workgroup, offset, bytes))
		return 0;
	memcpy(&old, wave->workgroup->lds + offset, bytes);
	new = softgpu_atomic_result(operation, bytes, old, data, compare);
	memcpy(wave->workgroup->lds + offset, &new, bytes);
	return old;
}
