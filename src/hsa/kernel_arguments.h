/* SPDX-License-Identifier: MIT */
/* The arguments of the library's kernels, byte for byte as kernels/scatter.cl and pull.cl read
 * them. */
#ifndef H2DPUB_SRC_HSA_KERNEL_ARGUMENTS_H
#define H2DPUB_SRC_HSA_KERNEL_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Both kernels copy one chunk per workgroup; see kernels/chunk.h. */
#define H2D_CHUNK_BYTES		 4096
#define H2D_CHUNK_WORKGROUP_SIZE 64

/* The workgroups that a member of this many bytes needs. */
static inline uint64_t h2d_chunk_count(uint64_t bytes)
{
	return (bytes + H2D_CHUNK_BYTES - 1) / H2D_CHUNK_BYTES;
}

/* One member in the arena's header, which starts the arena. */
struct h2d_scatter_header {
	int64_t offset; /* of the payload from the arena's start; negative: not packed */
	int64_t count;	/* bytes; 0 or less: nothing */
};

/* One member in the scatter kernel's table: addresses that never change. */
struct h2d_scatter_member {
	uint64_t destination;
	uint64_t source; /* pinned; read where the header's offset is negative */
};

/* h2d_scatter: dispatch the sum of h2d_chunk_count(count) over all members, at least 1. */
struct h2d_scatter_arguments {
	uint64_t arena; /* device address, 16-byte aligned */
	uint64_t table; /* struct h2d_scatter_member [members], 16-byte aligned */
	uint32_t members;
	uint32_t reserved; /* 0 */
};

/* One member in the pull kernel's arguments. */
struct h2d_pull_member {
	uint64_t source; /* pinned */
	uint64_t destination;
	uint64_t bytes;
};

/*
 * h2d_pull: the descriptors follow the argument structure itself in kernel-argument memory, so that
 * the kernel reads them with no further address to fetch. Workgroups as for h2d_scatter.
 */
struct h2d_pull_arguments {
	uint32_t members;
	uint32_t reserved; /* 0 */
	struct h2d_pull_member member[];
};

_Static_assert(sizeof(struct h2d_scatter_header) == 16, "read as one ulong2");
_Static_assert(sizeof(struct h2d_scatter_member) == 16, "read as one ulong2");
_Static_assert(sizeof(struct h2d_scatter_arguments) == 24, "the kernel's argument layout");
_Static_assert(offsetof(struct h2d_scatter_arguments, table) == 8, "the kernel's argument layout");
_Static_assert(offsetof(struct h2d_scatter_arguments, members) == 16,
	       "the kernel's argument layout");
_Static_assert(sizeof(struct h2d_pull_member) == 24, "the kernel's descriptor layout");
_Static_assert(offsetof(struct h2d_pull_arguments, member) == 8, "the kernel's argument layout");

#endif
