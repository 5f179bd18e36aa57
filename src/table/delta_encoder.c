/* SPDX-License-Identifier: MIT */
/* The sending side of the delta codec. */
#include <h2dpub/delta_codec.h>

#include <stdlib.h>
#include <zlib.h>

#include "error.h"
#include "delta_wire.h"
#include "request_index.h"

/* What the decoders know of one step's rows. */
struct sent_batch {
	uint64_t *request_ids;
	uint64_t *versions;
	uint32_t *lengths;
	uint32_t count;
	uint32_t capacity;
	h2d_request_index_t index;
};

struct h2d_delta_encoder {
	uint64_t channel;
	uint64_t sequence; /* of the last message */
	bool whole;        /* the next message builds on nothing */
	struct sent_batch last;
	struct sent_batch next; /* being encoded */
	uint8_t *message;
	size_t message_capacity;
};

static void destroy_sent_batch(struct sent_batch *batch)
{
	free(batch->request_ids);
	free(batch->versions);
	free(batch->lengths);
	h2d_request_index_destroy(&batch->index);
}

h2d_status_t h2d_delta_encoder_create(uint64_t channel, h2d_delta_encoder_t **encoder)
{
	if (!encoder)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "delta encoder: no place for it");
	*encoder = calloc(1, sizeof(**encoder));
	if (!*encoder)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a delta encoder");
	(*encoder)->channel = channel;
	return H2D_STATUS_SUCCESS;
}

void h2d_delta_encoder_destroy(h2d_delta_encoder_t *encoder)
{
	if (!encoder)
		return;
	destroy_sent_batch(&encoder->last);
	destroy_sent_batch(&encoder->next);
	free(encoder->message);
	free(encoder);
}

void h2d_delta_encoder_request_whole(h2d_delta_encoder_t *encoder)
{
	encoder->whole = true;
}

/* Grows the arrays; on failure they are as large as before. */
static bool reserve_batch(struct sent_batch *batch, uint32_t count)
{
	uint64_t *request_ids, *versions;
	uint32_t *lengths;

	if (count > batch->capacity) {
		request_ids = malloc(count * sizeof(*request_ids));
		versions = malloc(count * sizeof(*versions));
		lengths = malloc(count * sizeof(*lengths));
		if (!request_ids || !versions || !lengths) {
			free(request_ids);
			free(versions);
			free(lengths);
			return false;
		}
		free(batch->request_ids);
		free(batch->versions);
		free(batch->lengths);
		batch->request_ids = request_ids;
		batch->versions = versions;
		batch->lengths = lengths;
		batch->capacity = count;
	}
	return h2d_request_index_reset(&batch->index, count);
}

static h2d_status_t read_batch(struct sent_batch *batch, uint32_t count,
			       const uint64_t request_ids[],
			       const h2d_block_table_t *const tables[])
{
	if (!reserve_batch(batch, count))
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "delta encoder: no memory for %u requests",
				 count);
	batch->count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (!tables[i])
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "delta encoder: request %llu has no block table",
					 (unsigned long long)request_ids[i]);
		batch->request_ids[i] = request_ids[i];
		batch->versions[i] = h2d_block_table_version(tables[i]);
		batch->lengths[i] = h2d_block_table_length(tables[i]);
		if (!h2d_request_index_add(&batch->index, batch->request_ids, i))
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "delta encoder: request %llu stands in the batch twice",
					 (unsigned long long)request_ids[i]);
	}
	return H2D_STATUS_SUCCESS;
}

/* The ids of row i that decoders have already: the same lineage, not longer than it is now. */
static uint32_t base_length(const h2d_delta_encoder_t *encoder, uint32_t i)
{
	const struct sent_batch *last = &encoder->last, *next = &encoder->next;
	uint32_t place = i;

	if (encoder->whole)
		return 0;
	/* Most steps keep most requests in their place. */
	if (place >= last->count || last->request_ids[place] != next->request_ids[i])
		place = h2d_request_index_find(&last->index, last->request_ids,
					       next->request_ids[i]);
	if (place == H2D_REQUEST_NOT_FOUND || last->versions[place] != next->versions[i] ||
	    last->lengths[place] > next->lengths[i])
		return 0;
	return last->lengths[place];
}

static h2d_status_t reserve_message(h2d_delta_encoder_t *encoder, uint64_t size)
{
	uint8_t *message;

	if (size <= encoder->message_capacity)
		return H2D_STATUS_SUCCESS;
	message = realloc(encoder->message, size);
	if (!message)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "delta encoder: no memory for a message of %llu bytes",
				 (unsigned long long)size);
	encoder->message = message;
	encoder->message_capacity = size;
	return H2D_STATUS_SUCCESS;
}

static void write_message(h2d_delta_encoder_t *encoder, const h2d_delta_layout_t *layout,
			  uint32_t tail_ids, const h2d_block_table_t *const tables[])
{
	const struct sent_batch *next = &encoder->next;
	uint8_t *message = encoder->message;
	uint32_t offset = 0;

	h2d_put_u32(message + H2D_DELTA_AT_MAGIC, H2D_DELTA_MAGIC);
	h2d_put_u16(message + H2D_DELTA_AT_VERSION, H2D_DELTA_VERSION);
	h2d_put_u16(message + H2D_DELTA_AT_RESERVED, 0);
	h2d_put_u64(message + H2D_DELTA_AT_CHANNEL, encoder->channel);
	h2d_put_u64(message + H2D_DELTA_AT_SEQUENCE, encoder->sequence + 1);
	h2d_put_u32(message + H2D_DELTA_AT_REQUESTS, next->count);
	h2d_put_u32(message + H2D_DELTA_AT_TAIL_IDS, tail_ids);
	for (uint32_t i = 0; i < next->count; i++) {
		const int32_t *ids = h2d_block_table_ids(tables[i]);
		uint32_t base = base_length(encoder, i);

		h2d_put_u64(message + layout->request_ids + 8 * (size_t)i, next->request_ids[i]);
		h2d_put_u32(message + layout->base_lengths + 4 * (size_t)i, base);
		h2d_put_u32(message + layout->tail_offsets + 4 * (size_t)i, offset);
		for (uint32_t j = base; j < next->lengths[i]; j++, offset++)
			h2d_put_u32(message + layout->tail_values + 4 * (size_t)offset,
				    (uint32_t)ids[j]);
	}
	h2d_put_u32(message + layout->tail_offsets + 4 * (size_t)next->count, offset);
	h2d_put_u32(message + layout->checksum,
		    (uint32_t)crc32_z(crc32_z(0, NULL, 0), message, layout->checksum));
}

h2d_status_t h2d_delta_encoder_encode(h2d_delta_encoder_t *encoder, uint32_t count,
				      const uint64_t request_ids[],
				      const h2d_block_table_t *const tables[], const void **bytes,
				      size_t *size)
{
	h2d_delta_layout_t layout;
	struct sent_batch previous;
	uint64_t tail_ids = 0;
	h2d_status_t status;

	if (!encoder || !bytes || !size || (count && (!request_ids || !tables)))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "delta encoder: NULL argument");
	status = read_batch(&encoder->next, count, request_ids, tables);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (uint32_t i = 0; i < count; i++)
		tail_ids += encoder->next.lengths[i] - base_length(encoder, i);
	if (tail_ids > UINT32_MAX)
		return h2d_error(H2D_STATUS_OUT_OF_RANGE,
				 "delta encoder: %llu ids in one message, the limit is %u",
				 (unsigned long long)tail_ids, UINT32_MAX);
	layout = h2d_delta_layout(count, tail_ids);
	status = reserve_message(encoder, layout.size);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	write_message(encoder, &layout, (uint32_t)tail_ids, tables);

	previous = encoder->last;
	encoder->last = encoder->next;
	encoder->next = previous;
	encoder->sequence++;
	encoder->whole = false;
	*bytes = encoder->message;
	*size = layout.size;
	return H2D_STATUS_SUCCESS;
}
