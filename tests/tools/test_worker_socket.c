/* SPDX-License-Identifier: MIT */
/* Messages between a scheduler and its workers: all frames arrive whole, aligned, from one user. */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../run_suite.h"
#include "tools/worker_socket.h"

enum { MESSAGES = 40, LONGEST = 300 };

static char address[WORKER_ADDRESS_SIZE];
static void *context, *sender, *receiver;

static void open_sockets(void)
{
	struct tool_error error;
	char run[64];

	snprintf(run, sizeof(run), "test_worker_socket-%ld", (long)getpid());
	worker_address(address, run, "replies");
	context = zmq_ctx_new();
	ck_assert_ptr_nonnull(context);
	receiver = worker_socket_open(context, ZMQ_PULL, true, address, &error);
	ck_assert_msg(receiver != NULL, "%s", error.text);
	sender = worker_socket_open(context, ZMQ_PUSH, false, address, &error);
	ck_assert_msg(sender != NULL, "%s", error.text);
}

static void close_sockets(void)
{
	zmq_close(sender);
	zmq_close(receiver);
	zmq_ctx_term(context);
}

/* Odd sizes and even ones, so that frames begin at every place modulo the alignment. */
static size_t frame_size(int number, int frame)
{
	return (size_t)(number * 7 + frame * 53) % LONGEST;
}

static void send_message(int number)
{
	uint8_t bytes[3][LONGEST];
	struct worker_frame frames[3];
	struct tool_error error;

	for (int frame = 0; frame < 3; frame++) {
		frames[frame] = (struct worker_frame){bytes[frame], frame_size(number, frame)};
		for (int i = 0; i < LONGEST; i++)
			bytes[frame][i] = (uint8_t)(number + frame * 100 + i);
	}
	ck_assert_int_eq(worker_socket_send(sender, frames, 3, &error), 0);
}

static void check_message(int number, struct worker_message *message)
{
	ck_assert_int_eq(message->count, 3);
	for (int frame = 0; frame < 3; frame++) {
		const size_t size = frame_size(number, frame);
		const uint8_t *bytes = worker_message_frame(message, frame, size);

		ck_assert_ptr_nonnull(bytes);
		ck_assert_uint_eq((uintptr_t)bytes % WORKER_ALIGNMENT, 0);
		for (size_t i = 0; i < size; i++)
			ck_assert_uint_eq(bytes[i], (uint8_t)(number + frame * 100 + (int)i));
		ck_assert_ptr_null(worker_message_frame(message, frame, size + 1));
	}
	ck_assert_ptr_null(worker_message_frame(message, 3, 0));
}

START_TEST(frames_are_whole_and_aligned)
{
	struct worker_message message;
	struct tool_error error;

	for (int number = 0; number < MESSAGES; number++)
		send_message(number);
	for (int number = 0; number < MESSAGES; number++) {
		ck_assert_int_eq(worker_socket_receive(receiver, 30000, &message, &error), 1);
		check_message(number, &message);
		worker_message_close(&message);
	}
	ck_assert_int_eq(worker_socket_receive(receiver, 1, &message, &error), 0);
}
END_TEST

/* Sends one message as this user, and ends. */
static void send_as(uid_t user)
{
	const struct worker_frame frame = {"hello", 5};
	void *own_context = zmq_ctx_new(), *own_sender;
	struct tool_error error;

	if (setuid(user) < 0)
		_exit(EXIT_FAILURE);
	own_sender = worker_socket_open(own_context, ZMQ_PUSH, false, address, &error);
	if (own_sender == NULL || worker_socket_send(own_sender, &frame, 1, &error) < 0)
		_exit(EXIT_FAILURE);
	zmq_close(own_sender);
	/* Until the message is gone, or one second has passed. */
	zmq_ctx_term(own_context);
	_exit(EXIT_SUCCESS);
}

/* Only root can become another user. */
START_TEST(other_users_are_not_heard)
{
	const bool another = _i == 1;
	struct worker_message message;
	struct tool_error error;
	pid_t process;
	int status;

	if (another && geteuid() != 0)
		return;
	process = fork();
	ck_assert_int_ge(process, 0);
	if (process == 0)
		send_as(another ? 65534 : geteuid());
	if (another) {
		ck_assert_int_eq(worker_socket_receive(receiver, 500, &message, &error), 0);
	} else {
		ck_assert_int_eq(worker_socket_receive(receiver, 30000, &message, &error), 1);
		worker_message_close(&message);
	}
	ck_assert_int_eq(waitpid(process, &status, 0), process);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(worker_socket_receive(receiver, 1, &message, &error), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker_socket");
	TCase *cases = tcase_create("worker_socket");

	tcase_add_checked_fixture(cases, open_sockets, close_sockets);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, frames_are_whole_and_aligned);
	tcase_add_loop_test(cases, other_users_are_not_heard, 0, 2);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
