/* SPDX-License-Identifier: MIT */
/* The program's own memory. */
#ifndef SOFTGPU_THUNK_HOST_MEMORY_H
#define SOFTGPU_THUNK_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the program can read, or also write, all pages that these bytes touch. */
bool softgpu_host_memory_allows(uint64_t begin, uint64_t size, bool write);

#endif
