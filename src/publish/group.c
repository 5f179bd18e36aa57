/* SPDX-License-Identifier: MIT */
/* Groups: buffers that are published by one call, all of them or none. */
#include "publish/group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hsa/kernel_arguments.h"
#include "publish/reason.h"
#include "publish/transport.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* A direct publication must not need more than the ring of the DMA engine takes. */
static h2d_status_t check_copies(const h2d_owner_t *owner, const char *name,
				 h2d_buffer_t *const buffers[], uint32_t count)
{
	uint64_t copies = 0;

	for (uint32_t i = 0; i < count; i++)
		copies +=
			buffers[i]->strided ? buffers[i]->runs.count * buffers[i]->row_capacity : 1;
	if (copies <= H2D_MAX_COPIES)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_OUT_OF_RANGE,
			 "group '%s' of owner '%s': its members are up to %" PRIu64
			 " copies, but the limit is %d",
			 name, owner->name, copies, H2D_MAX_COPIES);
}

h2d_status_t h2d_group_make(h2d_owner_t *owner, const char *name, h2d_buffer_t *const buffers[],
			    uint32_t count, h2d_group_t **made)
{
	size_t entries = count ? count : 1; /* calloc(0) may return NULL */
	h2d_status_t status = check_copies(owner, name, buffers, count);
	h2d_group_t *group;
	uint32_t i;

	if (status != H2D_STATUS_SUCCESS)
		return status;
	group = calloc(1, sizeof(*group));
	if (!group)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for group '%s'", name);
	group->owner = owner;
	group->size = count;
	group->transport = H2D_BACKEND_DIRECT;
	group->name = strdup(name);
	group->buffers = calloc(entries, sizeof(*group->buffers));
	group->ledger_index = calloc(entries, sizeof(*group->ledger_index));
	group->mask_words = owner->ledger_words;
	group->mask = calloc(owner->ledger_words + 1, sizeof(*group->mask));
	group->published_mask = calloc(owner->ledger_words + 1, sizeof(*group->mask));
	group->in_use_mask = calloc(owner->ledger_words + 1, sizeof(*group->mask));
	group->capacity = calloc(entries, sizeof(*group->capacity));
	group->bytes_per_count = calloc(entries, sizeof(*group->bytes_per_count));
	group->source = calloc(entries, sizeof(*group->source));
	group->destination = calloc(entries, sizeof(*group->destination));
	group->counts = calloc(entries, sizeof(*group->counts));
	group->measured_counts = calloc(entries, sizeof(*group->measured_counts));
	group->bytes = calloc(entries, sizeof(*group->bytes));
	group->position_count = 64 * owner->ledger_words;
	group->position = calloc(group->position_count + 1, sizeof(*group->position));
	if (!group->name || !group->buffers || !group->ledger_index || !group->mask ||
	    !group->published_mask || !group->in_use_mask || !group->capacity ||
	    !group->bytes_per_count || !group->source || !group->destination || !group->counts ||
	    !group->measured_counts || !group->bytes || !group->position) {
		h2d_group_free(group);
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for group '%s'", name);
	}
	for (i = 0; i < group->position_count; i++)
		group->position[i] = count;
	for (i = 0; i < count; i++) {
		h2d_buffer_t *buffer = buffers[i];

		group->buffers[i] = buffer;
		group->ledger_index[i] = buffer->index;
		h2d_ledger_put(group->mask, buffer->index, true);
		group->capacity[i] = buffer->capacity;
		group->bytes_per_count[i] = buffer->bytes_per_count;
		group->source[i] = buffer->source;
		group->destination[i] = buffer->destination;
		group->counts[i] = H2D_COUNT_OMITTED;
		group->position[buffer->index] = i;
	}
	status = h2d_owner_add_group(owner, group);
	if (status != H2D_STATUS_SUCCESS) {
		h2d_group_free(group);
		return status;
	}
	*made = group;
	return H2D_STATUS_SUCCESS;
}

void h2d_group_free(h2d_group_t *group)
{
	h2d_packed_destroy(group->packed);
	h2d_pull_destroy(group->pull);
	free(group->position);
	free(group->bytes);
	free(group->measured_counts);
	free(group->counts);
	free(group->destination);
	free(group->source);
	free(group->bytes_per_count);
	free(group->capacity);
	free(group->in_use_mask);
	free(group->published_mask);
	free(group->mask);
	free(group->ledger_index);
	free(group->buffers);
	free(group->name);
	free(group);
}

h2d_status_t h2d_group_create(h2d_owner_t *owner, const char *name, h2d_buffer_t *const buffers[],
			      uint32_t count, h2d_group_t **group)
{
	h2d_status_t status;
	uint32_t i, j;

	if (!owner || !name || !group || (count > 0 && !buffers))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_group_create: an argument is NULL");
	status = h2d_owner_check_idle(owner, "make groups before the first begin");
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (i = 0; i < count; i++) {
		if (!buffers[i])
			return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
					 "group '%s': member %" PRIu32 " is NULL", name, i);
		if (buffers[i]->owner != owner)
			return h2d_error(
				H2D_STATUS_INVALID_ARGUMENT,
				"group '%s' of owner '%s': buffer '%s' belongs to owner '%s'", name,
				owner->name, buffers[i]->name, buffers[i]->owner->name);
		for (j = 0; j < i; j++)
			if (buffers[j] == buffers[i])
				return h2d_error(
					H2D_STATUS_INVALID_ARGUMENT,
					"group '%s' of owner '%s' has a destination twice: "
					"buffer '%s'",
					name, owner->name, buffers[i]->name);
	}
	return h2d_group_make(owner, name, buffers, count, group);
}

h2d_status_t h2d_group_destroy(h2d_group_t *group)
{
	h2d_status_t status;

	if (!group)
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_check_idle(group->owner, "destroy groups after h2d_owner_rebuild");
	if (status != H2D_STATUS_SUCCESS)
		return status;
	h2d_owner_remove_group(group->owner, group);
	h2d_group_free(group);
	return H2D_STATUS_SUCCESS;
}

/* ---- looking --------------------------------------------------------------------------------- */

h2d_backend_t h2d_group_transport(const h2d_group_t *group)
{
	return group->transport;
}

const char *h2d_group_fallback_reason(const h2d_group_t *group)
{
	return group->fallback_reason;
}

uint32_t h2d_group_size(const h2d_group_t *group)
{
	return group->size;
}

/* ---- counts ---------------------------------------------------------------------------------- */

h2d_status_t h2d_group_set_count(h2d_group_t *group, const h2d_buffer_t *buffer, int64_t count)
{
	uint32_t position;

	if (!group || !buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_group_set_count: an argument is NULL");
	position = buffer->owner == group->owner ? h2d_group_position(group, buffer) : group->size;
	if (position == group->size)
		return h2d_error(H2D_STATUS_NOT_FOUND,
				 "group '%s' of owner '%s' has no buffer '%s' of owner '%s'",
				 group->name, group->owner->name, buffer->name,
				 buffer->owner->name);
	group->measured_own &= group->counts[position] == count;
	group->counts[position] = count;
	return H2D_STATUS_SUCCESS;
}

void h2d_group_reset_counts(h2d_group_t *group)
{
	uint32_t i;

	group->measured_own = false;
	for (i = 0; i < group->size; i++)
		group->counts[i] = H2D_COUNT_OMITTED;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Checks a member that was published in this epoch: it needs a reason and an acquired source. */
static h2d_status_t check_republication(const h2d_group_t *group, uint32_t member,
					const char *reason)
{
	const h2d_owner_t *owner = group->owner;

	if (!h2d_reason_is_valid(reason))
		return h2d_error(
			H2D_STATUS_ALREADY_PUBLISHED,
			"buffer '%s' of group '%s', owner '%s': a repeated publish in epoch "
			"%" PRIu64 " needs a republish_reason",
			group->buffers[member]->name, group->name, owner->name, owner->epoch);
	if (h2d_ledger_holds(owner->in_use, group->ledger_index[member]))
		return h2d_error(H2D_STATUS_SOURCE_IN_USE,
				 "buffer '%s' of group '%s', owner '%s': acquire_write before "
				 "modifying the source again in epoch %" PRIu64,
				 group->buffers[member]->name, group->name, owner->name,
				 owner->epoch);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t count_error(const h2d_group_t *group, uint32_t member, int64_t count)
{
	return h2d_error(H2D_STATUS_OUT_OF_RANGE,
			 "buffer '%s' of group '%s', owner '%s': count %" PRId64
			 " is not in [0, %" PRIu64 "], its capacity",
			 group->buffers[member]->name, group->name, group->owner->name, count,
			 group->capacity[member]);
}

/* Whether no member was published in this epoch. */
static bool is_fresh(const h2d_group_t *group)
{
	const uint64_t *published = group->owner->published;
	uint64_t common = 0;
	uint32_t i;

	for (i = 0; i < group->mask_words; i++)
		common |= published[i] & group->mask[i];
	return common == 0;
}

static bool is_measured(const h2d_group_t *group, const int64_t counts[])
{
	if (counts == group->counts && group->measured_own)
		return true;
	return group->measured &&
	       memcmp(counts, group->measured_counts, group->size * sizeof(counts[0])) == 0;
}

/* Checks the members one by one, each in the order of the contract. */
static h2d_status_t check_members(const h2d_group_t *group, const int64_t counts[],
				  const char *const reasons[])
{
	h2d_status_t status;
	uint32_t i;

	for (i = 0; i < group->size; i++) {
		if (counts[i] == H2D_COUNT_OMITTED)
			continue;
		if (h2d_ledger_holds(group->owner->published, group->ledger_index[i])) {
			status = check_republication(group, i, reasons ? reasons[i] : NULL);
			if (status != H2D_STATUS_SUCCESS)
				return status;
		}
		if ((uint64_t)counts[i] > group->capacity[i])
			return count_error(group, i, counts[i]);
	}
	return H2D_STATUS_SUCCESS;
}

/* Works out what counts mean; false: one of them is out of range. */
static bool measure_bytes(h2d_group_t *group, const int64_t *restrict counts)
{
	const uint64_t *restrict bytes_per_count = group->bytes_per_count;
	const uint64_t *restrict capacity = group->capacity;
	uint64_t *restrict bytes = group->bytes;
	uint64_t total_bytes = 0, chunks = 0;
	uint32_t size = group->size, active = 0, i;

	for (i = 0; i < size; i++) {
		uint64_t count = (uint64_t)counts[i];

		if (count > capacity[i]) {
			if (counts[i] != H2D_COUNT_OMITTED)
				return false;
			count = 0;
		}
		count *= bytes_per_count[i];
		bytes[i] = count;
		total_bytes += count;
		chunks += h2d_chunk_count(count);
		active += count != 0;
	}
	group->total_bytes = total_bytes;
	group->chunks = chunks;
	group->active = active;
	return true;
}

/* Works out which bits of the ledger a publication of measured bytes sets. */
static void measure_masks(h2d_group_t *group, const int64_t counts[])
{
	size_t words = group->mask_words * sizeof(*group->mask);
	uint32_t i;

	memcpy(group->published_mask, group->mask, words);
	memcpy(group->in_use_mask, group->mask, words);
	if (group->active == group->size)
		return;
	for (i = 0; i < group->size; i++) {
		if (counts[i] == H2D_COUNT_OMITTED)
			h2d_ledger_put(group->published_mask, group->ledger_index[i], false);
		if (group->bytes[i] == 0)
			h2d_ledger_put(group->in_use_mask, group->ledger_index[i], false);
	}
}

static bool measure(h2d_group_t *group, const int64_t counts[])
{
	group->measured = false;
	group->measured_own = false;
	group->described = false;
	if (!measure_bytes(group, counts))
		return false;
	measure_masks(group, counts);
	memcpy(group->measured_counts, counts, group->size * sizeof(counts[0]));
	group->measured = true;
	group->measured_own = counts == group->counts;
	return true;
}

/* Checks the members of a publication and works out what it copies. */
static h2d_status_t prepare(h2d_group_t *group, const int64_t counts[], const char *const reasons[])
{
	h2d_status_t status;

	/* With no member published in this epoch only the counts can be wrong. */
	if (is_fresh(group) && (is_measured(group, counts) || measure(group, counts)))
		return H2D_STATUS_SUCCESS;
	status = check_members(group, counts, reasons);
	if (status == H2D_STATUS_SUCCESS)
		measure(group, counts);
	return status;
}

/* Enters a checked publication in the ledger. */
static void enter(h2d_group_t *group)
{
	h2d_owner_t *owner = group->owner;
	uint32_t i;

	for (i = 0; i < group->mask_words; i++) {
		owner->published[i] |= group->published_mask[i];
		owner->in_use[i] &= ~group->published_mask[i];
		owner->in_use[i] |= group->in_use_mask[i];
	}
	owner->totals.bytes += group->total_bytes;
}

static h2d_status_t submit(h2d_group_t *group, h2d_stream_t *stream)
{
	switch (group->transport) {
	case H2D_BACKEND_PULL:
		return h2d_pull_submit(group, stream);
	case H2D_BACKEND_PACKED:
		/* One member alone needs no kernel, and leaves an arena in flight alone. */
		if (group->active > 1)
			return h2d_packed_submit(group, stream);
		break;
	case H2D_BACKEND_DIRECT:
		break;
	}
	return h2d_direct_submit(group, stream);
}

h2d_status_t h2d_group_publish(h2d_group_t *group, h2d_stream_t *stream, const int64_t counts[],
			       const char *const reasons[])
{
	h2d_owner_t *owner;
	h2d_status_t status;
	bool shared; /* with the group's own descriptors */

	if (!group || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_group_publish: an argument is NULL");
	owner = group->owner;
	status = h2d_owner_check_active(owner, stream, "group", group->name);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (!counts)
		counts = group->counts;
	status = prepare(group, counts, reasons);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	shared = group->active > 1 && group->transport != H2D_BACKEND_DIRECT;
	if (shared && group->in_flight_epoch == owner->epoch)
		return h2d_error(
			H2D_STATUS_TRANSPORT_IN_FLIGHT,
			"group '%s' of owner '%s': transport counts are in flight; acquire "
			"sources first (of a member published in epoch %" PRIu64 ")",
			group->name, owner->name, owner->epoch);
	enter(group);
	if (group->active == 0)
		return H2D_STATUS_SUCCESS;
	status = submit(group, stream);
	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(owner, status, "publish of group '%s'", group->name);
	if (shared)
		group->in_flight_epoch = owner->epoch;
	owner->totals.publications++;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_group_check_fresh(const h2d_group_t *group)
{
	const h2d_owner_t *owner = group->owner;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < group->size && status == H2D_STATUS_SUCCESS; i++)
		if (h2d_ledger_holds(owner->published, group->ledger_index[i]))
			status = check_republication(group, i, NULL);
	return status;
}

h2d_status_t h2d_group_check_writable(const h2d_group_t *group, h2d_stream_t *stream)
{
	h2d_status_t status;

	if (!group || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_group_check_writable: an argument is NULL");
	status = h2d_owner_check_active(group->owner, stream, "group", group->name);
	return status == H2D_STATUS_SUCCESS ? h2d_group_check_fresh(group) : status;
}
