/* SPDX-License-Identifier: MIT */
/* Finding the GPU, its nearest CPU agent and their memory pools. */
#ifndef H2DPUB_SRC_HSA_AGENT_H
#define H2DPUB_SRC_HSA_AGENT_H

#include "hsa/device_state.h"

/* Counts the GPU agents; *agent is the one with this index, handle 0 if there is none. */
h2d_status_t h2d_agent_find_gpu(uint32_t index, hsa_agent_t *agent, uint32_t *count);

/*
 * Chooses the device's pools: its coarse-grained memory, and fine-grained and kernel-argument
 * memory of the CPU agent nearest to it. device->agent is set.
 */
h2d_status_t h2d_agent_choose_pools(h2d_device_t *device);

/* Fills device->info but for isa and index, and the limits of queues. */
h2d_status_t h2d_agent_read_info(h2d_device_t *device);

#endif
