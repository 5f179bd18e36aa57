/* SPDX-License-Identifier: MIT */
/*
 * Lists of arbitrary messages for one decoder, against a model written from the wire form in
 * delta_codec.h: which messages are accepted, every id of every row, lineage, and that a refused
 * message leaves the last batch as it was.
 */
#include "delta_decoder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <h2dpub/delta_codec.h>

#define HEADER       32
#define MAX_REQUESTS 256

#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct model_row {
	uint64_t request_id;
	uint64_t version;
	uint32_t length;
	int32_t *ids;
};

struct model {
	bool started;
	uint64_t channel, sequence;
	uint64_t left[H2D_DELTA_MAX_RESTARTS]; /* channels of before */
	uint32_t left_count;
	struct model_row rows[MAX_REQUESTS];
	uint32_t count;
};

static uint64_t number(const uint8_t *bytes, size_t offset, int width)
{
	uint64_t value = 0;

	for (int i = width - 1; i >= 0; i--)
		value = value << 8 | bytes[offset + (size_t)i];
	return value;
}

static void free_rows(struct model_row rows[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(rows[i].ids);
}

static const struct model_row *find(const struct model *model, uint64_t request_id)
{
	for (uint32_t i = 0; i < model->count; i++) {
		if (model->rows[i].request_id == request_id)
			return &model->rows[i];
	}
	return NULL;
}

/* One row of a message whose sizes and offsets hold. False: it builds on what is not there. */
static bool model_row(const struct model *model, const uint8_t *bytes, uint32_t n, uint32_t i,
		      struct model_row *row)
{
	size_t bases = HEADER + 8 * (size_t)n, offsets = bases + 4 * (size_t)n;
	size_t values = offsets + 4 * ((size_t)n + 1);
	uint32_t base = (uint32_t)number(bytes, bases + 4 * (size_t)i, 4);
	uint32_t begin = (uint32_t)number(bytes, offsets + 4 * (size_t)i, 4);
	uint32_t end = (uint32_t)number(bytes, offsets + 4 * ((size_t)i + 1), 4);
	const struct model_row *last;

	row->request_id = number(bytes, HEADER + 8 * (size_t)i, 8);
	last = find(model, row->request_id);
	if (base && (!last || last->length != base))
		return false;
	row->version = base ? last->version : 0;
	row->length = base + end - begin;
	row->ids = malloc((row->length + 1) * sizeof(*row->ids));
	require(row->ids);
	if (base)
		memcpy(row->ids, last->ids, base * sizeof(*row->ids));
	for (uint32_t j = begin; j < end; j++)
		row->ids[base + j - begin] = (int32_t)number(bytes, values + 4 * (size_t)j, 4);
	return true;
}

/* Whether the fixed fields, the sizes and the order of messages are right. */
static bool model_accepts(const struct model *model, const uint8_t *bytes, size_t size)
{
	uint64_t n, t, bases, offsets;
	bool whole = true, follows;

	if (size < HEADER || memcmp(bytes, "H2BT", 4) || number(bytes, 4, 4) != 1)
		return false;
	n = number(bytes, 24, 4);
	t = number(bytes, 28, 4);
	if (size != HEADER + 16 * n + 4 + 4 * t + 4 ||
	    crc32(0, bytes, (uInt)size - 4) != number(bytes, size - 4, 4))
		return false;
	require(n <= MAX_REQUESTS);
	bases = HEADER + 8 * n;
	offsets = bases + 4 * n;
	if (number(bytes, offsets, 4) != 0 || number(bytes, offsets + 4 * n, 4) != t)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		whole = whole && number(bytes, bases + 4 * i, 4) == 0;
		if (number(bytes, offsets + 4 * i, 4) > number(bytes, offsets + 4 * i + 4, 4))
			return false;
		for (uint64_t j = 0; j < i; j++) {
			if (number(bytes, HEADER + 8 * i, 8) == number(bytes, HEADER + 8 * j, 8))
				return false;
		}
	}
	follows = model->started && number(bytes, 8, 8) == model->channel;
	if (follows)
		return number(bytes, 16, 8) > model->sequence &&
		       (whole || number(bytes, 16, 8) == model->sequence + 1);
	for (uint32_t i = 0; i < model->left_count; i++) {
		if (number(bytes, 8, 8) == model->left[i])
			return false;
	}
	return whole && model->left_count < H2D_DELTA_MAX_RESTARTS;
}

static bool model_decode(struct model *model, const uint8_t *bytes, size_t size)
{
	struct model_row rows[MAX_REQUESTS];
	uint32_t n;

	if (!model_accepts(model, bytes, size))
		return false;
	n = (uint32_t)number(bytes, 24, 4);
	for (uint32_t i = 0; i < n; i++) {
		if (!model_row(model, bytes, n, i, &rows[i])) {
			free_rows(rows, i);
			return false;
		}
	}
	free_rows(model->rows, model->count);
	memcpy(model->rows, rows, n * sizeof(rows[0]));
	model->count = n;
	if (model->started && model->channel != number(bytes, 8, 8))
		model->left[model->left_count++] = model->channel;
	model->started = true;
	model->channel = number(bytes, 8, 8);
	model->sequence = number(bytes, 16, 8);
	return true;
}

static void compare(const struct model *model, const h2d_decoded_batch_t *batch)
{
	require(batch->count == model->count);
	for (uint32_t i = 0; i < batch->count; i++) {
		const h2d_block_table_t *table = batch->tables[i];
		const struct model_row *row = &model->rows[i];

		require(batch->request_ids[i] == row->request_id);
		require(h2d_block_table_length(table) == row->length);
		require(!row->length || !memcmp(h2d_block_table_ids(table), row->ids,
						row->length * sizeof(*row->ids)));
		require(!row->version || h2d_block_table_version(table) == row->version);
	}
}

/* A row that builds on nothing has a version that no row had before. */
static void learn_versions(struct model *model, const h2d_decoded_batch_t *batch, uint64_t *newest)
{
	for (uint32_t i = 0; i < model->count; i++) {
		uint64_t version = h2d_block_table_version(batch->tables[i]);

		if (model->rows[i].version)
			continue;
		require(version > *newest);
		*newest = version;
		model->rows[i].version = version;
	}
}

static void decode_message(h2d_delta_decoder_t *decoder, struct model *model,
			   h2d_decoded_batch_t *batch, uint64_t *newest, const uint8_t *bytes,
			   size_t size)
{
	bool accepted = model_decode(model, bytes, size);
	h2d_status_t status = h2d_delta_decoder_decode(decoder, bytes, size, batch);

	require(accepted == (status == H2D_STATUS_SUCCESS));
	require(accepted || status == H2D_STATUS_INVALID_ARGUMENT ||
		status == H2D_STATUS_INVALID_STATE || status == H2D_STATUS_NOT_FOUND ||
		status == H2D_STATUS_OUT_OF_RANGE);
	/* After a refusal this is the batch before. */
	compare(model, batch);
	if (accepted)
		learn_versions(model, batch, newest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	h2d_delta_decoder_t *decoder = NULL;
	struct model *model = calloc(1, sizeof(*model));
	h2d_decoded_batch_t batch = {0};
	uint64_t newest = 0;

	require(model && h2d_delta_decoder_create(&decoder) == H2D_STATUS_SUCCESS);
	while (size >= 2) {
		size_t prefix = (size_t)number(bytes, 0, 2);
		size_t length = prefix & 0x7fff;
		uint8_t *message;

		bytes += 2;
		size -= 2;
		length = length < size ? length : size;
		/* A request takes 16 bytes at least. */
		length = length < 16 * MAX_REQUESTS ? length : 16 * MAX_REQUESTS;
		/* Of its own size, so that a read behind its end is noticed. */
		message = malloc(length ? length : 1);
		require(message);
		memcpy(message, bytes, length);
		if (prefix & 0x8000 && length >= 4) {
			uint32_t sum = (uint32_t)crc32(0, message, (uInt)length - 4);

			for (int i = 0; i < 4; i++)
				message[length - 4 + (size_t)i] = (uint8_t)(sum >> 8 * i);
		}
		decode_message(decoder, model, &batch, &newest, message, length);
		free(message);
		bytes += length;
		size -= length;
	}
	free_rows(model->rows, model->count);
	free(model);
	h2d_delta_decoder_destroy(decoder);
	return 0;
}
