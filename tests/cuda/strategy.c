/* SPDX-License-Identifier: MIT */
/* The library's two kernels, and the peers that CUDA itself offers. */
#include "strategy.h"

#include <stdio.h>
#include <stdlib.h>

#include "hsa/kernel_arguments.h"

static void *host_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

/* ---- kernels ----------------------------------------------------------------------------------*/

const uint32_t strategy_pull_members[STRATEGY_PULLS] = {8, 20, 40, GROUP_MAX_MEMBERS};

static CUfunction load_kernel(const char *directory, const char *name, const char *kernel_name)
{
	static char text[1 << 18], file_name[4096];

	snprintf(file_name, sizeof(file_name), "%s/%s.ptx", directory, name);
	FILE *file = fopen(file_name, "rb");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	CUfunction function;
	CUmodule module;

	if (!file || size == 0 || !feof(file)) {
		fprintf(stderr, "%s: cannot be read\n", file_name);
		exit(2);
	}
	fclose(file);
	text[size] = '\0';
	CHECK_CUDA(cuModuleLoadData(&module, text));
	CHECK_CUDA(cuModuleGetFunction(&function, module, kernel_name));
	return function;
}

void strategy_load_kernels(struct strategy_context *context, const char *directory)
{
	static const char empty[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				    ".visible .entry empty()\n{\n\tret;\n}\n";
	CUmodule module;

	context->scatter = load_kernel(directory, "scatter", "h2d_scatter");
	for (size_t i = 0; i < STRATEGY_PULLS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "pull-%u", strategy_pull_members[i]);
		context->pull[i] = load_kernel(directory, name, "h2d_pull");
	}
	CHECK_CUDA(cuModuleLoadData(&module, empty));
	CHECK_CUDA(cuModuleGetFunction(&context->empty, module, "empty"));
}

static void launch(CUfunction kernel, CUstream stream, uint64_t chunks, void *arguments,
		   size_t size)
{
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};

	CHECK_CUDA(cuLaunchKernel(kernel, (unsigned int)chunks, 1, 1, H2D_CHUNK_WORKGROUP_SIZE, 1,
				  1, 0, stream, NULL, extra));
}

static void launch_scatter(const struct strategy_context *context, const struct group *group,
			   CUdeviceptr arena)
{
	struct h2d_scatter_arguments arguments = {arena, group->table, group->members, 0};

	/* The kernel's own parameters end behind `members`. */
	launch(context->scatter, context->stream, group->chunks, &arguments,
	       offsetof(struct h2d_scatter_arguments, reserved));
}

void strategy_launch_scatter(const struct strategy_context *context, struct group *group)
{
	launch_scatter(context, group, group->full_arena);
}

void strategy_launch_pull(const struct strategy_context *context, struct group *group)
{
	size_t i = 0;

	while (strategy_pull_members[i] < group->members)
		i++;
	launch(context->pull[i], context->stream, group->chunks, group->pull_arguments,
	       sizeof(struct h2d_pull_arguments) +
		       strategy_pull_members[i] * sizeof(struct h2d_pull_member));
}

void strategy_launch_empty(const struct strategy_context *context, struct group *group)
{
	(void)group;
	CHECK_CUDA(cuLaunchKernel(context->empty, 1, 1, 1, 32, 1, 1, 0, context->stream, NULL,
				  NULL));
}

/* ---- strategies -------------------------------------------------------------------------------*/

static void submit_nothing(const struct strategy_context *context, struct group *group)
{
	(void)context;
	(void)group;
}

static void submit_plain_dma(const struct strategy_context *context, struct group *group)
{
	CHECK_CUDA(cuMemcpyHtoDAsync(group->plain, group->host, group->bytes,
				     context->stream));
}

static void submit_copies(const struct strategy_context *context, struct group *group)
{
	for (uint32_t i = 0; i < group->members; i++)
		CHECK_CUDA(cuMemcpyHtoDAsync(group->destinations[i],
					     host_pointer(group->sources[i]), group->size[i],
					     context->stream));
}

void strategy_copy_on_device(const struct strategy_context *context, struct group *group)
{
	CHECK_CUDA(cuMemcpyDtoDAsync(group->device, group->full_arena, group->bytes,
				     context->stream));
}

#if CUDA_VERSION >= 13000
static void submit_batch(const struct strategy_context *context, struct group *group)
{
	CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	size_t first = 0;

	CHECK_CUDA(cuMemcpyBatchAsync(group->destinations, group->sources, group->sizes,
				      group->members, &attributes, &first, 1, context->stream));
}
#endif

static void submit_packed(const struct strategy_context *context, struct group *group)
{
	size_t used = group_pack(group, PACK_LIMIT);

	CHECK_CUDA(cuMemcpyHtoDAsync(group->device_arena, group->arena, used, context->stream));
	launch_scatter(context, group, group->device_arena);
}

const struct strategy strategies[] = {
	{"nothing", false, submit_nothing},
	{"one plain DMA", false, submit_plain_dma},
	{"N cuMemcpyAsync", true, submit_copies},
#if CUDA_VERSION >= 13000
	{"cuMemcpyBatchAsync", true, submit_batch},
#endif
	{"cub Batched", true, cub_peer_submit},
	{"h2dpub packed", true, submit_packed},
	{"h2dpub pull", true, strategy_launch_pull},
	{"(empty kernel)", false, strategy_launch_empty},
	{"(device copy)", false, strategy_copy_on_device},
	{"(h2d_scatter)", false, strategy_launch_scatter},
};
const size_t strategy_count = sizeof(strategies) / sizeof(strategies[0]);
