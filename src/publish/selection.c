/* SPDX-License-Identifier: MIT */
/* Which transport a group gets: what it can have, and the choice for all groups of an owner. */
#include <stdlib.h>

#include "error.h"
#include "hsa/kernel_arguments.h"
#include "publish/transport.h"

/* Why a group cannot have a transport that dispatches a kernel; NULL: it can. */
static const char *obstacle(const h2d_group_t *group, h2d_backend_t transport)
{
	uint64_t workgroups = 0;
	uint32_t i;

	if (transport == H2D_BACKEND_PACKED && group->size < 2)
		return "packing needs at least two members";
	if (group->size == 0)
		return "the group has no members";
	for (i = 0; i < group->size; i++) {
		if (group->buffers[i]->strided)
			return "a member is strided: strided buffers are copied directly";
		workgroups += h2d_chunk_count(group->capacity[i] * group->bytes_per_count[i]);
		if (workgroups > UINT32_MAX / H2D_CHUNK_WORKGROUP_SIZE)
			return "the members are too large for the grid of one dispatch";
	}
	return NULL;
}

static void drop_packed(h2d_group_t *group)
{
	h2d_packed_destroy(group->packed);
	group->packed = NULL;
}

static void drop_pull(h2d_group_t *group)
{
	h2d_pull_destroy(group->pull);
	group->pull = NULL;
}

/* Gives a group a transport, or direct and the reason why. */
static h2d_status_t set_transport(h2d_group_t *group, h2d_backend_t transport)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;
	const char *reason = NULL;

	if (transport != H2D_BACKEND_DIRECT)
		reason = obstacle(group, transport);
	if (reason)
		transport = H2D_BACKEND_DIRECT;
	if (transport == H2D_BACKEND_PACKED && !group->packed)
		status = h2d_packed_create(group);
	else if (transport == H2D_BACKEND_PULL && !group->pull)
		status = h2d_pull_create(group);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (transport != H2D_BACKEND_PACKED)
		drop_packed(group);
	if (transport != H2D_BACKEND_PULL)
		drop_pull(group);
	group->transport = transport;
	group->fallback_reason = reason;
	group->described = false; /* a new transport's descriptors are empty */
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_group_use_transport(h2d_group_t *group, h2d_backend_t transport,
				     h2d_backend_t *chosen)
{
	h2d_status_t status;

	if (!group)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_group_use_transport: group is NULL");
	status = h2d_owner_check_idle(group->owner, "select transports during initialization");
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (!h2d_backend_name(transport))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "group '%s' of owner '%s': %d is no H2D transport "
				 "(packed, direct, pull)",
				 group->name, group->owner->name, (int)transport);
	status = set_transport(group, transport);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	group->transport_chosen = true;
	if (chosen)
		*chosen = group->transport;
	return H2D_STATUS_SUCCESS;
}

/* Larger groups first; among equals in the order of creation. */
static int compare_groups(const void *left, const void *right)
{
	const h2d_group_t *a = *(h2d_group_t *const *)left, *b = *(h2d_group_t *const *)right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static bool is_subset(const h2d_group_t *small, const h2d_group_t *large)
{
	uint32_t i;

	for (i = 0; i < small->size; i++)
		if (h2d_group_position(large, small->buffers[i]) == large->size)
			return false;
	return true;
}

/*
 * Gives arenas to the groups that no larger packed group covers. The others get none, whatever an
 * earlier selection, before the owner was rebuilt, gave them.
 */
static h2d_status_t select_packed(h2d_owner_t *owner, h2d_group_t **groups)
{
	h2d_status_t status;
	uint32_t i, j;

	qsort(groups, owner->group_count, sizeof(*groups), compare_groups);
	for (i = 0; i < owner->group_count && groups[i]->size >= 2; i++) {
		bool covered = false;

		for (j = 0; j < i && !covered; j++)
			covered = groups[j]->transport == H2D_BACKEND_PACKED &&
				  is_subset(groups[i], groups[j]);
		if (groups[i]->transport_chosen)
			continue;
		status =
			set_transport(groups[i], covered ? H2D_BACKEND_DIRECT : H2D_BACKEND_PACKED);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_select_transports(h2d_owner_t *owner)
{
	h2d_group_t **groups;
	h2d_status_t status;
	uint32_t i;

	if (!owner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_select_transports: owner is NULL");
	status = h2d_owner_check_idle(owner, "select transports during initialization");
	if (status != H2D_STATUS_SUCCESS || owner->group_count == 0)
		return status;
	if (owner->backend != H2D_BACKEND_PACKED) {
		for (i = 0; i < owner->group_count && status == H2D_STATUS_SUCCESS; i++)
			if (!owner->groups[i]->transport_chosen)
				status = set_transport(owner->groups[i], owner->backend);
		return status;
	}
	groups = calloc(owner->group_count, sizeof(h2d_group_t *));
	if (!groups)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY,
				 "owner '%s': no memory to select transports", owner->name);
	for (i = 0; i < owner->group_count; i++)
		groups[i] = owner->groups[i];
	status = select_packed(owner, groups);
	free(groups);
	return status;
}
