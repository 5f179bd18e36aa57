/* SPDX-License-Identifier: MIT */
/* Runners: publication slots with one owner each, rotated by forward, and their groups by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "publish/owner.h"
#include "step/runner.h"
#include "step/runner_options.h"
#include "step/serving_groups.h"

/* The library's groups, then the caller's. */
static h2d_status_t create_groups(const h2d_runner_t *runner, h2d_runner_slot_t *slot)
{
	h2d_status_t status = h2d_serving_groups_create(runner, slot);

	for (uint32_t i = 0; i < runner->options.num_groups && status == H2D_STATUS_SUCCESS; i++) {
		h2d_group_t *group;

		status = h2d_slot_declare_group(slot, &runner->options.groups[i], NULL, &group);
	}
	return status;
}

/* Buffers first, then groups, then transports: they are chosen by what groups there are. */
static h2d_status_t create_slot(h2d_runner_t *runner, uint32_t index)
{
	h2d_runner_slot_t *slot = &runner->slots[index];
	char name[32];
	const h2d_owner_options_t owner_options = {
		.name = name,
		.backend = runner->backend,
		.timeout_ns = runner->options.timeout_ns,
		.pack_limit_bytes = runner->options.pack_limit_bytes,
		.omit_end_fence = runner->options.omit_end_fence,
	};
	h2d_status_t status;

	snprintf(name, sizeof(name), "slot %u", index);
	status = h2d_owner_create(runner->device, runner->registry, &owner_options, &slot->owner);
	if (status == H2D_STATUS_SUCCESS)
		status = create_groups(runner, slot);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_owner_select_transports(slot->owner);
	return status;
}

/* A recording that uses a slot's buffers: nothing is to be drained or destroyed yet. */
static h2d_status_t check_unrecorded(const h2d_runner_slot_t *slot)
{
	return slot->owner ? h2d_owner_check_unrecorded(slot->owner) : H2D_STATUS_SUCCESS;
}

/* The slot publishes nothing more, and none of its copies keeps those of other slots waiting. */
static h2d_status_t fail_slot(h2d_runner_slot_t *slot)
{
	h2d_status_t status;

	if (!slot->owner)
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_fail(slot->owner);
	return status == H2D_STATUS_SUCCESS ? h2d_owner_open_gates(slot->owner) : status;
}

static h2d_status_t drain_slot(h2d_runner_slot_t *slot)
{
	return slot->owner ? h2d_owner_drain(slot->owner) : H2D_STATUS_SUCCESS;
}

static h2d_status_t destroy_slot(h2d_runner_slot_t *slot)
{
	h2d_status_t status = h2d_owner_destroy(slot->owner);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	h2d_serving_groups_destroy(slot);
	h2d_slot_free_lists(slot);
	*slot = (h2d_runner_slot_t){0};
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t allocate_draft_ids(h2d_runner_t *runner)
{
	const size_t drafts = (size_t)runner->options.max_requests *
			      (runner->options.query_length - 1);
	void *memory;
	h2d_status_t status;

	if (drafts == 0)
		return H2D_STATUS_SUCCESS;
	status = h2d_device_allocate(runner->device, drafts * sizeof(int32_t), &memory);
	if (status == H2D_STATUS_SUCCESS)
		runner->draft_ids = memory;
	return status;
}

static h2d_status_t create_slots(h2d_runner_t *runner)
{
	h2d_status_t status;

	runner->slots = calloc(runner->options.slots, sizeof(*runner->slots));
	if (!runner->slots)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "runner: no memory for %u slots",
				 runner->options.slots);
	status = h2d_registry_create(&runner->registry);
	if (status == H2D_STATUS_SUCCESS)
		status = allocate_draft_ids(runner);
	for (uint32_t i = 0; i < runner->options.slots && status == H2D_STATUS_SUCCESS; i++)
		status = create_slot(runner, i);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_token_inputs_create_producers(runner);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_prefill_inputs_create_producer(runner);
	runner->options.groups = NULL; /* the caller's, made in the slots */
	return status;
}

h2d_status_t h2d_runner_create(h2d_device_t *device, const h2d_runner_options_t *options,
			       h2d_runner_t **runner)
{
	h2d_runner_t *created;
	h2d_status_t status;

	if (!device || !options || !runner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_create: %s is NULL",
				 !device    ? "device"
				 : !options ? "options"
					    : "runner");
	created = calloc(1, sizeof(*created));
	if (!created)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "runner: no memory");
	created->device = device;
	status = h2d_runner_set_options(created, options);
	if (status == H2D_STATUS_SUCCESS)
		status = create_slots(created);
	if (status != H2D_STATUS_SUCCESS) {
		char message[512];

		/* What cleaning up has to say must not replace the reason. */
		snprintf(message, sizeof(message), "%s", h2d_error_message());
		(void)h2d_runner_destroy(created);
		return h2d_error(status, "%s", message);
	}
	*runner = created;
	return H2D_STATUS_SUCCESS;
}

/*
 * All slots are drained before the first is destroyed, so that a timeout leaves them all. And the
 * gates of all are opened before that: after a queue error the copies of one slot stand behind
 * those of another in the ring of a DMA engine.
 */
h2d_status_t h2d_runner_destroy(h2d_runner_t *runner)
{
	const uint32_t slots = runner && runner->slots ? runner->options.slots : 0;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (!runner)
		return H2D_STATUS_SUCCESS;
	for (uint32_t i = 0; i < slots && status == H2D_STATUS_SUCCESS; i++)
		status = check_unrecorded(&runner->slots[i]);
	for (uint32_t i = 0; i < slots && status == H2D_STATUS_SUCCESS; i++)
		status = fail_slot(&runner->slots[i]);
	for (uint32_t i = 0; i < slots && status == H2D_STATUS_SUCCESS; i++)
		status = drain_slot(&runner->slots[i]);
	for (uint32_t i = 0; i < slots && status == H2D_STATUS_SUCCESS; i++)
		status = destroy_slot(&runner->slots[i]);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_registry_destroy(runner->registry);
	if (status == H2D_STATUS_SUCCESS) {
		runner->registry = NULL; /* what follows may fail and be tried again */
		status = h2d_device_free(runner->device, runner->draft_ids);
	}
	if (status != H2D_STATUS_SUCCESS)
		return status;
	h2d_runner_free_producers(runner);
	free(runner->slots);
	free(runner->captured_batch_sizes);
	free(runner);
	return H2D_STATUS_SUCCESS;
}

h2d_backend_t h2d_runner_backend(const h2d_runner_t *runner)
{
	return runner->backend;
}

uint32_t h2d_runner_slot(const h2d_runner_t *runner)
{
	return runner->slot;
}

h2d_owner_t *h2d_runner_owner(const h2d_runner_t *runner, uint32_t slot)
{
	return slot < runner->options.slots ? runner->slots[slot].owner : NULL;
}

static h2d_status_t not_found(const char *what, const char *name)
{
	return h2d_error(H2D_STATUS_NOT_FOUND, "runner: no %s is named \"%s\"", what, name);
}

h2d_status_t h2d_runner_group(const h2d_runner_t *runner, const char *name, h2d_group_t **group)
{
	const h2d_runner_slot_t *slot;
	uint32_t index;

	if (!runner || !name || !group)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_group: %s is NULL",
				 !runner ? "runner"
				 : !name ? "name"
					 : "group");
	slot = &runner->slots[runner->slot];
	index = h2d_slot_find_group(slot, name);
	if (index == slot->num_groups)
		return not_found("group", name);
	*group = slot->groups[index].group;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_runner_buffer(const h2d_runner_t *runner, const char *name, h2d_buffer_t **buffer)
{
	h2d_buffer_t *found;

	if (!runner || !name || !buffer)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_buffer: %s is NULL",
				 !runner ? "runner"
				 : !name ? "name"
					 : "buffer");
	found = h2d_slot_find_buffer(&runner->slots[runner->slot], name);
	if (!found)
		return not_found("buffer", name);
	*buffer = found;
	return H2D_STATUS_SUCCESS;
}

uint32_t h2d_runner_captured_size(const h2d_runner_t *runner, uint32_t num_requests)
{
	for (uint32_t i = 0; i < runner->options.num_captured_batch_sizes; i++) {
		if (runner->captured_batch_sizes[i] >= num_requests)
			return runner->captured_batch_sizes[i];
	}
	return 0;
}

uint32_t h2d_runner_graph_requests(const h2d_runner_t *runner, uint32_t num_requests)
{
	const uint32_t captured = h2d_runner_captured_size(runner, num_requests);

	return captured ? captured : num_requests;
}

/*
 * The slot moves only once its epoch has begun, so that a refused begin changes nothing. An epoch
 * still open in the current slot would be left behind half prepared.
 */
h2d_status_t h2d_runner_begin(h2d_runner_t *runner, h2d_stream_t *stream)
{
	uint32_t next;
	h2d_status_t status;

	if (!runner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_begin: runner is NULL");
	next = (runner->slot + 1) % runner->options.slots;
	if (h2d_owner_state(runner->slots[runner->slot].owner) == H2D_OWNER_ACTIVE)
		return h2d_error(H2D_STATUS_INVALID_STATE,
				 "runner: slot %u has an epoch that is not finished", runner->slot);
	status = h2d_owner_begin(runner->slots[next].owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	runner->slot = next;
	for (uint32_t i = 0; i < runner->slots[next].num_groups; i++)
		h2d_group_reset_counts(runner->slots[next].groups[i].group);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_runner_finish(h2d_runner_t *runner, h2d_stream_t *stream)
{
	if (!runner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_finish: runner is NULL");
	return h2d_owner_finish(runner->slots[runner->slot].owner, stream);
}

h2d_status_t h2d_runner_record(h2d_runner_t *runner, h2d_stream_t *stream)
{
	if (!runner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_runner_record: runner is NULL");
	return h2d_owner_record(runner->slots[runner->slot].owner, stream);
}
