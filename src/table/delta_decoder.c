/* SPDX-License-Identifier: MIT */
/* The receiving side of the delta codec. Nothing in a message is trusted. */
#include <h2dpub/delta_codec.h>

#include <stdlib.h>
#include <zlib.h>

#include "error.h"
#include "block_table_row.h"
#include "delta_wire.h"
#include "request_index.h"

struct received_batch {
	uint64_t *request_ids;
	const h2d_block_table_t **tables; /* [count], one reference each */
	uint32_t count;
	uint32_t capacity;
	h2d_request_index_t index;
};

struct h2d_delta_decoder {
	bool started; /* channel and sequence are those of the last message */
	uint64_t channel;
	uint64_t sequence;
	/* Channels followed before: whatever else comes of them is late. */
	uint64_t left_channels[H2D_DELTA_MAX_RESTARTS];
	uint32_t left_count;
	struct received_batch last;
	struct received_batch next; /* being decoded */
};

/* A message whose fixed fields and sizes hold. */
struct message {
	const uint8_t *bytes;
	h2d_delta_layout_t layout;
	uint64_t channel;
	uint64_t sequence;
	uint32_t count;
	uint32_t tail_ids;
	bool self_contained;
};

static void release_rows(struct received_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		h2d_block_table_release(batch->tables[i]);
	batch->count = 0;
}

static void destroy_received_batch(struct received_batch *batch)
{
	release_rows(batch);
	free(batch->request_ids);
	free(batch->tables);
	h2d_request_index_destroy(&batch->index);
}

h2d_status_t h2d_delta_decoder_create(h2d_delta_decoder_t **decoder)
{
	if (!decoder)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "delta decoder: no place for it");
	*decoder = calloc(1, sizeof(**decoder));
	if (!*decoder)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a delta decoder");
	return H2D_STATUS_SUCCESS;
}

void h2d_delta_decoder_destroy(h2d_delta_decoder_t *decoder)
{
	if (!decoder)
		return;
	destroy_received_batch(&decoder->last);
	destroy_received_batch(&decoder->next);
	free(decoder);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static uint32_t base_length(const struct message *message, uint32_t i)
{
	return h2d_get_u32(message->bytes + message->layout.base_lengths + 4 * (size_t)i);
}

static uint32_t tail_offset(const struct message *message, uint32_t i)
{
	return h2d_get_u32(message->bytes + message->layout.tail_offsets + 4 * (size_t)i);
}

static h2d_status_t read_header(const void *bytes, size_t size, struct message *message)
{
	message->bytes = bytes;
	if (size < H2D_DELTA_HEADER_SIZE)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: %zu bytes, the header alone has %d", size,
				 H2D_DELTA_HEADER_SIZE);
	if (h2d_get_u32(message->bytes + H2D_DELTA_AT_MAGIC) != H2D_DELTA_MAGIC)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: begins with 0x%08x, not with \"H2BT\"",
				 h2d_get_u32(message->bytes + H2D_DELTA_AT_MAGIC));
	if (h2d_get_u16(message->bytes + H2D_DELTA_AT_VERSION) != H2D_DELTA_VERSION ||
	    h2d_get_u16(message->bytes + H2D_DELTA_AT_RESERVED) != 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: version %u.%u, this is version %d.0",
				 h2d_get_u16(message->bytes + H2D_DELTA_AT_VERSION),
				 h2d_get_u16(message->bytes + H2D_DELTA_AT_RESERVED),
				 H2D_DELTA_VERSION);
	message->channel = h2d_get_u64(message->bytes + H2D_DELTA_AT_CHANNEL);
	message->sequence = h2d_get_u64(message->bytes + H2D_DELTA_AT_SEQUENCE);
	message->count = h2d_get_u32(message->bytes + H2D_DELTA_AT_REQUESTS);
	message->tail_ids = h2d_get_u32(message->bytes + H2D_DELTA_AT_TAIL_IDS);
	message->layout = h2d_delta_layout(message->count, message->tail_ids);
	if (message->layout.size != size)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: %zu bytes, but %u requests and %u ids take %llu", size,
				 message->count, message->tail_ids,
				 (unsigned long long)message->layout.size);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_arrays(struct message *message)
{
	uint32_t checksum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), message->bytes,
					      message->layout.checksum);
	uint32_t bases = 0;

	if (checksum != h2d_get_u32(message->bytes + message->layout.checksum))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: its checksum is 0x%08x, its bytes have 0x%08x",
				 h2d_get_u32(message->bytes + message->layout.checksum), checksum);
	if (tail_offset(message, 0) != 0 ||
	    tail_offset(message, message->count) != message->tail_ids)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "delta message: tail offsets run from %u to %u, not from 0 to %u",
				 tail_offset(message, 0), tail_offset(message, message->count),
				 message->tail_ids);
	for (uint32_t i = 0; i < message->count; i++) {
		if (tail_offset(message, i) > tail_offset(message, i + 1))
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "delta message: tail offset %u is %u, the next one %u", i,
					 tail_offset(message, i), tail_offset(message, i + 1));
		bases |= base_length(message, i);
	}
	message->self_contained = bases == 0;
	return H2D_STATUS_SUCCESS;
}

static bool has_left(const h2d_delta_decoder_t *decoder, uint64_t channel)
{
	for (uint32_t i = 0; i < decoder->left_count; i++) {
		if (decoder->left_channels[i] == channel)
			return true;
	}
	return false;
}

/* A message of another channel than the last one's, or the first message of all. */
static h2d_status_t check_new_channel(const h2d_delta_decoder_t *decoder,
				      const struct message *message)
{
	if (has_left(decoder, message->channel))
		return h2d_error(
			H2D_STATUS_INVALID_STATE,
			"delta message: number %llu of channel %llu came again or late, channel "
			"%llu has taken its place",
			(unsigned long long)message->sequence, (unsigned long long)message->channel,
			(unsigned long long)decoder->channel);
	if (!message->self_contained)
		return h2d_error(
			H2D_STATUS_NOT_FOUND,
			"delta message: number %llu of channel %llu builds on one that was not "
			"received; ask for whole tables",
			(unsigned long long)message->sequence,
			(unsigned long long)message->channel);
	if (decoder->started && decoder->left_count == H2D_DELTA_MAX_RESTARTS)
		return h2d_error(
			H2D_STATUS_OUT_OF_RANGE,
			"delta message: channel %llu is new after %u others, the limit is %d "
			"restarts; make a new decoder",
			(unsigned long long)message->channel, decoder->left_count + 1,
			H2D_DELTA_MAX_RESTARTS);
	return H2D_STATUS_SUCCESS;
}

/* Whether the message may follow what was received. */
static h2d_status_t check_sequence(const h2d_delta_decoder_t *decoder,
				   const struct message *message)
{
	if (!decoder->started || decoder->channel != message->channel)
		return check_new_channel(decoder, message);
	if (message->sequence <= decoder->sequence)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "delta message: number %llu came again or late, the last one was %llu",
				 (unsigned long long)message->sequence,
				 (unsigned long long)decoder->sequence);
	if (!message->self_contained && message->sequence != decoder->sequence + 1)
		return h2d_error(H2D_STATUS_NOT_FOUND,
				 "delta message: number %llu builds on %llu, the last one here was "
				 "%llu; ask for whole tables",
				 (unsigned long long)message->sequence,
				 (unsigned long long)message->sequence - 1,
				 (unsigned long long)decoder->sequence);
	return H2D_STATUS_SUCCESS;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool reserve_batch(struct received_batch *batch, uint32_t count)
{
	uint64_t *request_ids;
	const h2d_block_table_t **tables;

	if (count > batch->capacity) {
		request_ids = malloc(count * sizeof(*request_ids));
		tables = malloc(count * sizeof(*tables));
		if (!request_ids || !tables) {
			free(request_ids);
			free(tables);
			return false;
		}
		free(batch->request_ids);
		free(batch->tables);
		batch->request_ids = request_ids;
		batch->tables = tables;
		batch->capacity = count;
	}
	return h2d_request_index_reset(&batch->index, count);
}

/* The row of the same request in the last batch, which must have exactly this length. */
static h2d_status_t find_base(const h2d_delta_decoder_t *decoder, uint64_t request_id,
			      uint32_t length, const h2d_block_table_t **base)
{
	const struct received_batch *last = &decoder->last;
	uint32_t place = h2d_request_index_find(&last->index, last->request_ids, request_id);

	if (place == H2D_REQUEST_NOT_FOUND)
		return h2d_error(H2D_STATUS_NOT_FOUND,
				 "missing block-table prefix for request %llu: it was not in the last "
				 "batch; ask for whole tables",
				 (unsigned long long)request_id);
	*base = last->tables[place];
	if (h2d_block_table_length(*base) != length)
		return h2d_error(H2D_STATUS_NOT_FOUND,
				 "missing block-table prefix for request %llu: %u ids needed, its row "
				 "has %u; ask for whole tables",
				 (unsigned long long)request_id, length,
				 h2d_block_table_length(*base));
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t decode_row(const h2d_delta_decoder_t *decoder, const struct message *message,
			       uint32_t i, uint64_t request_id, const h2d_block_table_t **table)
{
	uint32_t base = base_length(message, i);
	uint32_t first = tail_offset(message, i);
	uint32_t count = tail_offset(message, i + 1) - first;
	const uint8_t *tail = message->bytes + message->layout.tail_values + 4 * (size_t)first;
	const h2d_block_table_t *previous = NULL;
	h2d_block_table_t *row;
	h2d_status_t status;

	if (base) {
		status = find_base(decoder, request_id, base, &previous);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		if (!count) {
			h2d_block_table_retain(previous);
			*table = previous;
			return H2D_STATUS_SUCCESS;
		}
	}
	status = h2d_block_table_grow(previous, tail, count, &row);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	*table = row;
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t decode_rows(h2d_delta_decoder_t *decoder, const struct message *message)
{
	struct received_batch *next = &decoder->next;

	if (!reserve_batch(next, message->count))
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "delta decoder: no memory for %u requests",
				 message->count);
	for (uint32_t i = 0; i < message->count; i++) {
		uint64_t request_id = h2d_get_u64(message->bytes + message->layout.request_ids +
						  8 * (size_t)i);
		h2d_status_t status;

		next->request_ids[i] = request_id;
		if (!h2d_request_index_add(&next->index, next->request_ids, i))
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "delta message: request %llu stands in it twice",
					 (unsigned long long)request_id);
		status = decode_row(decoder, message, i, request_id, &next->tables[i]);
		if (status != H2D_STATUS_SUCCESS)
			return status;
		next->count = i + 1;
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_delta_decoder_decode(h2d_delta_decoder_t *decoder, const void *bytes, size_t size,
				      h2d_decoded_batch_t *batch)
{
	struct received_batch previous;
	struct message message = {0};
	h2d_status_t status;

	if (!decoder || !bytes || !batch)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "delta decoder: NULL argument");
	status = read_header(bytes, size, &message);
	if (status == H2D_STATUS_SUCCESS)
		status = check_arrays(&message);
	if (status == H2D_STATUS_SUCCESS)
		status = check_sequence(decoder, &message);
	if (status == H2D_STATUS_SUCCESS)
		status = decode_rows(decoder, &message);
	if (status != H2D_STATUS_SUCCESS) {
		release_rows(&decoder->next);
		return status;
	}

	previous = decoder->last;
	decoder->last = decoder->next;
	decoder->next = previous;
	release_rows(&decoder->next);
	if (decoder->started && decoder->channel != message.channel)
		decoder->left_channels[decoder->left_count++] = decoder->channel;
	decoder->started = true;
	decoder->channel = message.channel;
	decoder->sequence = message.sequence;
	batch->count = decoder->last.count;
	batch->request_ids = decoder->last.request_ids;
	batch->tables = decoder->last.tables;
	return H2D_STATUS_SUCCESS;
}
