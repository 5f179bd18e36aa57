/* SPDX-License-Identifier: MIT */
/* The reason of a deliberate second publication. */
#ifndef H2DPUB_SRC_PUBLISH_REASON_H
#define H2DPUB_SRC_PUBLISH_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether it says anything: a string with a character that is no white space. */
static inline bool h2d_reason_is_valid(const char *reason)
{
	return reason && reason[strspn(reason, " \t\n\v\f\r")] != '\0';
}

#endif
