/* SPDX-License-Identifier: MIT */
/*
 * One group of members on an NVIDIA GPU: pinned sources, device destinations with guard bytes
 * between them, and the model of what must be there.
 */
#ifndef H2DPUB_TESTS_CUDA_GROUP_H
#define H2DPUB_TESTS_CUDA_GROUP_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As much as 4096 bytes of kernel arguments hold. */
#define GROUP_MAX_MEMBERS 128

/* Ends the program with the failing call and CUDA's name of the error. */
#define CHECK_CUDA(call) check_cuda(call, #call)
void check_cuda(CUresult result, const char *call);

struct group {
	uint32_t members;
	uint64_t bytes; /* of all members */
	uint64_t chunks;
	uint64_t size[GROUP_MAX_MEMBERS];
	size_t source_offset[GROUP_MAX_MEMBERS];
	size_t destination_offset[GROUP_MAX_MEMBERS];
	size_t host_size;
	size_t device_size;
	uint8_t *host; /* pinned */
	CUdeviceptr device;
	CUdeviceptr plain; /* what a plain DMA of all bytes writes */
	uint8_t *expected; /* the model of all device_size bytes */
	uint8_t *actual;
	uint8_t *random; /* host_size bytes and one page, to fill the sources from */

	/* for the batched copies */
	CUdeviceptr sources[GROUP_MAX_MEMBERS];
	CUdeviceptr destinations[GROUP_MAX_MEMBERS];
	size_t sizes[GROUP_MAX_MEMBERS];

	/* for h2d_scatter */
	uint8_t *arena; /* pinned */
	size_t arena_size;
	CUdeviceptr device_arena;
	CUdeviceptr full_arena; /* on the device, with all members packed */
	CUdeviceptr table; /* struct h2d_scatter_member [members] */

	/* for h2d_pull */
	struct h2d_pull_arguments *pull_arguments;
	size_t pull_arguments_size;
};

/* misaligned: sources and destinations at random addresses, else at multiples of 256 bytes. */
struct group *group_create(const uint64_t sizes[], uint32_t members, bool misaligned,
			   uint64_t *seed);
void group_destroy(struct group *group);

/* New bytes in all sources, other ones in each round. */
void group_fill(struct group *group, uint32_t round);

/* Overwrites the destinations and the guards with 0xa5, on the device and in the model. */
void group_poison(struct group *group);

/* Puts the sources into the model, reads the device back and compares every byte. The number of
 * wrong bytes; the first is named on standard error. */
size_t group_verify(struct group *group, const char *what);

/* Packs the members of at most limit bytes behind a header; the bytes used of the arena. */
size_t group_pack(struct group *group, uint64_t limit);

/* Packs all members into full_arena. */
void group_upload(struct group *group);

/* xorshift64*: seed must not be 0. */
uint64_t group_random(uint64_t *seed);

#ifdef __cplusplus
}
#endif

#endif
