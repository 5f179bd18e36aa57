/* SPDX-License-Identifier: MIT */
/* The wire form of a delta message: where each field lies. See include/h2dpub/delta_codec.h. */
#ifndef H2DPUB_SRC_TABLE_DELTA_WIRE_H
#define H2DPUB_SRC_TABLE_DELTA_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define H2D_DELTA_MAGIC   UINT32_C(0x54423248) /* "H2BT" */
#define H2D_DELTA_VERSION 1

/* Byte offsets of the fixed fields. */
enum {
	H2D_DELTA_AT_MAGIC = 0,
	H2D_DELTA_AT_VERSION = 4,
	H2D_DELTA_AT_RESERVED = 6,
	H2D_DELTA_AT_CHANNEL = 8,
	H2D_DELTA_AT_SEQUENCE = 16,
	H2D_DELTA_AT_REQUESTS = 24,
	H2D_DELTA_AT_TAIL_IDS = 28,
	H2D_DELTA_HEADER_SIZE = 32,
	H2D_DELTA_CHECKSUM_SIZE = 4
};

/* Byte offsets of the arrays, and the whole size, of a message with n requests and t tail ids. */
typedef struct h2d_delta_layout {
	uint64_t request_ids;
	uint64_t base_lengths;
	uint64_t tail_offsets;
	uint64_t tail_values;
	uint64_t checksum;
	uint64_t size;
} h2d_delta_layout_t;

/* Cannot overflow: n and t are 32-bit. */
static inline h2d_delta_layout_t h2d_delta_layout(uint64_t n, uint64_t t)
{
	h2d_delta_layout_t layout;

	layout.request_ids = H2D_DELTA_HEADER_SIZE;
	layout.base_lengths = layout.request_ids + 8 * n;
	layout.tail_offsets = layout.base_lengths + 4 * n;
	layout.tail_values = layout.tail_offsets + 4 * (n + 1);
	layout.checksum = layout.tail_values + 4 * t;
	layout.size = layout.checksum + H2D_DELTA_CHECKSUM_SIZE;
	return layout;
}

static inline void h2d_put_u16(uint8_t *at, uint16_t value)
{
	value = htole16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void h2d_put_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void h2d_put_u64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint16_t h2d_get_u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t h2d_get_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t h2d_get_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

#endif
