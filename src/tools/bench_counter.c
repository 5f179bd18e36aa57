/* SPDX-License-Identifier: MIT */
/* Instructions as the processor counts them. */
#include "config.h"

#include "bench_counter.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int instruction_counter_open(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void instruction_counter_close(int counter)
{
	if (counter >= 0)
		close(counter);
}

uint64_t instruction_counter_read(int counter)
{
	uint64_t count = 0;

	if (counter < 0 || read(counter, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count;
}

bool instruction_counter_exists(void)
{
	int counter = instruction_counter_open();

	instruction_counter_close(counter);
	return counter >= 0;
}
