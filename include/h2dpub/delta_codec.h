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
 *   u64 request_ids[n]
 *   u32 base_lengths[n]    ids that row i keeps of the same request's row in the last message
 *   u32 tail_offsets[n+1]  from 0 up to t
 *   i32 tail_values[t]     row i = its first base_lengths[i] ids, then tail_values[from offset i
 *                          up to offset i + 1]
 *   u32 crc32              of everything before (the CRC of zlib)
 *
 * A message with all base lengths 0 is self-contained; any other follows the message before it.
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

/* Makes the next message self-contained. */
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
 * Decodes one message, which may come from anywhere: every field is checked. A row without new ids
 * is the same object as in the last batch; one that grew is a new object of the same lineage, so
 * that older batches stay as they are. The batch is valid until the next successful decode; retain
 * rows to keep them longer.
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
