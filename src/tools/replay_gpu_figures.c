/* SPDX-License-Identifier: MIT */
/* What the GPU side has published, launched and saved. */
#include "config.h"

#include <string.h>

#include "replay_gpu_state.h"

void replay_gpu_sum_totals(const struct replay_gpu *gpu, h2d_publication_totals_t *sum)
{
	*sum = (h2d_publication_totals_t){0};
	for (uint32_t slot = 0; slot < gpu->settings.slots; slot++) {
		h2d_publication_totals_t totals;

		h2d_owner_get_totals(h2d_runner_owner(gpu->runner, slot), &totals);
		sum->publications += totals.publications;
		sum->dma_copies += totals.dma_copies;
		sum->dispatches += totals.dispatches;
		sum->barrier_packets += totals.barrier_packets;
		sum->bytes += totals.bytes;
		sum->packed_bytes += totals.packed_bytes;
	}
}

void replay_gpu_count_group(struct replay_gpu *gpu, enum replay_group_index index,
			    h2d_publication_totals_t *before)
{
	struct replay_group *group = &gpu->groups[index];
	h2d_publication_totals_t after;

	h2d_owner_get_totals(h2d_runner_owner(gpu->runner, h2d_runner_slot(gpu->runner)), &after);
	group->steps++;
	group->dma_copies += after.dma_copies - before->dma_copies;
	group->dispatches += after.dispatches - before->dispatches;
	group->bytes += after.bytes - before->bytes;
	*before = after;
}

void replay_gpu_totals(const struct replay_gpu *gpu, h2d_publication_totals_t *totals)
{
	const h2d_publication_totals_t *before = &gpu->set_up_totals;

	replay_gpu_sum_totals(gpu, totals);
	totals->publications -= before->publications;
	totals->dma_copies -= before->dma_copies;
	totals->dispatches -= before->dispatches;
	totals->barrier_packets -= before->barrier_packets;
	totals->bytes -= before->bytes;
	totals->packed_bytes -= before->packed_bytes;
}

void replay_gpu_groups(const struct replay_gpu *gpu, struct replay_group groups[REPLAY_GROUPS])
{
	memcpy(groups, gpu->groups, sizeof(gpu->groups));
}

void replay_gpu_tables(const struct replay_gpu *gpu, struct replay_tables *sum)
{
	*sum = (struct replay_tables){0};
	for (uint32_t slot = 0; slot < gpu->settings.slots; slot++) {
		const h2d_published_table_t *table = h2d_mha_decode_block_tables(gpu->runner, slot);
		h2d_table_totals_t prepared;
		h2d_published_table_totals_t published;

		h2d_table_state_get_totals(h2d_published_table_state(table), &prepared);
		h2d_published_table_get_totals(table, &published);
		sum->prepared += prepared.prepares;
		sum->hits += prepared.hits;
		sum->rows_appended += prepared.rows_appended;
		sum->rows_written += prepared.rows_written;
		sum->ids_written += prepared.ids_written;
		sum->uploads_omitted += published.uploads_omitted;
		sum->bytes_omitted += published.bytes_omitted;
	}
}

void replay_gpu_launches(const struct replay_gpu *gpu, uint64_t *launches, uint64_t *dispatches)
{
	*launches = gpu->launches;
	*dispatches = gpu->dispatches;
}
