/* SPDX-License-Identifier: MIT */
/* Moves the bytes of one lane between host memory and registers. */
#ifndef SOFTGPU_LANE_BYTES_H
#define SOFTGPU_LANE_BYTES_H

#include "wave.h"

/*
 * The bytes of one lane between memory of the host and registers, in host accesses of up to 8
 * bytes. No access reads what a narrower one has just written: the host would stall.
 */
static inline __attribute__((always_inline)) void softgpu_read_lane(const uint8_t *host,
								    unsigned int bytes,
								    uint32_t (*out)[SOFTGPU_LANES],
								    unsigned int lane)
{
	uint16_t half;
	uint32_t dword;
	uint64_t pair;

	if (bytes == 1) {
		out[0][lane] = *host;
		return;
	}
	if (bytes == 2) {
		memcpy(&half, host, sizeof(half));
		out[0][lane] = half;
		return;
	}
	for (unsigned int i = 0; i + 1 < bytes / 4; i += 2) {
		memcpy(&pair, host + 4 * i, sizeof(pair));
		out[i][lane] = (uint32_t)pair;
		out[i + 1][lane] = (uint32_t)(pair >> 32);
	}
	if (bytes / 4 % 2 == 1) {
		memcpy(&dword, host + bytes - 4, sizeof(dword));
		out[bytes / 4 - 1][lane] = dword;
	}
}

static inline __attribute__((always_inline)) void
softgpu_write_lane(uint8_t *host, unsigned int bytes, const uint32_t (*in)[SOFTGPU_LANES],
		   unsigned int lane)
{
	uint16_t half = (uint16_t)in[0][lane];
	uint64_t pair;

	if (bytes == 1) {
		*host = (uint8_t)half;
		return;
	}
	if (bytes == 2) {
		memcpy(host, &half, sizeof(half));
		return;
	}
	for (unsigned int i = 0; i + 1 < bytes / 4; i += 2) {
		pair = in[i][lane] | (uint64_t)in[i + 1][lane] << 32;
		memcpy(host + 4 * i, &pair, sizeof(pair));
	}
	if (bytes / 4 % 2 == 1)
		memcpy(host + bytes - 4, &in[bytes / 4 - 1][lane], 4);
}

#endif
