/* SPDX-License-Identifier: MIT */
/*
 * To be loaded into h2dpub-replay: in each worker, the LOST_MESSAGE-th step never arrives, as if the
 * transport had lost it.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include <zmq.h>

/* Only messages with steps have three frames; the scheduler itself receives none of that kind. */
static void drop_frames(int (*receive)(zmq_msg_t *, void *, int), zmq_msg_t *frame, void *socket)
{
	while (zmq_msg_more(frame)) {
		if (receive(frame, socket, 0) < 0)
			return;
	}
}

__attribute__((visibility("default"))) int zmq_msg_recv(zmq_msg_t *frame, void *socket, int flags)
{
	static int (*receive)(zmq_msg_t *, void *, int);
	static long steps;
	static int inside; /* of a message: its first frame has been received */
	const char *lost = getenv("LOST_MESSAGE");
	int type = 0, result;
	size_t size = sizeof(type);

	if (!receive)
		*(void **)&receive = dlsym(RTLD_NEXT, "zmq_msg_recv");
	result = receive(frame, socket, flags);
	if (result < 0 || lost == NULL || zmq_getsockopt(socket, ZMQ_TYPE, &type, &size) < 0 ||
	    type != ZMQ_SUB)
		return result;
	if (!inside && zmq_msg_more(frame) && ++steps == strtol(lost, NULL, 10)) {
		drop_frames(receive, frame, socket);
		result = receive(frame, socket, flags);
	}
	inside = result >= 0 && zmq_msg_more(frame);
	return result;
}
