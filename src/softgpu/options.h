/* SPDX-License-Identifier: MIT */
/* The options of the software GPU: environment variables, read once when the device is opened. */
#ifndef SOFTGPU_OPTIONS_H
#define SOFTGPU_OPTIONS_H

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
	uint32_t workers; /* threads that run workgroups */
	uint32_t spin; /* microseconds for which an idle queue looks at its doorbell before it sleeps */
	bool exceptions; /* errors through the exception signal of newer kernel drivers */
	bool userfaultfd; /* sleeping queues are woken by userfaultfd rather than by looking */
};

/* False: `message` names the variable and the value that cannot be used. */
bool softgpu_options_read(struct softgpu_options *options, char *message, size_t size);
/* Prints every option with its meaning and current value. */
void softgpu_options_print(FILE *stream, const struct softgpu_options *options);

#endif
