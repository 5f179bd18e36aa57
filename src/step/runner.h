/* SPDX-License-Identifier: MIT */
/* What a serving group sees of its runner: the checked options and the making of a slot. */
#ifndef H2DPUB_SRC_STEP_RUNNER_H
#define H2DPUB_SRC_STEP_RUNNER_H

#include <h2dpub/producer.h>
#include <h2dpub/step.h>

#include "step/slot.h"
#include "step/token_inputs.h"

struct h2d_runner {
	h2d_device_t *device;
	/* page_size and max_tokens are not 0, captured_batch_sizes is our copy. */
	h2d_runner_options_t options;
	h2d_backend_t backend;
	uint32_t *captured_batch_sizes;

	/* Follow from the options; their products were checked not to overflow. */
	uint32_t block_table_columns; /* blocks of the longest context */
	uint32_t pages_per_block;
	uint32_t pages_per_request; /* physical pages of the longest context */
	uint32_t block_limit;	    /* block ids are below it */

	h2d_registry_t *registry;
	int32_t *draft_ids; /* device [max_requests * (query_length - 1)]; NULL: no speculation */
	h2d_runner_slot_t *slots;
	uint32_t slot;
	h2d_producer_t *producers; /* all that were declared */
	h2d_token_input_producers_t token_input_producers;
	h2d_producer_t *prefill_inputs_producer;
};

/* The smallest captured batch size that holds num_requests; 0: none does. */
uint32_t h2d_runner_captured_size(const h2d_runner_t *runner, uint32_t num_requests);

/* Frees all producers that were declared. */
void h2d_runner_free_producers(h2d_runner_t *runner);

#endif
