/* SPDX-License-Identifier: MIT */
/* What the tests of publications share: a pair of buffers, gates on a stream, values on the device.
 */
#ifndef H2DPUB_TESTS_PUBLICATION_CASE_H
#define H2DPUB_TESTS_PUBLICATION_CASE_H

#include <stdlib.h>
#include <string.h>

#include <h2dpub/graph.h>
#include <h2dpub/publication.h>

#include "fixture.h"

#define BACKENDS 3 /* loop tests run with _i = each h2d_backend_t */

/* The call fails with this status and a message that contains the fragment. */
#define check_fails(call, status, fragment)                                                        \
	do {                                                                                       \
		h2d_status_t ck_actual = (call);                                                   \
		ck_assert_msg(ck_actual == (status), "%s instead of %s",                           \
			      h2d_status_string(ck_actual), h2d_status_string(status));            \
		ck_assert_msg(strstr(h2d_error_message(), fragment), "'%s' is not in '%s'",        \
			      fragment, h2d_error_message());                                      \
	} while (0)

/*
 * A checked fixture: fixture_setup() and a registry; the teardown destroys what the functions below
 * made and fails the test if anything is left.
 */
extern h2d_registry_t *case_registry;
void case_setup(void);
void case_teardown(void);
/* The first part of it, for tests with streams of their own. */
void case_teardown_owners(void);

/* Owners are destroyed by case_teardown(). A failed one must have been drained. */
h2d_owner_t *case_owner(const h2d_owner_options_t *options);
h2d_owner_t *case_owner_of(const char *name, h2d_backend_t backend);

/* A contiguous buffer of the owner: dimensions given by the non-zero lengths. */
h2d_buffer_t *case_buffer(h2d_owner_t *owner, const char *name, size_t element_size,
			  uint64_t length0, uint64_t length1, h2d_count_unit_t unit);

/* Two int32[16] buffers named "a" and "b", and the group "pair" of them. */
struct pair {
	h2d_owner_t *owner;
	h2d_buffer_t *a, *b;
	h2d_group_t *group;
};

/* Without transports: for cases that add groups. */
struct pair pair_make(const char *name, h2d_backend_t backend);
/* With transports selected. */
struct pair pair_open(const char *name, h2d_backend_t backend);

/* Publishes two members, and fails the test if that fails. */
h2d_status_t publish_two(h2d_group_t *group, h2d_stream_t *stream, int64_t first, int64_t second);

/* Sets every int32 / every byte of a buffer's source. */
void fill_source(h2d_buffer_t *buffer, int32_t value);
void fill_source_bytes(h2d_buffer_t *buffer, uint8_t value);

/* The size of a buffer in bytes. */
size_t buffer_size(const h2d_buffer_t *buffer);

/* Sets every byte of a buffer's destination, at once. */
void fill_destination_bytes(h2d_buffer_t *buffer, uint8_t value);

/* Synchronizes the stream and compares device memory with int32 values or bytes. */
void expect_values(const void *device_memory, size_t begin, size_t end, int32_t value);
void expect_bytes(const void *device_memory, const void *expected, size_t size);

/*
 * A consumer: copies device memory to where only the test looks, in the order of the stream, with a
 * kernel dispatch like any consumer's. During capture it is recorded. Needs no DMA, whose engine
 * may be waiting for a gate.
 */
void *consume(h2d_stream_t *stream, const void *device_memory, size_t size);

/* Device memory and host memory that case_teardown() frees. */
void *case_device_memory(size_t size);
void *case_host_memory(size_t size);

/* Blocks the stream until the gate is opened; at most one gate at a time. */
void gate_close(h2d_stream_t *stream);
void gate_open(void);
/* From another thread, in so many milliseconds. */
void gate_open_later(unsigned int milliseconds);
/* Blocks the stream for some milliseconds, without waiting for it here. */
void delay(h2d_stream_t *stream, unsigned int milliseconds);

void sleep_ms(unsigned int milliseconds);

#endif
