/* SPDX-License-Identifier: MIT */
/* Standard input, output and error of a tool that was started with one of them closed. */
#ifndef H2DPUB_TOOLS_STANDARD_DESCRIPTORS_H
#define H2DPUB_TOOLS_STANDARD_DESCRIPTORS_H

#include "tool_error.h"

/*
 * To be called before any file is opened. Occupies each standard descriptor that is closed, so that
 * no later file gets its number; reading and writing it fail as before. -1 with a message.
 */
int standard_descriptors_occupy(struct tool_error *error);

#endif
