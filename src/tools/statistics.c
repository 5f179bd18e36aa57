/* SPDX-License-Identifier: MIT */
/* Percentiles of samples. */
#include "config.h"

#include "statistics.h"

#include <stdlib.h>
#include <string.h>

int samples_add(struct samples *samples, uint64_t value)
{
	if (samples->count == samples->capacity) {
		size_t wanted = samples->capacity ? samples->capacity * 2 : 1024;
		uint64_t *larger = reallocarray(samples->values, wanted, sizeof(*larger));

		if (larger == NULL)
			return -1;
		samples->values = larger;
		samples->capacity = wanted;
	}
	samples->values[samples->count++] = value;
	return 0;
}

static int compare_values(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t samples_percentile(struct samples *samples, unsigned percent)
{
	if (samples->count == 0)
		return 0;
	qsort(samples->values, samples->count, sizeof(*samples->values), compare_values);
	size_t rank = (samples->count * percent + 99) / 100;

	return samples->values[rank == 0 ? 0 : rank - 1];
}

void samples_free(struct samples *samples)
{
	free(samples->values);
	memset(samples, 0, sizeof(*samples));
}
