/* SPDX-License-Identifier: MIT */
/* The CPU model of a decode step, written token by token rather than as the library does it. */
#include "config.h"

#include "verify.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	size_t element_size;
} array_facts[VERIFY_ARRAYS] = {
	[VERIFY_SLOT_MAPPING] = {"slot_mapping", sizeof(int64_t)},
	[VERIFY_CONTEXT_LENS] = {"context_lens", sizeof(int32_t)},
	[VERIFY_BLOCK_TABLES] = {"block_tables", sizeof(int32_t)},
	[VERIFY_KV_INDPTR] = {"kv_indptr", sizeof(int32_t)},
	[VERIFY_POSITIONS] = {"positions", sizeof(int64_t)},
	[VERIFY_KV_INDICES] = {"kv_indices", sizeof(int32_t)},
};

const char *verify_array_name(enum verify_array array)
{
	return array_facts[array].name;
}

size_t verify_element_size(enum verify_array array)
{
	return array_facts[array].element_size;
}

static size_t capacity(const struct verify_shape *shape, enum verify_array array)
{
	size_t requests = shape->max_requests;

	switch (array) {
	case VERIFY_BLOCK_TABLES:
		return requests * shape->columns;
	case VERIFY_KV_INDPTR:
		return requests + 1;
	case VERIFY_KV_INDICES:
		return requests * shape->columns * (shape->block_size / shape->page_size);
	default:
		return requests;
	}
}

size_t verify_element_count(const struct verify_image *image, enum verify_array array)
{
	return array == VERIFY_KV_INDICES ? image->kv_indices_used
					  : capacity(&image->shape, array);
}

bool verify_image_create(struct verify_image *image, const struct verify_shape *shape)
{
	*image = (struct verify_image){.shape = *shape};
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		image->arrays[array] =
			calloc(capacity(shape, array), array_facts[array].element_size);
		if (image->arrays[array] == NULL) {
			verify_image_destroy(image);
			return false;
		}
	}
	return true;
}

void verify_image_destroy(struct verify_image *image)
{
	for (int array = 0; array < VERIFY_ARRAYS; array++)
		free(image->arrays[array]);
	memset(image, 0, sizeof(*image));
}

/* The rows of one request, or of a padded one (empty context, no pages). */
static void apply_request(struct verify_image *image, uint32_t row, int32_t context_length,
			  const int32_t *pages, uint32_t page_count)
{
	const struct verify_shape *shape = &image->shape;
	int64_t *slot_mapping = image->arrays[VERIFY_SLOT_MAPPING];
	int32_t *context_lens = image->arrays[VERIFY_CONTEXT_LENS];
	int32_t *block_table =
		(int32_t *)image->arrays[VERIFY_BLOCK_TABLES] + (size_t)row * shape->columns;
	int32_t *kv_indptr = image->arrays[VERIFY_KV_INDPTR];
	int32_t *kv_indices = image->arrays[VERIFY_KV_INDICES];
	int32_t entry = row == 0 ? 0 : kv_indptr[row];

	context_lens[row] = context_length;
	slot_mapping[row] = -1;
	for (uint32_t column = 0; column < shape->columns; column++)
		block_table[column] = column < page_count ? pages[column] : 0;
	/* the last token is the one that the step stores; each physical page has one index */
	for (int32_t token = 0; token < context_length; token++) {
		int64_t slot = (int64_t)pages[token / (int32_t)shape->block_size] *
				       shape->block_size +
			       token % (int32_t)shape->block_size;

		if (token == context_length - 1)
			slot_mapping[row] = slot;
		if (token % (int32_t)shape->page_size == 0)
			kv_indices[entry++] = (int32_t)(slot / shape->page_size);
	}
	kv_indptr[0] = 0;
	kv_indptr[row + 1] = entry;
	if ((size_t)entry > image->kv_indices_used)
		image->kv_indices_used = (size_t)entry;
}

void verify_apply(struct verify_image *image, const struct scheduler_batch *batch,
		  uint32_t graph_requests)
{
	int64_t *positions = image->arrays[VERIFY_POSITIONS];

	for (uint32_t row = 0; row < batch->num_requests; row++) {
		apply_request(image, row, batch->context_lengths[row], batch->block_tables[row],
			      batch->block_table_lengths[row]);
		positions[row] = batch->context_lengths[row] - 1;
	}
	for (uint32_t row = batch->num_requests; row < graph_requests; row++) {
		apply_request(image, row, 0, NULL, 0);
		positions[row] = 0;
	}
}

static int64_t element(const struct verify_image *image, enum verify_array array, size_t index)
{
	if (array_facts[array].element_size == sizeof(int64_t))
		return ((const int64_t *)image->arrays[array])[index];
	return ((const int32_t *)image->arrays[array])[index];
}

bool verify_compare(const struct verify_image *expected, const struct verify_image *found,
		    struct verify_mismatch *mismatch)
{
	*mismatch = (struct verify_mismatch){0};
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		size_t count = verify_element_count(expected, array);

		if (memcmp(expected->arrays[array], found->arrays[array],
			   count * array_facts[array].element_size) == 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (element(expected, array, i) == element(found, array, i))
				continue;
			if (mismatch->elements++ > 0)
				continue;
			mismatch->array = array;
			mismatch->index = i;
			mismatch->expected = element(expected, array, i);
			mismatch->found = element(found, array, i);
		}
	}
	return mismatch->elements == 0;
}
