/* SPDX-License-Identifier: MIT */
/* A worker process of a replay: decodes the scheduler's messages, publishes and verifies. */
#include "config.h"

#include "worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay_session.h"
#include "worker_socket.h"
#include "worker_wire.h"

struct worker {
	uint32_t number;
	void *context, *orders, *replies;
	h2d_delta_decoder_t *decoder;
	struct replay_session session;
	struct report report;
	struct progress progress;
	uint64_t step;    /* done with */
	uint64_t skipped; /* steps that it never could decode */
	bool greeted;
	const int32_t **block_tables; /* of a batch, [max_num_seqs] */
	uint32_t *block_table_lengths;
	uint32_t max_requests;
};

static int reply(struct worker *worker, enum worker_reply_kind kind, uint64_t step,
		 struct tool_error *error)
{
	const struct worker_reply message = {.kind = kind, .worker = worker->number, .step = step};
	const struct worker_frame frame = {&message, sizeof(message)};

	return worker_socket_send(worker->replies, &frame, 1, error);
}

/* Publishes the step. The CPU model reads ids, the GPU side only rows. */
static int run_batch(struct worker *worker, const struct worker_order *order,
		     const int32_t *context_lengths, const h2d_decoded_batch_t *decoded,
		     struct tool_error *error)
{
	const struct scheduler_batch batch = {
		.num_requests = decoded->count,
		.request_ids = decoded->request_ids,
		.context_lengths = context_lengths,
		.tables = decoded->tables,
		.block_tables = worker->block_tables,
		.block_table_lengths = worker->block_table_lengths,
	};

	if (decoded->count != order->num_requests || decoded->count > worker->max_requests) {
		tool_error_set(error, "step %" PRIu64 ": block tables of %u requests instead of %u",
			       order->step, decoded->count, order->num_requests);
		return -1;
	}
	for (uint32_t i = 0; i < decoded->count; i++) {
		worker->block_tables[i] = h2d_block_table_ids(decoded->tables[i]);
		worker->block_table_lengths[i] = h2d_block_table_length(decoded->tables[i]);
	}
	if (replay_session_step(&worker->session, &batch, error) < 0)
		return -1;
	worker->skipped += order->step - worker->step - 1;
	worker->step = order->step;
	return 0;
}

static int handle_step(struct worker *worker, const struct worker_order *order,
		       struct worker_message *message, struct tool_error *error)
{
	const int32_t *context_lengths = worker_message_frame(
		message, 1, order->num_requests * sizeof(*context_lengths));
	h2d_decoded_batch_t decoded;
	h2d_status_t status;

	if (context_lengths == NULL || message->count != 3) {
		tool_error_set(error, "step %" PRIu64 ": a frame is missing", order->step);
		return -1;
	}
	status = h2d_delta_decoder_decode(worker->decoder, zmq_msg_data(&message->frames[2]),
					  zmq_msg_size(&message->frames[2]), &decoded);
	if (status == H2D_STATUS_NOT_FOUND)
		return reply(worker, WORKER_WHOLE, order->step, error);
	if (status != H2D_STATUS_SUCCESS) {
		tool_error_set(error, "step %" PRIu64 ": %s", order->step, h2d_error_message());
		return -1;
	}
	/* Whole tables that another worker asked for may be of a step that is done here. */
	if (order->step > worker->step &&
	    run_batch(worker, order, context_lengths, &decoded, error) < 0)
		return -1;
	return reply(worker, WORKER_DONE, worker->step, error);
}

static int send_result(struct worker *worker, struct tool_error *error)
{
	struct report *report = &worker->report;
	const struct worker_reply header = {.kind = WORKER_RESULT, .worker = worker->number};
	struct worker_result result;

	if (replay_session_finish(&worker->session, error) < 0)
		return -1;
	result = (struct worker_result){
		.skipped_steps = worker->skipped,
		.verified_steps = report->verified_steps,
		.verified_bytes = report->verified_bytes,
		.mismatched_steps = report->mismatched_steps,
		.mismatched_elements = report->mismatched_elements,
		.publications = report->publications,
		.dma_copies = report->dma_copies,
		.publication_dispatches = report->publication_dispatches,
		.barrier_packets = report->barrier_packets,
		.bytes = report->bytes,
		.packed_bytes = report->packed_bytes,
		.graph_launches = report->graph_launches,
		.consumer_dispatches = report->consumer_dispatches,
		.tables = report->tables,
		.backend = replay_gpu_backend(worker->session.gpu),
	};
	memcpy(result.groups, report->groups, sizeof(result.groups));
	snprintf(result.device, sizeof(result.device), "%s", replay_gpu_device(worker->session.gpu));
	return worker_socket_send(worker->replies,
				  (const struct worker_frame[]){
					  {&header, sizeof(header)},
					  {&result, sizeof(result)},
					  {report->publication_ns.values,
					   report->publication_ns.count * sizeof(uint64_t)},
					  {report->consumer_ns.values,
					   report->consumer_ns.count * sizeof(uint64_t)},
				  },
				  4, error);
}

/* 1: go on, 0: the end, -1: an error. */
static int handle(struct worker *worker, struct worker_message *message, struct tool_error *error)
{
	const struct worker_order *order = worker_message_frame(message, 0, sizeof(*order));

	if (order == NULL) {
		tool_error_set(error, "the scheduler sent something else than an order");
		return -1;
	}
	if (!worker->greeted && reply(worker, WORKER_HELLO, 0, error) < 0)
		return -1;
	worker->greeted = true;
	switch (order->kind) {
	case WORKER_STEP:
		return handle_step(worker, order, message, error) < 0 ? -1 : 1;
	case WORKER_END:
		worker->skipped += order->step - worker->step;
		return send_result(worker, error) < 0 ? -1 : 0;
	default:
		/* Orders keep their order, so the step's message would have come before. */
		if (order->step > worker->step && reply(worker, WORKER_WHOLE, order->step, error) < 0)
			return -1;
		return 1;
	}
}

static int serve(struct worker *worker, struct tool_error *error)
{
	uint64_t heard_ns = progress_now_ns();
	struct worker_message message;
	int status;

	do {
		status = worker_socket_receive(worker->orders, WORKER_TIMEOUT_MS, &message, error);
		if (status > 0) {
			heard_ns = progress_now_ns();
			status = handle(worker, &message, error);
			worker_message_close(&message);
		} else if (status == 0) {
			/* A signal or a lost message may end a wait before its time. */
			if (progress_now_ns() - heard_ns > WORKER_TIMEOUT_MS * UINT64_C(1000000)) {
				tool_error_set(error, "the scheduler has said nothing for %d s",
					       WORKER_TIMEOUT_MS / 1000);
				return -1;
			}
			status = 1;
		}
	} while (status > 0);
	return status;
}

static int open_worker(struct worker *worker, const char *name,
		       const struct replay_gpu_settings *settings, struct tool_error *error)
{
	char address[WORKER_ADDRESS_SIZE];

	worker->max_requests = settings->max_num_seqs;
	worker->block_tables = calloc(settings->max_num_seqs, sizeof(*worker->block_tables));
	worker->block_table_lengths =
		calloc(settings->max_num_seqs, sizeof(*worker->block_table_lengths));
	worker->context = zmq_ctx_new();
	if (worker->block_tables == NULL || worker->block_table_lengths == NULL ||
	    worker->context == NULL ||
	    h2d_delta_decoder_create(&worker->decoder) != H2D_STATUS_SUCCESS) {
		tool_error_set(error, "out of memory for a worker");
		return -1;
	}
	worker_address(address, name, "replies");
	worker->replies = worker_socket_open(worker->context, ZMQ_DEALER, false, address, error);
	if (worker->replies == NULL)
		return -1;
	worker->session.gpu = replay_gpu_create(settings, error);
	if (worker->session.gpu == NULL)
		return -1;
	worker_address(address, name, "orders");
	worker->orders = worker_socket_open(worker->context, ZMQ_SUB, false, address, error);
	return worker->orders == NULL ? -1 : 0;
}

static void close_worker(struct worker *worker)
{
	replay_gpu_destroy(worker->session.gpu);
	h2d_delta_decoder_destroy(worker->decoder);
	if (worker->orders != NULL)
		zmq_close(worker->orders);
	if (worker->replies != NULL)
		zmq_close(worker->replies);
	if (worker->context != NULL)
		zmq_ctx_term(worker->context);
	free(worker->block_tables);
	free(worker->block_table_lengths);
	report_free(&worker->report);
}

static void send_failure(struct worker *worker, const struct tool_error *failure)
{
	const struct worker_reply header = {.kind = WORKER_FAILED, .worker = worker->number};
	struct tool_error ignored;

	if (worker->replies != NULL)
		worker_socket_send(worker->replies,
				   (const struct worker_frame[]){
					   {&header, sizeof(header)},
					   {failure->text, strlen(failure->text)},
				   },
				   2, &ignored);
}

int worker_run(uint32_t number, const char *name, const struct replay_gpu_settings *settings)
{
	struct worker worker = {.number = number};
	struct tool_error error;
	int status;

	worker.report.slots = settings->slots;
	worker.report.verified = settings->verify;
	worker.session.report = &worker.report;
	worker.session.progress = &worker.progress;
	status = open_worker(&worker, name, settings, &error);
	if (status == 0)
		status = serve(&worker, &error);
	if (status < 0)
		send_failure(&worker, &error);
	close_worker(&worker);
	return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
