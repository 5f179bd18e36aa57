/* SPDX-License-Identifier: MIT */
/* Shapes: what a buffer description means in bytes. */
#ifndef H2DPUB_SRC_PUBLISH_SHAPE_H
#define H2DPUB_SRC_PUBLISH_SHAPE_H

#include "publish/buffer.h"

typedef struct h2d_shape {
	size_t bytes;       /* of all elements */
	size_t source_span; /* from the first to behind the last byte; 0: no elements */
	size_t destination_span;
	bool strided; /* not contiguous on one of the sides */
	uint64_t row_capacity;
	uint64_t capacity; /* in the description's unit */
	uint64_t bytes_per_count;
} h2d_shape_t;

/* Checks a description and works out its shape. INVALID_ARGUMENT, OUT_OF_RANGE. */
h2d_status_t h2d_shape_parse(const h2d_buffer_description_t *description, h2d_shape_t *shape);

/* Works out the runs of a strided description. OUT_OF_RANGE: too many. OUT_OF_MEMORY. */
h2d_status_t h2d_shape_make_runs(const h2d_buffer_description_t *description, h2d_runs_t *runs);

#endif
