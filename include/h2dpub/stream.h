/* SPDX-License-Identifier: MIT */
/*
 * Streams: the order of work on one GPU. HSA knows queues only; a stream is one hsa_queue_t, the
 * caller's or its own, with a logical identity and a capture flag. Everything that h2dpub orders
 * is ordered by packets on that queue.
 *
 * Failures: after an error of its queue or a memory fault of its GPU a stream takes nothing more.
 * The runtime has suspended a queue that reports an error. After a memory fault the destruction of
 * an owner, a graph or a stream makes the queue inactive (hsa_queue_inactivate), a caller's too:
 * the GPU could otherwise still use what is freed.
 *
 * Threading: several threads may enqueue on one stream and synchronize it at the same time, unless
 * its queue is the caller's and of the type for one producer. Recording a graph and destroying a
 * stream must not race with other uses of it.
 */
#ifndef H2DPUB_STREAM_H
#define H2DPUB_STREAM_H

#include <h2dpub/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_stream h2d_stream_t;
typedef struct h2d_graph h2d_graph_t;

typedef struct h2d_stream_options {
	hsa_queue_t *queue;   /* the caller's queue, kept by the caller; NULL: the stream makes its own */
	uint32_t queue_size;  /* packets of an own queue, a power of two; 0: 1024 */
	uint64_t timeout_ns;  /* of every bounded wait on this stream; 0: H2D_DEFAULT_TIMEOUT_NS */
} h2d_stream_options_t;

/*
 * One kernel dispatch. Sizes are in work-items, as in the AQL packet; a dimension that is not used
 * is 1. Outside capture, kernel_arguments points to memory that the GPU reads while the kernel
 * runs (h2d_device_allocate_host) and must stay unchanged until then; in capture the bytes are
 * copied into the graph.
 */
typedef struct h2d_dispatch {
	h2d_kernel_t kernel;
	uint32_t grid_size[3];
	uint16_t workgroup_size[3];
	uint32_t dynamic_group_segment_size; /* bytes of LDS beyond the kernel's static ones */
	const void *kernel_arguments;
	size_t kernel_arguments_size; /* bytes, at least kernel.kernel_arguments_size */
} h2d_dispatch_t;

/*
 * Makes a stream. options may be NULL. Two streams over one hsa_queue_t are different streams to
 * the publication contract unless one is made by h2d_stream_create_alias().
 * INVALID_ARGUMENT: queue_size is no power of two. OUT_OF_RANGE: the agent has no queues of that
 * size. WRONG_DEVICE is not checked for the caller's queue: HSA has no way to ask a queue for its
 * agent. OUT_OF_MEMORY, HSA_ERROR.
 */
H2D_API h2d_status_t h2d_stream_create(h2d_device_t *device, const h2d_stream_options_t *options,
				       h2d_stream_t **stream);

/*
 * Makes another object for the same logical stream: same queue, same identity, same capture state.
 * The stream lives on until the last of its objects is destroyed. OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_stream_create_alias(h2d_stream_t *stream, h2d_stream_t **alias);

/*
 * Destroys a stream object. The last one waits (bounded) for the queue's work, then destroys an
 * own queue. INVALID_STATE: the stream is capturing, or an owner or graph still uses this object (a
 * graph: that of its capture and those of its launches, each until a launch on another stream finds
 * the replays there ended). TIMEOUT, QUEUE_FULL: the work did not end and the stream stays. After a
 * failure there is nothing to wait for. HSA_ERROR: the queue cannot be made inactive after a memory
 * fault.
 * The wait inside hsa_queue_destroy() is the runtime's: a runtime before 5.7, or a driver without
 * event ages, can on rare occasions miss a wake-up there and not return. A caller's queue is not
 * destroyed. NULL is allowed.
 */
H2D_API h2d_status_t h2d_stream_destroy(h2d_stream_t *stream);

/* The stream's queue; it stays the stream's (or the caller's). */
H2D_API hsa_queue_t *h2d_stream_queue(const h2d_stream_t *stream);

/* The stream's device. */
H2D_API h2d_device_t *h2d_stream_device(const h2d_stream_t *stream);

/*
 * Waits until everything enqueued on the stream so far is done, at most the stream's timeout. Then
 * the host and DMA engines see what the GPU wrote, and kernels enqueued later see what they wrote.
 * TIMEOUT, QUEUE_FULL, QUEUE_ERROR, MEMORY_FAULT; CAPTURE_ACTIVE during capture.
 */
H2D_API h2d_status_t h2d_stream_synchronize(h2d_stream_t *stream);

/*
 * Enqueues one kernel dispatch after everything enqueued so far (barrier bit; acquire and release
 * at agent scope), or records it during capture. INVALID_ARGUMENT: no kernel, a zero size, a
 * workgroup of more than 1024 work-items, too few bytes of kernel arguments, or (outside capture)
 * kernel arguments at an address that is no multiple of 16. QUEUE_FULL, QUEUE_ERROR, MEMORY_FAULT;
 * OUT_OF_MEMORY while recording.
 */
H2D_API h2d_status_t h2d_stream_dispatch(h2d_stream_t *stream, const h2d_dispatch_t *dispatch);

/*
 * For the owner of a caller's queue: tells the stream of the error that the queue's callback got.
 * Every wait on it then ends in H2D_STATUS_QUEUE_ERROR. May be called from the callback.
 */
H2D_API void h2d_stream_notify_queue_error(h2d_stream_t *stream, hsa_status_t status);

#ifdef __cplusplus
}
#endif

#endif
