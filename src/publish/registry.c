/* SPDX-License-Identifier: MIT */
/*
 * The registry: keeps the memory of all buffers of a runner apart.
 *
 * Registered intervals of one address space are disjoint, so they have an order, and a search tree
 * whose comparison calls overlapping intervals equal finds any overlap on the way to the place of
 * insertion. HSA gives all agents one address space, so destinations of all devices share a tree.
 */
#include "publish/registry.h"

#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "error.h"

struct h2d_registry {
	pthread_mutex_t lock; /* owners of different threads may share a registry */
	void *destinations;   /* tsearch tree of const h2d_interval_t */
	void *sources;
};

static int compare_intervals(const void *left, const void *right)
{
	const h2d_interval_t *a = left, *b = right;

	if (a->end <= b->begin)
		return -1;
	if (b->end <= a->begin)
		return 1;
	return 0;
}

static h2d_status_t insert(void **tree, const h2d_interval_t *interval, const char *kind)
{
	const h2d_interval_t *found;
	void *node;

	if (interval->begin == interval->end)
		return H2D_STATUS_SUCCESS;
	node = tsearch(interval, tree, compare_intervals);
	if (!node)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "buffer '%s' of owner '%s': no memory to register its %s",
				 interval->buffer_name, interval->owner_name, kind);
	found = *(const h2d_interval_t *const *)node;
	if (found == interval)
		return H2D_STATUS_SUCCESS;
	return h2d_error(
		H2D_STATUS_OVERLAP,
		"buffer '%s' of owner '%s': %s overlaps that of buffer '%s' of owner '%s': "
		"[0x%" PRIxPTR ", 0x%" PRIxPTR ") and [0x%" PRIxPTR ", 0x%" PRIxPTR ")",
		interval->buffer_name, interval->owner_name, kind, found->buffer_name,
		found->owner_name, interval->begin, interval->end, found->begin, found->end);
}

static void remove_interval(void **tree, const h2d_interval_t *interval)
{
	if (interval->begin != interval->end)
		tdelete(interval, tree, compare_intervals);
}

h2d_status_t h2d_registry_create(h2d_registry_t **registry)
{
	if (!registry)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_registry_create: registry is NULL");
	*registry = calloc(1, sizeof(**registry));
	if (!*registry)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for a registry");
	pthread_mutex_init(&(*registry)->lock, NULL);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_registry_destroy(h2d_registry_t *registry)
{
	if (!registry)
		return H2D_STATUS_SUCCESS;
	if (registry->destinations || registry->sources) {
		void *root = registry->destinations ? registry->destinations : registry->sources;
		const h2d_interval_t *left = *(const h2d_interval_t *const *)root;

		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "the registry still holds buffers, such as '%s' of owner '%s'",
				 left->buffer_name, left->owner_name);
	}
	pthread_mutex_destroy(&registry->lock);
	free(registry);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_registry_insert(h2d_registry_t *registry, const h2d_interval_t *destination,
				 const h2d_interval_t *source)
{
	h2d_status_t status;

	pthread_mutex_lock(&registry->lock);
	status = insert(&registry->destinations, destination, "destination");
	if (status == H2D_STATUS_SUCCESS) {
		status = insert(&registry->sources, source, "source");
		if (status != H2D_STATUS_SUCCESS)
			remove_interval(&registry->destinations, destination);
	}
	pthread_mutex_unlock(&registry->lock);
	return status;
}

void h2d_registry_remove(h2d_registry_t *registry, const h2d_interval_t *destination,
			 const h2d_interval_t *source)
{
	pthread_mutex_lock(&registry->lock);
	remove_interval(&registry->destinations, destination);
	remove_interval(&registry->sources, source);
	pthread_mutex_unlock(&registry->lock);
}
