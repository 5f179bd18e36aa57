/* SPDX-License-Identifier: MIT */
/* What the tests of the delta codec share: an encoder, a decoder, and the rows of a batch. */
#include "codec_case.h"

#include <string.h>
#include <zlib.h>

h2d_delta_encoder_t *encoder;
h2d_delta_decoder_t *decoder;
h2d_block_table_t *rows[64];
uint64_t ids[64];
uint32_t count;

void codec_setup(void)
{
	ck_assert_int_eq(h2d_delta_encoder_create(CHANNEL, &encoder), H2D_STATUS_SUCCESS);
	ck_assert_int_eq(h2d_delta_decoder_create(&decoder), H2D_STATUS_SUCCESS);
	count = 0;
}

void codec_teardown(void)
{
	for (uint32_t i = 0; i < count; i++)
		h2d_block_table_release(rows[i]);
	h2d_delta_encoder_destroy(encoder);
	h2d_delta_decoder_destroy(decoder);
}

void add_row(uint64_t id, const int32_t *pages, uint32_t length)
{
	ids[count] = id;
	ck_assert_int_eq(h2d_block_table_create(pages, length, &rows[count]), H2D_STATUS_SUCCESS);
	count++;
}

const uint8_t *encode(size_t *size)
{
	const void *bytes = NULL;

	ck_assert_int_eq(h2d_delta_encoder_encode(encoder, count, ids,
						  (const h2d_block_table_t *const *)rows, &bytes,
						  size),
			 H2D_STATUS_SUCCESS);
	return bytes;
}

h2d_decoded_batch_t decode_ok(const uint8_t *bytes, size_t size)
{
	h2d_decoded_batch_t batch;

	ck_assert_msg(h2d_delta_decoder_decode(decoder, bytes, size, &batch) == H2D_STATUS_SUCCESS,
		      "%s", h2d_error_message());
	return batch;
}

void assert_same(const h2d_decoded_batch_t *batch)
{
	ck_assert_uint_eq(batch->count, count);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_uint_eq(batch->request_ids[i], ids[i]);
		ck_assert_uint_eq(h2d_block_table_length(batch->tables[i]),
				  h2d_block_table_length(rows[i]));
		for (uint32_t j = 0; j < h2d_block_table_length(rows[i]); j++)
			ck_assert_int_eq(h2d_block_table_ids(batch->tables[i])[j],
					 h2d_block_table_ids(rows[i])[j]);
	}
}

h2d_decoded_batch_t step(void)
{
	size_t size;
	const uint8_t *bytes = encode(&size);
	h2d_decoded_batch_t batch = decode_ok(bytes, size);

	assert_same(&batch);
	return batch;
}

uint32_t u32_at(const uint8_t *bytes, size_t at)
{
	return bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 |
	       (uint32_t)bytes[at + 3] << 24;
}

void put_u32_at(uint8_t *bytes, size_t at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[at + (size_t)i] = (uint8_t)(value >> 8 * i);
}

void sign(uint8_t *bytes, size_t size)
{
	put_u32_at(bytes, size - 4, (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)(size - 4)));
}

uint32_t base_length(const uint8_t *bytes, uint32_t i)
{
	return u32_at(bytes, 32 + 8 * (size_t)count + 4 * (size_t)i);
}

struct message message_of(h2d_delta_encoder_t *sender)
{
	struct message message;
	const void *bytes = NULL;

	ck_assert_int_eq(h2d_delta_encoder_encode(sender, count, ids,
						  (const h2d_block_table_t *const *)rows, &bytes,
						  &message.size),
			 H2D_STATUS_SUCCESS);
	ck_assert_uint_le(message.size, sizeof(message.bytes));
	memcpy(message.bytes, bytes, message.size);
	return message;
}

h2d_status_t receive(const struct message *message)
{
	h2d_decoded_batch_t batch;

	return h2d_delta_decoder_decode(decoder, message->bytes, message->size, &batch);
}

void put_u64_at(uint8_t *bytes, size_t at, uint64_t value)
{
	put_u32_at(bytes, at, (uint32_t)value);
	put_u32_at(bytes, at + 4, (uint32_t)(value >> 32));
}
