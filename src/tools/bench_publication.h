/* SPDX-License-Identifier: MIT */
/*
 * One group of arrays that h2dpub-bench publish publishes in several ways: the memory that they all
 * share, its contents and the check of what arrived; and what each way has to offer.
 */
#ifndef H2DPUB_TOOLS_BENCH_PUBLICATION_H
#define H2DPUB_TOOLS_BENCH_PUBLICATION_H

#include <stdbool.h>

#include <h2dpub/publication.h>

#include "bench_layout.h"
#include "tool_error.h"

#define PUBLICATION_MAX_SLOTS 64

/* Everything returns -1 with a message here after a failure. */
struct publication_world {
	struct tool_error *error;
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_device_info_t info;
	bool software;	/* the GPU is emulated */
	uint32_t slots; /* owners of the library that take turns */
	uint64_t pack_limit_bytes; /* of the library's packed groups; 0: the library's default */

	struct bench_layout layout;
	uint64_t size[BENCH_MAX_MEMBERS];
	uint8_t *source[BENCH_MAX_MEMBERS];
	uint8_t *destination[BENCH_MAX_MEMBERS];
	size_t host_size, device_size;
	uint8_t *host;	   /* pinned: the sources */
	uint8_t *memory;   /* of the device: the destinations and guard bytes between them */
	uint8_t *contents; /* what the sources are filled from */
	uint8_t *expected; /* of the device's memory */
	uint8_t *actual;
};

/* One way to publish the group. */
struct publication_peer {
	const char *name;
	bool lands; /* false: publishes nothing, but is part of the cost */
	void *(*create)(struct publication_world *world);
	int (*begin)(void *peer);  /* before each publication, not measured; may be NULL */
	int (*submit)(void *peer); /* what is measured */
	int (*wait)(void *peer);   /* until something enqueued behind it has run */
	void (*destroy)(void *peer);
};

/* The library's, then those of the HSA runtime; HIP's where the build has it. */
extern const struct publication_peer publication_library_peers[];
extern const size_t publication_library_peer_count;
extern const struct publication_peer publication_hsa_peers[];
extern const size_t publication_hsa_peer_count;
extern const struct publication_peer publication_hip_peers[];
extern const size_t publication_hip_peer_count;

/* Peer number index of all of them; NULL: there are no more. */
const struct publication_peer *publication_peer(size_t index);

int publication_open(struct publication_world *world, struct tool_error *error);
void publication_close(struct publication_world *world);

int publication_lay_out(struct publication_world *world, const struct bench_layout *layout);

/* The same for members of any sizes at random addresses, which seed (of nrand48()) chooses. */
int publication_lay_out_misaligned(struct publication_world *world, const uint64_t sizes[],
				   uint32_t members, unsigned short seed[3]);
void publication_clear(struct publication_world *world);

/* Puts other bytes into the sources than the round before. */
void publication_fill(struct publication_world *world, uint32_t round);

/*
 * Packs the members of at most limit bytes behind the headers of all, as the library does: the others
 * stay in their pinned sources. The bytes used of the arena.
 */
size_t publication_pack(const struct publication_world *world, uint8_t *arena, uint64_t limit);

/* Overwrites the device's memory, and after a publication compares each byte of it. */
int publication_poison(struct publication_world *world);
int publication_verify(struct publication_world *world, const char *name);

/* The same for so many bytes of the device's that must be as those in expected. */
int publication_compare(struct publication_world *world, const uint8_t *memory, size_t size,
			const char *name);

int publication_failed(struct publication_world *world, const char *what);

#ifdef HAVE_HIP
/* Memory that HIP knows: it copies other memory through buffers of its own. */
int publication_hip_open(struct publication_world *world);
int publication_hip_allocate(struct publication_world *world);
void publication_hip_free(struct publication_world *world);
#endif

#endif
