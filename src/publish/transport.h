/* SPDX-License-Identifier: MIT */
/*
 * Transports: how the validated bytes of a group (h2d_group.bytes, at least one of them not 0)
 * travel. Submitting allocates nothing and waits for nothing but room in the queue. After an error
 * the queue still runs to its end: nothing that was enqueued waits for something that was not.
 */
#ifndef H2DPUB_SRC_PUBLISH_TRANSPORT_H
#define H2DPUB_SRC_PUBLISH_TRANSPORT_H

#include "publish/group.h"

/* One copy for each active member (or each run of a strided one), on a member's own signals. */
void h2d_direct_prepare(h2d_buffer_t *buffer);
h2d_status_t h2d_direct_submit(h2d_group_t *group, h2d_stream_t *stream);

/* One copy of the arena, one scatter dispatch. Two active members or more. */
h2d_status_t h2d_packed_create(h2d_group_t *group);
h2d_status_t h2d_packed_submit(h2d_group_t *group, h2d_stream_t *stream);
void h2d_packed_destroy(h2d_packed_t *packed);
/* Counts the arena copies that have not landed. */
hsa_signal_t h2d_packed_copied(const h2d_packed_t *packed);

/* One dispatch that reads the sources. */
h2d_status_t h2d_pull_create(h2d_group_t *group);
h2d_status_t h2d_pull_submit(h2d_group_t *group, h2d_stream_t *stream);
void h2d_pull_destroy(h2d_pull_t *pull);

#endif
