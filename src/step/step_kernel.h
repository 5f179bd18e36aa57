/* SPDX-License-Identifier: MIT */
/* A kernel of a slot that is dispatched with other arguments every step. */
#ifndef H2DPUB_SRC_STEP_STEP_KERNEL_H
#define H2DPUB_SRC_STEP_STEP_KERNEL_H

#include <h2dpub/publication.h>

/* The kernels of serving groups run one work-item an element in workgroups of this size. */
#define H2D_STEP_WORKGROUP_SIZE 64

typedef struct h2d_step_kernel {
	h2d_device_t *device; /* NULL: not made */
	h2d_owner_t *owner;   /* of the slot */
	const char *name;
	uint64_t epoch;		 /* of the owner, in which it was enqueued last; 0: never */
	h2d_dispatch_t dispatch; /* complete but for grid_size[0] */
	void *kernel_arguments;
} h2d_step_kernel_t;

/* name: as for h2d_device_get_kernel(); not copied. */
h2d_status_t h2d_step_kernel_create(h2d_owner_t *owner, const char *name,
				    h2d_step_kernel_t *kernel);

/* The GPU must be done with it. */
void h2d_step_kernel_destroy(h2d_step_kernel_t *kernel);

/*
 * Enqueues it for items work-items, or records it during capture; no items: nothing. The arguments
 * are copied. Outside capture they live in the slot until the GPU has run it: so at most once an
 * epoch (INVALID_STATE), on its stream (WRONG_STREAM), and the next begin waits for it. What is
 * enqueued behind finish is recorded as h2d_owner_record() does.
 */
h2d_status_t h2d_step_kernel_enqueue(h2d_step_kernel_t *kernel, h2d_stream_t *stream,
				     uint32_t items, const void *arguments, size_t arguments_size);

/*
 * For a kernel that reads a buffer: has a recording keep the buffer until its graph is destroyed.
 * Nothing outside capture, where the owner's epoch keeps it.
 */
h2d_status_t h2d_step_kernel_keep_input(h2d_stream_t *stream, h2d_buffer_t *input);

#endif
