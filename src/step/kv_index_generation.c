/* SPDX-License-Identifier: MIT */
/* One slot's KV-index generation: the dispatch of the kernel in kernels/kv_indices.cl. */
#include <string.h>

#include "error.h"
#include "hsa/device.h"
#include "step/kv_index_generation.h"
#include "step/runner.h"
#include "step/step_kernel.h"

/* As in kernels/kv_indices.cl. */
enum { WORKGROUP_SIZE = 256, PAGES_PER_WORKGROUP = 1024 };

typedef struct kv_indices_arguments {
	int32_t *kv_indices;
	const int32_t *kv_indptr;
	const int32_t *block_tables;
	uint32_t columns;
	uint32_t ratio;
} kv_indices_arguments_t;

/* The kernel may declare more than its own arguments: the compiler's hidden ones, left zero. */
static h2d_status_t make_kernel_arguments(const h2d_runner_t *runner,
					  const h2d_kv_index_generation_description_t *description,
					  h2d_kv_index_generation_t *generation)
{
	const kv_indices_arguments_t arguments = {
		.kv_indices = generation->kv_indices,
		.kv_indptr = description->kv_indptr,
		.block_tables = description->block_tables,
		.columns = runner->block_table_columns,
		.ratio = runner->pages_per_block,
	};
	size_t size = generation->dispatch.kernel.kernel_arguments_size;
	h2d_status_t status;

	if (size < sizeof(arguments))
		size = sizeof(arguments);
	status = h2d_device_allocate_kernel_arguments(generation->device, size,
						      &generation->kernel_arguments);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	memcpy(generation->kernel_arguments, &arguments, sizeof(arguments));
	generation->dispatch.kernel_arguments = generation->kernel_arguments;
	generation->dispatch.kernel_arguments_size = size;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t allocate_kv_indices(size_t size, h2d_kv_index_generation_t *generation)
{
	void *memory;
	h2d_status_t status = h2d_device_allocate(generation->device, size, &memory);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	generation->kv_indices = memory;
	generation->owns_kv_indices = true;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t
h2d_kv_index_generation_create(const h2d_runner_t *runner,
			       const h2d_kv_index_generation_description_t *description,
			       h2d_kv_index_generation_t *generation)
{
	const uint32_t workgroups =
		(runner->pages_per_request + PAGES_PER_WORKGROUP - 1) / PAGES_PER_WORKGROUP;
	const size_t indices = (size_t)description->max_requests * runner->pages_per_request;
	h2d_status_t status;

	*generation = (h2d_kv_index_generation_t){
		.device = runner->device,
		.inputs = {description->inputs[0], description->inputs[1]},
		.dispatch =
			{
				.grid_size = {workgroups * WORKGROUP_SIZE, 1, 1},
				.workgroup_size = {WORKGROUP_SIZE, 1, 1},
			},
	};
	status = h2d_device_get_kernel(runner->device, "h2d_kv_indices",
				       &generation->dispatch.kernel);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (description->kv_indices)
		generation->kv_indices = description->kv_indices;
	else
		status = allocate_kv_indices(indices * sizeof(int32_t), generation);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = make_kernel_arguments(runner, description, generation);
	if (status != H2D_STATUS_SUCCESS)
		h2d_kv_index_generation_destroy(generation);
	return status;
}

void h2d_kv_index_generation_destroy(h2d_kv_index_generation_t *generation)
{
	if (generation->device) {
		h2d_device_free(generation->device, generation->kernel_arguments);
		if (generation->owns_kv_indices)
			h2d_device_free(generation->device, generation->kv_indices);
	}
	*generation = (h2d_kv_index_generation_t){0};
}

static h2d_status_t keep_inputs(const h2d_kv_index_generation_t *generation, h2d_stream_t *stream)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (int i = 0; i < 2 && status == H2D_STATUS_SUCCESS; i++)
		if (generation->inputs[i])
			status = h2d_step_kernel_keep_input(stream, generation->inputs[i]);
	return status;
}

h2d_status_t h2d_kv_index_generation_enqueue(const h2d_kv_index_generation_t *generation,
					     h2d_stream_t *stream, uint32_t num_requests)
{
	h2d_dispatch_t dispatch = generation->dispatch;
	h2d_status_t status;

	if (h2d_stream_device(stream) != generation->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE,
				 "KV-index generation: the stream is of another device");
	if (num_requests == 0)
		return H2D_STATUS_SUCCESS;
	status = keep_inputs(generation, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	dispatch.grid_size[1] = num_requests;
	return h2d_stream_dispatch(stream, &dispatch);
}
