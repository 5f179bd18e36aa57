/* SPDX-License-Identifier: MIT */
/* Shapes: what a buffer description means in bytes. */
#include "publish/shape.h"

#include <inttypes.h>
#include <stdlib.h>

#include "error.h"

/* Strides in elements as they count: those given, or those of a contiguous array. */
static void effective_strides(const h2d_buffer_description_t *description, const int64_t *given,
			      int64_t strides[H2D_MAX_DIMENSIONS])
{
	uint32_t dimensions = description->dimensions, i;
	bool contiguous = true;
	int64_t stride = 1;

	for (i = 0; i < dimensions; i++)
		contiguous = contiguous && given[i] == 0;
	for (i = dimensions; i-- > 0;) {
		strides[i] = contiguous ? stride : given[i];
		stride *= (int64_t)description->shape[i];
	}
}

/*
 * Checks one side's strides and works out its span in bytes. Every dimension must step over all of
 * the ones inside it: then no two elements share memory.
 */
static h2d_status_t parse_side(const h2d_buffer_description_t *description, const char *side,
			       const int64_t *given, size_t *span, bool *strided)
{
	int64_t strides[H2D_MAX_DIMENSIONS];
	int64_t extent = 1,
		packed = 1; /* elements spanned by the dimensions inside; and if packed */
	int64_t step;
	uint32_t i;

	effective_strides(description, given, strides);
	for (i = description->dimensions; i-- > 0;) {
		int64_t length = (int64_t)description->shape[i];

		if (length > 1 && strides[i] < extent)
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "buffer '%s': %s stride %" PRId64 " of dimension %" PRIu32
					 " is less than the %" PRId64 " elements inside it",
					 description->name, side, strides[i], i, extent);
		*strided = *strided || (length > 1 && strides[i] != packed);
		if (length > 1 && (__builtin_mul_overflow(length - 1, strides[i], &step) ||
				   __builtin_add_overflow(extent, step, &extent)))
			extent = INT64_MAX;
		packed *= length;
	}
	if (extent > INT64_MAX / (int64_t)description->element_size)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "buffer '%s': its %s strides span more than %" PRId64 " bytes",
				 description->name, side, INT64_MAX);
	*span = (size_t)extent * description->element_size;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_description(const h2d_buffer_description_t *description)
{
	size_t element_size = description->element_size;

	if (!description->name || !*description->name)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "a buffer needs a name");
	if (element_size == 0 || element_size > 16 || (element_size & (element_size - 1)))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "buffer '%s': element size %zu is not 1, 2, 4, 8 or 16",
				 description->name, element_size);
	if (description->dimensions > H2D_MAX_DIMENSIONS)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "buffer '%s': %" PRIu32 " dimensions, but the limit is %d",
				 description->name, description->dimensions, H2D_MAX_DIMENSIONS);
	if ((unsigned int)description->unit > H2D_COUNT_BYTES)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "buffer '%s': unit %d is not rows, elements or bytes",
				 description->name, (int)description->unit);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_shape_parse(const h2d_buffer_description_t *description, h2d_shape_t *shape)
{
	uint64_t row_elements = 1, largest = 1, elements;
	h2d_status_t status;
	uint32_t i;

	status = check_description(description);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	/* No product of lengths may overflow, not even one that a zero length would hide. */
	for (i = 0; i < description->dimensions; i++) {
		uint64_t length = description->shape[i];

		if (__builtin_mul_overflow(largest, length ? length : 1, &largest) ||
		    largest > INT64_MAX / description->element_size)
			return h2d_error(H2D_STATUS_OUT_OF_RANGE,
					 "buffer '%s': its shape has more than %" PRId64 " bytes",
					 description->name, INT64_MAX);
		if (i > 0)
			row_elements *= length;
	}
	shape->row_capacity = description->dimensions ? description->shape[0] : 1;
	elements = shape->row_capacity * row_elements;
	shape->bytes = elements * description->element_size;
	shape->strided = false;
	shape->source_span = 0;
	shape->destination_span = 0;
	if (elements > 0) {
		status = parse_side(description, "host", description->host_strides,
				    &shape->source_span, &shape->strided);
		if (status == H2D_STATUS_SUCCESS)
			status = parse_side(description, "device", description->device_strides,
					    &shape->destination_span, &shape->strided);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	if (shape->strided && description->unit != H2D_COUNT_ROWS)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "buffer '%s': only rows can be counted of a strided buffer",
				 description->name);
	switch (description->unit) {
	case H2D_COUNT_ROWS:
		shape->capacity = shape->row_capacity;
		shape->bytes_per_count = row_elements * description->element_size;
		break;
	case H2D_COUNT_ELEMENTS:
		shape->capacity = elements;
		shape->bytes_per_count = description->element_size;
		break;
	case H2D_COUNT_BYTES:
		shape->capacity = shape->bytes;
		shape->bytes_per_count = 1;
		break;
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_shape_make_runs(const h2d_buffer_description_t *description, h2d_runs_t *runs)
{
	int64_t source[H2D_MAX_DIMENSIONS], destination[H2D_MAX_DIMENSIONS];
	ptrdiff_t element_size = (ptrdiff_t)description->element_size;
	uint32_t outer = description->dimensions; /* dimensions [1, outer) are stepped over */
	int64_t elements = 1;
	uint64_t run;
	uint32_t i;

	effective_strides(description, description->host_strides, source);
	effective_strides(description, description->device_strides, destination);
	while (outer > 1 && (description->shape[outer - 1] == 1 ||
			     (source[outer - 1] == elements && destination[outer - 1] == elements)))
		elements *= (int64_t)description->shape[--outer];
	runs->bytes = (size_t)(elements * element_size);
	runs->source_pitch = source[0] * element_size;
	runs->destination_pitch = destination[0] * element_size;
	runs->count = 1;
	for (i = 1; i < outer; i++)
		runs->count *= description->shape[i];
	if (runs->count > H2D_MAX_COPIES / description->shape[0])
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "buffer '%s': %" PRIu64 " rows of %" PRIu64
				 " contiguous runs each, but the limit is %d copies",
				 description->name, description->shape[0], runs->count,
				 H2D_MAX_COPIES);
	runs->source_offset = calloc(runs->count, sizeof(*runs->source_offset));
	runs->destination_offset = calloc(runs->count, sizeof(*runs->destination_offset));
	if (!runs->source_offset || !runs->destination_offset)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "buffer '%s': no memory for the %" PRIu64 " runs of a row",
				 description->name, runs->count);
	for (run = 0; run < runs->count; run++) {
		uint64_t rest = run;

		for (i = outer; i-- > 1; rest /= description->shape[i]) {
			ptrdiff_t step = (ptrdiff_t)(rest % description->shape[i]) * element_size;

			runs->source_offset[run] += step * source[i];
			runs->destination_offset[run] += step * destination[i];
		}
	}
	return H2D_STATUS_SUCCESS;
}
