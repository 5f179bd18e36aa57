/* SPDX-License-Identifier: MIT */
/* A kernel of a slot that is dispatched with other arguments every step. */
#include "step/step_kernel.h"

#include <string.h>

#include "error.h"
#include "hsa/device.h"
#include "hsa/stream.h"

/* Room for the arguments of any of these kernels and the compiler's hidden ones, left zero. */
enum { STEP_ARGUMENTS_SIZE = 512 };

h2d_status_t h2d_step_kernel_create(h2d_device_t *device, const char *name,
				    h2d_step_kernel_t *kernel)
{
	size_t size = STEP_ARGUMENTS_SIZE;
	h2d_status_t status;

	*kernel = (h2d_step_kernel_t){
		.device = device,
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

h2d_status_t h2d_step_kernel_enqueue(const h2d_step_kernel_t *kernel, h2d_stream_t *stream,
				     uint32_t items, const void *arguments, size_t arguments_size)
{
	h2d_dispatch_t dispatch = kernel->dispatch;
	_Alignas(16) uint8_t recorded[STEP_ARGUMENTS_SIZE] = {0};

	if (h2d_stream_device(stream) != kernel->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE,
				 "kernel of a step: the stream is of another device");
	if (items == 0)
		return H2D_STATUS_SUCCESS;
	/* A recording copies them: they need not pass through memory that the GPU may be reading.
	 */
	if (h2d_stream_is_capturing(stream)) {
		memcpy(recorded, arguments, arguments_size);
		dispatch.kernel_arguments = recorded;
	} else {
		memcpy(kernel->kernel_arguments, arguments, arguments_size);
	}
	dispatch.grid_size[0] = (items + H2D_STEP_WORKGROUP_SIZE - 1) / H2D_STEP_WORKGROUP_SIZE *
				H2D_STEP_WORKGROUP_SIZE;
	return h2d_stream_dispatch(stream, &dispatch);
}

h2d_status_t h2d_step_kernel_keep_input(h2d_stream_t *stream, h2d_buffer_t *input)
{
	if (!h2d_stream_is_capturing(stream))
		return H2D_STATUS_SUCCESS;
	return h2d_buffer_use_in_recording(input, stream);
}
