/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of epochs, publications, rejected calls, re-publications, rotations, replays and
 * GPU writes against a model that knows nothing of transports, on a hostile software GPU. A failing
 * sequence is shortened and printed.
 *
 * H2D_SEQUENCES sets the number of sequences for each backend, H2D_TEST_SEED their seed.
 */
#include <stdio.h>

#include "hsa/kernel_arguments.h"
#include "publication_case.h"

#define SLOTS       2
#define MEMBERS     4
#define GROUPS      2
#define MAXIMUM_OPS 14
#define REPLAYS     MAXIMUM_OPS
#define TIMEOUT_NS  UINT64_C(20000000000)

/* Flat byte buffers with odd sizes; the third is above the pack limit when it is full. */
static const uint32_t sizes[MEMBERS] = {200, 3001, 70007, 64};
static const uint32_t offsets[MEMBERS] = {0, 256, 3328, 73344};
#define SNAPSHOT 73408

/* Group 0 has all members, group 1 the first two; so under packed, group 1 is covered: direct. */
static const uint32_t group_sizes[GROUPS] = {4, 2};

enum kind { NEXT_EPOCH, PUBLISH, REPUBLISH, REPLAY, GPU_WRITE, FINISH_AND_RESUME, KINDS };

struct operation {
	enum kind kind;
	uint32_t slot;   /* REPLAY, GPU_WRITE */
	uint32_t group;  /* PUBLISH */
	uint32_t member; /* REPUBLISH, GPU_WRITE */
	int64_t counts[MEMBERS];
};

/* ---- the world: what the library and the GPU do ---------------------------------------------- */

static struct {
	h2d_registry_t *registry;
	h2d_owner_t *owner[SLOTS];
	h2d_buffer_t *buffer[SLOTS][MEMBERS];
	h2d_group_t *group[SLOTS][GROUPS];
	h2d_graph_t *graph[SLOTS]; /* the consumer: copies all destinations to `seen` */
	uint8_t *seen;
	uint8_t *snapshots; /* of `seen` after each replay */
	uint8_t *constants; /* what GPU writes write */
	struct h2d_pull_arguments *arguments[REPLAYS + MAXIMUM_OPS];
} world;

static struct h2d_pull_arguments *new_arguments(uint32_t members)
{
	void *memory = NULL;
	struct h2d_pull_arguments *arguments;

	check_success(h2d_device_allocate_host(
		fixture_device, sizeof(*arguments) + members * sizeof(arguments->member[0]), &memory));
	arguments = memory;
	arguments->members = members;
	return arguments;
}

/* A kernel that copies, as consumers read and write; enqueued or recorded. */
static h2d_status_t enqueue_copy(const struct h2d_pull_arguments *arguments)
{
	h2d_dispatch_t dispatch = {
		.grid_size = {0, 1, 1},
		.workgroup_size = {H2D_CHUNK_WORKGROUP_SIZE, 1, 1},
		.kernel_arguments = arguments,
		.kernel_arguments_size =
			sizeof(*arguments) + arguments->members * sizeof(arguments->member[0]),
	};

	for (uint32_t i = 0; i < arguments->members; i++)
		dispatch.grid_size[0] += (uint32_t)h2d_chunk_count(arguments->member[i].bytes) *
					 H2D_CHUNK_WORKGROUP_SIZE;
	check_success(h2d_device_get_kernel(fixture_device, "h2d_pull", &dispatch.kernel));
	return h2d_stream_dispatch(fixture_stream, &dispatch);
}

static void record_consumer(uint32_t slot)
{
	struct h2d_pull_arguments *arguments = new_arguments(MEMBERS);

	for (uint32_t i = 0; i < MEMBERS; i++)
		arguments->member[i] = (struct h2d_pull_member){
			.source = (uintptr_t)h2d_buffer_device(world.buffer[slot][i]),
			.destination = (uintptr_t)world.seen + offsets[i],
			.bytes = sizes[i],
		};
	check_success(h2d_graph_begin_capture(fixture_stream));
	check_success(enqueue_copy(arguments));
	check_success(h2d_graph_end_capture(fixture_stream, &world.graph[slot]));
	check_success(h2d_device_free(fixture_device, arguments));
}

static void make_world(h2d_backend_t backend)
{
	static const char *const names[SLOTS][MEMBERS] = {{"a0", "a1", "a2", "a3"},
							  {"b0", "b1", "b2", "b3"}};
	void *memory = NULL;

	check_success(h2d_registry_create(&world.registry));
	check_success(h2d_device_allocate(fixture_device, SNAPSHOT, &memory));
	world.seen = memory;
	check_success(h2d_device_allocate(fixture_device, REPLAYS * SNAPSHOT, &memory));
	world.snapshots = memory;
	check_success(h2d_device_allocate(fixture_device, 70007 + 256, &memory));
	world.constants = memory;
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		h2d_owner_options_t options = {.name = slot ? "slot 1" : "slot 0",
					       .backend = backend,
					       .timeout_ns = TIMEOUT_NS,
					       .omit_end_fence = slot == 1};

		check_success(h2d_owner_create(fixture_device, world.registry, &options,
					       &world.owner[slot]));
		for (uint32_t i = 0; i < MEMBERS; i++) {
			h2d_buffer_description_t description = {.name = names[slot][i],
								.element_size = 1,
								.dimensions = 1,
								.shape = {sizes[i]},
								.unit = H2D_COUNT_BYTES};

			check_success(h2d_buffer_allocate(world.owner[slot], &description,
							  &world.buffer[slot][i]));
		}
		for (uint32_t g = 0; g < GROUPS; g++)
			check_success(h2d_group_create(world.owner[slot], g ? "pair" : "all",
						       world.buffer[slot], group_sizes[g],
						       &world.group[slot][g]));
		check_success(h2d_owner_select_transports(world.owner[slot]));
		record_consumer(slot);
	}
	for (uint32_t i = 0; i < REPLAYS + MAXIMUM_OPS; i++)
		world.arguments[i] = new_arguments(1);
}

static void destroy_world(void)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		if (h2d_owner_state(world.owner[slot]) == H2D_OWNER_ACTIVE)
			check_success(h2d_owner_fail(world.owner[slot]));
		if (h2d_owner_state(world.owner[slot]) == H2D_OWNER_FAILED)
			check_success(h2d_owner_drain(world.owner[slot]));
		check_success(h2d_graph_destroy(world.graph[slot]));
		check_success(h2d_owner_destroy(world.owner[slot]));
	}
	check_success(h2d_stream_synchronize(fixture_stream));
	for (uint32_t i = 0; i < REPLAYS + MAXIMUM_OPS; i++)
		check_success(h2d_device_free(fixture_device, world.arguments[i]));
	check_success(h2d_device_free(fixture_device, world.seen));
	check_success(h2d_device_free(fixture_device, world.snapshots));
	check_success(h2d_device_free(fixture_device, world.constants));
	check_success(h2d_registry_destroy(world.registry));
}

/* ---- the model: what must come out ----------------------------------------------------------- */

static struct {
	uint8_t device[SLOTS][SNAPSHOT];
	uint8_t source[SLOTS][SNAPSHOT];
	uint8_t snapshot[REPLAYS][SNAPSHOT];
	bool published[SLOTS][MEMBERS];
	bool in_use[SLOTS][MEMBERS];
	bool in_flight[SLOTS][GROUPS];
	uint32_t slot; /* whose epoch is open */
	bool open;
	uint32_t replays;
	uint32_t arguments;
	uint8_t pattern; /* of the next source write */
} model;

/* Which groups share descriptors between publications of several members. */
static bool has_descriptors(h2d_backend_t backend, uint32_t group)
{
	return backend == H2D_BACKEND_PULL || (backend == H2D_BACKEND_PACKED && group == 0);
}

static h2d_status_t expected_status(h2d_backend_t backend, const struct operation *operation)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < group_sizes[operation->group]; i++) {
		if (operation->counts[i] == H2D_COUNT_OMITTED)
			continue;
		if (model.published[model.slot][i])
			return H2D_STATUS_ALREADY_PUBLISHED;
		if (operation->counts[i] < 0 || operation->counts[i] > (int64_t)sizes[i])
			return H2D_STATUS_OUT_OF_RANGE;
		active += operation->counts[i] > 0;
	}
	if (active > 1 && has_descriptors(backend, operation->group) &&
	    model.in_flight[model.slot][operation->group])
		return H2D_STATUS_TRANSPORT_IN_FLIGHT;
	return H2D_STATUS_SUCCESS;
}

static void model_publication(uint32_t member, int64_t count)
{
	uint32_t slot = model.slot;

	model.published[slot][member] = true;
	model.in_use[slot][member] = count > 0;
	if (count > 0)
		memcpy(model.device[slot] + offsets[member], model.source[slot] + offsets[member],
		       (size_t)count);
}

/* ---- running a sequence ---------------------------------------------------------------------- */

static char failure[512];

static bool mismatch(const char *what, h2d_status_t got, h2d_status_t expected)
{
	snprintf(failure, sizeof(failure), "%s: %s instead of %s: %s", what, h2d_status_string(got),
		 h2d_status_string(expected), got ? h2d_error_message() : "");
	return false;
}

#define EXPECT(call, expected)                                                                     \
	do {                                                                                       \
		h2d_status_t expect_status = (call);                                               \
		if (expect_status != (expected))                                                   \
			return mismatch(#call, expect_status, expected);                               \
	} while (0)

/* A producer: new bytes in the whole source, which must be writable. */
static void write_source(uint32_t slot, uint32_t member)
{
	uint8_t *host = h2d_buffer_host(world.buffer[slot][member]);

	for (uint32_t i = 0; i < sizes[member]; i++)
		model.source[slot][offsets[member] + i] = (uint8_t)(model.pattern + 7 * i);
	memcpy(host, model.source[slot] + offsets[member], sizes[member]);
	model.pattern += 31;
}

static bool next_epoch(void)
{
	if (model.open) {
		EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
		model.slot = (model.slot + 1) % SLOTS;
	}
	EXPECT(h2d_owner_begin(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
	model.open = true;
	memset(model.published[model.slot], 0, sizeof(model.published[0]));
	memset(model.in_use[model.slot], 0, sizeof(model.in_use[0]));
	memset(model.in_flight[model.slot], 0, sizeof(model.in_flight[0]));
	for (uint32_t i = 0; i < MEMBERS; i++)
		write_source(model.slot, i);
	return true;
}

static bool publish(h2d_backend_t backend, const struct operation *operation)
{
	h2d_status_t expected = expected_status(backend, operation);
	uint32_t active = 0;

	EXPECT(h2d_group_publish(world.group[model.slot][operation->group], fixture_stream,
				 operation->counts, NULL),
	       expected);
	if (expected != H2D_STATUS_SUCCESS)
		return true;
	for (uint32_t i = 0; i < group_sizes[operation->group]; i++) {
		if (operation->counts[i] == H2D_COUNT_OMITTED)
			continue;
		model_publication(i, operation->counts[i]);
		active += operation->counts[i] > 0;
	}
	if (active > 1 && has_descriptors(backend, operation->group))
		model.in_flight[model.slot][operation->group] = true;
	return true;
}

static bool republish(const struct operation *operation)
{
	uint32_t slot = model.slot, member = operation->member;
	h2d_buffer_t *buffer = world.buffer[slot][member];

	if (model.published[slot][member]) {
		EXPECT(h2d_buffer_acquire_write(buffer, fixture_stream, NULL),
		       H2D_STATUS_ALREADY_PUBLISHED);
		if (model.in_use[slot][member])
			EXPECT(h2d_buffer_publish(buffer, fixture_stream, 1, "too early"),
			       H2D_STATUS_SOURCE_IN_USE);
	}
	EXPECT(h2d_buffer_acquire_write(buffer, fixture_stream, "corrected"), H2D_STATUS_SUCCESS);
	if (model.in_use[slot][member])
		memset(model.in_flight[slot], 0, sizeof(model.in_flight[slot]));
	model.in_use[slot][member] = false;
	write_source(slot, member);
	EXPECT(h2d_buffer_publish(buffer, fixture_stream, operation->counts[0] % sizes[member],
				  "corrected"),
	       H2D_STATUS_SUCCESS);
	model_publication(member, operation->counts[0] % sizes[member]);
	return true;
}

static bool replay(const struct operation *operation)
{
	struct h2d_pull_arguments *arguments = world.arguments[model.arguments++];

	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)world.seen,
		.destination = (uintptr_t)world.snapshots + model.replays * SNAPSHOT,
		.bytes = SNAPSHOT,
	};
	EXPECT(h2d_graph_launch(world.graph[operation->slot], fixture_stream), H2D_STATUS_SUCCESS);
	EXPECT(enqueue_copy(arguments), H2D_STATUS_SUCCESS);
	memcpy(model.snapshot[model.replays++], model.device[operation->slot], SNAPSHOT);
	return true;
}

/* A kernel overwrites what was published, as token assembly does. */
static bool gpu_write(const struct operation *operation)
{
	struct h2d_pull_arguments *arguments = world.arguments[model.arguments++];
	uint32_t bytes = 1 + (uint32_t)operation->counts[0] % sizes[operation->member];

	arguments->member[0] = (struct h2d_pull_member){
		.source = (uintptr_t)world.constants,
		.destination = (uintptr_t)h2d_buffer_device(
			world.buffer[operation->slot][operation->member]),
		.bytes = bytes,
	};
	EXPECT(enqueue_copy(arguments), H2D_STATUS_SUCCESS);
	memset(model.device[operation->slot] + offsets[operation->member], 0xc3, bytes);
	return true;
}

static bool run_operation(h2d_backend_t backend, const struct operation *operation)
{
	switch (operation->kind) {
	case NEXT_EPOCH:
		return next_epoch();
	case PUBLISH:
		return publish(backend, operation);
	case REPUBLISH:
		return republish(operation);
	case REPLAY:
		return replay(operation);
	case GPU_WRITE:
		return gpu_write(operation);
	default:
		EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
		EXPECT(h2d_owner_resume(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
		return true;
	}
}

static bool compare(const char *what, uint32_t number, const void *device, const uint8_t *expected,
		    size_t size)
{
	static uint8_t actual[SNAPSHOT];

	EXPECT(h2d_device_read(fixture_device, actual, device, size, TIMEOUT_NS), H2D_STATUS_SUCCESS);
	for (size_t i = 0; i < size; i++) {
		if (actual[i] == expected[i])
			continue;
		snprintf(failure, sizeof(failure), "%s %u: byte %zu is %u instead of %u", what, number,
			 i, actual[i], expected[i]);
		return false;
	}
	return true;
}

static bool run_sequence(h2d_backend_t backend, const struct operation *operations, uint32_t count)
{
	static const uint8_t zero[SNAPSHOT];
	uint8_t constants[70007];

	memset(&model, 0, sizeof(model));
	memset(constants, 0xc3, sizeof(constants));
	check_success(h2d_device_write(fixture_device, world.seen, zero, SNAPSHOT, TIMEOUT_NS));
	check_success(h2d_device_write(fixture_device, world.constants, constants, sizeof(constants),
				       TIMEOUT_NS));
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		for (uint32_t i = 0; i < MEMBERS; i++)
			check_success(h2d_device_write(fixture_device,
						       h2d_buffer_device(world.buffer[slot][i]), zero,
						       sizes[i], TIMEOUT_NS));
	}
	/* What the DMA engine has just written is to be seen by the first replay. */
	check_success(h2d_stream_synchronize(fixture_stream));
	if (!next_epoch())
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!run_operation(backend, &operations[i]))
			return false;
	}
	EXPECT(h2d_owner_finish(world.owner[model.slot], fixture_stream), H2D_STATUS_SUCCESS);
	EXPECT(h2d_stream_synchronize(fixture_stream), H2D_STATUS_SUCCESS);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (!compare(slot ? "slot 1 member" : "slot 0 member", i,
				     h2d_buffer_device(world.buffer[slot][i]),
				     model.device[slot] + offsets[i], sizes[i]))
				return false;
		}
	}
	for (uint32_t r = 0; r < model.replays; r++) {
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (!compare("replay", r, world.snapshots + r * SNAPSHOT + offsets[i],
				     model.snapshot[r] + offsets[i], sizes[i]))
				return false;
		}
	}
	return true;
}

/* ---- making, shortening and printing sequences ------------------------------------------------ */

static int64_t random_count(uint64_t *state, uint32_t member)
{
	switch (fixture_random(state) % 8) {
	case 0:
	case 1:
		return H2D_COUNT_OMITTED;
	case 2:
		return 0;
	case 3:
		return sizes[member];
	case 4:
		return fixture_random(state) % 8 ? 1 : (int64_t)sizes[member] + 1;
	default:
		return (int64_t)fixture_random_between(state, 1, sizes[member]);
	}
}

static struct operation random_operation(uint64_t *state)
{
	/* Publications and replays are the commonest. */
	static const enum kind kinds[] = {NEXT_EPOCH, NEXT_EPOCH, PUBLISH,   PUBLISH, PUBLISH,
					  REPUBLISH,  REPLAY,     GPU_WRITE, REPLAY,  FINISH_AND_RESUME};
	struct operation operation = {
		.kind = kinds[fixture_random(state) % (sizeof(kinds) / sizeof(kinds[0]))],
		.slot = (uint32_t)(fixture_random(state) % SLOTS),
		.group = (uint32_t)(fixture_random(state) % GROUPS),
		.member = (uint32_t)(fixture_random(state) % MEMBERS),
	};

	for (uint32_t i = 0; i < MEMBERS; i++)
		operation.counts[i] = random_count(state, i);
	if (operation.kind == REPUBLISH || operation.kind == GPU_WRITE)
		operation.counts[0] = (int64_t)fixture_random_between(state, 0, 100000);
	return operation;
}

static void print_operation(const struct operation *operation)
{
	static const char *const names[KINDS] = {"next epoch", "publish", "republish",
						 "replay",     "write",   "finish and resume"};

	fprintf(stderr, "#   %s", names[operation->kind]);
	if (operation->kind == REPLAY || operation->kind == GPU_WRITE)
		fprintf(stderr, " slot %u", operation->slot);
	if (operation->kind == REPUBLISH || operation->kind == GPU_WRITE)
		fprintf(stderr, " member %u count %lld", operation->member,
			(long long)operation->counts[0] % sizes[operation->member]);
	for (uint32_t i = 0; operation->kind == PUBLISH && i < group_sizes[operation->group]; i++) {
		if (operation->counts[i] == H2D_COUNT_OMITTED)
			fprintf(stderr, " -");
		else
			fprintf(stderr, " %lld", (long long)operation->counts[i]);
	}
	fprintf(stderr, "\n");
}

/* Whether the sequence fails in a new world; the timing differs each time, so it gets some tries. */
static bool fails_again(h2d_backend_t backend, const struct operation *operations, uint32_t count)
{
	for (int attempt = 0; attempt < 5; attempt++) {
		bool passed;

		destroy_world();
		make_world(backend);
		passed = run_sequence(backend, operations, count);
		if (!passed)
			return true;
	}
	return false;
}

static void shorten(h2d_backend_t backend, struct operation *operations, uint32_t count,
		    uint64_t number)
{
	char first_failure[sizeof(failure)];

	memcpy(first_failure, failure, sizeof(failure));
	for (uint32_t i = count; i-- > 0;) {
		struct operation shorter[MAXIMUM_OPS];

		memcpy(shorter, operations, i * sizeof(*operations));
		memcpy(shorter + i, operations + i + 1, (count - i - 1) * sizeof(*operations));
		if (fails_again(backend, shorter, count - 1)) {
			memcpy(operations, shorter, --count * sizeof(*operations));
			memcpy(first_failure, failure, sizeof(failure));
		}
	}
	fprintf(stderr, "# %s sequence %llu, shortened: %s\n", h2d_backend_name(backend),
		(unsigned long long)number, first_failure);
	for (uint32_t i = 0; i < count; i++)
		print_operation(&operations[i]);
	memcpy(failure, first_failure, sizeof(failure));
}

START_TEST(random_sequences_land_what_the_model_says)
{
	const char *text = getenv("H2D_SEQUENCES");
	uint64_t sequences = text ? strtoull(text, NULL, 10) : 300;
	h2d_backend_t backend = (h2d_backend_t)_i;
	uint64_t state = fixture_seed() + (uint64_t)_i;

	make_world(backend);
	for (uint64_t n = 0; n < sequences; n++) {
		struct operation operations[MAXIMUM_OPS];
		uint32_t count = (uint32_t)fixture_random_between(&state, 3, MAXIMUM_OPS);

		for (uint32_t i = 0; i < count; i++)
			operations[i] = random_operation(&state);
		if (!run_sequence(backend, operations, count)) {
			shorten(backend, operations, count, n);
			ck_abort_msg("sequence %llu: %s", (unsigned long long)n, failure);
		}
	}
	destroy_world();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sequences");
	TCase *cases = tcase_create("sequences");

	/* Hostile unless the environment says otherwise; a real GPU does not read these. */
	setenv("SOFTGPU_L2S", "3", 0);
	setenv("SOFTGPU_DELAY", "60", 0);
	setenv("SOFTGPU_REORDER", "1", 0);
	tcase_add_checked_fixture(cases, fixture_setup, fixture_teardown);
	tcase_set_timeout(cases, 3600);
	tcase_add_loop_test(cases, random_sequences_land_what_the_model_says, 0, BACKENDS);
	suite_add_tcase(suite, cases);
	return fixture_run(suite);
}
