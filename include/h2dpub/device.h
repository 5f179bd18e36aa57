/* SPDX-License-Identifier: MIT */
/*
 * Devices: one AMD GPU seen through the HSA runtime, its memory and its code objects.
 *
 * Threading: any thread may call these functions at any time. Only closing a device, freeing memory
 * and unloading a code object must not race with other uses of the same.
 */
#ifndef H2DPUB_DEVICE_H
#define H2DPUB_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>

#include <h2dpub/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The default of every bounded wait: 10 s. */
#define H2D_DEFAULT_TIMEOUT_NS UINT64_C(10000000000)

typedef struct h2d_device h2d_device_t;
typedef struct h2d_code_object h2d_code_object_t;

typedef struct h2d_device_info {
	char name[64];           /* the agent's name, such as "gfx90a" */
	char product_name[64];   /* the marketing name */
	char isa[64];            /* such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" */
	uint32_t index;          /* of this GPU among those of the HSA runtime */
	uint32_t compute_units;
	uint32_t wavefront_size; /* lanes */
	uint64_t memory_bytes;   /* size of the device memory pool */
	hsa_agent_t agent;
} h2d_device_info_t;

/* A kernel of a code object, as dispatch packets name it. Valid while its code object is. */
typedef struct h2d_kernel {
	uint64_t object;                /* hsa_kernel_dispatch_packet_t.kernel_object */
	uint32_t kernel_arguments_size; /* bytes */
	uint32_t group_segment_size;    /* bytes of LDS per workgroup, static */
	uint32_t private_segment_size;  /* bytes of scratch per work-item */
} h2d_kernel_t;

/*
 * Counts the GPUs of the HSA runtime: h2d_device_open() takes the indices below it, and tells which
 * of them can run h2dpub's kernels. Initialises and shuts down the runtime (hsa_init is reference
 * counted). H2D_STATUS_HSA_ERROR if the runtime does not start.
 */
H2D_API h2d_status_t h2d_device_count(uint32_t *count);

/*
 * Opens the GPU with this index: initialises the runtime, chooses its memory pools (device memory;
 * fine-grained system memory and kernel-argument memory of the CPU agent nearest to it), loads the
 * embedded code object of its ISA and creates its first copy queue, so that no later publication
 * pays for it. Call it in the process that uses the GPU: the runtime does not survive fork().
 *
 * The first device that is opened also asks the runtime to report memory faults to h2dpub instead
 * of ending the process; if the application registered a handler before, that one stays and should
 * call h2d_device_notify_memory_fault(). Where HSA_ENABLE_INTERRUPT=0 is set the runtime reports no
 * memory faults; waits then end by their timeouts.
 *
 * NO_DEVICE: no GPU has this index. NOT_SUPPORTED: no embedded code object fits its ISA (the
 * message lists those there are). OUT_OF_MEMORY, HSA_ERROR, TIMEOUT: the runtime refused.
 */
H2D_API h2d_status_t h2d_device_open(uint32_t index, h2d_device_t **device);

/*
 * Closes a device. INVALID_STATE while streams, owners, code objects or memory of it are left (the
 * message says what). NULL is allowed.
 */
H2D_API h2d_status_t h2d_device_close(h2d_device_t *device);

/* Describes an open device. */
H2D_API h2d_status_t h2d_device_get_info(const h2d_device_t *device, h2d_device_info_t *info);

/*
 * Allocates zeroed pinned system memory that the GPU reads directly: fine-grained, from the CPU
 * agent nearest to the GPU, at least 4096-byte aligned. size in bytes, > 0.
 * Free with h2d_device_free() once no GPU work can touch it. OUT_OF_MEMORY, HSA_ERROR.
 */
H2D_API h2d_status_t h2d_device_allocate_host(h2d_device_t *device, size_t size, void **memory);

/*
 * Allocates zeroed device memory, at least 4096-byte aligned, which the host must not touch. Waits
 * (bounded) until it is zeroed. size in bytes, > 0. OUT_OF_MEMORY, TIMEOUT, MEMORY_FAULT,
 * HSA_ERROR; INVALID_STATE: an earlier transfer timed out and still runs.
 */
H2D_API h2d_status_t h2d_device_allocate(h2d_device_t *device, size_t size, void **memory);

/* Frees memory of either kind. INVALID_ARGUMENT: not allocated by this device. NULL is allowed. */
H2D_API h2d_status_t h2d_device_free(h2d_device_t *device, void *memory);

/*
 * Copies size bytes from device memory to ordinary host memory, and back: set-up, tests and
 * read-back, not for the publication path. Blocks until done, at most timeout_ns nanoseconds.
 * Not ordered with any queue: synchronize the stream before a read, so that what its kernels wrote
 * has left their caches, and after a write, so that its later kernels do not find old bytes in
 * theirs. TIMEOUT: the copy may still be running; until it ends the device's staging memory is
 * taken, and these calls and h2d_device_allocate() return INVALID_STATE. MEMORY_FAULT;
 * INVALID_ARGUMENT: not that much memory of this device.
 */
H2D_API h2d_status_t h2d_device_read(h2d_device_t *device, void *destination, const void *source,
				     size_t size, uint64_t timeout_ns);
H2D_API h2d_status_t h2d_device_write(h2d_device_t *device, void *destination, const void *source,
				      size_t size, uint64_t timeout_ns);

/*
 * Finds a kernel of the library's own embedded code object, such as "h2d_kv_indices".
 * NOT_FOUND: it has no kernel of that name.
 */
H2D_API h2d_status_t h2d_device_get_kernel(const h2d_device_t *device, const char *name,
					   h2d_kernel_t *kernel);

/*
 * Loads a code object (an ELF file for AMD GPUs in memory) and finds its kernels by name. The bytes
 * may be freed after loading. Unload it once no GPU work can run its kernels. NOT_SUPPORTED: it
 * was built for another ISA. INVALID_ARGUMENT: no ELF file. HSA_ERROR: the runtime refuses it.
 * OUT_OF_MEMORY. NOT_FOUND: it has no kernel of that name. Unloading NULL is allowed.
 */
H2D_API h2d_status_t h2d_code_object_load(h2d_device_t *device, const void *bytes, size_t size,
					  h2d_code_object_t **code_object);
H2D_API h2d_status_t h2d_code_object_get_kernel(const h2d_code_object_t *code_object,
						const char *name, h2d_kernel_t *kernel);
H2D_API h2d_status_t h2d_code_object_unload(h2d_code_object_t *code_object);

/*
 * For applications that own the runtime's system event handler: tells h2dpub that this agent
 * faulted at this address. Every wait on the device then ends in H2D_STATUS_MEMORY_FAULT. May be
 * called from the runtime's event thread.
 */
H2D_API void h2d_device_notify_memory_fault(hsa_agent_t agent, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
