/* SPDX-License-Identifier: MIT */
/*
 * The proof that page ids lie within the pool: how far each lineage of the last batch was checked.
 * It follows a row through reordering and is void when the limit changes.
 */
#ifndef H2DPUB_SRC_TABLE_PAGE_PROOF_H
#define H2DPUB_SRC_TABLE_PAGE_PROOF_H

#include <h2dpub/block_table.h>

typedef struct h2d_page_proof {
	uint64_t page_limit; /* the limit that the last batch was checked against */
	uint64_t *versions;  /* [count] of the last batch, in its order */
	uint32_t *lengths;   /* [count] ids checked */
	uint32_t count;
	uint32_t *buckets;    /* hash of version -> 1 + index, 0: free; power of two */
	uint32_t bucket_mask;
	bool hashed; /* buckets describe the last batch */
} h2d_page_proof_t;

h2d_status_t h2d_page_proof_create(h2d_page_proof_t *proof, uint32_t rows);
void h2d_page_proof_destroy(h2d_page_proof_t *proof);

/* Checks what is not yet proven of a batch; changes nothing that a later check could notice. */
h2d_status_t h2d_page_proof_check(h2d_page_proof_t *proof, const char *name, uint64_t page_limit,
				  uint32_t count, const uint64_t versions[],
				  const uint32_t lengths[], const int32_t *const ids[]);

/* Makes the batch, which was checked, the last one. */
void h2d_page_proof_commit(h2d_page_proof_t *proof, uint64_t page_limit, uint32_t count,
			   const uint64_t versions[], const uint32_t lengths[]);

#endif
