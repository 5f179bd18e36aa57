/* SPDX-License-Identifier: MIT */
/* The peer cub::DeviceMemcpy::Batched, with its arrays ready in device memory. */
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_memcpy.cuh>

#include "strategy.h"

static struct {
	CUdeviceptr memory; /* sources, destinations, sizes */
	CUdeviceptr temporary;
	size_t temporary_size;
} cub_peer;

static cudaError_t batched(void *temporary, size_t *temporary_size, uint32_t members,
			   cudaStream_t stream)
{
	CUdeviceptr array = cub_peer.memory;
	void **sources = reinterpret_cast<void **>(array);
	void **destinations = reinterpret_cast<void **>(array + members * sizeof(void *));
	size_t *sizes = reinterpret_cast<size_t *>(array + 2 * members * sizeof(void *));

	return cub::DeviceMemcpy::Batched(temporary, *temporary_size, sources, destinations, sizes,
					  members, stream);
}

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "cub::DeviceMemcpy::Batched: %s\n", cudaGetErrorName(error));
	exit(3);
}

extern "C" void cub_peer_prepare(struct group *group)
{
	size_t size = group->members * sizeof(CUdeviceptr);

	CHECK_CUDA(cuMemAlloc(&cub_peer.memory, 3 * size));
	CHECK_CUDA(cuMemcpyHtoD(cub_peer.memory, group->sources, size));
	CHECK_CUDA(cuMemcpyHtoD(cub_peer.memory + size, group->destinations, size));
	CHECK_CUDA(cuMemcpyHtoD(cub_peer.memory + 2 * size, group->sizes, size));
	check(batched(nullptr, &cub_peer.temporary_size, group->members, nullptr));
	CHECK_CUDA(cuMemAlloc(&cub_peer.temporary, cub_peer.temporary_size));
}

extern "C" void cub_peer_submit(const struct strategy_context *context, struct group *group)
{
	check(batched(reinterpret_cast<void *>(cub_peer.temporary), &cub_peer.temporary_size,
		      group->members, context->stream));
}

extern "C" void cub_peer_release(void)
{
	CHECK_CUDA(cuMemFree(cub_peer.memory));
	CHECK_CUDA(cuMemFree(cub_peer.temporary));
	cub_peer = {};
}
