/* SPDX-License-Identifier: MIT */
/*
 * A scheduler process sends each step's block tables to two worker processes as delta messages over
 * ZeroMQ; each worker publishes them to its own GPU. The second worker joins late: it cannot decode
 * its first message, says so, and gets whole tables.
 *
 * Build: cc scheduler_workers.c $(pkg-config --cflags --libs h2dpub libzmq)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <h2dpub/h2dpub.h>
#include <zmq.h>

enum { WORKERS = 2, ROWS = 2, COLUMNS = 2048, STEPS = 3, LATE_STEP = 2, TIMEOUT_MS = 20000 };
enum { PAGES = 1500, PAGE_LIMIT = 2000 };

static const char needs_whole_tables[] = "needs whole tables";

static void require(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s: %s\n", what, h2d_error_message());
	exit(EXIT_FAILURE);
}

#define check(call) require((call) == H2D_STATUS_SUCCESS, #call)

static void *open_socket(void *context, const char *directory, int worker, int bind)
{
	const int timeout = TIMEOUT_MS, linger = 1000;
	void *socket = zmq_socket(context, ZMQ_PAIR);
	char address[256];

	snprintf(address, sizeof(address), "ipc://%s/%d", directory, worker);
	require(socket && !zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof(timeout)) &&
			!zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout, sizeof(timeout)) &&
			!zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger)) &&
			!(bind ? zmq_bind : zmq_connect)(socket, address),
		address);
	return socket;
}

/* A message of any size, to be closed in any case; its size, or negative if none has come. */
static int receive(void *socket, zmq_msg_t *message)
{
	zmq_msg_init(message);
	return zmq_msg_recv(message, socket, 0);
}

/* ---- a worker -------------------------------------------------------------------------------- */

struct worker {
	h2d_device_t *device;
	h2d_stream_t *stream;
	h2d_owner_t *owner;
	h2d_buffer_t *buffer;
	h2d_published_table_t *table;
	h2d_delta_decoder_t *decoder;
};

static void open_worker(struct worker *worker)
{
	const h2d_buffer_description_t description = {
		.name = "block_tables",
		.element_size = sizeof(int32_t),
		.dimensions = 2,
		.shape = {ROWS, COLUMNS},
		.unit = H2D_COUNT_ROWS,
	};

	check(h2d_device_open(0, &worker->device));
	check(h2d_stream_create(worker->device, NULL, &worker->stream));
	check(h2d_owner_create(worker->device, NULL, NULL, &worker->owner));
	check(h2d_buffer_allocate(worker->owner, &description, &worker->buffer));
	check(h2d_owner_select_transports(worker->owner));
	check(h2d_published_table_create(worker->buffer, &worker->table));
	check(h2d_delta_decoder_create(&worker->decoder));
}

static void close_worker(struct worker *worker)
{
	h2d_delta_decoder_destroy(worker->decoder);
	h2d_published_table_destroy(worker->table);
	check(h2d_owner_destroy(worker->owner));
	check(h2d_stream_destroy(worker->stream));
	check(h2d_device_close(worker->device));
}

/* Only what has changed is written to the host array; nothing is sent if nothing has. */
static bool publish(struct worker *worker, const h2d_decoded_batch_t *batch)
{
	const h2d_table_rows_t rows = {.count = batch->count, .tables = batch->tables};
	const h2d_table_options_t options = {.pad_to = ROWS, .page_limit = PAGE_LIMIT};
	bool uploaded;

	check(h2d_owner_begin(worker->owner, worker->stream));
	check(h2d_published_table_prepare(worker->table, worker->stream, &rows, &options));
	check(h2d_published_table_publish(worker->table, worker->stream, ROWS, NULL, NULL, &uploaded));
	check(h2d_owner_finish(worker->owner, worker->stream));
	check(h2d_stream_synchronize(worker->stream));
	return uploaded;
}

/* What the GPU holds now, to be freed: the ids of each row before the zeros. */
static char *describe(const struct worker *worker, bool uploaded)
{
	int32_t landed[ROWS][COLUMNS];
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	require(stream != NULL, "open_memstream");
	check(h2d_device_read(worker->device, landed, h2d_buffer_device(worker->buffer),
			      sizeof(landed), H2D_DEFAULT_TIMEOUT_NS));
	fprintf(stream, "%s", uploaded ? "published" : "unchanged");
	for (int row = 0; row < ROWS; row++) {
		int count = 0;

		while (count < COLUMNS && landed[row][count])
			count++;
		fprintf(stream, "%s %d pages, the last one %d", row ? "," : ":", count,
			count ? landed[row][count - 1] : 0);
	}
	require(fclose(stream) == 0, "fclose");
	return text;
}

/* Publishes what a message holds and answers; true: it was the end. */
static bool serve(struct worker *worker, void *socket, zmq_msg_t *message)
{
	h2d_decoded_batch_t batch;
	h2d_status_t status;
	char *text;

	if (zmq_msg_size(message) == 0)
		return true;
	status = h2d_delta_decoder_decode(worker->decoder, zmq_msg_data(message),
					  zmq_msg_size(message), &batch);
	require(status == H2D_STATUS_SUCCESS || status == H2D_STATUS_NOT_FOUND, "decode");
	text = status == H2D_STATUS_NOT_FOUND ? strdup(needs_whole_tables)
					      : describe(worker, publish(worker, &batch));
	require(text && zmq_send(socket, text, strlen(text), 0) > 0, "send");
	free(text);
	return false;
}

static int run_worker(const char *directory, int number)
{
	void *context = zmq_ctx_new();
	void *socket = open_socket(context, directory, number, 0);
	struct worker worker;
	bool end;

	open_worker(&worker);
	do {
		zmq_msg_t message;

		require(receive(socket, &message) >= 0, "receive");
		end = serve(&worker, socket, &message);
		zmq_msg_close(&message);
	} while (!end);
	close_worker(&worker);
	zmq_close(socket);
	zmq_ctx_term(context);
	return EXIT_SUCCESS;
}

/* ---- the scheduler --------------------------------------------------------------------------- */

/* Sends one message to the workers and prints their answers; true if one needs whole tables. */
static bool send_step(h2d_delta_encoder_t *encoder, h2d_block_table_t *const rows[], void *sockets[],
		      int workers, int step)
{
	static const uint64_t request_ids[ROWS] = {7, 8};
	bool whole = false;
	const void *bytes;
	size_t size;

	check(h2d_delta_encoder_encode(encoder, ROWS, request_ids,
				       (const h2d_block_table_t *const *)rows, &bytes, &size));
	printf("step %d: %zu bytes\n", step, size);
	for (int i = 0; i < workers; i++) {
		zmq_msg_t reply;
		const char *text;
		int length;

		require(zmq_send(sockets[i], bytes, size, 0) > 0, "send");
		length = receive(sockets[i], &reply);
		require(length > 0, "receive");
		text = zmq_msg_data(&reply);
		printf("worker %d %.*s\n", i, length, text);
		whole = whole || ((size_t)length == strlen(needs_whole_tables) &&
				  memcmp(text, needs_whole_tables, (size_t)length) == 0);
		zmq_msg_close(&reply);
	}
	return whole;
}

static void schedule(void *sockets[])
{
	h2d_delta_encoder_t *encoder;
	h2d_block_table_t *rows[ROWS];
	int32_t pages[PAGES];
	uint64_t channel;

	for (int i = 0; i < PAGES; i++)
		pages[i] = 10 + i;
	/* A number that no other scheduler uses, so that a restarted one is noticed. */
	require(getrandom(&channel, sizeof(channel), 0) == sizeof(channel), "getrandom");
	check(h2d_delta_encoder_create(channel, &encoder));
	check(h2d_block_table_create(pages, PAGES, &rows[0]));
	check(h2d_block_table_create((const int32_t[]){4, 6}, 2, &rows[1]));
	for (int step = 1; step <= STEPS; step++) {
		int workers = step < LATE_STEP ? 1 : WORKERS;

		if (step == LATE_STEP)
			check(h2d_block_table_append(rows[0], 9));
		if (send_step(encoder, rows, sockets, workers, step)) {
			h2d_delta_encoder_request_whole(encoder);
			send_step(encoder, rows, sockets, workers, step);
		}
	}
	for (int i = 0; i < ROWS; i++)
		h2d_block_table_release(rows[i]);
	h2d_delta_encoder_destroy(encoder);
}

int main(void)
{
	char directory[] = "/tmp/h2dpub-example-XXXXXX", path[64];
	pid_t processes[WORKERS];
	void *context, *sockets[WORKERS];
	int failures = 0;

	require(mkdtemp(directory) != NULL, "mkdtemp");
	/* Before any GPU or socket is opened: those do not survive a fork. */
	for (int i = 0; i < WORKERS; i++) {
		processes[i] = fork();
		if (processes[i] == 0)
			_exit(run_worker(directory, i));
		require(processes[i] > 0, "fork");
	}
	context = zmq_ctx_new();
	for (int i = 0; i < WORKERS; i++)
		sockets[i] = open_socket(context, directory, i, 1);
	schedule(sockets);
	for (int i = 0; i < WORKERS; i++) {
		int status;

		/* An empty message is the end. */
		zmq_send(sockets[i], "", 0, 0);
		waitpid(processes[i], &status, 0);
		failures += status != 0;
		zmq_close(sockets[i]);
		snprintf(path, sizeof(path), "%s/%d", directory, i);
		unlink(path);
	}
	zmq_ctx_term(context);
	rmdir(directory);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
