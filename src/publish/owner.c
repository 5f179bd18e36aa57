/* SPDX-License-Identifier: MIT */
/* Owners: one slot's epochs, and when its sources may be rewritten. */
#include "publish/owner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "publish/buffer.h"
#include "publish/group.h"
#include "publish/registry.h"
#include "publish/transport.h"

static const char *state_name(h2d_owner_state_t state)
{
	switch (state) {
	case H2D_OWNER_IDLE:
		return "idle";
	case H2D_OWNER_ACTIVE:
		return "active";
	case H2D_OWNER_SEALED:
		return "sealed";
	case H2D_OWNER_FAILED:
		return "failed";
	}
	return "in an unknown state";
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* INVALID_STATE with the state, what was asked for, and why the owner failed if it did. */
static h2d_status_t state_error(const h2d_owner_t *owner, const char *action, const char *advice)
{
	bool failed = owner->state == H2D_OWNER_FAILED && owner->failure[0];

	return h2d_error(H2D_STATUS_INVALID_STATE, "%s: owner '%s' is %s%s%s%s", action,
			 owner->name, state_name(owner->state), advice,
			 failed ? "; the cause: " : "", failed ? owner->failure : "");
}

/* The checks of a stream that do not depend on the epoch. */
static h2d_status_t check_stream(const h2d_owner_t *owner, const h2d_stream_t *stream)
{
	if (h2d_stream_device(stream) != owner->device)
		return h2d_error(H2D_STATUS_WRONG_DEVICE,
				 "owner '%s': the stream is on the wrong device", owner->name);
	if (h2d_stream_is_capturing(stream))
		return h2d_error(H2D_STATUS_CAPTURE_ACTIVE,
				 "owner '%s': publish metadata before actual graph capture",
				 owner->name);
	return H2D_STATUS_SUCCESS;
}

/* Never used again, unlike a pthread_t, which the next thread may get from one that has ended. */
static uint64_t this_thread(void)
{
	static _Atomic uint64_t threads;
	static _Thread_local uint64_t number; /* 0: not yet drawn */

	if (number == 0)
		number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return number;
}

h2d_status_t h2d_owner_check_active(const h2d_owner_t *owner, const h2d_stream_t *stream,
				    const char *what, const char *name)
{
	h2d_status_t status;

	/* The usual case: the stream of begin itself, which is on the owner's device. */
	if (owner->state == H2D_OWNER_ACTIVE && stream == owner->stream &&
	    owner->thread == this_thread() && !h2d_stream_is_capturing(stream))
		return H2D_STATUS_SUCCESS;
	if (owner->state != H2D_OWNER_ACTIVE) {
		char action[128];

		snprintf(action, sizeof(action), "%s '%s'", what, name);
		return state_error(owner, action, "; acquire sources first");
	}
	if (owner->thread != this_thread())
		return h2d_error(H2D_STATUS_WRONG_THREAD,
				 "%s '%s': publish on the owner thread, the one that began epoch "
				 "%" PRIu64 " of owner '%s'",
				 what, name, owner->epoch, owner->name);
	status = check_stream(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (h2d_stream_identity(stream) != owner->stream_identity)
		return h2d_error(H2D_STATUS_WRONG_STREAM,
				 "%s '%s': publish on the owner's current compute stream, the one "
				 "on which epoch %" PRIu64 " of owner '%s' began",
				 what, name, owner->epoch, owner->name);
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_check_idle(const h2d_owner_t *owner, const char *action)
{
	if (owner->state == H2D_OWNER_IDLE)
		return H2D_STATUS_SUCCESS;
	return state_error(owner, action, "");
}

h2d_status_t h2d_owner_fail_with(h2d_owner_t *owner, h2d_status_t status, const char *format, ...)
{
	char action[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(action, sizeof(action), format, arguments);
	va_end(arguments);
	owner->state = H2D_OWNER_FAILED;
	snprintf(owner->failure, sizeof(owner->failure), "%s", h2d_error_message());
	return h2d_error(status, "%s, owner '%s', epoch %" PRIu64 ": %s", action, owner->name,
			 owner->epoch, owner->failure);
}

/* ---- making and destroying ------------------------------------------------------------------- */

/* Frees an owner that the GPU does not use. */
static void free_owner(h2d_owner_t *owner)
{
	uint32_t i;

	for (i = 0; i < owner->group_count; i++)
		h2d_group_free(owner->groups[i]);
	for (i = 0; i < owner->buffer_count; i++)
		h2d_buffer_free(owner->buffers[i]);
	if (owner->registry_is_private)
		h2d_registry_destroy(owner->registry);
	h2d_device_destroy_signal(owner->completion);
	if (owner->stream)
		h2d_stream_release(owner->stream);
	h2d_device_release(owner->device);
	free(owner->groups);
	free(owner->buffers);
	free(owner->published);
	free(owner->in_use);
	free(owner->taken);
	free(owner->name);
	free(owner);
}

h2d_status_t h2d_owner_create(h2d_device_t *device, h2d_registry_t *registry,
			      const h2d_owner_options_t *options, h2d_owner_t **owner)
{
	static const h2d_owner_options_t defaults;
	h2d_status_t status = H2D_STATUS_SUCCESS;
	h2d_owner_t *made;

	if (!device || !owner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_create: an argument is NULL");
	if (!options)
		options = &defaults;
	if (!h2d_backend_name(options->backend))
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "owner '%s': %d is no H2D transport (packed, direct, pull)",
				 options->name ? options->name : "owner", (int)options->backend);
	made = calloc(1, sizeof(*made));
	if (!made)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for an owner");
	h2d_device_retain(device);
	made->device = device;
	made->backend = options->backend;
	made->omit_end_fence = options->omit_end_fence;
	made->timeout_ns = options->timeout_ns ? options->timeout_ns : H2D_DEFAULT_TIMEOUT_NS;
	made->pack_limit_bytes = options->pack_limit_bytes ? options->pack_limit_bytes
							   : H2D_DEFAULT_PACK_LIMIT_BYTES;
	made->registry = registry;
	made->name = strdup(options->name ? options->name : "owner");
	if (!made->name)
		status = h2d_error(H2D_STATUS_OUT_OF_MEMORY, "no memory for an owner");
	if (status == H2D_STATUS_SUCCESS && !registry) {
		status = h2d_registry_create(&made->registry);
		made->registry_is_private = status == H2D_STATUS_SUCCESS;
	}
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_create_host_signal(device, 0, &made->completion);
	if (status != H2D_STATUS_SUCCESS) {
		free_owner(made);
		return status;
	}
	/* Sources are free once every packet before has ended, which is what the barrier bit waits
	 * for. There is nothing to acquire or release: the host does not read what they wrote. */
	h2d_packet_barrier(&made->completion_packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE,
			   (hsa_signal_t){0}, made->completion);
	*owner = made;
	return H2D_STATUS_SUCCESS;
}

/* Waits for the copies of every publication, on their own signals. */
static h2d_status_t wait_for_copies(h2d_owner_t *owner)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;
	uint32_t i;

	for (i = 0; i < owner->buffer_count && status == H2D_STATUS_SUCCESS; i++)
		status = h2d_device_wait_signal(owner->device, owner->buffers[i]->copied,
						owner->timeout_ns, owner->buffers[i]->name);
	for (i = 0; i < owner->group_count && status == H2D_STATUS_SUCCESS; i++)
		if (owner->groups[i]->packed)
			status = h2d_device_wait_signal(owner->device,
							h2d_packed_copied(owner->groups[i]->packed),
							owner->timeout_ns, owner->groups[i]->name);
	if (status == H2D_STATUS_TIMEOUT && h2d_device_faulted(owner->device, NULL))
		return h2d_error(status,
				 "owner '%s': %s; the memory fault of the GPU may have stopped "
				 "its DMA for good, and the storage stays allocated",
				 owner->name, h2d_error_message());
	return status;
}

h2d_status_t h2d_owner_open_gates(h2d_owner_t *owner)
{
	h2d_status_t status;
	uint32_t i;

	if (!owner->stream || h2d_stream_check(owner->stream) == H2D_STATUS_SUCCESS)
		return H2D_STATUS_SUCCESS;
	status = h2d_stream_stop(owner->stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	for (i = 0; i < owner->buffer_count; i++)
		h2d_device_store_signal(owner->buffers[i]->gate, 0);
	return H2D_STATUS_SUCCESS;
}

/*
 * Waits for everything on the owner's stream, and for copies of a publication that failed half way,
 * which the stream may not wait for.
 */
static h2d_status_t wait_for_gpu(h2d_owner_t *owner)
{
	h2d_status_t status;

	if (!owner->stream)
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_wait_for_sources(owner, owner->stream);
	if (status == H2D_STATUS_QUEUE_ERROR || status == H2D_STATUS_MEMORY_FAULT)
		status = h2d_owner_open_gates(owner);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	return wait_for_copies(owner);
}

h2d_status_t h2d_owner_destroy(h2d_owner_t *owner)
{
	h2d_status_t status;

	if (!owner)
		return H2D_STATUS_SUCCESS;
	status = h2d_owner_check_unrecorded(owner);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (!owner->drained) {
		if (owner->state == H2D_OWNER_FAILED && owner->stream &&
		    h2d_stream_check(owner->stream) == H2D_STATUS_SUCCESS)
			return state_error(owner, "destroy", "; drain it first");
		status = wait_for_gpu(owner);
		if (status != H2D_STATUS_SUCCESS)
			return status;
	}
	free_owner(owner);
	return H2D_STATUS_SUCCESS;
}

/* Makes room for one more entry in *array, which grows by powers of two; NULL: out of memory. */
static void *grow(void *array, uint32_t count, size_t entry_size)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * (size_t)count : 1) * entry_size);
}

/* Adds a word of 0 to one array of the ledger; false: out of memory. */
static bool grow_bits(uint64_t **bits, uint32_t words)
{
	uint64_t *grown = grow(*bits, words, sizeof(*grown));

	if (!grown)
		return false;
	*bits = grown;
	grown[words] = 0;
	return true;
}

/* The first free bit of the ledger, which need not exist yet. */
static uint32_t free_index(const h2d_owner_t *owner)
{
	uint32_t index = 0;

	while (index < 64 * owner->ledger_words && h2d_ledger_holds(owner->taken, index))
		index++;
	return index;
}

h2d_status_t h2d_owner_add_buffer(h2d_owner_t *owner, h2d_buffer_t *buffer)
{
	uint32_t count = owner->buffer_count, words = owner->ledger_words;
	uint32_t index = free_index(owner);
	h2d_buffer_t **buffers = grow(owner->buffers, count, sizeof(h2d_buffer_t *));

	if (buffers)
		owner->buffers = buffers;
	if (!buffers || (index == 64 * words &&
			 (!grow_bits(&owner->published, words) ||
			  !grow_bits(&owner->in_use, words) || !grow_bits(&owner->taken, words))))
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "owner '%s': no memory for buffer '%s'",
				 owner->name, buffer->name);
	owner->ledger_words = index / 64 < words ? words : words + 1;
	h2d_ledger_put(owner->taken, index, true);
	owner->buffers[count] = buffer;
	buffer->index = index;
	owner->buffer_count = count + 1;
	return H2D_STATUS_SUCCESS;
}

void h2d_owner_remove_buffer(h2d_owner_t *owner, h2d_buffer_t *buffer)
{
	h2d_buffer_t **entry = owner->buffers;

	while (*entry != buffer)
		entry++;
	owner->buffer_count--;
	for (; entry < owner->buffers + owner->buffer_count; entry++)
		entry[0] = entry[1];
	h2d_ledger_put(owner->taken, buffer->index, false);
}

h2d_status_t h2d_owner_add_group(h2d_owner_t *owner, h2d_group_t *group)
{
	uint32_t count = owner->group_count;
	h2d_group_t **groups = grow(owner->groups, count, sizeof(*groups));

	if (!groups)
		return h2d_error(H2D_STATUS_OUT_OF_MEMORY, "owner '%s': no memory for group '%s'",
				 owner->name, group->name);
	owner->groups = groups;
	owner->groups[count] = group;
	group->index = count;
	owner->group_count = count + 1;
	return H2D_STATUS_SUCCESS;
}

void h2d_owner_remove_group(h2d_owner_t *owner, h2d_group_t *group)
{
	uint32_t i;

	owner->group_count--;
	for (i = group->index; i < owner->group_count; i++) {
		owner->groups[i] = owner->groups[i + 1];
		owner->groups[i]->index = i;
	}
}

h2d_status_t h2d_owner_check_unrecorded(const h2d_owner_t *owner)
{
	h2d_status_t status = H2D_STATUS_SUCCESS;
	uint32_t i;

	for (i = 0; i < owner->buffer_count && status == H2D_STATUS_SUCCESS; i++)
		status = h2d_buffer_check_unrecorded(owner->buffers[i]);
	return status;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

h2d_owner_state_t h2d_owner_state(const h2d_owner_t *owner)
{
	return owner->state;
}

uint64_t h2d_owner_epoch(const h2d_owner_t *owner)
{
	return owner->epoch;
}

/* On error it is as if it had not been called. */
static h2d_status_t enqueue_completion(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status;

	h2d_device_add_signal(owner->completion, 1);
	status = h2d_stream_submit(stream, &owner->completion_packet, 1);
	if (status != H2D_STATUS_SUCCESS)
		h2d_device_add_signal(owner->completion, -1);
	else
		owner->totals.barrier_packets++;
	return status;
}

h2d_status_t h2d_owner_wait_for_sources(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status = enqueue_completion(owner, stream);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	return h2d_stream_wait_signal(stream, owner->completion, owner->timeout_ns, owner->name);
}

static void clear_ledger(h2d_owner_t *owner)
{
	uint32_t word;

	for (word = 0; word < owner->ledger_words; word++) {
		owner->published[word] = 0;
		owner->in_use[word] = 0;
	}
}

h2d_status_t h2d_owner_begin(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status;

	if (!owner || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_begin: an argument is NULL");
	if (owner->state != H2D_OWNER_IDLE && owner->state != H2D_OWNER_SEALED)
		return state_error(owner, "cannot begin", "");
	status = check_stream(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	if (owner->stream) {
		/* The last epoch's stream is where its completion was enqueued. */
		status = h2d_stream_wait_signal(owner->stream, owner->completion, owner->timeout_ns,
						owner->name);
		if (status != H2D_STATUS_SUCCESS)
			return h2d_owner_fail_with(owner, status, "begin");
	}
	if (owner->stream != stream) {
		h2d_stream_retain(stream);
		if (owner->stream)
			h2d_stream_release(owner->stream);
		owner->stream = stream;
		owner->stream_identity = h2d_stream_identity(stream);
	}
	clear_ledger(owner);
	owner->thread = this_thread();
	owner->epoch++;
	owner->state = H2D_OWNER_ACTIVE;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_finish(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status;

	if (!owner || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_finish: an argument is NULL");
	status = h2d_owner_check_active(owner, stream, "finish of", owner->name);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = enqueue_completion(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(owner, status, "finish");
	owner->state = H2D_OWNER_SEALED;
	return H2D_STATUS_SUCCESS;
}

/* The checks of resume and record after those of state and thread. */
static h2d_status_t check_original_stream(const h2d_owner_t *owner, const h2d_stream_t *stream)
{
	h2d_status_t status = check_stream(owner, stream);

	if (status == H2D_STATUS_SUCCESS && h2d_stream_identity(stream) != owner->stream_identity)
		status = h2d_error(H2D_STATUS_WRONG_STREAM,
				   "owner '%s': not the original owner stream, the one on which "
				   "epoch %" PRIu64 " began",
				   owner->name, owner->epoch);
	return status;
}

h2d_status_t h2d_owner_resume(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status;

	if (!owner || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_resume: an argument is NULL");
	if (owner->state != H2D_OWNER_SEALED)
		return state_error(owner, "cannot resume", "");
	if (owner->thread != this_thread())
		return h2d_error(H2D_STATUS_WRONG_THREAD,
				 "cannot resume: not the owner thread, the one that began epoch "
				 "%" PRIu64 " of owner '%s'",
				 owner->epoch, owner->name);
	status = check_original_stream(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	owner->state = H2D_OWNER_ACTIVE;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_record(h2d_owner_t *owner, h2d_stream_t *stream)
{
	h2d_status_t status;

	if (!owner || !stream)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT,
				 "h2d_owner_record: an argument is NULL");
	if (owner->state != H2D_OWNER_SEALED)
		return state_error(owner, "cannot record", "");
	status = check_original_stream(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	status = enqueue_completion(owner, stream);
	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(owner, status, "record");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_rebuild(h2d_owner_t *owner)
{
	h2d_status_t status;

	if (!owner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_owner_rebuild: owner is NULL");
	if (owner->state == H2D_OWNER_IDLE)
		return H2D_STATUS_SUCCESS;
	if (owner->state != H2D_OWNER_SEALED)
		return state_error(owner, "cannot rebuild", "");
	status = check_stream(owner, owner->stream);
	if (status != H2D_STATUS_SUCCESS)
		return status;
	/* Not the last completion alone: consumers enqueued since then read the destinations. */
	status = h2d_owner_wait_for_sources(owner, owner->stream);
	if (status != H2D_STATUS_SUCCESS)
		return h2d_owner_fail_with(owner, status, "rebuild");
	clear_ledger(owner);
	h2d_stream_release(owner->stream);
	owner->stream = NULL;
	owner->state = H2D_OWNER_IDLE;
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_fail(h2d_owner_t *owner)
{
	if (!owner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_owner_fail: owner is NULL");
	if (owner->state != H2D_OWNER_FAILED) {
		owner->state = H2D_OWNER_FAILED;
		snprintf(owner->failure, sizeof(owner->failure), "h2d_owner_fail() was called");
	}
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_owner_drain(h2d_owner_t *owner)
{
	h2d_status_t status;

	if (!owner)
		return h2d_error(H2D_STATUS_INVALID_ARGUMENT, "h2d_owner_drain: owner is NULL");
	if (owner->state != H2D_OWNER_FAILED)
		return state_error(owner, "drain is only for failed owners", "");
	status = wait_for_gpu(owner);
	if (status == H2D_STATUS_SUCCESS)
		owner->drained = true;
	return status;
}

void h2d_owner_get_totals(const h2d_owner_t *owner, h2d_publication_totals_t *totals)
{
	*totals = owner->totals;
}
