/* SPDX-License-Identifier: MIT */
/* Sees, and on request fails, the asynchronous copies that the library asks the runtime for. */
#ifndef H2DPUB_TESTS_COPY_SPY_H
#define H2DPUB_TESTS_COPY_SPY_H

#include <stddef.h>
#include <stdint.h>

struct copy_spy {
	uint64_t calls;
	uint64_t fail_at;    /* this call fails, counted from 1; 0: none */
	void (*after)(void); /* called after each copy that was passed on */
	/* Of the last call: */
	const void *source;
	void *destination;
	size_t size;
};

extern struct copy_spy copy_spy;

#endif
