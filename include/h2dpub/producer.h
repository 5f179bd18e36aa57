/* SPDX-License-Identifier: MIT */
/*
 * Producers: functions that write the sources of a runner's groups and publish them. A producer
 * declares once which groups' sources it writes. Whenever it is run, all members of these groups in
 * the slot in use are checked before its body is entered, whichever group publishes them in the end
 * (a combined one has the same buffers). So a producer that is run a second time in an epoch is
 * refused before it could overwrite a source that the GPU still reads.
 */
#ifndef H2DPUB_PRODUCER_H
#define H2DPUB_PRODUCER_H

#include <h2dpub/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_producer h2d_producer_t;

/* Writes the sources in the runner's slot in use, then publishes them. context: as given to run. */
typedef h2d_status_t (*h2d_producer_body_t)(h2d_runner_t *runner, h2d_stream_t *stream,
					    void *context);

typedef struct h2d_producer_declaration {
	const char *name;          /* for messages */
	const char *const *groups; /* whose sources it writes: names of groups of the runner */
	uint32_t num_groups;       /* >= 1 */
	h2d_producer_body_t body;
} h2d_producer_declaration_t;

/*
 * Declares a producer to a runner, which keeps it until it is destroyed; the declaration is copied.
 * NOT_FOUND: the runner has no such group. INVALID_ARGUMENT, OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_producer_create(h2d_runner_t *runner,
					 const h2d_producer_declaration_t *declaration,
					 h2d_producer_t **producer);

/*
 * Checks the source groups as h2d_group_check_writable() does, then runs the body. If a check fails
 * the body does not run, and nothing has changed. Otherwise returns what the body returns.
 */
H2D_API h2d_status_t h2d_producer_run(const h2d_producer_t *producer, h2d_stream_t *stream,
				      void *context);

/*
 * The same for late preparation, after the forward's finish: in a sealed epoch the members are
 * checked first, then the epoch is resumed, the body runs, and the epoch is finished again. A check
 * or a resume that fails leaves the epoch sealed. An error of the body fails the owner, for the
 * consumers of this forward are already enqueued. In an epoch that is not sealed yet nothing is
 * resumed or finished.
 */
H2D_API h2d_status_t h2d_producer_run_late(const h2d_producer_t *producer, h2d_stream_t *stream,
					   void *context);

#ifdef __cplusplus
}
#endif

#endif
