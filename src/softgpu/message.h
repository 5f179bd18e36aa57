/* SPDX-License-Identifier: MIT */
/* Messages of the software GPU to its user: one line each on stderr, never on stdout. */
#ifndef SOFTGPU_MESSAGE_H
#define SOFTGPU_MESSAGE_H

__attribute__((format(printf, 1, 2))) void softgpu_message(const char *format, ...);

#endif
