/* SPDX-License-Identifier: MIT */
/*
 * The peers of HIP: one hipMemcpyAsync a member, one call for all where HIP has it, and the packed
 * design on HIP (one hipMemcpyAsync and one launch of the library's own scatter kernel).
 */
#include "config.h"

#include "bench_publication.h"

#ifdef HAVE_HIP
#include <stdlib.h>

#include <hip/hip_runtime_api.h>

#include "hsa/embedded.h"
#include "hsa/isa_name.h"
#include "hsa/kernel_arguments.h"

struct hip_peer {
	struct publication_world *world;
	hipStream_t stream;
	/* packed */
	hipModule_t module;
	hipFunction_t scatter;
	uint8_t *arena; /* pinned */
	uint8_t *device_arena;
	struct h2d_scatter_member *table; /* of the device */
	uint32_t chunks;
};

static int check(const struct publication_world *world, hipError_t status, const char *what)
{
	if (status == hipSuccess)
		return 0;
	tool_error_set(world->error, "%s: %s", what, hipGetErrorString(status));
	return -1;
}

int publication_hip_open(struct publication_world *world)
{
	return check(world, hipSetDevice(0), "hipSetDevice");
}

int publication_hip_allocate(struct publication_world *world)
{
	if (check(world, hipHostMalloc((void **)&world->host, world->host_size, 0),
		  "hipHostMalloc") < 0)
		return -1;
	return check(world, hipMalloc((void **)&world->memory, world->device_size), "hipMalloc");
}

void publication_hip_free(struct publication_world *world)
{
	if (world->host)
		(void)hipHostFree(world->host);
	if (world->memory)
		(void)hipFree(world->memory);
}

static void destroy(void *context)
{
	struct hip_peer *peer = context;

	if (peer->module)
		(void)hipModuleUnload(peer->module);
	if (peer->arena)
		(void)hipHostFree(peer->arena);
	if (peer->device_arena)
		(void)hipFree(peer->device_arena);
	if (peer->table)
		(void)hipFree(peer->table);
	if (peer->stream)
		(void)hipStreamDestroy(peer->stream);
	free(peer);
}

static void *create(struct publication_world *world)
{
	struct hip_peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		tool_error_set(world->error, "out of memory");
		return NULL;
	}
	peer->world = world;
	if (check(world, hipStreamCreateWithFlags(&peer->stream, hipStreamNonBlocking),
		  "hipStreamCreateWithFlags") < 0) {
		destroy(peer);
		return NULL;
	}
	return peer;
}

static int load_scatter(struct hip_peer *peer)
{
	const struct h2d_embedded_code_object *object = h2d_embedded_code_objects;

	while (object->isa && !h2d_isa_name_fits(object->isa, peer->world->info.isa))
		object++;
	if (!object->isa) {
		tool_error_set(peer->world->error, "no scatter kernel for %s", peer->world->info.isa);
		return -1;
	}
	if (check(peer->world, hipModuleLoadData(&peer->module, object->begin),
		  "hipModuleLoadData") < 0)
		return -1;
	return check(peer->world,
		     hipModuleGetFunction(&peer->scatter, peer->module, "h2d_scatter"),
		     "hipModuleGetFunction");
}

static int make_arena(struct hip_peer *peer)
{
	const struct publication_world *world = peer->world;
	struct h2d_scatter_member table[BENCH_MAX_MEMBERS];
	size_t size = world->layout.members * sizeof(struct h2d_scatter_header) +
		      world->layout.bytes;

	for (uint32_t i = 0; i < world->layout.members; i++) {
		table[i].destination = (uint64_t)(uintptr_t)world->destination[i];
		table[i].source = (uint64_t)(uintptr_t)world->source[i];
		peer->chunks += (uint32_t)h2d_chunk_count(world->size[i]);
	}
	if (check(world, hipHostMalloc((void **)&peer->arena, size, 0), "hipHostMalloc") < 0 ||
	    check(world, hipMalloc((void **)&peer->device_arena, size), "hipMalloc") < 0 ||
	    check(world, hipMalloc((void **)&peer->table, sizeof(table)), "hipMalloc") < 0)
		return -1;
	return check(world,
		     hipMemcpy(peer->table, table, world->layout.members * sizeof(table[0]),
			       hipMemcpyHostToDevice),
		     "hipMemcpy");
}

static void *create_packed(struct publication_world *world)
{
	struct hip_peer *peer = create(world);

	if (peer && (load_scatter(peer) < 0 || make_arena(peer) < 0)) {
		destroy(peer);
		return NULL;
	}
	return peer;
}

static int submit_copies(void *context)
{
	struct hip_peer *peer = context;
	struct publication_world *world = peer->world;

	for (uint32_t i = 0; i < world->layout.members; i++) {
		if (check(world,
			  hipMemcpyAsync(world->destination[i], world->source[i], world->size[i],
					 hipMemcpyHostToDevice, peer->stream),
			  "hipMemcpyAsync") < 0)
			return -1;
	}
	return 0;
}

#ifdef HAVE_HIP_BATCH_COPY
static int submit_batch(void *context)
{
	struct hip_peer *peer = context;
	struct publication_world *world = peer->world;
	hipMemcpyAttributes attributes = {.srcAccessOrder = hipMemcpySrcAccessOrderStream};
	size_t first = 0, failed = 0;

	return check(world,
		     hipMemcpyBatchAsync((void **)world->destination, (void **)world->source,
					 (size_t *)world->size, world->layout.members, &attributes,
					 &first, 1, &failed, peer->stream),
		     "hipMemcpyBatchAsync");
}
#endif

static int submit_packed(void *context)
{
	struct hip_peer *peer = context;
	struct h2d_scatter_arguments arguments = {
		.arena = (uint64_t)(uintptr_t)peer->device_arena,
		.table = (uint64_t)(uintptr_t)peer->table,
		.members = peer->world->layout.members,
	};
	size_t size = sizeof(arguments);
	void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments,
			 HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};

	if (check(peer->world,
		  hipMemcpyAsync(peer->device_arena, peer->arena,
				 publication_pack(peer->world, peer->arena,
						  H2D_DEFAULT_PACK_LIMIT_BYTES),
				 hipMemcpyHostToDevice, peer->stream),
		  "hipMemcpyAsync") < 0)
		return -1;
	return check(peer->world,
		     hipModuleLaunchKernel(peer->scatter, peer->chunks, 1, 1,
					   H2D_CHUNK_WORKGROUP_SIZE, 1, 1, 0, peer->stream, NULL,
					   extra),
		     "hipModuleLaunchKernel");
}

static int wait(void *context)
{
	struct hip_peer *peer = context;

	return check(peer->world, hipStreamSynchronize(peer->stream), "hipStreamSynchronize");
}

const struct publication_peer publication_hip_peers[] = {
	{"HIP copies", true, create, NULL, submit_copies, wait, destroy},
#ifdef HAVE_HIP_BATCH_COPY
	{"HIP batch", true, create, NULL, submit_batch, wait, destroy},
#endif
	{"HIP packed", true, create_packed, NULL, submit_packed, wait, destroy},
};
const size_t publication_hip_peer_count =
	sizeof(publication_hip_peers) / sizeof(publication_hip_peers[0]);
#endif
