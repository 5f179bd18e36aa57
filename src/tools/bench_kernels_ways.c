/* SPDX-License-Identifier: MIT */
/*
 * The ways of h2dpub-bench kernels: the library's two kernels and the DMA in front of one, as its
 * transports order them but without their checks, and the plain copies that they compete with.
 */
#include "config.h"

#include "bench_kernels.h"

#include <sched.h>

#include <hsa/hsa_ext_amd.h>

#include "hsa/device.h"
#include "hsa/hsa_error.h"
#include "hsa/stream.h"
#include "progress.h"

static const hsa_signal_t no_signal = {0};

/* ---- packets and copies -------------------------------------------------------------------- */

static int enqueue(struct kernels_world *world, const h2d_packet_t packets[], uint32_t count)
{
	if (h2d_stream_submit(world->publication.stream, packets, count) == H2D_STATUS_SUCCESS)
		return 0;
	return publication_failed(&world->publication, "cannot enqueue packets");
}

static void fill_dispatch(struct kernels_world *world, h2d_packet_t *packet,
			  const h2d_kernel_t *kernel, uint32_t workgroups, const void *arguments)
{
	h2d_packet_dispatch(packet, kernel, workgroups, H2D_CHUNK_WORKGROUP_SIZE, arguments,
			    H2D_FENCE_SYSTEM, H2D_FENCE_AGENT);
	if (!world->timed)
		return;
	packet->dispatch.completion_signal = world->kernel_done;
	world->timed_kernel = true;
}

static int dispatch(struct kernels_world *world, const h2d_kernel_t *kernel, uint32_t workgroups,
		    const void *arguments)
{
	h2d_packet_t packet;

	fill_dispatch(world, &packet, kernel, workgroups, arguments);
	return enqueue(world, &packet, 1);
}

/* The signal that the next copy decrements. */
static hsa_signal_t copy_signal(struct kernels_world *world)
{
	if (!world->timed)
		return world->copied;
	hsa_signal_store_relaxed(world->copy_done[world->timed_copies], 1);
	return world->copy_done[world->timed_copies++];
}

/* Before the first of so many copies. */
static void expect_copies(struct kernels_world *world, uint32_t count)
{
	if (!world->timed)
		hsa_signal_store_relaxed(world->copied, count);
}

static int copy_to_device(struct kernels_world *world, void *destination, const void *source,
			  size_t size, hsa_signal_t dependency)
{
	if (h2d_device_copy_async(world->publication.device, destination, source, size,
				  world->timed ? world->gate : dependency,
				  copy_signal(world)) == H2D_STATUS_SUCCESS)
		return 0;
	return publication_failed(&world->publication, "cannot copy to the device");
}

static int copy_on_device(struct kernels_world *world, void *destination, const void *source,
			  size_t size)
{
	hsa_agent_t gpu = world->publication.info.agent;
	hsa_status_t status =
		hsa_amd_memory_async_copy(destination, gpu, source, gpu, size, world->timed ? 1 : 0,
					  world->timed ? &world->gate : NULL, copy_signal(world));

	if (status == HSA_STATUS_SUCCESS)
		return 0;
	h2d_hsa_error(status, "hsa_amd_memory_async_copy");
	return publication_failed(&world->publication, "cannot copy on the device");
}

/* What later packets need to see of copies. The host waits for those that are timed. */
static int wait_for_copies(struct kernels_world *world)
{
	h2d_packet_t packet;

	if (world->timed)
		return 0;
	h2d_packet_barrier(&packet, true, H2D_FENCE_SYSTEM, H2D_FENCE_AGENT, world->copied,
			   no_signal);
	return enqueue(world, &packet, 1);
}

/* ---- the ways ------------------------------------------------------------------------------ */

static int submit_nothing(struct kernels_world *world)
{
	(void)world;
	return 0;
}

/* Nothing reads what it overwrites, so it waits for nothing. */
static int submit_plain_dma(struct kernels_world *world)
{
	const struct publication_world *group = &world->publication;

	expect_copies(world, 1);
	if (copy_to_device(world, world->plain, group->host, group->layout.bytes, no_signal) < 0)
		return -1;
	return wait_for_copies(world);
}

/* Earlier packets may still read the destinations: the copies wait for them behind a gate. */
static int submit_copies(struct kernels_world *world)
{
	const struct publication_world *group = &world->publication;
	h2d_packet_t packet;

	expect_copies(world, group->layout.members);
	if (!world->timed) {
		hsa_signal_store_relaxed(world->gate, 1);
		h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_SYSTEM, no_signal,
				   world->gate);
		if (enqueue(world, &packet, 1) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < group->layout.members; i++) {
		if (copy_to_device(world, group->destination[i], group->source[i], group->size[i],
				   world->gate) < 0)
			return -1;
	}
	return wait_for_copies(world);
}

static int submit_packed(struct kernels_world *world)
{
	size_t used =
		publication_pack(&world->publication, world->arena, H2D_DEFAULT_PACK_LIMIT_BYTES);
	h2d_packet_t packets[2];

	expect_copies(world, 1);
	if (copy_to_device(world, world->device_arena, world->arena, used, no_signal) < 0)
		return -1;
	/* The scatter's own acquire, after this wait, makes the arena visible: no fence here. */
	h2d_packet_barrier(&packets[0], false, H2D_FENCE_NONE, H2D_FENCE_NONE,
			   world->timed ? world->copy_done[0] : world->copied, no_signal);
	fill_dispatch(world, &packets[1], &world->scatter, world->chunks, world->packed_arguments);
	return enqueue(world, packets, 2);
}

static int submit_pull(struct kernels_world *world)
{
	return dispatch(world, &world->pull, world->chunks, world->pull_arguments);
}

/* One workgroup that finds no member and ends. */
static int submit_empty_kernel(struct kernels_world *world)
{
	return dispatch(world, &world->pull, 1, world->no_arguments);
}

static int submit_device_copy(struct kernels_world *world)
{
	expect_copies(world, 1);
	if (copy_on_device(world, world->plain, world->full_arena,
			   world->publication.layout.bytes) < 0)
		return -1;
	return wait_for_copies(world);
}

static int submit_scatter(struct kernels_world *world)
{
	return dispatch(world, &world->scatter, world->chunks, world->full_arguments);
}

const struct kernels_way kernels_ways[KERNELS_WAYS] = {
	[KERNELS_NOTHING] = {"nothing", NULL, LANDS_NOWHERE, false, submit_nothing},
	[KERNELS_PLAIN_DMA] = {"one plain DMA", "one plain DMA", LANDS_IN_ONE_PIECE, false,
			       submit_plain_dma},
	[KERNELS_COPIES] = {"N plain DMAs", "N plain DMAs", LANDS_AT_DESTINATIONS, false,
			    submit_copies},
	[KERNELS_PACKED] = {"h2dpub packed", "DMA + h2d_scatter", LANDS_AT_DESTINATIONS, false,
			    submit_packed},
	[KERNELS_PULL] = {"h2dpub pull", "h2d_pull", LANDS_AT_DESTINATIONS, false, submit_pull},
	[KERNELS_EMPTY] = {"(empty kernel)", "empty kernel", LANDS_NOWHERE, false,
			   submit_empty_kernel},
	[KERNELS_DEVICE_COPY] = {"(device copy)", "device copy", LANDS_IN_ONE_PIECE, true,
				 submit_device_copy},
	[KERNELS_SCATTER] = {"(h2d_scatter)", "h2d_scatter", LANDS_AT_DESTINATIONS, true,
			     submit_scatter},
};

/* ---- waiting ------------------------------------------------------------------------------- */

/* Looks at it all the time: what is measured ends when it does. */
static int wait_for(struct kernels_world *world, hsa_signal_t signal, const char *what)
{
	uint64_t deadline = progress_now_ns() + H2D_DEFAULT_TIMEOUT_NS;

	/* Acquire pairs with the release of the packet or DMA that decrements the signal. */
	while (hsa_signal_load_scacquire(signal) > 0) {
		if (h2d_stream_check(world->publication.stream) != H2D_STATUS_SUCCESS)
			return publication_failed(&world->publication, what);
		if (progress_now_ns() >= deadline) {
			tool_error_set(world->publication.error, "%s has not ended within %llu s",
				       what,
				       (unsigned long long)(H2D_DEFAULT_TIMEOUT_NS / 1000000000));
			return -1;
		}
		if (world->publication.software)
			sched_yield(); /* the GPU may need this processor */
	}
	return 0;
}

int kernels_consume(struct kernels_world *world)
{
	h2d_packet_t packet;

	hsa_signal_store_relaxed(world->consumed, 1);
	h2d_packet_dispatch(&packet, &world->pull, 1, H2D_CHUNK_WORKGROUP_SIZE, world->no_arguments,
			    H2D_FENCE_AGENT, H2D_FENCE_SYSTEM);
	packet.dispatch.completion_signal = world->consumed;
	if (enqueue(world, &packet, 1) < 0)
		return -1;
	return wait_for(world, world->consumed, "the consumer");
}

/* ---- times of the device ------------------------------------------------------------------- */

struct span {
	uint64_t start, end; /* in ticks of the runtime's clock */
};

static void widen(struct span *span, uint64_t start, uint64_t end)
{
	span->start = start < span->start ? start : span->start;
	span->end = end > span->end ? end : span->end;
}

static int check_times(struct kernels_world *world, hsa_status_t status, const char *call)
{
	if (status == HSA_STATUS_SUCCESS)
		return 0;
	h2d_hsa_error(status, call);
	return publication_failed(&world->publication, "no times of the device");
}

static int wait_for_times(struct kernels_world *world, struct span *span)
{
	for (uint32_t i = 0; i < world->timed_copies; i++) {
		hsa_amd_profiling_async_copy_time_t time;

		if (wait_for(world, world->copy_done[i], "a copy") < 0 ||
		    check_times(world,
				hsa_amd_profiling_get_async_copy_time(world->copy_done[i], &time),
				"hsa_amd_profiling_get_async_copy_time") < 0)
			return -1;
		widen(span, time.start, time.end);
	}
	if (world->timed_kernel) {
		hsa_amd_profiling_dispatch_time_t time;

		if (wait_for(world, world->kernel_done, "a kernel") < 0 ||
		    check_times(world,
				hsa_amd_profiling_get_dispatch_time(world->publication.info.agent,
								    world->kernel_done, &time),
				"hsa_amd_profiling_get_dispatch_time") < 0)
			return -1;
		widen(span, time.start, time.end);
	}
	return 0;
}

int kernels_take_times(struct kernels_world *world, bool take)
{
	if (check_times(world,
			hsa_amd_profiling_set_profiler_enabled(
				h2d_stream_queue(world->publication.stream), take),
			"hsa_amd_profiling_set_profiler_enabled") < 0)
		return -1;
	return check_times(world, hsa_amd_profiling_async_copy_enable(take),
			   "hsa_amd_profiling_async_copy_enable");
}

int kernels_time(struct kernels_world *world, const struct kernels_way *way, uint64_t *nanoseconds)
{
	struct span span = {UINT64_MAX, 0};
	int result;

	world->timed = true;
	world->timed_copies = 0;
	world->timed_kernel = false;
	hsa_signal_store_relaxed(world->kernel_done, 1);
	hsa_signal_store_relaxed(world->gate, 1);
	result = way->submit(world);
	world->timed = false;
	/* Release pairs with the acquire of the copies, which read what the host has written. */
	hsa_signal_store_screlease(world->gate, 0);
	if (result < 0 || wait_for_times(world, &span) < 0)
		return -1;
	/* Its release to the system empties the caches: the next way does not pay for it. */
	if (kernels_consume(world) < 0)
		return -1;
	*nanoseconds = (uint64_t)((double)(span.end - span.start) * 1e9 /
				  (double)world->timestamp_frequency);
	return 0;
}
