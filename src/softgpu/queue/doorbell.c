/* SPDX-License-Identifier: MIT */
/* Doorbells, and the thread that wakes sleeping queues when the host rings theirs. */
#include "doorbell.h"

#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The runtime derives a queue's number from its doorbell's offset in 8 KiB. */
#define DOORBELL_ALIGNMENT 8192
#define PAGE_SIZE	   4096

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* A page that once was the doorbell of a queue, for the next queue. */
struct spare_page {
	uint8_t *page;
	struct spare_page *next;
};

struct softgpu_doorbell_monitor {
	int userfaultfd; /* -1: not available */
	int stop_event;
	pthread_t thread;
	pthread_mutex_t lock;
	struct softgpu_doorbell *doorbells;
	struct spare_page *spare;
};

static bool set_protection(int userfaultfd, void *page, bool protect)
{
	struct uffdio_writeprotect range = {
		.range = {.start = (uint64_t)(uintptr_t)page, .len = PAGE_SIZE},
		.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(userfaultfd, UFFDIO_WRITEPROTECT, &range) == 0;
}

static void handle_fault(struct softgpu_doorbell_monitor *monitor, uint64_t address)
{
	uint8_t *page = (uint8_t *)(uintptr_t)(address & ~(uint64_t)(PAGE_SIZE - 1));

	/* Opening the page also lets the host's store go on. */
	pthread_mutex_lock(&monitor->lock);
	for (struct softgpu_doorbell *doorbell = monitor->doorbells; doorbell;
	     doorbell = doorbell->next) {
		if (doorbell->page != page)
			continue;
		set_protection(monitor->userfaultfd, page, false);
		softgpu_eventcount_notify(doorbell->wake);
	}
	pthread_mutex_unlock(&monitor->lock);
}

static void *monitor_thread(void *argument)
{
	struct softgpu_doorbell_monitor *monitor = argument;
	struct pollfd descriptors[2] = {
		{.fd = monitor->userfaultfd, .events = POLLIN},
		{.fd = monitor->stop_event, .events = POLLIN},
	};

	for (;;) {
		struct uffd_msg message;

		if (poll(descriptors, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (descriptors[1].revents)
			return NULL;
		while (read(monitor->userfaultfd, &message, sizeof(message)) == sizeof(message)) {
			if (message.event == UFFD_EVENT_PAGEFAULT)
				handle_fault(monitor, message.arg.pagefault.address);
		}
	}
}

static int open_userfaultfd(void)
{
	const int descriptor =
		(int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};

	if (descriptor >= 0 && ioctl(descriptor, UFFDIO_API, &api) != 0) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

static bool start_monitor(struct softgpu_doorbell_monitor *monitor)
{
	monitor->userfaultfd = open_userfaultfd();
	if (monitor->userfaultfd < 0)
		return false;
	monitor->stop_event = eventfd(0, EFD_CLOEXEC);
	if (monitor->stop_event < 0) {
		close(monitor->userfaultfd);
		return false;
	}
	if (!softgpu_thread_start(&monitor->thread, "softgpu-doorbell", monitor_thread, monitor)) {
		close(monitor->stop_event);
		close(monitor->userfaultfd);
		return false;
	}
	return true;
}

struct softgpu_doorbell_monitor *softgpu_doorbell_monitor_create(bool userfaultfd)
{
	struct softgpu_doorbell_monitor *monitor = calloc(1, sizeof(*monitor));

	if (!monitor)
		return NULL;
	if (pthread_mutex_init(&monitor->lock, NULL) != 0) {
		free(monitor);
		return NULL;
	}
	if (!userfaultfd || !start_monitor(monitor))
		monitor->userfaultfd = -1;
	return monitor;
}

static void unmap_spare_pages(struct spare_page *spare)
{
	while (spare) {
		struct spare_page *next = spare->next;

		munmap(spare->page, PAGE_SIZE);
		free(spare);
		spare = next;
	}
}

void softgpu_doorbell_monitor_destroy(struct softgpu_doorbell_monitor *monitor)
{
	const uint64_t one = 1;

	if (!monitor)
		return;
	if (monitor->userfaultfd >= 0) {
		while (write(monitor->stop_event, &one, sizeof(one)) < 0 && errno == EINTR)
			;
		pthread_join(monitor->thread, NULL);
		close(monitor->stop_event);
		close(monitor->userfaultfd);
	}
	unmap_spare_pages(monitor->spare);
	pthread_mutex_destroy(&monitor->lock);
	free(monitor);
}

static bool watch(struct softgpu_doorbell *doorbell)
{
	struct uffdio_register registration = {
		.range = {.start = (uint64_t)(uintptr_t)doorbell->page, .len = PAGE_SIZE},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(doorbell->monitor->userfaultfd, UFFDIO_REGISTER, &registration) == 0;
}

/* Maps one page at an address that is a multiple of the alignment; NULL: no memory. */
static uint8_t *map_page(void)
{
	uint8_t *area = mmap(NULL, 2 * DOORBELL_ALIGNMENT, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t start, page;

	if (area == MAP_FAILED)
		return NULL;
	start = (uintptr_t)area;
	page = (start + DOORBELL_ALIGNMENT - 1) & ~(uintptr_t)(DOORBELL_ALIGNMENT - 1);
	if (page != start)
		munmap(area, page - start);
	munmap((void *)(page + PAGE_SIZE), start + 2 * DOORBELL_ALIGNMENT - page - PAGE_SIZE);
	return (uint8_t *)page;
}

/* A spare page or a new one; NULL: no memory. */
static uint8_t *take_page(struct softgpu_doorbell_monitor *monitor)
{
	struct spare_page *spare;
	uint8_t *page;

	pthread_mutex_lock(&monitor->lock);
	spare = monitor->spare;
	if (spare)
		monitor->spare = spare->next;
	pthread_mutex_unlock(&monitor->lock);
	if (!spare)
		return map_page();
	page = spare->page;
	free(spare);
	return page;
}

/*
 * The page stays mapped, as all doorbells of a process do: a program may ring a queue that another
 * thread has just made inactive. Without memory for the note it is never used again.
 */
static void give_page_back(struct softgpu_doorbell_monitor *monitor, uint8_t *page)
{
	struct spare_page *spare = malloc(sizeof(*spare));

	if (!spare)
		return;
	spare->page = page;
	pthread_mutex_lock(&monitor->lock);
	spare->next = monitor->spare;
	monitor->spare = spare;
	pthread_mutex_unlock(&monitor->lock);
}

bool softgpu_doorbell_create(struct softgpu_doorbell *doorbell,
			     struct softgpu_doorbell_monitor *monitor, uint32_t index,
			     struct softgpu_eventcount *wake)
{
	*doorbell = (struct softgpu_doorbell){
		.monitor = monitor,
		.page = take_page(monitor),
		.wake = wake,
	};
	if (!doorbell->page)
		return false;
	doorbell->value = (_Atomic uint64_t *)(void *)(doorbell->page + index % 512 * 8);
	/* This also makes the page present: only present pages can be write-protected. */
	atomic_store_explicit(doorbell->value, SOFTGPU_DOORBELL_QUIET, memory_order_relaxed);
	doorbell->watched = monitor->userfaultfd >= 0 && watch(doorbell);
	pthread_mutex_lock(&monitor->lock);
	doorbell->next = monitor->doorbells;
	monitor->doorbells = doorbell;
	pthread_mutex_unlock(&monitor->lock);
	return true;
}

void softgpu_doorbell_destroy(struct softgpu_doorbell *doorbell)
{
	struct softgpu_doorbell_monitor *monitor = doorbell->monitor;
	struct softgpu_doorbell **link;

	softgpu_doorbell_disarm(doorbell);
	pthread_mutex_lock(&monitor->lock);
	for (link = &monitor->doorbells; *link != doorbell; link = &(*link)->next)
		;
	*link = doorbell->next;
	pthread_mutex_unlock(&monitor->lock);
	give_page_back(monitor, doorbell->page);
}

bool softgpu_doorbell_is_rung(const struct softgpu_doorbell *doorbell)
{
	return atomic_load_explicit(doorbell->value, memory_order_relaxed) !=
	       SOFTGPU_DOORBELL_QUIET;
}

bool softgpu_doorbell_take(struct softgpu_doorbell *doorbell)
{
	if (!softgpu_doorbell_is_rung(doorbell))
		return false;
	/*
	 * Acquire: pairs with the host's release store, after which the write index and the packets
	 * are complete. A store that comes after this exchange is taken by the next call.
	 */
	atomic_exchange_explicit(doorbell->value, SOFTGPU_DOORBELL_QUIET, memory_order_acquire);
	return true;
}

bool softgpu_doorbell_arm(struct softgpu_doorbell *doorbell)
{
	if (!doorbell->watched)
		return false;
	doorbell->armed = set_protection(doorbell->monitor->userfaultfd, doorbell->page, true);
	return doorbell->armed;
}

void softgpu_doorbell_disarm(struct softgpu_doorbell *doorbell)
{
	if (!doorbell->armed)
		return;
	set_protection(doorbell->monitor->userfaultfd, doorbell->page, false);
	doorbell->armed = false;
}
