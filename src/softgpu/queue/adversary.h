/* SPDX-License-Identifier: MIT */
/*
 * Hostile timing on request: packets start late, dispatches that the barrier bit does not order
 * overlap and finish in another order, one engine stalls. All of it is drawn from one seed.
 */
#ifndef SOFTGPU_QUEUE_ADVERSARY_H
#define SOFTGPU_QUEUE_ADVERSARY_H

#include <stdbool.h>
#include <stdint.h>

enum softgpu_engine {
	SOFTGPU_ENGINE_AQL,
	SOFTGPU_ENGINE_SDMA,
	SOFTGPU_ENGINE_COUNT,
};

/* The last delay of a stalled engine: it never goes on. */
#define SOFTGPU_STALL_FOREVER UINT64_MAX

struct softgpu_stall {
	uint64_t packet; /* the number of the packet that stalls, from 1; 0: none */
	uint64_t nanoseconds;
};

/* What is asked for; the same for all queues. */
struct softgpu_adversary {
	uint64_t seed;
	uint64_t delay_nanoseconds; /* the longest delay of a packet; 0: none */
	bool reorder;
	struct softgpu_stall stall[SOFTGPU_ENGINE_COUNT];
};

/* One queue's share of it. */
struct softgpu_adversary_state {
	const struct softgpu_adversary *adversary;
	enum softgpu_engine engine;
	uint64_t random;
	uint64_t packets; /* that were asked for so far */
	uint64_t packet;  /* the ring position that `until` belongs to, plus one */
	uint64_t until;	  /* time before which that packet must not start */
};

void softgpu_adversary_init(struct softgpu_adversary_state *state,
			    const struct softgpu_adversary *adversary, enum softgpu_engine engine,
			    uint32_t queue_number);

/* Whether the packet at this ring position must wait still. */
bool softgpu_adversary_holds(struct softgpu_adversary_state *state, uint64_t position);

/* When a dispatch that was launched now may begin; 0: at once. */
uint64_t softgpu_adversary_hold_dispatch(struct softgpu_adversary_state *state);

#endif
