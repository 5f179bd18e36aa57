/* SPDX-License-Identifier: MIT */
/*
 * What h2dpub-bench kernels measures: ways to get a group's bytes to the device, all on one queue,
 * with the memory that they share, the times that the device takes and the figures.
 */
#ifndef H2DPUB_TOOLS_BENCH_KERNELS_H
#define H2DPUB_TOOLS_BENCH_KERNELS_H

#include <json-c/json.h>

#include "bench_publication.h"
#include "hsa/kernel_arguments.h"
#include "statistics.h"

/* Everything returns -1 with a message in publication.error after a failure. */
struct kernels_world {
	struct publication_world publication;
	h2d_kernel_t scatter, pull;
	uint64_t timestamp_frequency; /* of the runtime, Hz */
	hsa_signal_t gate;	      /* 0: the copies that depend on it may start */
	hsa_signal_t copied;	      /* copies that have not ended */
	hsa_signal_t consumed;	      /* 0: the consumer has run */

	/*
	 * While the device's times are taken, all copies depend on the gate, which the host opens
	 * when everything is enqueued, and each takes a signal of its own.
	 */
	bool timed;
	uint32_t timed_copies; /* enqueued so far */
	bool timed_kernel;
	hsa_signal_t copy_done[BENCH_MAX_MEMBERS];
	hsa_signal_t kernel_done;

	/* Of the group that is laid out. */
	uint32_t chunks;
	size_t arena_size;
	uint8_t *arena;	       /* pinned */
	uint8_t *device_arena; /* what the packed way copies it to */
	uint8_t *full_arena;   /* on the device, with all members packed */
	uint8_t *table;	       /* on the device, struct h2d_scatter_member [members] */
	uint8_t *plain;	       /* on the device: what a copy in one piece writes, and a guard */
	size_t plain_size;
	uint8_t *arguments;    /* of all kernels: */
	struct h2d_pull_arguments *no_arguments; /* h2d_pull of no member */
	struct h2d_pull_arguments *pull_arguments;
	struct h2d_scatter_arguments *packed_arguments; /* of device_arena */
	struct h2d_scatter_arguments *full_arguments;	/* of full_arena */
};

int kernels_open(struct kernels_world *world, struct tool_error *error);
void kernels_close(struct kernels_world *world);

int kernels_lay_out(struct kernels_world *world, const struct bench_layout *layout);
int kernels_lay_out_misaligned(struct kernels_world *world, const uint64_t sizes[],
			       uint32_t members, unsigned short seed[3]);
void kernels_clear(struct kernels_world *world);

/* Packs all members and writes them to full_arena. */
int kernels_upload(struct kernels_world *world);

/* ---- the ways ------------------------------------------------------------------------------ */

enum kernels_way_index {
	KERNELS_NOTHING, /* what is measured of it is what all ways have in common */
	KERNELS_PLAIN_DMA,
	KERNELS_COPIES,
	KERNELS_PACKED,
	KERNELS_PULL,
	KERNELS_EMPTY,
	KERNELS_DEVICE_COPY,
	KERNELS_SCATTER,
	KERNELS_WAYS
};

struct kernels_way {
	const char *name; /* in brackets: it publishes nothing */
	const char *device_name; /* of what the device does for it */
	enum { LANDS_NOWHERE, LANDS_AT_DESTINATIONS, LANDS_IN_ONE_PIECE } lands;
	bool from_device; /* moves what kernels_upload() has written */
	int (*submit)(struct kernels_world *world);
};

extern const struct kernels_way kernels_ways[KERNELS_WAYS];

/* Enqueues a consumer behind all that has been submitted and waits until it has run. */
int kernels_consume(struct kernels_world *world);

/* Submits other bytes than before to overwritten memory and compares each byte of it. */
int kernels_verify(struct kernels_world *world, const struct kernels_way *way, uint32_t round);

/* Whether the runtime takes the device's times, which costs time itself. */
int kernels_take_times(struct kernels_world *world, bool take);

/* From the start of the first to the end of the last of what a way has the device do. */
int kernels_time(struct kernels_world *world, const struct kernels_way *way, uint64_t *nanoseconds);

/* ---- checks and figures -------------------------------------------------------------------- */

/* All ways on many groups, twice with other bytes; how many groups. */
int kernels_check(struct kernels_world *world, uint32_t *groups);

struct kernels_figures {
	struct samples submit_ns;
	struct samples consumer_ns; /* from the start of submit until the consumer has run */
	struct samples device_ns;
};

void kernels_free_figures(struct kernels_figures figures[KERNELS_WAYS]);

/* Fills submit_ns and consumer_ns, or device_ns, in turns, for one group; verifies at the end. */
int kernels_measure_publications(struct kernels_world *world, const struct bench_layout *layout,
				 uint32_t rounds, struct kernels_figures figures[KERNELS_WAYS]);
int kernels_measure_device(struct kernels_world *world, const struct bench_layout *layout,
			   uint32_t rounds, struct kernels_figures figures[KERNELS_WAYS]);

void kernels_print_gpu(const struct kernels_world *world);
void kernels_print_publications_head(uint32_t rounds);
void kernels_print_publications(const struct bench_layout *layout,
				struct kernels_figures figures[KERNELS_WAYS]);
void kernels_print_device_head(uint32_t rounds);
void kernels_print_device(const struct bench_layout *layout,
			  struct kernels_figures figures[KERNELS_WAYS]);

/* One group's figures, with those of them that have been taken. */
struct json_object *kernels_group_json(const struct bench_layout *layout,
				       struct kernels_figures figures[KERNELS_WAYS]);

#endif
