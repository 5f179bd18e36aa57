/* SPDX-License-Identifier: MIT */
/* The figures of one way to publish a group, and how they are told. */
#ifndef H2DPUB_TOOLS_BENCH_PUBLISH_H
#define H2DPUB_TOOLS_BENCH_PUBLISH_H

#include <json-c/json.h>

#include "bench_publication.h"
#include "bench_step.h"
#include "statistics.h"

#define PUBLISH_MAX_PEERS 16

struct publish_figures {
	const struct publication_peer *peer;
	struct samples submit_ns;
	struct samples cpu_ns; /* of the submitting thread, within submit */
	struct samples consumer_ns; /* from the start of submit until the consumer has run */
	struct samples instructions; /* by the processor's counter; none where there is none */
	struct step_counts counts;   /* instructions: those of the counter, if there is one */
	bool counted;
};

/* All ways that this build has, with no figures yet. */
size_t publish_list_ways(struct publish_figures figures[]);
void publish_free_figures(struct publish_figures figures[], size_t count);

/* Fills the figures of these ways for one group, each way verified before and after. Instructions
 * are the median of so many steppings; 0: they are not counted. */
int publish_measure_group(struct publication_world *world, const struct bench_layout *layout,
			  uint32_t rounds, int step_rounds, struct publish_figures figures[],
			  size_t count);

/* How groups are measured, and whether tables are printed. */
struct publish_run {
	uint32_t rounds;
	bool count;
	bool print;
};

/* Measures all ways for each of these groups; their figures go to the JSON array. */
int publish_measure_groups(struct publication_world *world, const struct bench_layout layouts[],
			   size_t layout_count, const struct publish_run *run,
			   struct json_object *groups);

/* Measures growth: the first steps of one series, or of all (NULL); the same array of results. */
int growth_measure(struct publication_world *world, const char *series, uint32_t steps,
		   const struct publish_run *run, struct json_object *results);

/* What a process that is stepped through does: one empty call, then those of the way of this name. */
int publish_run_stepped(struct publication_world *world, const struct bench_layout *layout,
			const char *name);

/* What every table begins with: the machine and how instructions were counted. */
void publish_print_head(const struct publication_world *world, uint32_t rounds, bool counted);

void publish_print_group(const struct bench_layout *layout, struct publish_figures figures[],
			 size_t count);

struct json_object *publish_group_json(const struct bench_layout *layout,
				       struct publish_figures figures[], size_t count);

/* Prints an object with the GPU and these groups. */
int publish_print_json(struct publication_world *world, struct json_object *groups);

#endif
