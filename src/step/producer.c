/* SPDX-License-Identifier: MIT */
/* Producers: checked in the slot in use before their body writes anything. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "publish/group.h"
#include "step/runner.h"

struct h2d_producer {
	h2d_producer_t *next;
	h2d_runner_t *runner;
	h2d_producer_body_t body;
	uint32_t num_groups;
	uint32_t groups[]; /* their indices, the same in every slot */
};

static h2d_status_t find_groups(h2d_producer_t *producer,
				const h2d_producer_declaration_t *declaration)
{
	const h2d_runner_slot_t *slot = &producer->runner->slots[0];

	for (uint32_t i = 0; i < declaration->num_groups; i++) {
		producer->groups[i] = h2d_slot_find_group(slot, declaration->groups[i]);
		if (producer->groups[i] == slot->num_groups)
			return h2d_error(H2D_STATUS_NOT_FOUND,
					 "producer %s: no group is named \"%s\"", declaration->name,
					 declaration->groups[i]);
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_producer_create(h2d_runner_t *runner,
				 const h2d_producer_declaration_t *declaration,
				 h2d_producer_t **producer)
{
	h2d_producer_t *created;
	h2d_status_t status;

	if (!runner || !declaration || !producer || !declaration->name || !declaration->groups ||
	    declaration->num_groups == 0 || !declaration->body)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_producer_create: an argument is missing");
	created =
		calloc(1, sizeof(*created) + declaration->num_groups * sizeof(created->groups[0]));
	if (!created)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for producer %s",
				 declaration->name);
	created->runner = runner;
	created->body = declaration->body;
	created->num_groups = declaration->num_groups;
	status = find_groups(created, declaration);
	if (status != H2D_STATUS_SUCCESS) {
		free(created);
		return status;
	}
	created->next = runner->producers;
	runner->producers = created;
	*producer = created;
	return H2D_STATUS_SUCCESS;
}

void h2d_runner_free_producers(h2d_runner_t *runner)
{
	while (runner->producers) {
		h2d_producer_t *next = runner->producers->next;

		free(runner->producers);
		runner->producers = next;
	}
}

static const h2d_runner_slot_t *slot_in_use(const h2d_producer_t *producer)
{
	return &producer->runner->slots[producer->runner->slot];
}

static h2d_status_t check_arguments(const h2d_producer_t *producer, const h2d_stream_t *stream)
{
	if (!producer || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "running a producer: %s is NULL",
				 !producer ? "producer" : "stream");
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t check_writable(const h2d_producer_t *producer, h2d_stream_t *stream)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < producer->num_groups && status == H2D_STATUS_SUCCESS; i++)
		status = h2d_group_check_writable(
			slot_in_use(producer)->groups[producer->groups[i]].group, stream);
	return status;
}

/* The ledger alone: a sealed epoch passes no check of being active. */
static h2d_status_t check_fresh(const h2d_producer_t *producer)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;

	for (uint32_t i = 0; i < producer->num_groups && status == H2D_STATUS_SUCCESS; i++)
		status = h2d_group_check_fresh(
			slot_in_use(producer)->groups[producer->groups[i]].group);
	return status;
}

h2d_status_t h2d_producer_run(const h2d_producer_t *producer, h2d_stream_t *stream, void *context)
{
	h2d_status_t status = check_arguments(producer, stream);

	if (status == H2D_STATUS_SUCCESS)
		status = check_writable(producer, stream);
	if (status == H2D_STATUS_SUCCESS)
		status = producer->body(producer->runner, stream, context);
	return status;
}

/* Runs the body, whose errors the owner does not survive. */
static h2d_status_t run_or_fail(const h2d_producer_t *producer, h2d_stream_t *stream, void *context)
{
	h2d_status_t status = producer->body(producer->runner, stream, context);

	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(slot_in_use(producer)->owner, status,
					   "late preparation");
	return status;
}

h2d_status_t h2d_producer_run_late(const h2d_producer_t *producer, h2d_stream_t *stream,
				   void *context)
{
	h2d_status_t status = check_arguments(producer, stream);
	h2d_owner_t *owner;

	if (status != H2D_STATUS_SUCCESS)
		return status;
	owner = slot_in_use(producer)->owner;
	if (h2d_owner_state(owner) != H2D_OWNER_SEALED) {
		status = check_writable(producer, stream);
		return status == H2D_STATUS_SUCCESS ? run_or_fail(producer, stream, context)
						    : status;
	}
	status = check_fresh(producer);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_owner_resume(owner, stream);
	if (status == H2D_STATUS_SUCCESS)
		status = run_or_fail(producer, stream, context);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_owner_finish(owner, stream);
	return status;
}
