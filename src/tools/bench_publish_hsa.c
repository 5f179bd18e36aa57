/* SPDX-License-Identifier: MIT */
/*
 * The peers of the plain HSA runtime, ordered as correctly as the library orders: one asynchronous
 * copy a member, behind a gate that a barrier packet opens, and a barrier-AND that waits for them;
 * one call for all copies where the runtime has it. Nothing is checked.
 */
#include "config.h"

#include "bench_publication.h"

#include <stdlib.h>

#include <hsa/hsa_ext_amd.h>

#define QUEUE_PACKETS 1024
#define HEADER(acquire, release)                                                                   \
	(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |                                   \
	 1 << HSA_PACKET_HEADER_BARRIER |                                                          \
	 (acquire) << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |                                    \
	 (release) << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE)

struct hsa_peer {
	struct publication_world *world;
	hsa_agent_t gpu, cpu;
	hsa_queue_t *queue;
	hsa_signal_t gate, copied, consumed;
};

static int check(const struct hsa_peer *peer, hsa_status_t status, const char *what)
{
	const char *text = "unknown status";

	if (status == HSA_STATUS_SUCCESS)
		return 0;
	hsa_status_string(status, &text);
	tool_error_set(peer->world->error, "%s: %s", what, text);
	return -1;
}

static void destroy(void *context)
{
	struct hsa_peer *peer = context;

	if (peer->gate.handle)
		hsa_signal_destroy(peer->gate);
	if (peer->copied.handle)
		hsa_signal_destroy(peer->copied);
	if (peer->consumed.handle)
		hsa_signal_destroy(peer->consumed);
	if (peer->queue)
		hsa_queue_destroy(peer->queue);
	free(peer);
}

static hsa_status_t find_cpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;
	hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);

	if (status != HSA_STATUS_SUCCESS || type != HSA_DEVICE_TYPE_CPU)
		return status;
	*(hsa_agent_t *)data = agent;
	return HSA_STATUS_INFO_BREAK;
}

static void *create(struct publication_world *world)
{
	struct hsa_peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		tool_error_set(world->error, "out of memory");
		return NULL;
	}
	peer->world = world;
	peer->gpu = world->info.agent;
	hsa_iterate_agents(find_cpu, &peer->cpu);
	/* The host waits for none of the first two: without interrupts they cost least. */
	if (check(peer,
		  hsa_queue_create(peer->gpu, QUEUE_PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
				   UINT32_MAX, UINT32_MAX, &peer->queue),
		  "hsa_queue_create") < 0 ||
	    check(peer,
		  hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &peer->gate),
		  "hsa_amd_signal_create") < 0 ||
	    check(peer,
		  hsa_amd_signal_create(0, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &peer->copied),
		  "hsa_amd_signal_create") < 0 ||
	    check(peer, hsa_signal_create(0, 0, NULL, &peer->consumed), "hsa_signal_create") < 0) {
		destroy(peer);
		return NULL;
	}
	return peer;
}

/* Every publication is waited for, so the queue always has room. */
static void enqueue_barrier(const struct hsa_peer *peer, uint16_t header, hsa_signal_t dependency,
			    hsa_signal_t completion)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(peer->queue, 1);
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)peer->queue->base_address + index % QUEUE_PACKETS;

	packet->dep_signal[0] = dependency;
	packet->completion_signal = completion;
	__atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(peer->queue->doorbell_signal, (hsa_signal_value_t)index);
}

static int enqueue_copies(const struct hsa_peer *peer)
{
	const struct publication_world *world = peer->world;

	for (uint32_t i = 0; i < world->layout.members; i++) {
		if (check(peer,
			  hsa_amd_memory_async_copy(world->destination[i], peer->gpu,
						    world->source[i], peer->cpu, world->size[i], 1,
						    &peer->gate, peer->copied),
			  "hsa_amd_memory_async_copy") < 0)
			return -1;
	}
	return 0;
}

#ifdef HAVE_HSA_BATCH_COPY
static int enqueue_batch(const struct hsa_peer *peer)
{
	const struct publication_world *world = peer->world;
	hsa_amd_memory_copy_op_t operations[BENCH_MAX_MEMBERS];

	for (uint32_t i = 0; i < world->layout.members; i++) {
		operations[i] = (hsa_amd_memory_copy_op_t){
			.version = 1,
			.num_entries = 1,
			.completion_signal = peer->copied,
			.src = world->source[i],
			.src_agent = peer->cpu,
			.dst_agent = peer->gpu,
			.dst = world->destination[i],
			.size = world->size[i],
		};
	}
	return check(peer,
		     hsa_amd_memory_async_batch_copy(operations, world->layout.members, 1,
						     &peer->gate),
		     "hsa_amd_memory_async_batch_copy");
}
#endif

static int submit(const struct hsa_peer *peer, int (*enqueue)(const struct hsa_peer *peer))
{
	const hsa_signal_t none = {0};

	hsa_signal_store_relaxed(peer->gate, 1);
	hsa_signal_store_relaxed(peer->copied, peer->world->layout.members);
	enqueue_barrier(peer, HEADER(HSA_FENCE_SCOPE_NONE, HSA_FENCE_SCOPE_SYSTEM), none,
			peer->gate);
	if (enqueue(peer) < 0)
		return -1;
	enqueue_barrier(peer, HEADER(HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_AGENT), peer->copied,
			none);
	return 0;
}

static int submit_copies(void *peer)
{
	return submit(peer, enqueue_copies);
}

#ifdef HAVE_HSA_BATCH_COPY
static int submit_batch(void *peer)
{
	return submit(peer, enqueue_batch);
}
#endif

static int wait(void *context)
{
	struct hsa_peer *peer = context;
	const hsa_signal_t none = {0};

	hsa_signal_store_relaxed(peer->consumed, 1);
	enqueue_barrier(peer, HEADER(HSA_FENCE_SCOPE_SYSTEM, HSA_FENCE_SCOPE_SYSTEM), none,
			peer->consumed);
	if (hsa_signal_wait_scacquire(peer->consumed, HSA_SIGNAL_CONDITION_EQ, 0,
				      H2D_DEFAULT_TIMEOUT_NS, HSA_WAIT_STATE_BLOCKED) != 0) {
		tool_error_set(peer->world->error, "the HSA copies do not end");
		return -1;
	}
	return 0;
}

const struct publication_peer publication_hsa_peers[] = {
	{"HSA copies", true, create, NULL, submit_copies, wait, destroy},
#ifdef HAVE_HSA_BATCH_COPY
	{"HSA batch", true, create, NULL, submit_batch, wait, destroy},
#endif
};
const size_t publication_hsa_peer_count =
	sizeof(publication_hsa_peers) / sizeof(publication_hsa_peers[0]);
