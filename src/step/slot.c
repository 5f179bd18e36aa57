/* SPDX-License-Identifier: MIT */
/* The buffers and groups of one slot: made from declarations, found by name. */
#include "step/slot.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "publish/owner.h"

h2d_buffer_t *h2d_slot_find_buffer(const h2d_runner_slot_t *slot, const char *name)
{
	for (uint32_t i = 0; i < slot->num_buffers; i++) {
		if (strcmp(h2d_buffer_name(slot->buffers[i]), name) == 0)
			return slot->buffers[i];
	}
	return NULL;
}

uint32_t h2d_slot_find_group(const h2d_runner_slot_t *slot, const char *name)
{
	uint32_t i = 0;

	while (i < slot->num_groups && strcmp(slot->groups[i].name, name) != 0)
		i++;
	return i;
}

static h2d_status_t allocate_buffer(h2d_runner_slot_t *slot, const h2d_member_declaration_t *member,
				    h2d_buffer_t **buffer)
{
	const h2d_buffer_description_t description = {
		.name = member->name,
		.element_size = member->element_size,
		.dimensions = member->columns ? 2 : 1,
		.shape = {member->rows, member->columns},
		.unit = member->unit,
	};
	h2d_buffer_t **buffers = realloc(slot->buffers, (slot->num_buffers + 1) * sizeof(*buffers));
	h2d_status_t status;

	if (!buffers)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "runner: no memory for buffer %s",
				 member->name);
	slot->buffers = buffers;
	status = h2d_buffer_allocate(slot->owner, &description, buffer);
	if (status == H2D_STATUS_SUCCESS)
		buffers[slot->num_buffers++] = *buffer;
	return status;
}

/* Counts of a shared buffer must mean the same to all of its groups. */
static bool agrees(const h2d_member_declaration_t *member, const h2d_buffer_t *buffer)
{
	const uint64_t columns = member->columns ? member->columns : 1;
	const uint64_t row_bytes = columns * member->element_size;
	const uint64_t bytes_per_count = member->unit == H2D_COUNT_ROWS	      ? row_bytes
					 : member->unit == H2D_COUNT_ELEMENTS ? member->element_size
									      : 1;

	return h2d_buffer_bytes_per_count(buffer) == bytes_per_count &&
	       h2d_buffer_capacity(buffer) == member->rows * row_bytes / bytes_per_count;
}

static h2d_status_t find_or_allocate(h2d_runner_slot_t *slot,
				     const h2d_group_declaration_t *declaration, uint32_t index,
				     h2d_buffer_t **buffer)
{
	const h2d_member_declaration_t *member = &declaration->members[index];

	if (!member->name)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner: group %s: the name of member %u is NULL",
				 declaration->name, index);
	*buffer = h2d_slot_find_buffer(slot, member->name);
	if (*buffer && member->rows != 0 && !agrees(member, *buffer))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "runner: group %s: buffer %s exists with another shape or unit",
				 declaration->name, member->name);
	if (*buffer)
		return H2D_STATUS_SUCCESS;
	if (member->rows == 0)
		return h2d_error(H2D_STATUS_NOT_FOUND,
				 "runner: group %s: no group before it has a buffer %s",
				 declaration->name, member->name);
	return allocate_buffer(slot, member, buffer);
}

h2d_status_t h2d_slot_add_group(h2d_runner_slot_t *slot, const char *name,
				h2d_buffer_t *const members[], uint32_t num_members,
				h2d_group_t **group)
{
	h2d_named_group_t *groups = realloc(slot->groups, (slot->num_groups + 1) * sizeof(*groups));
	char *name_copy = strdup(name);
	h2d_status_t status;

	if (groups)
		slot->groups = groups;
	if (!groups || !name_copy) {
		free(name_copy);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "runner: no memory for group %s", name);
	}
	status = h2d_group_create(slot->owner, name, members, num_members, group);
	if (status != H2D_STATUS_SUCCESS) {
		free(name_copy);
		return status;
	}
	groups[slot->num_groups++] = (h2d_named_group_t){.name = name_copy, .group = *group};
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_slot_declare_members(h2d_runner_slot_t *slot,
				      const h2d_group_declaration_t *declaration,
				      h2d_buffer_t *members[])
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < declaration->num_members && status == H2D_STATUS_SUCCESS; i++)
		status = find_or_allocate(slot, declaration, i, &members[i]);
	return status;
}

h2d_status_t h2d_slot_declare_group(h2d_runner_slot_t *slot,
				    const h2d_group_declaration_t *declaration,
				    h2d_buffer_t *members[], h2d_group_t **group)
{
	h2d_buffer_t **found;
	h2d_status_t status;

	if (!declaration->name || !declaration->members || declaration->num_members == 0)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "runner: a group has no %s",
				 declaration->name ? "members" : "name");
	if (h2d_slot_find_group(slot, declaration->name) < slot->num_groups)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "runner: there are two groups %s",
				 declaration->name);
	found = calloc(declaration->num_members, sizeof(*found));
	if (!found)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "runner: no memory for group %s",
				 declaration->name);
	status = h2d_slot_declare_members(slot, declaration, found);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_slot_add_group(slot, declaration->name, found,
					    declaration->num_members, group);
	if (status == H2D_STATUS_SUCCESS && declaration->unpacked &&
	    slot->owner->backend == H2D_BACKEND_PACKED)
		status = h2d_group_use_transport(*group, H2D_BACKEND_DIRECT, NULL);
	if (members && status == H2D_STATUS_SUCCESS)
		memcpy(members, found, declaration->num_members * sizeof(*found));
	free(found);
	return status;
}

void h2d_slot_free_lists(h2d_runner_slot_t *slot)
{
	for (uint32_t i = 0; i < slot->num_groups; i++)
		free(slot->groups[i].name);
	free(slot->groups);
	free(slot->buffers);
}
