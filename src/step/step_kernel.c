/* SPDX-License-Identifier: MIT */
/* A kernel of a slot that is dispatched with other arguments every step. */
#include "step/step_kernel.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "hsa/device.h"
#include "hsa/stream.h"
#include "publish/owner.h"

/* Room for the arguments of any of these kernels and the compiler's hidden ones, left zero. */
enum { STEP_ARGUMENTS_SIZE = 512 };

h2d_status_t h2d_step_kernel_create(h2d_owner_t *owner, const char *name, h2d_step_kernel_t *kernel)
{
	h2d_device_t *device = owner->device;
	size_t size = STEP_ARGUMENTS_SIZE;
	h2d_status_t status;

	*kernel = (h2d_step_kernel_t){
		.device = device,
		.owner = owner,
		.name = name,
		.dispatch =
			{
				.grid_size = {0, 1, 1},
				.workgroup_size = {H2D_STEP_WORKGROUP_SIZE, 1, 1},
			},
	};
	status = h2d_device_get_kernel(device, name, &kernel->dispatch.kernel);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (kernel->dispatch.kernel.kernel_arguments_size > size)
		return h2d_error(H2D_STATUS_NOT_SUPPORTED,
				 "kernel %s: %u bytes of arguments are more than %zu", name,
				 kernel->dispatch.kernel.kernel_arguments_size, size);
	status = h2d_device_allocate_kernel_arguments(device, size, &kernel->kernel_arguments);
	kernel->dispatch.kernel_arguments = kernel->kernel_arguments;
	kernel->dispatch.kernel_arguments_size = size;
	return status;
}

void h2d_step_kernel_destroy(h2d_step_kernel_t *kernel)
{
	if (kernel->device)
		h2d_device_free(kernel->device, kernel->kernel_arguments);
	*kernel = (h2d_step_kernel_t){0};
}

/* Whether the arguments may be rewritten, and the epoch's completion will cover their dispatch. */
static h2d_status_t check_epoch(const h2d_step_kernel_t *kernel, const h2d_stream_t *stream)
{
	const h2d_owner_t *owner = kernel->owner;

	if (owner->state != H2D_OWNER_ACTIVE && owner->state != H2D_OWNER_SEALED)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "kernel %s: owner '%s' is %s: it has no epoch", kernel->name,
				 owner->name, owner->state == H2D_OWNER_IDLE ? "idle" : "failed");
	if (kernel->epoch == owner->epoch)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "kernel %s: enqueued in epoch %" PRIu64 " of owner '%s' already: "
				 "the GPU may be reading its arguments",
				 kernel->name, owner->epoch, owner->name);
	if (h2d_stream_identity(stream) != owner->stream_identity)
		return h2d_error(H2D_STATUS_WRONG_STREAM,
				 "kernel %s: not the stream on which epoch %" PRIu64
				 " of owner '%s' began",
				 kernel->name, owner->epoch, owner->name);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t enqueue_in_epoch(h2d_step_kernel_t *kernel, h2d_stream_t *stream,
				     const h2d_dispatch_t *dispatch, const void *arguments,
				     size_t arguments_size)
{
	h2d_owner_t *owner = kernel->owner;
	h2d_status_t status = check_epoch(kernel, stream);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	memcpy(kernel->kernel_arguments, arguments, arguments_size);
	status = h2d_stream_dispatch(stream, dispatch);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	kernel->epoch = owner->epoch;
	/* The epoch's finish is before the dispatch, and its caller need not record. */
	return owner->state == H2D_OWNER_SEALED ? h2d_owner_record(owner, stream)
						: H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_step_kernel_enqueue(h2d_step_kernel_t *kernel, h2d_stream_t *stream,
				     uint32_t items, const void *arguments, size_t arguments_size)
{
	h2d_dispatch_t dispatch = kernel->dispatch;
	_Alignas(16) uint8_t recorded[STEP_ARGUMENTS_SIZE] = {0};

	if (h2d_stream_device(stream) != kernel->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE,
				 "kernel of a step: the stream is of another device");
	if (items == 0)
		return H2D_STATUS_SUCCESS;
	dispatch.grid_size[0] = (items + H2D_STEP_WORKGROUP_SIZE - 1) / H2D_STEP_WORKGROUP_SIZE *
				H2D_STEP_WORKGROUP_SIZE;
	if (!h2d_stream_is_capturing(stream))
		return enqueue_in_epoch(kernel, stream, &dispatch, arguments, arguments_size);
	/* A recording copies them: they need not pass through memory that the GPU may be reading.
	 */
	memcpy(recorded, arguments, arguments_size);
	dispatch.kernel_arguments = recorded;
	return h2d_stream_dispatch(stream, &dispatch);
}

h2d_status_t h2d_step_kernel_keep_input(h2d_stream_t *stream, h2d_buffer_t *input)
{
	if (!h2d_stream_is_capturing(stream))
		return H2D_STATUS_SUCCESS;
	return h2d_buffer_use_in_recording(input, stream);
}
