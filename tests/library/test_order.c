/* SPDX-License-Identifier: MIT */
/*
 * Order that few publications need and that no other test misses: destinations that a kernel has
 * written, strided destinations that a kernel still reads, and packets of a second producer between
 * those of publications in the smallest ring.
 */
#include <pthread.h>
#include <sched.h>

#include "hsa/device.h"
#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"
#include "publication_case.h"

/* ---- destinations that a kernel has written -------------------------------------------------- */

static void one_l2_setup(void)
{
	/* With a single cache of the software GPU nothing depends on where a kernel runs. */
	ck_assert_int_eq(setenv("SOFTGPU_L2S", "1", 1), 0);
	unsetenv("SOFTGPU_DELAY");
	case_setup();
}

/* A consumer's dispatch that fills device memory and releases at agent scope. */
static void fill_by_kernel(void *device_memory, size_t size)
{
	struct h2d_pull_arguments *arguments =
		case_host_memory(sizeof(*arguments) + sizeof(arguments->member[0]));
	void *values = case_host_memory(size);
	h2d_dispatch_t dispatch = {
		.grid_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size = sizeof(*arguments) + sizeof(arguments->member[0]),
	};

	memset(values, 0x55, size);
	arguments->members = 1;
	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)values,
		.destination = (uintptr_t)device_memory,
		.bytes = size,
	};
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
}

/*
 * What the kernel has written sits in a write-back cache. Unless it leaves it before the
 * publication, it overwrites the published bytes when it leaves it later.
 */
START_TEST(publication_replaces_what_a_kernel_has_written)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)(_i / 2));
	const int64_t other = _i % 2 ? 16 : H2D_COUNT_OMITTED; /* together, or one member alone */

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_by_kernel(h2d_buffer_device(pair.a), 64);
	fill_source(pair.a, 22);
	fill_source(pair.b, 33);
	check_success(publish_two(pair.group, fixture_stream, 8, other));
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	/* Reads back at system scope: everything leaves the caches. */
	expect_values(h2d_buffer_device(pair.a), 0, 8, 22);
	expect_values((int32_t *)h2d_buffer_device(pair.a) + 8, 0, 8, 0x55555555);
	expect_values(h2d_buffer_device(pair.b), 0, 16, other == 16 ? 33 : 0);
}
END_TEST

/* ---- strided destinations -------------------------------------------------------------------- */

#define ROWS	     4
#define HOST_PITCH   4 /* elements */
#define DEVICE_PITCH 3

struct strided {
	h2d_owner_t *owner;
	h2d_buffer_t *buffer;
	int32_t *host;
};

/* One epoch, whose elements count from `value` on. */
static void publish_strided(const struct strided *strided, int32_t value)
{
	check_success(h2d_owner_begin(strided->owner, fixture_stream));
	for (int i = 0; i < ROWS * HOST_PITCH; i++)
		strided->host[i] = value + i;
	check_success(h2d_buffer_publish(strided->buffer, fixture_stream, ROWS, NULL));
	check_success(h2d_owner_finish(strided->owner, fixture_stream));
}

static void expect_strided(const void *device_memory, int32_t value)
{
	int32_t expected[ROWS * DEVICE_PITCH] = {0};

	for (int row = 0; row < ROWS; row++) {
		for (int i = 0; i < 2; i++)
			expected[row * DEVICE_PITCH + i] = value + row * HOST_PITCH + i;
	}
	expect_bytes(device_memory, expected, sizeof(expected));
}

START_TEST(strided_publication_waits_for_earlier_consumers)
{
	const h2d_buffer_description_t description = {
		.name = "strided",
		.element_size = 4,
		.dimensions = 2,
		.shape = {ROWS, 2},
		.host_strides = {HOST_PITCH, 1},
		.device_strides = {DEVICE_PITCH, 1},
		.unit = H2D_COUNT_ROWS,
	};
	struct strided strided = {.owner = case_owner_of("slot", (h2d_backend_t)_i),
				  .host = case_host_memory(ROWS * HOST_PITCH * 4)};
	const size_t size = ROWS * DEVICE_PITCH * 4;
	void *device = case_device_memory(size), *first, *second;

	check_success(h2d_buffer_wrap(strided.owner, &description, strided.host, device,
				      &strided.buffer));
	check_success(h2d_owner_select_transports(strided.owner));
	publish_strided(&strided, 100);
	check_success(h2d_stream_synchronize(fixture_stream));
	gate_close(fixture_stream);
	first = consume(fixture_stream, device, size);
	publish_strided(&strided, 200);
	second = consume(fixture_stream, device, size);
	sleep_ms(20); /* for copies that wait for nothing to land */
	gate_open();
	expect_strided(first, 100);
	expect_strided(second, 200);
}
END_TEST

/* ---- a shared ring --------------------------------------------------------------------------- */

#define RING	       64
#define RING_EPOCHS    400
#define OTHER_PACKETS  20000
#define OTHER_ORDERING (1U << HSA_PACKET_HEADER_BARRIER)

static h2d_stream_t *ring_stream;

/* A second producer, with the runtime's functions alone: barriers that count its signal down. */
static void *produce_barriers(void *argument)
{
	const hsa_signal_t *done = argument;
	hsa_queue_t *queue = h2d_stream_queue(ring_stream);
	hsa_barrier_and_packet_t *ring = queue->base_address;

	for (int i = 0; i < OTHER_PACKETS; i++) {
		const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
		hsa_barrier_and_packet_t *packet = &ring[index & (queue->size - 1)];

		while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
			sched_yield();
		memset((uint8_t *)packet + 4, 0, sizeof(*packet) - 4);
		packet->completion_signal = *done;
		/* Release: pairs with the packet processor's acquire of the header. */
		__atomic_store_n((uint32_t *)(void *)packet,
				 HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
					 (i % 3 ? OTHER_ORDERING : 0),
				 __ATOMIC_RELEASE);
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	}
	return NULL;
}

/* Publications and consumers in a ring of minimum size, which wraps hundreds of times. */
START_TEST(publications_share_the_smallest_ring_with_another_producer)
{
	const h2d_stream_options_t options = {.queue_size = RING};
	struct pair slots[2] = {pair_open("slot 0", (h2d_backend_t)_i),
				pair_open("slot 1", (h2d_backend_t)_i)};
	void *seen[RING_EPOCHS / 8];
	hsa_signal_t done;
	pthread_t producer;

	check_success(h2d_device_create_host_signal(fixture_device, OTHER_PACKETS, &done));
	check_success(h2d_stream_create(fixture_device, &options, &ring_stream));
	ck_assert_uint_eq(h2d_stream_queue(ring_stream)->size, RING);
	ck_assert_int_eq(pthread_create(&producer, NULL, produce_barriers, &done), 0);
	for (int epoch = 0; epoch < RING_EPOCHS; epoch++) {
		struct pair *slot = &slots[epoch % 2];

		check_success(h2d_owner_begin(slot->owner, ring_stream));
		fill_source(slot->a, epoch);
		fill_source(slot->b, -epoch);
		check_success(publish_two(slot->group, ring_stream, 16, 1 + epoch % 16));
		if (epoch % 8 == 0)
			seen[epoch / 8] = consume(ring_stream, h2d_buffer_device(slot->a), 64);
		check_success(h2d_owner_finish(slot->owner, ring_stream));
	}
	ck_assert_int_eq(pthread_join(producer, NULL), 0);
	check_success(h2d_stream_synchronize(ring_stream));
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 0);
	ck_assert_uint_gt(hsa_queue_load_read_index_relaxed(h2d_stream_queue(ring_stream)),
			  RING * 100);
	for (int epoch = 0; epoch < RING_EPOCHS; epoch += 8)
		expect_values(seen[epoch / 8], 0, 16, epoch);
	expect_values(h2d_buffer_device(slots[1].a), 0, 16, RING_EPOCHS - 1);
	/* 399 % 16 = 15: the whole of the last one. */
	expect_values(h2d_buffer_device(slots[1].b), 0, 16, 1 - RING_EPOCHS);
	expect_values(h2d_buffer_device(slots[0].b), 0, 15, 2 - RING_EPOCHS);
	case_teardown_owners();
	check_success(h2d_stream_destroy(ring_stream));
	h2d_device_destroy_signal(done);
}
END_TEST

static Suite *order_suite(void)
{
	Suite *suite = suite_create("order");
	TCase *caches = tcase_create("caches"), *order = tcase_create("order");

	tcase_add_checked_fixture(caches, one_l2_setup, case_teardown);
	tcase_set_timeout(caches, 60);
	tcase_add_loop_test(caches, publication_replaces_what_a_kernel_has_written, 0,
			    2 * BACKENDS);
	tcase_add_checked_fixture(order, case_setup, case_teardown);
	tcase_set_timeout(order, 60);
	tcase_add_loop_test(order, strided_publication_waits_for_earlier_consumers, 0, BACKENDS);
	tcase_add_loop_test(order, publications_share_the_smallest_ring_with_another_producer, 0,
			    BACKENDS);
	suite_add_tcase(suite, caches);
	suite_add_tcase(suite, order);
	return suite;
}

int main(void)
{
	return run_suite(order_suite());
}
