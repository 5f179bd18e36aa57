/* SPDX-License-Identifier: MIT */
/*
 * The tokens of a replay with speculative decoding: ids, drafts and sampling parameters that follow
 * from request and position alone, and what stands in for the model: it leaves the ids that the
 * step before "sampled" and "drafted" on the GPU, where only the token assembly of the next step
 * reads them.
 */
#ifndef H2DPUB_TOOLS_SPECULATION_H
#define H2DPUB_TOOLS_SPECULATION_H

#include <h2dpub/h2dpub.h>

#include "verify.h"

struct speculation_settings {
	uint32_t slots;
	uint32_t max_requests;
	uint32_t tokens; /* speculative ones of a request; >= 1 */
};

struct speculation;

/* A request's token at a position, and its sampling parameters. */
int32_t speculation_token(uint64_t request, uint64_t position);
float speculation_temperature(uint64_t request);
float speculation_top_p(uint64_t request);

/* NULL with the library's message. */
struct speculation *speculation_create(h2d_device_t *device,
				       const struct speculation_settings *settings);
void speculation_destroy(struct speculation *speculation);

/*
 * Completes the description of a step that has num_requests, request_ids and context_lengths, and
 * puts the ids of the step before on the GPU in the stream's order. slot: that of the step, which
 * has begun. The arrays hold until the next call.
 */
h2d_status_t speculation_describe(struct speculation *speculation, h2d_stream_t *stream,
				  uint32_t slot, h2d_batch_t *batch, struct verify_tokens *tokens);

/*
 * Records what stands in for the rejection sampler: it reads all draft ids, which the slots share,
 * and leaves a copy for the slot.
 */
h2d_status_t speculation_record(struct speculation *speculation, h2d_stream_t *stream,
				uint32_t slot, const int32_t *draft_ids);

/* That copy: device [max_requests * tokens]. */
const int32_t *speculation_seen_drafts(const struct speculation *speculation, uint32_t slot);

#endif
