/* SPDX-License-Identifier: MIT */
/*
 * Chunked prefill: the requests that were admitted together, divided into forwards of a limited
 * number of tokens. A request that does not fit goes on in the next forward, where what has been
 * done of it is cached.
 */
#ifndef H2DPUB_TOOLS_PREFILL_CHUNKS_H
#define H2DPUB_TOOLS_PREFILL_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler.h"

struct prefill_chunks {
	uint32_t max_tokens; /* of a forward; >= 1 */
	/* of the requests of one forward */
	int32_t *context_lengths;
	int32_t *cached_tokens;

	struct scheduler_batch admitted;
	uint32_t next; /* the request to go on with */
	int32_t done;  /* tokens of it that forwards have stored */
};

/* False: out of memory. */
bool prefill_chunks_create(struct prefill_chunks *chunks, uint32_t max_requests,
			   uint32_t max_tokens);
void prefill_chunks_destroy(struct prefill_chunks *chunks);

/* Starts with the prefill that the scheduler has described. Its arrays are borrowed. */
void prefill_chunks_begin(struct prefill_chunks *chunks, const struct scheduler_batch *admitted);

/*
 * Describes the next forward, whose arrays hold until the next call. False: all is done. A context
 * length is what the KV cache holds of the request after the forward.
 */
bool prefill_chunks_next(struct prefill_chunks *chunks, struct scheduler_batch *forward);

#endif
