/* SPDX-License-Identifier: MIT */
/* Creating, changing and destroying queues. */
#include "allocations.h"

#include "../queue/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_LIMIT 1024 /* doorbells that the runtime can tell apart */
#define MASK_WORDS  (SOFTGPU_MAX_COMPUTE_UNITS / 32)

struct queue_entry {
	struct softgpu_queue *queue;
	/* SDMA queues: the two indices that the runtime shares with the engine. */
	struct indices {
		_Atomic uint64_t read;
		uint8_t padding[56];
		_Atomic uint64_t write;
	} * indices;
	uint32_t mask_bits;
	HSAuint32 mask[MASK_WORDS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue_entry entries[QUEUE_LIMIT]; /* by number, which is the queue's id; 0 is none */
static uint32_t next_number;

static void destroy_entry(struct queue_entry *entry)
{
	softgpu_queue_destroy(entry->queue);
	free(entry->indices);
	memset(entry, 0, sizeof(*entry));
}

void softgpu_queues_open(void)
{
	memset(entries, 0, sizeof(entries));
	next_number = 1;
}

void softgpu_queues_close(void)
{
	for (uint32_t i = 0; i < QUEUE_LIMIT; i++) {
		if (entries[i].queue)
			destroy_entry(&entries[i]);
	}
}

void softgpu_queues_abandon(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = fresh;
	memset(entries, 0, sizeof(entries));
}

static struct queue_entry *find_entry(HSA_QUEUEID id)
{
	return id != 0 && id < QUEUE_LIMIT && entries[id].queue ? &entries[id] : NULL;
}

static uint32_t free_number(void)
{
	for (uint32_t tried = 1; tried < QUEUE_LIMIT; tried++) {
		const uint32_t number = next_number;

		next_number = next_number + 1 == QUEUE_LIMIT ? 1 : next_number + 1;
		if (!entries[number].queue)
			return number;
	}
	return 0;
}

static HSAKMT_STATUS describe_aql(const HsaQueueResource *resource, const HsaEvent *event,
				  struct softgpu_queue_parameters *parameters)
{
	if (!resource->Queue_read_ptr_aql || !resource->Queue_write_ptr_aql)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	parameters->type = SOFTGPU_QUEUE_AQL;
	parameters->read_index = (_Atomic uint64_t *)(uintptr_t)resource->QueueRptrValue;
	parameters->write_index = (_Atomic uint64_t *)(uintptr_t)resource->QueueWptrValue;
	if (softgpu_device()->options.exceptions)
		parameters->error_reason = (_Atomic int64_t *)(uintptr_t)resource->ErrorReason;
	parameters->error_event_id = event ? event->EventId : 0;
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS describe_sdma(struct queue_entry *entry,
				   struct softgpu_queue_parameters *parameters)
{
	entry->indices = calloc(1, sizeof(*entry->indices));
	if (!entry->indices)
		return HSAKMT_STATUS_NO_MEMORY;
	parameters->type = SOFTGPU_QUEUE_SDMA;
	parameters->read_index = &entry->indices->read;
	parameters->write_index = &entry->indices->write;
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS create_queue(const struct softgpu_gpu *gpu, HSA_QUEUE_TYPE type,
				  const HsaEvent *event,
				  struct softgpu_queue_parameters *parameters,
				  HsaQueueResource *resource)
{
	const uint32_t number = free_number();
	struct queue_entry *entry = &entries[number];
	HSAKMT_STATUS status;

	if (number == 0)
		return HSAKMT_STATUS_OUT_OF_RESOURCES;
	parameters->number = number;
	switch (type) {
	case HSA_QUEUE_COMPUTE_AQL:
		status = describe_aql(resource, event, parameters);
		break;
	case HSA_QUEUE_SDMA:
	case HSA_QUEUE_SDMA_XGMI:
		status = describe_sdma(entry, parameters);
		break;
	default:
		status = HSAKMT_STATUS_NOT_SUPPORTED;
		break;
	}
	if (status != HSAKMT_STATUS_SUCCESS)
		return status;
	entry->queue = softgpu_queue_create(gpu, softgpu_device()->monitor, parameters);
	if (!entry->queue) {
		free(entry->indices);
		entry->indices = NULL;
		return HSAKMT_STATUS_NO_MEMORY;
	}
	entry->mask_bits = gpu->compute_units;
	memset(entry->mask, 0xff, sizeof(entry->mask));
	resource->QueueId = number;
	resource->QueueDoorBell = (uint64_t)(uintptr_t)softgpu_queue_doorbell(entry->queue);
	if (entry->indices) {
		resource->QueueRptrValue = (uint64_t)(uintptr_t)&entry->indices->read;
		resource->QueueWptrValue = (uint64_t)(uintptr_t)&entry->indices->write;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 NodeId, HSA_QUEUE_TYPE Type, HSAuint32 QueuePercentage,
				HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
				HSAuint64 QueueSizeInBytes, HsaEvent *Event,
				HsaQueueResource *QueueResource)
{
	const uint64_t ring = (uint64_t)(uintptr_t)QueueAddress;
	struct softgpu_queue_parameters parameters = {.ring_size = QueueSizeInBytes};
	struct softgpu_translation range;
	struct softgpu_node *node;
	HSAKMT_STATUS status;

	(void)Priority;
	SOFTGPU_REQUIRE_OPEN();
	node = softgpu_device_gpu(softgpu_device(), NodeId);
	if (!node)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	if (!QueueResource || QueueSizeInBytes < 1024 ||
	    (QueueSizeInBytes & (QueueSizeInBytes - 1)) != 0)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!softgpu_ranges_translate(&node->ranges, ring, &range) ||
	    range.end - ring < QueueSizeInBytes)
		return HSAKMT_STATUS_INVALID_PARAMETER; /* not mapped to the GPU */
	parameters.ring = (void *)(uintptr_t)(ring + (uint64_t)range.host_offset);
	pthread_mutex_lock(&lock);
	status = create_queue(&node->gpu, Type, Event, &parameters, QueueResource);
	if (status == HSAKMT_STATUS_SUCCESS && QueuePercentage == 0)
		softgpu_queue_set_active(entries[QueueResource->QueueId].queue, false);
	pthread_mutex_unlock(&lock);
	return status;
}

HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID QueueId, HSAuint32 QueuePercentage,
				HSA_QUEUE_PRIORITY Priority, void *QueueAddress,
				HSAuint64 QueueSize, HsaEvent *Event)
{
	struct queue_entry *entry;

	(void)Priority;
	(void)Event;
	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	entry = find_entry(QueueId);
	if (entry)
		softgpu_queue_set_active(entry->queue,
					 QueuePercentage != 0 && QueueAddress && QueueSize != 0);
	pthread_mutex_unlock(&lock);
	return entry ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID QueueId)
{
	struct queue_entry *entry;

	SOFTGPU_REQUIRE_OPEN();
	pthread_mutex_lock(&lock);
	entry = find_entry(QueueId);
	if (entry)
		destroy_entry(entry);
	pthread_mutex_unlock(&lock);
	return entry ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID QueueId, HSAuint32 CUMaskCount,
				   HSAuint32 *QueueCUMask)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct queue_entry *entry;

	SOFTGPU_REQUIRE_OPEN();
	if (CUMaskCount == 0 || !QueueCUMask || CUMaskCount % 32 != 0)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	entry = find_entry(QueueId);
	if (!entry) {
		status = HSAKMT_STATUS_INVALID_HANDLE;
	} else if (!softgpu_queue_set_compute_unit_mask(entry->queue, QueueCUMask, CUMaskCount)) {
		status = HSAKMT_STATUS_INVALID_PARAMETER;
	} else {
		entry->mask_bits = CUMaskCount < SOFTGPU_MAX_COMPUTE_UNITS
					   ? CUMaskCount
					   : SOFTGPU_MAX_COMPUTE_UNITS;
		memcpy(entry->mask, QueueCUMask, entry->mask_bits / 8);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

HSAKMT_STATUS hsaKmtGetQueueInfo(HSA_QUEUEID QueueId, HsaQueueInfo *QueueInfo)
{
	struct queue_entry *entry;

	SOFTGPU_REQUIRE_OPEN();
	if (!QueueInfo)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	entry = find_entry(QueueId);
	if (entry) {
		memset(QueueInfo, 0, sizeof(*QueueInfo));
		QueueInfo->NumCUAssigned = entry->mask_bits;
		QueueInfo->CUMaskInfo = entry->mask;
	}
	pthread_mutex_unlock(&lock);
	return entry ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

/* The runtime binds its trap handler; traps are reported without running it. */
HSAKMT_STATUS hsaKmtSetTrapHandler(HSAuint32 NodeId, void *TrapHandlerBaseAddress,
				   HSAuint64 TrapHandlerSizeInBytes, void *TrapBufferBaseAddress,
				   HSAuint64 TrapBufferSizeInBytes)
{
	(void)TrapHandlerBaseAddress;
	(void)TrapHandlerSizeInBytes;
	(void)TrapBufferBaseAddress;
	(void)TrapBufferSizeInBytes;
	SOFTGPU_REQUIRE_OPEN();
	return softgpu_device_gpu(softgpu_device(), NodeId) ? HSAKMT_STATUS_SUCCESS
							    : HSAKMT_STATUS_INVALID_NODE_UNIT;
}
