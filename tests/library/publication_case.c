/* SPDX-License-Identifier: MIT */
/* What the tests of publications share: a pair of buffers, gates on a stream, values on the device.
 */
#include "publication_case.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "hsa/device.h"
#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"

#define MAXIMUM_OWNERS 8
#define MAXIMUM_BLOCKS 256
#define COPIES_SIZE    ((size_t)1 << 18)
#define TIMEOUT_NS     UINT64_C(5000000000)

h2d_registry_t *case_registry;

static h2d_owner_t *owners[MAXIMUM_OWNERS];
static unsigned int owner_count;
static void *blocks[MAXIMUM_BLOCKS];
static unsigned int block_count;
static uint8_t *copies;
static size_t copies_used;

static hsa_signal_t gate;
static pthread_t gate_opener;
static bool gate_opener_runs;
static unsigned int gate_delay_ms;

/* ---- set-up ---------------------------------------------------------------------------------- */

void case_setup(void)
{
	fixture_setup();
	check_success(h2d_registry_create(&case_registry));
	check_success(h2d_device_create_signal(fixture_device, 0, &gate));
	copies = case_device_memory(COPIES_SIZE);
	copies_used = 0;
}

static void join_gate_opener(void)
{
	if (gate_opener_runs)
		pthread_join(gate_opener, NULL);
	gate_opener_runs = false;
}

void case_teardown_owners(void)
{
	join_gate_opener();
	gate_open();
	while (owner_count > 0) {
		owner_count--;
		check_success_in_time(h2d_owner_destroy(owners[owner_count]));
	}
}

void case_teardown(void)
{
	case_teardown_owners();
	check_success(h2d_registry_destroy(case_registry));
	check_success(h2d_stream_synchronize(fixture_stream));
	while (block_count > 0)
		check_success(h2d_device_free(fixture_device, blocks[--block_count]));
	h2d_device_destroy_signal(gate);
	fixture_teardown();
}

/* ---- objects --------------------------------------------------------------------------------- */

h2d_owner_t *case_owner(const h2d_owner_options_t *options)
{
	ck_assert_uint_lt(owner_count, MAXIMUM_OWNERS);
	check_success(
		h2d_owner_create(fixture_device, case_registry, options, &owners[owner_count]));
	return owners[owner_count++];
}

h2d_owner_t *case_owner_of(const char *name, h2d_backend_t backend)
{
	return case_owner(
		&(h2d_owner_options_t){.name = name, .backend = backend, .timeout_ns = TIMEOUT_NS});
}

h2d_buffer_t *case_buffer(h2d_owner_t *owner, const char *name, size_t element_size,
			  uint64_t length0, uint64_t length1, h2d_count_unit_t unit)
{
	h2d_buffer_description_t description = {
		.name = name,
		.element_size = element_size,
		.dimensions = length1 ? 2 : 1,
		.shape = {length0, length1},
		.unit = unit,
	};
	h2d_buffer_t *buffer = NULL;

	check_success(h2d_buffer_allocate(owner, &description, &buffer));
	return buffer;
}

struct pair pair_make(const char *name, h2d_backend_t backend)
{
	struct pair pair = {.owner = case_owner_of(name, backend)};

	pair.a = case_buffer(pair.owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	pair.b = case_buffer(pair.owner, "b", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(pair.owner, "pair", (h2d_buffer_t *[]){pair.a, pair.b}, 2,
				       &pair.group));
	return pair;
}

struct pair pair_open(const char *name, h2d_backend_t backend)
{
	struct pair pair = pair_make(name, backend);

	check_success(h2d_owner_select_transports(pair.owner));
	ck_assert_int_eq(h2d_group_transport(pair.group), backend);
	return pair;
}

h2d_status_t publish_two(h2d_group_t *group, h2d_stream_t *stream, int64_t first, int64_t second)
{
	return h2d_group_publish(group, stream, (const int64_t[]){first, second}, NULL);
}

static void *keep(void *block)
{
	ck_assert_uint_lt(block_count, MAXIMUM_BLOCKS);
	blocks[block_count++] = block;
	return block;
}

void *case_device_memory(size_t size)
{
	void *memory = NULL;

	check_success(h2d_device_allocate(fixture_device, size, &memory));
	return keep(memory);
}

void *case_host_memory(size_t size)
{
	void *memory = NULL;

	check_success(h2d_device_allocate_host(fixture_device, size, &memory));
	return keep(memory);
}

/* ---- values ---------------------------------------------------------------------------------- */

size_t buffer_size(const h2d_buffer_t *buffer)
{
	return h2d_buffer_capacity(buffer) * h2d_buffer_bytes_per_count(buffer);
}

void fill_source(h2d_buffer_t *buffer, int32_t value)
{
	int32_t *source = h2d_buffer_host(buffer);
	size_t i;

	for (i = 0; i < buffer_size(buffer) / sizeof(*source); i++)
		source[i] = value;
}

void fill_source_bytes(h2d_buffer_t *buffer, uint8_t value)
{
	memset(h2d_buffer_host(buffer), value, buffer_size(buffer));
}

void fill_destination_bytes(h2d_buffer_t *buffer, uint8_t value)
{
	size_t size = buffer_size(buffer);
	void *bytes = malloc(size);

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, value, size);
	check_success(h2d_device_write(fixture_device, h2d_buffer_device(buffer), bytes, size,
				       TIMEOUT_NS));
	free(bytes);
}

static void *read_back(const void *device_memory, size_t size)
{
	void *bytes = malloc(size ? size : 1);

	ck_assert_ptr_nonnull(bytes);
	check_success(h2d_stream_synchronize(fixture_stream));
	if (size > 0)
		check_success(
			h2d_device_read(fixture_device, bytes, device_memory, size, TIMEOUT_NS));
	return bytes;
}

void expect_values(const void *device_memory, size_t begin, size_t end, int32_t value)
{
	int32_t *values = read_back(device_memory, end * sizeof(*values));
	size_t i;

	for (i = begin; i < end; i++)
		ck_assert_msg(values[i] == value, "element %zu is %d instead of %d", i, values[i],
			      value);
	free(values);
}

void expect_bytes(const void *device_memory, const void *expected, size_t size)
{
	const uint8_t *wanted = expected;
	uint8_t *bytes = read_back(device_memory, size);
	size_t i;

	for (i = 0; i < size; i++)
		ck_assert_msg(bytes[i] == wanted[i], "byte %zu is %u instead of %u", i, bytes[i],
			      wanted[i]);
	free(bytes);
}

void *consume(h2d_stream_t *stream, const void *device_memory, size_t size)
{
	struct h2d_pull_arguments *arguments;
	size_t arguments_size = sizeof(*arguments) + sizeof(arguments->member[0]);
	void *copy = copies + copies_used;
	h2d_dispatch_t dispatch = {
		.grid_size = {(uint32_t)h2d_chunk_count(size) * H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments_size = arguments_size,
	};

	copies_used += (size + 63) / 64 * 64;
	ck_assert_uint_le(copies_used, COPIES_SIZE);
	arguments = case_host_memory(arguments_size);
	arguments->members = 1;
	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)device_memory,
		.destination = (uintptr_t)copy,
		.bytes = size,
	};
	dispatch.kernel_arguments = arguments;
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	check_success(h2d_stream_dispatch(stream, &dispatch));
	return copy;
}

/* ---- time ------------------------------------------------------------------------------------ */

void sleep_ms(unsigned int milliseconds)
{
	struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

	nanosleep(&time, NULL);
}

void gate_close(h2d_stream_t *stream)
{
	h2d_packet_t packet;

	join_gate_opener();
	h2d_device_store_signal(gate, 1);
	h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE, gate, (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, &packet, 1));
}

void gate_open(void)
{
	/* Release: pairs with the packet processor's acquire, which then reads the sources. */
	hsa_signal_store_screlease(gate, 0);
}

static void *open_later(void *unused)
{
	sleep_ms(gate_delay_ms);
	gate_open();
	return unused;
}

void gate_open_later(unsigned int milliseconds)
{
	gate_delay_ms = milliseconds;
	ck_assert_int_eq(pthread_create(&gate_opener, NULL, open_later, NULL), 0);
	gate_opener_runs = true;
}

void delay(h2d_stream_t *stream, unsigned int milliseconds)
{
	gate_close(stream);
	gate_open_later(milliseconds);
}
