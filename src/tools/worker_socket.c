/* SPDX-License-Identifier: MIT */
/* ZeroMQ sockets of the replay: messages of several frames, bounded waits, errors with a text. */
#include "config.h"

#include "worker_socket.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker_wire.h"

static int socket_error(struct tool_error *error, const char *what)
{
	tool_error_set(error, "%s: %s", what, zmq_strerror(zmq_errno()));
	return -1;
}

void worker_address(char address[WORKER_ADDRESS_SIZE], const char *run, const char *socket)
{
	snprintf(address, WORKER_ADDRESS_SIZE, "ipc://@%s/%s", run, socket);
}

/* 0, or -1 with zmq_errno(). */
static int bind_for_user(void *socket, const char *address)
{
	const uid_t user = geteuid();

	if (zmq_setsockopt(socket, ZMQ_IPC_FILTER_UID, &user, sizeof(user)) < 0)
		return -1;
	return zmq_bind(socket, address);
}

void *worker_socket_open(void *context, int type, bool bind, const char *address,
			 struct tool_error *error)
{
	const int unlimited = 0, timeout = WORKER_TIMEOUT_MS, linger = 5000;
	void *socket = zmq_socket(context, type);

	if (socket == NULL) {
		socket_error(error, "cannot make a ZeroMQ socket");
		return NULL;
	}
	/* The scheduler waits for its workers, so that no queue grows without bound. */
	zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof(unlimited));
	zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof(unlimited));
	zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout, sizeof(timeout));
	zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
	if (type == ZMQ_SUB)
		zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
	if ((bind ? bind_for_user(socket, address) : zmq_connect(socket, address)) < 0) {
		socket_error(error, address);
		zmq_close(socket);
		return NULL;
	}
	return socket;
}

int worker_socket_send(void *socket, const struct worker_frame frames[], int count,
		       struct tool_error *error)
{
	for (int i = 0; i < count; i++) {
		int flags = i + 1 < count ? ZMQ_SNDMORE : 0;

		if (zmq_send(socket, frames[i].bytes, frames[i].size, flags) < 0)
			return socket_error(error, "cannot send a message");
	}
	return 0;
}

void worker_message_close(struct worker_message *message)
{
	while (message->count > 0)
		zmq_msg_close(&message->frames[--message->count]);
}

/* ZeroMQ hands out places in its receive buffer, wherever a frame begins; a copy is aligned. */
static int align_frame(zmq_msg_t *frame)
{
	const size_t size = zmq_msg_size(frame);
	zmq_msg_t copy;

	if ((uintptr_t)zmq_msg_data(frame) % WORKER_ALIGNMENT == 0)
		return 0;
	if (zmq_msg_init_size(&copy, size) < 0)
		return -1;
	memcpy(zmq_msg_data(&copy), zmq_msg_data(frame), size);
	return zmq_msg_move(frame, &copy);
}

static int receive_frame(void *socket, zmq_msg_t *frame, int *more)
{
	if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0)
		return -1;
	*more = zmq_msg_more(frame);
	return align_frame(frame);
}

/* Frames behind those that a message can have are dropped. */
static int receive_frames(void *socket, struct worker_message *message, struct tool_error *error)
{
	int more = 1;

	message->count = 0;
	while (more) {
		zmq_msg_t frame;

		zmq_msg_init(&frame);
		if (receive_frame(socket, &frame, &more) < 0) {
			int reason = zmq_errno();

			zmq_msg_close(&frame);
			worker_message_close(message);
			errno = reason;
			return reason == EAGAIN ? 0 : socket_error(error, "cannot receive a message");
		}
		if (message->count < WORKER_FRAMES)
			message->frames[message->count++] = frame;
		else
			zmq_msg_close(&frame);
	}
	return 1;
}

int worker_socket_receive(void *socket, long timeout_ms, struct worker_message *message,
			  struct tool_error *error)
{
	zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
	int ready = zmq_poll(&item, 1, timeout_ms);

	if (ready < 0 && zmq_errno() != EINTR)
		return socket_error(error, "cannot wait for a message");
	return ready > 0 ? receive_frames(socket, message, error) : 0;
}

const void *worker_message_frame(struct worker_message *message, int frame, size_t size)
{
	if (frame >= message->count || zmq_msg_size(&message->frames[frame]) != size)
		return NULL;
	return zmq_msg_data(&message->frames[frame]);
}
