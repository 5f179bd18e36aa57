/* SPDX-License-Identifier: MIT */
/*
 * A GPU that hangs or faults under a publication: the bounded wait ends in an error that says what
 * hung, the owner fails with it and keeps its storage, and nothing that the GPU may still touch is
 * freed. Only the software GPU hangs on request.
 */
#include <stdio.h>
#include <unistd.h>

#include "hsa/device.h"
#include "hsa/kernel_arguments.h"
#include "hsa/stream.h"
#include "publication_case.h"

#define TIMEOUT_NS     UINT64_C(1000000000)
#define MAXIMUM_EPOCHS 300

/* ---- hangs ----------------------------------------------------------------------------------- */

static void stall_setup(const char *stall)
{
	unsetenv("SOFTGPU_DELAY");
	unsetenv("SOFTGPU_L2S");
	ck_assert_int_eq(setenv("SOFTGPU_STALL", stall, 1), 0);
	case_setup();
}

static void dma_hangs_setup(void)
{
	/* Behind the copies that set-up needs. */
	stall_setup("sdma:600:forever");
}

static void queue_hangs_setup(void)
{
	stall_setup("aql:60:forever");
}

static struct pair hasty_pair(h2d_backend_t backend)
{
	struct pair pair = {.owner = case_owner(&(h2d_owner_options_t){.name = "hasty",
								       .backend = backend,
								       .timeout_ns = TIMEOUT_NS})};

	pair.a = case_buffer(pair.owner, "a", 4, 16, 0, H2D_COUNT_ROWS);
	pair.b = case_buffer(pair.owner, "b", 4, 16, 0, H2D_COUNT_ROWS);
	check_success(h2d_group_create(pair.owner, "pair", (h2d_buffer_t *[]){pair.a, pair.b}, 2,
				       &pair.group));
	check_success(h2d_owner_select_transports(pair.owner));
	return pair;
}

/* Publishes until the engine stalls; the value of the last epoch that was published. */
static int32_t publish_until_it_hangs(struct pair *pair)
{
	for (int32_t value = 1; value < MAXIMUM_EPOCHS; value++) {
		const h2d_status_t status = h2d_owner_begin(pair->owner, fixture_stream);

		if (status != H2D_STATUS_SUCCESS) {
			ck_assert_msg(status == H2D_STATUS_TIMEOUT, "%s", h2d_error_message());
			return value - 1;
		}
		fill_source(pair->a, value);
		fill_source(pair->b, -value);
		check_success(publish_two(pair->group, fixture_stream, 16, 16));
		check_success(h2d_owner_finish(pair->owner, fixture_stream));
	}
	ck_abort_msg("nothing hung in %d epochs", MAXIMUM_EPOCHS);
}

/* What is left of a hung owner. */
static void check_hung(struct pair *pair, int32_t value)
{
	const int32_t *source = h2d_buffer_host(pair->a);

	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "begin, owner 'hasty', epoch "));
	ck_assert_ptr_nonnull(strstr(h2d_error_message(), "did not end within 1000000000 ns"));
	ck_assert_int_gt(value, 0);
	ck_assert_int_eq(h2d_owner_state(pair->owner), H2D_OWNER_FAILED);
	ck_assert_uint_eq(h2d_owner_epoch(pair->owner), (uint64_t)value);
	check_fails(publish_two(pair->group, fixture_stream, 16, 16), H2D_STATUS_INVALID_STATE,
		    "did not end within");
	check_fails(h2d_owner_drain(pair->owner), H2D_STATUS_TIMEOUT, "did not end within");
	check_fails(h2d_owner_destroy(pair->owner), H2D_STATUS_INVALID_STATE, "drain it first");
	/* The owner and its memory are there: the GPU may still read the source. */
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(source[i], value);
	ck_assert_str_eq(h2d_buffer_name(pair->a), "a");
	check_fails(h2d_stream_destroy(fixture_stream), H2D_STATUS_INVALID_STATE, "still used");
	check_fails(h2d_device_close(fixture_device), H2D_STATUS_INVALID_STATE, "");
}

START_TEST(hung_dma_fails_the_owner_and_keeps_its_storage)
{
	struct pair pair = hasty_pair((h2d_backend_t)_i);

	check_hung(&pair, publish_until_it_hangs(&pair));
}
END_TEST

/* Pull needs no DMA engine: on another stream it goes on beside the hung one. */
START_TEST(hung_dma_does_not_touch_publications_without_dma)
{
	struct pair hung = hasty_pair(H2D_BACKEND_DIRECT), pull;
	h2d_stream_t *stream;

	pull = hasty_pair(H2D_BACKEND_PULL);
	check_success(h2d_stream_create(fixture_device, NULL, &stream));
	publish_until_it_hangs(&hung);
	for (int32_t value = 1; value < 20; value++) {
		check_success(h2d_owner_begin(pull.owner, stream));
		fill_source(pull.a, value);
		check_success(publish_two(pull.group, stream, 16, 16));
		check_success(h2d_owner_finish(pull.owner, stream));
	}
	check_success(h2d_stream_synchronize(stream));
	ck_assert_int_eq(h2d_owner_state(pull.owner), H2D_OWNER_SEALED);
	check_success(h2d_owner_destroy(pull.owner));
}
END_TEST

START_TEST(hung_queue_fails_the_owner_and_keeps_its_storage)
{
	struct pair pair = hasty_pair((h2d_backend_t)_i);

	check_hung(&pair, publish_until_it_hangs(&pair));
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

/* A consumer that reads where nothing is mapped. */
static void enqueue_faulty_consumer(uint64_t address)
{
	struct h2d_pull_arguments *arguments =
		case_host_memory(sizeof(*arguments) + sizeof(arguments->member[0]));
	h2d_dispatch_t dispatch = {
		.grid_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size = sizeof(*arguments) + sizeof(arguments->member[0]),
	};

	arguments->members = 1;
	arguments->member[0] = (struct h2d_pull_member){
		.source = address,
		.destination = (uintptr_t)case_device_memory(64),
		.bytes = 64,
	};
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	check_success(h2d_stream_dispatch(fixture_stream, &dispatch));
}

static void fault_setup(void)
{
	unsetenv("SOFTGPU_STALL");
	case_setup();
}

/* The fault lies between a publication and its completion. */
START_TEST(memory_fault_fails_the_owner_and_names_the_address)
{
	struct pair pair = pair_open("slot", (h2d_backend_t)_i);

	check_success(h2d_owner_begin(pair.owner, fixture_stream));
	fill_source(pair.a, 11);
	check_success(publish_two(pair.group, fixture_stream, 16, 16));
	enqueue_faulty_consumer(0x7000);
	check_success(h2d_owner_finish(pair.owner, fixture_stream));
	check_fails(h2d_owner_begin(pair.owner, fixture_stream), H2D_STATUS_MEMORY_FAULT, "0x7000");
	ck_assert_int_eq(h2d_owner_state(pair.owner), H2D_OWNER_FAILED);
	ck_assert_uint_eq(h2d_owner_epoch(pair.owner), 1);
	check_fails(publish_two(pair.group, fixture_stream, 16, 16), H2D_STATUS_INVALID_STATE,
		    "0x7000");
	ck_assert_int_eq(*(const int32_t *)h2d_buffer_host(pair.a), 11);
	/* Its queue is made inactive, so there is nothing to wait for. */
	check_success_in_time(h2d_owner_drain(pair.owner));
	check_success_in_time(h2d_owner_destroy(pair.owner));
}
END_TEST

/* A gate of its own at which the stream stands. */
static hsa_signal_t block(h2d_stream_t *stream)
{
	hsa_signal_t signal;
	h2d_packet_t packet;

	check_success(h2d_device_create_signal(fixture_device, 1, &signal));
	h2d_packet_barrier(&packet, true, H2D_FENCE_NONE, H2D_FENCE_NONE, signal,
			   (hsa_signal_t){0});
	check_success(h2d_stream_submit(stream, &packet, 1));
	return signal;
}

/* An owner on a stream of its own, which stands still in front of the owner's publication. */
struct waiting {
	struct pair pair;
	h2d_stream_t *stream;
	hsa_signal_t gate;
};

static struct waiting publish_behind_a_gate(h2d_backend_t backend)
{
	struct waiting waiting = {.pair = hasty_pair(backend)};

	check_success(h2d_stream_create(fixture_device, NULL, &waiting.stream));
	check_success(h2d_owner_begin(waiting.pair.owner, waiting.stream));
	waiting.gate = block(waiting.stream);
	fill_source(waiting.pair.a, 11);
	check_success(publish_two(waiting.pair.group, waiting.stream, 16, 16));
	check_success(h2d_owner_finish(waiting.pair.owner, waiting.stream));
	return waiting;
}

/* The publication would read what has been freed: the queue must not pass the gate. */
static void check_stopped(const struct waiting *waiting)
{
	const hsa_queue_t *queue = h2d_stream_queue(waiting->stream);

	hsa_signal_store_screlease(waiting->gate, 0);
	sleep_ms(50);
	ck_assert_uint_eq(hsa_queue_load_read_index_scacquire(queue), 0);
	check_success(h2d_stream_destroy(waiting->stream));
}

/* The driver need not stop the other queues of a GPU: told of a fault, this one does not. */
START_TEST(queue_is_stopped_after_a_fault_before_its_owner_is_freed)
{
	struct waiting waiting = publish_behind_a_gate((h2d_backend_t)_i);
	h2d_device_info_t info;

	check_success(h2d_device_get_info(fixture_device, &info));
	h2d_device_notify_memory_fault(info.agent, 0x5000);
	check_fails(h2d_stream_synchronize(waiting.stream), H2D_STATUS_MEMORY_FAULT, "0x5000");
	check_success_in_time(h2d_owner_destroy(waiting.pair.owner));
	check_stopped(&waiting);
}
END_TEST

/*
 * The fault of another queue stops the owner's too, and DMA, of which there is no telling whether
 * it goes on: without DMA the owner can be destroyed, with it the storage stays.
 */
START_TEST(fault_of_another_queue_frees_nothing_that_dma_may_read)
{
	const h2d_backend_t backend = _i == 0 ? H2D_BACKEND_PULL : H2D_BACKEND_DIRECT;
	hsa_signal_t gate = block(fixture_stream);
	struct waiting waiting;

	enqueue_faulty_consumer(0x7000);
	waiting = publish_behind_a_gate(backend);
	hsa_signal_store_screlease(gate, 0);
	check_fails(h2d_stream_synchronize(fixture_stream), H2D_STATUS_MEMORY_FAULT, "0x7000");
	if (backend == H2D_BACKEND_PULL) {
		check_success_in_time(h2d_owner_destroy(waiting.pair.owner));
		check_stopped(&waiting);
		return;
	}
	for (int i = 0; i < 2; i++)
		check_fails(h2d_owner_destroy(waiting.pair.owner), H2D_STATUS_TIMEOUT,
			    "the storage stays allocated");
	ck_assert_int_eq(*(const int32_t *)h2d_buffer_host(waiting.pair.a), 11);
	check_fails(h2d_stream_destroy(waiting.stream), H2D_STATUS_INVALID_STATE, "still used");
}
END_TEST

/* ---- the end --------------------------------------------------------------------------------- */

/* Nothing of a hung device can be taken down, and at exit a leak checker would find all of it. */
static void leave_process(void)
{
	_exit(EXIT_SUCCESS);
}

static Suite *hung_suite(void)
{
	Suite *suite = suite_create("hung GPUs");
	TCase *dma = tcase_create("DMA"), *queue = tcase_create("queue");
	TCase *fault = tcase_create("faults");

	tcase_add_checked_fixture(dma, dma_hangs_setup, leave_process);
	tcase_set_timeout(dma, 60);
	tcase_add_loop_test(dma, hung_dma_fails_the_owner_and_keeps_its_storage, 0,
			    H2D_BACKEND_PULL);
	tcase_add_test(dma, hung_dma_does_not_touch_publications_without_dma);
	tcase_add_checked_fixture(queue, queue_hangs_setup, leave_process);
	tcase_set_timeout(queue, 60);
	tcase_add_loop_test(queue, hung_queue_fails_the_owner_and_keeps_its_storage, 0, BACKENDS);
	tcase_add_checked_fixture(fault, fault_setup, leave_process);
	tcase_set_timeout(fault, 60);
	tcase_add_loop_test(fault, memory_fault_fails_the_owner_and_names_the_address, 0, BACKENDS);
	tcase_add_loop_test(fault, queue_is_stopped_after_a_fault_before_its_owner_is_freed, 0,
			    BACKENDS);
	tcase_add_loop_test(fault, fault_of_another_queue_frees_nothing_that_dma_may_read, 0, 2);
	suite_add_tcase(suite, dma);
	suite_add_tcase(suite, queue);
	suite_add_tcase(suite, fault);
	return suite;
}

int main(void)
{
	const char *hardware = getenv("RUN_H2D_GPU_TESTS");

	if (hardware && strcmp(hardware, "1") == 0) {
		puts("1..0 # SKIP a real GPU does not hang on request");
		return EXIT_SUCCESS;
	}
	return run_suite(hung_suite());
}
