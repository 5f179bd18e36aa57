/* SPDX-License-Identifier: MIT */
/* What the GPU must hold after a prefill forward, computed by the CPU alone. */
#ifndef H2DPUB_TOOLS_VERIFY_PREFILL_H
#define H2DPUB_TOOLS_VERIFY_PREFILL_H

#include "verify.h"

/*
 * Applies one prefill forward, padded to running_requests, to the image: it writes exactly what its
 * publications and their consumers write and leaves everything else as earlier steps left it. The
 * batch has cached_tokens.
 */
void verify_apply_prefill(struct verify_image *image, const struct scheduler_batch *batch,
			  uint32_t running_requests);

/* The same for its token inputs: ids has one for each token that the forward stores. */
void verify_apply_prefill_tokens(struct verify_image *image, const struct scheduler_batch *batch,
				 uint32_t running_requests, const struct verify_tokens *tokens);

/*
 * Where a prefill's token is on an axis of MRoPE. Request r has at place p what request 0 has at
 * p + r % VERIFY_MROPE_SHIFTS, so that one table serves all requests; but those that are text only
 * have the place itself on each axis.
 */
#define VERIFY_MROPE_SHIFTS 1001
int64_t verify_mrope_prefill_position(uint64_t request_id, uint32_t axis, int64_t place);
bool verify_mrope_is_text(uint64_t request_id);

#endif
