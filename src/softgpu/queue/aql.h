/* SPDX-License-Identifier: MIT */
/* The state of one AQL packet processor and what its files (aql*.c) do for each other. */
#ifndef SOFTGPU_QUEUE_AQL_H
#define SOFTGPU_QUEUE_AQL_H

#include "../cache.h"
#include "engine.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

/* Packets between the read index and the next packet to be started, at most. */
#define SOFTGPU_AQL_WINDOW 64

/* What a queue error is for the two ways of reporting it. */
enum softgpu_aql_error {
	SOFTGPU_AQL_ERROR_DIMENSIONS,
	SOFTGPU_AQL_ERROR_GROUP_MEMORY,
	SOFTGPU_AQL_ERROR_KERNEL_OBJECT,
	SOFTGPU_AQL_ERROR_PACKET,
	SOFTGPU_AQL_ERROR_WORKGROUP_SIZE,
	SOFTGPU_AQL_ERROR_REGISTERS,
	SOFTGPU_AQL_ERROR_VENDOR_PACKET,
	SOFTGPU_AQL_ERROR_ILLEGAL_INSTRUCTION,
	SOFTGPU_AQL_ERROR_TRAP,
};

/* One 64-byte slot of the ring. */
union softgpu_aql_packet {
	_Atomic uint16_t header;
	uint32_t dword[16];
	hsa_kernel_dispatch_packet_t dispatch;
	hsa_barrier_and_packet_t barrier; /* barrier-OR is laid out alike */
	hsa_amd_barrier_value_packet_t barrier_value;
};

struct softgpu_aql;

/* A packet from its start until the read index passes it. */
struct softgpu_aql_record {
	enum {
		SOFTGPU_AQL_FREE,
		SOFTGPU_AQL_RUNNING,
		SOFTGPU_AQL_COMPLETE,
		SOFTGPU_AQL_ABORTED
	} state;
	struct softgpu_aql *aql;
	hsa_signal_t completion_signal;
	uint64_t start;		    /* time */
	enum softgpu_scope release; /* the packet's release fence */
	bool uses_scratch;
	uint64_t hold_until; /* the adversary holds the grid back until then; 0: it is submitted */
	struct softgpu_grid grid;
};

struct softgpu_aql {
	struct softgpu_queue *queue;
	const struct softgpu_gpu *gpu;
	amd_queue_t *amd_queue;
	union softgpu_aql_packet *ring;
	uint64_t size; /* packets */
	/* The queue thread's. */
	uint64_t next;	    /* packet to be started */
	uint64_t announced; /* first packet behind those that the doorbell has announced */
	bool halted;
	bool scratch_requested; /* the runtime has been asked for something and has not answered */
	bool scratch_once;	/* the scratch memory must be given back after its user */
	/* Shared with the threads that end grids. */
	pthread_mutex_t lock;
	uint64_t retired;   /* the read index */
	uint32_t in_flight; /* grids */
	uint32_t held;	    /* grids of these that the adversary holds back; the queue thread's */
	uint32_t scratch_users;		    /* grids */
	uint32_t scratch_wave_size;	    /* of the users */
	struct softgpu_slots scratch_slots; /* guarded by the workers' lock */
	struct softgpu_fault fault;	    /* the first, of a grid or of a completion */
	struct softgpu_aql_record record[SOFTGPU_AQL_WINDOW];
};

/* Starts the next packet's record. The packet's fields are not read after it completes. */
struct softgpu_aql_record *softgpu_aql_begin(struct softgpu_aql *aql, hsa_signal_t completion);
/* Ends a packet successfully: retires it as soon as it is the oldest, then signals. */
void softgpu_aql_complete(struct softgpu_aql_record *record);
/* Of a grid or of a completion, on any thread: the next step of the queue halts it. */
void softgpu_aql_note_fault(struct softgpu_aql *aql, const struct softgpu_fault *fault);
/* The acquire fence of the next packet, once nothing keeps it from starting. */
void softgpu_aql_acquire(struct softgpu_aql *aql);
/* Submits the grids that the adversary has held back long enough; true: some are held still. */
bool softgpu_aql_submit_held(struct softgpu_aql *aql);

/* Reports an error of the next packet or of a grid and halts the queue. */
enum softgpu_step softgpu_aql_fail(struct softgpu_aql *aql, enum softgpu_aql_error error,
				   const char *message);
/* The same for an access to memory that is not mapped. */
enum softgpu_step softgpu_aql_memory_fault(struct softgpu_aql *aql, uint64_t address, bool write,
					   const char *message);
/*
 * Stores `code` in the queue's inactive signal and waits until the runtime answers with 0.
 * PROGRESS: it did.
 */
enum softgpu_step softgpu_aql_ask_runtime(struct softgpu_aql *aql, int64_t code);

enum softgpu_step softgpu_aql_start_dispatch(struct softgpu_aql *aql,
					     const union softgpu_aql_packet *packet);
enum softgpu_step softgpu_aql_dispatch_fault(struct softgpu_aql *aql,
					     const struct softgpu_fault *fault);
enum softgpu_step softgpu_aql_start_vendor(struct softgpu_aql *aql,
					   const union softgpu_aql_packet *packet);

#endif
