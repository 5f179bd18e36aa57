/* SPDX-License-Identifier: MIT */
/* Set-up of the GPU side, and one decode step on it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "replay_gpu_state.h"
#include "speculation.h"

int replay_gpu_library_error(struct tool_error *error, const char *what, h2d_status_t status)
{
	tool_error_set(error, "%s: %s (%s)", what, h2d_error_message(), h2d_status_string(status));
	return -1;
}

static uint32_t next_captured_size(uint32_t size)
{
	return size < 16 ? size * 2 : size + 16;
}

uint32_t replay_gpu_padded(uint32_t max_num_seqs, uint32_t num_requests)
{
	uint32_t size = 1;

	while (size < num_requests)
		size = next_captured_size(size);
	return size < max_num_seqs ? size : max_num_seqs;
}

static void choose_captured_sizes(struct replay_gpu *gpu)
{
	uint32_t largest = gpu->settings.max_num_seqs;

	for (uint32_t size = 1; size < largest; size = next_captured_size(size))
		gpu->captured_sizes[gpu->num_captured_sizes++] = size;
	gpu->captured_sizes[gpu->num_captured_sizes++] = largest;
}

static int open_device(struct replay_gpu *gpu, struct tool_error *error)
{
	h2d_device_info_t info;
	uint32_t devices = 0;
	h2d_status_t status = h2d_device_count(&devices);

	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "no GPU (without an AMD one, use softgpu)",
						status);
	if (devices == 0) {
		tool_error_set(error, "no GPU (without an AMD one, use softgpu)");
		return -1;
	}
	status = h2d_device_open(0, &gpu->device);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot open the GPU", status);
	status = h2d_device_get_info(gpu->device, &info);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot describe the GPU", status);
	snprintf(gpu->description, sizeof(gpu->description), "%s (%s)", info.product_name,
		 info.isa);
	status = h2d_stream_create(gpu->device, NULL, &gpu->stream);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot make a stream", status);
	return 0;
}

/* Of the largest forward; 0: a decode of all requests. */
static uint32_t max_tokens(const struct replay_gpu_settings *settings)
{
	const uint32_t decoded = settings->max_num_seqs * (1 + settings->speculative_tokens);

	return settings->prefill_tokens > decoded ? settings->prefill_tokens : 0;
}

static int create_runner(struct replay_gpu *gpu, struct tool_error *error)
{
	const struct replay_gpu_settings *settings = &gpu->settings;
	h2d_runner_options_t options = {
		.slots = settings->slots,
		.max_requests = settings->max_num_seqs,
		.query_length = 1 + settings->speculative_tokens,
		.block_size = settings->block_size,
		.page_size = settings->page_size,
		.max_model_length = settings->max_model_len + settings->speculative_tokens,
		.max_tokens = max_tokens(settings),
		.num_pages = settings->num_pages,
		.captured_batch_sizes = gpu->captured_sizes,
		.num_captured_batch_sizes = gpu->num_captured_sizes,
		.backend = settings->backend,
		/* the first consumer is a graph, whose first packet orders and acquires */
		.omit_end_fence = true,
	};
	h2d_status_t status;

	attention_set_options(&settings->attention, &options);
	status = h2d_runner_create(gpu->device, &options, &gpu->runner);

	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot make the runner", status);
	return 0;
}

static int create_speculation(struct replay_gpu *gpu, struct tool_error *error)
{
	const struct speculation_settings settings = {
		.slots = gpu->settings.slots,
		.max_requests = gpu->settings.max_num_seqs,
		.tokens = gpu->settings.speculative_tokens,
	};

	if (settings.tokens == 0)
		return 0;
	gpu->speculation = speculation_create(gpu->device, &settings);
	if (gpu->speculation == NULL) {
		tool_error_set(error, "cannot make what stands in for the model: %s",
			       h2d_error_message());
		return -1;
	}
	return 0;
}

static int create_prefill(struct replay_gpu *gpu, struct tool_error *error)
{
	const struct prefill_settings settings = {
		.max_requests = gpu->settings.max_num_seqs,
		.max_tokens = gpu->settings.prefill_tokens,
		.max_model_len = gpu->settings.max_model_len,
		.token_inputs = gpu->speculation != NULL,
		.mrope = gpu->settings.attention.mrope,
	};

	if (settings.max_tokens == 0)
		return 0;
	gpu->prefill = prefill_create(&settings);
	if (gpu->prefill == NULL) {
		tool_error_set(error, "out of memory for the prefills");
		return -1;
	}
	return 0;
}

static h2d_status_t record_speculation(struct replay_gpu *gpu, uint32_t slot)
{
	h2d_token_inputs_step_t view;
	h2d_status_t status = h2d_token_inputs_view(gpu->runner, slot, &view);

	if (status == H2D_STATUS_SUCCESS)
		status = speculation_record(gpu->speculation, gpu->stream, slot, view.draft_ids);
	return status;
}

static int record_graph(struct replay_gpu *gpu, uint32_t slot, uint32_t graph_requests,
			h2d_graph_t **graph, struct tool_error *error)
{
	h2d_status_t status = h2d_graph_begin_capture(gpu->stream);

	if (status == H2D_STATUS_SUCCESS)
		status = attention_record(&gpu->settings.attention, gpu->runner, gpu->stream, slot,
					  graph_requests, 1 + gpu->settings.speculative_tokens);
	if (status == H2D_STATUS_SUCCESS && gpu->speculation != NULL)
		status = record_speculation(gpu, slot);
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_graph_end_capture(gpu->stream, graph);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot record the graph", status);
	return 0;
}

static int record_graphs(struct replay_gpu *gpu, struct tool_error *error)
{
	gpu->graphs =
		calloc((size_t)gpu->settings.slots * gpu->num_captured_sizes, sizeof(*gpu->graphs));
	if (gpu->graphs == NULL) {
		tool_error_set(error, "out of memory for the graphs");
		return -1;
	}
	for (uint32_t slot = 0; slot < gpu->settings.slots; slot++) {
		for (uint32_t i = 0; i < gpu->num_captured_sizes; i++) {
			if (record_graph(gpu, slot, gpu->captured_sizes[i],
					 &gpu->graphs[slot * gpu->num_captured_sizes + i],
					 error) < 0)
				return -1;
		}
	}
	return 0;
}

static h2d_status_t token_addresses(const struct replay_gpu *gpu, uint32_t slot,
				    const void *addresses[])
{
	h2d_token_inputs_step_t view;
	h2d_status_t status = h2d_token_inputs_view(gpu->runner, slot, &view);

	if (status != H2D_STATUS_SUCCESS)
		return status;
	addresses[VERIFY_INPUT_IDS] = view.input_ids;
	addresses[VERIFY_CU_SEQLENS_Q] = view.cu_seqlens_q;
	addresses[VERIFY_TEMPERATURES] = view.temperatures;
	addresses[VERIFY_TOP_PS] = view.top_ps;
	addresses[VERIFY_CU_NUM_DRAFT_TOKENS] = view.cu_num_draft_tokens;
	addresses[VERIFY_TARGET_LOGITS_INDICES] = view.target_logits_indices;
	addresses[VERIFY_BONUS_LOGITS_INDICES] = view.bonus_logits_indices;
	addresses[VERIFY_DRAFT_IDS] = speculation_seen_drafts(gpu->speculation, slot);
	return H2D_STATUS_SUCCESS;
}

static h2d_status_t device_addresses(const struct replay_gpu *gpu, uint32_t slot,
				     const void *addresses[])
{
	h2d_status_t status;

	memcpy(addresses, gpu->slots[slot].prefill_addresses,
	       sizeof(gpu->slots[slot].prefill_addresses));
	status = attention_addresses(&gpu->settings.attention, gpu->runner, slot, addresses);

	if (status == H2D_STATUS_SUCCESS && gpu->speculation != NULL)
		status = token_addresses(gpu, slot, addresses);
	return status;
}

/* Reads the arrays of a slot into `image`, as much of each as `extent` has in use. */
static int read_back(struct replay_gpu *gpu, uint32_t slot, const struct verify_image *extent,
		     struct verify_image *image, uint64_t *bytes, struct tool_error *error)
{
	const void *addresses[VERIFY_ARRAYS] = {0};
	h2d_status_t status = device_addresses(gpu, slot, addresses);

	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot find the arrays of a slot", status);
	for (int array = 0; array < VERIFY_ARRAYS; array++) {
		size_t size = verify_element_count(extent, array) * verify_element_size(array);

		if (size == 0)
			continue;
		status = h2d_device_read(gpu->device, image->arrays[array], addresses[array], size,
					 H2D_DEFAULT_TIMEOUT_NS);
		if (status != H2D_STATUS_SUCCESS)
			return replay_gpu_library_error(error, verify_array_name(array), status);
		*bytes += size;
	}
	return 0;
}

/* The model starts from what the device holds, so that the tails nobody writes are known too. */
static int create_images(struct replay_gpu *gpu, struct tool_error *error)
{
	const struct replay_gpu_settings *settings = &gpu->settings;
	struct verify_shape shape = {
		.max_requests = settings->max_num_seqs,
		.columns = (settings->max_model_len + settings->speculative_tokens +
			    settings->block_size - 1) /
			   settings->block_size,
		.block_size = settings->block_size,
		.page_size = settings->page_size,
		.speculative_tokens = settings->speculative_tokens,
		.prefill_tokens = settings->prefill_tokens,
	};
	uint64_t bytes = 0;
	bool created;

	attention_set_shape(&settings->attention, &shape);
	created = verify_image_create(&gpu->found, &shape);
	gpu->slots = calloc(settings->slots, sizeof(*gpu->slots));
	for (uint32_t slot = 0; created && gpu->slots != NULL && slot < settings->slots; slot++)
		created = verify_image_create(&gpu->slots[slot].expected, &shape);
	if (!created || gpu->slots == NULL) {
		tool_error_set(error, "out of memory for the CPU model");
		return -1;
	}
	for (uint32_t slot = 0; slot < settings->slots; slot++) {
		struct verify_image *image = &gpu->slots[slot].expected;

		if (read_back(gpu, slot, image, image, &bytes, error) < 0)
			return -1;
	}
	return 0;
}

struct replay_gpu *replay_gpu_create(const struct replay_gpu_settings *settings,
				     struct tool_error *error)
{
	struct replay_gpu *gpu = calloc(1, sizeof(*gpu));

	if (gpu == NULL) {
		tool_error_set(error, "out of memory");
		return NULL;
	}
	gpu->settings = *settings;
	gpu->mrope_deltas = calloc(settings->max_num_seqs, sizeof(*gpu->mrope_deltas));
	if (gpu->mrope_deltas == NULL) {
		tool_error_set(error, "out of memory");
		replay_gpu_destroy(gpu);
		return NULL;
	}
	choose_captured_sizes(gpu);
	if (open_device(gpu, error) < 0 || create_runner(gpu, error) < 0 ||
	    create_speculation(gpu, error) < 0 || create_prefill(gpu, error) < 0 ||
	    record_graphs(gpu, error) < 0 || (settings->verify && create_images(gpu, error) < 0)) {
		replay_gpu_destroy(gpu);
		return NULL;
	}
	replay_gpu_sum_totals(gpu, &gpu->set_up_totals);
	return gpu;
}

void replay_gpu_destroy(struct replay_gpu *gpu)
{
	if (gpu == NULL)
		return;
	for (uint32_t i = 0; gpu->graphs && i < gpu->settings.slots * gpu->num_captured_sizes; i++)
		h2d_graph_destroy(gpu->graphs[i]);
	free(gpu->graphs);
	h2d_runner_destroy(gpu->runner);
	speculation_destroy(gpu->speculation);
	prefill_destroy(gpu->prefill);
	h2d_stream_destroy(gpu->stream);
	h2d_device_close(gpu->device);
	for (uint32_t slot = 0; gpu->slots != NULL && slot < gpu->settings.slots; slot++)
		verify_image_destroy(&gpu->slots[slot].expected);
	free(gpu->slots);
	verify_image_destroy(&gpu->found);
	free(gpu->mrope_deltas);
	free(gpu);
}

const char *replay_gpu_device(const struct replay_gpu *gpu)
{
	return gpu->description;
}

h2d_backend_t replay_gpu_backend(const struct replay_gpu *gpu)
{
	return h2d_runner_backend(gpu->runner);
}

static h2d_graph_t *find_graph(const struct replay_gpu *gpu, uint32_t slot, uint32_t graph_requests)
{
	for (uint32_t i = 0; i < gpu->num_captured_sizes; i++) {
		if (gpu->captured_sizes[i] == graph_requests)
			return gpu->graphs[slot * gpu->num_captured_sizes + i];
	}
	return NULL;
}

/* What is beside the decode metadata, in the order in which the model reads it. */
static h2d_status_t publish_beside(struct replay_gpu *gpu, const h2d_batch_t *batch,
				   uint32_t graph_requests, h2d_publication_totals_t *before)
{
	const struct attention_settings *attention = &gpu->settings.attention;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	if (attention_splits(attention, graph_requests)) {
		status = h2d_tbo_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_TBO, before);
	}
	if (status == H2D_STATUS_SUCCESS && attention->mrope) {
		status =
			attention_prepare_mrope(gpu->runner, gpu->stream, batch, gpu->mrope_deltas);
		replay_gpu_count_group(gpu, REPLAY_MROPE, before);
	}
	if (status == H2D_STATUS_SUCCESS && attention->qsa_ratio > 0) {
		status = h2d_qsa_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_QSA, before);
		if (status == H2D_STATUS_SUCCESS)
			status = h2d_ple_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_PLE, before);
	}
	return status;
}

static h2d_status_t publish(struct replay_gpu *gpu, const h2d_batch_t *batch,
			    uint32_t *graph_requests)
{
	const struct attention_settings *attention = &gpu->settings.attention;
	h2d_publication_totals_t before;
	h2d_status_t status = H2D_STATUS_SUCCESS;

	h2d_owner_get_totals(h2d_runner_owner(gpu->runner, h2d_runner_slot(gpu->runner)), &before);
	if (gpu->speculation != NULL) {
		status = h2d_token_inputs_prepare(gpu->runner, gpu->stream, batch, NULL);
		replay_gpu_count_group(gpu, REPLAY_TOKEN_INPUTS, &before);
	}
	if (status == H2D_STATUS_SUCCESS)
		status = attention_prepare_decode(attention, gpu->runner, gpu->stream, batch,
						  graph_requests);
	replay_gpu_count_group(gpu, attention->mla ? REPLAY_MLA_DECODE : REPLAY_MHA_DECODE,
			       &before);
	if (status == H2D_STATUS_SUCCESS)
		status = publish_beside(gpu, batch, *graph_requests, &before);
	return status;
}

/* The step as the library takes it; what is not in the batch follows from it. */
static h2d_status_t describe(struct replay_gpu *gpu, const struct scheduler_batch *batch,
			     h2d_batch_t *described, struct verify_tokens *tokens)
{
	*described = (h2d_batch_t){
		.num_requests = batch->num_requests,
		.context_lengths = batch->context_lengths,
		.tables = batch->tables,
		.request_ids = batch->request_ids,
	};
	if (gpu->speculation == NULL)
		return H2D_STATUS_SUCCESS;
	return speculation_describe(gpu->speculation, gpu->stream, h2d_runner_slot(gpu->runner),
				    described, tokens);
}

static int launch(struct replay_gpu *gpu, uint32_t graph_requests, struct tool_error *error)
{
	h2d_graph_t *graph = find_graph(gpu, h2d_runner_slot(gpu->runner), graph_requests);
	h2d_status_t status;

	if (graph == NULL) {
		tool_error_set(error, "no graph was recorded for %u requests", graph_requests);
		return -1;
	}
	status = h2d_graph_launch(graph, gpu->stream);
	/* the slot is free for another step only when its consumers have run */
	if (status == H2D_STATUS_SUCCESS)
		status = h2d_runner_record(gpu->runner, gpu->stream);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot launch the graph of a step", status);
	gpu->launches++;
	gpu->dispatches += h2d_graph_dispatch_count(graph);
	return 0;
}

int replay_gpu_run_step(struct replay_gpu *gpu, const struct scheduler_batch *batch, bool measure,
			struct replay_gpu_step *step, struct tool_error *error)
{
	uint32_t graph_requests;
	h2d_batch_t described;
	struct verify_tokens tokens;
	uint64_t begun_ns;
	h2d_status_t status = h2d_runner_begin(gpu->runner, gpu->stream);

	if (status == H2D_STATUS_SUCCESS)
		status = describe(gpu, batch, &described, &tokens);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot begin a step", status);
	begun_ns = progress_now_ns();
	status = publish(gpu, &described, &graph_requests);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot publish a step", status);
	*step = (struct replay_gpu_step){
		.graph_requests = graph_requests,
		.publication_ns = progress_now_ns() - begun_ns,
	};
	status = h2d_runner_finish(gpu->runner, gpu->stream);
	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "cannot finish the preparation of a step",
						status);
	if (launch(gpu, graph_requests, error) < 0)
		return -1;
	if (measure) {
		if (replay_gpu_wait(gpu, error) < 0)
			return -1;
		step->consumer_ns = progress_now_ns() - begun_ns;
	}
	gpu->forwards++;
	if (gpu->settings.verify) {
		struct replay_slot *slot = &gpu->slots[h2d_runner_slot(gpu->runner)];

		verify_apply(&slot->expected, batch, graph_requests);
		verify_apply_attention(&slot->expected, batch, graph_requests);
		if (gpu->speculation != NULL)
			verify_apply_tokens(&slot->expected, batch, &tokens, graph_requests);
		slot->unverified = gpu->forwards;
		slot->prefill = false;
		slot->step = gpu->launches;
	}
	return 0;
}

int replay_gpu_wait(struct replay_gpu *gpu, struct tool_error *error)
{
	h2d_status_t status = h2d_stream_synchronize(gpu->stream);

	if (status != H2D_STATUS_SUCCESS)
		return replay_gpu_library_error(error, "the GPU did not finish", status);
	return 0;
}

int replay_gpu_verify(struct replay_gpu *gpu, struct replay_gpu_verdict *verdict,
		      struct tool_error *error)
{
	struct replay_slot *oldest = NULL;

	for (uint32_t i = 0; gpu->slots != NULL && i < gpu->settings.slots; i++) {
		struct replay_slot *slot = &gpu->slots[i];

		if (slot->unverified != 0 &&
		    (oldest == NULL || slot->unverified < oldest->unverified))
			oldest = slot;
	}
	if (oldest == NULL)
		return 0;
	*verdict = (struct replay_gpu_verdict){.prefill = oldest->prefill, .step = oldest->step};
	if (read_back(gpu, (uint32_t)(oldest - gpu->slots), &oldest->expected, &gpu->found,
		      &verdict->bytes, error) < 0)
		return -1;
	verify_compare(&oldest->expected, &gpu->found, &verdict->mismatch);
	oldest->unverified = 0;
	return 1;
}
