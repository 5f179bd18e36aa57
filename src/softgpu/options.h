/* SPDX-License-Identifier: MIT */
/* The options of the software GPU: environment variables, read once when the device is opened. */
#ifndef SOFTGPU_OPTIONS_H
#define SOFTGPU_OPTIONS_H

#include "queue/adversary.h"
#include "target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SOFTGPU_MAX_GPUS 8

struct softgpu_options {
	const struct softgpu_target *target;
	uint32_t gpus;
	uint64_t vram_size; /* bytes of one GPU */
	bool large_bar;	    /* the host can access video memory */
	uint32_t workers;   /* threads that run workgroups */
	uint32_t spin;	    /* microseconds for which an idle queue looks at its doorbell before it
			       sleeps */
	bool exceptions;    /* errors through the exception signal of newer kernel drivers */
	bool userfaultfd;   /* sleeping queues are woken by userfaultfd rather than by looking */
	uint32_t l2s;	    /* caches of one GPU in the cache model; 0: it is off */
	bool seed_given;
	struct softgpu_adversary adversary;
};

/* False: `message` names the variable and the value that cannot be used. */
bool softgpu_options_read(struct softgpu_options *options, char *message, size_t size);
/* Whether any hostile mode is on: cache model, delays or stalls. */
bool softgpu_options_hostile(const struct softgpu_options *options);
/* Prints every option with its meaning and current value. */
void softgpu_options_print(FILE *stream, const struct softgpu_options *options);

#endif
