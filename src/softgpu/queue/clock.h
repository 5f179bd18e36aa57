/* SPDX-License-Identifier: MIT */
/* The clock of the GPU: timestamps of signals and of the kernel driver count nanoseconds of it. */
#ifndef SOFTGPU_QUEUE_CLOCK_H
#define SOFTGPU_QUEUE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SOFTGPU_CLOCK_FREQUENCY UINT64_C(1000000000)

static inline uint64_t softgpu_clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SOFTGPU_CLOCK_FREQUENCY + (uint64_t)now.tv_nsec;
}

#endif
