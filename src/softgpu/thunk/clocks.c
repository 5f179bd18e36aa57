/* SPDX-License-Identifier: MIT */
/* Clock counters of the host and the GPUs. */
#include "device.h"

#include "../queue/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 NodeId, HsaClockCounters *Counters)
{
	SOFTGPU_REQUIRE_OPEN();
	if (!Counters)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (NodeId > softgpu_device()->options.gpus)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	/* The runtime relates timestamps of signals, which are GPU time, to its system time. */
	Counters->GPUClockCounter = softgpu_clock_now();
	Counters->CPUClockCounter = read_clock(CLOCK_MONOTONIC_RAW);
	Counters->SystemClockCounter = read_clock(CLOCK_BOOTTIME);
	Counters->SystemClockFrequencyHz = 1000000000;
	return HSAKMT_STATUS_SUCCESS;
}
