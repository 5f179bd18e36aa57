/* SPDX-License-Identifier: MIT */
/* The worker threads that run workgroups, in time slices and round robin over the grids. */
#include "workers.h"

#include "thread.h"

#include "../cache.h"
#include "../host_guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Wave instructions of one time slice: about a millisecond, so that most workgroups need one. */
#define SLICE_INSTRUCTIONS 50000

struct softgpu_resident {
	struct softgpu_grid *grid;
	struct softgpu_workgroup *workgroup;
	struct softgpu_placement placement;
	struct softgpu_resident *next;
};

struct softgpu_workers {
	pthread_mutex_t lock;
	struct softgpu_grid *grids;	/* active ones, a ring; the next to be served first */
	struct softgpu_eventcount work; /* notified when there is more to run */
	uint32_t thread_limit;
	uint32_t thread_count;
	pthread_t *threads;
	atomic_bool stop;
};

static void link_grid(struct softgpu_workers *workers, struct softgpu_grid *grid)
{
	struct softgpu_grid *head = workers->grids;

	if (!head) {
		grid->next = grid->previous = grid;
		workers->grids = grid;
		return;
	}
	grid->next = head;
	grid->previous = head->previous;
	head->previous->next = grid;
	head->previous = grid;
}

static void unlink_grid(struct softgpu_workers *workers, struct softgpu_grid *grid)
{
	if (grid->next == grid) {
		workers->grids = NULL;
		return;
	}
	grid->previous->next = grid->next;
	grid->next->previous = grid->previous;
	if (workers->grids == grid)
		workers->grids = grid->next;
}

static void append_resident(struct softgpu_grid *grid, struct softgpu_resident *resident)
{
	resident->next = NULL;
	if (grid->last)
		grid->last->next = resident;
	else
		grid->first = resident;
	grid->last = resident;
}

static struct softgpu_resident *take_resident(struct softgpu_grid *grid)
{
	struct softgpu_resident *resident = grid->first;

	if (resident) {
		grid->first = resident->next;
		if (!grid->first)
			grid->last = NULL;
	}
	return resident;
}

/* Takes a grid whose work is done from the active ones; true for one caller only. */
static bool retire_grid(struct softgpu_workers *workers, struct softgpu_grid *grid)
{
	if (grid->over || grid->resident != 0 || (!grid->abort && grid->started != grid->total))
		return false;
	grid->over = true;
	unlink_grid(workers, grid);
	return true;
}

/* Compute units are used in turn, so that every one of them is used by a large grid. */
static void place(const struct softgpu_grid *grid, uint64_t index,
		  struct softgpu_placement *placement)
{
	const struct softgpu_compute_units *units = &grid->compute_units;
	const uint32_t unit = units->index[index % units->count];

	placement->shader_engine = unit % grid->gpu->shader_engines;
	placement->compute_unit = unit / grid->gpu->shader_engines % 16;
	placement->shader_array = unit / grid->gpu->shader_engines / 16;
	placement->queue = grid->queue_number % 8;
	placement->pipe = grid->queue_number / 8 % 4;
	if (grid->gpu->memory.cache)
		placement->l2 = (unit + grid->first_l2) %
				softgpu_cache_l2_count(grid->gpu->memory.cache);
}

/* Starts the grid's next workgroup; false: none is left, or no room for it now. */
static bool reserve_workgroup(struct softgpu_grid *grid, uint64_t *index, uint32_t *scratch_slot)
{
	*scratch_slot = 0;
	if (grid->started == grid->total || grid->resident >= grid->resident_limit)
		return false;
	if (grid->scratch_slots &&
	    !softgpu_slots_take(grid->scratch_slots,
				softgpu_kernel_scratch_wave_slots(grid->kernel),
				softgpu_kernel_wave_count(grid->kernel), scratch_slot))
		return false;
	*index = grid->started++;
	return true;
}

static struct softgpu_resident *start_workgroup(struct softgpu_grid *grid, uint64_t index,
						uint32_t scratch_slot, struct softgpu_fault *fault)
{
	const uint64_t row = grid->counts[0], plane = row * grid->counts[1];
	const uint32_t id[3] = {
		(uint32_t)(index % row),
		(uint32_t)(index % plane / row),
		(uint32_t)(index / plane),
	};
	struct softgpu_resident *resident = calloc(1, sizeof(*resident));

	if (!resident) {
		fault->kind = SOFTGPU_FAULT_OUT_OF_MEMORY;
		return NULL;
	}
	resident->grid = grid;
	place(grid, index, &resident->placement);
	resident->placement.scratch_wave_slot = scratch_slot;
	if (!softgpu_workgroup_create(grid->kernel, id, &resident->placement, &resident->workgroup,
				      fault)) {
		free(resident);
		return NULL;
	}
	return resident;
}

/* The workgroup ends, with or without having been started. Called with the lock held. */
static void release_workgroup(struct softgpu_grid *grid, uint32_t scratch_slot)
{
	if (grid->scratch_slots)
		softgpu_slots_release(grid->scratch_slots, scratch_slot,
				      softgpu_kernel_wave_count(grid->kernel));
	grid->resident--;
}

static void abort_grid(struct softgpu_grid *grid)
{
	struct softgpu_resident *resident;

	grid->abort = true;
	while ((resident = take_resident(grid)) != NULL) {
		softgpu_workgroup_destroy(resident->workgroup);
		release_workgroup(grid, resident->placement.scratch_wave_slot);
		free(resident);
	}
}

struct slice {
	struct softgpu_grid *grid;
	struct softgpu_resident *resident; /* NULL: a new workgroup is to be started */
	uint64_t index;
	uint32_t scratch_slot;
};

/* Finds the next thing to run, a new workgroup before one that has had a slice already. */
static bool pick(struct softgpu_workers *workers, struct slice *slice)
{
	struct softgpu_grid *const head = workers->grids;
	struct softgpu_grid *grid = head;

	if (!head)
		return false;
	do {
		slice->grid = grid;
		slice->resident = NULL;
		if (!grid->abort) {
			if (reserve_workgroup(grid, &slice->index, &slice->scratch_slot)) {
				grid->resident++;
				workers->grids = grid->next;
				return true;
			}
			slice->resident = take_resident(grid);
			if (slice->resident) {
				slice->scratch_slot = slice->resident->placement.scratch_wave_slot;
				workers->grids = grid->next;
				return true;
			}
		}
		grid = grid->next;
	} while (grid != head);
	return false;
}

static enum softgpu_run_result run_workgroup(struct softgpu_workgroup *workgroup,
					     struct softgpu_instruction_cache *cache,
					     struct softgpu_fault *fault)
{
	enum softgpu_run_result result;
	sigjmp_buf landing;

	if (!softgpu_host_guard_enter(&landing)) {
		softgpu_workgroup_host_fault(workgroup, softgpu_host_guard_land(), fault);
		return SOFTGPU_RUN_FAULTED;
	}
	result = softgpu_workgroup_run(workgroup, cache, SLICE_INSTRUCTIONS, fault);
	softgpu_host_guard_leave();
	return result;
}

bool softgpu_workers_run_slice(struct softgpu_workers *workers,
			       struct softgpu_instruction_cache *cache)
{
	struct softgpu_fault fault = {.kind = SOFTGPU_FAULT_NONE};
	enum softgpu_run_result result = SOFTGPU_RUN_FAULTED;
	struct softgpu_grid *grid;
	struct slice slice;
	bool over, aborted;

	pthread_mutex_lock(&workers->lock);
	if (!pick(workers, &slice)) {
		pthread_mutex_unlock(&workers->lock);
		return false;
	}
	pthread_mutex_unlock(&workers->lock);

	grid = slice.grid;
	if (!slice.resident)
		slice.resident = start_workgroup(grid, slice.index, slice.scratch_slot, &fault);
	if (slice.resident)
		result = run_workgroup(slice.resident->workgroup, cache, &fault);
	if (slice.resident && result != SOFTGPU_RUN_YIELDED) {
		softgpu_workgroup_destroy(slice.resident->workgroup);
		free(slice.resident);
		slice.resident = NULL;
	}

	pthread_mutex_lock(&workers->lock);
	if (slice.resident) {
		append_resident(grid, slice.resident);
		if (grid->abort)
			abort_grid(grid);
	} else {
		release_workgroup(grid, slice.scratch_slot);
		if (result == SOFTGPU_RUN_FAULTED) {
			if (grid->fault.kind == SOFTGPU_FAULT_NONE)
				grid->fault = fault;
			abort_grid(grid);
		}
	}
	over = retire_grid(workers, grid);
	aborted = grid->abort;
	pthread_mutex_unlock(&workers->lock);
	if (over)
		grid->ended(grid, aborted);
	return true;
}

static void *worker_thread(void *argument)
{
	struct softgpu_workers *workers = argument;
	struct softgpu_instruction_cache *cache = softgpu_instruction_cache_create();

	while (cache && !atomic_load_explicit(&workers->stop, memory_order_acquire)) {
		uint32_t sequence;

		if (softgpu_workers_run_slice(workers, cache))
			continue;
		sequence = softgpu_eventcount_prepare(&workers->work);
		if (atomic_load_explicit(&workers->stop, memory_order_acquire) ||
		    softgpu_workers_run_slice(workers, cache))
			softgpu_eventcount_cancel(&workers->work);
		else
			softgpu_eventcount_wait(&workers->work, sequence, SOFTGPU_WAIT_FOREVER);
	}
	softgpu_instruction_cache_destroy(cache);
	return NULL;
}

struct softgpu_workers *softgpu_workers_create(uint32_t threads)
{
	struct softgpu_workers *workers = calloc(1, sizeof(*workers));

	if (!workers)
		return NULL;
	workers->threads = calloc(threads, sizeof(*workers->threads));
	if (!workers->threads || pthread_mutex_init(&workers->lock, NULL) != 0) {
		free(workers->threads);
		free(workers);
		return NULL;
	}
	workers->thread_limit = threads;
	return workers;
}

void softgpu_workers_destroy(struct softgpu_workers *workers)
{
	if (!workers)
		return;
	/* Release: pairs with the workers' acquire loads. */
	atomic_store_explicit(&workers->stop, true, memory_order_release);
	softgpu_eventcount_notify(&workers->work);
	for (uint32_t i = 0; i < workers->thread_count; i++)
		pthread_join(workers->threads[i], NULL);
	pthread_mutex_destroy(&workers->lock);
	free(workers->threads);
	free(workers);
}

/* A queue's own thread runs slices too, so a grid progresses even if no worker can be started. */
static void start_threads(struct softgpu_workers *workers)
{
	while (workers->thread_count < workers->thread_limit &&
	       softgpu_thread_start(&workers->threads[workers->thread_count], "softgpu-worker",
				    worker_thread, workers))
		workers->thread_count++;
}

void softgpu_workers_submit(struct softgpu_workers *workers, struct softgpu_grid *grid)
{
	const uint64_t wave_slots =
		(uint64_t)grid->compute_units.count * grid->gpu->waves_per_compute_unit;
	uint64_t total;
	bool several;

	softgpu_kernel_workgroup_counts(grid->kernel, grid->counts);
	total = (uint64_t)grid->counts[0] * grid->counts[1] * grid->counts[2];
	grid->total = total;
	grid->resident_limit = wave_slots / softgpu_kernel_wave_count(grid->kernel);
	if (grid->resident_limit == 0)
		grid->resident_limit = 1;
	pthread_mutex_lock(&workers->lock);
	/* The submitting thread runs slices as well: a lone workgroup is left to it. */
	several = total > 1 || workers->grids;
	link_grid(workers, grid);
	if (several)
		start_threads(workers);
	pthread_mutex_unlock(&workers->lock);
	/* From here on the grid may be over. */
	if (several)
		softgpu_eventcount_notify(&workers->work);
}

void softgpu_workers_abort(struct softgpu_workers *workers, struct softgpu_grid *grid)
{
	bool over;

	pthread_mutex_lock(&workers->lock);
	abort_grid(grid);
	over = retire_grid(workers, grid);
	pthread_mutex_unlock(&workers->lock);
	if (over)
		grid->ended(grid, true);
}
