/* SPDX-License-Identifier: MIT */
/*
 * Data memory access of waves: translation, faults, lane loops and atomics.
 *
 * The host and other waves access the same memory at the same time. Aligned accesses of up to 8
 * bytes are single host accesses; ordering between them comes from softgpu_memory_fence() and from
 * atomics, which are sequentially consistent. With the cache model (../cache.h) plain accesses go
 * through the workgroup's L2.
 */
#include "memory_access.h"

#include "../cache.h"
#include "kernel.h"
#include "lane_bytes.h"
#include "workgroup.h"

#include <inttypes.h>

static uint8_t *host_pointer(const struct softgpu_translation *translation, uint64_t address)
{
	return (uint8_t *)(uintptr_t)(address + (uint64_t)translation->host_offset);
}

/* Forgets all translations if something was unmapped since they were made. */
static void check_generation(struct softgpu_wave *wave)
{
	struct softgpu_translation_cache *cache = wave->translations;
	/* Pairs with the release increment of the memory's owner after an unmap. */
	uint64_t generation = __atomic_load_n(
		(const uint64_t *)wave->workgroup->kernel->memory->generation, __ATOMIC_ACQUIRE);

	if (cache->generation == generation)
		return;
	memset(cache, 0, sizeof(*cache));
	cache->generation = generation;
}

/* The range that holds `address`, NULL if none. */
static const struct softgpu_translation *find_translation(struct softgpu_wave *wave,
							  uint64_t address)
{
	struct softgpu_translation_cache *cache = wave->translations;
	const struct softgpu_memory *memory = wave->workgroup->kernel->memory;
	struct softgpu_translation *entry;

	for (unsigned int i = 0; i < SOFTGPU_TRANSLATIONS; i++) {
		entry = &cache->entry[i];
		if (address - entry->begin < entry->end - entry->begin)
			return entry;
	}
	entry = &cache->entry[cache->next];
	if (!memory->translate(memory->context, address, entry)) {
		memset(entry, 0, sizeof(*entry));
		return NULL;
	}
	cache->next = (cache->next + 1) % SOFTGPU_TRANSLATIONS;
	return entry;
}

static bool memory_fault(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint64_t address, bool write, const char *reason)
{
	softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_MEMORY,
			   "%s: %s of address 0x%" PRIx64 ": %s", instruction->operation->name,
			   write ? "write" : "read", address, reason);
	wave->workgroup->fault.address = address;
	wave->workgroup->fault.write = write;
	return false;
}

/* The range for an access at `address`; NULL after a fault. */
static const struct softgpu_translation *require(struct softgpu_wave *wave,
						 const struct softgpu_instruction *instruction,
						 uint64_t address, bool write)
{
	const struct softgpu_translation *entry = find_translation(wave, address);

	if (entry == NULL) {
		memory_fault(wave, instruction, address, write, "not mapped");
		return NULL;
	}
	if (write ? !entry->writable : !entry->readable) {
		memory_fault(wave, instruction, address, write,
			     write ? "not writable" : "not readable");
		return NULL;
	}
	return entry;
}

/*
 * Kernel-argument memory is not cached in L2. Kernels may find more there than their descriptor
 * declares, so a page behind the argument pointer counts.
 */
#define KERNARG_WINDOW 4096

/*
 * The cache model for accesses of this instruction at `address`; NULL: they go to memory itself, as
 * system-coherent accesses and those of kernel arguments do.
 */
static struct softgpu_cache *cache_for(const struct softgpu_wave *wave,
				       const struct softgpu_instruction *instruction,
				       uint64_t address)
{
	const struct softgpu_kernel *kernel = wave->workgroup->kernel;
	struct softgpu_cache *cache = kernel->memory->cache;

	if (cache == NULL || instruction->memory_flags & SOFTGPU_SCC ||
	    address - kernel->dispatch.kernarg_address < KERNARG_WINDOW)
		return NULL;
	return cache;
}

/* A plain access of bytes in one range. */
static bool access_memory(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			  uint64_t address, uint8_t *host, void *data, size_t size, bool write)
{
	struct softgpu_cache *cache = cache_for(wave, instruction, address);
	uint32_t l2 = wave->workgroup->placement.l2;
	bool done = true;

	if (cache != NULL)
		done = write ? softgpu_cache_write(cache, l2, address, host, data, size)
			     : softgpu_cache_read(cache, l2, address, host, data, size);
	else if (write)
		memcpy(host, data, size);
	else
		memcpy(data, host, size);
	if (!done)
		softgpu_wave_fault(wave, instruction, SOFTGPU_FAULT_OUT_OF_MEMORY,
				   "no memory for a cache line");
	return done;
}

/* Copies bytes that may lie in several ranges. */
static bool copy(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
		 uint64_t address, uint8_t *data, size_t size, bool write)
{
	while (size > 0) {
		const struct softgpu_translation *entry =
			require(wave, instruction, address, write);
		size_t part;

		if (entry == NULL)
			return false;
		part = size < entry->end - address ? size : (size_t)(entry->end - address);
		if (!access_memory(wave, instruction, address, host_pointer(entry, address), data,
				   part, write))
			return false;
		address += part;
		data += part;
		size -= part;
	}
	return true;
}

/* Whether all lanes are active and access memory without gaps, in order. */
static inline __attribute__((always_inline)) bool is_contiguous(const uint64_t *address,
								uint64_t mask, unsigned int bytes)
{
	uint64_t difference = 0;

	if (mask != UINT64_MAX || address[1] - address[0] != bytes)
		return false;
	for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
		difference |= address[lane] ^ (address[0] + (uint64_t)lane * bytes);
	return difference == 0;
}

/*
 * The lane loops are inlined once for each size. Neighbouring lanes nearly always lie in one range
 * of memory, often without gaps.
 */
static inline __attribute__((always_inline)) bool
load_loop(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
	  const uint64_t *address, uint64_t mask, unsigned int bytes,
	  uint32_t (*out)[SOFTGPU_LANES])
{
	struct softgpu_translation range = {0};
	bool cached = wave->workgroup->kernel->memory->cache != NULL;

	if (!cached && is_contiguous(address, mask, bytes)) {
		const struct softgpu_translation *entry =
			require(wave, instruction, address[0], false);

		if (entry == NULL)
			return false;
		if (entry->end - address[0] >= (uint64_t)bytes * SOFTGPU_LANES) {
			const uint8_t *host = host_pointer(entry, address[0]);

			for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
				softgpu_read_lane(host + lane * bytes, bytes, out, lane);
			return true;
		}
	}
	softgpu_for_each_lane (lane, mask) {
		uint64_t at = address[lane];
		uint32_t value[4] = {0};

		if (at - range.begin >= range.end - range.begin) {
			const struct softgpu_translation *entry =
				require(wave, instruction, at, false);

			if (entry == NULL)
				return false;
			range = *entry;
		}
		if (!cached && range.end - at >= bytes) {
			softgpu_read_lane(host_pointer(&range, at), bytes, out, (unsigned int)lane);
			continue;
		}
		if (!copy(wave, instruction, at, (uint8_t *)value, bytes, false))
			return false;
		for (unsigned int i = 0; i < (bytes + 3) / 4; i++)
			out[i][lane] = value[i];
	}
	return true;
}

static inline __attribute__((always_inline)) bool
store_loop(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
	   const uint64_t *address, uint64_t mask, unsigned int bytes,
	   const uint32_t (*in)[SOFTGPU_LANES])
{
	struct softgpu_translation range = {0};
	bool cached = wave->workgroup->kernel->memory->cache != NULL;

	if (!cached && is_contiguous(address, mask, bytes)) {
		const struct softgpu_translation *entry =
			require(wave, instruction, address[0], true);

		if (entry == NULL)
			return false;
		if (entry->end - address[0] >= (uint64_t)bytes * SOFTGPU_LANES) {
			uint8_t *host = host_pointer(entry, address[0]);

			for (unsigned int lane = 0; lane < SOFTGPU_LANES; lane++)
				softgpu_write_lane(host + lane * bytes, bytes, in, lane);
			return true;
		}
	}
	softgpu_for_each_lane (lane, mask) {
		uint64_t at = address[lane];
		uint32_t value[4];

		if (at - range.begin >= range.end - range.begin) {
			const struct softgpu_translation *entry =
				require(wave, instruction, at, true);

			if (entry == NULL)
				return false;
			range = *entry;
		}
		if (!cached && range.end - at >= bytes) {
			softgpu_write_lane(host_pointer(&range, at), bytes, in, (unsigned int)lane);
			continue;
		}
		for (unsigned int i = 0; i < (bytes + 3) / 4; i++)
			value[i] = in[i][lane];
		if (!copy(wave, instruction, at, (uint8_t *)value, bytes, true))
			return false;
	}
	return true;
}

bool softgpu_load_lanes(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			const uint64_t address[SOFTGPU_LANES], uint64_t mask, unsigned int bytes,
			uint32_t (*out)[SOFTGPU_LANES])
{
	check_generation(wave);
	switch (bytes) {
	case 1:
		return load_loop(wave, instruction, address, mask, 1, out);
	case 2:
		return load_loop(wave, instruction, address, mask, 2, out);
	case 4:
		return load_loop(wave, instruction, address, mask, 4, out);
	case 8:
		return load_loop(wave, instruction, address, mask, 8, out);
	case 12:
		return load_loop(wave, instruction, address, mask, 12, out);
	default:
		return load_loop(wave, instruction, address, mask, 16, out);
	}
}

bool softgpu_store_lanes(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 const uint64_t address[SOFTGPU_LANES], uint64_t mask, unsigned int bytes,
			 const uint32_t (*in)[SOFTGPU_LANES])
{
	check_generation(wave);
	switch (bytes) {
	case 1:
		return store_loop(wave, instruction, address, mask, 1, in);
	case 2:
		return store_loop(wave, instruction, address, mask, 2, in);
	case 4:
		return store_loop(wave, instruction, address, mask, 4, in);
	case 8:
		return store_loop(wave, instruction, address, mask, 8, in);
	case 12:
		return store_loop(wave, instruction, address, mask, 12, in);
	default:
		return store_loop(wave, instruction, address, mask, 16, in);
	}
}

/*
 * Each atomic is a compare-and-swap loop around softgpu_atomic_result(): one function defines all
 * operations, for LDS too. Sequentially consistent, as it pairs with the host's signal and queue
 * index operations and with other waves' atomics of any order.
 */
static uint64_t atomic32(uint32_t *host, enum softgpu_atomic_operation operation, uint64_t data,
			 uint64_t compare)
{
	uint32_t old = __atomic_load_n(host, __ATOMIC_RELAXED);
	uint32_t new;

	do {
		new = (uint32_t)softgpu_atomic_result(operation, 4, old, data, compare);
	} while (!__atomic_compare_exchange_n(host, &old, new, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return old;
}

static uint64_t atomic64(uint64_t *host, enum softgpu_atomic_operation operation, uint64_t data,
			 uint64_t compare)
{
	uint64_t old = __atomic_load_n(host, __ATOMIC_RELAXED);
	uint64_t new;

	do {
		new = softgpu_atomic_result(operation, 8, old, data, compare);
	} while (!__atomic_compare_exchange_n(host, &old, new, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return old;
}

bool softgpu_atomic_lane(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint64_t address, enum softgpu_atomic_operation operation,
			 unsigned int bytes, uint64_t data, uint64_t compare, uint64_t *old)
{
	const struct softgpu_translation *entry;

	check_generation(wave);
	if (address % bytes != 0)
		return memory_fault(wave, instruction, address, true, "atomic is not aligned");
	entry = require(wave, instruction, address, true);
	if (entry == NULL)
		return false;
	if (entry->end - address < bytes)
		return memory_fault(wave, instruction, address, true, "atomic leaves its range");
	if (wave->workgroup->kernel->memory->cache != NULL)
		softgpu_cache_bypass(wave->workgroup->kernel->memory->cache, address,
				     host_pointer(entry, address), bytes);
	if (bytes == 4)
		*old = atomic32((uint32_t *)host_pointer(entry, address), operation, data, compare);
	else
		*old = atomic64((uint64_t *)host_pointer(entry, address), operation, data, compare);
	return true;
}

bool softgpu_load_scalar(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			 uint64_t address, unsigned int dwords, uint32_t *out)
{
	check_generation(wave);
	return copy(wave, instruction, address, (uint8_t *)out, 4 * (size_t)dwords, false);
}

bool softgpu_store_scalar(struct softgpu_wave *wave, const struct softgpu_instruction *instruction,
			  uint64_t address, unsigned int dwords, const uint32_t *in)
{
	uint32_t data[4];

	check_generation(wave);
	memcpy(data, in, 4 * (size_t)dwords);
	return copy(wave, instruction, address, (uint8_t *)data, 4 * (size_t)dwords, true);
}

bool softgpu_fetch_dword(struct softgpu_wave *wave, uint64_t address, uint32_t *out)
{
	const struct softgpu_translation *entry;

	check_generation(wave);
	entry = find_translation(wave, address);
	if (entry == NULL || !entry->executable || entry->end - address < sizeof(*out))
		return false;
	memcpy(out, host_pointer(entry, address), sizeof(*out));
	return true;
}

bool softgpu_memory_copy_from(const struct softgpu_memory *memory, uint64_t address, void *out,
			      size_t size)
{
	struct softgpu_translation range;

	if (!memory->translate(memory->context, address, &range) || !range.readable ||
	    range.end - address < size)
		return false;
	memcpy(out, host_pointer(&range, address), size);
	return true;
}

void softgpu_memory_fence(struct softgpu_wave *wave, bool write_back, bool invalidate)
{
	struct softgpu_cache *cache = wave->workgroup->kernel->memory->cache;

	/* Pairs with the host's and other waves' fences and atomics. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (cache != NULL && write_back)
		softgpu_cache_release(cache, SOFTGPU_SCOPE_SYSTEM);
	if (cache != NULL && invalidate)
		softgpu_cache_acquire(cache, SOFTGPU_SCOPE_SYSTEM);
}
