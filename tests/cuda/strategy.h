/* SPDX-License-Identifier: MIT */
/* The ways to get a group's bytes from its pinned sources to its destinations, on one CUDA stream. */
#ifndef H2DPUB_TESTS_CUDA_STRATEGY_H
#define H2DPUB_TESTS_CUDA_STRATEGY_H

#include "group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Members of more bytes are not packed by the CPU: the library's default. */
#define PACK_LIMIT 65536

/* CUDA kernels have a fixed number of arguments, so h2d_pull is compiled for several numbers of
 * descriptors; a group takes the least that serves. */
#define STRATEGY_PULLS 4
extern const uint32_t strategy_pull_members[STRATEGY_PULLS];

/* The compiled kernels and the stream that everything is enqueued on. */
struct strategy_context {
	CUstream stream;
	CUfunction scatter;
	CUfunction pull[STRATEGY_PULLS];
	CUfunction empty;
};

struct strategy {
	const char *name;
	bool lands; /* the bytes arrive at the destinations */
	void (*submit)(const struct strategy_context *context, struct group *group);
};

/* The first does nothing: what is measured of it is what every strategy has in common. */
extern const struct strategy strategies[];
extern const size_t strategy_count;

/* Compiles scatter.ptx and pull-MEMBERS.ptx of this directory for the current device. */
void strategy_load_kernels(struct strategy_context *context, const char *directory);

/* The scatter dispatch alone, of the group's full arena on the device. */
void strategy_launch_scatter(const struct strategy_context *context, struct group *group);
void strategy_launch_pull(const struct strategy_context *context, struct group *group);
void strategy_launch_empty(const struct strategy_context *context, struct group *group);

/* As many bytes as the group has, from the device's arena to the destinations. */
void strategy_copy_on_device(const struct strategy_context *context, struct group *group);

/* cub::DeviceMemcpy::Batched over arrays in device memory. */
void cub_peer_prepare(struct group *group);
void cub_peer_submit(const struct strategy_context *context, struct group *group);
void cub_peer_release(void);

#ifdef __cplusplus
}
#endif

#endif
