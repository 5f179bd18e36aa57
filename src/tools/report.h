/* SPDX-License-Identifier: MIT */
/* The figures of a replay, as a table for people and as JSON for programs. */
#ifndef H2DPUB_TOOLS_REPORT_H
#define H2DPUB_TOOLS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler.h"
#include "statistics.h"

struct report {
	const char *source; /* where the requests come from */
	const char *device;
	const char *backend;
	uint64_t slots;
	uint64_t requests; /* in the trace */
	uint64_t max_model_len;
	uint64_t block_size;
	uint64_t num_pages;
	bool stopped_early;
	struct scheduler_counts scheduled;
	double seconds;

	struct samples batch_sizes;
	uint64_t batch_rows;  /* sum of the batch sizes */
	uint64_t graph_rows;  /* the same after padding */

	/* from the owners' totals */
	uint64_t publications;
	uint64_t dma_copies;
	uint64_t publication_dispatches;
	uint64_t barrier_packets;
	uint64_t bytes;
	uint64_t packed_bytes;
	uint64_t graph_launches;
	uint64_t consumer_dispatches;

	struct samples publication_ns; /* host time of preparing and publishing one step */
	struct samples consumer_ns;    /* preparation begun to first consumer done, where waited for */

	bool verified;
	uint64_t verified_steps;
	uint64_t verified_bytes;
	uint64_t mismatched_steps;
	uint64_t mismatched_elements;
};

void report_free(struct report *report);

void report_print_table(struct report *report, FILE *file);

/* -1: out of memory. */
int report_print_json(struct report *report, FILE *file);

#endif
