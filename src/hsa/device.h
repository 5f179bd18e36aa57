/* SPDX-License-Identifier: MIT */
/*
 * What src/publish sees of a device: signals, DMA copies, kernel-argument memory, checks of the
 * caller's pointers. Only src/hsa calls hsa_*.
 */
#ifndef H2DPUB_SRC_HSA_DEVICE_H
#define H2DPUB_SRC_HSA_DEVICE_H

#include <h2dpub/device.h>

/*
 * A signal on which the host never blocks in the kernel: made without interrupt (AMD_GPU_ONLY), so
 * that DMA engines send no trap packet for it.
 */
h2d_status_t h2d_device_create_signal(h2d_device_t *device, hsa_signal_value_t initial,
				      hsa_signal_t *signal);

/* A signal on which the host waits: made with an interrupt. */
h2d_status_t h2d_device_create_host_signal(h2d_device_t *device, hsa_signal_value_t initial,
					   hsa_signal_t *signal);
void h2d_device_destroy_signal(hsa_signal_t signal);

/* Stores to a signal that nobody decrements at the moment; adds to one that somebody may. */
void h2d_device_store_signal(hsa_signal_t signal, hsa_signal_value_t value);
void h2d_device_add_signal(hsa_signal_t signal, hsa_signal_value_t value);

/*
 * Waits until signal (of h2d_device_create_signal()) is at most 0, at most timeout_ns, whatever
 * became of queues and device: for copies that outlive the queue they belong to. TIMEOUT; what
 * names the object in the message.
 */
h2d_status_t h2d_device_wait_signal(h2d_device_t *device, hsa_signal_t signal, uint64_t timeout_ns,
				    const char *what);

/*
 * One asynchronous host-to-device copy of size > 0 bytes: starts when dependency (handle 0: none)
 * is 0, decrements completion by 1 when the bytes have landed.
 */
h2d_status_t h2d_device_copy_async(h2d_device_t *device, void *destination, const void *source,
				   size_t size, hsa_signal_t dependency, hsa_signal_t completion);

/* Zeroed memory for kernel arguments, written by the host and read by the GPU. Freed by
 * h2d_device_free(). */
h2d_status_t h2d_device_allocate_kernel_arguments(h2d_device_t *device, size_t size, void **memory);

/*
 * Checks that [memory, memory + size) is pinned system memory that this GPU may read, or memory of
 * this GPU. INVALID_ARGUMENT with a message that says what it is instead (name: the buffer).
 */
h2d_status_t h2d_device_check_host_memory(h2d_device_t *device, const char *name,
					  const void *memory, size_t size);
h2d_status_t h2d_device_check_device_memory(h2d_device_t *device, const char *name,
					    const void *memory, size_t size);

/* Counts an object that keeps the device open (streams, owners, ...), and takes it back. */
void h2d_device_retain(h2d_device_t *device);
void h2d_device_release(h2d_device_t *device);

/* The address of a memory fault on this device, if there was one. */
bool h2d_device_faulted(const h2d_device_t *device, uint64_t *address);

#endif
