/* SPDX-License-Identifier: MIT */
/*
 * Publication: pinned host arrays copied to fixed GPU addresses, in order with the work that reads
 * them.
 *
 * A *buffer* pairs a pinned host array (the source, which producers fill) with a device array of
 * the same shape (the destination, whose address consumers keep for ever). An *owner* is one slot:
 * it owns buffers and says when their sources may be rewritten. A *group* is an ordered list of an
 * owner's buffers that are published by one call. The *registry*, shared by all owners of a
 * runner, keeps the memory of different buffers apart.
 *
 * One epoch of an owner: h2d_owner_begin() waits until the GPU no longer reads the sources of the
 * last epoch; producers write sources and publish; h2d_owner_finish() enqueues the completion that
 * the next begin waits for. On this path nothing else waits but h2d_buffer_acquire_write(), and an
 * enqueue for room in a full ring.
 *
 * Threading: an owner belongs to the thread that began its epoch until finish. Different owners may
 * be used by different threads at the same time, those of one registry too; calls for one owner and
 * its buffers and groups may not race with each other.
 *
 * Streams share the DMA engine of their device: a copy that waits for earlier work of its stream
 * (direct publications, and packed ones of a single active member) holds up the copies of all
 * others. Streams that must not hold each other up, or that wait for each other, use pull.
 */
#ifndef H2DPUB_PUBLICATION_H
#define H2DPUB_PUBLICATION_H

#include <h2dpub/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_registry h2d_registry_t;
typedef struct h2d_owner h2d_owner_t;
typedef struct h2d_buffer h2d_buffer_t;
typedef struct h2d_group h2d_group_t;

/* How publications travel. All three land the same bytes under the same checks and ordering. */
typedef enum h2d_backend {
	H2D_BACKEND_PACKED = 0, /* one DMA of a packed arena, then one scatter dispatch */
	H2D_BACKEND_DIRECT = 1, /* one DMA a member */
	H2D_BACKEND_PULL = 2    /* one dispatch that reads the pinned sources; no DMA */
} h2d_backend_t;

/* What a buffer's counts count. */
typedef enum h2d_count_unit {
	H2D_COUNT_ROWS = 0,     /* of the first dimension */
	H2D_COUNT_ELEMENTS = 1, /* flat; contiguous buffers only */
	H2D_COUNT_BYTES = 2     /* flat; contiguous buffers only */
} h2d_count_unit_t;

typedef enum h2d_owner_state {
	H2D_OWNER_IDLE = 0,   /* no epoch yet, or h2d_owner_rebuild(): buffers and groups are made */
	H2D_OWNER_ACTIVE = 1, /* between begin (or resume) and finish */
	H2D_OWNER_SEALED = 2, /* finished */
	H2D_OWNER_FAILED = 3  /* for ever; storage is kept until the owner is destroyed */
} h2d_owner_state_t;

/* The count of a member that takes no part in a publication: no check, no effect at all. Zero, in
 * contrast, publishes nothing but is a publication. */
#define H2D_COUNT_OMITTED INT64_MIN

/* Members larger than this many published bytes are not packed by the CPU: the scatter kernel reads
 * them from their pinned source. The default of h2d_owner_options_t.pack_limit_bytes. */
#define H2D_DEFAULT_PACK_LIMIT_BYTES 65536

/*
 * The most DMA copies that one direct publication may take: a contiguous member is one, a strided
 * one as many as its rows have contiguous runs. Copies wait in a ring of the runtime, behind the
 * work that was enqueued before them; with a full ring the runtime waits for room without end. This
 * limit keeps one publication far from that. So should the sum of all that are outstanding be: some
 * 6,000 fit.
 */
#define H2D_MAX_COPIES 4096

/* The name of a backend: "packed", "direct" or "pull"; NULL for any other value. */
H2D_API const char *h2d_backend_name(h2d_backend_t backend);

/*
 * The backend of this name; NULL: the one named by the environment variable ATOM_H2D_BACKEND, or
 * packed if that is unset or empty. INVALID_ARGUMENT: any other name; the message lists the three.
 */
H2D_API h2d_status_t h2d_backend_from_name(const char *name, h2d_backend_t *backend);

/* ---- registry -------------------------------------------------------------------------------- */

/* Makes a registry, to be given to owners and to outlive them. OUT_OF_MEMORY. */
H2D_API h2d_status_t h2d_registry_create(h2d_registry_t **registry);

/* INVALID_STATE: buffers are still registered. NULL is allowed. */
H2D_API h2d_status_t h2d_registry_destroy(h2d_registry_t *registry);

/* ---- owner ----------------------------------------------------------------------------------- */

typedef struct h2d_owner_options {
	const char *name;          /* for messages; copied; NULL: "owner" */
	h2d_backend_t backend;     /* used by h2d_owner_select_transports() */
	uint64_t timeout_ns;       /* of begin, acquire and drain; 0: H2D_DEFAULT_TIMEOUT_NS */
	uint64_t pack_limit_bytes; /* 0: H2D_DEFAULT_PACK_LIMIT_BYTES; UINT64_MAX: pack every member */
	/*
	 * A publication ends with a fence packet (barrier bit, acquire and release at agent scope),
	 * without which a consumer packet could overtake it or read stale cache lines. True leaves it
	 * out, for callers whose first consumer packet has the barrier bit and acquires at agent
	 * scope or more, as h2d_graph_launch() and h2d_stream_dispatch() do. Direct copies keep it:
	 * what DMA wrote takes an acquire at system scope, and that is where it is.
	 */
	bool omit_end_fence;
} h2d_owner_options_t;

/*
 * Makes an owner on a device. registry NULL: a private one. options NULL: all defaults.
 * OUT_OF_MEMORY, HSA_ERROR.
 */
H2D_API h2d_status_t h2d_owner_create(h2d_device_t *device, h2d_registry_t *registry,
				      const h2d_owner_options_t *options, h2d_owner_t **owner);

/*
 * Destroys an owner with its groups and buffers (memory that it wrapped stays the caller's), after
 * waiting (bounded) for its GPU work. TIMEOUT, QUEUE_FULL: the work did not end; the owner stays. A
 * failed owner must be drained first (INVALID_STATE), unless its stream has failed: then this does
 * what h2d_owner_drain() does, with the same errors. INVALID_STATE also while a recording uses one
 * of the buffers (h2d_buffer_use_in_recording). NULL is allowed.
 */
H2D_API h2d_status_t h2d_owner_destroy(h2d_owner_t *owner);

H2D_API h2d_owner_state_t h2d_owner_state(const h2d_owner_t *owner);

/* The number of epochs begun; begin increments it, resume does not. */
H2D_API uint64_t h2d_owner_epoch(const h2d_owner_t *owner);

/*
 * Chooses a transport for every group by the owner's backend; to be called once all groups exist,
 * and only while the owner is idle (INVALID_STATE). Without it every group is direct.
 * packed: the largest eligible groups get an arena; a group that is a subset of a packed one, has
 * fewer than two members or a strided member stays direct (reference: maximal selection).
 * pull: every group without strided members. Groups whose transport the caller has chosen keep it:
 * h2d_group_use_transport(group, H2D_BACKEND_DIRECT, NULL) says of a group that only names members
 * which are published one by one, or is only checked, that it needs no arena.
 * On errors the groups chosen so far keep their transport and the rest stay direct: OUT_OF_MEMORY,
 * HSA_ERROR; INVALID_STATE, TIMEOUT, MEMORY_FAULT of what clears and writes an arena.
 */
H2D_API h2d_status_t h2d_owner_select_transports(h2d_owner_t *owner);

/*
 * Starts an epoch on a stream: waits (bounded) until the GPU is done with the last one, then all
 * sources may be written. Allowed when idle or sealed. Checks in this order: state
 * (INVALID_STATE), device (WRONG_DEVICE), capture (CAPTURE_ACTIVE); these change nothing. A wait
 * that fails (TIMEOUT, QUEUE_ERROR, MEMORY_FAULT) fails the owner.
 */
H2D_API h2d_status_t h2d_owner_begin(h2d_owner_t *owner, h2d_stream_t *stream);

/*
 * Ends the preparation: enqueues the completion signal behind everything published and returns at
 * once; the owner is sealed. Checks as for publish; an enqueue that fails fails the owner.
 */
H2D_API h2d_status_t h2d_owner_finish(h2d_owner_t *owner, h2d_stream_t *stream);

/*
 * Continues a sealed epoch (late preparation): same thread, same stream as begin, same epoch, and
 * what was published stays published. Finish it again. INVALID_STATE, WRONG_THREAD, WRONG_DEVICE,
 * CAPTURE_ACTIVE, WRONG_STREAM.
 */
H2D_API h2d_status_t h2d_owner_resume(h2d_owner_t *owner, h2d_stream_t *stream);

/*
 * Enqueues the completion signal once more, at the end of a forward, so that the next begin also
 * waits for the consumers enqueued since finish. Owner sealed; stream checks as for resume, any
 * thread that is not racing with others.
 */
H2D_API h2d_status_t h2d_owner_record(h2d_owner_t *owner, h2d_stream_t *stream);

/* Fails the owner from any state: it publishes nothing more, and keeps its storage. */
H2D_API h2d_status_t h2d_owner_fail(h2d_owner_t *owner);

/*
 * Waits (bounded) until the GPU has finished the work of a failed owner, which stays failed.
 * INVALID_STATE: not failed. TIMEOUT, QUEUE_FULL: the work did not end; drain it again.
 * After a failure of the stream only copies are waited for. Those of all owners stand in one ring:
 * behind those of another owner whose queue has failed they end once that owner is drained as well,
 * so drain all owners of a failed queue, and again those that met TIMEOUT. A memory fault may have
 * stopped DMA for good; then an owner with copies under way meets TIMEOUT each time, and its
 * storage stays until the process ends. HSA_ERROR: the queue cannot be made inactive after a memory
 * fault.
 */
H2D_API h2d_status_t h2d_owner_drain(h2d_owner_t *owner);

/*
 * Makes a sealed owner idle again, so that groups and buffers can be destroyed, made and given
 * transports; an idle one stays so. Waits (bounded) for everything enqueued so far on the epoch's
 * stream, which the owner then no longer holds. The epoch's number is kept, so that the next begin
 * starts another. What stays keeps its addresses, contents and counts.
 * INVALID_STATE: active (finish first) or failed. CAPTURE_ACTIVE: the stream is recording a graph.
 * A wait that fails (TIMEOUT, QUEUE_FULL, QUEUE_ERROR, MEMORY_FAULT) fails the owner.
 */
H2D_API h2d_status_t h2d_owner_rebuild(h2d_owner_t *owner);

/* ---- buffers --------------------------------------------------------------------------------- */

#define H2D_MAX_DIMENSIONS 4

typedef struct h2d_buffer_description {
	const char *name;       /* unique within the owner; copied */
	size_t element_size;    /* bytes: 1, 2, 4, 8 or 16 */
	uint32_t dimensions;    /* 0 (a scalar) to H2D_MAX_DIMENSIONS */
	uint64_t shape[H2D_MAX_DIMENSIONS];
	/* Strides in elements, for wrapped memory; all zero: contiguous. Only H2D_COUNT_ROWS may be
	 * strided, and strided buffers are always copied directly. */
	int64_t host_strides[H2D_MAX_DIMENSIONS];
	int64_t device_strides[H2D_MAX_DIMENSIONS];
	h2d_count_unit_t unit;
} h2d_buffer_description_t;

/*
 * Allocates a buffer, zeroed on both sides, registers its memory and makes its implicit
 * one-member group. Owner idle. INVALID_STATE; INVALID_ARGUMENT: shape, element size, unit or a
 * duplicate name. OUT_OF_RANGE: more than INT64_MAX bytes. OUT_OF_MEMORY, TIMEOUT, MEMORY_FAULT,
 * HSA_ERROR.
 */
H2D_API h2d_status_t h2d_buffer_allocate(h2d_owner_t *owner,
					 const h2d_buffer_description_t *description,
					 h2d_buffer_t **buffer);

/*
 * The same around the caller's memory, which must stay allocated until the buffer is destroyed.
 * host: pinned memory that this GPU can read. device: memory of this GPU. Both are checked.
 * INVALID_ARGUMENT: pageable host memory, memory of another device, memory smaller than the
 * shape. OVERLAP: the device range overlaps the destination, or the host range the source, of a
 * buffer in this registry (whole span from first to last byte; empty ranges overlap nothing).
 * OUT_OF_RANGE: also strides beyond an address, and more rows times runs than H2D_MAX_COPIES. Others
 * as for h2d_buffer_allocate().
 */
H2D_API h2d_status_t h2d_buffer_wrap(h2d_owner_t *owner,
				     const h2d_buffer_description_t *description, void *host,
				     void *device, h2d_buffer_t **buffer);

/*
 * Destroys a buffer: takes its ranges out of the registry, so that others may be made of that
 * memory, and frees the memory unless it was wrapped. Work on other streams than the owner's, and
 * h2d_published_table_t of the buffer, must be gone. INVALID_STATE: the owner is not idle, a group
 * made by h2d_group_create() holds the buffer, or a recording uses it. NULL is allowed.
 */
H2D_API h2d_status_t h2d_buffer_destroy(h2d_buffer_t *buffer);

/*
 * To be called while a stream records a graph that reads or writes the buffer's source or
 * destination: neither the buffer nor its owner can be destroyed until the graph is. Once per
 * recording is enough. INVALID_STATE: the stream is not recording. WRONG_DEVICE, OUT_OF_MEMORY.
 */
H2D_API h2d_status_t h2d_buffer_use_in_recording(h2d_buffer_t *buffer, h2d_stream_t *stream);

/* The pinned source. Producers may write it between begin and the buffer's publication. */
H2D_API void *h2d_buffer_host(const h2d_buffer_t *buffer);

/* The fixed device destination. */
H2D_API void *h2d_buffer_device(const h2d_buffer_t *buffer);

H2D_API const char *h2d_buffer_name(const h2d_buffer_t *buffer);

/* The largest count in the buffer's unit, and the bytes of one count. */
H2D_API uint64_t h2d_buffer_capacity(const h2d_buffer_t *buffer);
H2D_API uint64_t h2d_buffer_bytes_per_count(const h2d_buffer_t *buffer);

/* The owner's epoch if the buffer was published in it; 0: it was not. */
H2D_API uint64_t h2d_buffer_published_epoch(const h2d_buffer_t *buffer);

/*
 * Publishes the buffer alone. count in its unit; H2D_COUNT_OMITTED does nothing. reason: see
 * h2d_group_publish(). Same checks and errors as h2d_group_publish().
 */
H2D_API h2d_status_t h2d_buffer_publish(h2d_buffer_t *buffer, h2d_stream_t *stream, int64_t count,
					const char *reason);

/* The same with a count of rows whatever the buffer's unit; a negative count: all. */
H2D_API h2d_status_t h2d_buffer_publish_rows(h2d_buffer_t *buffer, h2d_stream_t *stream,
					     int64_t rows, const char *reason);

/*
 * Makes the source writable again within the epoch: waits (bounded) for everything enqueued so far
 * if the GPU may still read it, else returns at once. If the buffer was published in this epoch,
 * reason (a non-blank string, not kept) is required: ALREADY_PUBLISHED. Other errors as for
 * publish; a wait that fails fails the owner. The next publication still needs its own reason.
 */
H2D_API h2d_status_t h2d_buffer_acquire_write(h2d_buffer_t *buffer, h2d_stream_t *stream,
					      const char *reason);

/* ---- groups ---------------------------------------------------------------------------------- */

/*
 * Makes a group of buffers of one owner, in this order. Owner idle. INVALID_STATE;
 * INVALID_ARGUMENT: a buffer of another owner, or the same buffer twice. OUT_OF_RANGE: more than
 * H2D_MAX_COPIES if copied directly. OUT_OF_MEMORY. name is for messages and need not be unique;
 * copied.
 */
H2D_API h2d_status_t h2d_group_create(h2d_owner_t *owner, const char *name,
				      h2d_buffer_t *const buffers[], uint32_t count,
				      h2d_group_t **group);

/*
 * Destroys a group with its arena or kernel arguments; its buffers stay. INVALID_STATE: the owner
 * is not idle. NULL is allowed.
 */
H2D_API h2d_status_t h2d_group_destroy(h2d_group_t *group);

/*
 * Chooses the transport of one group, as h2d_owner_select_transports() does for all; a group that
 * cannot have it stays direct, and *chosen (may be NULL) and h2d_group_fallback_reason() say so.
 * h2d_owner_select_transports() keeps the choice.
 * Owner idle. INVALID_STATE, INVALID_ARGUMENT (unknown transport; nothing changed); errors of making
 * the transport as for h2d_owner_select_transports().
 */
H2D_API h2d_status_t h2d_group_use_transport(h2d_group_t *group, h2d_backend_t transport,
					     h2d_backend_t *chosen);

H2D_API h2d_backend_t h2d_group_transport(const h2d_group_t *group);

/* Why the group is direct although another transport was asked for; NULL if it is not so. */
H2D_API const char *h2d_group_fallback_reason(const h2d_group_t *group);

H2D_API uint32_t h2d_group_size(const h2d_group_t *group);

/*
 * Sets a member's count for publications that pass no counts of their own. Counts start as
 * H2D_COUNT_OMITTED and persist across epochs. Nothing is checked but membership: NOT_FOUND.
 */
H2D_API h2d_status_t h2d_group_set_count(h2d_group_t *group, const h2d_buffer_t *buffer,
					 int64_t count);

/* Sets all counts of the group to H2D_COUNT_OMITTED. */
H2D_API void h2d_group_reset_counts(h2d_group_t *group);

/*
 * Checks that every member may be written and published now: what a producer asks before it writes
 * its sources. Errors as for publish. Grants nothing, waits for nothing.
 */
H2D_API h2d_status_t h2d_group_check_writable(const h2d_group_t *group, h2d_stream_t *stream);

/*
 * Publishes the group: for each member the first counts[i] rows, elements or bytes of its source go
 * to its destination, before anything that is enqueued on the stream afterwards runs. Bytes behind
 * the count are not touched. Does not wait for the GPU (a full queue: bounded).
 *
 * counts: one a member, NULL for the counts set by h2d_group_set_count(). reasons: NULL, or one a
 * member; a member that was published in this epoch needs a non-blank reason there, and its source
 * acquired (h2d_buffer_acquire_write). Neither array is kept.
 *
 * Everything is checked before anything is written or enqueued; on these errors nothing has changed
 * and a corrected call may follow: INVALID_STATE, WRONG_THREAD, WRONG_DEVICE, CAPTURE_ACTIVE,
 * WRONG_STREAM (in this order), then member by member ALREADY_PUBLISHED, SOURCE_IN_USE,
 * OUT_OF_RANGE, then TRANSPORT_IN_FLIGHT: the group's descriptors of an earlier publication in
 * this epoch may still be read; acquire a member of that publication first.
 * An error while enqueuing (QUEUE_FULL, QUEUE_ERROR, MEMORY_FAULT, OUT_OF_MEMORY, HSA_ERROR) fails
 * the owner.
 */
H2D_API h2d_status_t h2d_group_publish(h2d_group_t *group, h2d_stream_t *stream,
				       const int64_t counts[], const char *const reasons[]);

/* ---- what it cost ---------------------------------------------------------------------------- */

/* Totals over an owner's life, for reports and tests. */
typedef struct h2d_publication_totals {
	uint64_t publications;    /* calls that enqueued something */
	uint64_t dma_copies;      /* asynchronous copies submitted */
	uint64_t dispatches;      /* scatter and pull dispatches */
	uint64_t barrier_packets; /* dependencies, fences and completions */
	uint64_t bytes;           /* published: payload that landed in destinations */
	uint64_t packed_bytes;    /* of which copied by the CPU into arenas */
} h2d_publication_totals_t;

H2D_API void h2d_owner_get_totals(const h2d_owner_t *owner, h2d_publication_totals_t *totals);

#ifdef __cplusplus
}
#endif

#endif
