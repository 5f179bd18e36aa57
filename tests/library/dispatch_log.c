/* SPDX-License-Identifier: MIT */
/* A log on the device to which dispatches append: shows which of them ran, and in which order. */
#include "dispatch_log.h"

#include <stdlib.h>

#include "hsa/device.h"
#include "hsa/stream.h"

struct append_arguments {
	uint32_t *cursor;
	uint32_t *values;
	uint32_t value;
};

struct dispatch_log dispatch_log_make(uint32_t capacity)
{
	struct dispatch_log log = {.code_object = fixture_load_kernels(), .capacity = capacity};

	log.append = fixture_kernel(log.code_object, "append");
	check_success(h2d_device_allocate_kernel_arguments(fixture_device, (size_t)capacity * 64,
							   (void **)&log.kernel_arguments));
	check_success(h2d_device_allocate(fixture_device, 4, (void **)&log.cursor));
	check_success(
	    h2d_device_allocate(fixture_device, (size_t)capacity * 4, (void **)&log.values));
	for (uint32_t i = 0; i < capacity; i++)
		*(struct append_arguments *)(log.kernel_arguments + (size_t)i * 64) =
		    (struct append_arguments){log.cursor, log.values, i};
	return log;
}

void dispatch_log_free(struct dispatch_log *log)
{
	check_success(h2d_device_free(fixture_device, log->kernel_arguments));
	check_success(h2d_device_free(fixture_device, log->cursor));
	check_success(h2d_device_free(fixture_device, log->values));
	check_success(h2d_code_object_unload(log->code_object));
}

h2d_dispatch_t dispatch_log_dispatch(const struct dispatch_log *log, uint32_t value)
{
	return (h2d_dispatch_t){
	    .kernel = log->append,
	    .grid_size = {1, 1, 1},
	    .workgroup_size = {1, 1, 1},
	    .kernel_arguments = log->kernel_arguments + (size_t)value * 64,
	    .kernel_arguments_size = sizeof(struct append_arguments),
	};
}

h2d_status_t dispatch_log_append(const struct dispatch_log *log, h2d_stream_t *stream,
				 uint32_t value)
{
	const h2d_dispatch_t dispatch = dispatch_log_dispatch(log, value);

	return h2d_stream_dispatch(stream, &dispatch);
}

void dispatch_log_check_values(const struct dispatch_log *log, const uint32_t values[],
			       uint32_t count)
{
	uint32_t *expected = calloc(log->capacity, 4);
	uint32_t *actual = calloc(log->capacity, 4);
	uint32_t cursor = 0;

	for (uint32_t i = 0; i < count; i++)
		expected[i] = values[i];
	check_success(
	    h2d_device_read(fixture_device, &cursor, log->cursor, 4, H2D_DEFAULT_TIMEOUT_NS));
	check_success(h2d_device_read(fixture_device, actual, log->values,
				      (size_t)log->capacity * 4, H2D_DEFAULT_TIMEOUT_NS));
	ck_assert_uint_eq(cursor, count);
	fixture_check_bytes("the log", actual, expected, (size_t)log->capacity * 4);
	free(expected);
	free(actual);
}

void dispatch_log_check(const struct dispatch_log *log, uint32_t count)
{
	uint32_t *values = calloc(count + 1, 4);

	for (uint32_t i = 0; i < count; i++)
		values[i] = i;
	dispatch_log_check_values(log, values, count);
	free(values);
}

h2d_stream_t *dispatch_log_blocked_stream(uint64_t timeout_ns, hsa_signal_t *gate)
{
	const h2d_stream_options_t options = {.queue_size = 64, .timeout_ns = timeout_ns};
	h2d_stream_t *stream;
	h2d_packet_t barrier;

	check_success(h2d_device_create_signal(fixture_device, 1, gate));
	check_success(h2d_stream_create(fixture_device, &options, &stream));
	h2d_packet_barrier(&barrier, true, H2D_FENCE_NONE, H2D_FENCE_NONE, *gate,
			   (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, &barrier, 1));
	return stream;
}
