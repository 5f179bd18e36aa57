/* SPDX-License-Identifier: MIT */
/* Measuring all ways to publish one group, in turns, and stepping through each. */
#include "config.h"

#include "bench_counter.h"
#include "bench_publish.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WARM_UP_ROUNDS 8

/* ---- one publication --------------------------------------------------------------------------- */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What is read around a call, the most exact innermost. */
struct meter_reading {
	uint64_t instructions, cpu_ns, ns;
};

struct meter {
	int counter; /* of instructions; -1: none */
	/* What reading adds to the differences of two readings: the least of many. */
	struct meter_reading cost;
};

static struct meter_reading begin_reading(const struct meter *meter)
{
	struct meter_reading begin;

	begin.instructions = instruction_counter_read(meter->counter);
	begin.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	begin.ns = read_clock(CLOCK_MONOTONIC);
	return begin;
}

static uint64_t beyond(uint64_t value, uint64_t cost)
{
	return value > cost ? value - cost : 0;
}

/* What has been taken since then. */
static struct meter_reading end_reading(const struct meter *meter, const struct meter_reading *begin)
{
	struct meter_reading taken;

	taken.ns = read_clock(CLOCK_MONOTONIC) - begin->ns;
	taken.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin->cpu_ns;
	taken.instructions = instruction_counter_read(meter->counter) - begin->instructions;
	taken.cpu_ns = beyond(taken.cpu_ns, meter->cost.cpu_ns);
	taken.instructions = beyond(taken.instructions, meter->cost.instructions);
	return taken;
}

static struct meter open_meter(void)
{
	struct meter meter = {.counter = instruction_counter_open()};
	struct meter_reading least = {UINT64_MAX, UINT64_MAX, 0};

	for (int i = 0; i < 1000; i++) {
		struct meter_reading begin = begin_reading(&meter);
		struct meter_reading taken = end_reading(&meter, &begin);

		if (taken.cpu_ns < least.cpu_ns)
			least.cpu_ns = taken.cpu_ns;
		if (taken.instructions < least.instructions)
			least.instructions = taken.instructions;
	}
	meter.cost = least;
	return meter;
}

static int publish(const struct publication_peer *peer, void *context)
{
	if (peer->begin && peer->begin(context) < 0)
		return -1;
	return peer->submit(context) < 0 ? -1 : peer->wait(context);
}

static int measure(struct publish_figures *figures, void *context, const struct meter *meter,
		   struct tool_error *error)
{
	const struct publication_peer *peer = figures->peer;
	struct meter_reading begin, taken;

	if (peer->begin && peer->begin(context) < 0)
		return -1;
	begin = begin_reading(meter);
	if (peer->submit(context) < 0)
		return -1;
	taken = end_reading(meter, &begin);
	if (peer->wait(context) < 0)
		return -1;
	if (samples_add(&figures->submit_ns, taken.ns) < 0 ||
	    samples_add(&figures->cpu_ns, taken.cpu_ns) < 0 ||
	    samples_add(&figures->consumer_ns, read_clock(CLOCK_MONOTONIC) - begin.ns) < 0 ||
	    (meter->counter >= 0 &&
	     samples_add(&figures->instructions, taken.instructions) < 0)) {
		tool_error_set(error, "out of memory");
		return -1;
	}
	return 0;
}

static int verify(struct publication_world *world, const struct publication_peer *peer,
		  void *context, uint32_t round)
{
	if (!peer->lands)
		return publish(peer, context);
	publication_fill(world, round);
	if (publication_poison(world) < 0 || publish(peer, context) < 0)
		return -1;
	return publication_verify(world, peer->name);
}

/* ---- one group ----------------------------------------------------------------------------------*/

/* Until every slot has published, verified once, and the runtime has what it makes at first use. */
static int warm_up(struct publication_world *world, const struct publication_peer *peer,
		   void *context)
{
	for (uint32_t round = 0; round < WARM_UP_ROUNDS + world->slots; round++) {
		if (publish(peer, context) < 0)
			return -1;
	}
	return verify(world, peer, context, 1);
}

static int measure_rounds(struct publication_world *world, struct publish_figures figures[],
			  void *contexts[], size_t count, uint32_t rounds)
{
	struct meter meter = open_meter();
	int result = 0;

	for (size_t i = 0; i < rounds * count && result == 0; i++) {
		uint32_t round = (uint32_t)(i / count);
		size_t turn = (i + round) % count;

		publication_fill(world, round);
		result = measure(&figures[turn], contexts[turn], &meter, world->error);
	}
	instruction_counter_close(meter.counter);
	return result;
}

static int measure_peers(struct publication_world *world, struct publish_figures figures[],
			 void *contexts[], size_t count, uint32_t rounds)
{
	for (size_t i = 0; i < count; i++) {
		if (warm_up(world, figures[i].peer, contexts[i]) < 0)
			return -1;
	}
	if (measure_rounds(world, figures, contexts, count, rounds) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (verify(world, figures[i].peer, contexts[i], rounds) < 0)
			return -1;
	}
	return 0;
}

/* The options by which a process of its own measures the same. */
static int count_peer(const struct publication_world *world, struct publish_figures *figures,
		      const struct bench_layout *layout, int rounds)
{
	char members[16], slots[16], bytes[32], table_bytes[32], pack_limit[32];
	char *argv[16] = {"h2dpub-bench", "publish", "--step", (char *)figures->peer->name,
			  "--members", members, "--slots", slots, "--bytes", bytes};
	int arguments = 10;

	snprintf(members, sizeof(members), "%u", layout->members);
	snprintf(slots, sizeof(slots), "%u", world->slots);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)layout->bytes);
	snprintf(table_bytes, sizeof(table_bytes), "%llu",
		 (unsigned long long)layout->table_bytes);
	snprintf(pack_limit, sizeof(pack_limit), "%llu",
		 (unsigned long long)world->pack_limit_bytes);
	if (layout->table_bytes != 0) {
		argv[arguments++] = "--table-bytes";
		argv[arguments++] = table_bytes;
	}
	if (world->pack_limit_bytes != 0) {
		argv[arguments++] = "--pack-limit";
		argv[arguments++] = pack_limit;
	}
	int result = step_count(argv, rounds, &figures->counts, world->error);

	figures->counted = result == 0;
	if (figures->counted && figures->instructions.count > 0)
		figures->counts.instructions = samples_percentile(&figures->instructions, 50);
	return result;
}

int publish_measure_group(struct publication_world *world, const struct bench_layout *layout,
			  uint32_t rounds, int step_rounds, struct publish_figures figures[],
			  size_t count)
{
	void *contexts[PUBLISH_MAX_PEERS] = {NULL};
	int result = publication_lay_out(world, layout);

	if (result < 0)
		return -1;
	for (size_t i = 0; i < count && result == 0; i++) {
		contexts[i] = figures[i].peer->create(world);
		result = contexts[i] ? 0 : -1;
	}
	if (result == 0)
		result = measure_peers(world, figures, contexts, count, rounds);
	for (size_t i = 0; i < count; i++) {
		if (contexts[i])
			figures[i].peer->destroy(contexts[i]);
	}
	publication_clear(world);
	for (size_t i = 0; i < count && result == 0 && step_rounds > 0; i++)
		result = count_peer(world, &figures[i], layout, step_rounds);
	if (result > 0)
		fprintf(stderr, "h2dpub-bench: %s\n", world->error->text);
	return result < 0 ? -1 : 0;
}

size_t publish_list_ways(struct publish_figures figures[])
{
	size_t count = 0;

	for (; publication_peer(count); count++)
		figures[count] = (struct publish_figures){.peer = publication_peer(count)};
	return count;
}

void publish_free_figures(struct publish_figures figures[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		samples_free(&figures[i].submit_ns);
		samples_free(&figures[i].cpu_ns);
		samples_free(&figures[i].consumer_ns);
		samples_free(&figures[i].instructions);
	}
}

int publish_run_stepped(struct publication_world *world, const struct bench_layout *layout,
			const char *name)
{
	const struct publication_peer *peer = NULL;
	void *context;

	for (size_t i = 0; (peer = publication_peer(i)) && strcmp(peer->name, name);)
		i++;
	if (!peer || layout->members == 0) {
		tool_error_set(world->error, "option --step: there is no way %s",
			       tool_quote(name, strlen(name)).text);
		return -1;
	}
	if (publication_lay_out(world, layout) < 0)
		return -1;
	context = peer->create(world);
	if (!context)
		return -1;
	if (warm_up(world, peer, context) < 0)
		return -1;
	step_begin();
	step_end();
	for (int round = 0; round < STEP_ROUNDS; round++) {
		int result;

		publication_fill(world, (uint32_t)round);
		if (peer->begin && peer->begin(context) < 0)
			return -1;
		step_begin();
		result = peer->submit(context);
		step_end();
		if (result < 0 || peer->wait(context) < 0)
			return -1;
	}
	return 0;
}

