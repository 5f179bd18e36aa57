/* SPDX-License-Identifier: MIT */
/* Chunked prefill: forwards of a limited number of tokens. */
#include "config.h"

#include "prefill_chunks.h"

#include <stdlib.h>

bool prefill_chunks_create(struct prefill_chunks *chunks, uint32_t max_requests,
			   uint32_t max_tokens)
{
	*chunks = (struct prefill_chunks){
		.max_tokens = max_tokens,
		.context_lengths = calloc(max_requests, sizeof(*chunks->context_lengths)),
		.cached_tokens = calloc(max_requests, sizeof(*chunks->cached_tokens)),
	};
	return chunks->context_lengths != NULL && chunks->cached_tokens != NULL;
}

void prefill_chunks_destroy(struct prefill_chunks *chunks)
{
	free(chunks->context_lengths);
	free(chunks->cached_tokens);
	*chunks = (struct prefill_chunks){0};
}

void prefill_chunks_begin(struct prefill_chunks *chunks, const struct scheduler_batch *admitted)
{
	chunks->admitted = *admitted;
	chunks->next = 0;
	chunks->done = 0;
}

bool prefill_chunks_next(struct prefill_chunks *chunks, struct scheduler_batch *forward)
{
	const struct scheduler_batch *admitted = &chunks->admitted;
	const uint32_t first = chunks->next;
	int32_t left = (int32_t)chunks->max_tokens;
	uint32_t count = 0;

	for (; chunks->next < admitted->num_requests && left > 0; count++) {
		const int32_t context = admitted->context_lengths[chunks->next];
		const int32_t cached =
			chunks->done > 0 ? chunks->done : admitted->cached_tokens[chunks->next];
		const int32_t tokens = context - cached < left ? context - cached : left;

		chunks->cached_tokens[count] = cached;
		chunks->context_lengths[count] = cached + tokens;
		left -= tokens;
		chunks->done = cached + tokens;
		if (chunks->done == context) {
			chunks->next++;
			chunks->done = 0;
		}
	}
	*forward = (struct scheduler_batch){
		.num_requests = count,
		.request_ids = admitted->request_ids + first,
		.context_lengths = chunks->context_lengths,
		.cached_tokens = chunks->cached_tokens,
		.tables = admitted->tables + first,
		.block_tables = admitted->block_tables + first,
		.block_table_lengths = admitted->block_table_lengths + first,
	};
	return count > 0;
}
