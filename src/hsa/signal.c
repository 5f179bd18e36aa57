/* SPDX-License-Identifier: MIT */
/* Signals and the bounded wait that everything else is built on. */
#include "hsa/device_state.h"

#include <inttypes.h>
#include <time.h>

#include "error.h"
#include "hsa/hsa_error.h"

/*
 * A wait looks at queue and device failures this often. The runtime spins for about 0.2 ms of each
 * slice before it blocks, so a shorter slice would burn processor time.
 */
#define SLICE_NS UINT64_C(5000000)

/* A signal without interrupt is looked at this often. */
#define NAP_NS 50000

uint64_t h2d_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t h2d_deadline(uint64_t timeout_ns)
{
	uint64_t now = h2d_clock_ns();

	return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

h2d_status_t h2d_device_create_signal(h2d_device_t *device, hsa_signal_value_t initial,
				      hsa_signal_t *signal)
{
	(void)device;
	hsa_status_t hsa =
	    hsa_amd_signal_create(initial, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, signal);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_signal_create");
	return H2D_STATUS_SUCCESS;
}

h2d_status_t h2d_device_create_host_signal(h2d_device_t *device, hsa_signal_value_t initial,
					   hsa_signal_t *signal)
{
	(void)device;
	hsa_status_t hsa = hsa_amd_signal_create(initial, 0, NULL, 0, signal);
	if (hsa != HSA_STATUS_SUCCESS)
		return h2d_hsa_error(hsa, "hsa_amd_signal_create");
	return H2D_STATUS_SUCCESS;
}

void h2d_device_destroy_signal(hsa_signal_t signal)
{
	if (signal.handle != 0)
		hsa_signal_destroy(signal);
}

/* Relaxed: the packet or the copy that uses the signal is published later, with release. */
void h2d_device_store_signal(hsa_signal_t signal, hsa_signal_value_t value)
{
	hsa_signal_store_relaxed(signal, value);
}

void h2d_device_add_signal(hsa_signal_t signal, hsa_signal_value_t value)
{
	hsa_signal_add_relaxed(signal, value);
}

static uint64_t ticks(const h2d_device_t *device, uint64_t ns)
{
	return (uint64_t)((double)ns * 1e-9 * (double)device->timestamp_frequency) + 1;
}

/* Blocks for a slice of time; the runtime's own wait is made for signals with an interrupt. */
static void block(const h2d_device_t *device, hsa_signal_t signal, enum h2d_signal_kind kind,
		  hsa_signal_value_t limit, uint64_t slice_ns)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	if (kind == H2D_SIGNAL_HOST)
		hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_LT, limit,
					ticks(device, slice_ns), HSA_WAIT_STATE_BLOCKED);
	else
		nanosleep(&nap, NULL);
}

enum h2d_wait_result h2d_signal_wait_below(const h2d_device_t *device, hsa_signal_t signal,
					   enum h2d_signal_kind kind, hsa_signal_value_t limit,
					   uint64_t deadline, bool (*failed)(const void *context),
					   const void *context)
{
	/* Acquire pairs with the release of the packet or DMA that decrements the signal. */
	while (hsa_signal_load_scacquire(signal) >= limit) {
		if (failed(context))
			return H2D_WAIT_FAILED;
		uint64_t now = h2d_clock_ns();
		if (now >= deadline)
			return H2D_WAIT_TIMEOUT;
		block(device, signal, kind, limit,
		      deadline - now < SLICE_NS ? deadline - now : SLICE_NS);
	}
	return H2D_WAIT_DONE;
}

static bool never_fails(const void *context)
{
	(void)context;
	return false;
}

h2d_status_t h2d_device_wait_signal(h2d_device_t *device, hsa_signal_t signal, uint64_t timeout_ns,
				    const char *what)
{
	if (h2d_signal_wait_below(device, signal, H2D_SIGNAL_GPU, 1, h2d_deadline(timeout_ns),
				  never_fails, NULL) == H2D_WAIT_DONE)
		return H2D_STATUS_SUCCESS;
	return h2d_error(H2D_STATUS_TIMEOUT, "%s: its copies did not end within %" PRIu64 " ns",
			 what, timeout_ns);
}
