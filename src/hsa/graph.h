/* SPDX-License-Identifier: MIT */
/* Recording a dispatch while a stream captures, and what a recording keeps. */
#ifndef H2DPUB_SRC_HSA_GRAPH_H
#define H2DPUB_SRC_HSA_GRAPH_H

#include <h2dpub/graph.h>

#include "hsa/stream.h"

/*
 * Appends a dispatch to the recording of a stream that captures, with a copy of its kernel
 * arguments. OUT_OF_MEMORY: nothing is appended and the recording goes on.
 */
h2d_status_t h2d_graph_record(h2d_stream_t *stream, const h2d_packet_t *packet,
			      const void *kernel_arguments, size_t kernel_arguments_size);

/*
 * Makes the recording of a stream that captures hold an object: release(object) is called when the
 * graph made of it is destroyed or the capture fails. *first: the recording did not hold the object
 * before; else nothing changes. INVALID_STATE: the stream records nothing. OUT_OF_MEMORY.
 */
h2d_status_t h2d_graph_hold(h2d_stream_t *stream, void *object, void (*release)(void *object),
			    bool *first);

#endif
