/* SPDX-License-Identifier: MIT */
/*
 * The delta codec: a scheduler sends each step's block tables to its workers as plain bytes that
 * hold only what was appended, and the workers' rows keep the scheduler's lineage, so that
 * preparing them (block_table.h) stays cheap. Any transport that keeps messages whole will do.
 *
 * One encoder feeds one broadcast channel; any number of decoders listen. A decoder that missed a
 * message says so and asks the scheduler (by means of the caller's own) for whole tables:
 * h2d_delta_encoder_request_whole().
 *
 * Wire form, version 1, little-endian, no padding:
 *
 *   u32 magic "H2BT"   u16 version   u16 reserved (0)
 *   u64 channel        u64 sequence
 *   u32 requests n     u32 tail ids t
 *   u64 request_ids[n]     each once
 *   u32 base_lengths[n]    0, or the whole length of this request's row in the message before
 *   u32 tail_offsets[n+1]  from 0 up to t, never falling
 *   i32 tail_values[t]     row i = the first base_lengths[i] ids of that row, then
 *                          tail_values[from offset i up to offset i + 1]
 *   u32 crc32              of everything before (the CRC of zlib: polynomial 0x04C11DB7,
 *                          reflected, beginning with and finally XORed with 0xFFFFFFFF)
 *
 * These are 40 + 16 n + 4 t bytes, and a message has no others: one that is shorter or longer is
 * refused.
 *
 * A message with all base lengths 0 is self-contained; any other builds on the message before it.
 * Within a channel the sequence number grows with each message, an encoder's by 1 from 1 on. A
 * decoder takes a self-contained message of any higher number than the last one that it took, any
 * other message only of the next number. A message is the whole batch: a request that is absent
 * from it has no row that the next message could build on, so its base length there is 0. Nor has
 * an empty row one. Page ids are not judged: any int32 is an id.
 */
#ifndef H2DPUB_DELTA_CODEC_H
#define H2DPUB_DELTA_CODEC_H

#include <h2dpub/block_table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each is used by one thread at a time; the rows of a decoded batch may be read by any. */
typedef struct h2d_delta_encoder h2d_delta_encoder_t;
typedef struct h2d_delta_decoder h2d_delta_decoder_t;

/*
 * Makes an encoder. channel: a number that no other encoder uses, such as a random one drawn at
 * start, so that decoders notice a restarted scheduler. OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_delta_encoder_create(uint64_t channel, h2d_delta_encoder_t **encoder);
H2D_API void h2d_delta_encoder_destroy(h2d_delta_encoder_t *encoder);

/*
 * Encodes one step: count requests with their rows (none NULL, each request id once). *bytes stays
 * valid until the next call with this encoder. The rows are not changed. INVALID_ARGUMENT;
 * OUT_OF_RANGE: more than UINT32_MAX ids to send; OUT_OF_MEMORY. On error the encoder is as before.
 */
H2D_API h2d_status_t h2d_delta_encoder_encode(h2d_delta_encoder_t *encoder, uint32_t count,
					      const uint64_t request_ids[],
					      const h2d_block_table_t *const tables[],
					      const void **bytes, size_t *size);

/*
 * Makes the next message self-contained: all rows whole, for all decoders, whichever of them asked.
 * So the message is as large as the tables, and at every decoder all rows are new ones, of other
 * versions: the next prepare of a table writes, and its publication sends, all of them once more.
 */
H2D_API void h2d_delta_encoder_request_whole(h2d_delta_encoder_t *encoder);

/* One decoded step. */
typedef struct h2d_decoded_batch {
	uint32_t count;
	const uint64_t *request_ids;            /* [count] */
	const h2d_block_table_t *const *tables; /* [count]; must not be changed */
} h2d_decoded_batch_t;

/* So many times a decoder goes over to another channel. */
#define H2D_DELTA_MAX_RESTARTS 1024

/*
 * Makes a decoder, which starts with a self-contained message of any channel. A self-contained
 * message of a channel that it never followed is that of a restarted scheduler: from then on the
 * decoder follows this channel, and refuses all that still comes of those before. OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_delta_decoder_create(h2d_delta_decoder_t **decoder);
H2D_API void h2d_delta_decoder_destroy(h2d_delta_decoder_t *decoder);

/*
 * Decodes one message, which may come from anywhere: every field is checked. A row with a base
 * length and no new ids is the same object as in the last batch; one with both is a new object of
 * the same lineage, so that older batches stay as they are; one without a base length (of whole
 * tables, or a row that was empty) is a new object with a new version, even if its ids are the
 * same. The batch is valid until the next successful decode; retain rows to keep them longer.
 *
 * On error the decoder is as before. INVALID_ARGUMENT: not a message of this version, truncated or
 * corrupted (the message says which field). INVALID_STATE: received before, older than what was
 * received, or of a channel that another one has replaced. NOT_FOUND: it builds on a message that
 * was missed; ask for whole tables. OUT_OF_RANGE: of a new channel after H2D_DELTA_MAX_RESTARTS
 * others; only a new decoder follows it. OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_delta_decoder_decode(h2d_delta_decoder_t *decoder, const void *bytes,
					      size_t size, h2d_decoded_batch_t *batch);

#ifdef __cplusplus
}
#endif

#endif
