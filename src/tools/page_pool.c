/* SPDX-License-Identifier: MIT */
/* KV-cache pages: free list, reference counts and shared prefixes. */
#include "config.h"

#include "page_pool.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

struct page {
	struct page_key key;
	uint32_t references;
	bool shared; /* the key is in the tree */
};

struct page_pool {
	struct page *pages;
	int32_t *free_pages; /* a stack: the page freed last is taken first, so ids get mixed */
	uint32_t free_count;
	void *tree; /* of struct page, by key */
};

static int compare_keys(const void *left, const void *right)
{
	const struct page_key *a = &((const struct page *)left)->key;
	const struct page_key *b = &((const struct page *)right)->key;

	if (a->hash_id != b->hash_id)
		return a->hash_id < b->hash_id ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

struct page_pool *page_pool_create(uint32_t num_pages)
{
	struct page_pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	pool->pages = calloc(num_pages, sizeof(*pool->pages));
	pool->free_pages = calloc(num_pages, sizeof(*pool->free_pages));
	if (pool->pages == NULL || pool->free_pages == NULL) {
		page_pool_destroy(pool);
		return NULL;
	}
	while (pool->free_count < num_pages) {
		pool->free_pages[pool->free_count] = (int32_t)(num_pages - 1 - pool->free_count);
		pool->free_count++;
	}
	return pool;
}

void page_pool_destroy(struct page_pool *pool)
{
	if (pool == NULL)
		return;
	while (pool->tree != NULL)
		tdelete(*(struct page **)pool->tree, &pool->tree, compare_keys);
	free(pool->pages);
	free(pool->free_pages);
	free(pool);
}

uint32_t page_pool_free_count(const struct page_pool *pool)
{
	return pool->free_count;
}

int32_t page_pool_take(struct page_pool *pool)
{
	int32_t page = pool->free_pages[--pool->free_count];

	pool->pages[page].references = 1;
	return page;
}

int32_t page_pool_find(const struct page_pool *pool, struct page_key key)
{
	const struct page wanted = {.key = key};
	struct page *const *found = tfind(&wanted, &pool->tree, compare_keys);

	return found == NULL ? -1 : (int32_t)(*found - pool->pages);
}

void page_pool_reference(struct page_pool *pool, int32_t page)
{
	pool->pages[page].references++;
}

int page_pool_share(struct page_pool *pool, int32_t page, struct page_key key)
{
	struct page *const *node;

	pool->pages[page].key = key;
	node = tsearch(&pool->pages[page], &pool->tree, compare_keys);
	if (node == NULL)
		return -1;
	/* another page has the key if a trace gives one id to different prefixes */
	pool->pages[page].shared = *node == &pool->pages[page];
	return 0;
}

void page_pool_release(struct page_pool *pool, int32_t page)
{
	struct page *freed = &pool->pages[page];

	if (--freed->references > 0)
		return;
	if (freed->shared)
		tdelete(freed, &pool->tree, compare_keys);
	freed->shared = false;
	pool->free_pages[pool->free_count++] = page;
}
