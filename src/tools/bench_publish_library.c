/* SPDX-License-Identifier: MIT */
/* The library's publications: packed, direct, pull; and what begins and ends each epoch. */
#include "config.h"

#include "bench_publication.h"

#include <stdio.h>
#include <stdlib.h>

/* Owners that take turns, as the slots of a runner do. */
struct library_peer {
	struct publication_world *world;
	uint32_t turn;
	h2d_owner_t *owners[PUBLICATION_MAX_SLOTS];
	h2d_group_t *groups[PUBLICATION_MAX_SLOTS];
};

static int check(const struct library_peer *peer, h2d_status_t status, const char *what)
{
	return status == H2D_STATUS_SUCCESS ? 0 : publication_failed(peer->world, what);
}

static void destroy(void *context)
{
	struct library_peer *peer = context;

	for (uint32_t slot = 0; slot < PUBLICATION_MAX_SLOTS; slot++) {
		if (h2d_owner_destroy(peer->owners[slot]) != H2D_STATUS_SUCCESS)
			fprintf(stderr, "h2dpub-bench: %s\n", h2d_error_message());
	}
	free(peer);
}

static int make_group(struct library_peer *peer, uint32_t slot, h2d_backend_t backend)
{
	struct publication_world *world = peer->world;
	h2d_buffer_t *buffers[BENCH_MAX_MEMBERS];
	h2d_backend_t chosen;

	for (uint32_t i = 0; i < world->layout.members; i++) {
		char name[24];
		const h2d_buffer_description_t description = {
			.name = name,
			.element_size = 4,
			.dimensions = 1,
			.shape = {world->size[i] / 4},
		};

		snprintf(name, sizeof(name), "member %u", i);
		if (check(peer,
			  h2d_buffer_wrap(peer->owners[slot], &description, world->source[i],
					  world->destination[i], &buffers[i]),
			  "cannot make a buffer") < 0)
			return -1;
	}
	if (check(peer,
		  h2d_group_create(peer->owners[slot], "bench", buffers, world->layout.members,
				   &peer->groups[slot]),
		  "cannot make the group") < 0 ||
	    check(peer, h2d_group_use_transport(peer->groups[slot], backend, &chosen),
		  "cannot choose the transport") < 0)
		return -1;
	if (chosen != backend) {
		tool_error_set(world->error, "the group is direct: %s",
			       h2d_group_fallback_reason(peer->groups[slot]));
		return -1;
	}
	for (uint32_t i = 0; i < world->layout.members; i++)
		h2d_group_set_count(peer->groups[slot], buffers[i], (int64_t)(world->size[i] / 4));
	return 0;
}

/* Each owner has a registry of its own: all of them wrap the same memory. */
static void *create(struct publication_world *world, h2d_backend_t backend)
{
	const h2d_owner_options_t options = {.pack_limit_bytes = world->pack_limit_bytes};
	struct library_peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		tool_error_set(world->error, "out of memory");
		return NULL;
	}
	peer->world = world;
	for (uint32_t slot = 0; slot < world->slots; slot++) {
		if (check(peer, h2d_owner_create(world->device, NULL, &options, &peer->owners[slot]),
			  "cannot make an owner") < 0 ||
		    make_group(peer, slot, backend) < 0) {
			destroy(peer);
			return NULL;
		}
	}
	return peer;
}

static void *create_packed(struct publication_world *world)
{
	return create(world, H2D_BACKEND_PACKED);
}

static void *create_direct(struct publication_world *world)
{
	return create(world, H2D_BACKEND_DIRECT);
}

static void *create_pull(struct publication_world *world)
{
	return create(world, H2D_BACKEND_PULL);
}

static int begin(void *context)
{
	struct library_peer *peer = context;

	peer->turn = (peer->turn + 1) % peer->world->slots;
	return check(peer, h2d_owner_begin(peer->owners[peer->turn], peer->world->stream), "begin");
}

static int publish(void *context)
{
	struct library_peer *peer = context;

	return check(
		peer,
		h2d_group_publish(peer->groups[peer->turn], peer->world->stream, NULL, NULL),
		"publish");
}

static int finish(struct library_peer *peer)
{
	return check(peer, h2d_owner_finish(peer->owners[peer->turn], peer->world->stream), "finish");
}

static int synchronize(void *context)
{
	struct library_peer *peer = context;

	return check(peer, h2d_stream_synchronize(peer->world->stream), "synchronize");
}

static int finish_and_wait(void *context)
{
	return finish(context) < 0 ? -1 : synchronize(context);
}

static int begin_and_finish(void *context)
{
	return begin(context) < 0 ? -1 : finish(context);
}

const struct publication_peer publication_library_peers[] = {
	{"packed", true, create_packed, begin, publish, finish_and_wait, destroy},
	{"direct", true, create_direct, begin, publish, finish_and_wait, destroy},
	{"pull", true, create_pull, begin, publish, finish_and_wait, destroy},
	{"begin+finish", false, create_pull, NULL, begin_and_finish, synchronize, destroy},
};
const size_t publication_library_peer_count =
	sizeof(publication_library_peers) / sizeof(publication_library_peers[0]);
