/* SPDX-License-Identifier: MIT */
/* What all attention kinds read of a decode batch, and its validation. */
#ifndef H2DPUB_SRC_STEP_DECODE_BATCH_H
#define H2DPUB_SRC_STEP_DECODE_BATCH_H

#include <h2dpub/runner.h>
#include <h2dpub/table_publication.h>

#include "step/batch.h"

/* The context of a request after rejection; within int32 once the batch has been checked. */
int64_t h2d_decode_context(const h2d_batch_t *batch, uint32_t request);

/* The block ids of a request. The batch must have been checked. */
const int32_t *h2d_decode_block_ids(const h2d_batch_t *batch, uint32_t request);

/*
 * Works out the sizes of a batch and checks contexts and the lengths of block-table rows;
 * h2d_decode_prepare_tables() checks the ids. group: whose messages they are. INVALID_ARGUMENT: the
 * batch is no decode. OUT_OF_RANGE: a request runs less than its full width, or the contexts of all
 * ranks are more tokens than int32 holds.
 */
h2d_status_t h2d_decode_check(const h2d_runner_t *runner, const char *group,
			      const h2d_batch_t *batch, h2d_batch_sizes_t *sizes);

/* The lengths of rows alone, once contexts are checked; of a prefill too. */
h2d_status_t h2d_decode_check_rows(const h2d_runner_t *runner, const char *group,
				   const h2d_batch_t *batch);

/* The same for groups that read no block table; requests may run less. */
h2d_status_t h2d_decode_check_contexts(const h2d_runner_t *runner, const char *group,
				       const h2d_batch_t *batch, h2d_batch_sizes_t *sizes);

/* OUT_OF_RANGE: a graph of more requests than the runner has room for. */
h2d_status_t h2d_decode_check_graph_requests(const h2d_runner_t *runner, const char *group,
					     uint32_t graph_requests);

/*
 * Brings a table to the batch's rows, padded; on errors the table is as before. Errors of ids name
 * the request.
 */
h2d_status_t h2d_decode_prepare_tables(const h2d_runner_t *runner, const char *group,
				       h2d_published_table_t *table, h2d_stream_t *stream,
				       const h2d_batch_t *batch, uint32_t running_requests);

/* Remembers the decode of the slot in use, once it is published. */
void h2d_decode_remember(h2d_runner_t *runner, const h2d_batch_t *batch,
			 const h2d_batch_sizes_t *sizes);

/*
 * For a group that adds to the decode of this epoch. INVALID_STATE: there was none.
 * INVALID_ARGUMENT names what is not as it was in that batch: so its block ids are those that were
 * checked.
 */
h2d_status_t h2d_decode_check_published(const h2d_runner_t *runner, const char *group,
					const h2d_batch_t *batch, const h2d_batch_sizes_t *sizes);

#endif
