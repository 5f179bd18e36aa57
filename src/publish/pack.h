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
uint8_t *h2d_pack(uint8_t *end, const struct h2d_pack_copy copies[], uint32_t count);

#endif
