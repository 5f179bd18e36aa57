/* SPDX-License-Identifier: MIT */
/* Draws of delays and stalls. */
#include "adversary.h"

#include "clock.h"

void softgpu_adversary_init(struct softgpu_adversary_state *state,
			    const struct softgpu_adversary *adversary, enum softgpu_engine engine,
			    uint32_t queue_number)
{
	*state = (struct softgpu_adversary_state){
		.adversary = adversary,
		.engine = engine,
		.random = adversary->seed + queue_number * UINT64_C(0x9E3779B97F4A7C15),
	};
}

/* splitmix64: passes through all 2^64 states, so that any seed will do. */
static uint64_t next_random(struct softgpu_adversary_state *state)
{
	uint64_t mixed = state->random += UINT64_C(0x9E3779B97F4A7C15);

	mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
	return mixed ^ mixed >> 31;
}

/* Half of the packets are not delayed: much goes wrong only if one of two is. */
static uint64_t draw_delay(struct softgpu_adversary_state *state)
{
	const uint64_t longest = state->adversary->delay_nanoseconds;

	if (longest == 0 || next_random(state) % 2 == 0)
		return 0;
	return next_random(state) % (longest + 1);
}

bool softgpu_adversary_holds(struct softgpu_adversary_state *state, uint64_t position)
{
	const struct softgpu_stall *stall = &state->adversary->stall[state->engine];

	if (state->packet != position + 1) {
		state->packet = position + 1;
		state->until = softgpu_clock_now() + draw_delay(state);
		if (++state->packets == stall->packet)
			state->until = stall->nanoseconds == SOFTGPU_STALL_FOREVER
					       ? SOFTGPU_STALL_FOREVER
					       : softgpu_clock_now() + stall->nanoseconds;
	}
	return softgpu_clock_now() < state->until;
}

uint64_t softgpu_adversary_hold_dispatch(struct softgpu_adversary_state *state)
{
	const uint64_t delay = state->adversary->reorder ? draw_delay(state) : 0;

	return delay != 0 ? softgpu_clock_now() + delay : 0;
}
