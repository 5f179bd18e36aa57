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

/* The addresses within the replay's private directory. */
void worker_address(char *address, size_t size, const char *directory, const char *name);

/* Makes a socket and binds it, or connects it. NULL with a message. */
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
