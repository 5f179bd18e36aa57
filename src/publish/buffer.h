/* SPDX-License-Identifier: MIT */
/* A buffer's inside, as groups and transports see it. */
#ifndef H2DPUB_SRC_PUBLISH_BUFFER_H
#define H2DPUB_SRC_PUBLISH_BUFFER_H

#include <stdatomic.h>

#include "publish/owner.h"
#include "publish/registry.h"

/* The rows of a strided buffer: each is the same list of runs that are contiguous on both sides. */
typedef struct h2d_runs {
	size_t bytes;             /* of each run */
	uint64_t count;           /* runs in a row */
	ptrdiff_t *source_offset; /* [count], bytes from the row's first byte */
	ptrdiff_t *destination_offset;
	ptrdiff_t source_pitch; /* bytes from row to row */
	ptrdiff_t destination_pitch;
} h2d_runs_t;

#define H2D_DIRECT_PACKETS 3

struct h2d_buffer {
	h2d_owner_t *owner;
	uint32_t index; /* its bit in the owner's ledger */
	char *name;
	uint8_t *source;
	uint8_t *destination;
	bool owns_memory;
	size_t element_size;
	uint32_t dimensions;
	uint64_t shape[H2D_MAX_DIMENSIONS];
	h2d_count_unit_t unit;
	uint64_t capacity;
	uint64_t row_capacity;
	uint64_t bytes_per_count;
	bool strided;
	h2d_runs_t runs; /* of a strided buffer */
	h2d_interval_t source_interval;
	h2d_interval_t destination_interval;
	h2d_group_t *single; /* the implicit group with this one member */
	_Atomic uint32_t recordings; /* that read or write its memory */
	h2d_buffer_t **table_link; /* its place in the table that publishes it, or NULL */

	/*
	 * For direct copies: gate is 0 once the packets before the copies have ended, copied counts
	 * the copies that have not landed. A publication uses the pair of its first active member:
	 * that member's source is in use until begin or acquire_write has waited for all of the
	 * publication's packets, and only then can it be an active member again. So a pair is never
	 * reused while the GPU uses it, in whichever groups its buffer is.
	 */
	hsa_signal_t gate;
	hsa_signal_t copied;
	h2d_packet_t direct_packets[H2D_DIRECT_PACKETS];
};

/* INVALID_STATE if a recording uses the buffer. */
h2d_status_t h2d_buffer_check_unrecorded(const h2d_buffer_t *buffer);

/* Frees a buffer that is no longer any owner's. */
void h2d_buffer_free(h2d_buffer_t *buffer);

#endif
