/* SPDX-License-Identifier: MIT */
/*
 * Events as the kernel driver has them: an auto-reset event stays set only if nobody waits for it,
 * setting one wakes all its waiters, and a memory fault sets every event of type MEMORY.
 *
 * With one difference: a thread does not fall asleep over an event that was set since the thread
 * last waited, even if another thread's wait has reset it. Runtimes before 5.7 look at a signal and
 * then wait for its event. All their queues share one event, so that the thread which destroys a
 * queue could look, lose the set to the thread that handles errors, and sleep forever. Later
 * runtimes tell the driver the age of the event which they have seen; here each thread's is kept.
 */
#include "allocations.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENT_LIMIT 4096 /* of the driver, too */

struct waiter {
	pthread_cond_t condition;
};

/* One event that a waiter waits for. */
struct wait {
	struct waiter *waiter;
	bool activated;
	struct wait *next;
};

struct event {
	HsaEvent public; /* the first member: what the runtime holds a pointer to */
	bool manual_reset;
	bool set;
	bool destroyed; /* while somebody waits for it */
	uint64_t age;	/* what `sets` was when the event was last set; 0: not since its reset */
	HsaMemoryAccessFault fault;
	struct wait *waits;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event *events[EVENT_LIMIT]; /* by number; 0 is none */
static uint64_t *mailboxes;		  /* one for each event, visible to the GPUs */
static uint32_t next_id;
static uint64_t sets; /* of any event, so far */

/* What `sets` was when this thread last ended a wait: it has seen the effects of all before. */
static _Thread_local uint64_t seen_sets;

bool softgpu_events_open(struct softgpu_device *device)
{
	memset(events, 0, sizeof(events));
	next_id = 1;
	mailboxes = softgpu_allocate_internal(device, EVENT_LIMIT * sizeof(*mailboxes));
	return mailboxes != NULL;
}

void softgpu_events_close(void)
{
	/* The mailboxes go with all other allocations. */
	for (uint32_t i = 0; i < EVENT_LIMIT; i++) {
		free(events[i]);
		events[i] = NULL;
	}
}

void softgpu_events_abandon(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
	memset(events, 0, sizeof(events));
}

static void set_event(struct event *event)
{
	event->set = event->manual_reset || !event->waits;
	event->age = ++sets;
	for (struct wait *wait = event->waits; wait; wait = wait->next) {
		wait->activated = true;
		pthread_cond_signal(&wait->waiter->condition);
	}
}

void softgpu_events_set(void *context, uint32_t event_id)
{
	(void)context;
	pthread_mutex_lock(&lock);
	if (event_id < EVENT_LIMIT && events[event_id])
		set_event(events[event_id]);
	pthread_mutex_unlock(&lock);
}

void softgpu_events_memory_fault(void *context, uint32_t node, uint64_t address, bool write)
{
	(void)context;
	(void)write;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i < EVENT_LIMIT; i++) {
		if (!events[i] || events[i]->public.EventData.EventType != HSA_EVENTTYPE_MEMORY)
			continue;
		/* The driver knows the page only. */
		events[i]->fault = (HsaMemoryAccessFault){
			.NodeId = node,
			.VirtualAddress = address & ~(uint64_t)(SOFTGPU_PAGE - 1),
			.Failure = {.NotPresent = 1},
			.Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS,
		};
		set_event(events[i]);
	}
	pthread_mutex_unlock(&lock);
}

static struct event *find_event(const HsaEvent *public)
{
	struct event *event;

	if (!public || public->EventId == 0 || public->EventId >= EVENT_LIMIT)
		return NULL;
	event = events[public->EventId];
	return event && &event->public == public ? event : NULL;
}

/* Numbers are used again as late as possible, so that an old one is not taken for a new one. */
static uint32_t free_id(void)
{
	for (uint32_t tried = 1; tried < EVENT_LIMIT; tried++) {
		const uint32_t id = next_id;

		next_id = next_id + 1 == EVENT_LIMIT ? 1 : next_id + 1;
		if (!events[id])
			return id;
	}
	return 0;
}

HSAKMT_STATUS hsaKmtCreateEvent(HsaEventDescriptor *EventDesc, bool ManualReset, bool IsSignaled,
				HsaEvent **Event)
{
	struct event *event;
	uint32_t id;

	SOFTGPU_REQUIRE_OPEN();
	if (!EventDesc || !Event || EventDesc->EventType >= HSA_EVENTTYPE_MAXID)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	event = calloc(1, sizeof(*event));
	if (!event)
		return HSAKMT_STATUS_NO_MEMORY;
	pthread_mutex_lock(&lock);
	id = free_id();
	if (id != 0) {
		event->manual_reset = ManualReset;
		event->set = IsSignaled;
		event->public.EventId = id;
		event->public.EventData.EventType = EventDesc->EventType;
		event->public.EventData.EventData.SyncVar = EventDesc->SyncVar;
		event->public.EventData.HWData1 = id;
		event->public.EventData.HWData2 = (uint64_t)(uintptr_t)&mailboxes[id];
		event->public.EventData.HWData3 = id;
		events[id] = event;
	}
	pthread_mutex_unlock(&lock);
	if (id == 0) {
		free(event);
		return HSAKMT_STATUS_OUT_OF_RESOURCES;
	}
	*Event = &event->public;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtDestroyEvent(HsaEvent *Event)
{
	struct event *event;

	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	event = find_event(Event);
	if (event) {
		events[Event->EventId] = NULL;
		/* Whoever still waits for it frees it. */
		event->destroyed = event->waits != NULL;
		set_event(event);
		if (!event->destroyed)
			free(event);
	}
	pthread_mutex_unlock(&lock);
	return event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtSetEvent(HsaEvent *Event)
{
	struct event *event;

	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	event = find_event(Event);
	if (event)
		set_event(event);
	pthread_mutex_unlock(&lock);
	/* The runtime calls this after the host has changed a signal: a queue may wait for it. */
	softgpu_eventcount_notify(&softgpu_device()->signal_activity);
	return event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtResetEvent(HsaEvent *Event)
{
	struct event *event;

	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	event = find_event(Event);
	if (event) {
		event->set = false;
		event->age = 0;
	}
	pthread_mutex_unlock(&lock);
	return event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtQueryEventState(HsaEvent *Event)
{
	struct event *event;
	bool set = false;

	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	event = find_event(Event);
	if (event)
		set = event->set;
	pthread_mutex_unlock(&lock);
	if (!event)
		return HSAKMT_STATUS_INVALID_HANDLE;
	return set ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

HSAKMT_STATUS hsaKmtWaitOnEvent(HsaEvent *Event, HSAuint32 Milliseconds)
{
	return hsaKmtWaitOnMultipleEvents(&Event, 1, true, Milliseconds);
}

static void start_wait(struct event *event, struct wait *wait, struct waiter *waiter, bool sleeps)
{
	wait->waiter = waiter;
	wait->activated = event->set || (sleeps && event->age > seen_sets);
	event->set = event->set && event->manual_reset;
	wait->next = event->waits;
	event->waits = wait;
}

static void end_wait(struct event *event, struct wait *wait)
{
	struct wait **link = &event->waits;

	while (*link != wait)
		link = &(*link)->next;
	*link = wait->next;
	if (event->destroyed) {
		if (!event->waits)
			free(event);
		return;
	}
	if (wait->activated && event->public.EventData.EventType == HSA_EVENTTYPE_MEMORY)
		event->public.EventData.EventData.MemoryAccessFault = event->fault;
}

static bool is_over(const struct wait *waits, uint32_t count, bool all)
{
	uint32_t activated = 0;

	for (uint32_t i = 0; i < count; i++)
		activated += waits[i].activated;
	return all ? activated == count : activated != 0;
}

static bool wait_for_condition(struct waiter *waiter, const struct wait *waits, uint32_t count,
			       bool all, uint32_t milliseconds)
{
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += milliseconds / 1000;
	deadline.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_nsec -= 1000000000;
		deadline.tv_sec++;
	}
	while (!is_over(waits, count, all)) {
		if (milliseconds == HSA_EVENTTIMEOUT_INFINITE)
			pthread_cond_wait(&waiter->condition, &lock);
		else if (pthread_cond_timedwait(&waiter->condition, &lock, &deadline) != 0)
			return is_over(waits, count, all);
	}
	return true;
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents(HsaEvent *Events[], HSAuint32 NumEvents, bool WaitOnAll,
					 HSAuint32 Milliseconds)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct event **waited;
	struct waiter waiter;
	struct wait *waits;
	pthread_condattr_t attributes;
	uint32_t count = 0;

	SOFTGPU_REQUIRE_OPEN();
	if (!Events || NumEvents == 0)
		return HSAKMT_STATUS_INVALID_HANDLE;
	waited = calloc(NumEvents, sizeof(*waited));
	waits = calloc(NumEvents, sizeof(*waits));
	if (!waited || !waits) {
		free(waited);
		free(waits);
		return HSAKMT_STATUS_NO_MEMORY;
	}
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&waiter.condition, &attributes);
	pthread_condattr_destroy(&attributes);

	pthread_mutex_lock(&lock);
	while (count < NumEvents && (waited[count] = find_event(Events[count])) != NULL) {
		start_wait(waited[count], &waits[count], &waiter, Milliseconds != 0);
		count++;
	}
	if (count < NumEvents)
		status = HSAKMT_STATUS_INVALID_HANDLE;
	else if (!wait_for_condition(&waiter, waits, count, WaitOnAll, Milliseconds))
		status = HSAKMT_STATUS_WAIT_TIMEOUT;
	for (uint32_t i = 0; i < count; i++) {
		if (waited[i]->destroyed)
			status = HSAKMT_STATUS_WAIT_FAILURE;
		end_wait(waited[i], &waits[i]);
	}
	seen_sets = sets;
	pthread_mutex_unlock(&lock);

	pthread_cond_destroy(&waiter.condition);
	free(waits);
	free(waited);
	return status;
}
