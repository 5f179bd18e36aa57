/* SPDX-License-Identifier: MIT */
/* ZeroMQ sockets of the replay: messages of several frames, bounded waits, errors with a text. */
#ifndef H2DPUB_TOOLS_WORKER_SOCKET_H
#define H2DPUB_TOOLS_WORKER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include <zmq.h>

#include "tool_error.h"

#define WORKER_FRAMES 6

/* Of the bytes of a received frame: what is sent holds nothing that is aligned to more. */
#define WORKER_ALIGNMENT 8

struct worker_message {
	zmq_msg_t frames[WORKER_FRAMES];
	int count;
};

struct worker_frame {
	const void *bytes;
	size_t size;
};

/* A UNIX socket's name has 107 bytes. */
#define WORKER_ADDRESS_SIZE 112

/*
 * The address of a run's socket. It is an abstract one: no file, so that nothing is left behind
 * however the run ends, and a worker may connect, or connect again, as long as it lasts.
 */
void worker_address(char address[WORKER_ADDRESS_SIZE], const char *run, const char *socket);

/*
 * Makes a socket and binds it, or connects it. NULL with a message. Abstract sockets have no
 * permissions, so a bound one hears the same user's processes only.
 */
void *worker_socket_open(void *context, int type, bool bind, const char *address,
			 struct tool_error *error);

int worker_socket_send(void *socket, const struct worker_frame frames[], int count,
		       struct tool_error *error);

/* 1: *message must be closed; 0: none came in time; -1: an error. */
int worker_socket_receive(void *socket, long timeout_ms, struct worker_message *message,
			  struct tool_error *error);
void worker_message_close(struct worker_message *message);

/* The bytes of a frame if there is one of this size, else NULL. */
const void *worker_message_frame(struct worker_message *message, int frame, size_t size);

#endif
