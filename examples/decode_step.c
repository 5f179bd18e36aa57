/* SPDX-License-Identifier: MIT */
/*
 * Decode steps of a small server: a runner prepares and publishes the metadata of each batch, and a
 * graph that was recorded once reads it.
 *
 * Build: cc decode_step.c $(pkg-config --cflags --libs h2dpub)
 */
#include <stdio.h>
#include <stdlib.h>

#include <h2dpub/h2dpub.h>

enum { GRAPH_REQUESTS = 4, PAGES_PER_REQUEST = 4 };

static const uint32_t captured_batch_sizes[] = {GRAPH_REQUESTS};

static void check(h2d_status_t status)
{
	if (status == H2D_STATUS_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", h2d_status_string(status), h2d_error_message());
	exit(EXIT_FAILURE);
}

/* Real graphs go on with attention; here the list of KV pages is all that is computed. */
static h2d_graph_t *record_graph(h2d_runner_t *runner, h2d_stream_t *stream)
{
	h2d_graph_t *graph;

	check(h2d_graph_begin_capture(stream));
	check(h2d_mha_decode_enqueue_kv_indices(runner, stream, 0, GRAPH_REQUESTS));
	check(h2d_graph_end_capture(stream, &graph));
	return graph;
}

static void print_kv_pages(h2d_device_t *device, const h2d_mha_decode_step_t *step)
{
	int32_t kv_indptr[GRAPH_REQUESTS + 1];
	int32_t kv_indices[GRAPH_REQUESTS * PAGES_PER_REQUEST];

	check(h2d_device_read(device, kv_indptr, step->kv_indptr, sizeof(kv_indptr),
			      H2D_DEFAULT_TIMEOUT_NS));
	check(h2d_device_read(device, kv_indices, step->kv_indices, sizeof(kv_indices),
			      H2D_DEFAULT_TIMEOUT_NS));
	printf("%u requests in a graph of %u\n", step->num_requests, step->graph_requests);
	for (uint32_t request = 0; request < step->graph_requests; request++) {
		printf("request %u: pages", request);
		for (int32_t i = kv_indptr[request]; i < kv_indptr[request + 1]; i++)
			printf(" %d", kv_indices[i]);
		printf("\n");
	}
}

int main(void)
{
	const h2d_runner_options_t options = {
		.slots = 1,
		.max_requests = GRAPH_REQUESTS,
		.query_length = 1,
		.block_size = 16,
		.max_model_length = 16 * PAGES_PER_REQUEST,
		.num_pages = 100,
		.captured_batch_sizes = captured_batch_sizes,
		.num_captured_batch_sizes = 1,
		.omit_end_fence = true, /* the first consumer is a graph, which acquires itself */
	};
	/* Request 0 crosses into its third page in the second step. */
	const int32_t block_table_0[] = {7, 3, 9};
	const int32_t block_table_1[] = {4};
	const int32_t *const block_tables[] = {block_table_0, block_table_1};
	const uint32_t block_table_lengths[] = {3, 1};
	int32_t context_lengths[] = {32, 5};
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_runner_t *runner;
	h2d_graph_t *graph;

	check(h2d_device_open(0, &device));
	check(h2d_stream_create(device, NULL, &stream));
	check(h2d_runner_create(device, &options, &runner));
	graph = record_graph(runner, stream);

	for (int i = 0; i < 2; i++) {
		const h2d_batch_t batch = {
			.num_requests = 2,
			.context_lengths = context_lengths,
			.block_tables = block_tables,
			.block_table_lengths = block_table_lengths,
		};
		h2d_mha_decode_step_t step;

		check(h2d_runner_begin(runner, stream));
		check(h2d_mha_decode_prepare(runner, stream, &batch, &step));
		check(h2d_runner_finish(runner, stream));
		check(h2d_graph_launch(graph, stream));
		check(h2d_runner_record(runner, stream));

		check(h2d_stream_synchronize(stream));
		print_kv_pages(device, &step);
		context_lengths[0]++;
		context_lengths[1]++;
	}

	check(h2d_graph_destroy(graph));
	check(h2d_runner_destroy(runner));
	check(h2d_stream_destroy(stream));
	check(h2d_device_close(device));
	return EXIT_SUCCESS;
}
