/* SPDX-License-Identifier: MIT */
/* Finds a request's place in a batch by its id. */
#ifndef H2DPUB_SRC_TABLE_REQUEST_INDEX_H
#define H2DPUB_SRC_TABLE_REQUEST_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define H2D_REQUEST_NOT_FOUND UINT32_MAX

typedef struct h2d_request_index {
	uint32_t *buckets; /* 1 + place in the batch, 0: free */
	uint32_t capacity; /* buckets, a power of two, or 0 */
	uint64_t key[2];   /* random: which buckets an id takes is nobody's choice */
} h2d_request_index_t;

void h2d_request_index_destroy(h2d_request_index_t *index);

/* Makes room for count requests and forgets all. False: no memory, and nothing has changed. */
bool h2d_request_index_reset(h2d_request_index_t *index, uint32_t count);

/* Adds the request at this place of ids; false: its id is there already. */
bool h2d_request_index_add(h2d_request_index_t *index, const uint64_t ids[], uint32_t place);

/* The place in ids that holds this id, or H2D_REQUEST_NOT_FOUND. */
uint32_t h2d_request_index_find(const h2d_request_index_t *index, const uint64_t ids[],
				uint64_t id);

#endif
