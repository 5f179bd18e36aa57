/* SPDX-License-Identifier: MIT */
/* The sizes of a batch, and errors that name request and field. */
#ifndef H2DPUB_SRC_STEP_BATCH_H
#define H2DPUB_SRC_STEP_BATCH_H

#include <h2dpub/runner.h>

/* All are within int32, and products with the runner's sizes were checked to fit. */
typedef struct h2d_batch_sizes {
	uint32_t requests;
	uint32_t running_requests; /* padding included */
	uint32_t tokens;
	uint32_t running_tokens; /* padding included */
} h2d_batch_sizes_t;

/* OUT_OF_RANGE with a message that names the group, the request (by its id too) and the detail. */
h2d_status_t h2d_batch_error(const char *group, const h2d_batch_t *batch, uint32_t request,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same with INVALID_ARGUMENT: a field is not what an earlier call was given. */
h2d_status_t h2d_batch_contradiction(const char *group, const h2d_batch_t *batch, uint32_t request,
				     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* INVALID_ARGUMENT: a field without which the batch means nothing. */
h2d_status_t h2d_batch_missing(const char *group, const h2d_batch_t *batch, const char *field);

/* The tokens of a request that its cache holds already. */
int32_t h2d_batch_cached(const h2d_batch_t *batch, uint32_t request);

/* The tokens that a request runs. The batch must have been measured. */
int32_t h2d_batch_scheduled(const h2d_runner_t *runner, const h2d_batch_t *batch, uint32_t request);

/*
 * Validates the numbers of requests and scheduled tokens and works out the sizes. group: whose
 * messages they are.
 */
h2d_status_t h2d_batch_measure(const h2d_runner_t *runner, const char *group,
			       const h2d_batch_t *batch, h2d_batch_sizes_t *sizes);

#endif
