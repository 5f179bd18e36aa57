/* SPDX-License-Identifier: MIT */
/* The pages of a KV cache: a free list, reference counts, and lookup of shared prefix pages. */
#ifndef H2DPUB_TOOLS_PAGE_POOL_H
#define H2DPUB_TOOLS_PAGE_POOL_H

#include <stdint.h>

struct page_pool;

/* What makes two prompt pages equal: the id of the prefix that covers it, and its place. */
struct page_key {
	uint64_t hash_id;
	uint32_t position; /* page of the request */
};

/* NULL: out of memory. */
struct page_pool *page_pool_create(uint32_t num_pages);
void page_pool_destroy(struct page_pool *pool);

uint32_t page_pool_free_count(const struct page_pool *pool);

/* Takes a free page; there must be one. */
int32_t page_pool_take(struct page_pool *pool);

/* The page that carries this key, or -1. It is not referenced yet. */
int32_t page_pool_find(const struct page_pool *pool, struct page_key key);

void page_pool_reference(struct page_pool *pool, int32_t page);

/*
 * Gives a page just taken a key under which page_pool_find() finds it, unless another page has it.
 * -1: out of memory.
 */
int page_pool_share(struct page_pool *pool, int32_t page, struct page_key key);

/* Drops one reference; the last one frees the page and its key. */
void page_pool_release(struct page_pool *pool, int32_t page);

#endif
