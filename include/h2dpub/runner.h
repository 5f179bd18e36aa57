/* SPDX-License-Identifier: MIT */
/*
 * Runners: a runner owns the publication slots of a model on one GPU (one owner each) with the
 * buffers and groups of a step, found by name, and frames its forwards.
 *
 * Threading: a runner is used by one thread at a time, and from begin to finish by the same one.
 * Different runners may be used by different threads at the same time.
 */
#ifndef H2DPUB_RUNNER_H
#define H2DPUB_RUNNER_H

#include <h2dpub/batch.h>
#include <h2dpub/publication.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct h2d_runner h2d_runner_t;

/* A buffer of every slot: allocated for the first group that declares it, shared by the others. */
typedef struct h2d_member_declaration {
	const char *name;
	size_t element_size;   /* bytes */
	uint64_t rows;         /* 0: the slot has the buffer already; nothing else is read */
	uint64_t columns;      /* 0: one dimension */
	h2d_count_unit_t unit; /* of the counts */
} h2d_member_declaration_t;

/* A group of every slot, published by one call; found by h2d_runner_group(). */
typedef struct h2d_group_declaration {
	const char *name;
	const h2d_member_declaration_t *members; /* in the order of the counts */
	uint32_t num_members;
	/*
	 * The packed backend gives it no arena and copies its members one by one: for groups that
	 * mostly publish one or two, as those of mrope.h and ragged.h. Those of MLA, whose decode
	 * publishes about nine, go one by one as in the runtimes that they are taken from. The
	 * other backends do not read this.
	 */
	bool unpacked;
} h2d_group_declaration_t;

/* What a runner's KV cache and decode metadata are for. */
typedef enum h2d_attention {
	H2D_ATTENTION_MHA = 0, /* mha_decode.h */
	H2D_ATTENTION_MLA = 1  /* mla_decode.h, mla_prefill.h */
} h2d_attention_t;

typedef struct h2d_runner_options {
	uint32_t slots;            /* publication slots, rotated; >= 1 */
	uint32_t max_requests;     /* the largest batch, padding included; >= 1 */
	uint32_t query_length;     /* tokens a request decodes in one step: 1 + speculative tokens */
	uint32_t block_size;       /* tokens of one block-table page; >= 1 */
	uint32_t page_size;        /* tokens of one physical KV page, divides block_size; 0: block_size */
	uint32_t max_model_length; /* tokens of the longest context; >= 1 */
	uint32_t max_tokens;       /* of one step; 0: max_requests * query_length, the least */
	uint32_t num_pages;        /* block ids are in [0, num_pages); 0: all that fit into int32 pages */
	const uint32_t *captured_batch_sizes; /* ascending; the padded batch sizes; copied */
	uint32_t num_captured_batch_sizes;    /* 0: batches are not padded */
	const char *backend;       /* NULL: ATOM_H2D_BACKEND, else packed */
	bool omit_end_fence;       /* see h2d_owner_options_t */
	uint64_t timeout_ns;       /* 0: H2D_DEFAULT_TIMEOUT_NS */
	uint64_t pack_limit_bytes; /* see h2d_owner_options_t */
	h2d_attention_t attention;
	/* MLA: decode context parallelism, the tokens of a context dealt out to ranks. */
	uint32_t dcp_size;       /* ranks; 0: 1 */
	uint32_t dcp_rank;       /* of this GPU, below dcp_size */
	uint32_t dcp_interleave; /* tokens in a row that a rank gets, divides block_size; 0: 1 */
	uint32_t index_topk;     /* MLA: most tokens that sparse attention selects; 0: dense */
	bool mrope;              /* mrope.h; then no group publishes positions */
	bool tbo;                /* tbo.h: two sub-batches with buffers of their own */
	bool ragged;             /* ragged.h: what QSA and PLE read of a ragged batch */
	const h2d_group_declaration_t *groups; /* more groups, behind the library's own; copied */
	uint32_t num_groups;
} h2d_runner_options_t;

/*
 * Makes a runner on a device: owners, buffers (zero on both sides) and groups of every slot,
 * transports chosen. INVALID_ARGUMENT / OUT_OF_RANGE: an option, named with its value. NOT_FOUND: a
 * group declares a member without rows, and no group before it has a buffer of that name.
 * OUT_OF_MEMORY, TIMEOUT, MEMORY_FAULT, HSA_ERROR.
 */
H2D_API h2d_status_t h2d_runner_create(h2d_device_t *device, const h2d_runner_options_t *options,
				       h2d_runner_t **runner);

/*
 * Destroys a runner after waiting (bounded) for the GPU work of all slots up to their last finish
 * or record; what was enqueued later must be over (h2d_stream_synchronize). INVALID_STATE: a graph
 * that reads its buffers was not destroyed before; nothing has changed. TIMEOUT, QUEUE_FULL, or
 * HSA_ERROR (see h2d_owner_drain): the runner keeps all slots with their storage but publishes
 * nothing more; destroy it again. NULL is allowed.
 */
H2D_API h2d_status_t h2d_runner_destroy(h2d_runner_t *runner);

/* The backend that the options or the environment have named. */
H2D_API h2d_backend_t h2d_runner_backend(const h2d_runner_t *runner);

/* The slot in use; 0 before the first begin. */
H2D_API uint32_t h2d_runner_slot(const h2d_runner_t *runner);

/* The owner of a slot; NULL: there is no such slot. */
H2D_API h2d_owner_t *h2d_runner_owner(const h2d_runner_t *runner, uint32_t slot);

/*
 * A group ("mha_decode") or a buffer ("positions") of the slot in use by name: another object after
 * each begin that moves to another slot. NOT_FOUND.
 */
H2D_API h2d_status_t h2d_runner_group(const h2d_runner_t *runner, const char *name,
				      h2d_group_t **group);
H2D_API h2d_status_t h2d_runner_buffer(const h2d_runner_t *runner, const char *name,
				       h2d_buffer_t **buffer);

/* The smallest captured batch size that holds num_requests; num_requests itself if none does. */
H2D_API uint32_t h2d_runner_graph_requests(const h2d_runner_t *runner, uint32_t num_requests);

/*
 * The frame of a forward: begin moves to the next slot (with one slot: stays) and begins its epoch;
 * finish ends its preparation; record, after the forward's GPU work is enqueued, makes the next
 * begin of this slot wait for that work as well. Errors as for the owner calls of the same names; a
 * begin that fails does not move, and the slot in use must not be between begin and finish
 * (INVALID_STATE). With several slots the first forward uses slot 1. begin resets the counts of all
 * groups of its slot (h2d_group_reset_counts), so that none of an earlier step can be published.
 */
H2D_API h2d_status_t h2d_runner_begin(h2d_runner_t *runner, h2d_stream_t *stream);
H2D_API h2d_status_t h2d_runner_finish(h2d_runner_t *runner, h2d_stream_t *stream);
H2D_API h2d_status_t h2d_runner_record(h2d_runner_t *runner, h2d_stream_t *stream);

#ifdef __cplusplus
}
#endif

#endif
