// SPDX-License-Identifier: MIT
// The fault library. C++ because the runtime's own table header (hsa_api_trace.h) is.
#define AMD_INTERNAL_BUILD // makes the header include its neighbours without a prefix
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "hsa_faults.h"

namespace
{

struct function {
	const char *name;
	hsa_faults_kind kind; // of the objects that it makes or destroys
	int change;           // of the number of these objects when it succeeds
};

constexpr unsigned int max_functions = 64;
function functions[max_functions + 1];
unsigned int function_count;
std::atomic<int64_t> objects[HSA_FAULTS_KINDS];

// The armed fault. The runtime's own threads call hsa_* too, so all of it is behind one lock.
std::mutex lock;
const char *armed_function;
uint64_t calls_left;
hsa_status_t armed_status;
bool has_fired;

// The status with which this call is to fail, or success.
hsa_status_t fault_of(const char *name)
{
	std::lock_guard<std::mutex> guard(lock);

	if (!armed_function || std::strcmp(armed_function, name) != 0 || has_fired ||
	    --calls_left != 0)
		return HSA_STATUS_SUCCESS;
	has_fired = true;
	return armed_status;
}

// Puts a wrapper around one entry of a table. Each index is a different instance of the template,
// so that a plain function pointer finds its own original.
template <unsigned int index, typename... Arguments>
void wrap(hsa_status_t (*&entry)(Arguments...), const char *name,
	  hsa_faults_kind kind = HSA_FAULTS_KINDS, int change = 0)
{
	static hsa_status_t (*original)(Arguments...);

	static_assert(index < max_functions, "the table of functions is full");
	original = entry;
	functions[index] = {name, kind, change};
	if (index >= function_count)
		function_count = index + 1;
	entry = [](Arguments... arguments) -> hsa_status_t {
		hsa_status_t status = fault_of(functions[index].name);

		if (status == HSA_STATUS_SUCCESS) {
			status = original(arguments...);
			if (status == HSA_STATUS_SUCCESS && functions[index].change)
				objects[functions[index].kind] += functions[index].change;
		}
		return status;
	};
}

#define WRAP(table, name, ...) wrap<__COUNTER__>((table)->name##_fn, #name, ##__VA_ARGS__)

void wrap_core(CoreApiTable *core)
{
	WRAP(core, hsa_agent_get_info);
	WRAP(core, hsa_agent_iterate_isas);
	WRAP(core, hsa_code_object_reader_create_from_memory, HSA_FAULTS_CODE_OBJECT_READERS, 1);
	WRAP(core, hsa_code_object_reader_destroy, HSA_FAULTS_CODE_OBJECT_READERS, -1);
	WRAP(core, hsa_executable_create_alt, HSA_FAULTS_EXECUTABLES, 1);
	WRAP(core, hsa_executable_destroy, HSA_FAULTS_EXECUTABLES, -1);
	WRAP(core, hsa_executable_freeze);
	WRAP(core, hsa_executable_get_symbol_by_name);
	WRAP(core, hsa_executable_load_agent_code_object);
	WRAP(core, hsa_executable_symbol_get_info);
	WRAP(core, hsa_isa_get_info_alt);
	WRAP(core, hsa_iterate_agents);
	WRAP(core, hsa_queue_create, HSA_FAULTS_QUEUES, 1);
	WRAP(core, hsa_queue_destroy, HSA_FAULTS_QUEUES, -1);
	WRAP(core, hsa_signal_create, HSA_FAULTS_SIGNALS, 1);
	WRAP(core, hsa_signal_destroy, HSA_FAULTS_SIGNALS, -1);
	WRAP(core, hsa_system_get_info);
}

void wrap_amd(AmdExtTable *amd)
{
	WRAP(amd, hsa_amd_agent_iterate_memory_pools);
	WRAP(amd, hsa_amd_agent_memory_pool_get_info);
	WRAP(amd, hsa_amd_agents_allow_access);
	WRAP(amd, hsa_amd_memory_async_copy);
	WRAP(amd, hsa_amd_memory_fill);
	WRAP(amd, hsa_amd_memory_pool_allocate, HSA_FAULTS_MEMORY, 1);
	WRAP(amd, hsa_amd_memory_pool_free, HSA_FAULTS_MEMORY, -1);
	WRAP(amd, hsa_amd_memory_pool_get_info);
	WRAP(amd, hsa_amd_pointer_info);
	WRAP(amd, hsa_amd_register_system_event_handler);
	WRAP(amd, hsa_amd_signal_create, HSA_FAULTS_SIGNALS, 1);
}

bool arm(const char *name, uint64_t nth, hsa_status_t status)
{
	std::lock_guard<std::mutex> guard(lock);

	for (unsigned int i = 0; i < function_count; i++) {
		if (std::strcmp(functions[i].name, name) != 0)
			continue;
		armed_function = functions[i].name;
		calls_left = nth;
		armed_status = status;
		has_fired = false;
		return true;
	}
	return false;
}

void disarm()
{
	std::lock_guard<std::mutex> guard(lock);

	armed_function = nullptr;
}

bool fired()
{
	std::lock_guard<std::mutex> guard(lock);

	return has_fired;
}

const char *function_at(unsigned int index)
{
	return index < function_count ? functions[index].name : nullptr;
}

int64_t outstanding(hsa_faults_kind kind)
{
	return objects[kind];
}

void forget()
{
	for (auto &count : objects)
		count = 0;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) const hsa_faults *hsa_faults_interface(void)
{
	static const hsa_faults interface = {arm, disarm, fired, function_at, outstanding, forget};

	return &interface;
}

// The runtime's entry points of a tools library.
__attribute__((visibility("default"))) bool OnLoad(HsaApiTable *table, uint64_t, uint64_t,
						   const char *const *)
{
	wrap_core(table->core_);
	wrap_amd(table->amd_ext_);
	return true;
}

__attribute__((visibility("default"))) void OnUnload(void)
{
}
}
