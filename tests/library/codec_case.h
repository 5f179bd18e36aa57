/* SPDX-License-Identifier: MIT */
/* What the tests of the delta codec share: an encoder, a decoder, and the rows of a batch. */
#ifndef H2DPUB_TESTS_CODEC_CASE_H
#define H2DPUB_TESTS_CODEC_CASE_H

#include <check.h>

#include <h2dpub/delta_codec.h>

#define CHANNEL UINT64_C(0x1122334455667788) /* of the encoder */

extern h2d_delta_encoder_t *encoder;
extern h2d_delta_decoder_t *decoder;

/* The batch; its rows are released at the end. */
extern h2d_block_table_t *rows[64];
extern uint64_t ids[64];
extern uint32_t count;

/* A checked fixture. */
void codec_setup(void);
void codec_teardown(void);

void add_row(uint64_t id, const int32_t *pages, uint32_t length);

#define ADD(id, ...)                                                                               \
	add_row(id, (const int32_t[]){__VA_ARGS__},                                                \
		sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* Encodes the batch. */
const uint8_t *encode(size_t *size);

h2d_decoded_batch_t decode_ok(const uint8_t *bytes, size_t size);

/* The decoded batch is the encoder's rows, element by element. */
void assert_same(const h2d_decoded_batch_t *batch);

/* Encodes, decodes and compares. */
h2d_decoded_batch_t step(void);

/* The base length of request i in a message of the batch. */
uint32_t base_length(const uint8_t *bytes, uint32_t i);

/* Little-endian fields of a message. */
uint32_t u32_at(const uint8_t *bytes, size_t at);
void put_u32_at(uint8_t *bytes, size_t at, uint32_t value);
void put_u64_at(uint8_t *bytes, size_t at, uint64_t value);

/* Makes a changed message whole again, so that only the changed field is wrong. */
void sign(uint8_t *bytes, size_t size);

/* A message as it was, to be received later. */
struct message {
	uint8_t bytes[256];
	size_t size;
};

struct message message_of(h2d_delta_encoder_t *sender);
h2d_status_t receive(const struct message *message);

#endif
