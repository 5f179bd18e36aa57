/* SPDX-License-Identifier: MIT */
/* Every kind of error reaches the program as the HSA runtime defines it, both ways of reporting. */
#include "../run_suite.h"
#include "packets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct hsa_harness harness;
static hsa_executable_t executable;
static uint32_t *memory;
static uint64_t *arguments;

/* What the system event handler was given. */
static _Atomic uint64_t fault_address;
static _Atomic uint64_t fault_agent;
static _Atomic uint32_t fault_reason;

static hsa_status_t note_fault(const hsa_amd_event_t *event, void *data)
{
	(void)data;
	if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT)
		return HSA_STATUS_ERROR;
	atomic_store(&fault_agent, event->memory_fault.agent.handle);
	atomic_store(&fault_reason, event->memory_fault.fault_reason_mask);
	atomic_store(&fault_address, event->memory_fault.virtual_address);
	return HSA_STATUS_SUCCESS;
}

/* `exceptions`: as drivers with exception debugging report errors, else as older ones. */
static void start(int exceptions)
{
	char path[4096];

	setenv("SOFTGPU_EXCEPTIONS", exceptions ? "1" : "0", 1);
	hsa_harness_start(&harness);
	HSA_CHECK(hsa_amd_register_system_event_handler(note_fault, NULL));
	snprintf(path, sizeof(path), "%s/tests/softgpu/queue_kernels.hsaco",
		 getenv("H2D_BUILD_DIR"));
	executable = hsa_harness_load(&harness, path);
	memory = hsa_harness_allocate(&harness, 65536);
	arguments = hsa_harness_allocate(&harness, 4096);
	memset(memory, 0, 65536);
	memset(arguments, 0, 4096);
}

static void stop(void)
{
	HSA_CHECK(hsa_executable_destroy(executable));
	HSA_CHECK(hsa_amd_memory_pool_free(arguments));
	HSA_CHECK(hsa_amd_memory_pool_free(memory));
	hsa_harness_stop(&harness);
}

static hsa_kernel_dispatch_packet_t good_packet(const char *name, void *out, hsa_signal_t done)
{
	const struct hsa_harness_kernel kernel = hsa_harness_find(&harness, executable, name);

	arguments[0] = (uint64_t)(uintptr_t)out;
	return packets_dispatch(&kernel, PACKETS_ORDERED, 64, 64, arguments, done);
}

/*
 * The queue must report `status`; neither the packet nor its successor complete. Another queue
 * still works, and the broken one can be destroyed.
 */
static void expect(const void *packet, hsa_signal_t done, hsa_status_t status)
{
	const hsa_signal_t after = packets_signal(1, true);
	const hsa_barrier_and_packet_t next =
		packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, after);
	hsa_queue_t *other;
	int seen;

	packets_submit(harness.queue, packet);
	packets_submit(harness.queue, &next);
	seen = hsa_harness_wait_error(&harness, 10);
	ck_assert_msg(seen == (int)status, "the queue reports 0x%x, not 0x%x", (unsigned int)seen,
		      (unsigned int)status);
	packets_pause(2000);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	ck_assert_int_eq(hsa_signal_load_scacquire(after), 1);

	other = packets_queue(harness.gpu, 64);
	packets_submit(other, &next);
	packets_wait(after, 0);
	HSA_CHECK(hsa_queue_destroy(other));
	HSA_CHECK(hsa_signal_destroy(after));
}

struct packet_case {
	const char *name;
	hsa_status_t status;
	void (*spoil)(hsa_kernel_dispatch_packet_t *packet);
};

static void no_dimensions(hsa_kernel_dispatch_packet_t *packet)
{
	packet->setup = 0;
}

/* The order of the checks: dimensions before all else. */
static void reserved_dimensions_and_all_else(hsa_kernel_dispatch_packet_t *packet)
{
	packet->setup = 4;
	packet->workgroup_size_x = 0;
	packet->group_segment_size = UINT32_MAX;
	packet->kernel_object = 0;
}

static void no_grid(hsa_kernel_dispatch_packet_t *packet)
{
	packet->grid_size_x = 0;
}

static void no_workgroup(hsa_kernel_dispatch_packet_t *packet)
{
	packet->workgroup_size_x = 0;
}

static void large_workgroup(hsa_kernel_dispatch_packet_t *packet)
{
	packet->workgroup_size_x = 1025;
}

/* Workgroup size before group memory. */
static void large_workgroup_in_three_dimensions(hsa_kernel_dispatch_packet_t *packet)
{
	packet->setup = 3;
	packet->workgroup_size_x = 32;
	packet->workgroup_size_y = 32;
	packet->workgroup_size_z = 2;
	packet->group_segment_size = UINT32_MAX;
}

static void much_group_memory(hsa_kernel_dispatch_packet_t *packet)
{
	packet->group_segment_size = 65537;
}

/* A missing kernel object before group memory. */
static void no_kernel_object_and_much_group_memory(hsa_kernel_dispatch_packet_t *packet)
{
	packet->group_segment_size = 65537;
	packet->kernel_object = 0;
}

static void no_kernel_object(hsa_kernel_dispatch_packet_t *packet)
{
	packet->kernel_object = 0;
}

static void unmapped_kernel_object(hsa_kernel_dispatch_packet_t *packet)
{
	packet->kernel_object = 0x1000;
}

static void agent_dispatch(hsa_kernel_dispatch_packet_t *packet)
{
	packet->header = HSA_PACKET_TYPE_AGENT_DISPATCH;
}

static void unknown_type(hsa_kernel_dispatch_packet_t *packet)
{
	packet->header = 0xff;
}

static void unknown_vendor_format(hsa_kernel_dispatch_packet_t *packet)
{
	packet->header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
	packet->setup = 0x55;
}

static const struct packet_case packet_cases[] = {
	{"no dimensions", HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, no_dimensions},
	{"all wrong", HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, reserved_dimensions_and_all_else},
	{"no grid", HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, no_grid},
	{"no workgroup", HSA_STATUS_ERROR_INVALID_ARGUMENT, no_workgroup},
	{"large workgroup", HSA_STATUS_ERROR_INVALID_ARGUMENT, large_workgroup},
	{"large 3D", HSA_STATUS_ERROR_INVALID_ARGUMENT, large_workgroup_in_three_dimensions},
	{"group memory", HSA_STATUS_ERROR_INVALID_ALLOCATION, much_group_memory},
	{"no kernel, group memory", HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
	 no_kernel_object_and_much_group_memory},
	{"no kernel", HSA_STATUS_ERROR_INVALID_CODE_OBJECT, no_kernel_object},
	{"unmapped kernel", HSA_STATUS_ERROR_INVALID_CODE_OBJECT, unmapped_kernel_object},
	{"agent dispatch", HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, agent_dispatch},
	{"unknown type", HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, unknown_type},
	{"vendor format", HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, unknown_vendor_format},
};

#define PACKET_CASES ((int)(sizeof(packet_cases) / sizeof(packet_cases[0])))

START_TEST(invalid_packets_are_reported)
{
	const struct packet_case *test = &packet_cases[_i / 2];
	hsa_kernel_dispatch_packet_t packet;
	hsa_signal_t done;

	start(_i % 2);
	done = packets_signal(1, true);
	packet = good_packet("write_ids", memory, done);
	test->spoil(&packet);
	expect(&packet, done, test->status);
	for (unsigned int i = 0; i < 64; i++)
		ck_assert_uint_eq(memory[i], 0);
	HSA_CHECK(hsa_signal_destroy(done));
	stop();
}
END_TEST

START_TEST(wave_errors_are_reported)
{
	static const struct {
		const char *kernel;
		hsa_status_t status;
	} cases[] = {
		{"illegal", (hsa_status_t)HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION},
		{"trap", HSA_STATUS_ERROR_EXCEPTION},
	};
	hsa_kernel_dispatch_packet_t packet;
	hsa_signal_t done;

	start(_i % 2);
	done = packets_signal(1, true);
	packet = good_packet(cases[_i / 2].kernel, memory, done);
	expect(&packet, done, cases[_i / 2].status);
	/* What the kernel wrote before is there. */
	ck_assert_uint_eq(memory[0], 1);
	HSA_CHECK(hsa_signal_destroy(done));
	stop();
}
END_TEST

/* An error ends the queue's other kernels too. */
START_TEST(an_error_aborts_other_kernels_of_the_queue)
{
	hsa_kernel_dispatch_packet_t packet, endless;
	hsa_signal_t done, never;

	start(_i);
	done = packets_signal(1, true);
	never = packets_signal(1, true);
	endless = good_packet("endless", memory + 64, never);
	packets_submit(harness.queue, &endless);
	while (__atomic_load_n(&memory[64], __ATOMIC_ACQUIRE) == 0)
		packets_pause(1000);
	packet = good_packet("illegal", memory, done);
	packet.header &= (uint16_t) ~(1U << HSA_PACKET_HEADER_BARRIER);
	expect(&packet, done, (hsa_status_t)HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
	ck_assert_int_eq(hsa_signal_load_scacquire(never), 1);
	HSA_CHECK(hsa_signal_destroy(done));
	HSA_CHECK(hsa_signal_destroy(never));
	stop();
}
END_TEST

static void wait_for_fault(const void *address)
{
	const uint64_t page = (uint64_t)(uintptr_t)address & ~UINT64_C(0xfff);

	for (unsigned int i = 0; i < 10000 && atomic_load(&fault_address) == 0; i++)
		packets_pause(1000);
	ck_assert_uint_eq(atomic_load(&fault_address), page);
	ck_assert_uint_eq(atomic_load(&fault_agent), harness.gpu.handle);
	ck_assert_uint_eq(atomic_load(&fault_reason), HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
}

static void *unmapped_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	return page;
}

START_TEST(a_kernel_faults_on_memory_of_the_host_alone)
{
	hsa_kernel_dispatch_packet_t packet;
	hsa_signal_t done;
	uint32_t *page;

	start(_i);
	page = unmapped_page();
	done = packets_signal(1, true);
	packet = good_packet("write_ids", page + 100, done);
	packets_submit(harness.queue, &packet);
	wait_for_fault(page);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	ck_assert_uint_eq(page[100], 0);
	HSA_CHECK(hsa_signal_destroy(done));
	stop();
}
END_TEST

START_TEST(a_copy_faults_on_memory_of_the_host_alone)
{
	uint8_t *page;
	hsa_signal_t done;

	start(_i);
	page = unmapped_page();
	done = packets_signal(1, true);
	HSA_CHECK(hsa_amd_memory_async_copy(page + 8, harness.gpu, memory, harness.gpu, 64, 0, NULL,
					    done));
	wait_for_fault(page);
	packets_pause(2000);
	ck_assert_int_eq(hsa_signal_load_scacquire(done), 1);
	HSA_CHECK(hsa_signal_destroy(done));
	stop();
}
END_TEST

/* A completion signal that the GPU cannot reach halts its queue, after a kernel and after none. */
START_TEST(a_completion_signal_of_the_host_alone_faults)
{
	hsa_kernel_dispatch_packet_t packet;
	hsa_barrier_and_packet_t next;
	hsa_signal_t unmapped, after;
	void *page;

	start(_i % 2);
	after = packets_signal(1, true);
	page = unmapped_page();
	unmapped.handle = (uint64_t)(uintptr_t)page;
	if (_i < 2) {
		packet = good_packet("write_ids", memory, unmapped);
		packets_submit(harness.queue, &packet);
	} else {
		next = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0,
				       unmapped);
		packets_submit(harness.queue, &next);
	}
	next = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, after);
	packets_submit(harness.queue, &next);
	wait_for_fault(page);
	packets_pause(2000);
	ck_assert_int_eq(hsa_signal_load_scacquire(after), 1);
	HSA_CHECK(hsa_signal_destroy(after));
	stop();
}
END_TEST

static hsa_status_t find_other_gpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	HSA_CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU && agent.handle != harness.gpu.handle)
		*(hsa_agent_t *)data = agent;
	return HSA_STATUS_SUCCESS;
}

/*
 * By the time a fault is reported all queues of its GPU stand still, also one that runs a kernel,
 * one that waits, one that has nothing to do, and the DMA engine; those of another GPU go on.
 */
START_TEST(a_fault_stops_all_queues_of_its_gpu)
{
	hsa_signal_t gate, never, waited, rung, copied, elsewhere;
	hsa_kernel_dispatch_packet_t packet, endless;
	hsa_barrier_and_packet_t barrier;
	hsa_queue_t *running, *waiting, *idle, *other;
	hsa_agent_t other_gpu = {0};
	void *page;

	setenv("SOFTGPU_GPUS", "2", 1);
	start(_i);
	HSA_CHECK(hsa_iterate_agents(find_other_gpu, &other_gpu));
	ck_assert_uint_ne(other_gpu.handle, 0);
	gate = packets_signal(1, true);
	never = packets_signal(1, true);
	waited = packets_signal(1, true);
	rung = packets_signal(1, true);
	copied = packets_signal(1, true);
	elsewhere = packets_signal(1, true);
	running = packets_queue(harness.gpu, 64);
	waiting = packets_queue(harness.gpu, 64);
	idle = packets_queue(harness.gpu, 64);
	other = packets_queue(other_gpu, 64);

	endless = good_packet("endless", memory + 64, never);
	packets_submit(running, &endless);
	while (__atomic_load_n(&memory[64], __ATOMIC_ACQUIRE) == 0)
		packets_pause(1000);
	barrier = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, &gate, 1, waited);
	packets_submit(waiting, &barrier);
	barrier.completion_signal = elsewhere;
	packets_submit(other, &barrier);
	memory[128] = 7;
	HSA_CHECK(hsa_amd_memory_async_copy(memory + 256, harness.gpu, memory + 128, harness.gpu, 4,
					    1, &gate, copied));

	page = unmapped_page();
	packet = good_packet("write_ids", page, never);
	packets_submit(harness.queue, &packet);
	wait_for_fault(page);
	hsa_signal_store_screlease(gate, 0);
	barrier = packets_barrier(HSA_PACKET_TYPE_BARRIER_AND, PACKETS_ORDERED, NULL, 0, rung);
	packets_submit(idle, &barrier);
	packets_wait(elsewhere, 0);
	packets_pause(20000);
	ck_assert_int_eq(hsa_signal_load_scacquire(never), 1);
	ck_assert_int_eq(hsa_signal_load_scacquire(waited), 1);
	ck_assert_int_eq(hsa_signal_load_scacquire(rung), 1);
	ck_assert_int_eq(hsa_signal_load_scacquire(copied), 1);
	ck_assert_uint_eq(memory[256], 0);
	HSA_CHECK(hsa_queue_destroy(running));
	HSA_CHECK(hsa_queue_destroy(waiting));
	HSA_CHECK(hsa_queue_destroy(idle));
	HSA_CHECK(hsa_queue_destroy(other));
	for (unsigned int i = 0; i < 6; i++)
		HSA_CHECK(hsa_signal_destroy(
			(hsa_signal_t[]){gate, never, waited, rung, copied, elsewhere}[i]));
	stop();
}
END_TEST

START_TEST(a_freed_buffer_faults)
{
	hsa_kernel_dispatch_packet_t packet;
	hsa_signal_t done;
	void *freed;

	start(_i);
	done = packets_signal(1, true);
	freed = hsa_harness_allocate_device(&harness, 8 << 20);
	packet = good_packet("write_ids", freed, done);
	packets_submit(harness.queue, &packet);
	packets_wait(done, 0);
	HSA_CHECK(hsa_amd_memory_pool_free(freed));
	hsa_signal_store_relaxed(done, 1);
	packets_submit(harness.queue, &packet);
	wait_for_fault(freed);
	HSA_CHECK(hsa_signal_destroy(done));
	stop();
}
END_TEST

static Suite *errors_suite(void)
{
	Suite *suite = suite_create("errors");
	TCase *errors = tcase_create("errors");

	tcase_set_timeout(errors, 30);
	tcase_add_loop_test(errors, invalid_packets_are_reported, 0, 2 * PACKET_CASES);
	tcase_add_loop_test(errors, wave_errors_are_reported, 0, 4);
	tcase_add_loop_test(errors, an_error_aborts_other_kernels_of_the_queue, 0, 2);
	tcase_add_loop_test(errors, a_kernel_faults_on_memory_of_the_host_alone, 0, 2);
	tcase_add_loop_test(errors, a_copy_faults_on_memory_of_the_host_alone, 0, 2);
	tcase_add_loop_test(errors, a_completion_signal_of_the_host_alone_faults, 0, 4);
	tcase_add_loop_test(errors, a_fault_stops_all_queues_of_its_gpu, 0, 2);
	tcase_add_loop_test(errors, a_freed_buffer_faults, 0, 2);
	suite_add_tcase(suite, errors);
	return suite;
}

int main(void)
{

	if (hsa_harness_skip_on_hardware())
		return EXIT_SUCCESS;
	return run_suite(errors_suite());
}
