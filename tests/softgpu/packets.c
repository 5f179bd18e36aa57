/* SPDX-License-Identifier: MIT */
/* AQL packets written by hand. */
#include "packets.h"

#include <check.h>
#include <sched.h>
#include <string.h>
#include <time.h>

hsa_signal_t packets_signal(hsa_signal_value_t value, bool interrupt)
{
	hsa_signal_t signal;

	HSA_CHECK(hsa_amd_signal_create(value, 0, NULL, interrupt ? 0 : HSA_AMD_SIGNAL_AMD_GPU_ONLY,
					&signal));
	return signal;
}

void packets_wait(hsa_signal_t signal, hsa_signal_value_t value)
{
	uint64_t frequency;
	hsa_signal_value_t seen;

	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	seen = hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, value, 60 * frequency,
					 HSA_WAIT_STATE_BLOCKED);
	ck_assert_msg(seen == value, "the signal is %ld after a minute, not %ld", (long)seen,
		      (long)value);
}

void packets_poll(hsa_signal_t signal, hsa_signal_value_t value)
{
	const time_t deadline = time(NULL) + 60;

	while (hsa_signal_load_scacquire(signal) != value) {
		ck_assert_msg(time(NULL) <= deadline,
			      "the signal is %ld after a minute, not %ld",
			      (long)hsa_signal_load_relaxed(signal), (long)value);
		sched_yield();
	}
}

void packets_pause(long microseconds)
{
	const struct timespec time = {.tv_sec = microseconds / 1000000,
				      .tv_nsec = microseconds % 1000000 * 1000};

	nanosleep(&time, NULL);
}

hsa_queue_t *packets_queue(hsa_agent_t gpu, uint32_t size)
{
	hsa_queue_t *queue;

	HSA_CHECK(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
				   UINT32_MAX, &queue));
	return queue;
}

uint64_t packets_reserve(hsa_queue_t *queue)
{
	const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		sched_yield();
	return index;
}

void packets_write(hsa_queue_t *queue, uint64_t index, const void *packet)
{
	uint8_t *slot = (uint8_t *)queue->base_address + (index & (queue->size - 1)) * 64;
	uint32_t first;

	memcpy(&first, packet, sizeof(first));
	memcpy(slot + 4, (const uint8_t *)packet + 4, 60);
	/* Pairs with the packet processor's acquire load of the header. */
	__atomic_store_n((uint32_t *)(void *)slot, first, __ATOMIC_RELEASE);
}

void packets_ring(hsa_queue_t *queue, uint64_t index)
{
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void packets_submit(hsa_queue_t *queue, const void *packet)
{
	const uint64_t index = packets_reserve(queue);

	packets_write(queue, index, packet);
	packets_ring(queue, index);
}

hsa_barrier_and_packet_t packets_barrier(uint16_t type, unsigned int header_bits,
					 const hsa_signal_t *dependencies, unsigned int count,
					 hsa_signal_t completion)
{
	hsa_barrier_and_packet_t packet = {
		.header = (uint16_t)(type << HSA_PACKET_HEADER_TYPE | header_bits),
		.completion_signal = completion,
	};

	for (unsigned int i = 0; i < count; i++)
		packet.dep_signal[i] = dependencies[i];
	return packet;
}

hsa_kernel_dispatch_packet_t packets_dispatch(const struct hsa_harness_kernel *kernel,
					      unsigned int header_bits, uint32_t grid,
					      uint16_t workgroup, void *arguments,
					      hsa_signal_t completion)
{
	return (hsa_kernel_dispatch_packet_t){
		.header = (uint16_t)(HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
				     header_bits),
		.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
		.workgroup_size_x = workgroup,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = grid,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.private_segment_size = kernel->private_segment_size,
		.group_segment_size = kernel->group_segment_size,
		.kernel_object = kernel->object,
		.kernarg_address = arguments,
		.completion_signal = completion,
	};
}
