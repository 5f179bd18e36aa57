/* SPDX-License-Identifier: MIT */
/* The scheduler's side of a replay with workers: broadcast, flow control, recovery, figures. */
#include "config.h"

#include "workers.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "worker.h"
#include "worker_socket.h"
#include "worker_wire.h"

/* While it waits, the scheduler says so many times a second that it is there. */
#define PING_MS 50

/* A late worker must have joined so many steps after its start. */
#define JOIN_STEPS 50

struct member {
	pid_t process; /* 0: none, or it has ended */
	int start;     /* a byte written here starts a late worker; -1: none */
	bool joined;
	bool has_result;
	uint64_t done; /* with all steps up to this one */
};

struct workers {
	struct workers_settings settings;
	char name[64]; /* of this run, in the addresses of its sockets */
	void *context, *orders, *replies;
	h2d_delta_encoder_t *encoder;
	struct member *members;
	bool late_started;
	bool whole_requested;
	struct replay_messages messages;
	struct worker_order order; /* of the step under way */
	const struct scheduler_batch *batch;
	struct report *report; /* that results are added to */
	char device[160];
};

/* ---- processes ------------------------------------------------------------------------------- */

/*
 * A late worker waits for its byte; the end of the scheduler ends it. Workers that share contexts
 * are of one rank after the other.
 */
static void run_member(const struct workers *workers, uint32_t number, int start)
{
	struct replay_gpu_settings settings = workers->settings.gpu;
	struct attention_settings *attention = &settings.attention;
	char byte;

	attention->dcp_rank = (attention->dcp_rank + number) % attention->dcp_size;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (start >= 0 && read(start, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	_exit(worker_run(number, workers->name, &settings));
}

static int start_member(struct workers *workers, uint32_t number, bool late,
			struct tool_error *error)
{
	struct member *member = &workers->members[number];
	int pipe_ends[2] = {-1, -1};

	if (late && pipe(pipe_ends) < 0) {
		tool_error_set(error, "cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	member->process = fork();
	if (member->process == 0) {
		close(pipe_ends[1]);
		run_member(workers, number, pipe_ends[0]);
	}
	close(pipe_ends[0]);
	member->start = pipe_ends[1];
	if (member->process > 0)
		return 0;
	member->process = 0;
	tool_error_set(error, "cannot start worker %u: %s", number, strerror(errno));
	return -1;
}

/* Random numbers that no other run has met: the channel of block tables, and the run's name. */
static int draw_names(struct workers *workers, struct tool_error *error)
{
	uint64_t drawn[2];

	if (getrandom(drawn, sizeof(drawn), 0) != sizeof(drawn)) {
		tool_error_set(error, "cannot draw a random number: %s", strerror(errno));
		return -1;
	}
	snprintf(workers->name, sizeof(workers->name), "h2dpub-%ld-%016" PRIx64, (long)getpid(),
		 drawn[0]);
	if (h2d_delta_encoder_create(drawn[1], &workers->encoder) == H2D_STATUS_SUCCESS)
		return 0;
	tool_error_set(error, "cannot make the encoder of block tables");
	return -1;
}

/* Processes first: they must not inherit sockets. */
static int open_workers(struct workers *workers, struct tool_error *error)
{
	const struct workers_settings *settings = &workers->settings;
	char address[WORKER_ADDRESS_SIZE];

	if (draw_names(workers, error) < 0)
		return -1;
	for (uint32_t i = 0; i < settings->count; i++) {
		bool late = settings->late_step != 0 && i + 1 == settings->count;

		if (start_member(workers, i, late, error) < 0)
			return -1;
	}
	workers->context = zmq_ctx_new();
	worker_address(address, workers->name, "replies");
	workers->replies = worker_socket_open(workers->context, ZMQ_ROUTER, true, address, error);
	if (workers->replies == NULL)
		return -1;
	worker_address(address, workers->name, "orders");
	workers->orders = worker_socket_open(workers->context, ZMQ_PUB, true, address, error);
	return workers->orders == NULL ? -1 : 0;
}

/* One that has sent its figures ends by itself within two seconds. */
static void end_process(struct member *member)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; member->process != 0 && member->has_result && i < 200; i++) {
		if (waitpid(member->process, NULL, WNOHANG) != 0)
			member->process = 0;
		else
			nanosleep(&pause, NULL);
	}
	if (member->process != 0) {
		kill(member->process, SIGKILL);
		waitpid(member->process, NULL, 0);
	}
	member->process = 0;
}

void workers_destroy(struct workers *workers)
{
	if (workers == NULL)
		return;
	for (uint32_t i = 0; i < workers->settings.count; i++) {
		struct member *member = &workers->members[i];

		if (member->start >= 0)
			close(member->start);
		end_process(member);
	}
	if (workers->orders != NULL)
		zmq_close(workers->orders);
	if (workers->replies != NULL)
		zmq_close(workers->replies);
	if (workers->context != NULL)
		zmq_ctx_term(workers->context);
	h2d_delta_encoder_destroy(workers->encoder);
	free(workers->members);
	free(workers);
}

/* ---- what workers say ------------------------------------------------------------------------ */

static int add_samples(struct samples *samples, struct worker_message *message, int frame,
		       struct tool_error *error)
{
	const uint8_t *bytes = zmq_msg_data(&message->frames[frame]);
	size_t size = zmq_msg_size(&message->frames[frame]);

	for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
		uint64_t value;

		memcpy(&value, bytes + i, sizeof(value));
		if (samples_add(samples, value) < 0) {
			tool_error_set(error, "out of memory for the statistics");
			return -1;
		}
	}
	return 0;
}

static int add_result(struct workers *workers, struct worker_message *message,
		      struct tool_error *error)
{
	struct report *report = workers->report;
	const struct worker_result *frame = worker_message_frame(message, 2, sizeof(*frame));
	struct worker_result result;

	if (frame == NULL || message->count != 5 || report == NULL) {
		tool_error_set(error, "a worker sent something else than its figures");
		return -1;
	}
	memcpy(&result, frame, sizeof(result));
	workers->messages.skipped_steps += result.skipped_steps;
	report->verified_steps += result.verified_steps;
	report->verified_bytes += result.verified_bytes;
	report->mismatched_steps += result.mismatched_steps;
	report->mismatched_elements += result.mismatched_elements;
	report->publications += result.publications;
	report->dma_copies += result.dma_copies;
	report->publication_dispatches += result.publication_dispatches;
	report->barrier_packets += result.barrier_packets;
	report->bytes += result.bytes;
	report->packed_bytes += result.packed_bytes;
	report->graph_launches += result.graph_launches;
	report->consumer_dispatches += result.consumer_dispatches;
	for (int i = 0; i < REPLAY_GROUPS; i++) {
		report->groups[i].steps += result.groups[i].steps;
		report->groups[i].dma_copies += result.groups[i].dma_copies;
		report->groups[i].dispatches += result.groups[i].dispatches;
		report->groups[i].bytes += result.groups[i].bytes;
	}
	report->tables.prepared += result.tables.prepared;
	report->tables.hits += result.tables.hits;
	report->tables.rows_appended += result.tables.rows_appended;
	report->tables.rows_written += result.tables.rows_written;
	report->tables.ids_written += result.tables.ids_written;
	report->tables.uploads_omitted += result.tables.uploads_omitted;
	report->tables.bytes_omitted += result.tables.bytes_omitted;
	report->backend = h2d_backend_name((h2d_backend_t)result.backend);
	memcpy(workers->device, result.device, sizeof(workers->device));
	workers->device[sizeof(workers->device) - 1] = '\0';
	report->device = workers->device;
	if (add_samples(&report->publication_ns, message, 3, error) < 0)
		return -1;
	return add_samples(&report->consumer_ns, message, 4, error);
}

static int handle(struct workers *workers, struct worker_message *message, struct tool_error *error)
{
	/* frame 0 is what the router names the worker */
	const struct worker_reply *reply = worker_message_frame(message, 1, sizeof(*reply));
	struct member *member;

	if (reply == NULL || reply->worker >= workers->settings.count) {
		tool_error_set(error, "a worker sent something else than a reply");
		return -1;
	}
	member = &workers->members[reply->worker];
	switch (reply->kind) {
	case WORKER_HELLO:
		member->joined = true;
		return 0;
	case WORKER_DONE:
		if (reply->step > member->done)
			member->done = reply->step;
		return 0;
	case WORKER_WHOLE:
		workers->whole_requested = true;
		workers->messages.whole_requests++;
		return 0;
	case WORKER_RESULT:
		if (member->has_result)
			return 0;
		member->has_result = true;
		return add_result(workers, message, error);
	default:
		tool_error_set(error, "worker %u: %.*s", reply->worker,
			       message->count > 2 ? (int)zmq_msg_size(&message->frames[2]) : 0,
			       message->count > 2 ? (const char *)zmq_msg_data(&message->frames[2])
						  : "");
		return -1;
	}
}

/*
 * A worker that fails sends no figures any more. One that has ended well has sent them, and they
 * may still be on their way: await() bounds how long.
 */
static int check_processes(struct workers *workers, struct tool_error *error)
{
	for (uint32_t i = 0; i < workers->settings.count; i++) {
		struct member *member = &workers->members[i];
		int status;

		if (member->process == 0 || waitpid(member->process, &status, WNOHANG) <= 0)
			continue;
		member->process = 0;
		if (member->has_result || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
			continue;
		tool_error_set(error, "worker %u has ended with %s %d", i,
			       WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		return -1;
	}
	return 0;
}

/* Handles all that comes within this time. 1: something came, 0: nothing, -1: an error. */
static int hear(struct workers *workers, long timeout_ms, struct tool_error *error)
{
	struct worker_message message;
	int heard = 0, status;

	while ((status = worker_socket_receive(workers->replies, timeout_ms, &message, error)) > 0) {
		status = handle(workers, &message, error);
		worker_message_close(&message);
		if (status < 0)
			return -1;
		heard = 1;
		timeout_ms = 0;
	}
	if (status < 0 || (!heard && check_processes(workers, error) < 0))
		return -1;
	return heard;
}

/* ---- what the scheduler says ----------------------------------------------------------------- */

static int broadcast(struct workers *workers, enum worker_order_kind kind, struct tool_error *error)
{
	const struct worker_order order = {.kind = kind, .step = workers->order.step};
	const struct worker_frame frame = {&order, sizeof(order)};

	return worker_socket_send(workers->orders, &frame, 1, error);
}

/* Sends the step under way: what its tables have more than those sent last, or whole ones. */
static int broadcast_step(struct workers *workers, struct tool_error *error)
{
	const struct scheduler_batch *batch = workers->batch;
	struct replay_messages *messages = &workers->messages;
	const void *bytes;
	size_t size;

	if (workers->whole_requested)
		h2d_delta_encoder_request_whole(workers->encoder);
	if (h2d_delta_encoder_encode(workers->encoder, batch->num_requests, batch->request_ids,
				     batch->tables, &bytes, &size) != H2D_STATUS_SUCCESS) {
		tool_error_set(error, "cannot encode block tables: %s", h2d_error_message());
		return -1;
	}
	messages->messages++;
	messages->whole_messages += workers->whole_requested || messages->messages == 1;
	messages->bytes += size;
	for (uint32_t i = 0; i < batch->num_requests; i++)
		messages->whole_bytes += batch->block_table_lengths[i] * sizeof(int32_t);
	workers->whole_requested = false;
	return worker_socket_send(workers->orders,
				  (const struct worker_frame[]){
					  {&workers->order, sizeof(workers->order)},
					  {batch->context_lengths,
					   batch->num_requests * sizeof(int32_t)},
					  {bytes, size},
				  },
				  3, error);
}

enum awaited { JOINED, DONE, RESULTS };

static bool is_late(const struct workers *workers, uint32_t number)
{
	return workers->settings.late_step != 0 && number + 1 == workers->settings.count;
}

static bool has_come(const struct workers *workers, enum awaited awaited, uint64_t step)
{
	for (uint32_t i = 0; i < workers->settings.count; i++) {
		const struct member *member = &workers->members[i];

		if (awaited == RESULTS && !member->has_result)
			return false;
		if (awaited == JOINED && !member->joined &&
		    (!is_late(workers, i) || step > workers->settings.late_step))
			return false;
		if (awaited == DONE && member->joined && member->done < step)
			return false;
	}
	return true;
}

/*
 * Waits until that has come. Whoever asks for whole tables meanwhile gets those of the step under
 * way, and whoever has lost its message learns of it by a ping.
 */
static int await(struct workers *workers, enum awaited awaited, uint64_t step,
		 struct tool_error *error)
{
	uint64_t heard_ns = progress_now_ns();

	while (!has_come(workers, awaited, step)) {
		int status = hear(workers, PING_MS, error);

		if (status > 0)
			heard_ns = progress_now_ns();
		if (status >= 0 && workers->whole_requested && workers->batch != NULL)
			status = broadcast_step(workers, error);
		else if (status == 0)
			status = broadcast(workers, awaited == RESULTS ? WORKER_END : WORKER_PING,
					   error);
		if (status < 0)
			return -1;
		if (progress_now_ns() - heard_ns > WORKER_TIMEOUT_MS * UINT64_C(1000000)) {
			tool_error_set(error, "no worker has said anything for %d s",
				       WORKER_TIMEOUT_MS / 1000);
			return -1;
		}
	}
	return 0;
}

/* ---- the calls ------------------------------------------------------------------------------- */

struct workers *workers_start(const struct workers_settings *settings, struct tool_error *error)
{
	struct workers *workers = calloc(1, sizeof(*workers));

	if (workers != NULL)
		workers->members = calloc(settings->count, sizeof(*workers->members));
	if (workers == NULL || workers->members == NULL) {
		free(workers);
		tool_error_set(error, "out of memory for the workers");
		return NULL;
	}
	workers->settings = *settings;
	workers->messages.workers = settings->count;
	for (uint32_t i = 0; i < settings->count; i++)
		workers->members[i].start = -1;
	if (open_workers(workers, error) < 0 || await(workers, JOINED, 0, error) < 0) {
		workers_destroy(workers);
		return NULL;
	}
	return workers;
}

static int start_late_member(struct workers *workers, struct tool_error *error)
{
	struct member *member = &workers->members[workers->settings.count - 1];

	workers->late_started = true;
	if (write(member->start, "", 1) == 1)
		return 0;
	tool_error_set(error, "cannot start the late worker: %s", strerror(errno));
	return -1;
}

int workers_step(struct workers *workers, const struct scheduler_batch *batch, uint64_t step,
		 struct tool_error *error)
{
	uint64_t slots = workers->settings.gpu.slots, late_step = workers->settings.late_step;
	int status;

	workers->batch = batch;
	workers->order = (struct worker_order){
		.kind = WORKER_STEP, .num_requests = batch->num_requests, .step = step};
	status = broadcast_step(workers, error);
	if (status == 0 && late_step != 0 && step == late_step)
		status = start_late_member(workers, error);
	if (status == 0 && late_step != 0 && step == late_step + JOIN_STEPS)
		status = await(workers, JOINED, step, error);
	if (status == 0)
		status = hear(workers, 0, error);
	if (status >= 0)
		status = await(workers, DONE, step > slots ? step - slots : 0, error);
	return status < 0 ? -1 : 0;
}

int workers_finish(struct workers *workers, struct report *report, struct tool_error *error)
{
	int status;

	workers->report = report;
	workers->batch = NULL;
	status = broadcast(workers, WORKER_END, error);
	if (status == 0 && workers->settings.late_step != 0 && !workers->late_started)
		status = start_late_member(workers, error);
	if (status == 0)
		status = await(workers, RESULTS, 0, error);
	report->messages = workers->messages;
	return status;
}
