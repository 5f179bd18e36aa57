/* SPDX-License-Identifier: MIT */
/* Failed hsa_* calls as statuses and messages. */
#include "hsa/hsa_error.h"

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

h2d_status_t h2d_hsa_error(hsa_status_t status, const char *call)
{
	const char *words = NULL;

	if (hsa_status_string(status, &words) != HSA_STATUS_SUCCESS || words == NULL)
		words = "an unknown HSA status";
	bool out_of_memory = status == HSA_STATUS_ERROR_OUT_OF_RESOURCES ||
			     status == HSA_STATUS_ERROR_INVALID_ALLOCATION;
	return h2d_error(out_of_memory ? H2D_STATUS_OUT_OF_MEMORY : H2D_STATUS_HSA_ERROR,
			 "%s failed with 0x%x: %s", call, (unsigned)status, words);
}
