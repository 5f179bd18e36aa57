/* SPDX-License-Identifier: MIT */
/*
 * Sees, and on request fails, the asynchronous copies that the library asks the runtime for: a
 * definition in the program comes before the runtime's own.
 */
#include "copy_spy.h"

#include <dlfcn.h>

#include <hsa/hsa_ext_amd.h>

struct copy_spy copy_spy;

typedef hsa_status_t copy_function(void *, hsa_agent_t, const void *, hsa_agent_t, size_t, uint32_t,
				   const hsa_signal_t *, hsa_signal_t);

__attribute__((visibility("default"))) hsa_status_t
hsa_amd_memory_async_copy(void *destination, hsa_agent_t destination_agent, const void *source,
			  hsa_agent_t source_agent, size_t size, uint32_t dependency_count,
			  const hsa_signal_t *dependencies, hsa_signal_t completion)
{
	static copy_function *real;
	hsa_status_t status;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "hsa_amd_memory_async_copy");
	copy_spy.calls++;
	copy_spy.source = source;
	copy_spy.destination = destination;
	copy_spy.size = size;
	if (copy_spy.calls == copy_spy.fail_at)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	status = real(destination, destination_agent, source, source_agent, size, dependency_count,
		      dependencies, completion);
	if (copy_spy.after)
		copy_spy.after();
	return status;
}
