/* SPDX-License-Identifier: MIT */
/* The cache model: lines, the agent's view, acquires and releases. */
#include "cache.h"

#include "host_guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 128
#define BUCKETS	  4096

/* One bit a byte of a line. */
struct bytes {
	uint64_t bits[LINE_SIZE / 64];
};

struct line {
	struct line *next; /* in its bucket */
	uint64_t address;
	/*
	 * In the agent's view: grows when an L2 releases into it. In an L2: that number when the
	 * line was read or released.
	 */
	uint64_t version;
	struct bytes valid;
	struct bytes dirty; /* written and not passed on; a subset of valid */
	uint8_t data[LINE_SIZE];
};

struct level {
	struct line *bucket[BUCKETS];
};

struct softgpu_cache {
	const struct softgpu_memory *memory;
	uint32_t l2_count;
	pthread_mutex_t lock; /* of everything below */
	uint64_t version;
	struct level agent;
	struct level l2[];
};

/* ---- bytes of a line ------------------------------------------------------------------------- */

static bool has(const struct bytes *bytes, unsigned int i)
{
	return bytes->bits[i / 64] >> i % 64 & 1;
}

/* The bits of half a line that lie in [first, first + count). */
static uint64_t bits_of_half(unsigned int half, unsigned int first, unsigned int count)
{
	const unsigned int begin = first > half * 64 ? first - half * 64 : 0;
	const unsigned int end = first + count > half * 64 ? first + count - half * 64 : 0;
	const uint64_t below_end = end < 64 ? ((uint64_t)1 << end) - 1 : UINT64_MAX;

	return begin < 64 ? below_end & UINT64_MAX << begin : 0;
}

static void set(struct bytes *bytes, unsigned int first, unsigned int count)
{
	for (unsigned int half = 0; half < 2; half++)
		bytes->bits[half] |= bits_of_half(half, first, count);
}

static bool none(const struct bytes *bytes)
{
	return (bytes->bits[0] | bytes->bits[1]) == 0;
}

static bool all(const struct bytes *bytes, unsigned int first, unsigned int count)
{
	for (unsigned int half = 0; half < 2; half++) {
		if (bits_of_half(half, first, count) & ~bytes->bits[half])
			return false;
	}
	return true;
}

/* to[i] = from[i] for the chosen bytes. */
static void copy_bytes(uint8_t *to, const uint8_t *from, const struct bytes *chosen)
{
	for (unsigned int i = 0; i < LINE_SIZE; i++) {
		if (has(chosen, i))
			to[i] = from[i];
	}
}

/* ---- lines of a level ------------------------------------------------------------------------ */

static struct line **bucket_of(struct level *level, uint64_t address)
{
	return &level->bucket[address / LINE_SIZE % BUCKETS];
}

static struct line *find(struct level *level, uint64_t address)
{
	struct line *line = *bucket_of(level, address);

	while (line && line->address != address)
		line = line->next;
	return line;
}

static struct line *find_or_add(struct level *level, uint64_t address)
{
	struct line *line = find(level, address);

	if (line)
		return line;
	line = calloc(1, sizeof(*line));
	if (!line)
		return NULL;
	line->address = address;
	line->next = *bucket_of(level, address);
	*bucket_of(level, address) = line;
	return line;
}

/* Calls `keep` for every line and frees those for which it returns false. */
static void sweep(struct softgpu_cache *cache, struct level *level,
		  bool (*keep)(struct softgpu_cache *cache, struct line *line, const void *argument),
		  const void *argument)
{
	for (unsigned int i = 0; i < BUCKETS; i++) {
		struct line **link = &level->bucket[i];

		while (*link) {
			struct line *line = *link;

			if (keep(cache, line, argument)) {
				link = &line->next;
			} else {
				*link = line->next;
				free(line);
			}
		}
	}
}

/* ---- passing on what was written ------------------------------------------------------------- */

static bool release_to_agent(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	struct line *agent;

	(void)argument;
	if (none(&line->dirty))
		return true;
	agent = find_or_add(&cache->agent, line->address);
	if (!agent)
		return true; /* stays written here, to be released later */
	copy_bytes(agent->data, line->data, &line->dirty);
	for (unsigned int i = 0; i < 2; i++) {
		agent->valid.bits[i] |= line->dirty.bits[i];
		agent->dirty.bits[i] |= line->dirty.bits[i];
	}
	/* If another L2 has released since, the rest of this line is stale and keeps its age. */
	if (agent->version <= line->version)
		line->version = cache->version + 1;
	agent->version = ++cache->version;
	line->dirty = (struct bytes){ 0 };
	return true;
}

static bool release_to_memory(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	struct softgpu_translation range;

	(void)argument;
	if (none(&line->dirty))
		return true;
	/* What was unmapped in the meantime has no place to go to. */
	if (!cache->memory->translate(cache->memory->context, line->address, &range))
		return false;
	copy_bytes((uint8_t *)(uintptr_t)(line->address + (uint64_t)range.host_offset), line->data,
		   &line->dirty);
	/* The line stays for its version: other L2s have yet to notice the release. */
	line->dirty = line->valid = (struct bytes){ 0 };
	return true;
}

static bool keep_current(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	const struct line *agent = find(&cache->agent, line->address);

	(void)argument;
	if (agent && agent->version > line->version)
		line->valid = line->dirty;
	return !none(&line->valid);
}

static bool keep_written(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	(void)cache;
	(void)argument;
	line->valid = line->dirty;
	return !none(&line->valid);
}

/* ---- the functions of cache.h ---------------------------------------------------------------- */

struct softgpu_cache *softgpu_cache_create(const struct softgpu_memory *memory, uint32_t l2_count)
{
	struct softgpu_cache *cache =
		calloc(1, sizeof(*cache) + l2_count * sizeof(cache->l2[0]));

	if (!cache)
		return NULL;
	cache->memory = memory;
	cache->l2_count = l2_count;
	pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

static bool keep_nothing(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	(void)cache;
	(void)line;
	(void)argument;
	return false;
}

void softgpu_cache_destroy(struct softgpu_cache *cache)
{
	if (!cache)
		return;
	sweep(cache, &cache->agent, keep_nothing, NULL);
	for (uint32_t i = 0; i < cache->l2_count; i++)
		sweep(cache, &cache->l2[i], keep_nothing, NULL);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

uint32_t softgpu_cache_l2_count(const struct softgpu_cache *cache)
{
	return cache->l2_count;
}

void softgpu_cache_acquire(struct softgpu_cache *cache, enum softgpu_scope scope)
{
	if (scope == SOFTGPU_SCOPE_NONE)
		return;
	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; i < cache->l2_count; i++)
		sweep(cache, &cache->l2[i],
		      scope == SOFTGPU_SCOPE_SYSTEM ? keep_written : keep_current, NULL);
	/* No L2 holds anything older than the agent's view now: versions have served. */
	if (scope == SOFTGPU_SCOPE_SYSTEM)
		sweep(cache, &cache->agent, keep_written, NULL);
	pthread_mutex_unlock(&cache->lock);
}

void softgpu_cache_release(struct softgpu_cache *cache, enum softgpu_scope scope)
{
	if (scope == SOFTGPU_SCOPE_NONE)
		return;
	softgpu_host_guard_lock(&cache->lock);
	for (uint32_t i = 0; i < cache->l2_count; i++)
		sweep(cache, &cache->l2[i], release_to_agent, NULL);
	if (scope == SOFTGPU_SCOPE_SYSTEM)
		sweep(cache, &cache->agent, release_to_memory, NULL);
	softgpu_host_guard_unlock(&cache->lock);
}

/* The part of an access that lies in one line. */
static size_t part_in_line(uint64_t address, size_t size)
{
	size_t room = LINE_SIZE - address % LINE_SIZE;

	return size < room ? size : room;
}

/*
 * Takes a whole line from memory, as a cache does. Others may write bytes of it at the same time
 * that nobody will look at, which ThreadSanitizer must not count as a race; nor may the loop become
 * a call of memcpy(), which it sees too.
 */
__attribute__((no_sanitize("thread"))) static void read_line(const uint8_t *memory_line,
							     uint8_t *data)
{
	for (unsigned int i = 0; i < LINE_SIZE; i += 16)
		__builtin_memcpy(data + i, memory_line + i, 16);
}

/* Fills the bytes that the line does not hold from the agent's view and memory. */
static void fill(struct softgpu_cache *cache, struct line *line, const uint8_t *memory_line)
{
	const struct line *agent = find(&cache->agent, line->address);
	uint8_t data[LINE_SIZE];

	read_line(memory_line, data);
	if (agent && !none(&agent->dirty))
		copy_bytes(data, agent->data, &agent->dirty);
	if (!none(&line->valid))
		copy_bytes(data, line->data, &line->valid);
	memcpy(line->data, data, LINE_SIZE);
	set(&line->valid, 0, LINE_SIZE);
	line->version = cache->version;
}

bool softgpu_cache_read(struct softgpu_cache *cache, uint32_t l2, uint64_t address,
			const uint8_t *host, void *data, size_t size)
{
	uint8_t *out = data;
	bool done = true;

	softgpu_host_guard_lock(&cache->lock);
	while (size > 0 && done) {
		const unsigned int offset = address % LINE_SIZE;
		const size_t part = part_in_line(address, size);
		struct line *line = find_or_add(&cache->l2[l2], address - offset);

		if (line && !all(&line->valid, offset, (unsigned int)part))
			fill(cache, line, host - offset);
		if (line)
			memcpy(out, line->data + offset, part);
		done = line != NULL;
		address += part;
		host += part;
		out += part;
		size -= part;
	}
	softgpu_host_guard_unlock(&cache->lock);
	return done;
}

bool softgpu_cache_write(struct softgpu_cache *cache, uint32_t l2, uint64_t address,
			 const uint8_t *host, const void *data, size_t size)
{
	const uint8_t *in = data;
	bool done = true;

	(void)host;
	pthread_mutex_lock(&cache->lock);
	while (size > 0 && done) {
		const unsigned int offset = address % LINE_SIZE;
		const size_t part = part_in_line(address, size);
		struct line *line = find_or_add(&cache->l2[l2], address - offset);

		if (line) {
			memcpy(line->data + offset, in, part);
			set(&line->valid, offset, (unsigned int)part);
			set(&line->dirty, offset, (unsigned int)part);
		}
		done = line != NULL;
		address += part;
		in += part;
		size -= part;
	}
	pthread_mutex_unlock(&cache->lock);
	return done;
}

void softgpu_cache_bypass(struct softgpu_cache *cache, uint64_t address, uint8_t *host, size_t size)
{
	softgpu_host_guard_lock(&cache->lock);
	while (size > 0) {
		const unsigned int offset = address % LINE_SIZE;
		const size_t part = part_in_line(address, size);
		struct line *line;

		for (uint32_t i = 0; i < cache->l2_count; i++) {
			line = find(&cache->l2[i], address - offset);
			if (!line)
				continue;
			release_to_agent(cache, line, NULL);
			line->valid = line->dirty;
		}
		line = find(&cache->agent, address - offset);
		if (line) {
			copy_bytes(host - offset, line->data, &line->dirty);
			line->dirty = line->valid = (struct bytes){ 0 };
		}
		address += part;
		host += part;
		size -= part;
	}
	softgpu_host_guard_unlock(&cache->lock);
}

struct interval {
	uint64_t begin, end;
};

static bool keep_outside(struct softgpu_cache *cache, struct line *line, const void *argument)
{
	const struct interval *interval = argument;

	(void)cache;
	return line->address < interval->begin || line->address >= interval->end;
}

void softgpu_cache_forget(struct softgpu_cache *cache, uint64_t begin, uint64_t end)
{
	const struct interval interval = { begin, end };

	pthread_mutex_lock(&cache->lock);
	sweep(cache, &cache->agent, keep_outside, &interval);
	for (uint32_t i = 0; i < cache->l2_count; i++)
		sweep(cache, &cache->l2[i], keep_outside, &interval);
	pthread_mutex_unlock(&cache->lock);
}
