/* SPDX-License-Identifier: MIT */
/*
 * Graphs: a recorded list of kernel dispatches that is replayed with one doorbell. Kernel
 * arguments, and so every address in them, are fixed when they are recorded.
 */
#ifndef H2DPUB_GRAPH_H
#define H2DPUB_GRAPH_H

#include <h2dpub/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts recording: until h2d_graph_end_capture(), h2d_stream_dispatch() on this stream or an alias
 * records instead of enqueuing, and publications are refused. CAPTURE_ACTIVE: it records already.
 * OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_graph_begin_capture(h2d_stream_t *stream);

/*
 * Ends the recording and makes the graph, with its own copy of all kernel arguments. INVALID_STATE:
 * the stream records nothing. OUT_OF_MEMORY, HSA_ERROR: the recording is dropped and the capture
 * ended.
 */
H2D_API h2d_status_t h2d_graph_end_capture(h2d_stream_t *stream, h2d_graph_t **graph);

/*
 * Replays the graph on a stream of the same device, after everything enqueued there so far. Its
 * first packet waits for all earlier packets (barrier bit) and acquires at agent scope, so that a
 * publication before it needs no fence of its own. Does not wait for the GPU. An empty graph does
 * nothing. Not for two threads at once with one graph. OUT_OF_RANGE: more dispatches than the
 * stream's queue has packets. OUT_OF_MEMORY, HSA_ERROR: at a launch while replays on other streams
 * go on. QUEUE_FULL, QUEUE_ERROR, MEMORY_FAULT, CAPTURE_ACTIVE, WRONG_DEVICE.
 */
H2D_API h2d_status_t h2d_graph_launch(h2d_graph_t *graph, h2d_stream_t *stream);

/* The number of recorded dispatches. */
H2D_API uint32_t h2d_graph_dispatch_count(const h2d_graph_t *graph);

/*
 * Destroys a graph after waiting (each time bounded by the recording stream's timeout) for its
 * replays on each stream; on one that has failed there is nothing to wait for. TIMEOUT: the graph
 * stays. HSA_ERROR: a queue cannot be made inactive after a memory fault. NULL is allowed.
 */
H2D_API h2d_status_t h2d_graph_destroy(h2d_graph_t *graph);

#ifdef __cplusplus
}
#endif

#endif
