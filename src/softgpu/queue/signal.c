/* SPDX-License-Identifier: MIT */
/* HSA signals as the engines read, decrement and set them. */
#include "signal.h"

#include <hsa/amd_hsa_signal.h>

#include <stdatomic.h>

struct interrupt {
	_Atomic uint64_t *mailbox; /* NULL: the signal has no interrupt */
	uint32_t event_id;
};

static amd_signal_t *signal_object(struct softgpu_access *access, hsa_signal_t signal,
				   uint64_t *address)
{
	*address = signal.handle;
	return softgpu_access_object(access, signal.handle, sizeof(amd_signal_t), true);
}

static _Atomic int64_t *signal_value(amd_signal_t *signal)
{
	return (_Atomic int64_t *)(uintptr_t)&signal->value;
}

/* Read before the value changes: the host may free the signal as soon as it sees the new value. */
static bool read_interrupt(struct softgpu_access *access, const amd_signal_t *signal,
			   struct interrupt *interrupt, uint64_t *address)
{
	interrupt->mailbox = NULL;
	interrupt->event_id = signal->event_id;
	if (signal->event_mailbox_ptr == 0)
		return true;
	*address = signal->event_mailbox_ptr;
	interrupt->mailbox = softgpu_access_object(access, signal->event_mailbox_ptr,
						   sizeof(*interrupt->mailbox), true);
	return interrupt->mailbox != NULL;
}

static void raise_interrupt(const struct softgpu_gpu *gpu, const struct interrupt *interrupt)
{
	softgpu_eventcount_notify(gpu->signal_activity);
	if (!interrupt->mailbox)
		return;
	/* Pairs with whoever reads the mailbox after the event: it says which event it was. */
	atomic_store_explicit(interrupt->mailbox, interrupt->event_id, memory_order_release);
	gpu->services->set_event(gpu->services_context, interrupt->event_id);
}

bool softgpu_signal_read(struct softgpu_access *access, hsa_signal_t signal, int64_t *value,
			 uint64_t *address)
{
	amd_signal_t *object = signal_object(access, signal, address);

	if (!object)
		return false;
	/* Pairs with the release of whoever completed what the signal stands for. */
	*value = atomic_load_explicit(signal_value(object), memory_order_acquire);
	return true;
}

bool softgpu_signal_complete(const struct softgpu_gpu *gpu, hsa_signal_t signal, uint64_t start,
			     uint64_t end, uint64_t *address)
{
	struct softgpu_access access;
	struct interrupt interrupt;
	amd_signal_t *object;

	if (signal.handle == 0)
		return true;
	softgpu_access_init(&access, &gpu->memory);
	object = signal_object(&access, signal, address);
	if (!object || !read_interrupt(&access, object, &interrupt, address))
		return false;
	/* Relaxed: packets that share a signal may end at the same time; one of them stays. */
	__atomic_store_n(&object->start_ts, start, __ATOMIC_RELAXED);
	__atomic_store_n(&object->end_ts, end, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire of the waiter, which then sees the packet's results. */
	atomic_fetch_sub_explicit(signal_value(object), 1, memory_order_acq_rel);
	raise_interrupt(gpu, &interrupt);
	return true;
}

bool softgpu_signal_store(const struct softgpu_gpu *gpu, hsa_signal_t signal, int64_t value,
			  uint64_t *address)
{
	struct softgpu_access access;
	struct interrupt interrupt;
	amd_signal_t *object;

	softgpu_access_init(&access, &gpu->memory);
	object = signal_object(&access, signal, address);
	if (!object || !read_interrupt(&access, object, &interrupt, address))
		return false;
	/* Release: pairs with the runtime's handler, which reads the queue's state afterwards. */
	atomic_store_explicit(signal_value(object), value, memory_order_release);
	raise_interrupt(gpu, &interrupt);
	return true;
}
