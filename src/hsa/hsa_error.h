/* SPDX-License-Identifier: MIT */
/* Failed hsa_* calls as statuses and messages. */
#ifndef H2DPUB_SRC_HSA_HSA_ERROR_H
#define H2DPUB_SRC_HSA_HSA_ERROR_H

#include <hsa/hsa.h>

#include <h2dpub/status.h>

/* h2d_error() for a failed hsa_* call: OUT_OF_MEMORY or HSA_ERROR, with the call and ROCr's own
 * words. */
h2d_status_t h2d_hsa_error(hsa_status_t status, const char *call);

#endif
