/* SPDX-License-Identifier: MIT */
/* The tokens of a replay with speculative decoding, and what stands in for the model. */
#include "config.h"

#include "speculation.h"

#include <stdlib.h>

#include "hsa/kernel_arguments.h"

#define VOCABULARY 32000

/* Nobody may read it: between the rows of drafts, and in the rows of requests that are done. */
#define POISON -7777

/* One a slot, since its sources are free again when the slot's epoch begins. */
struct stand_in {
	h2d_owner_t *owner;
	h2d_buffer_t *sampled; /* int32 [max_requests] */
	h2d_buffer_t *drafted; /* int32 [max_requests * (tokens + 1)]; a row's drafts from 1 on */
	h2d_group_t *group;
	int32_t *seen_drafts; /* device */
};

struct speculation {
	struct speculation_settings settings;
	h2d_device_t *device;
	struct stand_in *stand_ins; /* [slots] */
	uint64_t *previous_ids;	    /* of the requests of the step before, [max_requests] */
	uint32_t previous_count;

	/* Of the step: [max_requests], with speculative tokens [max_requests * width]. */
	int32_t *ids; /* as assembled */
	int32_t *staged_ids;
	int32_t *draft_ids;
	int32_t *previous_rows;
	int32_t *context_lengths;
	int32_t *rejected_tokens;
	float *temperatures;
	float *top_ps;
	int32_t *verified_drafts; /* what the shared draft ids are, all of them */
};

static uint32_t width(const struct speculation *speculation)
{
	return speculation->settings.tokens + 1;
}

/* A number that looks random, below limit. */
static int32_t mix(uint64_t request, uint64_t position, uint32_t limit)
{
	uint64_t z =
		request * UINT64_C(0x9e3779b97f4a7c15) + position * UINT64_C(0xd1b54a32d192ed03);

	z = (z ^ (z >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (int32_t)((z ^ (z >> 29)) % limit);
}

int32_t speculation_token(uint64_t request, uint64_t position)
{
	return mix(request, position, VOCABULARY);
}

float speculation_temperature(uint64_t request)
{
	return (float)mix(request, 0, 3) / 2;
}

float speculation_top_p(uint64_t request)
{
	return mix(request, 1, 4) == 0 ? 0.9f : 1.0f;
}

/* ---- making ---------------------------------------------------------------------------------- */

static h2d_status_t create_stand_in(h2d_device_t *device, size_t requests, size_t width,
				    struct stand_in *stand_in)
{
	const h2d_owner_options_t options = {.name = "stand-in for the model",
					     .backend = H2D_BACKEND_PULL};
	h2d_buffer_description_t description = {
		.name = "sampled ids",
		.element_size = sizeof(int32_t),
		.dimensions = 1,
		.shape = {requests},
	};
	void *memory = NULL;
	h2d_status_t status = h2d_owner_create(device, NULL, &options, &stand_in->owner);

	if (status == H2D_STATUS_SUCCESS)
		status = h2d_buffer_allocate(stand_in->owner, &description, &stand_in->sampled);
	description.name = "drafted ids";
	description.shape[0] = requests * width;
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_buffer_allocate(stand_in->owner, &description, &stand_in->drafted);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_group_create(
			stand_in->owner, "model",
			(h2d_buffer_t *const[]){stand_in->sampled, stand_in->drafted}, 2,
			&stand_in->group);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_owner_select_transports(stand_in->owner);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_device_allocate(device, requests * (width - 1) * sizeof(int32_t),
					     &memory);
	stand_in->seen_drafts = memory;
	return status;
}

static bool allocate_arrays(struct speculation *speculation)
{
	const size_t requests = speculation->settings.max_requests;
	const size_t tokens = requests * width(speculation);

	speculation->stand_ins =
		calloc(speculation->settings.slots, sizeof(*speculation->stand_ins));
	speculation->previous_ids = calloc(requests, sizeof(*speculation->previous_ids));
	speculation->ids = calloc(tokens, sizeof(*speculation->ids));
	speculation->staged_ids = calloc(tokens, sizeof(*speculation->staged_ids));
	speculation->draft_ids = calloc(tokens, sizeof(*speculation->draft_ids));
	speculation->previous_rows = calloc(requests, sizeof(*speculation->previous_rows));
	speculation->context_lengths = calloc(requests, sizeof(*speculation->context_lengths));
	speculation->rejected_tokens = calloc(requests, sizeof(*speculation->rejected_tokens));
	speculation->temperatures = calloc(requests, sizeof(*speculation->temperatures));
	speculation->top_ps = calloc(requests, sizeof(*speculation->top_ps));
	speculation->verified_drafts = calloc(tokens, sizeof(*speculation->verified_drafts));
	return speculation->stand_ins != NULL && speculation->previous_ids != NULL &&
	       speculation->ids != NULL && speculation->staged_ids != NULL &&
	       speculation->draft_ids != NULL && speculation->previous_rows != NULL &&
	       speculation->context_lengths != NULL && speculation->rejected_tokens != NULL &&
	       speculation->temperatures != NULL && speculation->top_ps != NULL &&
	       speculation->verified_drafts != NULL;
}

struct speculation *speculation_create(h2d_device_t *device,
				       const struct speculation_settings *settings)
{
	struct speculation *speculation = calloc(1, sizeof(*speculation));
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (speculation == NULL)
		return NULL;
	speculation->settings = *settings;
	speculation->device = device;
	if (!allocate_arrays(speculation))
		status = H2D_STATUS_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < settings->slots && status == H2D_STATUS_SUCCESS; i++)
		status = create_stand_in(device, settings->max_requests, width(speculation),
					 &speculation->stand_ins[i]);
	if (status == H2D_STATUS_SUCCESS)
		return speculation;
	speculation_destroy(speculation);
	return NULL;
}

void speculation_destroy(struct speculation *speculation)
{
	if (speculation == NULL)
		return;
	for (uint32_t i = 0; speculation->stand_ins && i < speculation->settings.slots; i++) {
		h2d_owner_destroy(speculation->stand_ins[i].owner);
		h2d_device_free(speculation->device, speculation->stand_ins[i].seen_drafts);
	}
	free(speculation->stand_ins);
	free(speculation->previous_ids);
	free(speculation->ids);
	free(speculation->staged_ids);
	free(speculation->draft_ids);
	free(speculation->previous_rows);
	free(speculation->context_lengths);
	free(speculation->rejected_tokens);
	free(speculation->temperatures);
	free(speculation->top_ps);
	free(speculation->verified_drafts);
	free(speculation);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The row of a request in the step before, or -1. Requests mostly keep their order: start at hint.
 */
static int32_t find_previous(const struct speculation *speculation, uint64_t request, uint32_t hint)
{
	for (uint32_t i = 0; i < speculation->previous_count; i++) {
		const uint32_t row = (hint + i) % speculation->previous_count;

		if (speculation->previous_ids[row] == request)
			return (int32_t)row;
	}
	return -1;
}

/* Its ids are known to the host, or to the GPU only: then the host has placeholders. */
static void describe_tokens(struct speculation *speculation, const struct stand_in *stand_in,
			    uint32_t request, uint64_t id, uint32_t first_position)
{
	const uint32_t columns = width(speculation);
	const int32_t row = speculation->previous_rows[request];
	int32_t *ids = speculation->ids + (size_t)request * columns;
	int32_t *staged = speculation->staged_ids + (size_t)request * columns;
	int32_t *drafts = speculation->draft_ids + (size_t)request * (columns - 1);
	int32_t *sampled = h2d_buffer_host(stand_in->sampled);
	int32_t *drafted = h2d_buffer_host(stand_in->drafted);

	for (uint32_t j = 0; j < columns; j++) {
		ids[j] = speculation_token(id, first_position + j);
		staged[j] = j == 0 && row < 0 ? ids[j] : -1;
		if (j > 0)
			drafts[j - 1] = row < 0 ? ids[j] : -1;
		if (row >= 0 && j > 0)
			drafted[(size_t)row * columns + j] = ids[j];
	}
	if (row >= 0)
		sampled[row] = ids[0];
}

static void poison(const struct speculation *speculation, const struct stand_in *stand_in)
{
	const size_t requests = speculation->settings.max_requests;
	int32_t *sampled = h2d_buffer_host(stand_in->sampled);
	int32_t *drafted = h2d_buffer_host(stand_in->drafted);

	for (size_t i = 0; i < requests; i++)
		sampled[i] = POISON;
	for (size_t i = 0; i < requests * width(speculation); i++)
		drafted[i] = POISON;
}

static void describe_requests(struct speculation *speculation, const struct stand_in *stand_in,
			      const h2d_batch_t *batch)
{
	uint32_t hint = 0;

	for (uint32_t i = 0; i < batch->num_requests; i++) {
		const uint64_t id = batch->request_ids[i];
		const int32_t context = batch->context_lengths[i];
		const int32_t row = find_previous(speculation, id, hint);
		/* that many of the tokens that were scheduled ahead did not come true */
		const int32_t rejected = mix(id, (uint64_t)context, width(speculation));

		if (row >= 0)
			hint = (uint32_t)row + 1;
		speculation->previous_rows[i] = row;
		speculation->rejected_tokens[i] = rejected;
		speculation->context_lengths[i] = context + rejected;
		speculation->temperatures[i] = speculation_temperature(id);
		speculation->top_ps[i] = speculation_top_p(id);
		describe_tokens(speculation, stand_in, i, id,
				(uint32_t)context - width(speculation));
	}
}

static h2d_status_t publish_previous(const struct stand_in *stand_in, h2d_stream_t *stream)
{
	const int64_t counts[] = {(int64_t)h2d_buffer_capacity(stand_in->sampled),
				  (int64_t)h2d_buffer_capacity(stand_in->drafted)};
	h2d_status_t status = h2d_group_publish(stand_in->group, stream, counts, NULL);

	return status == H2D_STATUS_SUCCESS ? h2d_owner_finish(stand_in->owner, stream) : status;
}

h2d_status_t speculation_describe(struct speculation *speculation, h2d_stream_t *stream,
				  uint32_t slot, h2d_batch_t *batch, struct verify_tokens *tokens)
{
	struct stand_in *stand_in = &speculation->stand_ins[slot];
	h2d_status_t status = h2d_owner_begin(stand_in->owner, stream);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	poison(speculation, stand_in);
	describe_requests(speculation, stand_in, batch);
	*tokens = (struct verify_tokens){
		.ids = speculation->ids,
		.temperatures = speculation->temperatures,
		.top_ps = speculation->top_ps,
		.draft_ids = speculation->verified_drafts,
	};
	batch->context_lengths = speculation->context_lengths;
	batch->rejected_tokens = speculation->rejected_tokens;
	batch->scheduled_token_ids = speculation->staged_ids;
	batch->draft_token_ids = speculation->draft_ids;
	batch->previous_rows = speculation->previous_rows;
	batch->previous = (h2d_previous_step_t){
		.sampled_ids = h2d_buffer_device(stand_in->sampled),
		.sampled_rows = speculation->previous_count,
		.draft_ids = h2d_buffer_device(stand_in->drafted),
		.draft_columns = speculation->settings.tokens,
		.draft_row_stride = width(speculation),
		.draft_offset = 1,
	};
	batch->temperatures = speculation->temperatures;
	batch->top_ps = speculation->top_ps;
	for (uint32_t i = 0; i < batch->num_requests; i++)
		speculation->previous_ids[i] = batch->request_ids[i];
	speculation->previous_count = batch->num_requests;
	return publish_previous(stand_in, stream);
}

/* ---- what reads the draft ids ---------------------------------------------------------------- */

h2d_status_t speculation_record(struct speculation *speculation, h2d_stream_t *stream,
				uint32_t slot, const int32_t *draft_ids)
{
	const size_t bytes = (size_t)speculation->settings.max_requests *
			     speculation->settings.tokens * sizeof(int32_t);
	union {
		struct h2d_pull_arguments pull;
		uint8_t room[sizeof(struct h2d_pull_arguments) + sizeof(struct h2d_pull_member)];
	} arguments = {.pull = {.members = 1}};
	h2d_dispatch_t dispatch = {
		.grid_size = {(uint32_t)h2d_chunk_count(bytes) * H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = &arguments,
		.kernel_arguments_size = sizeof(arguments),
	};
	h2d_status_t status =
		h2d_device_get_kernel(speculation->device, "h2d_pull", &dispatch.kernel);

	arguments.pull.member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)draft_ids,
		.destination = (uintptr_t)speculation->stand_ins[slot].seen_drafts,
		.bytes = bytes,
	};
	return status == H2D_STATUS_SUCCESS ? h2d_stream_dispatch(stream, &dispatch) : status;
}

const int32_t *speculation_seen_drafts(const struct speculation *speculation, uint32_t slot)
{
	return speculation->stand_ins[slot].seen_drafts;
}
