/* SPDX-License-Identifier: MIT */
/* Moves the bytes of one lane between host memory and registers. */
#ifndef SOFTGPU_LANE_BYTES_H
#define SOFTGPU_LANE_BYTES_H

#include "wave.h"

/*
 * One host access. Kernels order their accesses among each other by rules that ThreadSanitizer does
 * not know, so to it they are atomic ones that acquire and release: races with the host and with DMA
 * engines, whose accesses are plain, are still found.
 */
#ifdef __SANITIZE_THREAD__
#define SOFTGPU_ACCESS(type, name)                                                                 \
	static inline void softgpu_load_##name(type *value, const uint8_t *host)                   \
	{                                                                                          \
		*value = __atomic_load_n((const type *)(const void *)host, __ATOMIC_ACQUIRE);      \
	}                                                                                          \
	static inline void softgpu_store_##name(uint8_t *host, type value)                         \
	{                                                                                          \
		__atomic_store_n((type *)(void *)host, value, __ATOMIC_RELEASE);                   \
	}
#else
#define SOFTGPU_ACCESS(type, name)                                                                 \
	static inline void softgpu_load_##name(type *value, const uint8_t *host)                   \
	{                                                                                          \
		memcpy(value, host, sizeof(*value));                                               \
	}                                                                                          \
	static inline void softgpu_store_##name(uint8_t *host, type value)                         \
	{                                                                                          \
		memcpy(host, &value, sizeof(value));                                               \
	}
#endif

SOFTGPU_ACCESS(uint8_t, byte)
SOFTGPU_ACCESS(uint16_t, half)
SOFTGPU_ACCESS(uint32_t, dword)
SOFTGPU_ACCESS(uint64_t, pair)

/*
 * The bytes of one lane between memory of the host and registers, in host accesses of up to 8
 * bytes. No access reads what a narrower one has just written: the host would stall.
 */
static inline __attribute__((always_inline)) void softgpu_read_lane(const uint8_t *host,
								    unsigned int bytes,
								    uint32_t (*out)[SOFTGPU_LANES],
								    unsigned int lane)
{
	uint8_t byte;
	uint16_t half;
	uint32_t dword;
	uint64_t pair;

	if (bytes == 1) {
		softgpu_load_byte(&byte, host);
		out[0][lane] = byte;
		return;
	}
	if (bytes == 2) {
		softgpu_load_half(&half, host);
		out[0][lane] = half;
		return;
	}
	for (unsigned int i = 0; i + 1 < bytes / 4; i += 2) {
		softgpu_load_pair(&pair, host + 4 * i);
		out[i][lane] = (uint32_t)pair;
		out[i + 1][lane] = (uint32_t)(pair >> 32);
	}
	if (bytes / 4 % 2 == 1) {
		softgpu_load_dword(&dword, host + bytes - 4);
		out[bytes / 4 - 1][lane] = dword;
	}
}

static inline __attribute__((always_inline)) void
softgpu_write_lane(uint8_t *host, unsigned int bytes, const uint32_t (*in)[SOFTGPU_LANES],
		   unsigned int lane)
{
	uint64_t pair;

	if (bytes == 1) {
		softgpu_store_byte(host, (uint8_t)in[0][lane]);
		return;
	}
	if (bytes == 2) {
		softgpu_store_half(host, (uint16_t)in[0][lane]);
		return;
	}
	for (unsigned int i = 0; i + 1 < bytes / 4; i += 2) {
		pair = in[i][lane] | (uint64_t)in[i + 1][lane] << 32;
		softgpu_store_pair(host + 4 * i, pair);
	}
	if (bytes / 4 % 2 == 1)
		softgpu_store_dword(host + bytes - 4, in[bytes / 4 - 1][lane]);
}

#endif
