/* SPDX-License-Identifier: MIT */
/* A kernel of a slot that is dispatched with other arguments every step. */
#ifndef H2DPUB_SRC_STEP_STEP_KERNEL_H
#define H2DPUB_SRC_STEP_STEP_KERNEL_H

#include <h2dpub/publication.h>

/* The kernels of serving groups run one work-item an element in workgroups of this size. */
#define H2D_STEP_WORKGROUP_SIZE 64

typedef struct h2d_step_kernel {
	h2d_device_t *device;
	h2d_dispatch_t dispatch; /* complete but for grid_size[0] */
	void *kernel_arguments;
} h2d_step_kernel_t;

/* name: as for h2d_device_get_kernel(). */
h2d_status_t h2d_step_kernel_create(h2d_device_t *device, const char *name,
				    h2d_step_kernel_t *kernel);

/* The GPU must be done with it. */
void h2d_step_kernel_destroy(h2d_step_kernel_t *kernel);

/*
 * Enqueues it for items work-items, or records it during capture; no items: nothing. The arguments
 * are copied. They live in the slot until the GPU has run it:
 * so at most once an epoch, and before the epoch's last finish or record.
 */
h2d_status_t h2d_step_kernel_enqueue(const h2d_step_kernel_t *kernel, h2d_stream_t *stream,
				     uint32_t items, const void *arguments, size_t arguments_size);

/*
 * For a kernel that reads a buffer: has a recording keep the buffer until its graph is destroyed.
 * Nothing outside capture, where the owner's epoch keeps it.
 */
h2d_status_t h2d_step_kernel_keep_input(h2d_stream_t *stream, h2d_buffer_t *input);

#endif
