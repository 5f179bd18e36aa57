/* SPDX-License-Identifier: MIT */
/* Measuring all ways to publish one group, in turns, and stepping through each. */
#include "config.h"

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

/* What reading the thread's clock adds to the difference of two readings: the least of many. */
static uint64_t thread_clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t start = read_clock(CLOCK_THREAD_CPUTIME_ID);
		uint64_t taken = read_clock(CLOCK_THREAD_CPUTIME_ID) - start;

		least = taken < least ? taken : least;
	}
	return least;
}

static int publish(const struct publication_peer *peer, void *context)
{
	if (peer->begin && peer->begin(context) < 0)
		return -1;
	return peer->submit(context) < 0 ? -1 : peer->wait(context);
}

static int measure(struct publish_figures *figures, void *context, uint64_t clock_cost,
		   struct tool_error *error)
{
	const struct publication_peer *peer = figures->peer;
	uint64_t start, submitted, consumed, cpu;

	if (peer->begin && peer->begin(context) < 0)
		return -1;
	cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
	start = read_clock(CLOCK_MONOTONIC);
	if (peer->submit(context) < 0)
		return -1;
	submitted = read_clock(CLOCK_MONOTONIC);
	cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (peer->wait(context) < 0)
		return -1;
	consumed = read_clock(CLOCK_MONOTONIC);
	if (samples_add(&figures->submit_ns, submitted - start) < 0 ||
	    samples_add(&figures->cpu_ns, cpu > clock_cost ? cpu - clock_cost : 0) < 0 ||
	    samples_add(&figures->consumer_ns, consumed - start) < 0) {
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

static int measure_peers(struct publication_world *world, struct publish_figures figures[],
			 void *contexts[], size_t count, uint32_t rounds)
{
	uint64_t clock_cost = thread_clock_cost();

	for (size_t i = 0; i < count; i++) {
		if (warm_up(world, figures[i].peer, contexts[i]) < 0)
			return -1;
	}
	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			size_t turn = (i + round) % count;

			publication_fill(world, round);
			if (measure(&figures[turn], contexts[turn], clock_cost, world->error) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (verify(world, figures[i].peer, contexts[i], rounds) < 0)
			return -1;
	}
	return 0;
}

static int count_peer(struct publish_figures *figures, const struct bench_layout *layout,
		      uint32_t slot_count, int rounds, struct tool_error *error)
{
	char members[16], slots[16], bytes[32], table_bytes[32];
	char *argv[16] = {"h2dpub-bench", "publish", "--step", (char *)figures->peer->name,
			  "--members", members, "--slots", slots, "--bytes", bytes};

	snprintf(members, sizeof(members), "%u", layout->members);
	snprintf(slots, sizeof(slots), "%u", slot_count);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)layout->bytes);
	snprintf(table_bytes, sizeof(table_bytes), "%llu",
		 (unsigned long long)layout->table_bytes);
	if (layout->table_bytes != 0) {
		argv[10] = "--table-bytes";
		argv[11] = table_bytes;
	}
	int result = step_count(argv, rounds, &figures->counts, error);

	figures->counted = result == 0;
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
		result = count_peer(&figures[i], layout, world->slots, step_rounds,
				    world->error);
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

