/* SPDX-License-Identifier: MIT */
/* Packing: members are copied back to back. */
#ifndef H2DPUB_PUBLISH_PACK_H
#define H2DPUB_PUBLISH_PACK_H

#include <stddef.h>
#include <stdint.h>

/* A member that is packed. */
struct h2d_pack_copy {
	const uint8_t *source;
	size_t bytes;
};

/*
 * Copies these members one behind the other to the end of what an arena holds, in which no source
 * lies; returns the new end.
 */
typedef uint8_t *h2d_pack_function_t(uint8_t *end, const struct h2d_pack_copy copies[],
				     uint32_t count);

/* The largest vector of any processor, in bytes. */
#define H2D_PACK_LARGEST_VECTOR 64

/* The function with the largest vectors that this processor has, up to so many bytes. */
h2d_pack_function_t *h2d_pack_with(size_t vector);

#endif
